//! Task handles: how they change, who watches them, and what happens after a commit.
//!
//! Every change goes through `ledger.rs`. What a change means is decided in `domain`.

pub(crate) mod audit_log;
pub(crate) mod delivery_receipts;
pub(crate) mod effects;
pub(crate) mod feed;
pub(crate) mod handle_watch;
pub(crate) mod ledger;
pub(crate) mod limit_gauges;
pub(crate) mod loss_causes;
pub(crate) mod open_handles;
pub(crate) mod retention;
pub(crate) mod storage_limits;
pub(crate) mod stored_shares;
pub(crate) mod sweep;
pub(crate) mod text_index;
