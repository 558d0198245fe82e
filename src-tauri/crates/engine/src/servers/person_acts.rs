//! What people do to a server: `server_acts.rs` ends or restarts it and records what came of that, `process.rs` is its
//! actor's part, `sign_in.rs` signs in to it and out of it.

pub(crate) mod process;
pub(crate) mod server_acts;
pub(crate) mod sign_in;
