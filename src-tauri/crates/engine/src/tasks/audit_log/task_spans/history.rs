//! What the audit log says of one task: when it began, the row that ended it, and what happened before, as events of its
//! span.
//!
//! An event has the number of its row, who acted and through which door, and no words of the row: a note can be a person's
//! reason.

use std::collections::BTreeMap;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, RequestKey};
use domain::ports::{AuditLink, Registry, RegistryError};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::super::otlp_json::{nanos, text, whole};

/// Rows that are read at once. Judgement: more than nearly every task has.
const ROWS_AT_ONCE: u32 = 512;

/// The row that ended a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndRow {
    pub(super) number: u64,
    pub(super) at: Timestamp,
}

/// The rows of a task, up to the one whose span is wanted.
#[derive(Debug, Default)]
pub(super) struct TaskHistory {
    /// The first row.
    pub(super) begun: Option<Timestamp>,
    /// The row that ended it, as far as rows are written by now.
    pub(super) ended: Option<EndRow>,
    pub(super) events: Vec<Value>,
    /// Events beyond the most that a span has.
    pub(super) dropped: u64,
    /// Questions by the order in which they were asked: their keys can be words of the server.
    questions: BTreeMap<RequestKey, usize>,
}

/// Whether a row of this verb ends a task.
pub(super) const fn is_end(verb: Verb) -> bool {
    matches!(verb, Verb::Ended | Verb::Lost | Verb::Unwatched)
}

impl TaskHistory {
    /// Reads it; events are those up to row `last`, at most `most`.
    pub(super) async fn read(
        registry: &dyn Registry,
        task: HandleId,
        last: u64,
        most: usize,
    ) -> Result<Self, RegistryError> {
        let (mut history, mut after) = (Self::default(), Some(0));
        while let Some(place) = after {
            let page = registry.audit_page(Some(task), place, ROWS_AT_ONCE).await?;
            for row in &page.rows {
                history.add(row, last, most);
            }
            after = page.next_after;
        }
        Ok(history)
    }

    /// Takes the next row of the task.
    pub(super) fn add(&mut self, row: &AuditLink, last: u64, most: usize) {
        let event = &row.event;
        let this = EndRow { number: row.number, at: event.at };
        if event.verb == Verb::Ended {
            // The server's word counts, also of a task that nobody watched any more.
            self.ended = Some(this);
        } else if is_end(event.verb) {
            // Looking away from a task that is lost ends nothing.
            self.ended = self.ended.or(Some(this));
        } else if event.verb == Verb::Discovered {
            // Heard of again after it was lost.
            self.ended = None;
        }
        if row.number > last {
            return;
        }
        self.begun = self.begun.or(Some(event.at));
        let question = self.question(&event.subject);
        if self.events.len() < most {
            self.events.push(span_event(row.number, event, question));
        } else {
            self.dropped += 1;
        }
    }

    fn question(&mut self, subject: &Subject) -> Option<usize> {
        let Subject::Request(_, key) = subject else { return None };
        let next = self.questions.len() + 1;
        Some(*self.questions.entry(key.clone()).or_insert(next))
    }
}

fn span_event(number: u64, event: &AuditEvent, question: Option<usize>) -> Value {
    let mut attributes =
        vec![whole("taskwarden.audit.number", number), text("taskwarden.audit.actor", &event.actor.to_string())];
    if let Actor::Person(person) = &event.actor {
        attributes.push(text("user.name", person.as_str()));
    }
    attributes.extend(event.origin().map(|origin| text("taskwarden.decision.door", origin.door.word())));
    if let Some(rule) = event.rule() {
        attributes.push(text("taskwarden.rule.id", &rule.id.to_string()));
        attributes.push(whole("taskwarden.rule.version", u64::from(rule.version)));
    }
    let question = question.and_then(|number| u64::try_from(number).ok());
    attributes.extend(question.map(|number| whole("taskwarden.question.number", number)));
    json!({
        "timeUnixNano": nanos(event.at),
        "name": format!("taskwarden.audit.{}", event.verb.word()),
        "attributes": attributes,
    })
}
