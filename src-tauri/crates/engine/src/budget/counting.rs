//! Token counting: the queue, the worker's count, and what of a message an agent's model sees.
//!
//! Counts are entered into windows and tasks by `budget/record.rs`.

pub(crate) mod agent_queues;
pub(crate) mod count;
pub(crate) mod queue;
pub(crate) mod result_slots;
pub(crate) mod traffic;
pub(crate) mod visible;
