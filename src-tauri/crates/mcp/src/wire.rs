//! JSON-RPC and MCP messages as text: parsing, writing, and reading the few fields we need.
//!
//! `message.rs` parses and writes one message, `raw_json.rs` edits JSON text in place, `view/` reads fields, `dialect/`
//! is the two generations of tasks, `rewrite.rs` exchanges ids. Nothing here sends, waits or keeps state.

pub(crate) mod dialect;
pub(crate) mod error_codes;
pub mod message;
pub(crate) mod raw_json;
pub mod rewrite;
pub mod sse;
pub(crate) mod view;
