//! The limits of what is kept of servers, and of signing in to them.
//!
//! How servers are reached and polled is in `policy.rs`; each file here is one part.

mod observed;
mod sign_in;

pub use observed::{ObservedServerPolicy, ToolMemoryPolicy};
pub use sign_in::SignInPolicy;
