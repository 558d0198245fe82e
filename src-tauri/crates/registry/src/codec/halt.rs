//! A halt as a JSON body; its id is the key of its row.
//!
//! Reasons are as private as those in the audit log, and stay readable. What a halt means is in `domain::server::halt`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::ids::{HaltId, PersonId, ServerId};
use domain::server::halt::{
    ConfirmedTool, Halt, HaltEffect, HaltOrder, HaltSubject, HaltedBy, RecoveryStage, RecoveryStep,
};
use domain::time::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{As, ListOf, Maybe, Mirror, SetOf, column, mirrors};
use super::primitive::{EncodedWord, IdText, Millis, ObjectOf, Text};

/// `everything`, `server:ID`, `agent:ID` or `tool:ID:NAME`.
struct SubjectText;

impl Mirror for SubjectText {
    type Of = HaltSubject;

    fn write<S: Serializer>(value: &HaltSubject, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            HaltSubject::Everything => serializer.serialize_str("everything"),
            HaltSubject::Server(id) => serializer.collect_str(&format_args!("server:{id}")),
            HaltSubject::Agent(id) => serializer.collect_str(&format_args!("agent:{id}")),
            HaltSubject::Tool(id, tool) => serializer.collect_str(&format_args!("tool:{id}:{tool}")),
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HaltSubject, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || D::Error::custom("does not read");
        if text == "everything" {
            return Ok(HaltSubject::Everything);
        }
        match text.split_once(':').ok_or_else(bad)? {
            ("server", id) => id.parse().map(HaltSubject::Server).map_err(|_| bad()),
            ("agent", id) => id.parse().map(HaltSubject::Agent).map_err(|_| bad()),
            ("tool", rest) => {
                let (id, tool) = rest.split_once(':').ok_or_else(bad)?;
                Ok(HaltSubject::Tool(id.parse().map_err(|_| bad())?, tool.into()))
            }
            _ => Err(bad()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HaltOrder", rename_all = "camelCase")]
struct OrderDef {
    #[serde(with = "As::<SubjectText>")]
    subject: HaltSubject,
    #[serde(with = "As::<SetOf<EncodedWord<HaltEffect>>>")]
    effects: BTreeSet<HaltEffect>,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(default, with = "As::<Maybe<Text<HaltedBy>>>")]
    by: Option<HaltedBy>,
    reason: String,
    #[serde(with = "As::<ObjectOf<HaltEffect, Millis>>")]
    lifted: BTreeMap<HaltEffect, Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RecoveryStep", rename_all = "camelCase")]
struct StepDef {
    #[serde(with = "As::<EncodedWord<RecoveryStage>>")]
    stage: RecoveryStage,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(with = "As::<Text<PersonId>>")]
    by: PersonId,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ConfirmedTool", rename_all = "camelCase")]
struct ConfirmedDef {
    #[serde(with = "As::<IdText<ServerId>>")]
    server: ServerId,
    tool: Arc<str>,
    digest: String,
}

/// The body of a halt; its id is the key of its row.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Halt", rename_all = "camelCase")]
pub(crate) struct HaltDef {
    #[serde(skip, default = "column")]
    id: HaltId,
    #[serde(with = "As::<ListOf<OrderDef>>")]
    orders: Vec<HaltOrder>,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    closed_at: Option<Timestamp>,
    #[serde(with = "As::<ListOf<StepDef>>")]
    steps: Vec<RecoveryStep>,
    #[serde(with = "As::<ListOf<ConfirmedDef>>")]
    confirmed: Vec<ConfirmedTool>,
}

mirrors! {
    OrderDef => HaltOrder;
    StepDef => RecoveryStep;
    ConfirmedDef => ConfirmedTool;
    HaltDef => Halt;
}
