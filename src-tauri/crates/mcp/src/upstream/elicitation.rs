//! Requests that a 2025 server sends to its client (protocol.md §1.6; statements 30, 31, 39).
//!
//! Finds out which task a question belongs to, refuses what people do not answer, and keeps the rest open until it is
//! answered, withdrawn or the connection ends. A repeated question has the same digest (ruling 10); what that means is
//! decided in `domain`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::ids::{ConnectionId, UpstreamTaskId};
use domain::ports::{AnswerToSend, UpstreamError, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{AnswerAction, Ask, LiveQuestion};
use domain::task::payload::Payload;
use domain::task::status::TaskStatus;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::connection::Connection;
use super::state::open_questions::OpenQuestion;
use crate::upstream::notifications::request_listeners::RequestEvent;
use crate::upstream::port_errors::{not_json, upstream_error};
use crate::upstream::transport::link::{LinkError, RequestTag, Response};
use crate::wire::dialect::{answer_object, experimental2025};
use crate::wire::error_codes::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::wire::raw_json::{member, with_members};
use crate::wire::view::{ELICITATION, JsonFields, ask};

/// The code for a sampling request that the user refused (C25/client/sampling.mdx).
const DECLINED: i64 = -1;

impl Connection {
    /// Handles a request of the server.
    pub(crate) fn asked(self: &Arc<Self>, token: String, method: &str, params: &RawValue, on: Option<RequestTag>) {
        let fields = JsonFields::of(params, "$.params").ok();
        if let Some(tag) = self.ear_of_question(on) {
            return self.pass_question_on(tag, token, method, params);
        }
        let what = match ask(method, fields.as_ref(), &self.policy) {
            what @ (Ask::Form { .. } | Ask::Visit { .. }) => what,
            // The agent whose connection this is has said that it can be asked.
            Ask::Sampling if self.abilities.sampling => Ask::Sampling,
            Ask::Roots if self.abilities.roots => Ask::Roots,
            Ask::Unsupported(why) if method == ELICITATION => {
                return self.refuse(token, INVALID_PARAMS, format!("cannot take {why}"));
            }
            Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => {
                return self.refuse(token, METHOD_NOT_FOUND, "method not found".into());
            }
        };
        let related = fields.as_ref().and_then(|fields| experimental2025::related_task(fields, &self.policy));
        let subject = self.subject(related.as_ref(), on);
        let task = match (&subject, related) {
            (_, Some(related)) => Some(related),
            (UpstreamSubject::Task(task), None) => Some(task.clone()),
            (UpstreamSubject::Call(_) | UpstreamSubject::Unsaid, None) => None,
        };
        {
            let mut questions = self.questions.lock();
            if questions.pending.len() >= self.policy.requests_per_task_max {
                drop(questions);
                self.events.push(UpstreamEvent::QuestionsRefused(1));
                return self.refuse(token, INTERNAL_ERROR, "too many questions are open on this connection".into());
            }
            questions.pending.insert(token.clone(), OpenQuestion { task, elicits: method == ELICITATION });
        }
        let digest = digest(method, fields.as_ref());
        let text = format!("{{\"method\":{},\"params\":{}}}", json!(method), params.get());
        let raw = domain::raw_message::RawText::of(&text, &self.policy);
        let whole = (text.len() <= self.policy.gateway.question_raw_cap_bytes).then(|| Payload::new(text));
        let question = LiveQuestion { connection: self.id, token, digest, ask: what, raw: Some(raw), whole };
        self.events.push(UpstreamEvent::Question(subject, question));
    }

    /// The forwarded request that a question belongs to: known by its stream, or on a pipe because nothing else is
    /// in flight.
    fn ear_of_question(&self, on: Option<RequestTag>) -> Option<RequestTag> {
        match on {
            Some(tag) => self.listeners.forwards(tag).then_some(tag),
            None => {
                let busy = !self.knows_tasks.load(Ordering::Acquire)
                    || self.calls.lock().waiting().next().is_some()
                    || !self.created.lock().is_empty()
                    || !self.events.watched().is_empty();
                self.listeners.only().filter(|tag| !busy && self.listeners.forwards(*tag))
            }
        }
    }

    fn pass_question_on(self: &Arc<Self>, tag: RequestTag, token: String, method: &str, params: &RawValue) {
        let asked = RequestEvent::Asked { token: token.clone(), method: method.to_owned(), params: params.to_owned() };
        if !self.listeners.ask(tag, asked) {
            self.refuse(token, METHOD_NOT_FOUND, "method not found".into());
        }
    }

    /// The server cancelled a request of its own.
    pub(crate) fn taken_back(&self, token: &str) {
        if self.questions.lock().pending.remove(token).is_some() {
            self.events.push(UpstreamEvent::QuestionWithdrawn { token: token.to_owned() });
        }
    }

    /// Answers an open question. It is removed while the answer is on its way, so that of two
    /// answers one is sent; it is open again if sending failed and the connection is still up.
    pub(crate) async fn answer_live(
        &self,
        connection: ConnectionId,
        token: &str,
        task: Option<&UpstreamTaskId>,
        answer: &AnswerToSend,
    ) -> Result<(), UpstreamError> {
        if connection != self.id {
            return Err(UpstreamError::ChannelGone);
        }
        let answered = answer_object(answer).map_err(not_json)?;
        let Some(asked_for) = self.questions.lock().pending.remove(token) else {
            return Err(UpstreamError::ChannelGone);
        };
        let response = match answer.action {
            AnswerAction::Decline | AnswerAction::Dismiss if !asked_for.elicits => {
                Response::Error(DECLINED, "the request was declined".into())
            }
            AnswerAction::Accept | AnswerAction::Decline | AnswerAction::Dismiss | AnswerAction::Forwarded => {
                tied(answered, asked_for.task.as_ref().or(task))?
            }
        };
        match self.link.respond(token, response).await {
            Ok(()) => Ok(()),
            Err(LinkError::Broken { .. }) => Err(UpstreamError::ChannelGone),
            Err(failed) => {
                self.questions.lock().pending.insert(token.to_owned(), asked_for);
                Err(upstream_error(failed, &self.policy))
            }
        }
    }

    /// Refuses an open question: it named a task that is not open here, so nobody can be asked.
    pub(crate) async fn refuse_question(&self, token: &str) -> Result<(), UpstreamError> {
        if self.questions.lock().pending.remove(token).is_none() {
            return Err(UpstreamError::ChannelGone);
        }
        let why = "no task with the related task id is open at this client".to_owned();
        let sent = self.link.respond(token, Response::Error(INVALID_PARAMS, why)).await;
        sent.map_err(|failed| upstream_error(failed, &self.policy))
    }

    /// What a message is about: what it says itself, else the request of its stream, else the only call or task on
    /// this connection, else the only task that wants input while no call is in flight.
    pub(crate) fn subject(&self, related: Option<&UpstreamTaskId>, on: Option<RequestTag>) -> UpstreamSubject {
        if let Some(task) = related {
            return UpstreamSubject::Task(task.clone());
        }
        if let Some(tag) = on {
            if let Some(task) = self.results.lock().task_of(tag) {
                return UpstreamSubject::Task(task.clone());
            }
            if let Some(ticket) = self.calls.lock().ticket_of(tag.0) {
                return UpstreamSubject::Call(ticket);
            }
        }
        let calls: Vec<_> = self.calls.lock().waiting().take(2).collect();
        let created = self.created.lock();
        let watched = self.events.watched();
        let tasks: BTreeSet<&UpstreamTaskId> = created.iter().chain(watched.iter()).take(3).collect();
        match (calls.as_slice(), tasks.first()) {
            ([ticket], None) if self.knows_tasks.load(Ordering::Acquire) => UpstreamSubject::Call(*ticket),
            ([], Some(task)) if tasks.len() == 1 => UpstreamSubject::Task((*task).clone()),
            ([], _) => self.questions.lock().only_asking().map_or(UpstreamSubject::Unsaid, UpstreamSubject::Task),
            // A call that is in flight beside tasks may be the one that asks. So may a task of a resumed session of which
            // nothing was said here yet.
            _ => UpstreamSubject::Unsaid,
        }
    }

    /// Records the latest status of a task: a question that names no task may belong to one that wants input.
    pub(crate) fn note_status(&self, task: &UpstreamTaskId, status: &TaskStatus) {
        let mut questions = self.questions.lock();
        match status {
            TaskStatus::InputRequired => {
                if questions.asking.len() < self.policy.discovered_max {
                    questions.asking.insert(task.clone());
                }
            }
            TaskStatus::Working
            | TaskStatus::Completed(_)
            | TaskStatus::Failed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => {
                questions.asking.remove(task);
            }
        }
    }

    /// The task has ended.
    pub(crate) fn forget_asking(&self, task: &UpstreamTaskId) {
        self.questions.lock().asking.remove(task);
    }

    fn refuse(self: &Arc<Self>, token: String, code: i64, message: String) {
        // A full queue means that the server asks faster than it reads; some of its requests stay unanswered.
        if self.refusals.try_send((token, Response::Error(code, message))).is_err() {
            tracing::debug!("a request of the server stays unanswered: too many at once");
        }
    }
}

/// The response to a live question, tied to its task.
fn tied(answered: String, task: Option<&UpstreamTaskId>) -> Result<Response, UpstreamError> {
    let answered = match task {
        Some(task) => {
            let related = json!({"taskId": task.as_str()}).to_string();
            let before = member(&answered, "_meta").unwrap_or("{}");
            let meta = with_members(before, &[(experimental2025::RELATED_TASK, related.into())], &[]);
            with_members(&answered, &[("_meta", meta.into())], &[])
        }
        None => answered,
    };
    let raw = RawValue::from_string(answered).map_err(|_| not_json(crate::wire::dialect::NotJson))?;
    Ok(Response::Result(raw))
}

/// Sends refusals, so that listening never waits for the wire. Ends with the connection's scope.
pub(crate) async fn send_refusals(
    connection: Arc<Connection>,
    mut refusals: tokio::sync::mpsc::Receiver<(String, Response)>,
) {
    while let Some((token, response)) = refusals.recv().await {
        if let Err(failed) = connection.link.respond(&token, response).await {
            tracing::debug!(error = %failed, "a request of the server could not be refused");
        }
    }
}

/// Hex SHA-256 of the method and the canonical parameters, without what ties it to a task or a stream.
fn digest(method: &str, params: Option<&JsonFields<'_>>) -> String {
    let members = params.into_iter().flat_map(JsonFields::iter).filter(|(name, _)| *name != "_meta");
    let params: serde_json::Map<String, Value> =
        members.filter_map(|(name, raw)| Some((name.to_owned(), serde_json::from_str(raw.get()).ok()?))).collect();
    let canonical = serde_json_canonicalizer::to_vec(&params).unwrap_or_default();
    let hash = Sha256::new().chain_update(method).chain_update(b"\n").chain_update(canonical).finalize();
    hash.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(params: &str) -> String {
        let raw = RawValue::from_string(params.into()).expect("JSON");
        digest(ELICITATION, JsonFields::of(&raw, "$.params").ok().as_ref())
    }

    #[test]
    fn a_question_asked_again_has_the_same_digest_whatever_ties_it_to_a_stream() {
        let once = digest_of(
            r#"{"message":"Go?","requestedSchema":{"type":"object","properties":{}},"_meta":{"progressToken":1}}"#,
        );
        let again = digest_of(r#"{ "requestedSchema": {"properties":{}, "type":"object"}, "message":"Go\u003f"}"#);
        assert_eq!(once, again, "order, spelling and metadata do not matter");
        assert_ne!(once, digest_of(r#"{"message":"Stop?"}"#), "another question is another one");
        assert_eq!(once.len(), 64, "hex SHA-256");
    }
}
