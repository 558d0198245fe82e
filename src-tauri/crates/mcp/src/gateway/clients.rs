//! What the gateway knows of the programs behind agents: how long they wait, how much they may ask, what they were given.
//!
//! Nothing here answers a request. What programs do is one table, `domain::client::profile`.

pub(crate) mod agent_meter;
pub(crate) mod call_timeout;
pub(crate) mod local_receipts;
pub(crate) mod polls;
pub(crate) mod rate_limit;
pub(crate) mod reminders;
pub(crate) mod usage;
