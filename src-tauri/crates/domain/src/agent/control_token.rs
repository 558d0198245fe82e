//! A control token: what a supervisor program may do, and to whose tasks.
//!
//! Its scopes are closed, and each only makes things safer: there is none to answer, approve, release, resume, lift, raise
//! a limit or change what is configured. Which calls a scope opens is the api's; here is what the token reaches, for how
//! long and how much.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::agent::TokenDigest;
use crate::agent::alarm::{AlarmKind, CallAlarm, CalledTool};
use crate::ids::{AgentId, ControlTokenId, PersonId, ServerId};
use crate::server::halt::HaltSubject;
use crate::task::TaskHandle;
use crate::time::Timestamp;

/// What a control token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlScope {
    /// Read phases, times, names and counts of the tasks in its reach.
    Read,
    /// Ask servers to cancel tasks.
    Cancel,
    /// Take tasks from their agents, which asks to cancel them as well.
    Revoke,
    /// Halt work. Only a person lets it begin again.
    Halt,
    /// Pause agents and freeze local servers. Only a person ends that.
    Pause,
}

impl ControlScope {
    pub const ALL: [Self; 5] = [Self::Read, Self::Cancel, Self::Revoke, Self::Halt, Self::Pause];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Cancel => "cancel",
            Self::Revoke => "revoke",
            Self::Halt => "halt",
            Self::Pause => "pause",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// A tool of a server, by the server's name for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReachedTool {
    pub server: ServerId,
    pub tool: Arc<str>,
}

/// Which tasks a control token reaches. An empty set is no condition; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlReach {
    pub agents: BTreeSet<AgentId>,
    pub servers: BTreeSet<ServerId>,
    pub tools: BTreeSet<ReachedTool>,
    /// Only the tasks of the agent that holds the token.
    pub own_tasks: bool,
}

/// What a supervisor program may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlToken {
    pub id: ControlTokenId,
    /// Two tokens in force never share it.
    pub name: String,
    pub digest: TokenDigest,
    pub scopes: BTreeSet<ControlScope>,
    pub reach: ControlReach,
    /// The agent that holds it. The token does not reach the tasks of that agent, unless `reach.own_tasks` says so.
    pub owner: Option<AgentId>,
    /// Tasks that one call may end.
    pub per_call: u32,
    /// Tasks that it may end in an hour.
    pub per_hour: u32,
    pub needs_reason: bool,
    /// Tasks are ended by a plan only.
    pub needs_plan: bool,
    pub created: Timestamp,
    pub by: PersonId,
    pub until: Option<Timestamp>,
    pub revoked: Option<Timestamp>,
}

/// Why a control token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlTokenEnd {
    /// A person revoked it then.
    Revoked(Timestamp),
    /// Its time was over then.
    TimeOver(Timestamp),
    /// It has a time, and the clock stands before the moment when it was made.
    ClockBehind,
}

impl ControlToken {
    /// What its text begins with.
    pub const PREFIX: &'static str = "twc_";

    /// Why it opens nothing at this moment; `None` while it is in force.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> Option<ControlTokenEnd> {
        match (self.revoked, self.until) {
            (Some(at), _) => Some(ControlTokenEnd::Revoked(at)),
            (None, Some(until)) if now >= until => Some(ControlTokenEnd::TimeOver(until)),
            // The clock was set back, and nobody knows whether its time is over.
            (None, Some(_)) if now < self.created => Some(ControlTokenEnd::ClockBehind),
            (None, _) => None,
        }
    }

    /// Whether it opens anything at this moment.
    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.ended(now).is_none()
    }

    /// Whether this task is in its reach. What is not is the same as what does not exist.
    #[must_use]
    pub fn reaches(&self, task: &TaskHandle) -> bool {
        let ControlReach { agents, servers, tools, own_tasks } = &self.reach;
        let is_own = self.owner.is_some() && task.agent == self.owner;
        is_own == *own_tasks
            && (agents.is_empty() || task.agent.is_some_and(|agent| agents.contains(&agent)))
            && (servers.is_empty() || servers.contains(&task.server))
            && (tools.is_empty()
                || tools.iter().any(|one| one.server == task.server && task.tool.as_deref() == Some(&*one.tool)))
    }

    /// Whether an alarm is about nothing but calls in its reach. One that counts all calls of an agent needs the whole
    /// agent.
    #[must_use]
    pub fn reaches_alarm(&self, alarm: &CallAlarm) -> bool {
        let ControlReach { agents: _, servers, tools, own_tasks: _ } = &self.reach;
        let reaches = |called: &CalledTool| {
            (servers.is_empty() || servers.contains(&called.server))
                && (tools.is_empty()
                    || tools.iter().any(|one| one.server == called.server && *one.tool == *called.tool))
        };
        match alarm.kind {
            AlarmKind::CallRate | AlarmKind::OpenCalls => self.reaches_all_of(&HaltSubject::Agent(alarm.agent)),
            AlarmKind::SameCall | AlarmKind::Alternating | AlarmKind::SameError => {
                self.knows_agent(alarm.agent) && reaches(&alarm.called) && alarm.other.as_ref().is_none_or(reaches)
            }
        }
    }

    /// Whether everything that a halt of this would cover is in its reach.
    #[must_use]
    pub fn reaches_all_of(&self, subject: &HaltSubject) -> bool {
        let ControlReach { agents, servers, tools, own_tasks } = &self.reach;
        // A halt of more than one agent covers tasks of the agent that holds the token.
        let is_free_of_agents = agents.is_empty() && self.owner.is_none() && !own_tasks;
        match subject {
            HaltSubject::Everything => is_free_of_agents && servers.is_empty() && tools.is_empty(),
            HaltSubject::Server(id) => {
                is_free_of_agents && tools.is_empty() && (servers.is_empty() || servers.contains(id))
            }
            HaltSubject::Tool(id, tool) => {
                is_free_of_agents
                    && (servers.is_empty() || servers.contains(id))
                    && (tools.is_empty() || tools.iter().any(|one| one.server == *id && one.tool == *tool))
            }
            HaltSubject::Agent(id) => {
                (self.owner == Some(*id)) == *own_tasks
                    && servers.is_empty()
                    && tools.is_empty()
                    && (agents.is_empty() || agents.contains(id))
            }
        }
    }

    /// Whether it may know that this agent exists.
    #[must_use]
    pub fn knows_agent(&self, id: AgentId) -> bool {
        (self.owner == Some(id)) == self.reach.own_tasks
            && (self.reach.agents.is_empty() || self.reach.agents.contains(&id))
    }

    /// Whether it may know that this server exists.
    #[must_use]
    pub fn knows_server(&self, id: ServerId) -> bool {
        let ControlReach { servers, tools, .. } = &self.reach;
        (servers.is_empty() || servers.contains(&id))
            && (tools.is_empty() || tools.iter().any(|tool| tool.server == id))
    }
}

/// Tasks that a control token ended at one moment, for the limit of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlUse {
    pub token: ControlTokenId,
    pub at: Timestamp,
    pub tasks: u32,
}

/// What is kept of a call that was made with an idempotency key: that it began, then its answer. `Debug` leaves out what was
/// answered.
#[derive(Clone, PartialEq, Eq)]
pub struct ControlAnswer {
    pub token: ControlTokenId,
    pub key: String,
    /// Hex SHA-256 of the call and its body.
    pub request: String,
    /// [`ControlAnswer::BEGUN`] until it is answered.
    pub status: u16,
    pub body: String,
    /// When it began, or was answered.
    pub at: Timestamp,
}

impl ControlAnswer {
    /// The status of a call that began and has no answer: it is being made, or the core ended in the middle of it.
    pub const BEGUN: u16 = 0;
}

impl fmt::Debug for ControlAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlAnswer({} {}, {} bytes)", self.token, self.status, self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(bits: u128) -> AgentId {
        AgentId::from_random(bits)
    }

    fn token() -> ControlToken {
        ControlToken {
            id: ControlTokenId::from_random(1),
            name: "supervisor".into(),
            digest: TokenDigest::of("twc_x"),
            scopes: BTreeSet::from([ControlScope::Cancel]),
            reach: ControlReach::default(),
            owner: None,
            per_call: 20,
            per_hour: 100,
            needs_reason: false,
            needs_plan: false,
            created: Timestamp::from_millis(10),
            by: PersonId::new("ada"),
            until: None,
            revoked: None,
        }
    }

    #[test]
    fn a_token_is_in_force_within_its_time_and_not_when_the_clock_was_set_back() {
        let timed = ControlToken { until: Some(Timestamp::from_millis(20)), ..token() };
        for (moment, in_force) in [(9, false), (10, true), (19, true), (20, false)] {
            assert_eq!(timed.is_in_force(Timestamp::from_millis(moment)), in_force, "at {moment}");
        }
        assert!(token().is_in_force(Timestamp::from_millis(9)), "one without an end does not depend on the clock");
        let revoked = ControlToken { revoked: Some(Timestamp::from_millis(30)), ..timed.clone() };
        let at = Timestamp::from_millis(30);
        for moment in [9, 15, 40] {
            let ended = revoked.ended(Timestamp::from_millis(moment));
            assert_eq!(ended, Some(ControlTokenEnd::Revoked(at)), "a revoked one never is, and says when, at {moment}");
        }
        let over = Timestamp::from_millis(20);
        assert_eq!(timed.ended(at), Some(ControlTokenEnd::TimeOver(over)), "the end of its time is named");
        assert_eq!(timed.ended(Timestamp::from_millis(9)), Some(ControlTokenEnd::ClockBehind));
    }

    #[test]
    fn an_alarm_is_in_reach_only_when_all_that_it_is_about_is() {
        let called = |server: u128, tool: &str| CalledTool { server: ServerId::from_random(server), tool: tool.into() };
        let alarm = |kind, other| CallAlarm {
            id: crate::ids::AlarmId::from_random(1),
            agent: agent(1),
            kind,
            called: called(5, "search"),
            other,
            since: Timestamp::EPOCH,
            raised: Timestamp::EPOCH,
            last: Timestamp::EPOCH,
            count: 10,
            limit: 10,
            action: crate::rule::RunAction::Warn,
            rule: None,
            decision: None,
            state: crate::agent::alarm::AlarmState::Open,
        };
        let within = |reach| ControlToken { reach, ..token() };
        let same = alarm(AlarmKind::SameCall, None);
        let two = alarm(AlarmKind::Alternating, Some(called(6, "read")));
        let all = alarm(AlarmKind::CallRate, None);
        let of_server =
            within(ControlReach { servers: BTreeSet::from([ServerId::from_random(5)]), ..ControlReach::default() });
        assert!(of_server.reaches_alarm(&same));
        assert!(!of_server.reaches_alarm(&two), "the other call is on a server out of reach");
        assert!(!of_server.reaches_alarm(&all), "it counts calls to all servers");
        let of_agent = within(ControlReach { agents: BTreeSet::from([agent(1)]), ..ControlReach::default() });
        assert!([&same, &two, &all].into_iter().all(|alarm| of_agent.reaches_alarm(alarm)));
        let of_other = within(ControlReach { agents: BTreeSet::from([agent(2)]), ..ControlReach::default() });
        assert!([&same, &two, &all].into_iter().all(|alarm| !of_other.reaches_alarm(alarm)));
        let held = ControlToken { owner: Some(agent(1)), ..token() };
        assert!(!held.reaches_alarm(&same), "nor one about the agent that holds it");
    }

    #[test]
    fn a_halt_is_in_reach_only_when_all_that_it_covers_is() {
        let reach = ControlReach { agents: BTreeSet::from([agent(1)]), ..ControlReach::default() };
        let of_agent = ControlToken { reach, ..token() };
        assert!(of_agent.reaches_all_of(&HaltSubject::Agent(agent(1))));
        let server = ServerId::from_random(5);
        for other in [HaltSubject::Everything, HaltSubject::Server(server), HaltSubject::Agent(agent(2))] {
            assert!(!of_agent.reaches_all_of(&other), "{other:?} covers tasks of other agents");
        }
        let held = ControlToken { owner: Some(agent(1)), ..token() };
        assert!(!held.reaches_all_of(&HaltSubject::Everything), "it would halt the agent that holds it");
        assert!(held.reaches_all_of(&HaltSubject::Agent(agent(2))));
        assert!(!held.reaches_all_of(&HaltSubject::Agent(agent(1))));
        assert!(token().reaches_all_of(&HaltSubject::Everything));
    }
}
