//! How many tasks of each kind there are (in all, per agent, per server), and how many items are in the inbox.
//!
//! `domain::task::figures` defines what a figure counts; window, tray and command line show these and count nothing themselves.
//! Figures count tasks, [`InboxFigures`] items: a task with two questions is one task and two items.

use std::collections::BTreeMap;

use domain::task::figures::{Figure, Figures, TaskTally};
use domain::task::status::{Phase, PhaseGroup};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Numbers of tasks; a task may be counted in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskFigures {
    /// Every task that is kept and not hidden.
    pub all: u64,
    pub open: u64,
    /// A person has to act on it: asked, in trouble, past a limit that asks, or its result is held.
    pub needs_you: u64,
    /// The server works on it, and nobody asked it to end.
    pub working: u64,
    /// The server was asked to end it.
    pub cancelling: u64,
    /// Nothing is heard of it, and nobody can do anything.
    pub no_news: u64,
    /// Later than agreed or usual.
    pub late: u64,
    /// Its agent is gone, and it is not over.
    pub gone: u64,
    /// Its result is there and waits for a person.
    pub held: u64,
    /// Over, and nobody has to act on it.
    pub finished: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Hidden by a person: counted in no other figure.
    #[serde(default)]
    pub hidden: u64,
}

impl TaskFigures {
    /// The figures of these tasks.
    pub(crate) fn of<'a>(tallies: impl IntoIterator<Item = &'a TaskTally>) -> Self {
        Self::from(&Figures::of(tallies))
    }
}

impl From<&Figures> for TaskFigures {
    fn from(figures: &Figures) -> Self {
        Self {
            all: figures.count(Figure::All),
            open: figures.count(Figure::Open),
            needs_you: figures.count(Figure::NeedsYou),
            working: figures.count(Figure::Working),
            cancelling: figures.count(Figure::Cancelling),
            no_news: figures.count(Figure::NoNews),
            late: figures.count(Figure::Late),
            gone: figures.count(Figure::Gone),
            held: figures.count(Figure::Held),
            finished: figures.count(Figure::Finished),
            failed: figures.count(Figure::Failed),
            hidden: figures.count(Figure::Hidden),
        }
    }
}

/// What lies in the inbox of this person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxFigures {
    /// Items that are neither answered nor hidden.
    pub items: u64,
    /// Items that the person hid for a while.
    pub hidden: u64,
    /// Questions that servers ask besides; they become items as others are answered.
    pub more_questions: u64,
}

/// How many tasks there are, and how much lies in the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Numbers of tasks.
    pub figures: TaskFigures,
    /// What lies in the inbox.
    pub inbox: InboxFigures,
    /// By phase; phases without tasks are left out.
    #[ts(type = "Partial<Record<Phase, number>>")]
    pub by_phase: BTreeMap<String, u64>,
    /// By who has to act: the sections of the task list.
    #[ts(type = "Record<PhaseGroup, number>")]
    pub by_group: BTreeMap<String, u64>,
}

impl Totals {
    /// The totals of all tasks.
    pub(crate) fn of(tallies: &[TaskTally], inbox: InboxFigures) -> Self {
        let figures = Figures::of(tallies);
        let phases = Phase::ALL.into_iter().map(|phase| (phase.word().to_owned(), figures.in_phase(phase)));
        let groups = PhaseGroup::ALL.into_iter().map(|group| (group.word().to_owned(), figures.in_group(group)));
        Self {
            figures: TaskFigures::from(&figures),
            inbox,
            by_phase: phases.filter(|(_, tasks)| *tasks > 0).collect(),
            by_group: groups.collect(),
        }
    }
}
