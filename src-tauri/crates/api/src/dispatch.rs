//! Name to call, shared by every door: JSON text in, JSON text out, so that payloads pass byte for byte.
//!
//! Adding a call is one line here and its name in [`CALLS`]. The doors know names only.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::near::did_you_mean;

/// Every name that [`Api::dispatch`] knows, with whether it only reads.
pub const CALLS: [(&str, bool); 15] = [
    ("servers.add", false),
    ("servers.list", true),
    ("servers.show", true),
    ("servers.tools", false),
    ("servers.remove", false),
    ("tasks.start", false),
    ("tasks.list", true),
    ("tasks.show", true),
    ("tasks.result", true),
    ("tasks.adopt", false),
    ("tasks.answer", false),
    ("tasks.cancel", false),
    ("tasks.revoke", false),
    ("inbox", true),
    ("doctor", true),
];

impl Api {
    /// Makes the call of this name.
    ///
    /// # Errors
    /// The call's own, or that there is no such name, or that its input cannot be read.
    pub async fn dispatch(&self, caller: &Caller, name: &str, input: &str) -> Result<String, ApiError> {
        match name {
            "servers.add" => written(self.server_add(caller, read(input)?).await?),
            "servers.list" => written(self.server_list(caller, read(input)?).await?),
            "servers.show" => written(self.server_show(caller, read(input)?).await?),
            "servers.tools" => written(self.server_tools(caller, read(input)?).await?),
            "servers.remove" => written(self.server_remove(caller, read(input)?).await?),
            "tasks.start" => written(self.task_start(caller, read(input)?).await?),
            "tasks.list" => written(self.task_list(caller, read(input)?).await?),
            "tasks.show" => written(self.task_show(caller, read(input)?).await?),
            "tasks.result" => written(self.task_result(caller, read(input)?).await?),
            "tasks.adopt" => written(self.task_adopt(caller, read(input)?).await?),
            "tasks.answer" => written(self.answer(caller, read(input)?).await?),
            "tasks.cancel" => written(self.cancel(caller, read(input)?).await?),
            "tasks.revoke" => written(self.revoke(caller, read(input)?).await?),
            "inbox" => written(self.inbox(caller, read(input)?).await?),
            "doctor" => written(self.doctor(caller, read(input)?).await?),
            unknown => Err(ApiError::new(
                Code::NotFound,
                format!("there is no call `{}`", crate::lookup::short(unknown)),
                did_you_mean(unknown, CALLS.iter().map(|(name, _)| *name)).unwrap_or_else(|| {
                    "The command line and the core may be of different versions; restart `taskwarden serve`.".into()
                }),
            )),
        }
    }
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, ApiError> {
    serde_json::from_str(input).map_err(|error| ApiError::bad_input(&error))
}

fn written<T: Serialize>(output: T) -> Result<String, ApiError> {
    serde_json::to_string(&output).map_err(|error| ApiError::unwritable(&error))
}
