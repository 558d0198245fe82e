//! Cancel one task or many, and revoke a task from its agent.
//!
//! A cancel is a request until the server says more. The call returns when every server acknowledged or refused, or when
//! the time for a reply ran out; each task keeps its own state (promise R1). The state machine is `domain`'s.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::ids::HandleId;
use domain::task::status::{CancelState, Intent};
use domain::task::{Refusal, TaskHandle};
use engine::EngineError;
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::task::facts::CancelStateDto;
use crate::dto::{ListQuery, TaskDto};
use crate::error::{ApiError, Code};
use crate::format::time::count;
use crate::format::tokens::grouped;
use crate::lookup::Names;

/// Wishes recorded at a time. Judgement: group commits share one fsync among them.
const RECORDED_AT_ONCE: usize = 64;

/// Tasks to cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTasks {
    #[serde(default)]
    pub ids: Vec<String>,
    /// Besides, all open tasks that match.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub query: Option<ListQuery>,
    /// How many tasks the caller expects; when the count differs, nothing is asked.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub expect: Option<u64>,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
    /// Whether to wait until each server said something; it does when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub wait: Option<bool>,
}

/// A task to take from its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeTask {
    pub id: String,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
}

/// What became of one wish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "StopDto")]
pub struct CancelOutcomeDto {
    pub id: String,
    /// How far the request got.
    #[ts(type = "string")]
    pub state: CancelStateDto,
    /// Why, when it was refused or not asked.
    pub why: Option<String>,
    /// The task as it is now; null when more than a page of them are stopped.
    pub task: Option<TaskDto>,
}

/// What became of all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "StopList")]
pub struct CancelList {
    /// In the order asked.
    pub stops: Vec<CancelOutcomeDto>,
}

impl Api {
    /// Asks servers to stop tasks and waits until each said something, at most the time for a reply.
    ///
    /// # Errors
    /// When a handle names no task: then nothing was asked. Refusals of single tasks are states, not errors.
    pub async fn cancel(&self, caller: &Caller, input: CancelTasks) -> Result<CancelList, ApiError> {
        let live = self.live()?;
        let mut ids = Vec::with_capacity(input.ids.len());
        let mut input_ids = HashSet::with_capacity(input.ids.len());
        for text in &input.ids {
            let found = match self.find_task(text).await {
                Ok(task) => Ok(task.id),
                // A call that could not be recorded is known to the engine alone.
                Err(error) => self.unrecorded(text).ok_or(error),
            };
            let id = found?;
            if input_ids.insert(id) {
                ids.push(id);
            }
        }
        if let Some(query) = &input.query {
            ids.extend(self.open_tasks_of(query).await?.into_iter().filter(|id| !input_ids.contains(id)));
        }
        let many = u64::try_from(ids.len()).unwrap_or(u64::MAX);
        if let Some(expected) = input.expect.filter(|expected| *expected != many) {
            return Err(ApiError::new(
                Code::Refused,
                format!("{} match now, and {} were expected", count(many, "task"), grouped(expected)),
                "Nothing was asked. Look at the tasks again, or make a plan, whose tasks do not change.",
            ));
        }
        let reason = self.bounded_reason(input.reason.as_deref())?;
        let since = self.registry.newest_seq().await?;
        let reason = reason.as_deref();
        let outcomes: Vec<(HandleId, Result<(), EngineError>)> =
            futures::stream::iter(ids)
                .map(|id| async move {
                    (id, live.engine.cancel(id, caller.person.clone(), reason.map(str::to_owned)).await)
                })
                .buffered(RECORDED_AT_ONCE)
                .collect()
                .await;
        let limit = if input.wait.unwrap_or(true) { self.policy.reply_limit } else { Duration::ZERO };
        self.stops(outcomes, since, limit).await
    }

    /// The one call in flight without a row whose handle begins like this.
    fn unrecorded(&self, text: &str) -> Option<HandleId> {
        let beginning = format!("{}{}", HandleId::PREFIX, text.strip_prefix(HandleId::PREFIX).unwrap_or(text));
        let calls = self.engine()?.recording().unrecorded;
        let mut found = calls.iter().filter(|call| call.id.to_string().starts_with(&beginning)).map(|call| call.id);
        found.next().filter(|_| found.next().is_none())
    }

    /// All open tasks that match, at most as many as one call may stop.
    async fn open_tasks_of(&self, query: &ListQuery) -> Result<Vec<HandleId>, ApiError> {
        let Some(mut query) = self.page_query(query).await? else { return Ok(Vec::new()) };
        query.open = Some(true);
        Ok(self.registry.matching_ids(query, self.policy.asking.stops_max).await?)
    }

    /// Takes a task from its agent and asks for a stop.
    ///
    /// # Errors
    /// When there is no such task, or it was revoked before.
    pub async fn revoke(&self, caller: &Caller, input: RevokeTask) -> Result<CancelList, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        let since = self.registry.newest_seq().await?;
        let reason = self.bounded_reason(input.reason.as_deref())?;
        live.engine.revoke(id, caller.person.clone(), reason).await?;
        self.stops(vec![(id, Ok(()))], since, self.policy.reply_limit).await
    }

    /// Waits until each server said something, and tells what became of each stop.
    pub(crate) async fn stops(
        &self,
        outcomes: Vec<(HandleId, Result<(), EngineError>)>,
        since: domain::ids::Seq,
        limit: Duration,
    ) -> Result<CancelList, ApiError> {
        let has_no_row: HashSet<HandleId> = self
            .engine()
            .map(|engine| engine.recording().unrecorded.into_iter().map(|call| call.id).collect())
            .unwrap_or_default();
        let asked: Vec<HandleId> = outcomes
            .iter()
            .filter(|(id, outcome)| outcome.is_ok() && !has_no_row.contains(id))
            .map(|(id, _)| *id)
            .collect();
        let mut last: HashMap<HandleId, TaskHandle> = HashMap::new();
        self.settle(&asked, since, limit, |seen| {
            // A call that was not sent ends without its server.
            let is_waited_for = seen.view.is_gated() || !self.is_out_of_reach(seen.server);
            let settled = is_settled(seen) || seen.phase(self.now()).is_over() || !is_waited_for;
            last.insert(seen.id, seen.clone());
            settled
        })
        .await?;
        let mut names = Names::default();
        let mut stops = Vec::with_capacity(outcomes.len());
        // Whoever stops more than a page looks at them in the list.
        let is_shown = outcomes.len() <= usize::try_from(self.policy.page_rows_max).unwrap_or(usize::MAX);
        for (id, outcome) in outcomes {
            let stop = self.stop_dto(id, outcome, last.get(&id), &mut names).await?;
            stops.push(if is_shown { stop } else { CancelOutcomeDto { task: None, ..stop } });
        }
        Ok(CancelList { stops })
    }

    async fn stop_dto(
        &self,
        id: HandleId,
        outcome: Result<(), EngineError>,
        seen: Option<&TaskHandle>,
        names: &mut Names,
    ) -> Result<CancelOutcomeDto, ApiError> {
        let task = match seen {
            Some(task) => Some(task.clone()),
            None => self.registry.handle(id).await?,
        };
        let shown = match &task {
            Some(task) => Some(self.show(task, None, names).await?),
            None => None,
        };
        let (state, why) = match outcome {
            Ok(()) => {
                let state =
                    task.as_ref().and_then(TaskHandle::stop_state).map_or(CancelStateDto::Asked, CancelStateDto::from);
                let why =
                    shown.as_ref().and_then(|task| task.intent.as_ref()).and_then(|wish| wish.refused_why.clone());
                (state, why)
            }
            Err(EngineError::Refused(refusal @ Refusal::AlreadyAsked { .. })) => {
                let state = task
                    .as_ref()
                    .and_then(TaskHandle::stop_state)
                    .map_or(CancelStateDto::NotAsked, CancelStateDto::from);
                (state, Some(refusal.to_string()))
            }
            Err(error) => (CancelStateDto::NotAsked, Some(error.to_string())),
        };
        Ok(CancelOutcomeDto { id: id.to_string(), state, why, task: shown })
    }
}

/// The server said something about the stop, or there is nothing more it could say: the stop of a call without a
/// task is a notice that is never acknowledged.
fn is_settled(task: &TaskHandle) -> bool {
    match task.stop_state() {
        Some(CancelState::Asked) => match &task.intent {
            Intent::Cancel(wish) | Intent::Revoked(wish) => !wish.delivery.is_pending(),
            Intent::None | Intent::Unwatched { .. } => true,
        },
        Some(
            CancelState::Acknowledged
            | CancelState::Stopped
            | CancelState::EndedHere
            | CancelState::FinishedAnyway
            | CancelState::Refused,
        )
        | None => true,
    }
}
