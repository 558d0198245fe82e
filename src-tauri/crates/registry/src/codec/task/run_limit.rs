//! Limits of time: as a rule sets one, and as a task has them. Rows from before there were any have none.
//!
//! Names of people are in here, so those of a task are in its sealed body only. What they mean is in `domain::rule` and
//! `domain::task`.

use std::time::Duration;

use domain::ids::PersonId;
use domain::rule::{RuleLevel, RuleSource, RunAction, RunLimit};
use domain::task::{TaskRunLimit, TaskRunLimits};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::codec::form::{As, Maybe, OlderRows, mirrors};
use crate::codec::primitive::{EncodedWord, Millis, Span};
use crate::codec::tokens::Settled;

#[derive(Serialize, Deserialize)]
#[serde(remote = "RunLimit")]
pub(crate) struct RunLimitDef {
    #[serde(with = "As::<Span>")]
    allowed: Duration,
    #[serde(with = "As::<EncodedWord<RunAction>>")]
    action: RunAction,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RuleSource")]
struct RuleSourceDef {
    #[serde(with = "As::<EncodedWord<RuleLevel>>")]
    level: RuleLevel,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskRunLimit")]
struct TaskRunLimitDef {
    #[serde(with = "As::<Span>")]
    agreed: Duration,
    #[serde(with = "As::<Span>")]
    allowed: Duration,
    #[serde(with = "As::<EncodedWord<RunAction>>")]
    action: RunAction,
    #[serde(with = "RuleSourceDef")]
    rule: RuleSource,
    #[serde(with = "As::<Millis>")]
    due: Timestamp,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    reached: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Settled>>")]
    removed: Option<(PersonId, Timestamp)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskRunLimits")]
pub(crate) struct TaskRunLimitsDef {
    #[serde(default, with = "As::<Maybe<TaskRunLimitDef>>")]
    time: Option<TaskRunLimit>,
    #[serde(default, with = "As::<Maybe<TaskRunLimitDef>>")]
    progress: Option<TaskRunLimit>,
}

impl OlderRows for TaskRunLimitsDef {
    fn without() -> TaskRunLimits {
        TaskRunLimits::default()
    }
}

mirrors! {
    RunLimitDef => RunLimit;
    RuleSourceDef => RuleSource;
    TaskRunLimitDef => TaskRunLimit;
    TaskRunLimitsDef => TaskRunLimits;
}
