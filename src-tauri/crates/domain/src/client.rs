//! The programs that agents run in: what is known of each, and what was learnt from its calls.
//!
//! No right depends on it: a program names itself.

pub mod learned_timeout;
pub mod profile;
