//! Finds what a person names: servers and agents by name, tasks by any unique prefix of their handle.
//!
//! It changes nothing. What is not found is reported with the closest known name (`suggestion.rs`).

use std::collections::HashMap;

use domain::ids::{AgentId, ControlTokenId, HandleId, ServerId};
use domain::server::Server;
use domain::server::halt::HaltedBy;
use domain::task::TaskHandle;
use domain::task::decider::Decider;
use domain::task::status::Phase;
use domain::time::Timestamp;

use crate::api::Api;
use crate::dto::task::TaskContext;
use crate::dto::{TaskDto, TaskRow};
use crate::error::{ApiError, Code};
use crate::suggestion::did_you_mean;

/// Fewest characters after `hdl_` that may name a task. Judgement: a million tasks are told apart by four or five.
const BEGINNING_CHARS: usize = 4;
/// Candidates shown when a beginning is not unique. Judgement: one line.
const CANDIDATES: u32 = 6;

/// Names of servers and agents, as far as they were asked for.
#[derive(Default)]
pub(crate) struct Names {
    known: HashMap<ServerId, String>,
    agents: HashMap<AgentId, String>,
    control: HashMap<ControlTokenId, String>,
}

impl Names {
    /// Agents changed: their names are asked for again.
    pub(crate) fn forget_agents(&mut self) {
        self.agents.clear();
    }
}

impl Api {
    /// All configured servers and all agents by name.
    pub(crate) async fn names(&self) -> Result<Names, ApiError> {
        let servers = self.registry.servers().await?;
        let agents = self.registry.agents().await?;
        Ok(Names {
            known: servers.into_iter().map(|server| (server.id, server.name)).collect(),
            agents: agents.into_iter().map(|agent| (agent.id, agent.name)).collect(),
            control: HashMap::new(),
        })
    }

    /// The server of this name.
    pub(crate) async fn find_server(&self, name: &str) -> Result<Server, ApiError> {
        let servers = self.registry.servers().await?;
        if let Some(server) = servers.iter().find(|server| server.name == name) {
            return Ok(server.clone());
        }
        let hint = if servers.is_empty() {
            "No server is configured yet: `taskwarden servers add NAME …` adds one.".into()
        } else {
            did_you_mean(name, servers.iter().map(|server| server.name.as_str()))
                .unwrap_or_else(|| "`taskwarden servers list` lists the servers.".into())
        };
        Err(ApiError::new(Code::NotFound, format!("there is no server `{}`", short(name)), hint))
    }

    /// The one handle that begins like this.
    pub(crate) async fn find_id(&self, text: &str) -> Result<HandleId, ApiError> {
        if let Ok(id) = text.parse::<HandleId>() {
            return Ok(id);
        }
        let beginning = text.strip_prefix(HandleId::PREFIX).unwrap_or(text).to_lowercase();
        let unknown = || {
            ApiError::new(
                Code::NotFound,
                format!("there is no task `{}`", short(text)),
                "`taskwarden tasks list` shows the tasks with their handles.",
            )
        };
        if beginning.is_empty() || !beginning.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(unknown());
        }
        if beginning.len() < BEGINNING_CHARS {
            return Err(ApiError::new(
                Code::Usage,
                format!("`{}` is too short to name a task", short(text)),
                format!("Give at least {BEGINNING_CHARS} characters of the handle after `hdl_`."),
            ));
        }
        let found = self.registry.handles_starting(&format!("{}{beginning}", HandleId::PREFIX), CANDIDATES).await?;
        match found.as_slice() {
            [] => Err(unknown()),
            [only] => Ok(*only),
            several => {
                let names: Vec<String> = several.iter().map(|id| format!("`{id}`")).collect();
                Err(ApiError::new(
                    Code::Usage,
                    format!("several tasks begin with `{}`", short(text)),
                    format!("Give more characters: {}.", names.join(", ")),
                ))
            }
        }
    }

    /// The one task whose handle begins like this.
    pub(crate) async fn find_task(&self, text: &str) -> Result<TaskHandle, ApiError> {
        let id = self.find_id(text).await?;
        self.registry.handle(id).await?.ok_or_else(|| {
            ApiError::new(
                Code::NotFound,
                format!("there is no task `{id}`"),
                "`taskwarden tasks list` shows the tasks with their handles.",
            )
        })
    }

    /// A task as JSON shows it.
    pub(crate) async fn show(
        &self,
        task: &TaskHandle,
        next_poll: Option<Timestamp>,
        names: &mut Names,
    ) -> Result<TaskDto, ApiError> {
        let beside = self.beside(task, next_poll, names).await?;
        let mut shown = TaskDto::of(task, beside);
        if let (Some(intent), Some(request)) = (&mut shown.intent, task.cancel_request()) {
            intent.by_name = self.deciding_token(&request.by, names).await?;
        }
        Ok(shown)
    }

    /// A task as a line of a list.
    pub(crate) async fn row(&self, task: &TaskHandle, names: &mut Names) -> Result<TaskRow, ApiError> {
        let is_held = self.engine().is_some_and(|engine| engine.live(task.id).is_some());
        let next_poll = if is_held { None } else { self.registry.next_poll(task.id).await? };
        self.row_at(task, next_poll, names).await
    }

    /// A task as a line of a list, when its next look is known.
    pub(crate) async fn row_at(
        &self,
        task: &TaskHandle,
        next_poll: Option<Timestamp>,
        names: &mut Names,
    ) -> Result<TaskRow, ApiError> {
        let beside = self.beside(task, next_poll, names).await?;
        let says = self.last_line(task).await?;
        Ok(TaskRow { says, ..TaskRow::of(task, beside, &self.policy) })
    }

    async fn beside(
        &self,
        task: &TaskHandle,
        next_poll: Option<Timestamp>,
        names: &mut Names,
    ) -> Result<TaskContext, ApiError> {
        Ok(TaskContext {
            server: self.server_name(task.server, names).await?,
            agent: match task.agent {
                Some(agent) => Some(self.agent_name(agent, names).await?),
                None => None,
            },
            next_poll,
            live: self.engine().and_then(|engine| engine.live(task.id)),
            now: self.now(),
        })
    }

    /// An agent's name; its id when it is not known.
    pub(crate) async fn agent_name(&self, id: AgentId, names: &mut Names) -> Result<String, ApiError> {
        if let Some(name) = names.agents.get(&id) {
            return Ok(name.clone());
        }
        let known = match self.engine() {
            // In memory: no need to read all of them.
            Some(engine) => engine.agents().get(id).map(|agent| agent.name.clone()),
            None => self.registry.agents().await?.into_iter().find(|agent| agent.id == id).map(|agent| agent.name),
        };
        let name = known.unwrap_or_else(|| id.to_string());
        names.agents.insert(id, name.clone());
        Ok(name)
    }

    /// A control token's name; also that of a revoked one.
    pub(crate) async fn control_name(&self, id: ControlTokenId, names: &mut Names) -> Result<String, ApiError> {
        if !names.control.contains_key(&id) {
            let tokens = self.registry.control_tokens().await?;
            names.control.extend(tokens.into_iter().map(|token| (token.id, token.name)));
        }
        Ok(names.control.entry(id).or_insert_with(|| id.to_string()).clone())
    }

    /// The name of the control token of the supervisor program that decided; `None` when anybody else did.
    pub(crate) async fn deciding_token(&self, by: &Decider, names: &mut Names) -> Result<Option<String>, ApiError> {
        match by {
            Decider::Control(id) => self.control_name(*id, names).await.map(Some),
            Decider::Person(_) | Decider::Agent(_) | Decider::Limit(_) | Decider::Rule(_) => Ok(None),
        }
    }

    /// The name of the control token that gave an order to stop; `None` when a person gave it.
    pub(crate) async fn token_name_of(&self, by: &HaltedBy, names: &mut Names) -> Result<Option<String>, ApiError> {
        match by {
            HaltedBy::Control(id) => self.control_name(*id, names).await.map(Some),
            HaltedBy::Person(_) => Ok(None),
        }
    }

    /// A server's name; also that of a removed one, whose tasks stay for the record.
    pub(crate) async fn server_name(&self, id: ServerId, names: &mut Names) -> Result<String, ApiError> {
        if let Some(name) = names.known.get(&id) {
            return Ok(name.clone());
        }
        let name = self.registry.server(id).await?.map_or_else(|| id.to_string(), |server| server.name);
        names.known.insert(id, name.clone());
        Ok(name)
    }
}

/// Reads a phase by its word in JSON or by the label that people are shown.
pub(crate) fn phase(typed: &str) -> Result<Phase, ApiError> {
    Phase::from_typed(typed).ok_or_else(|| {
        let names = Phase::ALL.iter().flat_map(|phase| [phase.word(), phase.label()]);
        let guess = did_you_mean(typed, names).map_or(String::new(), |guess| format!("{guess} "));
        let words: Vec<&str> = Phase::ALL.iter().map(|phase| phase.word()).collect();
        let shown = format!("`{}` or `{}`", Phase::Waiting.label(), Phase::Running.label());
        let phases = words.join(", ");
        let hint = format!("{guess}Phases are: {phases}. What lists show is taken as well, such as {shown}.");
        ApiError::new(Code::Usage, format!("there is no phase `{}`", short(typed)), hint)
    })
}

/// What a person typed, cut for a message.
pub(crate) fn short(text: &str) -> String {
    /// Longer input is not readable in one line. Judgement.
    const SHOWN_CHARS: usize = 80;
    domain::policy::plain_text(text, SHOWN_CHARS).replace('\n', " ")
}
