//! The inbox as one feed has sent it: rows by id, and the difference to the current state.
//!
//! Holds only what was sent; the feed passes in the current rows of a task or server. An answered question stays for a few
//! seconds, struck out, and then goes; what was lost together is sent as one row. Does no I/O and reads no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::time::Timestamp;
use tokio::time::Instant;

use crate::calls::user_data::Snooze;
use crate::dto::inbox::loss;
use crate::dto::{InboxFigures, InboxRow, moment};

/// What to tell.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct InboxDifference {
    pub(crate) rows: BTreeMap<String, InboxRow>,
    pub(crate) gone: BTreeSet<String>,
}

/// What was told.
pub(crate) struct FeedInbox {
    rows: BTreeMap<String, InboxRow>,
    /// Ids of rows by what they are about: a handle, or the name of a server.
    about: HashMap<String, BTreeSet<String>>,
    /// Rows of tasks that were lost, by id: they are told as one for each cause.
    lost: BTreeMap<String, InboxRow>,
    /// Ids of the rows that they are told as.
    told_lost: BTreeSet<String>,
    /// The lost ones changed since they were told.
    stale_lost: bool,
    snoozes: HashMap<String, Snooze>,
    /// When answered rows go.
    struck: BTreeMap<String, Instant>,
    difference: InboxDifference,
    policy: Policy,
    most: usize,
    shown: Duration,
}

impl FeedInbox {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            rows: BTreeMap::new(),
            about: HashMap::new(),
            lost: BTreeMap::new(),
            told_lost: BTreeSet::new(),
            stale_lost: false,
            snoozes: HashMap::new(),
            struck: BTreeMap::new(),
            difference: InboxDifference::default(),
            policy: policy.clone(),
            most: usize::try_from(policy.inbox_rows_max).unwrap_or(usize::MAX),
            shown: policy.asking.answered_shown,
        }
    }

    /// All rows, by cost of delay. What was to be told is told by it.
    pub(crate) fn all(&mut self) -> Vec<InboxRow> {
        self.tell_lost();
        self.difference = InboxDifference::default();
        let mut rows: Vec<_> = self.rows.values().cloned().collect();
        rows.sort_by(InboxRow::before);
        rows
    }

    /// What changed since it was asked last.
    pub(crate) fn take(&mut self) -> InboxDifference {
        self.tell_lost();
        std::mem::take(&mut self.difference)
    }

    /// The tasks that something is told about.
    pub(crate) fn tasks(&self) -> Vec<HandleId> {
        self.about.keys().filter_map(|about| about.parse().ok()).collect()
    }

    /// Whether anything is told about this task or server.
    pub(crate) fn knows(&self, about: &str) -> bool {
        self.about.contains_key(about)
    }

    /// The rows of a task or a server as they are now. `answered` says who answered the question of a row that is no
    /// longer among them.
    pub(crate) fn put(
        &mut self,
        about: &str,
        now: Vec<InboxRow>,
        answered: impl Fn(&str) -> Option<String>,
        moment: Instant,
    ) {
        let before = self.about.remove(about).unwrap_or_default();
        let mut kept = BTreeSet::new();
        for mut row in now {
            self.struck.remove(&row.id);
            if !before.contains(&row.id) && self.rows.len().max(self.lost.len()) >= self.most {
                continue;
            }
            kept.insert(row.id.clone());
            if row.loss.is_some() {
                self.stale_lost = true;
                self.lost.insert(row.id.clone(), row);
                continue;
            }
            self.put_to_sleep(&mut row);
            self.tell(row);
        }
        for id in before.into_iter().filter(|id| !kept.contains(id)).collect::<Vec<_>>() {
            if self.struck.contains_key(&id) {
                kept.insert(id);
                continue;
            }
            if self.lost.remove(&id).is_some() {
                self.stale_lost = true;
                continue;
            }
            match (answered(&id), self.rows.get(&id).cloned()) {
                (Some(by), Some(row)) => {
                    self.tell(InboxRow { answered_by: Some(by), ..row });
                    self.struck.insert(id.clone(), moment + self.shown);
                    kept.insert(id);
                }
                _ => self.forget(id),
            }
        }
        if !kept.is_empty() {
            self.about.insert(about.to_owned(), kept);
        }
    }

    /// Until when rows are asleep, by id.
    pub(crate) fn snooze(&mut self, until: HashMap<String, Snooze>) {
        self.snoozes = until;
        for mut row in self.rows.values().cloned().collect::<Vec<_>>() {
            self.put_to_sleep(&mut row);
            self.tell(row);
        }
    }

    fn put_to_sleep(&self, row: &mut InboxRow) {
        let is_same = |snooze: &&Snooze| snooze.changed_at.as_ref().is_none_or(|at| *at == row.changed_at);
        let snooze = self.snoozes.get(&row.id).filter(is_same);
        let (until, until_change) =
            (snooze.and_then(|snooze| snooze.until.clone()), snooze.is_some_and(|snooze| snooze.until.is_none()));
        (row.snoozed_until, row.snoozed_until_change) = (until, until_change);
    }

    /// Tells what was lost, one row for each cause, where that changed.
    fn tell_lost(&mut self) {
        if !std::mem::take(&mut self.stale_lost) {
            return;
        }
        let items = loss::items(self.lost.values(), &self.policy);
        let now: BTreeSet<String> = items.iter().map(|row| row.id.clone()).collect();
        for gone in std::mem::replace(&mut self.told_lost, now.clone()).difference(&now) {
            self.forget(gone.clone());
        }
        for mut row in items {
            self.put_to_sleep(&mut row);
            self.tell(row);
        }
    }

    /// How much lies in it at this moment.
    pub(crate) fn figures(&mut self, now: Timestamp) -> InboxFigures {
        self.tell_lost();
        let mut figures = InboxFigures::default();
        for row in self.rows.values().filter(|row| row.answered_by.is_none()) {
            let place = if row.is_asleep(now) { &mut figures.hidden } else { &mut figures.items };
            *place = place.saturating_add(1);
            figures.more_questions = figures.more_questions.saturating_add(u64::from(row.more_questions));
        }
        figures
    }

    /// When the next hidden row comes back.
    pub(crate) fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        let hidden = self.rows.values().filter_map(|row| row.snoozed_until.as_deref().and_then(moment));
        hidden.filter(|until| *until > now).min()
    }

    /// When the next answered row goes.
    pub(crate) fn next_sweep(&self) -> Option<Instant> {
        self.struck.values().min().copied()
    }

    /// Lets answered rows go whose time is over.
    pub(crate) fn sweep(&mut self, moment: Instant) {
        let over: Vec<String> = self.struck.iter().filter(|(_, at)| **at <= moment).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.struck.remove(&id);
            // The text before the slash is what the row is about; keys may hold slashes, handles and names do not.
            let about = id.split_once('/').map(|(about, _)| about.to_owned()).unwrap_or_default();
            if let Some(ids) = self.about.get_mut(&about) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.about.remove(&about);
                }
            }
            self.forget(id);
        }
    }

    /// Shows deadlines that came near.
    pub(crate) fn approach(&mut self, now: Timestamp, policy: &Policy) {
        let mut near = Vec::new();
        for row in self.rows.values_mut().filter(|row| row.answered_by.is_none()) {
            if row.approach(now, policy) {
                near.push(row.clone());
            }
        }
        for row in near {
            self.difference.rows.insert(row.id.clone(), row);
        }
    }

    fn tell(&mut self, row: InboxRow) {
        if self.rows.get(&row.id) == Some(&row) {
            return;
        }
        self.difference.gone.remove(&row.id);
        self.difference.rows.insert(row.id.clone(), row.clone());
        self.rows.insert(row.id.clone(), row);
    }

    fn forget(&mut self, id: String) {
        if self.rows.remove(&id).is_some() {
            self.difference.rows.remove(&id);
            self.difference.gone.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn row(id: &str, more_questions: u32) -> InboxRow {
        let at = NOW.to_string();
        let row = json!({
            "id": id, "kind": "form", "task": null, "key": null, "server": "ci", "tool": null, "agent": null,
            "message": null, "host": null, "openedAt": at, "deadline": null, "snoozedUntil": null, "changedAt": at,
            "answeredBy": null, "destructive": false, "tokens": null, "limit": null, "exactness": null, "why": null,
            "moreQuestions": more_questions,
        });
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn items_are_counted_once_hidden_ones_apart_until_their_time_and_answered_ones_not_at_all() {
        let mut inbox = FeedInbox::new(&Policy::default());
        let soon = NOW.plus(Duration::from_secs(600));
        let snooze = Snooze { until: Some(soon.to_string()), changed_at: None };
        inbox.snooze(HashMap::from([("t/b".to_owned(), snooze)]));
        inbox.put("t", vec![row("t/a", 0), row("t/b", 0), row("t/c", 7)], |_| None, Instant::now());
        let figures = |inbox: &mut FeedInbox, now| {
            let InboxFigures { items, hidden, more_questions } = inbox.figures(now);
            (items, hidden, more_questions)
        };
        assert_eq!(figures(&mut inbox, NOW), (2, 1, 7), "two questions of one task are two items");
        assert_eq!(inbox.next_wake(NOW), Some(soon), "and the feed wakes when the hidden one comes back");
        assert_eq!(figures(&mut inbox, soon), (3, 0, 7));
        assert_eq!(inbox.next_wake(soon), None);
        inbox.put("t", vec![row("t/a", 0), row("t/b", 0)], |_| Some("ada".to_owned()), Instant::now());
        assert_eq!(figures(&mut inbox, NOW), (1, 1, 0), "the answered one stays on screen and is counted no more");
    }

    #[test]
    fn a_row_that_sleeps_until_it_changes_wakes_when_it_does() {
        let mut inbox = FeedInbox::new(&Policy::default());
        let asleep = Snooze { until: None, changed_at: Some(NOW.to_string()) };
        inbox.snooze(HashMap::from([("t/a".to_owned(), asleep)]));
        inbox.put("t", vec![row("t/a", 0)], |_| None, Instant::now());
        let long_after = NOW.plus(Duration::from_secs(86_400 * 30));
        assert_eq!(
            (inbox.figures(long_after).items, inbox.figures(long_after).hidden),
            (0, 1),
            "time does not wake it"
        );
        let changed = InboxRow { changed_at: NOW.plus(Duration::from_secs(1)).to_string(), ..row("t/a", 0) };
        inbox.put("t", vec![changed], |_| None, Instant::now());
        assert_eq!((inbox.figures(NOW).items, inbox.figures(NOW).hidden), (1, 0), "its change does");
        let (soon, at) = (NOW.plus(Duration::from_secs(60)), Some(NOW.to_string()));
        let both = Snooze { until: Some(soon.to_string()), changed_at: at };
        inbox.snooze(HashMap::from([("t/b".to_owned(), both)]));
        inbox.put("t", vec![row("t/b", 0)], |_| None, Instant::now());
        assert_eq!((inbox.figures(NOW).hidden, inbox.figures(soon).hidden), (1, 0), "or its time, where it has both");
    }

    #[test]
    fn calls_that_were_lost_together_come_and_go_as_one_item() {
        let mut inbox = FeedInbox::new(&Policy::default());
        let lost = |task: &str| loss::testing::lost(task, NOW);
        for task in ["a", "b", "c"] {
            inbox.put(task, vec![lost(task)], |_| None, Instant::now());
        }
        let rows = inbox.all();
        assert_eq!(rows.iter().map(|row| row.call_count).collect::<Vec<_>>(), [3]);
        assert_eq!(inbox.figures(NOW).items, 1, "the figure counts the cause once");
        for task in ["a", "b"] {
            inbox.put(task, Vec::new(), |_| None, Instant::now());
        }
        let told = inbox.take();
        assert!(told.gone.contains(&rows[0].id), "the item of three is gone");
        assert_eq!(told.rows.into_keys().collect::<Vec<_>>(), ["c/unconfirmed"], "what is left stands for itself");
        inbox.put("c", Vec::new(), |_| None, Instant::now());
        assert_eq!(inbox.figures(NOW).items, 0);
    }
}
