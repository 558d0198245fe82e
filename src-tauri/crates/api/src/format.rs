//! Text for people and terminals: times, sizes, token figures, hosts, shell words, settings to paste, results.
//!
//! Pure functions, shared by every door; nothing here reads the registry. JSON times and durations are `dto.rs`.

pub mod alarm;
pub(crate) mod content_parts;
pub(crate) mod first_line;
pub(crate) mod line_diff;
pub mod pause;
pub(crate) mod pretty_json;
pub mod program_settings;
pub mod shell_word;
pub mod storage;
pub mod time;
pub mod tokens;
pub(crate) mod tool_diff;
