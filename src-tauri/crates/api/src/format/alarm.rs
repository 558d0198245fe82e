//! An alarm as one sentence, for the command line and for notifications.
//!
//! Names of tools are servers' words: they are cut before they come here.

use super::time::{count as many, span_ms};
use crate::dto::alarm::{AlarmDto, AlarmKindDto};
use crate::dto::moment;

/// What the agent did.
#[must_use]
pub fn what(alarm: &AlarmDto) -> String {
    let AlarmDto { agent, count, kind, .. } = alarm;
    match kind {
        AlarmKindDto::SameCall => format!("{agent} made the same call {count} times in {}", length(alarm)),
        AlarmKindDto::Alternating => format!("{agent} made two calls in turn, {count} in {}", length(alarm)),
        AlarmKindDto::SameError => format!("{agent} got the same error {count} times in {}", length(alarm)),
        AlarmKindDto::CallRate => format!("{agent} made {} in a minute", many(u64::from(*count), "call")),
        AlarmKindDto::OpenCalls => format!("{agent} had {} in flight at once", many(u64::from(*count), "call")),
    }
}

/// What it called.
#[must_use]
pub fn called(alarm: &AlarmDto) -> String {
    let AlarmDto { server, tool, kind, .. } = alarm;
    match (kind, &alarm.other) {
        (_, Some(other)) => format!("{tool} of {server}, {} of {}", other.tool, other.server),
        (AlarmKindDto::CallRate | AlarmKindDto::OpenCalls, None) => format!("most of them {tool} of {server}"),
        (AlarmKindDto::SameCall | AlarmKindDto::Alternating | AlarmKindDto::SameError, None) => {
            format!("{tool} of {server}")
        }
    }
}

fn length(alarm: &AlarmDto) -> String {
    let span = moment(&alarm.last_at).zip(moment(&alarm.since)).map(|(last, since)| last.since(since));
    span_ms(span.map_or(0, crate::dto::millis))
}
