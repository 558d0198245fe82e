//! A core that runs in this process: opens its listener, hands out its api, and shuts it down.
//!
//! How it was composed is `compose.rs`; what it decides is the engine's.

use std::net::SocketAddr;
use std::sync::Arc;

use api::Api;
use api::dto::AgentsAt;
use domain::policy::Policy;
use engine::Engine;
use engine::runtime::supervisor::Supervisor;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::locked_data_dir::LockedDataDir;
use super::watchdog::Watchdog;
use crate::agent_access::entry::AgentEntry;
use crate::config::ListenSetting;
use crate::http::control::ControlCalls;
use crate::http::door_threads::DoorThreads;
use crate::http::session_records::SessionRecords;
use crate::http::sign_in::{Invitation, SignIn};
use crate::http::{self, ListenError, ListenerServices};

/// A running core.
pub struct RunningCore {
    pub(super) api: Api,
    pub(super) engine: Engine,
    pub(super) supervisor: Supervisor,
    pub(super) policy: Policy,
    pub(super) sign_in: Arc<SignIn>,
    pub(super) records: Arc<SessionRecords>,
    pub(super) agents: AgentEntry,
    pub(super) control: ControlCalls,
    /// Serve agents over HTTP; dropped when the core has drained.
    pub(super) doors: Arc<DoorThreads>,
    pub(super) agents_at: Arc<Mutex<AgentsAt>>,
    /// Kept so that the watchdog watches shutdown as well.
    pub(super) _watchdog: Watchdog,
    pub(super) held: LockedDataDir,
}

impl RunningCore {
    /// The api of this core.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Opens the listener for agents and the browser's window, and returns where. Why an address could not be opened is
    /// shown to people as well.
    ///
    /// # Errors
    /// When the address is not a loopback address or cannot be opened.
    pub(crate) async fn listen(&self, address: SocketAddr) -> Result<SocketAddr, ListenError> {
        match http::bind(address).await {
            Ok((listener, bound)) => {
                let (api, sign_in, records) = (self.api.clone(), Arc::clone(&self.sign_in), Arc::clone(&self.records));
                let (agents, doors) = (self.agents.clone(), Arc::clone(&self.doors));
                let control = self.control.clone();
                let services = ListenerServices { api, sign_in, records, agents, doors, control };
                http::serve(listener, bound, services, &self.policy, &self.supervisor);
                tracing::info!(address = %bound, "agents and the browser's window are served");
                *self.agents_at.lock() = AgentsAt { url: Some(http::agents_url(bound)), why: None };
                Ok(bound)
            }
            Err(error) => {
                let why = format!("{error}. {}", error.hint());
                *self.agents_at.lock() = AgentsAt { url: None, why: Some(why) };
                Err(error)
            }
        }
    }

    /// A sign-in link for whoever started this core. Only for a starter that is not below an agent or a server: who has
    /// the link is treated as a person.
    pub(crate) fn first_invitation(&self, bound: SocketAddr) -> Invitation {
        self.sign_in.invitation(bound)
    }

    /// Opens the configured address, for a core with a window: errors are shown there (ruling 18).
    pub(crate) async fn listen_as_configured(&self) {
        if let ListenSetting::At(address) = self.held.config.listen
            && let Err(error) = self.listen(address).await
        {
            tracing::warn!(%error, "agents are served at the socket only");
        }
    }

    /// Cancelled when this core ends.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.supervisor.stopping()
    }

    /// Drains: new calls are refused, deliveries get their time, everything is flushed and closed.
    pub async fn shutdown(self) {
        // The socket goes first, so that a new core can start as soon as the lock is free.
        let _ = std::fs::remove_file(self.held.config.paths.socket());
        self.engine.shutdown().await;
        if !self.supervisor.stop(self.policy.drain_limit).await {
            tracing::warn!("some work did not end in time and was aborted");
        }
        tracing::info!("the core stopped");
    }
}
