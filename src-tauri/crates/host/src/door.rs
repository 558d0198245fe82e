//! The way to the api, the same for the command line and the window: a core in this process, the socket of a running
//! one, or the registry alone for commands that only read (ruling 17).
//!
//! Which of them is decided by the core's lock, so that nobody reads around a running core and one data directory never
//! has two. Calls and frames are JSON text here; what they mean is `api`'s. `attach.rs` is the client of the socket,
//! `compose.rs` starts a core.

use std::sync::Arc;

use api::{Api, ApiError, Caller, Code};
use domain::policy::HostPolicy;
use engine::SystemClock;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::attach::Attached;
use crate::compose::{self, Adapters, Held, Running, StartError};
use crate::config::Config;
use crate::environment;
use crate::lock::{CoreLock, LockError};
use crate::paths::Paths;
use crate::person;

/// Shows a place of the window, given as the hash of its address (`#/inbox/…`, `#/tasks/hdl_…`). Called from any
/// thread; it returns at once.
pub type Opener = Arc<dyn Fn(&str) + Send + Sync>;

/// A way to the api.
pub struct Door {
    way: Way,
    paths: Paths,
    hosting: HostPolicy,
}

enum Way {
    /// A core in this process.
    Here { api: Box<Api>, stopping: CancellationToken, running: Mutex<Option<Box<Running>>> },
    /// Through the socket of a running core.
    Core(Box<Attached>),
    /// On the registry, reading only.
    Reading(Box<Api>),
}

impl Door {
    /// Takes the data directory and starts a core in this process, or attaches to the core that has it. `opener` shows
    /// what a notice is about; without one notices have no *Open*. `wrap` may replace adapters of a core that is
    /// started. Dropped before it is done it ends what it started.
    ///
    /// # Errors
    /// When the directory cannot be used, or a core has it whose door does not open.
    pub async fn open(
        config: Config,
        opener: Option<Opener>,
        wrap: impl FnOnce(Adapters) -> Adapters,
    ) -> Result<Self, StartError> {
        let (paths, policy) = (config.paths.clone(), config.policy.clone());
        let hosting = policy.hosting.clone();
        let held = match Held::take(config) {
            Ok(held) => held,
            Err(StartError::Lock(LockError::Held { pid })) => {
                let attached = Attached::new(&paths, &policy).map_err(|error| StartError::Attach(error.message))?;
                if attached.is_open().await {
                    return Ok(Self { way: Way::Core(Box::new(attached)), paths, hosting });
                }
                return Err(StartError::Lock(LockError::Held { pid }));
            }
            Err(error) => return Err(error),
        };
        environment::note(&paths);
        // Large because a whole core is in it; one allocation for a process.
        let running = Box::pin(begin(held, opener, wrap)).await?;
        let api = Box::new(running.api().clone());
        let stopping = running.stopping();
        Ok(Self { way: Way::Here { api, stopping, running: Mutex::new(Some(Box::new(running))) }, paths, hosting })
    }

    /// The running core; without one, calls end with exit code 3.
    pub(crate) fn core(config: &Config) -> Result<Self, ApiError> {
        let attached = Attached::new(&config.paths, &config.policy)?;
        Ok(Self::by(Way::Core(Box::new(attached)), config))
    }

    /// The running core, or the registry alone.
    pub(crate) async fn any(config: &Config) -> Result<Self, ApiError> {
        // The lock tells whether a core runs; its socket may open a moment later, or never when it dies meanwhile.
        if CoreLock::holder(&config.paths.lock()).is_some() {
            let attached = Attached::new(&config.paths, &config.policy)?;
            if attached.is_open().await || CoreLock::holder(&config.paths.lock()).is_some() {
                return Ok(Self::by(Way::Core(Box::new(attached)), config));
            }
        }
        let registry = compose::open_to_read(config).await.map_err(|error| match error {
            StartError::Registry(inner) => ApiError::from(inner),
            other => ApiError::new(Code::Failed, other.to_string(), other.hint()),
        })?;
        let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone(), compose::scale());
        Ok(Self::by(Way::Reading(Box::new(api)), config))
    }

    fn by(way: Way, config: &Config) -> Self {
        Self { way, paths: config.paths.clone(), hosting: config.policy.hosting.clone() }
    }

    /// Whether the core runs in another process.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        matches!(self.way, Way::Core(_))
    }

    /// Whether there is no core, only what is on record.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.way, Way::Reading(_))
    }

    /// The socket's client.
    pub(crate) fn attached(&self) -> Result<&Attached, ApiError> {
        match &self.way {
            Way::Core(attached) => Ok(attached),
            Way::Here { .. } | Way::Reading(_) => Err(ApiError::no_core()),
        }
    }

    /// Makes a call: JSON text in, JSON text out. Dropped early, the call may have been made.
    ///
    /// # Errors
    /// The call's own; that no core is there; or that it went away before it answered.
    pub async fn call(&self, name: &str, input: String) -> Result<String, ApiError> {
        match &self.way {
            Way::Core(attached) => attached.call(name, input).await,
            Way::Here { api, .. } | Way::Reading(api) => {
                api.dispatch(&Caller::here(person::in_window()), name, &input).await
            }
        }
    }

    /// Follows what changes: `input` is a `SubscribeInput`, each item one `Frame`, both JSON text. An error is the
    /// last item; the stream ends with the core. Dropping it ends the subscription.
    ///
    /// # Errors
    /// As [`Door::call`].
    pub async fn feed(&self, input: String) -> Result<BoxStream<'static, Result<String, ApiError>>, ApiError> {
        match &self.way {
            Way::Core(attached) => attached.frames(input).await,
            Way::Here { api, .. } | Way::Reading(api) => {
                crate::frames::open(api, &Caller::here(person::in_window()), &input).await
            }
        }
    }

    /// Returns when the core behind this door has ended. Cancel-safe.
    pub async fn ended(&self) {
        match &self.way {
            Way::Here { stopping, .. } => stopping.cancelled().await,
            Way::Core(_) => {
                while CoreLock::holder(&self.paths.lock()).is_some() {
                    tokio::time::sleep(self.hosting.attach_again).await;
                }
            }
            Way::Reading(_) => {}
        }
    }

    /// Drains and ends a core of this process; another one's goes on. A second call does nothing.
    pub async fn stop(&self) {
        let running = match &self.way {
            Way::Here { running, .. } => running.lock().take(),
            Way::Core(_) | Way::Reading(_) => None,
        };
        if let Some(running) = running {
            Box::pin(running.stop()).await;
        }
    }

    /// Makes a call with values in the place of text.
    pub(crate) async fn ask<O: DeserializeOwned>(&self, name: &str, input: &impl Serialize) -> Result<O, ApiError> {
        let input = serde_json::to_string(input).map_err(|error| ApiError::unwritable(&error))?;
        let text = self.call(name, input).await?;
        serde_json::from_str(&text).map_err(|error| {
            ApiError::new(
                Code::Failed,
                format!("the core's answer to `{name}` cannot be read: {error}"),
                "The command line and the core may be of different versions; restart the core.",
            )
        })
    }
}

/// Starts a core; dropped half way, it ends what it started.
async fn begin(
    held: Held,
    opener: Option<Opener>,
    wrap: impl FnOnce(Adapters) -> Adapters,
) -> Result<Running, StartError> {
    let mut adapters = Adapters::production(&held).await?;
    adapters.opener = opener;
    let adapters = wrap(adapters);
    let unfinished = adapters.supervisor.stopping().drop_guard();
    let running = Box::pin(compose::start(held, adapters)).await?;
    running.listen_as_configured().await;
    unfinished.disarm();
    Ok(running)
}
