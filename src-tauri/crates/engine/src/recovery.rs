//! What a start does about the run before it, from the registry alone.
//!
//! Rows of tasks are brought up to date in `restart.rs`; calls that never got a row are `interrupted_calls.rs`.

pub(crate) mod interrupted_calls;
pub(crate) mod restart;
