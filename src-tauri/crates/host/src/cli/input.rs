//! What people type: prompts at the terminal, JSON arguments, numbers of tokens, and the file with a control token.
//!
//! Only reads and parses. Whether a value is allowed is the core's decision.

pub(crate) mod amount;
pub(crate) mod call_count;
pub(crate) mod control_token;
pub(crate) mod json_argument;
pub(crate) mod prompt;
pub(crate) mod run_time;
pub(crate) mod secrets;
