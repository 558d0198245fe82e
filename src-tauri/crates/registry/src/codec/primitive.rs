//! How single values are stored: moments, spans, numbers, ids, words and the keys of objects.
//!
//! What they mean is the domain's. An enum without data is stored as the word that the domain has for it ([`Worded`]); in
//! which place a value may be absent or optional is said in `form.rs`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use domain::agent::control_token::ControlScope;
use domain::budget::window::TokenSource;
use domain::client::profile::{self, ClientProfile};
use domain::ids::{JobKey, PersonId, RequestKey, SessionKey, UpstreamTaskId};
use domain::rule::{LimitAction, RuleLevel, RunAction};
use domain::server::halt::{HaltEffect, HaltedBy, RecoveryStage};
use domain::server::{Dialect, Era};
use domain::task::cancel::plan::BulkAct;
use domain::task::decider::Decider;
use domain::task::input_request::AnswerAction;
use domain::task::status::GateReason;
use domain::task::{EscalationStep, Origin, ParentWhy, Told};
use domain::time::Timestamp;
use domain::tokens::{Exactness, Family};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DecodeError;
use super::form::{Encoded, Mirror};

/// A value that serde writes as it is.
pub(crate) struct Plain<T>(PhantomData<T>);

impl<T: Serialize + for<'a> Deserialize<'a>> Mirror for Plain<T> {
    type Of = T;

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

/// Milliseconds since 1970.
pub(crate) struct Millis;

impl Mirror for Millis {
    type Of = Timestamp;

    fn write<S: Serializer>(value: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(value.as_millis())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_millis)
    }
}

/// A duration as whole seconds and the nanoseconds beside them, so that it is exact.
pub(crate) struct Span;

impl Mirror for Span {
    type Of = Duration;

    fn write<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        (value.as_secs(), value.subsec_nanos()).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let (seconds, nanos) = <(u64, u32)>::deserialize(deserializer)?;
        if nanos < 1_000_000_000 {
            Ok(Duration::new(seconds, nanos))
        } else {
            Err(D::Error::custom("is not a span of time"))
        }
    }
}

/// A fraction as text: JSON has no infinities and its readers round. `{:?}` is the shortest text that reads back the same.
pub(crate) struct Real;

impl Mirror for Real {
    type Of = f64;

    fn write<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:?}"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|_| D::Error::custom("is not a number"))
    }
}

/// An id of ours, by its text.
pub(crate) struct IdText<T>(PhantomData<T>);

impl<T: Display + FromStr> Mirror for IdText<T> {
    type Of = T;

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|_| D::Error::custom("does not read as an id"))
    }
}

/// A name or key that is a text of its own type. `as_str` gives it and `new` takes it.
pub(crate) trait TextKey {
    fn text(&self) -> String;
    fn of_text(text: String) -> Self;
}

macro_rules! text_keys {
    ($($key:ty),+) => {$(
        impl TextKey for $key {
            fn text(&self) -> String {
                self.as_str().to_owned()
            }

            fn of_text(text: String) -> Self {
                Self::new(text)
            }
        }
    )+};
}

text_keys!(JobKey, PersonId, RequestKey, SessionKey, UpstreamTaskId);

impl TextKey for HaltedBy {
    fn text(&self) -> String {
        self.to_string()
    }

    fn of_text(text: String) -> Self {
        Self::from_text(&text)
    }
}

impl TextKey for Decider {
    fn text(&self) -> String {
        self.to_string()
    }

    fn of_text(text: String) -> Self {
        Self::from_text(&text)
    }
}

pub(crate) struct Text<T>(PhantomData<T>);

impl<T: TextKey> Mirror for Text<T> {
    type Of = T;

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.text())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        String::deserialize(deserializer).map(T::of_text)
    }
}

/// An enum without data, stored as its word.
pub(crate) trait Worded: Copy {
    fn stored_word(self) -> &'static str;
    fn of_stored_word(word: &str) -> Option<Self>;
}

/// Enums whose words the domain knows: the variants, or how one is found.
macro_rules! worded {
    ($($of:ty: $find:expr;)+) => {$(
        impl Worded for $of {
            fn stored_word(self) -> &'static str {
                self.word()
            }

            fn of_stored_word(word: &str) -> Option<Self> {
                $find(word)
            }
        }
    )+};
}

fn among<T: Worded, const N: usize>(all: [T; N]) -> impl Fn(&str) -> Option<T> {
    move |word| all.into_iter().find(|one| one.stored_word() == word)
}

worded! {
    AnswerAction: Self::from_word;
    BulkAct: Self::from_word;
    ControlScope: Self::from_word;
    GateReason: Self::from_word;
    HaltEffect: Self::from_word;
    LimitAction: Self::from_word;
    Dialect: among([Self::Extension2026, Self::Experimental2025, Self::NoTasks]);
    Era: among([Self::Modern, Self::Legacy, Self::LegacySse]);
    EscalationStep: Self::from_word;
    Exactness: Self::from_word;
    Family: Self::from_word;
    Origin: among([Self::Started, Self::Agent, Self::Discovered, Self::Adopted]);
    ParentWhy: Self::from_word;
    RecoveryStage: Self::from_word;
    RuleLevel: Self::from_word;
    RunAction: Self::from_word;
    TokenSource: Self::from_word;
    Told: Self::from_word;
}

/// A client program by its word; one that is not in the table any more is unknown.
impl Worded for &'static ClientProfile {
    fn stored_word(self) -> &'static str {
        self.word
    }

    fn of_stored_word(word: &str) -> Option<Self> {
        Some(profile::of_word(word).unwrap_or(&profile::UNKNOWN))
    }
}

pub(crate) struct EncodedWord<T>(PhantomData<T>);

impl<T: Worded> Mirror for EncodedWord<T> {
    type Of = T;

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.stored_word())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let word = String::deserialize(deserializer)?;
        T::of_stored_word(&word).ok_or_else(|| D::Error::custom(DecodeError::unknown_word(&word)))
    }
}

/// A key of a stored object.
pub(crate) trait ObjectKey: Ord + Sized {
    fn key(&self) -> &str;
    fn of_key(key: &str) -> Option<Self>;
}

impl ObjectKey for Arc<str> {
    fn key(&self) -> &str {
        self
    }

    fn of_key(key: &str) -> Option<Self> {
        Some(key.into())
    }
}

impl ObjectKey for HaltEffect {
    fn key(&self) -> &str {
        self.word()
    }

    fn of_key(key: &str) -> Option<Self> {
        Self::from_word(key)
    }
}

impl ObjectKey for TokenSource {
    fn key(&self) -> &str {
        self.word()
    }

    fn of_key(key: &str) -> Option<Self> {
        Self::from_word(key)
    }
}

/// An object with a value for each key.
pub(crate) struct ObjectOf<K, M>(PhantomData<(K, M)>);

impl<K: ObjectKey, M: Mirror> Mirror for ObjectOf<K, M> {
    type Of = BTreeMap<K, M::Of>;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(value.iter().map(|(key, value)| (key.key(), Encoded::<M>(value))))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        let fields = serde_json::Map::deserialize(deserializer)?;
        let field = |(key, value): (String, serde_json::Value)| {
            let read = M::read(value).map_err(D::Error::custom)?;
            Ok((K::of_key(&key).ok_or_else(|| D::Error::custom(DecodeError::unknown_word(&key)))?, read))
        };
        fields.into_iter().map(field).collect()
    }
}
