//! Answers of agents that do not fit the form of the question.
//!
//! They are never sent: the server is promised what its form says. What people accept is checked where they give it, so
//! that they are told field by field, by the same rules (`form.rs`). Here is what is recorded of an agent's answer that
//! was refused, and how the question comes to people.

use serde_json::{Map, Value};

use crate::audit::Verb;
use crate::ids::RequestKey;
use crate::task::decider::Decider;
use crate::task::input_request::form::{self, FormError};
use crate::task::input_request::{AnswerAction, Ask};
use crate::task::payload::Payload;
use crate::task::status::LogLine;
use crate::task::{Attention, Audience, Effect, TaskHandle, Told, Transition};
use crate::time::Timestamp;

impl Ask {
    /// Whether an answer fits the form. Only the content of an accepted form can break its rules.
    ///
    /// # Errors
    /// Names the first field that does not fit and the rule it breaks; never the value.
    pub fn check_answer(&self, action: AnswerAction, content: Option<&Payload>) -> Result<(), FormError> {
        let (Self::Form { schema, .. }, Some(content)) = (self, content) else { return Ok(()) };
        let said: Value = serde_json::from_str(content.as_str()).map_err(|_| FormError::NotAnObject)?;
        match action {
            AnswerAction::Accept => check_fields(schema, &said),
            AnswerAction::Forwarded if said.get("action").and_then(Value::as_str) == Some("accept") => {
                match said.get("content") {
                    Some(content) if !content.is_null() => check_fields(schema, content),
                    Some(_) | None => check_fields(schema, &Value::Object(Map::new())),
                }
            }
            AnswerAction::Forwarded | AnswerAction::Decline | AnswerAction::Dismiss => Ok(()),
        }
    }
}

/// Of an agent only values that break their rule are refused. What it left out or added is for the server to judge: a
/// client of the conformance suite gives every question the same fields.
fn check_fields(schema: &Value, content: &Value) -> Result<(), FormError> {
    match form::check(schema, content) {
        Err(FormError::Missing { .. } | FormError::Unknown { .. }) => Ok(()),
        checked => checked,
    }
}

impl TaskHandle {
    /// An agent's answer did not fit and is not sent. The log and the audit say so, once until a question of the task
    /// changes, so that nobody fills them. The question stays open.
    #[must_use]
    pub fn answer_unfit(&self, key: &RequestKey, by: &Decider, broken: &FormError, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let asked = self.requests.get(key).filter(|request| request.state.is_open());
        let is_theirs = asked.is_some_and(|request| self.check_decider(by, request).is_ok());
        if !is_theirs || !step.next.told.insert(Told::AnswerUnfit) {
            return step;
        }
        let text = format!("An answer of the agent was not sent: {}.", broken.field_words());
        let status = self.view.task().map_or("working", |task| task.status.word()).to_owned();
        step.log.push(LogLine { at: now, status, text });
        step.request_fact(now, by.actor(), Verb::AnswerEnded, key, "does not fit");
        step.settle(self, now)
    }

    /// The agent has no answer to this question: from now on people are asked instead of it, if they are ever asked.
    #[must_use]
    pub fn ask_people_now(&self, key: &RequestKey, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let is_open = self.requests.get(key).is_some_and(|request| request.state.is_open());
        if !is_open {
            return step;
        }
        let asked_before = self.has_request_for_people(now);
        let are_people_asked = match self.audience {
            Audience::Both => true,
            Audience::AgentThenPeople { people_at } => now < people_at,
            Audience::People | Audience::Agent => false,
        };
        if are_people_asked {
            step.next.audience = Audience::AgentThenPeople { people_at: now };
        }
        if !asked_before && step.next.has_request_for_people(now) {
            step.effect(Effect::Tell(Attention::Waiting));
        }
        step.settle(self, now)
    }
}
