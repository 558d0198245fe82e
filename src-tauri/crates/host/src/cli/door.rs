//! The way to the api: the running core's socket, or the registry alone for commands that only read (ruling 17).
//!
//! Which of the two is decided by the core's lock, so that a command never reads around a running core. It never
//! starts a core; `attach.rs` is the client of the socket.

use std::sync::Arc;

use api::{Api, ApiError, Caller, Code};
use engine::SystemClock;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attach::Attached;
use crate::compose;
use crate::config::Config;
use crate::lock::CoreLock;
use crate::person;

/// A way to the api.
pub(crate) enum Door {
    /// Through the socket of a running core.
    Core(Attached),
    /// On the registry, reading only.
    Reading(Box<Api>),
}

impl Door {
    /// The running core; without one, commands end with exit code 3.
    pub(crate) fn core(config: &Config) -> Result<Self, ApiError> {
        Attached::new(&config.paths, &config.policy).map(Self::Core)
    }

    /// The running core, or the registry alone.
    pub(crate) async fn any(config: &Config) -> Result<Self, ApiError> {
        // The lock tells whether a core runs; its socket may open a moment later, or never when it dies meanwhile.
        if CoreLock::holder(&config.paths.lock()).is_some() {
            let attached = Attached::new(&config.paths, &config.policy)?;
            if attached.is_open().await || CoreLock::holder(&config.paths.lock()).is_some() {
                return Ok(Self::Core(attached));
            }
        }
        let registry = compose::open_to_read(config).await.map_err(|error| match error {
            compose::StartError::Registry(inner) => ApiError::from(inner),
            other => ApiError::new(Code::Failed, other.to_string(), other.hint()),
        })?;
        let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone());
        Ok(Self::Reading(Box::new(api)))
    }

    /// The socket's client.
    pub(crate) fn attached(&self) -> Result<&Attached, ApiError> {
        match self {
            Self::Core(attached) => Ok(attached),
            Self::Reading(_) => Err(ApiError::no_core()),
        }
    }

    /// Makes a call.
    pub(crate) async fn call<O: DeserializeOwned>(&self, name: &str, input: &impl Serialize) -> Result<O, ApiError> {
        let input = serde_json::to_string(input).map_err(|error| ApiError::unwritable(&error))?;
        let text = match self {
            Self::Core(attached) => attached.call(name, input).await?,
            Self::Reading(api) => api.dispatch(&Caller::here(person::here()), name, &input).await?,
        };
        serde_json::from_str(&text).map_err(|error| {
            ApiError::new(
                Code::Failed,
                format!("the core's answer to `{name}` cannot be read: {error}"),
                "The command line and the core may be of different versions; restart the core.",
            )
        })
    }
}
