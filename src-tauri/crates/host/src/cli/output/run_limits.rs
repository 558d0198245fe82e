//! Limits of time of a task in words, for its description and for the inbox.
//!
//! What happens at a limit is the core's decision.

use api::dto::task::run_limit::{AtRunLimit, RunLimitKind, TaskRunLimitDto};
use api::format::time;

use super::sentences::one_line;

/// `running 41 min, agreed 30 min`.
pub(crate) fn reached(limit: &TaskRunLimitDto) -> String {
    let (spent, allowed) = (time::span_ms(limit.spent_ms), time::span_ms(limit.allowed_ms));
    match limit.kind {
        RunLimitKind::Time => format!("running {spent}, agreed {allowed}"),
        RunLimitKind::Progress => format!("no progress for {spent}, agreed {allowed}"),
    }
}

/// The commands that decide about a task at a limit that asks.
pub(crate) fn decide_command(id: &str, limit: &TaskRunLimitDto) -> String {
    let which = match limit.kind {
        RunLimitKind::Time => "",
        RunLimitKind::Progress => " --progress",
    };
    format!("taskwarden tasks allow-time {id}{which} --more 30min, or --unlimited; or taskwarden tasks cancel {id}")
}

/// A limit of a task in one line of its description.
pub(crate) fn line(limit: &TaskRunLimitDto, id: &str) -> String {
    let name = match limit.kind {
        RunLimitKind::Time => "time limit",
        RunLimitKind::Progress => "progress limit",
    };
    let allowed = time::span_ms(limit.allowed_ms);
    let state = match (&limit.removed_by, &limit.reached_at, limit.asks, limit.at) {
        (Some(by), ..) => format!("removed by {}", one_line(by)),
        (None, Some(_), true, _) => format!("reached; {}", decide_command(id, limit)),
        (None, Some(_), false, AtRunLimit::Cancel) => "reached, and cancelled the task".to_owned(),
        (None, Some(_), false, AtRunLimit::Warn | AtRunLimit::Ask) => "reached".to_owned(),
        (None, None, _, at) => format!("{} so far, then {at}", time::span_ms(limit.spent_ms)),
    };
    let rule = format!("rule of its {}, version {}", limit.rule_level, limit.rule_version);
    format!("{name} {allowed} ({rule}): {state}")
}
