//! What agents' context windows contain: the window, the models with their sizes, names and prices, and waste.
//!
//! Counting tokens is behind [`crate::ports::TokenCounter`]; limits are rules of people, in `rule.rs`.

pub mod models;
pub mod names;
pub mod price;
pub mod waste;
pub mod window;
