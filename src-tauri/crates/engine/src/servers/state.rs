//! What an actor remembers: plain bookkeeping, without wire, registry or clock of its own.
//!
//! Behaviour is in the files of `servers`, each an `impl ServerActor`.

pub(crate) mod connection_tracker;
pub(crate) mod finished_job;
pub(crate) mod poll_queue;
pub(crate) mod push_buffers;
pub(crate) mod question_buffer;
pub(crate) mod reach_check;
pub(crate) mod task_lane;
