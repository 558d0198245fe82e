//! The answer to a heartbeat: the runtime of the core turns and its api can be reached.
//!
//! Reads neither the registry nor a server, so that a slow disk is never told as a core that is gone. How well the
//! core is, `doctor.rs` says.

use super::{Done, Nothing};
use crate::api::Api;
use crate::caller::Caller;
use crate::error::ApiError;

impl Api {
    /// Answers at once, whatever state the registry and the servers are in.
    ///
    /// # Errors
    /// Never; the table of calls wants a result.
    pub async fn core_ping(&self, _caller: &Caller, _input: Nothing) -> Result<Done, ApiError> {
        Ok(Done {})
    }
}
