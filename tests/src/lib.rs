//! Shared setup of the integration tests: a data directory with the real program, and servers to talk to.
//!
//! Nothing here ships. `home.rs` runs the program as a person would, `server.rs` is a strict server that remembers
//! everything it was sent. The peers that we did not write are in `peers/` and `bin/rmcp-peer/`, clients that we did
//! not write in `clients/`. `load.rs`, `tiny.rs` and `forwarder.rs` measure; `gate.rs` is a core that agents reach.
//! `torture.rs` is what the long campaigns share. `oauth/` is an authorization server and a server that wants a token.

#![expect(clippy::expect_used, clippy::panic, reason = "setup of tests may panic")]

pub mod agent;
pub mod bench;
pub mod budget;
pub mod by_hand;
pub mod clients;
pub mod collector;
pub mod faketime;
pub mod forwarder;
pub mod gate;
pub mod home;
pub mod hostile;
pub mod load;
pub mod oauth;
pub mod peers;
pub mod quiet_server;
pub mod reader;
pub mod server;
pub mod slow_disk;
pub mod small_disk;
pub mod tiny;
pub mod torture;
