//! Pauses of a supervisor program: only where everything that stands still is in its reach.
//!
//! What a pause does is the engine's (`decisions/pause.rs`). A program sees the pauses that it began, and ends none.

use domain::server::halt::{HaltSubject, HaltedBy};
use domain::server::pause::{Pause, PauseSubject};
use engine::StartPause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use super::lookup::unknown;
use crate::api::Api;
use crate::calls::Nothing;
use crate::calls::pauses::{PauseInput, PauseName, check_hold, named};
use crate::dto::iso;
use crate::dto::pause::FrozenProcessesDto;
use crate::error::ApiError;

/// Pauses in force that this token began.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPauseList {
    pub pauses: Vec<ControlPause>,
}

/// A pause that this token began. Only a person ends it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPause {
    pub id: String,
    /// The paused agent; null when it is a server.
    pub agent: Option<String>,
    /// The frozen server; null when it is an agent.
    pub server: Option<String>,
    pub since: String,
    /// Calls that wait for its end; none was sent.
    pub waiting: u64,
    /// What was found of a server's processes; null for an agent.
    pub processes: Option<FrozenProcessesDto>,
}

impl Api {
    /// Pauses an agent or freezes a server in reach.
    ///
    /// # Errors
    /// When what is named is not in reach whole, is paused already, or it cannot be recorded: then nothing is paused.
    pub(super) async fn control_pause(
        &self,
        caller: &ControlCaller,
        input: PauseInput,
    ) -> Result<ControlPause, ApiError> {
        let live = self.live()?;
        let reason = self.control_reason(caller, input.reason.as_deref())?.unwrap_or_default();
        let (subject, covered, what, name) = match named(input.agent.as_deref(), input.server.as_deref())? {
            PauseName::Agent(name) => {
                let id = self.control_agent(caller, name).await?.id;
                (PauseSubject::Agent(id), HaltSubject::Agent(id), "agent", name)
            }
            PauseName::Server(name) => {
                let id = self.control_server(caller, name).await?.id;
                (PauseSubject::Server(id), HaltSubject::Server(id), "server", name)
            }
        };
        // Frozen processes are those of every agent on the server.
        if !caller.token.reaches_all_of(&covered) {
            return Err(unknown(what, name));
        }
        check_hold(subject, input.hold_results)?;
        if let Some(began) = caller.first_began {
            let pauses = self.pauses_in_force().await?;
            let is_ours = |pause: &&Pause| pause.subject == subject && pause.by == by(caller) && pause.at >= began;
            if let Some(pause) = pauses.iter().find(is_ours) {
                return self.control_pause_shown(pause).await;
            }
        }
        live.engine.count_control_use(&caller.token, 1).await?;
        let start = StartPause { subject, by: by(caller), reason, holds_results: input.hold_results };
        let pause = live.engine.pause(start).await?;
        self.control_pause_shown(&pause).await
    }

    /// The pauses in force that this token began.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(super) async fn control_pause_list(
        &self,
        caller: &ControlCaller,
        _input: Nothing,
    ) -> Result<ControlPauseList, ApiError> {
        let mut pauses = Vec::new();
        for pause in self.pauses_in_force().await?.iter().filter(|pause| pause.by == by(caller)) {
            pauses.push(self.control_pause_shown(pause).await?);
        }
        Ok(ControlPauseList { pauses })
    }

    async fn control_pause_shown(&self, pause: &Pause) -> Result<ControlPause, ApiError> {
        let waiting = self.waiting_calls(pause).await?.len();
        let shown = self.pause_dto(pause, waiting, &mut self.names().await?).await?;
        let (id, agent, server, waiting, processes) =
            (shown.id, shown.agent, shown.server, shown.waiting, shown.processes);
        Ok(ControlPause { id, agent, server, since: iso(pause.at), waiting, processes })
    }
}

fn by(caller: &ControlCaller) -> HaltedBy {
    HaltedBy::Control(caller.id())
}
