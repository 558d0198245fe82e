//! The context windows of agents in memory: which conversation fills which window, and with what.
//!
//! Counts come in from `counting`; nothing here counts or stores. Start with `windows.rs`.

pub(crate) mod agent_windows;
pub(crate) mod calling_conversations;
pub(crate) mod conversation;
pub(crate) mod spend_series;
pub(crate) mod tool_paging;
pub(crate) mod windows;
