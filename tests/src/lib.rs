//! Shared setup of the integration tests: a data directory with the real program, and servers to talk to.
//!
//! Nothing here ships. `home.rs` runs the program as a person would, `server.rs` is a strict server that remembers
//! everything it was sent. The peers that we did not write are in `peers/` and `bin/rmcp-peer.rs`.

#![expect(clippy::expect_used, clippy::panic, reason = "setup of tests may panic")]

pub mod bench;
pub mod forwarder;
pub mod home;
pub mod hostile;
pub mod load;
pub mod peers;
pub mod server;
pub mod tiny;
