//! Doubles behind the ports, for tests of every crate: nothing here ships.
//!
//! `scripted.rs` is a server without a wire, `memory_registry.rs` a registry without a disk, `clock.rs` a clock that
//! tests move, `kill.rs` ends things at named moments. `story.rs` is the contract that every registry must keep.
//! It knows the domain only: no MCP, no SQL, no engine.

pub mod build;
pub mod clock;
pub mod intents;
pub mod kill;
pub mod memory_registry;
pub mod notifier;
pub mod scale;
pub mod scripted;
pub mod secrets;
pub mod story;
