//! A task and its agent: what the agent sees, what was delivered to it, what is held back, and what it costs.
//!
//! How this is written in the words of a dialect is the gateway's; nothing here knows one.

pub(crate) mod delivery;
pub(crate) mod result_hold;
pub(crate) mod run_limit;
pub(crate) mod run_time;
pub(crate) mod token_usage;
pub(crate) mod view;
