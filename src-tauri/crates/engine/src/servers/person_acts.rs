//! What people do to a server: `process.rs` ends or restarts its process, `sign_in.rs` signs in to it and out of it.

pub(crate) mod process;
pub(crate) mod sign_in;
