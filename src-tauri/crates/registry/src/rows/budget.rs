//! Figures and limits of tokens as JSON: what a task costs, how large things may be, how an agent is counted.
//!
//! Parts of the bodies of tasks, rules and agents; no text of servers is in them. What they mean is in
//! `domain::tokens`, `domain::rule` and `domain::budget::window`; a whole window is in `window.rs`.

use domain::task::OverLimit;
use domain::ids::PersonId;
use domain::rule::{LimitAction, TokenLimit};
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use domain::budget::window::CountingSettings;
use serde_json::{Value, json};

use super::{Fields, Flaw, Read, time};

/// Reads a family's word.
pub(crate) fn read_family(word: &str) -> Read<Family> {
    Family::from_word(word).ok_or_else(|| Flaw::word("family", word))
}

fn read_exactness(word: &str) -> Read<Exactness> {
    Exactness::from_word(word).ok_or_else(|| Flaw::word("exactness", word))
}

/// Writes a figure.
pub(crate) fn count(count: Count) -> Value {
    json!([count.tokens, count.exactness.word()])
}

/// Reads a figure.
pub(crate) fn read_count(value: &Value, name: &str) -> Read<Count> {
    let flaw = || Flaw::new(name, "is not a figure");
    let (tokens, exactness) = match value.as_array().map(Vec::as_slice) {
        Some([tokens, exactness]) => tokens.as_u64().zip(exactness.as_str()).ok_or_else(flaw)?,
        _ => return Err(flaw()),
    };
    Ok(Count { tokens, exactness: read_exactness(exactness)? })
}

/// Writes a limit.
pub(crate) fn limit(limit: TokenLimit) -> Value {
    json!({ "tokens": limit.tokens, "at": limit.at.word() })
}

/// Reads a limit.
pub(crate) fn read_limit(fields: Fields<'_>) -> Read<TokenLimit> {
    let at = fields.text("at")?;
    Ok(TokenLimit { tokens: fields.u64("tokens")?, at: LimitAction::from_word(at).ok_or_else(|| Flaw::word("at", at))? })
}

/// Writes what a task costs.
pub(crate) fn tokens(tokens: TaskTokens) -> Value {
    let TaskTokens { family, exactness, arguments, handle, interim, result, in_window, delivered, .. } = tokens;
    let TaskTokens { delivered_in_window, unsaid, .. } = tokens;
    json!({
        "family": family.word(),
        "exactness": exactness.word(),
        "arguments": arguments,
        "handle": handle,
        "interim": interim,
        "result": result,
        "inWindow": in_window.map(count),
        "delivered": delivered,
        "deliveredInWindow": delivered_in_window,
        "unsaid": unsaid,
    })
}

/// Reads what a task costs.
pub(crate) fn read_tokens(fields: Fields<'_>) -> Read<TaskTokens> {
    let exactness = read_exactness(fields.text("exactness")?)?;
    let (result, delivered) =
        (fields.get("result").map(|_| fields.u64("result")).transpose()?, fields.u64("delivered")?);
    // Written since there are two figures; before, all that was passed stood in the window.
    let (in_window, delivered_in_window) = match fields.get("deliveredInWindow") {
        Some(_) => {
            let in_window = fields.get("inWindow").map(|value| read_count(value, "inWindow")).transpose()?;
            (in_window, fields.u64("deliveredInWindow")?)
        }
        None => (result.map(|tokens| Count { tokens, exactness }), delivered),
    };
    Ok(TaskTokens {
        family: read_family(fields.text("family")?)?,
        exactness,
        arguments: fields.u64("arguments")?,
        handle: fields.u64("handle")?,
        interim: fields.u64("interim")?,
        result,
        in_window,
        delivered,
        delivered_in_window,
        // Written since limits count what makers do not say.
        unsaid: fields.get("unsaid").map_or(Ok(0), |_| fields.u64("unsaid"))?,
    })
}

/// Writes that a task went past its limit.
pub(crate) fn over(over: &OverLimit) -> Value {
    let OverLimit { tokens, limit: allowed, at, settled } = over;
    json!({
        "tokens": tokens,
        "limit": limit(*allowed),
        "at": time(*at),
        "settled": settled.as_ref().map(|(by, at)| json!({ "by": by.as_str(), "at": time(*at) })),
    })
}

/// Reads that a task went past its limit.
pub(crate) fn read_over(fields: Fields<'_>) -> Read<OverLimit> {
    let settled = |fields: Fields<'_>| Ok((PersonId::new(fields.text("by")?), fields.time("at")?));
    Ok(OverLimit {
        tokens: fields.u64("tokens")?,
        limit: fields.inner("limit", read_limit)?,
        at: fields.time("at")?,
        settled: fields.maybe_inner("settled", settled)?,
    })
}

/// Writes how an agent is counted; `None` where nothing was set.
pub(crate) fn meter(meter: &CountingSettings) -> Option<Value> {
    let CountingSettings { model, family, window, program } = meter;
    let (family, program) = (family.map(Family::word), program.as_deref());
    let set = *meter != CountingSettings::default();
    set.then(|| json!({ "model": model.as_deref(), "family": family, "window": window, "program": program }))
}

/// Reads how an agent is counted.
pub(crate) fn read_meter(value: &Value) -> Read<CountingSettings> {
    let fields = Fields::of(value, "meter")?;
    Ok(CountingSettings {
        model: fields.maybe_text("model")?.map(Into::into),
        family: fields.maybe_text("family")?.map(read_family).transpose()?,
        window: fields.get("window").map(|_| fields.u64("window")).transpose()?,
        // Written since a person can say which program an agent is.
        program: fields.maybe_text("program")?.map(Into::into),
    })
}
