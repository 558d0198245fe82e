//! What was observed of each step to end a task, in sentences for the window and the command line.
//!
//! It decides nothing: which step may be taken, and what counts as stopped, is the domain's.

use domain::ports::CancelFacts;
use domain::task::status::{CancelRequest, CancelState, SentCancel};
use domain::task::{EscalationStep, ProcessEnd, TakenStep, TaskHandle};
use domain::time::Timestamp;

use crate::dto::task::escalation::{CancelRecordDto, ProcessEndDto, TakenStepDto};
use crate::dto::{iso, millis};
use crate::format::time::{count, span_ms};

impl CancelRecordDto {
    /// The record of a server, without the request of this task while that is open.
    pub(crate) fn of(facts: CancelFacts, server: &str, task: &TaskHandle) -> Option<Self> {
        let own = task.sent_cancel().filter(|_| task.ended_at().is_none());
        let asked = facts.asked.saturating_sub(u64::from(matches!(own, Some(SentCancel::OfTask(_)))));
        let no_reply = facts.no_reply.saturating_sub(u64::from(own == Some(SentCancel::OfCall)));
        if asked == 0 {
            return None;
        }
        let half = facts.median_ms.map(|median| format!(", half within {}", seconds(median))).unwrap_or_default();
        let cancels = if asked == 1 { "cancel" } else { "cancels" };
        let silent = if no_reply == 0 {
            String::new()
        } else {
            format!("; {no_reply} more without a task, to which MCP has no reply")
        };
        let sentence = format!("{server} obeyed {} of {asked} {cancels}{half}{silent}", facts.stopped);
        Some(Self { asked, obeyed: facts.stopped, median_ms: facts.median_ms, sentence })
    }
}

/// `2.1 s`; from a minute on as everywhere else.
fn seconds(millis: u64) -> String {
    /// Below it, tenths of a second are shown.
    const TENTHS_BELOW_MS: u64 = 60_000;
    if millis >= TENTHS_BELOW_MS {
        return span_ms(millis);
    }
    let tenths = (millis + 50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

impl TakenStepDto {
    pub(crate) fn of(taken: &TakenStep, task: &TaskHandle, server: &str) -> Self {
        let is_last = taken.step == EscalationStep::ShutDown;
        let processes = task.escalation.process_end.as_ref().filter(|_| is_last);
        Self {
            number: taken.step.number(),
            step: taken.step.into(),
            at: iso(taken.at),
            by: taken.by.name(),
            by_name: None,
            reason: taken.reason.clone(),
            evidence: evidence(taken, task, server),
            // A task that is over waits for nothing: then nobody saw it.
            pending: taken.done.is_none() && task.ended_at().is_none(),
            other_tasks: taken.done.map_or(0, |done| done.other_tasks),
            processes: processes.map(ProcessEndDto::from),
        }
    }
}

fn evidence(taken: &TakenStep, task: &TaskHandle, server: &str) -> String {
    match (taken.step, taken.done) {
        (EscalationStep::Cancel, _) => cancel_evidence(task, server),
        (EscalationStep::HoldResult, _) => "the agent sees it as still working".into(),
        (EscalationStep::Revoke, _) => "the agent does not know the handle any more".into(),
        (EscalationStep::RevokeAgent, Some(done)) => match done.other_tasks {
            0 => "the agent has no access any more; it had no other open task".into(),
            tasks => format!("the agent has no access any more; {} asked to cancel", were(tasks, "other task")),
        },
        (EscalationStep::RevokeAgent, None) => "recorded, not done yet".into(),
        (EscalationStep::ShutDown, _) => match &task.escalation.process_end {
            Some(end) => process_evidence(end),
            None if task.ended_at().is_some() => "not known: nobody saw what became of its processes".into(),
            None => "recorded; its processes are being ended".into(),
        },
    }
}

fn cancel_evidence(task: &TaskHandle, server: &str) -> String {
    let Some(request) = task.cancel_request() else { return "no request is open".into() };
    let after = |at: Option<Timestamp>, request: &CancelRequest| {
        at.map(|at| format!(" after {}", seconds(millis(at.since(request.at))))).unwrap_or_default()
    };
    match task.stop_state() {
        Some(CancelState::Asked) if request.sent.is_none() => format!("recorded, not sent to {server} yet"),
        Some(CancelState::Asked) => format!("sent, {server} has not answered"),
        Some(CancelState::Acknowledged) => {
            format!("acknowledged by {server}{}, not reported as ended", after(request.acknowledged_at(), request))
        }
        Some(CancelState::Stopped) => format!("{server} says it cancelled it{}", after(task.ended_at(), request)),
        Some(CancelState::EndedHere) => format!("the call did not run, so {server} was not asked"),
        Some(CancelState::FinishedAnyway) => "finished anyway".into(),
        Some(CancelState::Refused) if request.sent.is_none() => format!("could not be sent to {server}"),
        Some(CancelState::Refused) => format!("refused by {server}"),
        None => "no request is open".into(),
    }
}

fn process_evidence(end: &ProcessEnd) -> String {
    match end {
        ProcessEnd::Gone { ended, .. } => {
            let noun = if *ended == 1 { "process" } else { "processes" };
            format!("{ended} {noun} ended, none is left")
        }
        ProcessEnd::Left { ended, left, named, .. } => {
            let names: Vec<String> = named
                .iter()
                .map(|process| {
                    let whose =
                        if process.is_foreign { ", which belongs to somebody else and was not touched" } else { "" };
                    format!("{} ({}{whose})", process.pid, process.name)
                })
                .collect();
            format!("{ended} ended, {left} left: {}", names.join(", "))
        }
        ProcessEnd::NotObserved { why, .. } => format!("not observed: {why}"),
    }
}

/// `2 other tasks were`.
fn were(many: u64, noun: &str) -> String {
    format!("{} {}", count(many, noun), if many == 1 { "was" } else { "were" })
}
