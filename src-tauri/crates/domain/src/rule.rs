//! Rules: what people decided in advance for the calls of agents.
//!
//! A rule applies to an agent, a server or one tool; the narrower wins, field by field. What a resolved rule does to a
//! task is in `task/`; when a call becomes a task is decided by the engine and the gateway.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::{AgentId, ServerId};
use crate::task::Audience;
pub use crate::task::agent::run_limit::{
    LimitKind, RuleLevel, RuleSource, RunAction, RunLimit, SetAlarmAction, SetRunLimit,
};
use crate::time::Timestamp;

/// Who is asked when a task asks, as a rule says it. [`Audience`] is its resolved form on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AudienceRule {
    #[default]
    People,
    /// The agent only.
    Agent,
    /// The agent, and people too when nobody answered for so long.
    AgentThenPeople {
        /// From the call on.
        after: Duration,
    },
    /// Both; the first recorded answer wins.
    Both,
}

impl AudienceRule {
    /// Resolved for a task that is admitted now.
    #[must_use]
    pub fn audience(self, now: Timestamp) -> Audience {
        match self {
            Self::People => Audience::People,
            Self::Agent => Audience::Agent,
            Self::AgentThenPeople { after } => Audience::AgentThenPeople { people_at: now.plus(after) },
            Self::Both => Audience::Both,
        }
    }
}

/// What a repeated call means while the first one's reply could not be delivered (ruling 24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepeatRule {
    /// It joins the open task.
    #[default]
    Join,
    /// It is a new task.
    New,
}

/// What happens at a limit of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitAction {
    /// People are notified, and it continues.
    Warn,
    /// A person decides: about a result, for which the agent waits, or whether a task may continue, which it does
    /// until then.
    Ask,
    /// The result is held and given in slices, without asking. A person is asked all the same where slices would not
    /// give most of it ([`crate::ports::PartCount::is_mostly_text`]).
    Hold,
    /// The task is cancelled.
    Stop,
}

impl LimitAction {
    /// Its word in JSON, settings and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Ask => "ask",
            Self::Hold => "hold",
            Self::Stop => "stop",
        }
    }

    /// Reads [`LimitAction::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Warn, Self::Ask, Self::Hold, Self::Stop].into_iter().find(|at| at.word() == word)
    }
}

/// A limit of tokens, and what happens at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimit {
    /// So many are allowed.
    pub tokens: u64,
    /// What happens with more.
    pub at: LimitAction,
}

/// What tokens are limited: each with what may happen at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitSubject {
    /// One result: warn, ask or hold.
    Result,
    /// What one task puts into the window and says on the way, together: warn, ask or stop.
    Task,
    /// What is in the window of an agent: warn, ask or hold. With `ask` and `hold`, a result that does not fit.
    Window,
}

impl LimitSubject {
    /// Its word in JSON, settings and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Task => "task",
            Self::Window => "window",
        }
    }

    /// Whether this may happen at it.
    #[must_use]
    pub const fn allows(self, at: LimitAction) -> bool {
        match (self, at) {
            (_, LimitAction::Warn) | (Self::Result | Self::Window, LimitAction::Ask | LimitAction::Hold) => true,
            (Self::Task, LimitAction::Ask | LimitAction::Stop) => true,
            (Self::Task, LimitAction::Hold) | (Self::Result | Self::Window, LimitAction::Stop) => false,
        }
    }
}

/// How many equal calls are allowed within a time before people are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameCallLimit {
    /// People are told at this many; 0 for no alarm. A call whose result is that of the call before counts twice.
    pub count: u32,
    pub window: Duration,
}

/// For what a rule speaks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleScope {
    /// Everything this agent calls.
    Agent(AgentId),
    /// Every call on this server.
    Server(ServerId),
    /// Every call of this tool.
    Tool(ServerId, Arc<str>),
}

/// What is decided for one scope; `None` leaves it to the wider one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub scope: RuleScope,
    /// Raised each time that the rule of this scope is put or removed, from 1. It goes on when the rule is made again.
    pub version: u32,
    /// Who is asked.
    pub asked: Option<AudienceRule>,
    /// What a repeated call means.
    pub repeat: Option<RepeatRule>,
    /// Whether results wait for a person.
    pub hold_results: Option<bool>,
    /// How long a plain call lasts before it becomes a task of its own, for agents that know tasks.
    pub promote_after: Option<Duration>,
    /// Whether a result that the agent's program would cut is held and given in slices; so it is unless a rule says no.
    pub hold_cut: Option<bool>,
    /// How large one result may be.
    pub result_limit: Option<TokenLimit>,
    /// How much one task may say and bring.
    pub task_limit: Option<TokenLimit>,
    /// How full the window may be. Rules of agents alone have it.
    pub window_limit: Option<TokenLimit>,
    /// How long a task may run; waiting for people is not counted.
    pub time_limit: Option<RunLimit>,
    /// How long a task may run without progress; waiting for people is not counted.
    pub progress_limit: Option<RunLimit>,
    /// How many equal calls raise an alarm.
    pub same_call_limit: Option<SameCallLimit>,
    /// How many calls of an agent in a minute raise an alarm; 0 for none. Rules of agents alone have it.
    pub calls_per_minute: Option<u32>,
    /// How many calls of an agent at once raise an alarm; 0 for none. Rules of agents alone have it.
    pub open_calls: Option<u32>,
    /// What happens when an alarm is raised. Alarms about many tools follow the rule of the agent.
    pub alarm_action: Option<RunAction>,
}

impl Rule {
    /// A rule that decides nothing yet.
    #[must_use]
    pub const fn new(scope: RuleScope) -> Self {
        Self {
            scope,
            version: 1,
            asked: None,
            repeat: None,
            hold_results: None,
            promote_after: None,
            hold_cut: None,
            result_limit: None,
            task_limit: None,
            window_limit: None,
            time_limit: None,
            progress_limit: None,
            same_call_limit: None,
            calls_per_minute: None,
            open_calls: None,
            alarm_action: None,
        }
    }

    const fn source(&self) -> RuleSource {
        let level = match self.scope {
            RuleScope::Agent(_) => RuleLevel::Agent,
            RuleScope::Server(_) => RuleLevel::Server,
            RuleScope::Tool(..) => RuleLevel::Tool,
        };
        RuleSource { level, version: self.version }
    }

    /// Whether it decides nothing: it was removed, and only its version is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { scope: _, version: _, asked, repeat, hold_results, promote_after, hold_cut, .. } = self;
        let Self { result_limit, task_limit, window_limit, time_limit, progress_limit, .. } = self;
        let Self { same_call_limit, calls_per_minute, open_calls, alarm_action, .. } = self;
        asked.is_none()
            && repeat.is_none()
            && hold_results.is_none()
            && promote_after.is_none()
            && hold_cut.is_none()
            && result_limit.is_none()
            && task_limit.is_none()
            && window_limit.is_none()
            && time_limit.is_none()
            && progress_limit.is_none()
            && same_call_limit.is_none()
            && calls_per_minute.is_none()
            && open_calls.is_none()
            && alarm_action.is_none()
    }
}

/// What holds for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedRule {
    /// Who is asked.
    pub asked: AudienceRule,
    /// What a repeated call means.
    pub repeat: RepeatRule,
    /// Whether results wait for a person.
    pub hold_results: bool,
    /// When a plain call becomes a task of its own; `None` leaves it to the policy.
    pub promote_after: Option<Duration>,
    /// Whether a result that the agent's program would cut is held and given in slices.
    pub hold_cut: bool,
    /// How large one result may be.
    pub result_limit: Option<TokenLimit>,
    /// How much one task may say and bring.
    pub task_limit: Option<TokenLimit>,
    /// How full the window may be.
    pub window_limit: Option<TokenLimit>,
    /// How long a task may run.
    pub time_limit: Option<SetRunLimit>,
    /// How long a task may run without progress.
    pub progress_limit: Option<SetRunLimit>,
    /// How many equal calls raise an alarm; `None` leaves it to the policy, as for the next two.
    pub same_call_limit: Option<SameCallLimit>,
    /// How many calls in a minute raise an alarm.
    pub calls_per_minute: Option<u32>,
    /// How many calls at once raise an alarm.
    pub open_calls: Option<u32>,
    /// What happens at an alarm about this tool; `None` warns.
    pub alarm_action: Option<SetAlarmAction>,
    /// What happens at an alarm about all calls of the agent: its own rule alone says it.
    pub agent_alarm_action: Option<SetAlarmAction>,
}

impl Default for ResolvedRule {
    fn default() -> Self {
        Self {
            asked: AudienceRule::default(),
            repeat: RepeatRule::default(),
            hold_results: false,
            promote_after: None,
            hold_cut: true,
            result_limit: None,
            task_limit: None,
            window_limit: None,
            time_limit: None,
            progress_limit: None,
            same_call_limit: None,
            calls_per_minute: None,
            open_calls: None,
            alarm_action: None,
            agent_alarm_action: None,
        }
    }
}

/// All rules of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// These rules. Of two for one scope, the later counts.
    #[must_use]
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// The rules as they were given.
    #[must_use]
    pub fn all(&self) -> &[Rule] {
        &self.0
    }

    fn of(&self, scope: &RuleScope) -> Option<&Rule> {
        self.0.iter().rev().find(|rule| rule.scope == *scope)
    }

    /// What holds for a call of this tool: tool beats server beats agent beats default, field by field.
    #[must_use]
    pub fn resolve(&self, agent: AgentId, server: ServerId, tool: &str) -> ResolvedRule {
        let scopes = [RuleScope::Tool(server, tool.into()), RuleScope::Server(server), RuleScope::Agent(agent)];
        let narrow: Vec<&Rule> = scopes.iter().filter_map(|scope| self.of(scope)).collect();
        let set = |limit: fn(&Rule) -> Option<RunLimit>| {
            narrow.iter().find_map(|rule| Some(SetRunLimit { limit: limit(rule)?, rule: rule.source() }))
        };
        let alarm = |rule: &Rule| Some(SetAlarmAction { action: rule.alarm_action?, rule: rule.source() });
        let of_agent = self.of(&RuleScope::Agent(agent));
        ResolvedRule {
            asked: narrow.iter().find_map(|rule| rule.asked).unwrap_or_default(),
            repeat: narrow.iter().find_map(|rule| rule.repeat).unwrap_or_default(),
            hold_results: narrow.iter().find_map(|rule| rule.hold_results).unwrap_or_default(),
            promote_after: narrow.iter().find_map(|rule| rule.promote_after),
            hold_cut: narrow.iter().find_map(|rule| rule.hold_cut).unwrap_or(true),
            result_limit: narrow.iter().find_map(|rule| rule.result_limit),
            task_limit: narrow.iter().find_map(|rule| rule.task_limit),
            window_limit: of_agent.and_then(|rule| rule.window_limit),
            time_limit: set(|rule| rule.time_limit),
            progress_limit: set(|rule| rule.progress_limit),
            same_call_limit: narrow.iter().find_map(|rule| rule.same_call_limit),
            calls_per_minute: of_agent.and_then(|rule| rule.calls_per_minute),
            open_calls: of_agent.and_then(|rule| rule.open_calls),
            alarm_action: narrow.iter().find_map(|rule| alarm(rule)),
            agent_alarm_action: of_agent.and_then(alarm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(scope: RuleScope) -> Rule {
        Rule::new(scope)
    }

    #[test]
    fn the_narrower_rule_wins_field_by_field() {
        let (agent, server) = (AgentId::from_random(1), ServerId::from_random(2));
        let rules = Rules::new(vec![
            Rule {
                asked: Some(AudienceRule::Both),
                repeat: Some(RepeatRule::New),
                hold_results: Some(true),
                ..rule(RuleScope::Agent(agent))
            },
            Rule { asked: Some(AudienceRule::Agent), hold_results: Some(false), ..rule(RuleScope::Server(server)) },
            Rule { asked: Some(AudienceRule::People), ..rule(RuleScope::Tool(server, "tidy".into())) },
        ]);
        let tool = rules.resolve(agent, server, "tidy");
        assert_eq!(tool.asked, AudienceRule::People, "the tool's rule");
        assert!(!tool.hold_results, "the server's rule, where the tool's says nothing");
        assert_eq!(tool.repeat, RepeatRule::New, "the agent's rule, where the others say nothing");
        assert_eq!(rules.resolve(agent, server, "other").asked, AudienceRule::Agent, "another tool of the server");
        let stranger = rules.resolve(AgentId::from_random(9), ServerId::from_random(9), "tidy");
        assert_eq!(stranger, ResolvedRule::default(), "nothing was decided: people, join, deliver");
    }

    #[test]
    fn a_limit_is_the_narrowest_and_the_window_is_the_agents_alone() {
        let (agent, server) = (AgentId::from_random(1), ServerId::from_random(2));
        let limit = |tokens, at| Some(TokenLimit { tokens, at });
        let rules = Rules::new(vec![
            Rule {
                result_limit: limit(20_000, LimitAction::Hold),
                window_limit: limit(160_000, LimitAction::Ask),
                ..rule(RuleScope::Agent(agent))
            },
            Rule { result_limit: limit(50_000, LimitAction::Warn), ..rule(RuleScope::Tool(server, "report".into())) },
        ]);
        assert_eq!(rules.resolve(agent, server, "report").result_limit, limit(50_000, LimitAction::Warn));
        assert_eq!(rules.resolve(agent, server, "other").result_limit, limit(20_000, LimitAction::Hold));
        assert_eq!(rules.resolve(agent, server, "report").window_limit, limit(160_000, LimitAction::Ask));
        assert!(LimitSubject::Task.allows(LimitAction::Stop) && !LimitSubject::Result.allows(LimitAction::Stop));
    }

    #[test]
    fn the_action_at_an_alarm_is_the_narrowest_and_names_its_rule() {
        let (agent, server) = (AgentId::from_random(1), ServerId::from_random(2));
        let rules = Rules::new(vec![
            Rule { alarm_action: Some(RunAction::Cancel), version: 4, ..rule(RuleScope::Agent(agent)) },
            Rule { alarm_action: Some(RunAction::Ask), ..rule(RuleScope::Tool(server, "search".into())) },
        ]);
        let said = |action, level, version| Some(SetAlarmAction { action, rule: RuleSource { level, version } });
        let search = rules.resolve(agent, server, "search");
        assert_eq!(search.alarm_action, said(RunAction::Ask, RuleLevel::Tool, 1));
        assert_eq!(search.agent_alarm_action, said(RunAction::Cancel, RuleLevel::Agent, 4), "of all its calls");
        assert_eq!(rules.resolve(agent, server, "read").alarm_action, said(RunAction::Cancel, RuleLevel::Agent, 4));
        assert_eq!(rules.resolve(AgentId::from_random(9), server, "read").alarm_action, None, "it warns");
    }

    #[test]
    fn people_are_asked_after_the_time_of_the_rule() {
        let now = Timestamp::from_millis(1_000);
        let asked = AudienceRule::AgentThenPeople { after: Duration::from_secs(1) };
        assert_eq!(asked.audience(now), Audience::AgentThenPeople { people_at: Timestamp::from_millis(2_000) });
    }
}
