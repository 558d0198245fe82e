//! What agents' context windows contain: the window, the models and their sizes, and waste.
//!
//! Counting tokens is behind [`crate::ports::TokenCounter`]; limits are rules of people, in `rule.rs`.

pub mod models;
pub mod waste;
pub mod window;
