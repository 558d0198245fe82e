//! Doubles behind the ports, for tests of every crate: nothing here ships.
//!
//! `scripted/` is a server without a wire, `memory_registry/` a registry without a disk, `clock.rs` a clock that tests move;
//! `kill/` ends things at named moments. `contract/` is what every registry must keep. It knows the domain only: no MCP, no
//! SQL, no engine.

pub mod build;
pub mod call_intents;
pub mod clock;
pub mod contract;
pub mod kill;
pub mod memory_registry;
pub mod not_run;
pub mod notifier;
pub mod scripted;
pub mod secrets;
pub mod token_counter;
