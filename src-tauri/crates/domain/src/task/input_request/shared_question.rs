//! A live question of which the server does not say which of several calls asks it (2025 dialect).
//!
//! It is stored with one of the calls, so that there is one question and one answer; the others know that it may be
//! theirs, and all of them wait. Nothing follows from which call stores it. The engine keeps both sides in step.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::Actor;
use crate::ids::{HandleId, RequestKey};
use crate::task::input_request::{AskDoor, LiveQuestion};
use crate::task::{TaskHandle, Transition};
use crate::time::Timestamp;

/// A question by the task that stores it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionRef {
    /// The task that stores it.
    pub task: HandleId,
    /// Its key there.
    pub key: RequestKey,
}

/// Which questions of a task may be other tasks', and which of other tasks' may be its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedQuestions {
    /// Questions stored here, with the other tasks that may be asking.
    pub stored: BTreeMap<RequestKey, BTreeSet<HandleId>>,
    /// Open questions stored with other tasks that this one may be asking.
    pub elsewhere: BTreeSet<QuestionRef>,
}

impl TaskHandle {
    /// The tasks that may be asking this question, this one among them; empty when it is known which one asks.
    #[must_use]
    pub fn possible_askers(&self, key: &RequestKey) -> BTreeSet<HandleId> {
        let others = self.shared.stored.get(key).filter(|others| !others.is_empty());
        others.map(|others| others.iter().copied().chain([self.id]).collect()).unwrap_or_default()
    }

    /// The open question under this key may be one of these other tasks'.
    #[must_use]
    pub fn shares_question(&self, key: &RequestKey, others: &BTreeSet<HandleId>, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let open = self.requests.get(key).is_some_and(|request| request.state.is_open());
        if open && !others.is_empty() {
            step.next.shared.stored.insert(key.clone(), others.clone());
        }
        step.settle(self, now)
    }

    /// Whether this task may be asking a question that is stored with another.
    #[must_use]
    pub fn asked_elsewhere(&self, question: &QuestionRef, asked: bool, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if asked && !self.is_over() {
            step.next.shared.elsewhere.insert(question.clone());
        } else {
            step.next.shared.elsewhere.remove(question);
        }
        step.settle(self, now)
    }

    /// These calls can no longer be asking the question under this key; when none is left, it is this one's.
    #[must_use]
    pub fn rule_out_askers(&self, key: &RequestKey, gone: &BTreeSet<HandleId>, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if let Some(others) = step.next.shared.stored.get_mut(key) {
            others.retain(|other| !gone.contains(other));
            if others.is_empty() {
                step.next.shared.stored.remove(key);
            }
        }
        step.settle(self, now)
    }

    /// The question is no longer shared from here: it is over, or asked of the other calls alone from now on.
    #[must_use]
    pub fn hand_over_question(&self, key: &RequestKey, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let open = self.requests.get(key).is_some_and(|request| request.state.is_open());
        if step.next.shared.stored.remove(key).is_some() && open {
            step.close_request(key, now, &Actor::System("live"), "it is asked of the other calls that are open");
        }
        step.settle(self, now)
    }

    /// The live question under this key as it came, to be stored with another task.
    #[must_use]
    pub fn live_question(&self, key: &RequestKey) -> Option<LiveQuestion> {
        let request = self.requests.get(key)?;
        let AskDoor::Live { connection, token, digest } = &request.door else { return None };
        Some(LiveQuestion {
            connection: *connection,
            token: token.clone(),
            digest: digest.clone(),
            ask: request.ask.clone(),
            raw: None,
            whole: None,
        })
    }
}
