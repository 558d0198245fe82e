//! A rule as its scope and a JSON body.
//!
//! The scope is the key of its row: `agent:ID`, `server:ID` or `tool:ID:NAME`. Nothing of a rule is private. What rules
//! mean is in `domain::rule`.

use std::time::Duration;

use domain::rule::{AudienceRule, RepeatRule, Rule, RuleScope, RunAction, RunLimit, SameCallLimit, TokenLimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::form::{As, Maybe, column, mirrors};
use super::primitive::{EncodedWord, Span};
use super::task::run_limit::RunLimitDef;
use super::tokens::TokenLimitDef;
use super::{DecodeError, decode};

#[derive(Serialize, Deserialize)]
#[serde(remote = "AudienceRule", tag = "is", rename_all = "camelCase")]
enum AskedDef {
    People,
    Agent,
    AgentThenPeople {
        #[serde(with = "As::<Span>")]
        after: Duration,
    },
    Both,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RepeatRule", rename_all = "camelCase")]
enum RepeatDef {
    Join,
    New,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SameCallLimit")]
struct SameCallLimitDef {
    count: u32,
    #[serde(with = "As::<Span>")]
    window: Duration,
}

/// The body of a rule; its scope is the key of its row.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Rule", rename_all = "camelCase")]
pub(crate) struct RuleDef {
    #[serde(skip, default = "column")]
    scope: RuleScope,
    #[serde(default = "first_version")]
    version: u32,
    #[serde(default, with = "As::<Maybe<AskedDef>>")]
    asked: Option<AudienceRule>,
    #[serde(default, with = "As::<Maybe<RepeatDef>>")]
    repeat: Option<RepeatRule>,
    hold_results: Option<bool>,
    #[serde(default, with = "As::<Maybe<Span>>")]
    promote_after: Option<Duration>,
    hold_cut: Option<bool>,
    #[serde(default, with = "As::<Maybe<TokenLimitDef>>")]
    result_limit: Option<TokenLimit>,
    #[serde(default, with = "As::<Maybe<TokenLimitDef>>")]
    task_limit: Option<TokenLimit>,
    #[serde(default, with = "As::<Maybe<TokenLimitDef>>")]
    window_limit: Option<TokenLimit>,
    #[serde(default, with = "As::<Maybe<RunLimitDef>>")]
    time_limit: Option<RunLimit>,
    #[serde(default, with = "As::<Maybe<RunLimitDef>>")]
    progress_limit: Option<RunLimit>,
    #[serde(default, with = "As::<Maybe<SameCallLimitDef>>")]
    same_call_limit: Option<SameCallLimit>,
    calls_per_minute: Option<u32>,
    open_calls: Option<u32>,
    #[serde(default, with = "As::<Maybe<EncodedWord<RunAction>>>")]
    alarm_action: Option<RunAction>,
}

/// Rules from before they had versions.
const fn first_version() -> u32 {
    1
}

mirrors! {
    AskedDef => AudienceRule;
    RepeatDef => RepeatRule;
    SameCallLimitDef => SameCallLimit;
    RuleDef => Rule;
}

/// The scope as text.
pub(crate) fn scope(scope: &RuleScope) -> String {
    match scope {
        RuleScope::Agent(id) => format!("agent:{id}"),
        RuleScope::Server(id) => format!("server:{id}"),
        RuleScope::Tool(id, tool) => format!("tool:{id}:{tool}"),
    }
}

/// Reads a scope back.
fn read_scope(text: &str) -> Result<RuleScope, DecodeError> {
    let error = || DecodeError::new("scope", "does not read");
    match text.split_once(':').ok_or_else(error)? {
        ("agent", id) => id.parse().map(RuleScope::Agent).map_err(|_| error()),
        ("server", id) => id.parse().map(RuleScope::Server).map_err(|_| error()),
        ("tool", rest) => {
            let (id, tool) = rest.split_once(':').ok_or_else(error)?;
            Ok(RuleScope::Tool(id.parse().map_err(|_| error())?, tool.into()))
        }
        (other, _) => Err(DecodeError::word("scope", other)),
    }
}

/// Reads a rule from its scope and its body.
pub(crate) fn read(scope: &str, body: Value) -> Result<Rule, DecodeError> {
    let mut rule = decode::<RuleDef>(body)?;
    rule.scope = read_scope(scope)?;
    Ok(rule)
}
