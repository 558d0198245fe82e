//! The filter of an export, applied anew to every row, so that nobody has to believe that it was applied.
//!
//! A filter over hashed fields decides each row. Rows of layout 1 have no hashed server and agent, and words of a note may
//! have been erased: there the answer is that it cannot be decided.

use serde::{Deserialize, Serialize};

use crate::chain::ChainRow;
use crate::receipt::{CALLED, ReceiptFields};

/// Which rows are wanted; what is absent lets every row pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RowFilter {
    /// The first row number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The last row number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// Milliseconds since 1970 UTC; rows of this moment pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Milliseconds since 1970 UTC; rows of this moment do not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// A whole actor such as `person:ada`, or a kind of actors such as `person`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// One of these verbs; every verb when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<String>,
    /// A whole subject such as `store`, or a kind of subjects such as `handle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The id of a task: rows about it and about its questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Words that the note contains, whatever their case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Whether a row passes a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMatch {
    Yes,
    No,
    /// A field that the filter asks for is not hashed in this row.
    Undecided,
}

/// Whether a word is this one, or begins with it as its kind.
fn is_or_begins(word: &str, wanted: &str) -> bool {
    word == wanted || word.split_once(':').is_some_and(|(kind, _)| kind == wanted)
}

/// Whether a subject is this task or a question of it.
fn is_of_task(subject: &str, task: &str) -> bool {
    match subject.split_once(':') {
        Some(("handle", id)) => id == task,
        Some(("request", rest)) => rest.split_once(':').is_some_and(|(id, _)| id == task),
        _ => false,
    }
}

impl RowFilter {
    /// Whether it asks for words of a note, which a proof never covers.
    #[must_use]
    pub const fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Whether receipts of calls can pass at all. A call has no actor, subject or note of its own, and no verb but that of the
    /// row that vouches for it.
    #[must_use]
    pub fn wants_receipts(&self) -> bool {
        let is_of_calls = self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == CALLED);
        is_of_calls && self.actor.is_none() && self.subject.is_none() && self.text.is_none()
    }

    /// Whether a receipt passes: by the time of its call, its server, its agent and its task. The range of rows is that of
    /// the row that vouches for it.
    #[must_use]
    pub fn matches_receipt(&self, call: &ReceiptFields<'_>) -> bool {
        let wants = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        self.wants_receipts()
            && self.since.is_none_or(|since| call.at >= since)
            && self.until.is_none_or(|until| call.at < until)
            && wants(&self.server, call.server)
            && wants(&self.agent, call.agent)
            && wants(&self.task, call.handle)
    }

    /// Whether a row passes by its hashed fields; words of a note are not looked at.
    #[must_use]
    pub fn matches(&self, row: &ChainRow<'_>) -> RowMatch {
        let wants = |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        let passes = self.first.is_none_or(|first| row.number >= first)
            && self.last.is_none_or(|last| row.number <= last)
            && self.since.is_none_or(|since| row.at >= since)
            && self.until.is_none_or(|until| row.at < until)
            && wants(&self.actor, &|actor| is_or_begins(row.actor, actor))
            && (self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == row.verb))
            && wants(&self.subject, &|subject| is_or_begins(row.subject, subject))
            && wants(&self.task, &|task| is_of_task(row.subject, task));
        if !passes {
            return RowMatch::No;
        }
        if row.layout == 1 && (self.server.is_some() || self.agent.is_some()) {
            return RowMatch::Undecided;
        }
        let is_there =
            wants(&self.server, &|server| row.server == server) && wants(&self.agent, &|agent| row.agent == agent);
        if is_there { RowMatch::Yes } else { RowMatch::No }
    }
}
