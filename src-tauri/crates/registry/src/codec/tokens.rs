//! Counts and limits of tokens: parts of the bodies of tasks, rules and agents.
//!
//! No text of servers is in them. What they mean is in `domain::tokens` and `domain::rule`.

use std::sync::Arc;

use domain::budget::window::CountingSettings;
use domain::ids::PersonId;
use domain::rule::{LimitAction, TokenLimit};
use domain::task::OverLimit;
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{As, Encoded, Maybe, Mirror, mirrors, zero_if_null};
use super::primitive::{EncodedWord, Millis, Text};

/// A figure as a pair: `[tokens, exactness]`.
pub(crate) struct CountPair;

#[derive(Deserialize)]
struct ReadCount(u64, #[serde(with = "As::<EncodedWord<Exactness>>")] Exactness);

impl Mirror for CountPair {
    type Of = Count;

    fn write<S: Serializer>(value: &Count, serializer: S) -> Result<S::Ok, S::Error> {
        (value.tokens, Encoded::<EncodedWord<Exactness>>(&value.exactness)).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        ReadCount::deserialize(deserializer).map(|ReadCount(tokens, exactness)| Count { tokens, exactness })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TokenLimit")]
pub(crate) struct TokenLimitDef {
    tokens: u64,
    #[serde(with = "As::<EncodedWord<LimitAction>>")]
    at: LimitAction,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskTokens", rename_all = "camelCase")]
pub(crate) struct TaskTokensDef {
    #[serde(with = "As::<EncodedWord<Family>>")]
    family: Family,
    #[serde(with = "As::<EncodedWord<Exactness>>")]
    exactness: Exactness,
    arguments: u64,
    handle: u64,
    interim: u64,
    result: Option<u64>,
    #[serde(default, with = "As::<Maybe<CountPair>>")]
    in_window: Option<Count>,
    delivered: u64,
    delivered_in_window: u64,
    // Written since limits count what makers do not say.
    #[serde(default, deserialize_with = "zero_if_null")]
    unsaid: u64,
}

/// Who let a task go on, or removed a limit from it, and when.
pub(crate) struct Settled;

#[derive(Serialize, Deserialize)]
struct SettledBody {
    #[serde(with = "As::<Text<PersonId>>")]
    by: PersonId,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
}

impl Mirror for Settled {
    type Of = (PersonId, Timestamp);

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        let (by, at) = value.clone();
        SettledBody { by, at }.serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        SettledBody::deserialize(deserializer).map(|SettledBody { by, at }| (by, at))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OverLimit")]
pub(crate) struct OverLimitDef {
    tokens: u64,
    #[serde(with = "TokenLimitDef")]
    limit: TokenLimit,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(default, with = "As::<Maybe<Settled>>")]
    settled: Option<(PersonId, Timestamp)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CountingSettings")]
pub(crate) struct MeterDef {
    model: Option<Arc<str>>,
    #[serde(default, with = "As::<Maybe<EncodedWord<Family>>>")]
    family: Option<Family>,
    window: Option<u64>,
    program: Option<Arc<str>>,
}

mirrors! {
    TokenLimitDef => TokenLimit;
    TaskTokensDef => TaskTokens;
    OverLimitDef => OverLimit;
    MeterDef => CountingSettings;
}
