//! Answers a heartbeat: the core's runtime runs and its api can be reached.
//!
//! Reads neither the registry nor a server, so that a slow disk is not mistaken for a dead core. Health is `doctor.rs`.

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::{Done, Nothing};
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
