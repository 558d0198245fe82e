//! Where notifications of a server go: to the request they belong to, to everybody who subscribed, or to the engine.
//!
//! `request_listeners.rs` routes by request, `broadcast.rs` to all readers, `event_queue.rs` to the engine, `log_messages.rs`
//! to the server's log. Which of
//! the three a notification takes is decided in `inbound.rs`.

pub(crate) mod broadcast;
pub(crate) mod event_queue;
pub(crate) mod log_messages;
pub(crate) mod request_listeners;
