//! How the command line and the window call the api: a core in this process, the socket of a running one, or the
//! registry alone for commands that only read (ruling 17).
//!
//! The core's lock decides which, so that nobody reads around a running core and a data directory never has two. Calls
//! and frames are JSON text; their meaning is `api`'s. Read `socket_client.rs` for the socket, `compose.rs` for
//! starting.

use std::sync::Arc;

use api::{Api, ApiError, Caller, Code};
use domain::policy::HostPolicy;
use engine::SystemClock;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::app::compose::{self, Adapters};
use crate::app::environment;
use crate::app::locked_data_dir::LockedDataDir;
use crate::app::running_core::RunningCore;
use crate::app::socket_client::{SocketClient, different_version};
use crate::app::start_error::StartError;
use crate::config::Config;
use crate::config::paths::Paths;
use crate::os::core_lock::{CoreLock, LockError};
use crate::os::user;

pub use crate::window::routes::Opener;

/// A client of the api, wherever the core runs.
pub struct CoreClient {
    route: CoreRoute,
    paths: Paths,
    hosting: HostPolicy,
}

enum CoreRoute {
    /// A core in this process.
    Here { api: Box<Api>, stopping: CancellationToken, running: Mutex<Option<Box<RunningCore>>> },
    /// Through the socket of a running core.
    Core(Box<SocketClient>),
    /// On the registry, reading only.
    Reading(Box<Api>),
}

impl CoreClient {
    /// Takes the data directory and starts a core in this process, or attaches to the core that has it. `opener` shows
    /// what a notification is about; without one notifications have no *Open*. `wrap` may replace adapters of a core
    /// that is started. Dropping the future ends what was started.
    ///
    /// # Errors
    /// When the directory cannot be used, or the core that has it does not open its socket.
    pub async fn open(
        config: Config,
        opener: Option<Opener>,
        wrap: impl FnOnce(Adapters) -> Adapters,
    ) -> Result<Self, StartError> {
        // Boxed: the numbers are kilobytes, and the future holds them as long as it waits.
        let (paths, policy) = (config.paths.clone(), Box::new(config.policy.clone()));
        let hosting = policy.hosting.clone();
        let held = match LockedDataDir::take(config) {
            Ok(held) => held,
            Err(StartError::Lock(LockError::Held { pid })) => {
                let attached = SocketClient::new(&paths, &policy).map_err(|error| StartError::Attach(error.message))?;
                if attached.wait_until_open().await {
                    return Ok(Self { route: CoreRoute::Core(Box::new(attached)), paths, hosting });
                }
                return Err(StartError::Lock(LockError::Held { pid }));
            }
            Err(error) => return Err(error),
        };
        environment::note(&paths);
        // Boxed because a whole core is in the future; one allocation in a process.
        let running = Box::pin(begin(held, opener, wrap)).await?;
        let api = Box::new(running.api().clone());
        let stopping = running.stopping();
        Ok(Self {
            route: CoreRoute::Here { api, stopping, running: Mutex::new(Some(Box::new(running))) },
            paths,
            hosting,
        })
    }

    /// A client of the running core; without one, calls fail with exit code 3.
    pub(crate) fn attach(config: &Config) -> Result<Self, ApiError> {
        let attached = SocketClient::new(&config.paths, &config.policy)?;
        Ok(Self::with_route(CoreRoute::Core(Box::new(attached)), config))
    }

    /// A client of the running core, or of the registry alone.
    pub(crate) async fn attach_or_read(config: &Config) -> Result<Self, ApiError> {
        // The lock says whether a core runs. Its socket may open a moment later, or never if the core dies first.
        if CoreLock::holder(&config.paths.lock()).is_some() {
            let attached = SocketClient::new(&config.paths, &config.policy)?;
            if attached.wait_until_open().await || CoreLock::holder(&config.paths.lock()).is_some() {
                return Ok(Self::with_route(CoreRoute::Core(Box::new(attached)), config));
            }
        }
        let registry = compose::open_to_read(config).await.map_err(|error| match error {
            StartError::Registry(inner) => ApiError::from(inner),
            other => ApiError::new(Code::Failed, other.to_string(), other.hint()),
        })?;
        let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone(), compose::scale());
        Ok(Self::with_route(CoreRoute::Reading(Box::new(api)), config))
    }

    fn with_route(route: CoreRoute, config: &Config) -> Self {
        Self { route, paths: config.paths.clone(), hosting: config.policy.hosting.clone() }
    }

    /// Whether the core runs in another process.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        matches!(self.route, CoreRoute::Core(_))
    }

    /// Whether there is no core, only what is on record.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.route, CoreRoute::Reading(_))
    }

    /// The socket's client.
    pub(crate) fn attached(&self) -> Result<&SocketClient, ApiError> {
        match &self.route {
            CoreRoute::Core(attached) => Ok(attached),
            CoreRoute::Here { .. } | CoreRoute::Reading(_) => Err(ApiError::no_core()),
        }
    }

    /// Makes a call: JSON text in, JSON text out. Dropped early, the call may have been made.
    ///
    /// # Errors
    /// The call's own; that no core is there; or that it went away before it answered.
    pub async fn call(&self, name: &str, input: String) -> Result<String, ApiError> {
        match &self.route {
            CoreRoute::Core(attached) => attached.call(name, input).await,
            CoreRoute::Here { api, .. } | CoreRoute::Reading(api) => {
                api.dispatch(&Caller::here(user::in_window()), name, &input).await
            }
        }
    }

    /// Subscribes to changes: `input` is a `SubscribeInput`, each item one `Frame`, both JSON text. An error is the
    /// last item; the stream ends with the core. Dropping it ends the subscription.
    ///
    /// # Errors
    /// As [`CoreClient::call`].
    pub async fn feed(&self, input: String) -> Result<BoxStream<'static, Result<String, ApiError>>, ApiError> {
        match &self.route {
            CoreRoute::Core(attached) => attached.frames(input).await,
            CoreRoute::Here { api, .. } | CoreRoute::Reading(api) => {
                crate::http::feed_lines::open(api, &Caller::here(user::in_window()), &input).await
            }
        }
    }

    /// Returns when the core has ended. Cancel-safe.
    pub async fn ended(&self) {
        match &self.route {
            CoreRoute::Here { stopping, .. } => stopping.cancelled().await,
            CoreRoute::Core(_) => {
                while CoreLock::holder(&self.paths.lock()).is_some() {
                    tokio::time::sleep(self.hosting.attach_again).await;
                }
            }
            CoreRoute::Reading(_) => {}
        }
    }

    /// Drains and ends the core of this process; a core in another process keeps running. A second call does nothing.
    pub async fn shutdown(&self) {
        let running = match &self.route {
            CoreRoute::Here { running, .. } => running.lock().take(),
            CoreRoute::Core(_) | CoreRoute::Reading(_) => None,
        };
        if let Some(running) = running {
            Box::pin(running.shutdown()).await;
        }
    }

    /// Makes a call with typed input and output instead of text.
    pub(crate) async fn request<O: DeserializeOwned>(&self, name: &str, input: &impl Serialize) -> Result<O, ApiError> {
        let input = serde_json::to_string(input).map_err(|error| ApiError::unwritable(&error))?;
        let text = self.call(name, input).await?;
        serde_json::from_str(&text)
            .map_err(|error| different_version(format!("the core's answer to `{name}` cannot be read: {error}")))
    }
}

/// Starts a core; dropping the future ends what was started.
async fn begin(
    held: LockedDataDir,
    opener: Option<Opener>,
    wrap: impl FnOnce(Adapters) -> Adapters,
) -> Result<RunningCore, StartError> {
    let mut adapters = Adapters::production(&held).await?;
    adapters.opener = opener;
    let adapters = wrap(adapters);
    let unfinished = adapters.supervisor.stopping().drop_guard();
    let running = Box::pin(compose::start(held, adapters)).await?;
    running.listen_as_configured().await;
    unfinished.disarm();
    Ok(running)
}
