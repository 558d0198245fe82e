//! The steps that people took to end a task, and what was seen of its processes, as a part of the task's body.
//!
//! Reasons of people are in here, so it is in the sealed body only. Rows from before escalation have none of it.

use domain::task::decider::Decider;
use domain::task::{Escalation, EscalationStep, LeftProcess, ProcessEnd, StepDone, TakenStep};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::codec::form::{As, ListOf, Maybe, OlderRows, mirrors};
use crate::codec::primitive::{EncodedWord, Millis, Text};

#[derive(Serialize, Deserialize)]
#[serde(remote = "StepDone", rename_all = "camelCase")]
struct StepDoneDef {
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    other_tasks: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TakenStep")]
struct TakenStepDef {
    #[serde(with = "As::<EncodedWord<EscalationStep>>")]
    step: EscalationStep,
    #[serde(with = "As::<Text<Decider>>")]
    by: Decider,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    reason: Option<String>,
    #[serde(default, with = "As::<Maybe<StepDoneDef>>")]
    done: Option<StepDone>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LeftProcess", rename_all = "camelCase")]
struct LeftProcessDef {
    pid: u32,
    name: String,
    is_foreign: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProcessEnd", tag = "is", rename_all = "camelCase")]
enum ProcessEndDef {
    Gone {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        ended: u32,
    },
    Left {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        ended: u32,
        left: u32,
        #[serde(with = "As::<ListOf<LeftProcessDef>>")]
        named: Vec<LeftProcess>,
    },
    NotObserved {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Escalation", rename_all = "camelCase")]
pub(crate) struct EscalationDef {
    #[serde(with = "As::<ListOf<TakenStepDef>>")]
    steps: Vec<TakenStep>,
    #[serde(default, with = "As::<Maybe<ProcessEndDef>>")]
    process_end: Option<ProcessEnd>,
}

impl OlderRows for EscalationDef {
    fn without() -> Escalation {
        Escalation::default()
    }
}

mirrors! {
    StepDoneDef => StepDone;
    TakenStepDef => TakenStep;
    LeftProcessDef => LeftProcess;
    ProcessEndDef => ProcessEnd;
    EscalationDef => Escalation;
}
