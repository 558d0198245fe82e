//! What passes between a task and its agent, as parts of the task's body.
//!
//! Rows from before the gateway have none of it. A hold without a reason is one for review, a delivery without a form is
//! whole. The reason of a hold is in the sealed body; the columns of lists are in `sqlite/tables/task_row.rs`.

use std::collections::BTreeSet;

use domain::client::profile::ClientProfile;
use domain::ids::{HandleId, PersonId, RequestKey};
use domain::task::{HoldReason, HoldVerdict, Parent, ParentWhy, QuestionRef, ResultForm, ResultHold, SharedQuestions};
use domain::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{As, Maybe, Mirror, Newer, OlderRows, SetOf, mirrors, zero_if_null};
use super::primitive::{EncodedWord, IdText, Millis, Text};

#[derive(Serialize, Deserialize)]
#[serde(remote = "HoldReason", tag = "is", rename_all = "camelCase")]
enum HoldWhyDef {
    Review,
    TooLarge {
        tokens: u64,
        limit: u64,
    },
    DoesNotFit {
        tokens: u64,
        free: u64,
    },
    WouldBeCut {
        tokens: u64,
        shown: u64,
        #[serde(with = "As::<EncodedWord<&'static ClientProfile>>")]
        program: &'static ClientProfile,
    },
}

impl OlderRows for HoldWhyDef {
    fn without() -> HoldReason {
        HoldReason::Review
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ResultForm", tag = "is", rename_all = "camelCase")]
enum FormDef {
    Whole,
    Slices,
    Trimmed { tokens: u64 },
}

impl OlderRows for FormDef {
    fn without() -> ResultForm {
        ResultForm::Whole
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HoldVerdict", tag = "is", rename_all = "camelCase")]
enum VerdictDef {
    ByLimit {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
    },
    Deliver {
        #[serde(with = "As::<Text<PersonId>>")]
        by: PersonId,
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        #[serde(default = "Newer::<FormDef>::without", with = "Newer::<FormDef>")]
        form: ResultForm,
    },
    Withhold {
        #[serde(with = "As::<Text<PersonId>>")]
        by: PersonId,
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        reason: Option<String>,
        #[serde(default, deserialize_with = "zero_if_null")]
        shown: bool,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ResultHold")]
pub(crate) struct HoldDef {
    #[serde(default, with = "As::<Maybe<Text<PersonId>>>")]
    by: Option<PersonId>,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(default = "Newer::<HoldWhyDef>::without", with = "Newer::<HoldWhyDef>")]
    why: HoldReason,
    #[serde(default, with = "As::<Maybe<VerdictDef>>")]
    verdict: Option<HoldVerdict>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Parent")]
pub(crate) struct ParentDef {
    #[serde(with = "As::<IdText<HandleId>>")]
    id: HandleId,
    #[serde(with = "As::<EncodedWord<ParentWhy>>")]
    why: ParentWhy,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "QuestionRef")]
struct QuestionRefDef {
    #[serde(with = "As::<IdText<HandleId>>")]
    task: HandleId,
    #[serde(with = "As::<Text<RequestKey>>")]
    key: RequestKey,
}

/// Questions that several tasks may be asking, with the map as a list.
pub(crate) struct SharedQuestionsDef;

#[derive(Serialize, Deserialize)]
struct SharedBody {
    stored: Vec<StoredQuestion>,
    #[serde(with = "As::<SetOf<QuestionRefDef>>")]
    elsewhere: BTreeSet<QuestionRef>,
}

#[derive(Serialize, Deserialize)]
struct StoredQuestion {
    #[serde(with = "As::<Text<RequestKey>>")]
    key: RequestKey,
    #[serde(with = "As::<SetOf<IdText<HandleId>>>")]
    others: BTreeSet<HandleId>,
}

impl Mirror for SharedQuestionsDef {
    type Of = SharedQuestions;

    fn write<S: Serializer>(value: &SharedQuestions, serializer: S) -> Result<S::Ok, S::Error> {
        let SharedQuestions { stored, elsewhere } = value;
        let stored = stored.iter().map(|(key, others)| StoredQuestion { key: key.clone(), others: others.clone() });
        SharedBody { stored: stored.collect(), elsewhere: elsewhere.clone() }.serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SharedQuestions, D::Error> {
        let SharedBody { stored, elsewhere } = SharedBody::deserialize(deserializer)?;
        let stored = stored.into_iter().map(|question| (question.key, question.others)).collect();
        Ok(SharedQuestions { stored, elsewhere })
    }
}

impl OlderRows for SharedQuestionsDef {
    fn without() -> SharedQuestions {
        SharedQuestions::default()
    }
}

mirrors! {
    HoldWhyDef => HoldReason;
    FormDef => ResultForm;
    VerdictDef => HoldVerdict;
    HoldDef => ResultHold;
    ParentDef => Parent;
    QuestionRefDef => QuestionRef;
}
