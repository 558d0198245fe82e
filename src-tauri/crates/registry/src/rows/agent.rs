//! What passes between a task and its agent, as parts of the task's body.
//!
//! Tasks from before the gateway have none of it: what is missing reads as nothing known, and only here (the other
//! encodings refuse a missing field). A hold's reason is in the sealed body. Columns for lists are in `sqlite/unit.rs`.

use domain::handle::{Hold, Parent, ParentWhy, TaskHandle, Verdict};
use domain::ids::{JobKey, PersonId};
use serde_json::{Map, Value, json};

use super::{Fields, Flaw, Read, maybe_time, span, time};

fn hold(hold: &Hold) -> Value {
    let Hold { by, at, verdict: decided } = hold;
    json!({
        "by": by.as_ref().map(PersonId::as_str),
        "at": time(*at),
        "verdict": decided.as_ref().map(verdict),
    })
}

fn verdict(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Deliver { by, at } => json!({ "is": "deliver", "by": by.as_str(), "at": time(*at) }),
        Verdict::Withhold { by, at, reason } => {
            json!({ "is": "withhold", "by": by.as_str(), "at": time(*at), "reason": reason })
        }
    }
}

fn read_verdict(fields: Fields<'_>) -> Read<Verdict> {
    let (by, at) = (PersonId::new(fields.text("by")?), fields.time("at")?);
    match fields.text("is")? {
        "deliver" => Ok(Verdict::Deliver { by, at }),
        "withhold" => Ok(Verdict::Withhold { by, at, reason: fields.maybe_text("reason")?.map(Into::into) }),
        other => Err(Flaw::word("is", other)),
    }
}

fn read_hold(fields: Fields<'_>) -> Read<Hold> {
    Ok(Hold {
        by: fields.maybe_text("by")?.map(PersonId::new),
        at: fields.time("at")?,
        verdict: fields.maybe_inner("verdict", read_verdict)?,
    })
}

fn read_parent(fields: Fields<'_>) -> Read<Parent> {
    let why = fields.text("why")?;
    Ok(Parent { id: fields.parsed("id")?, why: ParentWhy::from_word(why).ok_or_else(|| Flaw::word("why", why))? })
}

/// Adds these parts to the body of a handle. What is nothing is left out, so that a person's task is no longer for it.
pub(crate) fn write(handle: &TaskHandle, body: &mut Map<String, Value>) {
    let parts = [
        ("seat", handle.seat.map_or(Value::Null, |id| id.to_string().into())),
        ("given", maybe_time(handle.given)),
        ("undelivered", maybe_time(handle.undelivered)),
        ("orphaned", maybe_time(handle.orphaned)),
        ("hold", handle.hold.as_ref().map_or(Value::Null, hold)),
        ("cancelledForAgent", maybe_time(handle.cancelled_for_agent)),
        ("failedForAgent", handle.failed_for_agent.as_deref().map_or(Value::Null, Value::from)),
        ("parent", handle.parent.map_or(Value::Null, |of| json!({ "id": of.id.to_string(), "why": of.why.word() }))),
        ("trace", handle.trace.as_deref().map_or(Value::Null, Value::from)),
        ("job", handle.job.as_ref().map_or(Value::Null, |job| job.as_str().into())),
        ("attempt", if handle.attempt > 1 { handle.attempt.into() } else { Value::Null }),
        ("agentTtl", handle.agent_ttl.map_or(Value::Null, span)),
    ];
    body.extend(parts.into_iter().filter(|(_, part)| !part.is_null()).map(|(name, part)| (name.to_owned(), part)));
}

/// Reads these parts into a handle.
pub(crate) fn read(fields: &Fields<'_>, handle: &mut TaskHandle) -> Read<()> {
    handle.seat = fields.get("seat").map(|_| fields.parsed("seat")).transpose()?;
    handle.given = fields.maybe_time("given")?;
    handle.undelivered = fields.maybe_time("undelivered")?;
    handle.orphaned = fields.maybe_time("orphaned")?;
    handle.hold = fields.maybe_inner("hold", read_hold)?;
    handle.cancelled_for_agent = fields.maybe_time("cancelledForAgent")?;
    handle.failed_for_agent = fields.maybe_text("failedForAgent")?.map(Into::into);
    handle.parent = fields.maybe_inner("parent", read_parent)?;
    handle.trace = fields.maybe_text("trace")?.map(Into::into);
    handle.job = fields.maybe_text("job")?.map(JobKey::new);
    handle.attempt = fields.get("attempt").map_or(Ok(1), |_| fields.u32("attempt"))?;
    handle.agent_ttl = fields.get("agentTtl").map(|_| fields.span("agentTtl")).transpose()?;
    Ok(())
}
