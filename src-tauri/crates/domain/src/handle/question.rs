//! Questions and answers (rules 5, 6, 14; rulings 1, 7, 9, 10).

use super::{Refusal, TaskHandle, Transition};
use crate::ids::{ConnectionId, PersonId, RequestKey};
use crate::payload::Payload;
use crate::policy::Policy;
use crate::request::{AnswerAction, InputRequest, LiveQuestion};
use crate::status::Delivery;
use crate::time::Timestamp;

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerInput {
    /// Which question; may be left out when exactly one is open.
    pub key: Option<RequestKey>,
    /// Which of the three outcomes.
    pub action: AnswerAction,
    /// Content of an accepted form: a JSON object.
    pub content: Option<Payload>,
    /// Who.
    pub by: PersonId,
    /// Held back until then (ruling 7).
    pub not_before: Option<Timestamp>,
}

/// What a live question turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveOutcome {
    /// A new question, opened under this key.
    Opened(RequestKey),
    /// The same question as before, still open, now on another channel.
    Same(RequestKey),
    /// The same question as one that is answered: its answer must go out on the new channel.
    AnsweredBefore(RequestKey),
    /// Not one that people answer here, or one too many: the server is told so.
    Rejected(String),
}

impl TaskHandle {
    /// A question arrived on a live connection.
    #[must_use]
    pub fn asked(&self, question: &LiveQuestion, now: Timestamp, policy: &Policy) -> (Transition, LiveOutcome) {
        let _ = (question, now, policy);
        todo!()
    }

    /// The server took back the live question with this token.
    #[must_use]
    pub fn taken_back(&self, connection: ConnectionId, token: &str, now: Timestamp) -> Transition {
        let _ = (connection, token, now);
        todo!()
    }

    /// The connection is gone. Open live questions stay open while the session may ask them again; without a
    /// session that survives they are withdrawn.
    #[must_use]
    pub fn channel_lost(&self, connection: ConnectionId, session_survives: bool, now: Timestamp) -> Transition {
        let _ = (connection, session_survives, now);
        todo!()
    }

    /// Records an answer. The first one wins; it is never changed.
    ///
    /// # Errors
    /// A [`Refusal`] when there is nothing to answer or somebody was faster.
    pub fn answer(&self, input: AnswerInput, now: Timestamp) -> Result<(Transition, RequestKey), Refusal> {
        let _ = (input, now);
        todo!()
    }

    /// Takes back an answer that is still held back.
    ///
    /// # Errors
    /// A [`Refusal`] when it already left.
    pub fn undo_answer(&self, key: &RequestKey, by: &PersonId, now: Timestamp) -> Result<Transition, Refusal> {
        let _ = (key, by, now);
        todo!()
    }

    /// How far the delivery of an answer got. An acknowledged live answer is confirmed at once.
    #[must_use]
    pub fn answer_step(&self, key: &RequestKey, step: &Delivery, now: Timestamp) -> Transition {
        let _ = (key, step, now);
        todo!()
    }

    /// Answers that may go out now. Answers of a round go only when no question of that round is open.
    #[must_use]
    pub fn answers_due(&self, now: Timestamp) -> Vec<&InputRequest> {
        let _ = now;
        todo!()
    }
}
