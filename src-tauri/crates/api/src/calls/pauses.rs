//! Pause one agent or freeze one local server, see what waits, and end a pause (stop.md §3.6).
//!
//! What a pause does is the engine's. Only a person ends one.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::server::halt::HaltedBy;
use domain::server::pause::{Pause, PauseRefused, PauseSubject, SendWaiting};
use domain::task::TaskHandle;
use engine::{EngineError, StartPause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::iso;
use crate::dto::pause::{PauseContext, PauseDto, WaitingCallDto, waiting_since};
use crate::error::{ApiError, Code};
use crate::lookup::Names;

/// What to pause: one agent, whose new calls wait, or one local server, whose processes are frozen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PauseInput {
    #[ts(optional = nullable)]
    pub agent: Option<String>,
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// Results that arrive for the agent meanwhile are held until a person decides.
    #[ts(optional, as = "Option<bool>")]
    pub hold_results: bool,
    #[ts(optional = nullable)]
    pub reason: Option<String>,
}

/// Which pause ends, and which of the waiting calls are sent. Neither `all` nor `tasks`: all of them, while the pause is
/// young.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UnpauseInput {
    #[ts(optional = nullable)]
    pub agent: Option<String>,
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// All waiting calls are sent.
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
    /// These are sent, each by its handle or a unique beginning of it; the others are cancelled. An empty list sends none.
    #[ts(optional = nullable)]
    pub tasks: Option<Vec<String>>,
}

/// Pauses in force, the newest first, with the calls that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PauseList {
    pub pauses: Vec<PauseDto>,
}

/// A pause that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PauseEndedDto {
    #[ts(optional = nullable)]
    pub agent: Option<String>,
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// Waiting calls that are sent now, in their order.
    pub sent: u64,
    /// Waiting calls that were cancelled. Their server never heard of them.
    pub left_out: u64,
    /// Waiting calls that another pause holds still.
    #[serde(default)]
    pub still_waiting: u64,
}

/// What a call names: an agent or a server, and nothing else.
pub(crate) enum PauseName<'a> {
    Agent(&'a str),
    Server(&'a str),
}

impl Api {
    /// Pauses in force.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn pause_list(&self, _caller: &Caller, _input: Nothing) -> Result<PauseList, ApiError> {
        let mut names = self.names().await?;
        let mut pauses = Vec::new();
        for pause in self.pauses_in_force().await? {
            let waiting = self.waiting_calls(&pause).await?;
            let mut shown = self.pause_dto(&pause, waiting.len(), &mut names).await?;
            for call in &waiting {
                shown.calls.push(self.waiting_call(call, &mut names).await?);
            }
            pauses.push(shown);
        }
        Ok(PauseList { pauses })
    }

    /// Pauses an agent or freezes a server.
    ///
    /// # Errors
    /// When neither or both are named, a name is unknown, it is paused already, its processes cannot be frozen, or it
    /// cannot be recorded: then nothing is paused.
    pub async fn pause_start(&self, caller: &Caller, input: PauseInput) -> Result<PauseDto, ApiError> {
        let live = self.live()?;
        let reason = self.bounded_reason(input.reason.as_deref())?.unwrap_or_default();
        let subject = self.pause_subject(&named(input.agent.as_deref(), input.server.as_deref())?).await?;
        check_hold(subject, input.hold_results)?;
        let by = caller.person.clone().into();
        let start = StartPause { subject, by, reason, holds_results: input.hold_results };
        let name = input.agent.as_deref().or(input.server.as_deref()).unwrap_or_default();
        let pause = live.engine.pause(start).await.map_err(|error| match error {
            EngineError::Pause(PauseRefused::AlreadyPaused(_)) => ApiError::new(
                Code::Refused,
                error.to_string(),
                format!("`taskwarden pauses list` shows what waits, `taskwarden unpause {name}` ends it."),
            ),
            error => error.into(),
        })?;
        let waiting = live.engine.waiting_calls(subject).len();
        self.pause_dto(&pause, waiting, &mut self.names().await?).await
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// When it is not paused, calls must be chosen first, one that is chosen does not wait, or it cannot be recorded.
    pub async fn pause_end(&self, caller: &Caller, input: UnpauseInput) -> Result<PauseEndedDto, ApiError> {
        let live = self.live()?;
        let subject = self.pause_subject(&named(input.agent.as_deref(), input.server.as_deref())?).await?;
        let send = match (input.all, &input.tasks) {
            (true, Some(_)) => {
                return Err(ApiError::new(
                    Code::Usage,
                    "all calls and chosen ones cannot be sent at once",
                    "Give `all` or a list of tasks, not both.",
                ));
            }
            (true, None) => Some(SendWaiting::All),
            (false, None) => None,
            (false, Some(texts)) => {
                let mut chosen: BTreeSet<HandleId> = BTreeSet::new();
                for text in texts {
                    chosen.insert(self.find_id(text).await?);
                }
                Some(SendWaiting::Only(chosen))
            }
        };
        let ended = live.engine.end_pause(subject, caller.person.clone(), send).await?;
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        Ok(PauseEndedDto {
            agent: input.agent,
            server: input.server,
            sent: count(ended.sent),
            left_out: count(ended.left_out),
            still_waiting: count(ended.still_waiting),
        })
    }

    /// Whom a name means. The name of a server where an agent is named, or the other way round, is told apart.
    async fn pause_subject(&self, named: &PauseName<'_>) -> Result<PauseSubject, ApiError> {
        let (found, other, way) = match named {
            PauseName::Agent(name) => (
                self.find_agent(name).await.map(|agent| PauseSubject::Agent(agent.id)),
                self.find_server(name).await.is_ok().then(|| format!("`{name}` is a server, not an agent")),
                "`taskwarden pause SERVER --freeze` freezes the processes of a local server.",
            ),
            PauseName::Server(name) => (
                self.find_server(name).await.map(|server| PauseSubject::Server(server.id)),
                self.find_agent(name).await.is_ok().then(|| format!("`{name}` is an agent, not a server")),
                "`taskwarden pause AGENT`, without `--freeze`, lets new calls of an agent wait.",
            ),
        };
        found.map_err(|error| match (error.code, other) {
            (Code::NotFound, Some(message)) => ApiError::new(Code::NotFound, message, way),
            (Code::NotFound, None) => {
                let hint = format!("{} {way}", error.hint);
                ApiError { hint, ..error }
            }
            _ => error,
        })
    }

    /// The pause of an agent or server as lists show it; `None` while there is none, and without a core.
    pub(crate) fn pause_of(&self, subject: PauseSubject, name: &str) -> Option<PauseDto> {
        let engine = self.engine()?;
        let pause = engine.pause_of(subject)?;
        let waiting = engine.waiting_calls(subject).len();
        let tokens = engine.control_tokens();
        let by_name = match &pause.by {
            HaltedBy::Control(id) => tokens.iter().find(|token| token.id == *id).map(|token| token.name.clone()),
            HaltedBy::Person(_) => None,
        };
        let beside = self.beside_pause(&pause, name.to_owned(), waiting);
        Some(PauseDto::of(&pause, PauseContext { by_name, ..beside }))
    }

    pub(crate) async fn pauses_in_force(&self) -> Result<Vec<Pause>, ApiError> {
        match self.engine() {
            Some(engine) => Ok(engine.pauses()),
            None => {
                let mut pauses = self.registry.pauses().await?;
                pauses.retain(Pause::is_in_force);
                Ok(pauses)
            }
        }
    }

    pub(crate) async fn pause_dto(
        &self,
        pause: &Pause,
        waiting: usize,
        names: &mut Names,
    ) -> Result<PauseDto, ApiError> {
        let name = match pause.subject {
            PauseSubject::Agent(id) => self.agent_name(id, names).await?,
            PauseSubject::Server(id) => self.server_name(id, names).await?,
        };
        let by_name = self.token_name_of(&pause.by, names).await?;
        Ok(PauseDto::of(pause, PauseContext { by_name, ..self.beside_pause(pause, name, waiting) }))
    }

    /// All but the name of a control token.
    fn beside_pause(&self, pause: &Pause, name: String, waiting: usize) -> PauseContext {
        let must_choose = waiting > 0 && pause.needs_choice(self.now(), self.policy.control.pauses.choice_after);
        let processes = match pause.subject {
            PauseSubject::Agent(_) => None,
            PauseSubject::Server(id) => self.engine().map(|engine| engine.frozen_processes(id)),
        };
        PauseContext { name, by_name: None, waiting, must_choose, processes }
    }

    /// Calls that wait for the end of this pause, in their order.
    pub(crate) async fn waiting_calls(&self, pause: &Pause) -> Result<Vec<Arc<TaskHandle>>, ApiError> {
        if let Some(engine) = self.engine() {
            return Ok(engine.waiting_calls(pause.subject));
        }
        let (rows, mut waiting, mut after) = (self.policy.page_rows_max, Vec::new(), None);
        loop {
            let page = self.registry.open_handles(None, after, rows).await?;
            after = page.last().map(|task| task.id);
            let is_last = page.len() < usize::try_from(rows).unwrap_or(usize::MAX);
            let covered = |task: &TaskHandle| {
                let work = domain::server::halt::HaltedWork { server: task.server, agent: task.agent, tool: None };
                task.may_leave_gate() && pause.subject.covers(work)
            };
            waiting.extend(page.into_iter().filter(covered).map(Arc::new));
            if is_last {
                waiting.sort_by_key(|task| (waiting_since(task), task.id));
                return Ok(waiting);
            }
        }
    }

    pub(crate) async fn waiting_call(&self, call: &TaskHandle, names: &mut Names) -> Result<WaitingCallDto, ApiError> {
        let agent = match call.agent {
            Some(agent) => Some(self.agent_name(agent, names).await?),
            None => None,
        };
        Ok(WaitingCallDto {
            id: call.id.to_string(),
            server: self.server_name(call.server, names).await?,
            tool: call.tool.as_deref().map(str::to_owned),
            agent,
            since: iso(waiting_since(call)),
        })
    }
}

/// The one thing that is named.
pub(crate) fn named<'a>(agent: Option<&'a str>, server: Option<&'a str>) -> Result<PauseName<'a>, ApiError> {
    match (agent, server) {
        (Some(agent), None) => Ok(PauseName::Agent(agent)),
        (None, Some(server)) => Ok(PauseName::Server(server)),
        (Some(_), Some(_)) | (None, None) => Err(ApiError::new(
            Code::Usage,
            "a pause is of one agent or of one server",
            "Name the agent or the server, not both; each is paused by itself.",
        )),
    }
}

/// Only an agent has results to hold.
pub(crate) fn check_hold(subject: PauseSubject, holds_results: bool) -> Result<(), ApiError> {
    match subject {
        PauseSubject::Server(_) if holds_results => Err(ApiError::new(
            Code::Usage,
            "results are held for an agent, not for a server",
            "A frozen server brings none. Pause the agent to hold its results.",
        )),
        PauseSubject::Agent(_) | PauseSubject::Server(_) => Ok(()),
    }
}
