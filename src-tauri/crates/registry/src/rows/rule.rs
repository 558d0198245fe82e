//! A rule as its scope and a JSON body.
//!
//! The scope is the key of its row: `agent:ID`, `server:ID` or `tool:ID:NAME`. Nothing of a rule is private. What rules
//! mean is in `domain::rule`.

use std::time::Duration;

use domain::rule::{AudienceRule, RepeatRule, Rule, RuleScope};
use serde_json::{Value, json};

use super::budget::{limit, read_limit};
use super::{ENCODING, Fields, Flaw, Read, span};

/// The scope as text.
pub(crate) fn scope(scope: &RuleScope) -> String {
    match scope {
        RuleScope::Agent(id) => format!("agent:{id}"),
        RuleScope::Server(id) => format!("server:{id}"),
        RuleScope::Tool(id, tool) => format!("tool:{id}:{tool}"),
    }
}

fn read_scope(text: &str) -> Read<RuleScope> {
    let flaw = || Flaw::new("scope", "does not read");
    match text.split_once(':').ok_or_else(flaw)? {
        ("agent", id) => id.parse().map(RuleScope::Agent).map_err(|_| flaw()),
        ("server", id) => id.parse().map(RuleScope::Server).map_err(|_| flaw()),
        ("tool", rest) => {
            let (id, tool) = rest.split_once(':').ok_or_else(flaw)?;
            Ok(RuleScope::Tool(id.parse().map_err(|_| flaw())?, tool.into()))
        }
        (other, _) => Err(Flaw::word("scope", other)),
    }
}

fn asked(asked: AudienceRule) -> Value {
    match asked {
        AudienceRule::People => json!({ "is": "people" }),
        AudienceRule::Agent => json!({ "is": "agent" }),
        AudienceRule::AgentThenPeople { after } => json!({ "is": "agentThenPeople", "after": span(after) }),
        AudienceRule::Both => json!({ "is": "both" }),
    }
}

fn read_asked(fields: Fields<'_>) -> Read<AudienceRule> {
    match fields.text("is")? {
        "people" => Ok(AudienceRule::People),
        "agent" => Ok(AudienceRule::Agent),
        "agentThenPeople" => Ok(AudienceRule::AgentThenPeople { after: fields.span("after")? }),
        "both" => Ok(AudienceRule::Both),
        other => Err(Flaw::word("is", other)),
    }
}

fn repeat(repeat: RepeatRule) -> &'static str {
    match repeat {
        RepeatRule::Join => "join",
        RepeatRule::New => "new",
    }
}

fn read_repeat(word: &str) -> Read<RepeatRule> {
    match word {
        "join" => Ok(RepeatRule::Join),
        "new" => Ok(RepeatRule::New),
        other => Err(Flaw::word("repeat", other)),
    }
}

/// Writes the body of a rule.
pub(crate) fn body(rule: &Rule) -> Value {
    let Rule {
        scope: _,
        asked: who,
        repeat: again,
        hold_results,
        promote_after,
        hold_cut,
        result_limit,
        task_limit,
        window_limit,
    } = rule;
    json!({
        "v": ENCODING,
        "asked": who.map(asked),
        "repeat": again.map(repeat),
        "holdResults": hold_results,
        "promoteAfter": promote_after.map(span),
        "holdCut": hold_cut,
        "resultLimit": result_limit.map(limit),
        "taskLimit": task_limit.map(limit),
        "windowLimit": window_limit.map(limit),
    })
}

/// Reads a rule.
pub(crate) fn read(scope: &str, body: &Value) -> Read<Rule> {
    let fields = Fields::stored(body, "body")?;
    let maybe_span = |name: &str| -> Read<Option<Duration>> { fields.get(name).map(|_| fields.span(name)).transpose() };
    Ok(Rule {
        scope: read_scope(scope)?,
        asked: fields.maybe_inner("asked", read_asked)?,
        repeat: fields.maybe_text("repeat")?.map(read_repeat).transpose()?,
        hold_results: fields.get("holdResults").map(|_| fields.flag("holdResults")).transpose()?,
        promote_after: maybe_span("promoteAfter")?,
        hold_cut: fields.get("holdCut").map(|_| fields.flag("holdCut")).transpose()?,
        result_limit: fields.maybe_inner("resultLimit", read_limit)?,
        task_limit: fields.maybe_inner("taskLimit", read_limit)?,
        window_limit: fields.maybe_inner("windowLimit", read_limit)?,
    })
}
