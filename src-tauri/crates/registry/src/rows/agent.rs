//! What passes between a task and its agent, as parts of the task's body.
//!
//! Tasks from before the gateway have none of it: what is missing reads as nothing known, and only here (the other
//! encodings refuse a missing field); a hold without a reason is one for review, a delivery without a form is whole. A
//! hold's reason is in the sealed body. Columns for lists are in `sqlite/unit.rs`.

use domain::client::profile;
use domain::task::{HoldReason, HoldVerdict, Parent, ParentWhy, QuestionRef, ResultForm, ResultHold, SharedQuestions, TaskHandle};
use domain::ids::{JobKey, PersonId, RequestKey};
use serde_json::{Map, Value, json};

use super::budget::{over, read_over, read_tokens, tokens};
use super::{Fields, Flaw, Read, maybe_time, span, time};

fn hold(hold: &ResultHold) -> Value {
    let ResultHold { by, at, why: because, verdict: decided } = hold;
    json!({
        "by": by.as_ref().map(PersonId::as_str),
        "at": time(*at),
        "why": why(*because),
        "verdict": decided.as_ref().map(verdict),
    })
}

fn why(why: HoldReason) -> Value {
    match why {
        HoldReason::Review => json!({ "is": "review" }),
        HoldReason::TooLarge { tokens, limit } => json!({ "is": "tooLarge", "tokens": tokens, "limit": limit }),
        HoldReason::DoesNotFit { tokens, free } => json!({ "is": "doesNotFit", "tokens": tokens, "free": free }),
        HoldReason::WouldBeCut { tokens, shown, program } => {
            json!({ "is": "wouldBeCut", "tokens": tokens, "shown": shown, "program": program.word })
        }
    }
}

fn read_why(fields: Fields<'_>) -> Read<HoldReason> {
    match fields.text("is")? {
        "review" => Ok(HoldReason::Review),
        "tooLarge" => Ok(HoldReason::TooLarge { tokens: fields.u64("tokens")?, limit: fields.u64("limit")? }),
        "wouldBeCut" => Ok(HoldReason::WouldBeCut {
            tokens: fields.u64("tokens")?,
            shown: fields.u64("shown")?,
            program: profile::of_word(fields.text("program")?).unwrap_or(&profile::UNKNOWN),
        }),
        "doesNotFit" => Ok(HoldReason::DoesNotFit { tokens: fields.u64("tokens")?, free: fields.u64("free")? }),
        other => Err(Flaw::word("is", other)),
    }
}

fn form(form: ResultForm) -> Value {
    match form {
        ResultForm::Whole => json!({ "is": "whole" }),
        ResultForm::Slices => json!({ "is": "slices" }),
        ResultForm::Trimmed { tokens } => json!({ "is": "trimmed", "tokens": tokens }),
    }
}

fn read_form(fields: Fields<'_>) -> Read<ResultForm> {
    match fields.text("is")? {
        "whole" => Ok(ResultForm::Whole),
        "slices" => Ok(ResultForm::Slices),
        "trimmed" => Ok(ResultForm::Trimmed { tokens: fields.u64("tokens")? }),
        other => Err(Flaw::word("is", other)),
    }
}

fn verdict(verdict: &HoldVerdict) -> Value {
    match verdict {
        HoldVerdict::ByLimit { at } => json!({ "is": "byLimit", "at": time(*at) }),
        HoldVerdict::Deliver { by, at, form: how } => {
            json!({ "is": "deliver", "by": by.as_str(), "at": time(*at), "form": form(*how) })
        }
        HoldVerdict::Withhold { by, at, reason, shown } => {
            json!({ "is": "withhold", "by": by.as_str(), "at": time(*at), "reason": reason, "shown": shown })
        }
    }
}

fn read_verdict(fields: Fields<'_>) -> Read<HoldVerdict> {
    let at = fields.time("at")?;
    let by = || fields.text("by").map(PersonId::new);
    match fields.text("is")? {
        "byLimit" => Ok(HoldVerdict::ByLimit { at }),
        "deliver" => {
            let form = fields.maybe_inner("form", read_form)?.unwrap_or(ResultForm::Whole);
            Ok(HoldVerdict::Deliver { by: by()?, at, form })
        }
        "withhold" => {
            let reason = fields.maybe_text("reason")?.map(Into::into);
            let shown = fields.get("shown").map_or(Ok(false), |_| fields.flag("shown"))?;
            Ok(HoldVerdict::Withhold { by: by()?, at, reason, shown })
        }
        other => Err(Flaw::word("is", other)),
    }
}

fn read_hold(fields: Fields<'_>) -> Read<ResultHold> {
    Ok(ResultHold {
        by: fields.maybe_text("by")?.map(PersonId::new),
        at: fields.time("at")?,
        why: fields.maybe_inner("why", read_why)?.unwrap_or(HoldReason::Review),
        verdict: fields.maybe_inner("verdict", read_verdict)?,
    })
}

fn read_parent(fields: Fields<'_>) -> Read<Parent> {
    let why = fields.text("why")?;
    Ok(Parent { id: fields.parsed("id")?, why: ParentWhy::from_word(why).ok_or_else(|| Flaw::word("why", why))? })
}

fn shared(shared: &SharedQuestions) -> Value {
    let SharedQuestions { stored, elsewhere } = shared;
    if stored.is_empty() && elsewhere.is_empty() {
        return Value::Null;
    }
    let stored = stored.iter().map(|(key, others)| {
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        json!({ "key": key.as_str(), "others": others })
    });
    let elsewhere =
        elsewhere.iter().map(|question| json!({ "task": question.task.to_string(), "key": question.key.as_str() }));
    json!({ "stored": stored.collect::<Vec<_>>(), "elsewhere": elsewhere.collect::<Vec<_>>() })
}

fn read_shared(fields: Fields<'_>) -> Read<SharedQuestions> {
    let list = |name: &'static str| {
        fields.raw(name)?.as_array().map(Vec::as_slice).ok_or_else(|| Flaw::new(name, "is not a list"))
    };
    let mut read = SharedQuestions::default();
    for one in list("stored")? {
        let one = Fields::of(one, "stored")?;
        let others = one.texts("others")?;
        let others = others.iter().map(|id| id.parse().map_err(|_| Flaw::new("others", "does not read as an id")));
        read.stored.insert(RequestKey::new(one.text("key")?), others.collect::<Read<_>>()?);
    }
    for one in list("elsewhere")? {
        let one = Fields::of(one, "elsewhere")?;
        read.elsewhere.insert(QuestionRef { task: one.parsed("task")?, key: RequestKey::new(one.text("key")?) });
    }
    Ok(read)
}

/// Adds these parts to the body of a handle. What is nothing is left out, so that a person's task is no longer for it.
pub(crate) fn write(handle: &TaskHandle, body: &mut Map<String, Value>) {
    let parts = [
        ("seat", handle.seat.map_or(Value::Null, |id| id.to_string().into())),
        ("given", maybe_time(handle.given)),
        ("undelivered", maybe_time(handle.undelivered)),
        ("orphaned", maybe_time(handle.orphaned)),
        ("hold", handle.hold.as_ref().map_or(Value::Null, hold)),
        ("tokens", handle.tokens.map_or(Value::Null, tokens)),
        ("overLimit", handle.over_limit.as_ref().map_or(Value::Null, over)),
        ("cancelledForAgent", maybe_time(handle.cancelled_for_agent)),
        ("failedForAgent", handle.failed_for_agent.as_deref().map_or(Value::Null, Value::from)),
        ("parent", handle.parent.map_or(Value::Null, |of| json!({ "id": of.id.to_string(), "why": of.why.word() }))),
        ("trace", handle.trace.as_deref().map_or(Value::Null, Value::from)),
        ("job", handle.job.as_ref().map_or(Value::Null, |job| job.as_str().into())),
        ("attempt", if handle.attempt > 1 { handle.attempt.into() } else { Value::Null }),
        ("shared", shared(&handle.shared)),
        ("moreQuestions", if handle.more_questions > 0 { handle.more_questions.into() } else { Value::Null }),
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
    handle.tokens = fields.maybe_inner("tokens", read_tokens)?;
    handle.over_limit = fields.maybe_inner("overLimit", read_over)?;
    handle.cancelled_for_agent = fields.maybe_time("cancelledForAgent")?;
    handle.failed_for_agent = fields.maybe_text("failedForAgent")?.map(Into::into);
    handle.parent = fields.maybe_inner("parent", read_parent)?;
    handle.trace = fields.maybe_text("trace")?.map(Into::into);
    handle.job = fields.maybe_text("job")?.map(JobKey::new);
    handle.attempt = fields.get("attempt").map_or(Ok(1), |_| fields.u32("attempt"))?;
    handle.shared = fields.maybe_inner("shared", read_shared)?.unwrap_or_default();
    handle.more_questions = fields.get("moreQuestions").map_or(Ok(0), |_| fields.u32("moreQuestions"))?;
    handle.agent_ttl = fields.get("agentTtl").map(|_| fields.span("agentTtl")).transpose()?;
    Ok(())
}
