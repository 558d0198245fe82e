//! What happens: the only place that awaits on behalf of the product.
//!
//! Loads a handle, asks `domain` for a transition, commits it, then performs its effects. Knows no MCP, no SQL and
//! no window: the outside comes in through the ports of `domain`. Read `engine.rs` for the face, `ledger.rs` for the
//! one way a handle changes, `follow.rs` for how servers are watched.

mod admission;
mod attend;
mod clock;
mod core;
mod decide;
mod deliver;
mod dice;
mod discover;
mod engine;
mod feed;
mod follow;
mod ledger;
mod outbox;
mod parcels;
mod post;
mod pulse;
mod recover;
mod stop;
pub mod supervisor;
mod sweep;

pub use clock::SystemClock;
pub use engine::{Draw, Engine, EngineError, Frame, LiveFacts, Parts, StartCall};
