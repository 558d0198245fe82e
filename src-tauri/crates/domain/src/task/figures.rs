//! Figures: how many tasks there are of each kind, each defined once, for the window, the tray and the command line.
//!
//! A figure is a predicate over [`CountedState`], which a registry keeps in indexed columns, so that counting reads no
//! task. Figures count tasks; the inbox counts items, because a task with two questions is one task and two items.
//! Which word a screen uses for a figure is not decided here.

use std::collections::BTreeMap;

use crate::ids::{AgentId, ServerId};
use crate::task::TaskHandle;
use crate::task::status::{Phase, PhaseGroup};
use crate::time::Timestamp;

/// What all figures of a task follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountedState {
    /// The phase as it was committed.
    pub phase: Phase,
    /// Its phase says otherwise whether a person has to act. Somebody has: a result is held, the task asks whether it may
    /// continue past its limit, or it has an open question while it is not *waiting*. Or nobody has: it is lost because
    /// a person ended its server, or it waits because a person paused it.
    pub is_exception: bool,
    /// Its agent is gone, and it is not over.
    pub is_orphaned: bool,
}

impl CountedState {
    /// The state of a task whose phase is this at this moment.
    #[must_use]
    pub fn of(task: &TaskHandle, phase: Phase, now: Timestamp) -> Self {
        let is_exception = match phase.group() {
            PhaseGroup::NeedsYou => task.is_settled_wait(phase),
            PhaseGroup::Finished => task.is_held(),
            PhaseGroup::Moving | PhaseGroup::NoNews => {
                task.asks_at_limit() || (phase.asks_people() && task.has_request_for_people(now))
            }
        };
        Self { phase, is_exception, is_orphaned: task.is_orphaned() }
    }

    /// Whether a person has to act on it.
    #[must_use]
    pub const fn needs_you(self) -> bool {
        matches!(self.group(), PhaseGroup::NeedsYou)
    }

    /// Whether a person may hide it from lists: nothing more comes of it, and nobody has to act on it.
    #[must_use]
    pub const fn may_be_hidden(self) -> bool {
        self.phase.is_over() && !self.needs_you()
    }

    /// Who has to act: its section of the task list.
    #[must_use]
    pub const fn group(self) -> PhaseGroup {
        match (self.is_exception, self.phase.group()) {
            (false, group) => group,
            // It waits because somebody paused it, and goes on when that ends.
            (true, PhaseGroup::NeedsYou) if matches!(self.phase, Phase::Waiting) => PhaseGroup::Moving,
            (true, PhaseGroup::NeedsYou) => PhaseGroup::Finished,
            (true, PhaseGroup::Moving | PhaseGroup::NoNews | PhaseGroup::Finished) => PhaseGroup::NeedsYou,
        }
    }
}

/// A kind of tasks whose number people see. A task may be of several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Figure {
    /// Every task that is kept and not hidden.
    All,
    /// Not over: something may still come of it on its server.
    Open,
    /// A person has to act on it: the first section of the task list.
    NeedsYou,
    /// The server works on it, and nobody asked it to end.
    Working,
    /// A person or its agent asked the server to end it.
    Cancelling,
    /// There is no news of it, and nobody can do anything: the third section of the task list.
    NoNews,
    /// Later than agreed or usual.
    Late,
    /// Its agent is gone, and it is not over.
    Gone,
    /// Its result is there, and its agent does not get it until a person decides.
    Held,
    /// Over, and nobody has to act on it: the last section of the task list.
    Finished,
    /// Ended with an error, whoever says so. A part of these may be held.
    Failed,
    /// A person hid it from lists. It counts in no other figure, so that figures and lists agree.
    Hidden,
}

impl Figure {
    pub const ALL: [Self; 12] = [
        Self::All,
        Self::Open,
        Self::NeedsYou,
        Self::Working,
        Self::Cancelling,
        Self::NoNews,
        Self::Late,
        Self::Gone,
        Self::Held,
        Self::Finished,
        Self::Failed,
        Self::Hidden,
    ];

    /// Whether a task in this state is counted, if nobody hid it.
    #[must_use]
    pub const fn counts(self, state: CountedState) -> bool {
        let CountedState { phase, is_exception, is_orphaned } = state;
        match self {
            Self::All => true,
            Self::Open => !phase.is_over(),
            Self::NeedsYou => state.needs_you(),
            Self::Working => matches!(phase, Phase::Running | Phase::Answering),
            Self::Cancelling => matches!(phase, Phase::Cancelling),
            Self::NoNews => matches!(state.group(), PhaseGroup::NoNews),
            Self::Late => matches!(phase, Phase::Overdue),
            Self::Gone => is_orphaned,
            Self::Held => is_exception && matches!(phase.group(), PhaseGroup::Finished),
            Self::Finished => matches!(state.group(), PhaseGroup::Finished),
            Self::Failed => matches!(phase, Phase::Failed | Phase::DoneWithError),
            Self::Hidden => false,
        }
    }
}

/// Tasks of one agent on one server that are in the same state, and how many they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTally {
    pub server: ServerId,
    pub agent: Option<AgentId>,
    /// What their figures follow from.
    pub state: CountedState,
    /// Whether a person hid them from lists.
    pub is_hidden: bool,
    /// How many they are.
    pub tasks: u64,
}

/// All figures of some tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    by_figure: BTreeMap<Figure, u64>,
    by_phase: BTreeMap<Phase, u64>,
    by_group: BTreeMap<PhaseGroup, u64>,
}

impl Figures {
    /// The figures of these tasks.
    #[must_use]
    pub fn of<'a>(tallies: impl IntoIterator<Item = &'a TaskTally>) -> Self {
        let mut figures = Self::default();
        for tally in tallies {
            if tally.is_hidden {
                add(figures.by_figure.entry(Figure::Hidden).or_default(), tally.tasks);
                continue;
            }
            for figure in Figure::ALL.into_iter().filter(|figure| figure.counts(tally.state)) {
                add(figures.by_figure.entry(figure).or_default(), tally.tasks);
            }
            add(figures.by_phase.entry(tally.state.phase).or_default(), tally.tasks);
            add(figures.by_group.entry(tally.state.group()).or_default(), tally.tasks);
        }
        figures
    }

    /// The number of tasks of this sort.
    #[must_use]
    pub fn count(&self, figure: Figure) -> u64 {
        self.by_figure.get(&figure).copied().unwrap_or_default()
    }

    /// The number of tasks in this phase.
    #[must_use]
    pub fn in_phase(&self, phase: Phase) -> u64 {
        self.by_phase.get(&phase).copied().unwrap_or_default()
    }

    /// The number of tasks in this section of the task list.
    #[must_use]
    pub fn in_group(&self, group: PhaseGroup) -> u64 {
        self.by_group.get(&group).copied().unwrap_or_default()
    }
}

fn add(sum: &mut u64, tasks: u64) {
    *sum = sum.saturating_add(tasks);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> impl Iterator<Item = CountedState> {
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        Phase::ALL.into_iter().flat_map(move |phase| {
            flags.map(|(is_exception, is_orphaned)| CountedState { phase, is_exception, is_orphaned })
        })
    }

    #[test]
    fn a_figure_that_shares_its_word_with_a_section_of_the_list_counts_that_section() {
        for state in states() {
            for (figure, group) in [
                (Figure::NeedsYou, PhaseGroup::NeedsYou),
                (Figure::NoNews, PhaseGroup::NoNews),
                (Figure::Finished, PhaseGroup::Finished),
            ] {
                assert_eq!(figure.counts(state), state.group() == group, "{figure:?} of {state:?}");
            }
        }
    }

    #[test]
    fn a_held_result_needs_you_and_is_no_longer_told_as_finished() {
        let held = CountedState { phase: Phase::Done, is_exception: true, is_orphaned: false };
        for (figure, counted) in [(Figure::Held, true), (Figure::NeedsYou, true), (Figure::Finished, false)] {
            assert_eq!(figure.counts(held), counted, "{figure:?}");
        }
        assert!(!Figure::Open.counts(held), "its server has nothing more to do");
    }

    #[test]
    fn what_may_be_hidden_is_over_and_needs_nobody() {
        let may = |phase, is_exception| CountedState { phase, is_exception, is_orphaned: false }.may_be_hidden();
        for phase in [Phase::Done, Phase::DoneWithError, Phase::Failed, Phase::Cancelled, Phase::Expired] {
            assert!(may(phase, false), "{phase:?}");
        }
        assert!(may(Phase::Unwatched, false), "marked as resolved");
        assert!(may(Phase::Lost, true), "lost because a person ended its server");
        for (phase, is_exception) in
            [(Phase::Lost, false), (Phase::Done, true), (Phase::Running, false), (Phase::Silent, false)]
        {
            assert!(!may(phase, is_exception), "{phase:?}, {is_exception}");
        }
    }

    #[test]
    fn a_hidden_task_counts_as_hidden_and_nowhere_else() {
        let state = CountedState { phase: Phase::Failed, is_exception: false, is_orphaned: false };
        let tally = TaskTally { server: ServerId::from_random(1), agent: None, state, is_hidden: true, tasks: 3 };
        let figures = Figures::of([&tally]);
        for figure in Figure::ALL {
            assert_eq!(figures.count(figure), if figure == Figure::Hidden { 3 } else { 0 }, "{figure:?}");
        }
        assert_eq!((figures.in_phase(Phase::Failed), figures.in_group(PhaseGroup::Finished)), (0, 0));
    }

    #[test]
    fn every_task_stands_in_one_section_and_sections_sum_to_all() {
        let tally = |(at, state): (usize, CountedState)| TaskTally {
            server: ServerId::from_random(1),
            agent: None,
            state,
            is_hidden: false,
            tasks: at as u64 + 1,
        };
        let tallies: Vec<TaskTally> = states().enumerate().map(tally).collect();
        let figures = Figures::of(&tallies);
        let sections: u64 = PhaseGroup::ALL.into_iter().map(|group| figures.in_group(group)).sum();
        let phases: u64 = Phase::ALL.into_iter().map(|phase| figures.in_phase(phase)).sum();
        assert_eq!((sections, phases), (figures.count(Figure::All), figures.count(Figure::All)));
    }
}
