//! Polling, answering and cancelling tasks, and the server's own task list.
//!
//! Each is one request with the reply limit, in the dialect of the task. Results of 2025 tasks are in
//! `tasks/blocking_results.rs`, their questions in `elicitation.rs`.

pub(crate) mod blocking_results;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::ports::{AnswerToSend, ListedTasks, SendPermit, UpstreamError};
use domain::raw_message::RawText;
use domain::server::Era;
use domain::task::input_request::AskDoor;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::status::TaskStatus;
use domain::time::Timestamp;
use serde_json::value::RawValue;

use super::connection::{Connection, is_settled};
use crate::upstream::negotiation::Generation;
use crate::upstream::port_errors::{not_json, upstream_error};
use crate::upstream::transport::link::{Answer, OutgoingRequest};
use crate::wire::dialect::{
    self, answer_object, experimental2025, extension2026, input_responses, page_params, task_params,
};
use crate::wire::view::{Misread, ServerError};

impl Connection {
    /// Looks at a task.
    pub(crate) async fn read(self: &Arc<Self>, task: &UpstreamTaskId) -> Result<Observation, UpstreamError> {
        let begun = self.clock.now();
        let raw = match self.ask_about(dialect::GET, task).await? {
            Answer::Result(raw) => raw,
            Answer::Error(raw) => return self.unknown_or(task, begun, &raw),
        };
        let seen = match self.generation_of(task) {
            Generation::Extension2026 => {
                let glimpse = self.glimpse(ObservationDoor::Poll, begun);
                extension2026::read_task(&raw, task, glimpse, &self.policy)
                    .map_err(|misread| misread.of(&raw, &self.policy))?
            }
            Generation::Experimental2025 => {
                let facts = experimental2025::read_task(&raw, task, &self.policy)
                    .map_err(|misread| misread.of(&raw, &self.policy))?;
                self.with_result(task, facts, begun).await
            }
        };
        self.note_status(task, &seen.status);
        if is_settled(&seen.status) {
            self.forget(task);
        }
        Ok(seen)
    }

    /// Asks the server to stop a task.
    pub(crate) async fn cancel(&self, task: &UpstreamTaskId) -> Result<Option<Observation>, UpstreamError> {
        let begun = self.clock.now();
        let raw = match self.ask_about(dialect::CANCEL, task).await? {
            Answer::Result(raw) => raw,
            Answer::Error(raw) => return Err(ServerError::read(&raw, &self.policy).of_task_method("cancel tasks")),
        };
        match self.generation_of(task) {
            Generation::Extension2026 => {
                extension2026::read_ack(&raw).map_err(|misread| misread.of(&raw, &self.policy))?;
                Ok(None)
            }
            Generation::Experimental2025 => match experimental2025::read_task(&raw, task, &self.policy) {
                Ok(facts) => Ok(Some(facts.seen(self.glimpse(ObservationDoor::Poll, begun), &self.policy))),
                // Some answer with an empty result: an acknowledgement, and the next look tells the rest.
                Err(misread) => {
                    tracing::debug!(path = %misread.path, "a cancel was acknowledged without the task");
                    Ok(None)
                }
            },
        }
    }

    /// One page of the server's own list.
    pub(crate) async fn list(&self, cursor: Option<String>) -> Result<ListedTasks, UpstreamError> {
        const VERB: &str = "list its tasks";
        if !self.lists {
            return Err(UpstreamError::Unsupported(VERB));
        }
        let begun = self.clock.now();
        let answer = self.ask(experimental2025::LIST, page_params(cursor.as_deref())).await;
        match answer.map_err(|failed| upstream_error(failed, &self.policy))? {
            Answer::Error(raw) => Err(ServerError::read(&raw, &self.policy).of_method(VERB)),
            Answer::Result(raw) => {
                let glimpse = self.glimpse(ObservationDoor::List, begun);
                let (listed, unread) = experimental2025::read_list(&raw, glimpse, &self.policy)
                    .map_err(|misread| misread.of(&raw, &self.policy))?;
                if unread > 0 {
                    tracing::debug!(unread, "entries of the server's task list cannot be read");
                }
                Ok(listed)
            }
        }
    }

    /// Sends answers: listed ones together by `tasks/update`, live ones as responses.
    pub(crate) async fn answer(
        &self,
        task: Option<&UpstreamTaskId>,
        answers: &[AnswerToSend],
    ) -> Result<(), UpstreamError> {
        let mut listed: Vec<(&str, &AnswerToSend)> = Vec::new();
        for answer in answers {
            match &answer.door {
                AskDoor::Listed { key } => listed.push((key, answer)),
                AskDoor::Live { connection, token, digest: _ } => {
                    self.answer_live(*connection, token, task, answer).await?;
                }
                AskDoor::Round { .. } => {
                    return Err(UpstreamError::Unsupported("take this answer without a new call"));
                }
            }
        }
        match (task, listed.is_empty()) {
            (_, true) => Ok(()),
            (Some(task), false) => self.update(task, &listed).await,
            (None, false) => Err(UpstreamError::Unsupported("take a task's answer without its task")),
        }
    }

    /// The message that [`Connection::answer`] would send for answers of one door, for people to read.
    pub(crate) fn answer_text(&self, task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText> {
        let mut keyed: Vec<(&str, &AnswerToSend)> = Vec::new();
        let mut method = extension2026::UPDATE;
        for answer in answers {
            match &answer.door {
                AskDoor::Listed { key } => keyed.push((key, answer)),
                AskDoor::Round { round: _, key } => {
                    method = dialect::CALL;
                    keyed.push((key, answer));
                }
                AskDoor::Live { .. } => {
                    let text = format!("{{\"result\":{}}}", answer_object(answer).ok()?);
                    return Some(RawText::of(&text, &self.policy));
                }
            }
        }
        let responses = input_responses(keyed.into_iter()).ok()?;
        let params = match task {
            Some(task) => format!("{{\"taskId\":{},\"inputResponses\":{responses}}}", serde_json::json!(task.as_str())),
            None => format!("{{\"inputResponses\":{responses}}}"),
        };
        let text = format!("{{\"method\":{},\"params\":{params}}}", serde_json::json!(method));
        // The arguments of a call go out with its answers; they are kept beside.
        Some(if method == dialect::CALL {
            RawText::part(&text, &self.policy)
        } else {
            RawText::of(&text, &self.policy)
        })
    }

    async fn update(&self, task: &UpstreamTaskId, listed: &[(&str, &AnswerToSend)]) -> Result<(), UpstreamError> {
        let responses = input_responses(listed.iter().copied()).map_err(not_json)?;
        let outgoing = OutgoingRequest {
            method: extension2026::UPDATE.into(),
            params: task_params(task),
            verbatim: vec![("inputResponses", responses)],
            tag: self.next_tag(),
            limit: Some(self.policy.reply_limit),
            param_headers: Vec::new(),
            agent_params: None,
            permit: SendPermit::default(),
        };
        match self.link.request(outgoing).await.map_err(|failed| upstream_error(failed, &self.policy))? {
            Answer::Result(raw) => {
                extension2026::read_ack(&raw).map_err(|misread: Misread| misread.of(&raw, &self.policy))
            }
            Answer::Error(raw) => Err(ServerError::read(&raw, &self.policy).of_task_method("take answers for tasks")),
        }
    }

    async fn ask_about(&self, method: &'static str, task: &UpstreamTaskId) -> Result<Answer, UpstreamError> {
        self.ask(method, task_params(task)).await.map_err(|failed| upstream_error(failed, &self.policy))
    }

    /// A server that forgot a task may have handed over its result before.
    fn unknown_or(
        self: &Arc<Self>,
        task: &UpstreamTaskId,
        begun: Timestamp,
        error: &RawValue,
    ) -> Result<Observation, UpstreamError> {
        let failed = ServerError::read(error, &self.policy).of_task_method("show tasks");
        if failed != UpstreamError::UnknownTask {
            return Err(failed);
        }
        let kept = self.kept_result(task);
        self.forget(task);
        let Some(raw) = kept else { return Err(failed) };
        let (status, payload) = experimental2025::outcome(
            &TaskStatus::Completed(domain::task::status::Outcome::NotFetched),
            &Answer::Result(raw),
            &self.policy,
        );
        let glimpse = self.glimpse(ObservationDoor::Poll, begun);
        Ok(Observation {
            door: glimpse.door,
            begun: glimpse.begun,
            seen: glimpse.seen,
            status,
            message: None,
            created: None,
            updated: None,
            ttl: domain::task::status::Ttl::Unsaid,
            hint: None,
            outstanding: None,
            payload,
            raw: None,
            asks_raw: BTreeMap::new(),
            task_raw: None,
        })
    }

    /// Asks whether the server is there. An error is an answer too.
    pub(crate) async fn ping(&self) -> Result<(), UpstreamError> {
        match self.era {
            Era::Modern => Err(UpstreamError::Unsupported("answer a ping")),
            Era::Legacy | Era::LegacySse => {
                let answer = self.ask("ping", serde_json::json!({})).await;
                answer.map(drop).map_err(|failed| upstream_error(failed, &self.policy))
            }
        }
    }

    /// A request without more than parameters, with the reply limit.
    pub(crate) async fn ask(
        &self,
        method: &'static str,
        params: serde_json::Value,
    ) -> Result<Answer, crate::upstream::transport::link::LinkError> {
        let outgoing = OutgoingRequest {
            method: method.into(),
            params,
            verbatim: Vec::new(),
            tag: self.next_tag(),
            limit: Some(self.policy.reply_limit),
            param_headers: Vec::new(),
            agent_params: None,
            permit: SendPermit::default(),
        };
        self.link.request(outgoing).await
    }
}
