//! A plan: the exact tasks that somebody wants to end at once, and the operation that asks each of them.
//!
//! The tasks are fixed when the plan is made; what became of each is read from the task itself. Nothing is asked here:
//! the engine works through the plan, and the registry keeps how far it came.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::{HandleId, OperationId, PlanId};
use crate::task::TaskHandle;
use crate::task::decider::Decider;
use crate::task::status::{CancelState, Contact, GoneWhy};
use crate::time::Timestamp;

/// What an operation does with each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BulkAct {
    /// Its server is asked to cancel it.
    Cancel,
    /// Besides, its handle is taken from its agent.
    Revoke,
}

impl BulkAct {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Revoke => "revoke",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Cancel, Self::Revoke].into_iter().find(|act| act.word() == word)
    }
}

/// Tasks chosen at one moment, for one operation at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkPlan {
    pub id: PlanId,
    pub act: BulkAct,
    /// Who chose them.
    pub by: Decider,
    /// How they were chosen, in words; no text that was searched for.
    pub filter: String,
    /// Each once, in the order in which they are asked.
    pub tasks: Arc<[HandleId]>,
    pub created: Timestamp,
    /// It cannot be run from then on.
    pub expires: Timestamp,
    /// `None` until it is run.
    pub operation: Option<BulkOperation>,
}

/// The run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkOperation {
    pub id: OperationId,
    pub by: Decider,
    pub reason: Option<String>,
    pub begun: Timestamp,
    /// Tasks before this place were asked, or left out.
    pub next_index: usize,
    /// Tasks that were not asked, by place, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// When it ended; `None` while it runs, also over a restart.
    pub ended: Option<Timestamp>,
    /// Why it ended before the last task.
    pub cut_short: Option<String>,
}

/// A task that an operation did not ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub task: HandleId,
    pub why: String,
}

/// Why a plan is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    #[error("the plan was run before, as {0}")]
    Run(OperationId),
    #[error("the plan has expired")]
    Expired,
    #[error("every task of the plan has ended meanwhile")]
    NothingLeft,
}

/// What an operation did with one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It was asked, now or by somebody before.
    Asked,
    /// It was not, for this reason.
    LeftOut(String),
}

impl BulkPlan {
    /// The plan with its operation begun.
    ///
    /// # Errors
    /// When it was run before or has expired. After the clock was set back, nobody knows how old it is.
    pub fn begun(&self, operation: BulkOperation, now: Timestamp) -> Result<Self, PlanRefused> {
        if let Some(known) = &self.operation {
            return Err(PlanRefused::Run(known.id));
        }
        if now >= self.expires || now < self.created {
            return Err(PlanRefused::Expired);
        }
        Ok(Self { operation: Some(operation), ..self.clone() })
    }

    /// The tasks that are asked next, at most so many; empty when all were.
    #[must_use]
    pub fn next_tasks(&self, most: usize) -> &[HandleId] {
        let from = self.operation.as_ref().map_or(0, |operation| operation.next_index).min(self.tasks.len());
        let upto = from.saturating_add(most).min(self.tasks.len());
        self.tasks.get(from..upto).unwrap_or_default()
    }

    /// What was done with its tasks, when its operation has ended: how many were asked, and why the others were not.
    #[must_use]
    pub fn end_words(&self) -> String {
        let Some(operation) = &self.operation else { return "no task asked to end".to_owned() };
        let (all, asked, over) = (self.tasks.len(), operation.asked(), operation.left_out.len());
        let tasks = if all == 1 { "task" } else { "tasks" };
        let mut words = format!("{asked} of {all} {tasks} asked to end");
        match over {
            0 => {}
            1 => words.push_str(", 1 was over before its turn"),
            over => words.push_str(&format!(", {over} were over before their turn")),
        }
        let left = all.saturating_sub(operation.next_index);
        if left > 0 {
            let why = operation.cut_short.as_deref().unwrap_or("the operation ended before");
            words.push_str(&format!(", {left} not asked because {why}"));
        }
        words
    }

    /// Whether its operation has work left.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.ended.is_none())
    }

    /// Until when it is of use: until it expires when it was never run, and for a while after its operation ended.
    #[must_use]
    pub fn kept_until(&self, kept: Duration) -> Option<Timestamp> {
        match &self.operation {
            None => Some(self.expires),
            Some(operation) => operation.ended.map(|ended| ended.plus(kept)),
        }
    }
}

impl BulkOperation {
    /// Notes what was done with the next tasks, in their order.
    pub fn note(&mut self, done: impl IntoIterator<Item = (HandleId, Asked)>) {
        for (task, asked) in done {
            self.next_index += 1;
            if let Asked::LeftOut(why) = asked {
                self.left_out.push(LeftOut { task, why });
            }
        }
    }

    /// How many tasks were asked so far.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.next_index.saturating_sub(self.left_out.len())
    }
}

/// What became of one task of an operation, by what was observed and by nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BulkResult {
    /// Its turn has not come, or never will because the operation was cut short.
    NotAsked,
    /// A cancel is recorded, and the server has not said anything yet.
    Asked,
    /// The server acknowledged the cancel.
    Acknowledged,
    /// The server said that it is cancelled, a person ended its process, or nothing of it ran there.
    Stopped,
    /// The server said that it ended in another way.
    FinishedAnyway,
    /// Nobody knows whether it ended: refused, not reached, lost, or no word in time.
    NotConfirmed,
    /// It was over before its turn came, so nothing was asked.
    EndedMeanwhile,
}

impl BulkResult {
    /// Whether a server may still say more soon.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::NotAsked | Self::Asked | Self::Acknowledged)
    }
}

impl TaskHandle {
    /// What became of it in an operation that asked it to cancel. A cancel of which nothing was heard for `confirm_within`
    /// is not confirmed.
    #[must_use]
    pub fn bulk_result(&self, now: Timestamp, confirm_within: Duration) -> BulkResult {
        if let Contact::Gone { why, .. } = &self.contact {
            let by_person = matches!(why, GoneWhy::EndedByPerson { .. });
            return if by_person { BulkResult::Stopped } else { BulkResult::NotConfirmed };
        }
        let late = self.cancel_request().is_none_or(|cancel| now >= cancel.silent_since().plus(confirm_within));
        match self.stop_state() {
            Some(CancelState::Stopped | CancelState::EndedHere) => BulkResult::Stopped,
            Some(CancelState::FinishedAnyway) => BulkResult::FinishedAnyway,
            Some(CancelState::Refused) | None => BulkResult::NotConfirmed,
            Some(CancelState::Asked | CancelState::Acknowledged) if late => BulkResult::NotConfirmed,
            Some(CancelState::Asked) => BulkResult::Asked,
            Some(CancelState::Acknowledged) => BulkResult::Acknowledged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PersonId;

    fn plan(tasks: u128) -> BulkPlan {
        BulkPlan {
            id: PlanId::from_random(1),
            act: BulkAct::Cancel,
            by: Decider::Person(PersonId::new("ada")),
            filter: "all open tasks".into(),
            tasks: (0..tasks).map(HandleId::from_random).collect(),
            created: Timestamp::from_millis(1),
            expires: Timestamp::from_millis(100),
            operation: None,
        }
    }

    fn operation() -> BulkOperation {
        BulkOperation {
            id: OperationId::from_random(2),
            by: Decider::Person(PersonId::new("bob")),
            reason: None,
            begun: Timestamp::from_millis(1),
            next_index: 0,
            left_out: Vec::new(),
            ended: None,
            cut_short: None,
        }
    }

    #[test]
    fn a_plan_is_run_once_and_in_time() {
        let plan = plan(3);
        let begun = plan.begun(operation(), Timestamp::from_millis(99)).expect("in time");
        let again = begun.begun(operation(), Timestamp::from_millis(99));
        assert_eq!(again, Err(PlanRefused::Run(OperationId::from_random(2))), "once");
        for (moment, why) in [(100, "its time is over"), (0, "the clock was set back")] {
            assert_eq!(plan.begun(operation(), Timestamp::from_millis(moment)), Err(PlanRefused::Expired), "{why}");
        }
        assert_eq!(plan.kept_until(Duration::from_secs(9)), Some(plan.expires), "it is of no use after that");
        assert_eq!(begun.kept_until(Duration::from_secs(9)), None, "a run is kept until it ends");
    }

    #[test]
    fn an_operation_goes_on_where_it_was() {
        let mut plan = plan(5).begun(operation(), Timestamp::from_millis(1)).expect("in time");
        let first: Vec<HandleId> = plan.next_tasks(2).to_vec();
        assert_eq!(first, plan.tasks[..2]);
        let operation = plan.operation.as_mut().expect("begun");
        operation.note([(first[0], Asked::Asked), (first[1], Asked::LeftOut("it ended meanwhile".into()))]);
        assert_eq!((operation.next_index, operation.asked()), (2, 1));
        assert_eq!(plan.next_tasks(64), &plan.tasks[2..], "the rest follows");
    }

    #[test]
    fn an_operation_that_was_cut_short_says_how_many_tasks_were_not_asked_and_why() {
        let mut plan = plan(7).begun(operation(), Timestamp::from_millis(1)).expect("in time");
        let tasks = plan.tasks.to_vec();
        let operation = plan.operation.as_mut().expect("begun");
        operation.note(tasks[..4].iter().map(|task| (*task, Asked::Asked)));
        operation.note([(tasks[4], Asked::LeftOut("it ended meanwhile".into()))]);
        operation.cut_short = Some("its control token was revoked".into());
        assert_eq!(
            plan.end_words(),
            "4 of 7 tasks asked to end, 1 was over before its turn, 2 not asked because its control token was revoked"
        );
        let operation = plan.operation.as_mut().expect("begun");
        operation.cut_short = None;
        operation.note(tasks[5..].iter().map(|task| (*task, Asked::Asked)));
        assert_eq!(plan.end_words(), "6 of 7 tasks asked to end, 1 was over before its turn");
    }
}
