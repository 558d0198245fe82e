//! A rule as its scope and a JSON body.
//!
//! The scope is the key of its row: `agent:ID`, `server:ID` or `tool:ID:NAME`. Nothing of a rule is private. What rules
//! mean is in `domain::rule`.

use std::time::Duration;

use domain::rule::{Asked, Repeat, Rule, RuleScope};
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

fn asked(asked: Asked) -> Value {
    match asked {
        Asked::People => json!({ "is": "people" }),
        Asked::Agent => json!({ "is": "agent" }),
        Asked::AgentThenPeople { after } => json!({ "is": "agentThenPeople", "after": span(after) }),
        Asked::Both => json!({ "is": "both" }),
    }
}

fn read_asked(fields: Fields<'_>) -> Read<Asked> {
    match fields.text("is")? {
        "people" => Ok(Asked::People),
        "agent" => Ok(Asked::Agent),
        "agentThenPeople" => Ok(Asked::AgentThenPeople { after: fields.span("after")? }),
        "both" => Ok(Asked::Both),
        other => Err(Flaw::word("is", other)),
    }
}

fn repeat(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Join => "join",
        Repeat::New => "new",
    }
}

fn read_repeat(word: &str) -> Read<Repeat> {
    match word {
        "join" => Ok(Repeat::Join),
        "new" => Ok(Repeat::New),
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
