//! Rules: who is asked, what a repeated call means, whether results are held, when a call becomes a task, and limits of
//! tokens.
//!
//! One rule a scope; putting one replaces it, and one that says nothing takes it away. Only people put rules, so that no
//! agent can raise a limit. How rules are resolved is `domain::rule`'s.

use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ports::RuleUnit;
use domain::rule::{
    AudienceRule, LimitAction, LimitSubject, RepeatRule, Rule, RuleScope, RunAction, RunLimit, SameCallLimit,
    TokenLimit,
};
use domain::tokens::token_noun;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::Nothing;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::task::run_limit::{AtRunLimit, RunLimitDto};
use crate::dto::{LimitDto, RepeatDto, RuleDto, SameCallLimitDto, ScopeDto, WhoIsAsked, millis};
use crate::error::{ApiError, Code};
use crate::format::time;
use crate::lookup::Names;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleList {
    /// Agents first, then servers, then tools.
    pub rules: Vec<RuleDto>,
}

impl Api {
    /// All rules.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn rule_list(&self, _caller: &Caller, _input: Nothing) -> Result<RuleList, ApiError> {
        Ok(RuleList { rules: self.all_rules().await? })
    }

    /// Puts a rule, replacing the one of the same scope; one that says nothing removes it. Where there is none, removing it
    /// changes and records nothing. A removed rule stays in the registry as one that says nothing, so that no version of a
    /// scope comes twice.
    ///
    /// # Errors
    /// When the scope is unknown, a time is missing or out of range, a limit cannot be, another version of the rule is there
    /// than the one that was changed, or it cannot be recorded.
    pub async fn rule_put(&self, caller: &Caller, input: RuleDto) -> Result<RuleList, ApiError> {
        let live = self.live()?;
        let mut rule = self.rule(&input).await?;
        let remove = rule.is_empty();
        let _one = self.changing_rules.lock().await;
        let kept = self.registry.rules().await?;
        let last = kept.iter().find(|other| other.scope == rule.scope);
        let before = last.filter(|last| !last.is_empty());
        let version = before.map_or(0, |before| before.version);
        if input.version.is_some_and(|read| read != version) {
            return Err(ApiError::new(
                Code::Refused,
                "this rule was changed by somebody else meanwhile",
                "Look at it as it is now, and change it again.",
            ));
        }
        let most = self.policy.gateway.rules_max;
        let removed = kept.iter().filter(|other| other.is_empty()).count();
        let there = kept.len().saturating_sub(removed);
        if before.is_none() && remove {
            return Ok(RuleList { rules: self.all_rules().await? });
        }
        if before.is_none() && there >= most {
            return Err(ApiError::new(
                Code::Refused,
                format!("there are {there} rules already"),
                "Remove one with `taskwarden rules unset`.",
            ));
        }
        rule.version = last.map_or(0, |last| last.version).saturating_add(1);
        let fact = AuditEvent {
            at: self.now(),
            actor: Actor::Person(caller.person.clone()),
            verb: Verb::RuleChanged,
            subject: match &rule.scope {
                RuleScope::Agent(agent) => Subject::Agent(*agent),
                RuleScope::Server(server) | RuleScope::Tool(server, _) => Subject::Server(*server),
            },
            note: if remove { words(&input) } else { format!("version {}: {}", rule.version, words(&input)) },
        };
        // As many removed rules are kept as rules may be; the versions of one beyond that begin again.
        let is_forgotten = remove && removed >= most;
        self.registry.put_rule(RuleUnit { rule, remove: is_forgotten, audit: vec![fact] }).await?;
        live.engine.agents_changed().await?;
        Ok(RuleList { rules: self.all_rules().await? })
    }

    /// All rules as they are shown.
    pub(crate) async fn all_rules(&self) -> Result<Vec<RuleDto>, ApiError> {
        let mut names = self.names().await?;
        let mut rules = Vec::new();
        for rule in self.registry.rules().await?.into_iter().filter(|rule| !rule.is_empty()) {
            rules.push(self.rule_dto(&rule, &mut names).await?);
        }
        Ok(rules)
    }

    async fn rule_dto(&self, rule: &Rule, names: &mut Names) -> Result<RuleDto, ApiError> {
        let scope = match &rule.scope {
            RuleScope::Agent(agent) => ScopeDto::Agent { agent: self.agent_name(*agent, names).await? },
            RuleScope::Server(server) => ScopeDto::Server { server: self.server_name(*server, names).await? },
            RuleScope::Tool(server, tool) => {
                ScopeDto::Tool { server: self.server_name(*server, names).await?, tool: tool.to_string() }
            }
        };
        let (asked, people_after) = match rule.asked {
            None => (None, None),
            Some(AudienceRule::People) => (Some(WhoIsAsked::People), None),
            Some(AudienceRule::Agent) => (Some(WhoIsAsked::Agent), None),
            Some(AudienceRule::AgentThenPeople { after }) => (Some(WhoIsAsked::AgentThenPeople), Some(after)),
            Some(AudienceRule::Both) => (Some(WhoIsAsked::Both), None),
        };
        Ok(RuleDto {
            scope,
            version: Some(rule.version),
            asked,
            people_after_ms: people_after.map(millis),
            repeat: rule.repeat.map(|repeat| match repeat {
                RepeatRule::Join => RepeatDto::Join,
                RepeatRule::New => RepeatDto::New,
            }),
            hold_results: rule.hold_results,
            promote_after_ms: rule.promote_after.map(millis),
            hold_cut: rule.hold_cut,
            result_limit: rule.result_limit.map(LimitDto::from),
            task_limit: rule.task_limit.map(LimitDto::from),
            window_limit: rule.window_limit.map(LimitDto::from),
            time_limit: rule.time_limit.map(RunLimitDto::from),
            progress_limit: rule.progress_limit.map(RunLimitDto::from),
            same_call_limit: rule
                .same_call_limit
                .map(|limit| SameCallLimitDto { count: limit.count, window_ms: millis(limit.window) }),
            calls_per_minute: rule.calls_per_minute,
            open_calls: rule.open_calls,
            alarm_action: rule.alarm_action.map(AtRunLimit::from),
        })
    }

    /// What a person wrote, checked.
    async fn rule(&self, input: &RuleDto) -> Result<Rule, ApiError> {
        let RuleDto { scope, asked, people_after_ms, repeat, hold_results, promote_after_ms, .. } = input;
        let scope = match scope {
            ScopeDto::Agent { agent } => RuleScope::Agent(self.find_agent(agent).await?.id),
            ScopeDto::Server { server } => RuleScope::Server(self.find_server(server).await?.id),
            ScopeDto::Tool { server, tool } => {
                if tool.is_empty() || tool.len() > self.policy.server_text_cap_chars {
                    return Err(ApiError::new(
                        Code::Usage,
                        "this is not a valid tool name",
                        "`taskwarden servers show NAME` lists the tools of a server.",
                    ));
                }
                RuleScope::Tool(self.find_server(server).await?.id, tool.as_str().into())
            }
        };
        let asked = match (asked, people_after_ms) {
            (Some(WhoIsAsked::AgentThenPeople), Some(after)) => {
                Some(AudienceRule::AgentThenPeople { after: self.span(*after, "the time until people are asked")? })
            }
            (Some(WhoIsAsked::AgentThenPeople), None) => {
                return Err(ApiError::new(
                    Code::Usage,
                    "`agent-then-people` needs the time after which people are asked",
                    "Give the time with `--people-after`, such as `5min`.",
                ));
            }
            (_, Some(_)) => {
                return Err(ApiError::new(
                    Code::Usage,
                    "a time until people are asked needs `agent-then-people`",
                    "Leave it out, or choose `agent-then-people`.",
                ));
            }
            (None, None) => None,
            (Some(WhoIsAsked::People), None) => Some(AudienceRule::People),
            (Some(WhoIsAsked::Agent), None) => Some(AudienceRule::Agent),
            (Some(WhoIsAsked::Both), None) => Some(AudienceRule::Both),
        };
        let repeat = repeat.map(|repeat| match repeat {
            RepeatDto::Join => RepeatRule::Join,
            RepeatDto::New => RepeatRule::New,
        });
        let promote_after = match promote_after_ms {
            Some(after) => Some(self.span(*after, "the time until a call becomes a task")?),
            None => None,
        };
        let window_limit = self.limit(LimitSubject::Window, input.window_limit)?;
        if window_limit.is_some() && !matches!(scope, RuleScope::Agent(_)) {
            return Err(ApiError::new(
                Code::Usage,
                "a window limit needs a rule of an agent",
                "Put this limit in a rule of an agent; results and tasks are limited for servers and tools as well.",
            ));
        }
        if (input.calls_per_minute.is_some() || input.open_calls.is_some()) && !matches!(scope, RuleScope::Agent(_)) {
            return Err(ApiError::new(
                Code::Usage,
                "calls in a minute and calls at once need a rule of an agent",
                "Put these numbers in a rule of an agent; equal calls have one for servers and tools as well.",
            ));
        }
        Ok(Rule {
            scope,
            version: 1,
            asked,
            repeat,
            hold_results: *hold_results,
            promote_after,
            hold_cut: input.hold_cut,
            result_limit: self.limit(LimitSubject::Result, input.result_limit)?,
            task_limit: self.limit(LimitSubject::Task, input.task_limit)?,
            window_limit,
            time_limit: self.run_limit(input.time_limit, "the time limit")?,
            progress_limit: self.run_limit(input.progress_limit, "the progress limit")?,
            same_call_limit: self.same_call_limit(input.same_call_limit)?,
            calls_per_minute: self.calls(input.calls_per_minute, "the number of calls in a minute")?,
            open_calls: self.calls(input.open_calls, "the number of calls at once")?,
            alarm_action: input.alarm_action.map(RunAction::from),
        })
    }

    /// A limit that a person wrote, checked.
    fn limit(&self, limited: LimitSubject, limit: Option<LimitDto>) -> Result<Option<TokenLimit>, ApiError> {
        let Some(limit) = limit else { return Ok(None) };
        let (word, at) = (limited.word(), LimitAction::from(limit.at));
        let tokens = self.tokens(limit.tokens, &format!("the limit of a {word}"))?;
        if limited.allows(at) {
            return Ok(Some(TokenLimit { tokens, at }));
        }
        let allowed = [LimitAction::Warn, LimitAction::Ask, LimitAction::Hold, LimitAction::Stop];
        let allowed: Vec<_> = allowed.into_iter().filter(|at| limited.allows(*at)).map(LimitAction::word).collect();
        Err(ApiError::new(
            Code::Usage,
            format!("`{}` is not an action for the limit of a {word}", at.word()),
            format!("Use one of: {}.", allowed.join(", ")),
        ))
    }

    fn run_limit(&self, limit: Option<RunLimitDto>, what: &str) -> Result<Option<RunLimit>, ApiError> {
        let Some(RunLimitDto { allowed_ms, at }) = limit else { return Ok(None) };
        let allowed = self.run_time(Duration::from_millis(allowed_ms), what)?;
        Ok(Some(RunLimit { allowed, action: at.into() }))
    }

    /// How many equal calls a person allows, checked.
    fn same_call_limit(&self, limit: Option<SameCallLimitDto>) -> Result<Option<SameCallLimit>, ApiError> {
        let Some(SameCallLimitDto { count, window_ms }) = limit else { return Ok(None) };
        let alarms = &self.policy.control.alarms;
        let (most, longest) = (alarms.same_call_count_max, alarms.same_call_window_max);
        if count == 1 || count > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("an alarm for equal calls needs 2 to {most} of them, not {count}"),
                format!("Choose a number from 2 to {most}, or no alarm: `off` on the command line, 0 in the window."),
            ));
        }
        let window = Duration::from_millis(window_ms);
        if window.is_zero() || window > longest {
            return Err(ApiError::new(
                Code::Usage,
                "this is no time within which equal calls are counted",
                format!("Choose a time of at most {}.", time::span(longest)),
            ));
        }
        Ok(Some(SameCallLimit { count, window }))
    }

    fn calls(&self, calls: Option<u32>, what: &str) -> Result<Option<u32>, ApiError> {
        let most = self.policy.control.alarms.calls_max;
        if calls.is_none_or(|calls| calls <= most) {
            return Ok(calls);
        }
        Err(ApiError::new(
            Code::Usage,
            format!("{what} must be at most {most}"),
            format!("Choose a number from 1 to {most}, or no alarm: `off` on the command line, 0 in the window."),
        ))
    }

    /// A number of tokens that a person wrote, checked.
    pub(crate) fn tokens(&self, tokens: u64, what: &str) -> Result<u64, ApiError> {
        let most = self.policy.counting.tokens_settable_max;
        if (1..=most).contains(&tokens) {
            return Ok(tokens);
        }
        Err(ApiError::new(
            Code::Usage,
            format!("{what} must be 1 to {most} tokens, not {tokens}"),
            format!("Choose a number from 1 to {most}."),
        ))
    }

    fn span(&self, span_ms: u64, what: &str) -> Result<Duration, ApiError> {
        let span = Duration::from_millis(span_ms);
        if span > self.policy.gateway.call_limit_ceiling {
            return Err(ApiError::new(
                Code::Usage,
                format!("{what} is too long"),
                format!("Choose at most {} s.", self.policy.gateway.call_limit_ceiling.as_secs()),
            ));
        }
        Ok(span)
    }
}

/// A rule in one line, for the audit log: names and words of ours only.
fn words(rule: &RuleDto) -> String {
    let mut said = Vec::new();
    match &rule.scope {
        ScopeDto::Agent { .. } | ScopeDto::Server { .. } => {}
        ScopeDto::Tool { tool, .. } => said.push(format!("tool {}", crate::lookup::short(tool))),
    }
    if let Some(asked) = rule.asked {
        said.push(match asked {
            WhoIsAsked::People => "asks people".into(),
            WhoIsAsked::Agent => "asks the agent".into(),
            WhoIsAsked::AgentThenPeople => {
                format!("asks the agent, and people after {} ms", rule.people_after_ms.unwrap_or_default())
            }
            WhoIsAsked::Both => "asks both".into(),
        });
    }
    if let Some(repeat) = rule.repeat {
        said.push(match repeat {
            RepeatDto::Join => "a repeated call joins".into(),
            RepeatDto::New => "a repeated call is new".into(),
        });
    }
    if let Some(hold) = rule.hold_results {
        said.push(if hold { "holds results".into() } else { "delivers results".into() });
    }
    if let Some(hold) = rule.hold_cut {
        said.push(if hold { "holds what its program would cut" } else { "lets its program cut results" }.into());
    }
    if let Some(after) = rule.promote_after_ms {
        said.push(format!("a task after {after} ms"));
    }
    for (what, limit) in
        [("a result", rule.result_limit), ("a task", rule.task_limit), ("the window", rule.window_limit)]
    {
        if let Some(LimitDto { tokens, at }) = limit {
            said.push(format!("{what} over {tokens} {}: {}", token_noun(tokens), LimitAction::from(at).word()));
        }
    }
    for (what, limit) in [("a task that runs", rule.time_limit), ("a task without progress for", rule.progress_limit)] {
        if let Some(RunLimitDto { allowed_ms, at }) = limit {
            said.push(format!("{what} over {allowed_ms} ms: {at}"));
        }
    }
    if let Some(SameCallLimitDto { count, window_ms }) = rule.same_call_limit {
        said.push(format!("an alarm at {count} equal calls in {window_ms} ms"));
    }
    for (when, calls) in [("in a minute", rule.calls_per_minute), ("at once", rule.open_calls)] {
        if let Some(calls) = calls {
            said.push(format!("an alarm at {} {when}", time::count(u64::from(calls), "call")));
        }
    }
    if let Some(at) = rule.alarm_action {
        said.push(format!("at an alarm: {at}"));
    }
    if said.is_empty() { "taken away".into() } else { said.join(", ") }
}
