//! Requests that run: calls of tools, requests forwarded raw, and what is sent on their way.
//!
//! `call.rs` is a `tools/call` from its params to its first reply, `held_call.rs` what happens while it runs on,
//! `forward.rs` every other request. Tasks that calls become are `tasks/`.

pub(crate) mod call;
pub(crate) mod call_params;
pub(crate) mod forward;
pub(crate) mod held_call;
pub(crate) mod param_headers;
pub(crate) mod progress;
pub(crate) mod resumption;
pub(crate) mod task_call;
pub(crate) mod task_tools;
