//! The servers behind an endpoint: connections to them, what they list, and the identities that change on the way.
//!
//! Which connection an agent uses is the engine's decision (ruling 14). Requests are sent by `calls/forward.rs`.

pub(crate) mod connection;
pub(crate) mod identities;
pub(crate) mod listing;
pub(crate) mod listing_cache;
pub(crate) mod names;
pub(crate) mod offered_names;
pub(crate) mod targets;
