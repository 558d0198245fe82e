//! Notifications of servers to those who subscribed: `subscriptions/listen`, and the streams of older sessions.
//!
//! Nothing is replayed or stored. Notifications about one call are `calls/progress.rs`, about tasks `tasks/`.

pub(crate) mod listen;
pub(crate) mod log_level;
pub(crate) mod server_listener;
pub(crate) mod session_listener;
pub(crate) mod session_state;
