//! Every call that the window, the command line and the headless host can make.
//!
//! Plain data goes in and out; `domain` decides what is true and `engine` what happens. Nothing here opens a connection,
//! a file or a socket, and nothing prints. Start with `dispatch.rs` (all names), then `calls/` (one folder a noun),
//! `dto/` (their JSON), `feed/` (what the window follows) and `error.rs` (the closed list of codes).

#![expect(missing_docs, reason = "a field or variant whose name says everything has no doc comment")]

// What `ts-rs` makes of a type is for one test alone; elsewhere deriving `TS` adds nothing.
#[cfg(not(test))]
extern crate ts_off as ts_rs;

mod api;
#[cfg(test)]
mod bindings;
pub mod caller;
pub mod calls;
pub mod control;
mod dispatch;
pub mod dto;
pub mod error;
pub mod feed;
pub mod format;
mod lookup;
pub mod suggestion;

pub use api::{Api, CoreSurroundings, LiveCore, Locate, ProcessGroupOf, SaveToken};
pub use caller::{Ability, AbilitySet, Caller};
pub use calls::agents::connection_check::{AgentDoors, TriedDoor};
pub use calls::core::sessions::{BrowserSession, BrowserSessions, ENDED_SESSION, SESSION_RECORD};
pub use dispatch::{CALLS, CallEntry};
pub use error::{ApiError, Code};
