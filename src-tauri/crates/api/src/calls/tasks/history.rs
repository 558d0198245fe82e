//! The history of one task, polling it now, and no longer watching it.
//!
//! To unwatch asks nothing of the server; for a task that is lost or unconfirmed it is the way to mark it resolved.

use std::collections::BTreeSet;

use domain::audit::Actor;
use domain::ids::HandleId;
use domain::task::Origin;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneTask;
use crate::dto::{HistoryDto, HistoryEvent, LogLineDto, TaskDto, iso};
use crate::error::ApiError;
use crate::lookup::Names;

/// A task to look away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unwatch {
    pub id: String,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub note: Option<String>,
}

impl Api {
    /// What happened to a task.
    ///
    /// # Errors
    /// When there is none of this handle.
    pub async fn task_history(&self, _caller: &Caller, input: OneTask) -> Result<HistoryDto, ApiError> {
        let task = self.find_task(&input.id).await?;
        let mut names = Names::default();
        let server = self.server_name(task.server, &mut names).await?;
        let facts = self.facts_of(task.id).await?;
        let mut events = Vec::with_capacity(facts.len());
        for fact in &facts {
            let program = self.program_name(&fact.actor, &mut names).await?;
            events.push(HistoryEvent::of(fact, &server, &program));
        }
        let log = self.registry.status_log(task.id, self.policy.log_lines_per_task).await?;
        let seen = self.engine().and_then(|engine| engine.live(task.id)).map_or(task.contact.seen(), |live| live.seen);
        let heard = facts.iter().filter(|fact| matches!(fact.actor, Actor::Server(_))).map(|fact| fact.at);
        let looks: BTreeSet<Timestamp> = heard.chain(log.iter().map(|line| line.at)).chain([seen]).collect();
        let skipped = looks.len().saturating_sub(self.policy.asking.looks_max);
        Ok(HistoryDto {
            events,
            log: log.into_iter().map(LogLineDto::from).collect(),
            looks: looks.into_iter().skip(skipped).map(iso).collect(),
        })
    }

    /// Asks for a poll a second from now, and for another one a little later (ruling 46).
    ///
    /// # Errors
    /// When there is none of this handle.
    pub async fn look_now(&self, _caller: &Caller, input: OneTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.poll_soon(id);
        self.task_show_id(id).await
    }

    /// Stops watching a task, or marks one resolved that is beyond reach.
    ///
    /// # Errors
    /// When there is none of this handle, or the server said how it ended.
    pub async fn unwatch(&self, caller: &Caller, input: Unwatch) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.unwatch(id, caller.person.clone(), input.note).await?;
        self.task_show_id(id).await
    }

    /// Who started or adopted a task, when a person did.
    pub(crate) async fn started_by(&self, id: HandleId, origin: Origin) -> Result<Option<String>, ApiError> {
        match origin {
            Origin::Agent | Origin::Discovered => return Ok(None),
            Origin::Started | Origin::Adopted => {}
        }
        let first = self.registry.audit_page(Some(id), 0, 1).await?.rows;
        Ok(first.first().and_then(|row| match &row.event.actor {
            Actor::Person(person) => Some(person.to_string()),
            Actor::Agent(_)
            | Actor::Server(_)
            | Actor::System(_)
            | Actor::Rule(_)
            | Actor::Control(_)
            | Actor::Unknown(_) => None,
        }))
    }

    /// What people decided about a task, oldest first. Facts about how a server took it are left out.
    pub(crate) async fn decisions_on(&self, id: HandleId, server: &str) -> Result<Vec<HistoryEvent>, ApiError> {
        let facts = self.facts_of(id).await?;
        let mut names = Names::default();
        let mut decided = Vec::new();
        for fact in facts.iter().filter(|fact| matches!(fact.actor, Actor::Person(_) | Actor::Control(_))) {
            let program = self.program_name(&fact.actor, &mut names).await?;
            decided.push(HistoryEvent::of(fact, server, &program));
        }
        Ok(decided)
    }

    /// The name of the agent that acted, or that of the supervisor program's control token; empty for everybody else.
    async fn program_name(&self, actor: &Actor, names: &mut Names) -> Result<String, ApiError> {
        match actor {
            Actor::Agent(agent) => self.agent_name(*agent, names).await,
            Actor::Control(token) => self.control_name(*token, names).await,
            Actor::Person(_) | Actor::Server(_) | Actor::System(_) | Actor::Rule(_) | Actor::Unknown(_) => {
                Ok(String::new())
            }
        }
    }

    /// The newest facts of a task, oldest first.
    pub(crate) async fn facts_of(&self, id: HandleId) -> Result<Vec<domain::audit::AuditEvent>, ApiError> {
        let most = usize::try_from(self.policy.asking.history_rows_max).unwrap_or(usize::MAX);
        let mut facts = std::collections::VecDeque::new();
        let mut after = Some(0);
        while let Some(place) = after {
            let page = self.registry.audit_page(Some(id), place, self.policy.page_rows_max).await?;
            facts.extend(page.rows.into_iter().map(|row| row.event));
            let over = facts.len().saturating_sub(most);
            facts.drain(..over);
            after = page.next_after;
        }
        Ok(facts.into())
    }
}
