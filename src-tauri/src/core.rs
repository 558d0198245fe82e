//! The connection to the core for as long as the window lives: opened, lost, opened again.
//!
//! One loop owns it. Calls wait for the first attempt; a failed attempt is reported to every caller and repeated. When
//! the core of another process ends, this process takes over the data directory. What a call means is not known here.

use std::sync::Arc;

use api::{ApiError, Code};
use host::app::compose::Adapters;
use host::app::core_client::{CoreClient, Opener};
use host::app::watchdog;
use host::config::Config;
use tokio::sync::watch;

#[derive(Clone)]
enum State {
    Opening,
    Open(Arc<CoreClient>),
    Shut(ApiError),
}

/// The core, as the rest of the window sees it.
pub(crate) struct Core {
    state: watch::Sender<State>,
}

impl Core {
    /// Not opened yet.
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(State::Opening) }
    }

    /// The door, or why there is none. Waits while it is opened for the first time. Cancel-safe.
    ///
    /// # Errors
    /// Why the core could not be opened.
    pub(crate) async fn door(&self) -> Result<Arc<CoreClient>, ApiError> {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| !matches!(state, State::Opening)).await;
        match known.as_deref() {
            Ok(State::Open(door)) => Ok(Arc::clone(door)),
            Ok(State::Shut(why)) => Err(why.clone()),
            Ok(State::Opening) | Err(_) => Err(ApiError::no_core()),
        }
    }

    /// The door, if it is open.
    pub(crate) fn open_door(&self) -> Option<Arc<CoreClient>> {
        match &*self.state.borrow() {
            State::Open(door) => Some(Arc::clone(door)),
            State::Opening | State::Shut(_) => None,
        }
    }

    /// Tries to open the door and publishes the outcome.
    pub(crate) async fn open(&self, opener: &Opener) -> Option<Arc<CoreClient>> {
        match attempt(opener).await {
            Ok(door) => {
                let door = Arc::new(door);
                self.state.send_replace(State::Open(Arc::clone(&door)));
                Some(door)
            }
            Err(why) => {
                let is_known = matches!(&*self.state.borrow(), State::Shut(known) if *known == why);
                if !is_known {
                    tracing::warn!("no core: {}", why.message);
                }
                self.shut(why);
                None
            }
        }
    }

    /// Makes calls fail with this error until the core is open again.
    pub(crate) fn shut(&self, why: ApiError) {
        self.state.send_replace(State::Shut(why));
    }
}

async fn attempt(opener: &Opener) -> Result<CoreClient, ApiError> {
    let config = Config::load().map_err(|why| ApiError::new(Code::Usage, why.to_string(), why.hint()))?;
    // Nobody starts a window again but itself.
    let wrap = |adapters| Adapters { on_hang: Arc::new(watchdog::restart_process), ..adapters };
    let door = CoreClient::open(config, Some(Arc::clone(opener)), wrap).await;
    door.map_err(|why| ApiError::new(Code::NoCore, why.to_string(), why.hint()))
}
