//! What happens: the only place that awaits on behalf of the product.
//!
//! Loads a handle, asks `domain` for a transition, commits it, then performs its effects. Knows no MCP, no SQL and
//! no window: the outside comes in through the ports of `domain`. Read `engine.rs` for the face, `ledger.rs` for the
//! one way a handle changes, `follow.rs` for how servers are watched.

mod activity;
mod admission;
mod agent_call;
mod attend;
mod budget;
mod clock;
mod clock_watch;
mod company;
mod core;
mod decide;
mod deliver;
mod dice;
mod discover;
mod engine;
mod errand;
mod feed;
mod flight;
mod follow;
mod gateway;
mod gauge;
mod given;
mod kin;
mod ledger;
mod leftover;
mod line;
mod lines;
mod open;
mod open_calls;
mod outbox;
mod parcels;
mod post;
mod presence;
mod pulse;
mod recording;
mod recover;
mod repeats;
mod retention;
mod revoke;
mod roster;
mod shared_questions;
mod stop;
pub mod supervisor;
mod sweep;
mod unrecorded;
mod usage;
mod watch;

pub use activity::{ThreadActivity, activities};
pub use admission::arguments_digest;
pub use agent_call::{AgentCall, HangUp, Landed};
pub use budget::{AgentBudget, Coming, ComingState, Passed, Place, Seen};
pub use clock::SystemClock;
pub use engine::{Draw, Engine, EngineError, Frame, LiveFacts, Parts, StartCall};
pub use gauge::{Gauge, GaugeUnit, Gauges};
pub use lines::{LineHold, LineUp};
pub use post::RefusedQuestions;
pub use presence::{AgentBridge, Presence};
pub use recording::RecordingState;
pub use retention::Quota;
pub use roster::Roster;
pub use unrecorded::UnrecordedCall;
pub use watch::HandleWatch;
