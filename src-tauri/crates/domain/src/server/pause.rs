//! A pause: one agent whose new calls wait, or one local server whose processes are frozen, until a person ends it.
//!
//! It says which calls wait and which of them leave when it ends; the engine obeys and the registry keeps it. A call that
//! left before is not touched by it, and no task is changed here.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ids::{AgentId, HandleId, PauseId, PersonId, ServerId};
use crate::server::halt::{HaltedBy, HaltedWork};
use crate::time::Timestamp;

/// What is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PauseSubject {
    /// New calls of this agent wait.
    Agent(AgentId),
    /// The processes of this local server are frozen, and new calls to it wait.
    Server(ServerId),
}

impl PauseSubject {
    #[must_use]
    pub fn covers(self, work: HaltedWork<'_>) -> bool {
        match self {
            Self::Agent(id) => work.agent == Some(id),
            Self::Server(id) => work.server == id,
        }
    }
}

/// Which of the calls that waited are sent when the pause ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendWaiting {
    All,
    /// These alone; the others are cancelled.
    Only(BTreeSet<HandleId>),
}

impl SendWaiting {
    fn includes(&self, call: HandleId) -> bool {
        match self {
            Self::All => true,
            Self::Only(chosen) => chosen.contains(&call),
        }
    }
}

/// How a pause ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseEnd {
    pub at: Timestamp,
    /// Only people end a pause.
    pub by: PersonId,
    pub send: SendWaiting,
}

/// One pause, from its beginning until it is forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub id: PauseId,
    pub subject: PauseSubject,
    pub by: HaltedBy,
    pub at: Timestamp,
    /// In the words of whoever paused; may be empty.
    pub reason: String,
    /// Results that arrive for the agent meanwhile are held until a person decides.
    pub holds_results: bool,
    /// `None` while it is in force.
    pub ended: Option<PauseEnd>,
}

/// Why a pause was not begun or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PauseRefused {
    #[error("it is paused already, since {0}")]
    AlreadyPaused(Timestamp),
    #[error("it is not paused")]
    NotPaused,
    /// Whoever ends it must say which of the waiting calls are sent.
    #[error(
        "{waiting} {} since the pause began at {since}; choose which of them are sent",
        if *waiting == 1 { "call waits" } else { "calls wait" }
    )]
    MustChoose { waiting: usize, since: Timestamp },
    #[error("the task {0} does not wait for this pause to end")]
    NotWaiting(HandleId),
    /// No call of it can come, so none could wait.
    #[error("the agent has no access any more, so there is nothing to pause")]
    AgentRevoked,
    #[error("the server does not run on this machine, so its processes cannot be frozen")]
    RunsElsewhere,
    #[error("processes cannot be frozen on this system")]
    CannotFreeze,
}

impl Pause {
    #[must_use]
    pub const fn is_in_force(&self) -> bool {
        self.ended.is_none()
    }

    /// From when on whoever ends it must have seen which calls wait: people forget why calls were made.
    #[must_use]
    pub fn choice_due(&self, after: Duration) -> Timestamp {
        self.at.plus(after)
    }

    /// Whether whoever ends it now must have seen which calls wait.
    #[must_use]
    pub fn needs_choice(&self, now: Timestamp, after: Duration) -> bool {
        now >= self.choice_due(after)
    }

    /// The pause, ended.
    ///
    /// # Errors
    /// When it has ended before.
    pub fn end(&self, end: PauseEnd) -> Result<Self, PauseRefused> {
        match self.ended {
            None => Ok(Self { ended: Some(end), ..self.clone() }),
            Some(_) => Err(PauseRefused::NotPaused),
        }
    }
}

/// What happens to a call that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateVerdict {
    /// A pause in force covers it.
    Waits,
    Leaves,
    /// This person ended its pause without choosing it.
    LeftOut(PersonId),
}

/// What happens to this call, which waits since then. A choice stands even while another pause covers the call.
#[must_use]
pub fn verdict<'a>(
    pauses: impl IntoIterator<Item = &'a Pause>,
    call: HandleId,
    work: HaltedWork<'_>,
    since: Timestamp,
) -> GateVerdict {
    let mut waits = false;
    for pause in pauses.into_iter().filter(|pause| pause.subject.covers(work)) {
        match &pause.ended {
            None => waits = true,
            Some(end) if end.at >= since && pause.at <= since && !end.send.includes(call) => {
                return GateVerdict::LeftOut(end.by.clone());
            }
            Some(_) => {}
        }
    }
    if waits { GateVerdict::Waits } else { GateVerdict::Leaves }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn pause(subject: PauseSubject, begun: i64) -> Pause {
        Pause {
            id: PauseId::from_random(1),
            subject,
            by: HaltedBy::Person(PersonId::new("ada")),
            at: at(begun),
            reason: String::new(),
            holds_results: false,
            ended: None,
        }
    }

    fn ended(subject: PauseSubject, begun: i64, over: i64, send: SendWaiting) -> Pause {
        let end = PauseEnd { at: at(over), by: PersonId::new("bob"), send };
        pause(subject, begun).end(end).expect("it was in force")
    }

    #[test]
    fn a_call_leaves_when_no_pause_covers_it_and_nobody_left_it_out() {
        let (agent, other) = (AgentId::from_random(1), AgentId::from_random(2));
        let server = ServerId::from_random(3);
        let (call, sibling) = (HandleId::from_random(4), HandleId::from_random(5));
        let work = HaltedWork { server, agent: Some(agent), tool: None };
        let (of_agent, of_server) = (PauseSubject::Agent(agent), PauseSubject::Server(server));
        let only = |id| SendWaiting::Only(BTreeSet::from([id]));
        let left_out = GateVerdict::LeftOut(PersonId::new("bob"));
        for (why, pauses, expected) in [
            ("nothing is paused", vec![], GateVerdict::Leaves),
            ("another agent is", vec![pause(PauseSubject::Agent(other), 1)], GateVerdict::Leaves),
            ("its agent is", vec![pause(of_agent, 1)], GateVerdict::Waits),
            ("its server is frozen", vec![pause(of_server, 1)], GateVerdict::Waits),
            (
                "one of two ended",
                vec![pause(of_server, 1), ended(of_agent, 1, 9, SendWaiting::All)],
                GateVerdict::Waits,
            ),
            (
                "both ended",
                vec![ended(of_server, 1, 8, SendWaiting::All), ended(of_agent, 1, 9, SendWaiting::All)],
                GateVerdict::Leaves,
            ),
            ("it was chosen", vec![ended(of_agent, 1, 9, only(call))], GateVerdict::Leaves),
            ("it was not chosen", vec![ended(of_agent, 1, 9, only(sibling))], left_out.clone()),
            ("not chosen, and frozen", vec![pause(of_server, 1), ended(of_agent, 1, 9, only(sibling))], left_out),
            ("an earlier choice", vec![ended(of_agent, 1, 4, only(sibling))], GateVerdict::Leaves),
        ] {
            assert_eq!(verdict(&pauses, call, work, at(5)), expected, "{why}");
        }
    }

    #[test]
    fn after_a_while_whoever_ends_it_must_choose() {
        let paused = pause(PauseSubject::Agent(AgentId::from_random(1)), 1_000);
        let after = Duration::from_secs(2);
        assert!(!paused.needs_choice(at(2_999), after));
        assert!(paused.needs_choice(at(3_000), after));
        let over = ended(paused.subject, 1, 2, SendWaiting::All);
        let again = PauseEnd { at: at(3), by: PersonId::new("ada"), send: SendWaiting::All };
        assert_eq!(over.end(again), Err(PauseRefused::NotPaused), "it ends once");
    }
}
