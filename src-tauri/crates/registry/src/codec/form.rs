//! The forms in which serde meets a domain type: as itself, optional, in a list, or as the one field of a variant.
//!
//! A definition of this folder implements [`Mirror`] by [`mirrors!`]; the types below are named in `#[serde(with = …)]`.
//! What a single value looks like is in `primitive.rs`.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use domain::agent::TokenDigest;
use domain::ids::{AgentId, ControlTokenId, HaltId, HandleId, PlanId, RequestKey, ServerId, WindowId};
use domain::rule::RuleScope;
use domain::time::Timestamp;
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Stands in for a domain type that serde does not know.
pub(crate) trait Mirror {
    /// The domain's type.
    type Of;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error>;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error>;

    /// Brings a whole stored body of an earlier form to today's, before it is read.
    fn upgrade(_body: &mut Value) {}
}

/// Makes definitions with `#[serde(remote = …)]` mirrors of their types.
macro_rules! mirrors {
    ($($definition:ident => $of:ty $(, upgrade $upgrade:path)?;)+) => {$(
        impl $crate::codec::form::Mirror for $definition {
            type Of = $of;

            fn write<S: serde::Serializer>(value: &$of, serializer: S) -> Result<S::Ok, S::Error> {
                $definition::serialize(value, serializer)
            }

            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<$of, D::Error> {
                $definition::deserialize(deserializer)
            }

            $(fn upgrade(body: &mut serde_json::Value) {
                $upgrade(body);
            })?
        }
    )+};
}
pub(crate) use mirrors;

/// A value on its way out.
pub(crate) struct Encoded<'a, M: Mirror>(pub(crate) &'a M::Of);

impl<M: Mirror> Serialize for Encoded<'_, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        M::write(self.0, serializer)
    }
}

struct Decoded<M: Mirror>(M::Of);

impl<'de, M: Mirror> Deserialize<'de> for Decoded<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        M::read(deserializer).map(Self)
    }
}

/// Names a mirror in `#[serde(with = …)]`.
pub(crate) struct As<M>(PhantomData<M>);

impl<M: Mirror> As<M> {
    pub(crate) fn serialize<S: Serializer>(value: &M::Of, serializer: S) -> Result<S::Ok, S::Error> {
        M::write(value, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<M::Of, D::Error> {
        M::read(deserializer)
    }
}

/// A value that may be absent: null, or no field at all where `#[serde(default)]` says so.
pub(crate) struct Maybe<M>(PhantomData<M>);

impl<M: Mirror> Mirror for Maybe<M> {
    type Of = Option<M::Of>;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Encoded::<M>).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        Ok(Option::<Decoded<M>>::deserialize(deserializer)?.map(|Decoded(value)| value))
    }
}

/// A list in its order.
pub(crate) struct ListOf<M>(PhantomData<M>);

impl<M: Mirror> Mirror for ListOf<M> {
    type Of = Vec<M::Of>;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Encoded::<M>))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        let list = Vec::<Decoded<M>>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|Decoded(value)| value).collect())
    }
}

/// A list without order, stored in the order of its values.
pub(crate) struct SetOf<M>(PhantomData<M>);

impl<M: Mirror<Of: Ord>> Mirror for SetOf<M> {
    type Of = BTreeSet<M::Of>;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Encoded::<M>))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        let list = Vec::<Decoded<M>>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|Decoded(value)| value).collect())
    }
}

/// What a field that older rows do not have is taken for.
pub(crate) trait OlderRows: Mirror {
    fn without() -> Self::Of;
}

/// A field that older rows do not have.
pub(crate) struct Newer<M>(PhantomData<M>);

impl<M: OlderRows> Newer<M> {
    /// For `#[serde(default = …)]`.
    pub(crate) fn without() -> M::Of {
        M::without()
    }

    pub(crate) fn serialize<S: Serializer>(value: &M::Of, serializer: S) -> Result<S::Ok, S::Error> {
        M::write(value, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<M::Of, D::Error> {
        Ok(Maybe::<M>::read(deserializer)?.unwrap_or_else(M::without))
    }
}

/// The same for numbers and flags, whose older rows mean their zero.
pub(crate) fn zero_if_null<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A field that is a column: skipped in the body, and set by whoever reads the row.
pub(crate) trait UnreadColumn {
    fn unread() -> Self;
}

/// For `#[serde(skip, default = …)]`.
pub(crate) fn column<T: UnreadColumn>() -> T {
    T::unread()
}

macro_rules! columns {
    ($($of:ty = $unread:expr;)+) => {$(
        impl UnreadColumn for $of {
            fn unread() -> Self {
                $unread
            }
        }
    )+};
}

columns! {
    AgentId = Self::from_random(0);
    ControlTokenId = Self::from_random(0);
    HaltId = Self::from_random(0);
    HandleId = Self::from_random(0);
    PlanId = Self::from_random(0);
    RequestKey = Self::new("");
    RuleScope = Self::Server(ServerId::from_random(0));
    ServerId = Self::from_random(0);
    Timestamp = Self::EPOCH;
    TokenDigest = Self([0; 32]);
    WindowId = Self::from_random(0);
}

/// The name of the one field of a variant.
pub(crate) trait FieldName {
    const NAME: &'static str;
}

macro_rules! field_names {
    ($($name:ident = $text:literal;)+) => {$(
        pub(crate) struct $name;

        impl FieldName for $name {
            const NAME: &'static str = $text;
        }
    )+};
}

field_names! {
    ErrorField = "error";
    HintField = "hint";
    KnownField = "known";
    MethodField = "method";
    NameField = "name";
    OutcomeField = "outcome";
    SpanField = "span";
    WhyField = "why";
    WordField = "word";
}

/// A variant's value as an object with one field, so that the variant's tag has a place beside it.
pub(crate) struct In<N, M>(PhantomData<(N, M)>);

impl<N: FieldName, M: Mirror> In<N, M> {
    pub(crate) fn serialize<S: Serializer>(value: &M::Of, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(N::NAME, &Encoded::<M>(value))?;
        map.end()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<M::Of, D::Error> {
        let found = Map::<String, Value>::deserialize(deserializer)?.remove(N::NAME).unwrap_or(Value::Null);
        let is_null = found.is_null();
        M::read(found).map_err(|error| if is_null { D::Error::missing_field(N::NAME) } else { D::Error::custom(error) })
    }
}
