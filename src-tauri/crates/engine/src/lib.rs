//! What happens: the only place that awaits on behalf of the product.
//!
//! Loads a handle, asks `domain` for a transition, commits it, then performs its effects. Knows no MCP, no SQL and
//! no window: the outside comes in through the ports of `domain`. Read `engine.rs` for the face, `ledger.rs` for the
//! one way a handle changes, `follow.rs` for how servers are watched.

mod engine;
pub mod supervisor;

pub use engine::{Draw, Engine, EngineError, Frame, LiveFacts, Parts, StartCall};
