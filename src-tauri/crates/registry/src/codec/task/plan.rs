//! A plan as a JSON body; its id and its tasks are columns of its row.
//!
//! Reasons are as private as those in the audit log, and stay readable. What a plan is: `domain::task::cancel::plan`.

use std::sync::Arc;

use domain::ids::{HandleId, OperationId, PlanId};
use domain::task::cancel::plan::{BulkAct, BulkOperation, BulkPlan, LeftOut};
use domain::task::decider::Decider;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::codec::form::{As, ListOf, Maybe, column, mirrors};
use crate::codec::primitive::{EncodedWord, IdText, Millis, Text};

#[derive(Serialize, Deserialize)]
#[serde(remote = "LeftOut", rename_all = "camelCase")]
struct LeftOutDef {
    #[serde(with = "As::<IdText<HandleId>>")]
    task: HandleId,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "BulkOperation", rename_all = "camelCase")]
struct OperationDef {
    #[serde(with = "As::<IdText<OperationId>>")]
    id: OperationId,
    #[serde(with = "As::<Text<Decider>>")]
    by: Decider,
    #[serde(default)]
    reason: Option<String>,
    #[serde(with = "As::<Millis>")]
    begun: Timestamp,
    next_index: usize,
    #[serde(with = "As::<ListOf<LeftOutDef>>")]
    left_out: Vec<LeftOut>,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    ended: Option<Timestamp>,
    #[serde(default)]
    cut_short: Option<String>,
}

/// The body of a plan; its id and its tasks are columns of its row.
#[derive(Serialize, Deserialize)]
#[serde(remote = "BulkPlan", rename_all = "camelCase")]
pub(crate) struct PlanDef {
    #[serde(skip, default = "column")]
    id: PlanId,
    #[serde(with = "As::<EncodedWord<BulkAct>>")]
    act: BulkAct,
    #[serde(with = "As::<Text<Decider>>")]
    by: Decider,
    filter: String,
    #[serde(skip)]
    tasks: Arc<[HandleId]>,
    #[serde(with = "As::<Millis>")]
    created: Timestamp,
    #[serde(with = "As::<Millis>")]
    expires: Timestamp,
    #[serde(default, with = "As::<Maybe<OperationDef>>")]
    operation: Option<BulkOperation>,
}

mirrors! {
    LeftOutDef => LeftOut;
    OperationDef => BulkOperation;
    PlanDef => BulkPlan;
}
