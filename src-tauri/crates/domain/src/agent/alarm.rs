//! An alarm: an agent calls the same thing again and again, too often, or with too many calls at once.
//!
//! One alarm stands for one episode, however many calls it has. Whether it only tells people, keeps further calls
//! waiting or cancels open tasks is what a rule says; the engine does it. What makes an episode is in
//! `call_episodes.rs`.

use std::sync::Arc;

use crate::ids::{AgentId, AlarmId, PersonId, ServerId};
use crate::rule::{RuleSource, RunAction};
use crate::server::halt::HaltedWork;
use crate::server::pause::GateVerdict;
use crate::time::Timestamp;

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    /// It makes the same call again and again.
    SameCall,
    /// It makes two calls in turn.
    Alternating,
    /// A tool answers different calls with the same error, again and again.
    SameError,
    /// It makes many calls in a minute.
    CallRate,
    /// It has many calls in flight at once.
    OpenCalls,
}

impl AlarmKind {
    pub const ALL: [Self; 5] = [Self::SameCall, Self::Alternating, Self::SameError, Self::CallRate, Self::OpenCalls];

    /// Its word in JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::SameCall => "sameCall",
            Self::Alternating => "alternating",
            Self::SameError => "sameError",
            Self::CallRate => "callRate",
            Self::OpenCalls => "openCalls",
        }
    }

    /// Reads [`AlarmKind::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Whether an alarm still needs anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmState {
    /// The episode goes on, as far as is known.
    Open,
    /// The agent stopped doing it by itself.
    Ended { at: Timestamp },
    /// A person has seen it.
    Dismissed { at: Timestamp, by: PersonId },
}

impl AlarmState {
    /// The words of all states, in their order.
    pub const WORDS: [&'static str; 3] = ["open", "ended", "dismissed"];

    /// Its word in JSON and the registry.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended { .. } => "ended",
            Self::Dismissed { .. } => "dismissed",
        }
    }
}

/// What a person decides about the calls that wait because of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmDecision {
    /// They are sent, and the episode may go on.
    Send,
    /// They are cancelled; their servers never hear of them.
    Cancel,
}

impl AlarmDecision {
    const ALL: [Self; 2] = [Self::Send, Self::Cancel];

    /// Its word in JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Cancel => "cancel",
        }
    }

    /// Reads [`AlarmDecision::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.word() == word)
    }
}

/// Why an alarm was not dismissed, or nothing was decided about its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AlarmRefused {
    #[error("calls wait because of this alarm; decide first whether they are sent or cancelled")]
    MustDecide,
    #[error("no calls wait because of this alarm")]
    NothingWaits,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalledTool {
    pub server: ServerId,
    /// The server's name for it.
    pub tool: Arc<str>,
}

/// One episode of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAlarm {
    pub id: AlarmId,
    pub agent: AgentId,
    pub kind: AlarmKind,
    /// What it calls; of many tools, the one that it calls most.
    pub called: CalledTool,
    /// The other one of two calls in turn.
    pub other: Option<CalledTool>,
    /// When the first call of the episode came.
    pub since: Timestamp,
    pub raised: Timestamp,
    /// When the last call of the episode came that is counted here.
    pub last: Timestamp,
    /// Calls of the episode; for [`AlarmKind::CallRate`] the most in a minute, for [`AlarmKind::OpenCalls`] the most at
    /// once.
    pub count: u32,
    /// The number that it reached.
    pub limit: u32,
    /// What is done about it.
    pub action: RunAction,
    /// The rule that says so; `None` where none does.
    pub rule: Option<RuleSource>,
    /// What a person decided about the calls that waited.
    pub decision: Option<AlarmDecision>,
    pub state: AlarmState,
}

impl CallAlarm {
    /// Whether nobody has dismissed it.
    #[must_use]
    pub const fn needs_look(&self) -> bool {
        !matches!(self.state, AlarmState::Dismissed { .. })
    }

    /// Whether further calls wait until a person decides. Such an alarm does not end by itself.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.action == RunAction::Ask && self.state == AlarmState::Open
    }

    /// Whether it is about calls like this one: of its tools, or, where it counts all calls, of its agent.
    #[must_use]
    pub fn covers(&self, call: HaltedWork<'_>) -> bool {
        let is_named = |named: &CalledTool| named.server == call.server && call.tool == Some(&*named.tool);
        let is_about = match self.kind {
            AlarmKind::CallRate | AlarmKind::OpenCalls => true,
            AlarmKind::SameCall | AlarmKind::Alternating | AlarmKind::SameError => {
                is_named(&self.called) || self.other.as_ref().is_some_and(is_named)
            }
        };
        call.agent == Some(self.agent) && is_about
    }

    /// What it means for a call that waits since then.
    #[must_use]
    pub fn verdict(&self, call: HaltedWork<'_>, since: Timestamp) -> GateVerdict {
        match (&self.state, self.decision) {
            _ if !self.covers(call) => GateVerdict::Leaves,
            (AlarmState::Open, _) if self.asks() => GateVerdict::Waits,
            (AlarmState::Dismissed { at, by }, Some(AlarmDecision::Cancel)) if self.raised <= since && since <= *at => {
                GateVerdict::LeftOut(by.clone())
            }
            (AlarmState::Open | AlarmState::Ended { .. } | AlarmState::Dismissed { .. }, _) => GateVerdict::Leaves,
        }
    }

    /// The same alarm after a person has decided about the calls that wait; `None` when none wait because of it.
    /// Whoever decides has seen it.
    #[must_use]
    pub fn decided(&self, decision: AlarmDecision, by: PersonId, at: Timestamp) -> Option<Self> {
        let state = AlarmState::Dismissed { at, by };
        self.asks().then(|| Self { state, decision: Some(decision), ..self.clone() })
    }

    /// The same alarm with what was counted since, when that is worth a commit: twice as many calls as before.
    #[must_use]
    pub fn grown(&self, count: u32, last: Timestamp) -> Option<Self> {
        let is_open = self.state == AlarmState::Open;
        (is_open && count >= self.count.saturating_mul(2)).then(|| self.counted(count, last))
    }

    /// The same alarm after the episode; `None` when it is over already, or asks.
    #[must_use]
    pub fn ended(&self, count: u32, last: Timestamp, at: Timestamp) -> Option<Self> {
        let is_open = self.state == AlarmState::Open && !self.asks();
        is_open.then(|| Self { state: AlarmState::Ended { at }, ..self.counted(count, last) })
    }

    /// The same alarm after a person has seen it; `None` when one has already.
    #[must_use]
    pub fn dismissed(&self, by: PersonId, at: Timestamp) -> Option<Self> {
        self.needs_look().then(|| Self { state: AlarmState::Dismissed { at, by }, ..self.clone() })
    }

    /// Counts never go back, nor does the time of the last call.
    fn counted(&self, count: u32, last: Timestamp) -> Self {
        Self { count: count.max(self.count), last: last.max(self.last), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_000);

    fn alarm() -> CallAlarm {
        CallAlarm {
            id: AlarmId::from_random(1),
            agent: AgentId::from_random(2),
            kind: AlarmKind::SameCall,
            called: CalledTool { server: ServerId::from_random(3), tool: "search".into() },
            other: None,
            since: AT,
            raised: AT,
            last: AT,
            count: 10,
            limit: 10,
            action: RunAction::Warn,
            rule: None,
            decision: None,
            state: AlarmState::Open,
        }
    }

    #[test]
    fn every_word_of_an_alarm_reads_back() {
        for kind in AlarmKind::ALL {
            assert_eq!(AlarmKind::from_word(kind.word()), Some(kind));
        }
        assert_eq!(AlarmKind::from_word("loop"), None);
        for decision in [AlarmDecision::Send, AlarmDecision::Cancel] {
            assert_eq!(AlarmDecision::from_word(decision.word()), Some(decision));
        }
    }

    #[test]
    fn an_alarm_is_stored_anew_only_when_its_calls_have_doubled() {
        let later = Timestamp::from_millis(2_000);
        assert_eq!(alarm().grown(19, later), None, "a call more is no news");
        let grown = alarm().grown(20, later).expect("twice as many are");
        assert_eq!((grown.count, grown.last, grown.grown(39, later)), (20, later, None));
    }

    #[test]
    fn an_alarm_is_dismissed_once_and_an_ended_one_still_can_be() {
        let ada = PersonId::new("ada");
        let ended = alarm().ended(12, AT, AT).expect("it ends");
        assert_eq!(ended.ended(13, AT, AT), None, "once");
        let dismissed = ended.dismissed(ada.clone(), AT).expect("a person may still see it");
        assert_eq!(dismissed.count, 12, "with what was counted");
        assert_eq!(dismissed.dismissed(ada, AT), None, "once");
        assert_eq!((dismissed.ended(14, AT, AT), dismissed.grown(99, AT)), (None, None), "and nothing is added to it");
    }

    #[test]
    fn an_alarm_that_asks_keeps_calls_like_its_own_until_a_person_decides() {
        let asks = CallAlarm { action: RunAction::Ask, ..alarm() };
        let work = |agent, tool| HaltedWork { server: ServerId::from_random(3), agent: Some(agent), tool: Some(tool) };
        let (mine, other) = (asks.agent, AgentId::from_random(9));
        assert_eq!(asks.ended(12, AT, AT), None, "it does not end by itself");
        for (why, alarm, call, expected) in [
            ("calls like it wait", &asks, work(mine, "search"), GateVerdict::Waits),
            ("another tool's do not", &asks, work(mine, "read"), GateVerdict::Leaves),
            ("nor another agent's", &asks, work(other, "search"), GateVerdict::Leaves),
            ("a warning keeps none", &alarm(), work(mine, "search"), GateVerdict::Leaves),
            (
                "all of the agent wait where all are counted",
                &CallAlarm { kind: AlarmKind::CallRate, ..asks.clone() },
                work(mine, "read"),
                GateVerdict::Waits,
            ),
        ] {
            assert_eq!(alarm.verdict(call, AT), expected, "{why}");
        }
        let later = Timestamp::from_millis(5_000);
        let ada = PersonId::new("ada");
        let sent = asks.decided(AlarmDecision::Send, ada.clone(), later).expect("it asked");
        assert_eq!(sent.verdict(work(mine, "search"), AT), GateVerdict::Leaves);
        assert!(!sent.needs_look() && sent.decided(AlarmDecision::Cancel, ada.clone(), later).is_none(), "once");
        let cancelled = asks.decided(AlarmDecision::Cancel, ada.clone(), later).expect("it asked");
        assert_eq!(cancelled.verdict(work(mine, "search"), AT), GateVerdict::LeftOut(ada.clone()));
        let after = Timestamp::from_millis(6_000);
        assert_eq!(cancelled.verdict(work(mine, "search"), after), GateVerdict::Leaves, "a call of after the decision");
        assert_eq!(alarm().decided(AlarmDecision::Send, ada, later), None, "none wait at a warning");
    }
}
