//! A control token as a JSON body; its id, its digest and when it was revoked are columns of its row.
//!
//! What a control token means is in `domain::agent::control_token`.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::agent::TokenDigest;
use domain::agent::control_token::{ControlReach, ControlScope, ControlToken, ReachedTool};
use domain::ids::{AgentId, ControlTokenId, PersonId, ServerId};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::codec::form::{As, Maybe, SetOf, column, mirrors};
use crate::codec::primitive::{EncodedWord, IdText, Millis, Text};

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReachedTool", rename_all = "camelCase")]
struct ReachedToolDef {
    #[serde(with = "As::<IdText<ServerId>>")]
    server: ServerId,
    tool: Arc<str>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ControlReach", rename_all = "camelCase")]
struct ReachDef {
    #[serde(with = "As::<SetOf<IdText<AgentId>>>")]
    agents: BTreeSet<AgentId>,
    #[serde(with = "As::<SetOf<IdText<ServerId>>>")]
    servers: BTreeSet<ServerId>,
    #[serde(with = "As::<SetOf<ReachedToolDef>>")]
    tools: BTreeSet<ReachedTool>,
    own_tasks: bool,
}

/// The body of a control token; a condition that is missing must not read as none, so nothing has a default but what is
/// null.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ControlToken", rename_all = "camelCase")]
pub(crate) struct ControlTokenDef {
    #[serde(skip, default = "column")]
    id: ControlTokenId,
    name: String,
    #[serde(skip, default = "column")]
    digest: TokenDigest,
    #[serde(with = "As::<SetOf<EncodedWord<ControlScope>>>")]
    scopes: BTreeSet<ControlScope>,
    #[serde(with = "As::<ReachDef>")]
    reach: ControlReach,
    #[serde(with = "As::<Maybe<IdText<AgentId>>>")]
    owner: Option<AgentId>,
    per_call: u32,
    per_hour: u32,
    needs_reason: bool,
    needs_plan: bool,
    #[serde(with = "As::<Millis>")]
    created: Timestamp,
    #[serde(with = "As::<Text<PersonId>>")]
    by: PersonId,
    #[serde(with = "As::<Maybe<Millis>>")]
    until: Option<Timestamp>,
    #[serde(skip)]
    revoked: Option<Timestamp>,
}

mirrors! {
    ReachedToolDef => ReachedTool;
    ReachDef => ControlReach;
    ControlTokenDef => ControlToken;
}
