//! Calls and tasks that were lost together are one item of the inbox: one cause, one item.
//!
//! The cause is stored with each task (`engine/tasks/loss_causes.rs`) and names the item. Tasks that were lost before
//! causes were stored share one where they were lost within `Policy::asking.loss_gap` of each other. The window's feed,
//! the command line and the figures count what this makes of rows. It decides nothing about tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::ids::ServerId;
use domain::policy::Policy;
use domain::task::TaskHandle;
use domain::task::status::Intent;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::inbox::row::{InboxKind, InboxRow};
use crate::dto::iso;

/// What may have been lost together: where it was, how it was lost, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loss {
    server: ServerId,
    generation: u32,
    is_lost: bool,
    /// When the first of them was lost, as stored.
    cause: Option<Timestamp>,
    at: Timestamp,
}

/// One of the calls of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LostCall {
    /// The task's handle.
    pub task: String,
    /// The tool, where known.
    pub tool: Option<String>,
    /// Whose call it is.
    pub agent: Option<String>,
    /// The server says that the tool destroys something.
    pub destructive: bool,
}

impl Loss {
    /// The loss of a task whose row has this kind. A call that somebody asked to cancel has a cause of its own.
    pub(crate) fn of(task: &TaskHandle, kind: InboxKind, at: Timestamp) -> Option<Self> {
        let is_lost = match kind {
            InboxKind::Lost => true,
            InboxKind::Unconfirmed => false,
            InboxKind::Form
            | InboxKind::Url
            | InboxKind::Unsupported
            | InboxKind::Held
            | InboxKind::OverLimit
            | InboxKind::TimeLimit
            | InboxKind::Overdue
            | InboxKind::Blocked
            | InboxKind::Alarm
            | InboxKind::PauseChoice => return None,
        };
        let is_wanted = matches!(task.intent, Intent::Cancel(_) | Intent::Revoked(_));
        (!is_wanted).then_some(Self {
            server: task.server,
            generation: task.home.generation,
            is_lost,
            cause: task.loss_cause,
            at,
        })
    }

    /// Whether the loss came right after this one, and for the same cause.
    fn follows(&self, before: &Self, gap: Duration) -> bool {
        let place = |loss: &Self| (loss.server, loss.generation, loss.is_lost, loss.cause);
        place(self) == place(before) && (self.cause.is_some() || self.at.since(before.at) <= gap)
    }
}

/// The items of these rows: one for each cause. Rows without a loss pass as they are; so does what was lost alone.
pub(crate) fn items<'a>(rows: impl IntoIterator<Item = &'a InboxRow>, policy: &Policy) -> Vec<InboxRow> {
    causes(rows, policy).into_iter().filter_map(|rows| item(&rows, policy)).collect()
}

/// The tasks that were lost together with this one, itself among them; none when it is not among the rows.
pub(crate) fn lost_with<'a>(
    rows: impl IntoIterator<Item = &'a InboxRow>,
    task: &str,
    policy: &Policy,
) -> Vec<&'a InboxRow> {
    let is_it = |row: &&InboxRow| row.task.as_deref() == Some(task);
    causes(rows, policy).into_iter().find(|rows| rows.iter().any(is_it)).unwrap_or_default()
}

fn causes<'a>(rows: impl IntoIterator<Item = &'a InboxRow>, policy: &Policy) -> Vec<Vec<&'a InboxRow>> {
    let mut causes: Vec<Vec<&InboxRow>> = Vec::new();
    let mut lost: BTreeMap<(Loss, &str), &InboxRow> = BTreeMap::new();
    for row in rows {
        match row.loss {
            Some(loss) => {
                lost.insert((loss, row.id.as_str()), row);
            }
            None => causes.push(vec![row]),
        }
    }
    let mut before: Option<Loss> = None;
    for ((loss, _), row) in lost {
        match causes.last_mut() {
            Some(cause) if before.is_some_and(|before| loss.follows(&before, policy.asking.loss_gap)) => {
                cause.push(row)
            }
            Some(_) | None => causes.push(vec![row]),
        }
        before = Some(loss);
    }
    causes
}

fn item(rows: &[&InboxRow], policy: &Policy) -> Option<InboxRow> {
    let (first, others) = rows.split_first()?;
    if others.is_empty() {
        return Some((*first).clone());
    }
    let cause = first.loss.and_then(|loss| loss.cause).map(iso);
    let call = |row: &&InboxRow| {
        let task = row.task.clone()?;
        Some(LostCall { task, tool: row.tool.clone(), agent: row.agent.clone(), destructive: row.destructive })
    };
    let all_of = |name: fn(&InboxRow) -> &Option<String>| {
        others.iter().all(|row| name(row) == name(first)).then(|| name(first).clone()).flatten()
    };
    Some(InboxRow {
        id: format!("{}/{}@{}", first.server, first.kind, cause.unwrap_or_else(|| first.opened_at.clone())),
        opened_at: first.opened_at.clone(),
        task: None,
        message: None,
        tool: all_of(|row| &row.tool),
        agent: all_of(|row| &row.agent),
        changed_at: rows.iter().map(|row| &row.changed_at).max().unwrap_or(&first.changed_at).clone(),
        destructive: rows.iter().any(|row| row.destructive),
        calls: rows.iter().take(policy.asking.loss_calls_shown).filter_map(call).collect(),
        call_count: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        ..(*first).clone()
    })
}

#[cfg(test)]
pub(crate) mod testing {
    use serde_json::json;

    use super::*;

    pub(crate) fn lost(task: &str, at: Timestamp) -> InboxRow {
        lost_at(task, (1, 1), at)
    }

    pub(super) fn lost_at(task: &str, (server, generation): (u128, u32), at: Timestamp) -> InboxRow {
        let row = json!({
            "id": format!("{task}/unconfirmed"), "kind": "unconfirmed", "task": task, "key": null, "server": "hostile",
            "tool": task, "agent": "claude", "message": null, "host": null, "openedAt": at.to_string(),
            "deadline": null, "snoozedUntil": null, "changedAt": at.to_string(), "answeredBy": null,
            "destructive": false, "tokens": null, "limit": null, "exactness": null, "why": null,
        });
        let loss = Loss { server: ServerId::from_random(server), generation, is_lost: false, cause: None, at };
        InboxRow { loss: Some(loss), ..serde_json::from_value(row).expect("a row reads") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn lost(task: &str, server: u128, generation: u32, after_ms: u64) -> InboxRow {
        testing::lost_at(task, (server, generation), START.plus(Duration::from_millis(after_ms)))
    }

    #[test]
    fn what_was_lost_together_is_one_item_and_everything_else_stays_its_own() {
        let policy = Policy::default();
        let later = u64::try_from(policy.asking.loss_gap.as_millis()).expect("short") * 3;
        let rows = [
            lost("a", 1, 1, 0),
            lost("b", 1, 1, 40),
            lost("c", 1, 1, 90),
            lost("other-server", 2, 1, 10),
            lost("next-install", 1, 2, 20),
            lost("later", 1, 1, later),
        ];
        let items = items(&rows, &policy);
        let told: Vec<(u32, usize, bool)> =
            items.iter().map(|row| (row.call_count, row.calls.len(), row.task.is_none())).collect();
        assert_eq!(told.iter().filter(|one| **one == (3, 3, true)).count(), 1, "one item for three calls: {told:?}");
        assert_eq!(told.iter().filter(|one| **one == (0, 0, false)).count(), 3, "the others are alone: {told:?}");
        let together = items.iter().find(|row| row.call_count == 3).expect("there is one");
        assert_eq!(
            (together.tool.as_deref(), together.agent.as_deref()),
            (None, Some("claude")),
            "only what all share"
        );
        assert_eq!(lost_with(&rows, "b", &policy).len(), 3, "a member finds the whole cause");
        assert!(lost_with(&rows, "nobody", &policy).is_empty());
    }

    #[test]
    fn a_cause_keeps_its_name_when_the_first_of_its_calls_is_settled_alone() {
        let policy = Policy::default();
        let of = |cause: i64, row: InboxRow| {
            let loss = row.loss.map(|loss| Loss { cause: Some(Timestamp::from_millis(cause)), ..loss });
            InboxRow { loss, ..row }
        };
        let rows = [of(1, lost("a", 1, 1, 0)), of(1, lost("b", 1, 1, 40)), of(1, lost("c", 1, 1, 90))];
        let other = of(2, lost("d", 1, 1, 95));
        let whole = items(rows.iter().chain([&other]), &policy);
        let left = items(rows.iter().skip(1).chain([&other]), &policy);
        let name =
            |items: &[InboxRow], calls| items.iter().find(|row| row.call_count == calls).map(|row| row.id.clone());
        assert!(name(&whole, 3).is_some());
        assert_eq!(name(&whole, 3), name(&left, 2), "it is the same item with one call less");
        assert_eq!(left.len(), 2, "what was lost for another cause is another item, however close in time");
    }

    #[test]
    fn ten_thousand_lost_calls_are_one_row_that_lists_a_screenful() {
        let policy = Policy::default();
        let rows: Vec<InboxRow> = (0..10_000).map(|n| lost(&format!("t{n:05}"), 1, 1, n)).collect();
        let items = items(&rows, &policy);
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].call_count, 10_000);
        assert_eq!(items[0].calls.len(), policy.asking.loss_calls_shown);
    }
}
