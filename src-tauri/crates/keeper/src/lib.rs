//! Keeps the child process of an MCP server alive when the core that started it ends (ruling 16).
//!
//! `server.rs` is the program `taskwarden keep`; `client.rs` is how a core starts one or connects to it; `protocol/` is
//! what they say to each other; `process/` starts and ends children, with or without a keeper. It knows no MCP: lines,
//! notes and state are text to it. The MCP side is `mcp/upstream/transport/stdio`.

mod client;
mod local_stream;
mod process;
mod protocol;
mod read_buffer;
mod runtime_dir;
mod server;

pub use client::{ConnectOutcome, KeeperClient, KeeperConnection, KeeperProgram, KeeperStartError, end_child_of};
pub use local_stream::{LocalReader, LocalWriter, reader, split};
pub use process::child_records::{ChildRecord, EndedChild, end_recorded_children, start_time};
pub use process::group::ProcessGroup;
pub use process::launch::{Launch, LaunchError};
pub use process::line_reader::{LineReader, OutputLine};
pub use process::message_skim::MessageSkim;
pub use process::process_watch::ServerWatch;
pub use process::shutdown::{ChildExit, ShutdownTimes, end_child, exited};
pub use protocol::frame::{FrameKind, FrameReader, KeeperFrame, put_frame_head};
pub use protocol::key::KeeperKey;
pub use protocol::start_order::{FreezeReport, KeeperHello};
pub use read_buffer::line_end;
pub use runtime_dir::{
    HeldChild, RuntimeDir, end_abandoned_children, has_listening_keeper, has_other_child, kept_children,
    names_with_children, running_keepers, unclaimed_children,
};
pub use server::{KeeperError, serve};
