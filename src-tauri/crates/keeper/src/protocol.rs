//! What a core and a keeper say to each other, from the order that starts a keeper to the frames on its socket.
//!
//! `frame.rs` is the framing, `start_order.rs` the first messages, `authentication.rs` the proof that both sides know
//! the keeper's secret, `key.rs` where that secret comes from.

pub(crate) mod authentication;
pub(crate) mod frame;
pub(crate) mod key;
pub(crate) mod start_order;
