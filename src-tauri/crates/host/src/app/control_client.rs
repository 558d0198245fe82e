//! Calls of the control API as a supervisor program, with the control token in a file.
//!
//! Goes through the core's socket, so that it needs no listener. What the token opens is decided by the core alone
//! (`http/control.rs`); being the user of this machine adds nothing to it. The token is in no argument, no log and no
//! error.

use std::path::Path;

use api::{ApiError, Code};
use domain::agent::control_token::ControlToken;
use reqwest::header::HeaderValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent_access::token_file::{self, TokenFileError};
use crate::app::control_events::ControlEvents;
use crate::app::socket_client::{SocketClient, different_version};
use crate::config::Config;

/// A client of the running core for one supervisor program.
pub(crate) struct ControlClient {
    socket: SocketClient,
    authorization: HeaderValue,
}

impl ControlClient {
    /// A client with the token in this file.
    ///
    /// # Errors
    /// When the file cannot be read, others can read it, or it has no control token.
    pub(crate) fn open(config: &Config, file: &Path) -> Result<Self, ApiError> {
        let token = token_file::read(file).map_err(|why| unusable(file, &why))?;
        if !token.starts_with(ControlToken::PREFIX) {
            return Err(no_control_token(file));
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| no_control_token(file))?;
        authorization.set_sensitive(true);
        Ok(Self { socket: SocketClient::new(&config.paths, &config.policy)?, authorization })
    }

    /// Makes a call with typed input and output.
    ///
    /// # Errors
    /// The call's own, which include that the token is not in force or does not reach something; that no core runs.
    pub(crate) async fn request<O: DeserializeOwned>(&self, name: &str, input: &impl Serialize) -> Result<O, ApiError> {
        let mut input = serde_json::to_value(input).map_err(|error| ApiError::unwritable(&error))?;
        leave_out_empty_lists(&mut input);
        let text = self.socket.control_call(name, input.to_string(), self.authorization.clone()).await?;
        serde_json::from_str(&text)
            .map_err(|error| different_version(format!("the core's answer to `{name}` cannot be read: {error}")))
    }

    /// Opens the feed of what the token reaches, after the event with this id or from now on.
    ///
    /// # Errors
    /// As [`ControlClient::request`]; that too many feeds are open.
    pub(crate) async fn feed(&self, after: Option<&str>) -> Result<ControlEvents, ApiError> {
        Ok(ControlEvents::new(self.socket.control_feed(self.authorization.clone(), after).await?))
    }
}

/// A control call takes an empty list for a mistake; in the types of the calls it is a member that was left out.
fn leave_out_empty_lists(input: &mut Value) {
    if let Value::Object(members) = input {
        members.retain(|_, value| value.as_array().is_none_or(|items| !items.is_empty()));
        members.values_mut().for_each(leave_out_empty_lists);
    }
}

fn unusable(file: &Path, why: &TokenFileError) -> ApiError {
    let (name, quoted) = (file.display(), shell_quoted(file));
    match why {
        TokenFileError::OthersCanRead => ApiError::new(
            Code::Refused,
            format!("the token in `{name}` is not used, because others can read the file"),
            format!(
                "If it is the file of the token, run `chmod 600 {quoted}`. If others may have read it, revoke the token with \
                 `taskwarden control revoke NAME`."
            ),
        ),
        TokenFileError::NotYours => ApiError::new(
            Code::Refused,
            format!("the token in `{name}` is not used, because the file belongs to another user"),
            "Keep the token in a file of your own that only you can read (`chmod 600`).",
        ),
        TokenFileError::Empty | TokenFileError::TooLong => no_control_token(file),
        TokenFileError::Io(error) => ApiError::new(
            Code::Usage,
            format!("the token file `{name}` cannot be read: {error}"),
            "`--token-file` takes the path of a file with the token that `taskwarden control add` printed.",
        ),
    }
}

fn no_control_token(file: &Path) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("there is no control token in `{}`", file.display()),
        "The file has the token alone, as `taskwarden control add` printed it: it begins with `twc_`.",
    )
}

fn shell_quoted(file: &Path) -> String {
    api::format::shell_word::shell_quote(&file.to_string_lossy())
}
