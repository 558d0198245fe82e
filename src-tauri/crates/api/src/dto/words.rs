//! Enums whose JSON is one word of a closed list.
//!
//! `words!` declares one with its words; [`Word`] does the same for an enum of the domain that reads its own words back.
//! Nothing here decides which word applies.

use std::fmt;

use domain::audit::Verb;
use domain::raw_message::Direction;
use domain::task::ParentWhy;
use domain::task::input_request::AnswerAction;
use domain::task::status::{Phase, PhaseGroup};
use domain::tokens::Family;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares an enum of words. It reads as its word: `as_str`, `Display`, comparison with text.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:tt,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, ts_rs::TS)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        $crate::dto::words::reads_as_text!($name);
    )*};
}

/// A word reads as text wherever people are shown it.
macro_rules! reads_as_text {
    ($name:ident $(<$of:ident: $bound:path>)?) => {
        impl $(<$of: $bound>)? std::ops::Deref for $name $(<$of>)? {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl $(<$of: $bound>)? std::fmt::Display for $name $(<$of>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl $(<$of: $bound>)? PartialEq<str> for $name $(<$of>)? {
            fn eq(&self, word: &str) -> bool {
                self.as_str() == word
            }
        }

        impl $(<$of: $bound>)? PartialEq<&str> for $name $(<$of>)? {
            fn eq(&self, word: &&str) -> bool {
                self.as_str() == *word
            }
        }
    };
}

pub(crate) use {reads_as_text, words};

/// An enum of the domain with a word for each value.
pub trait DomainWord: Copy + 'static {
    /// The word in JSON.
    fn word(self) -> &'static str;
    /// Reads [`DomainWord::word`] back.
    fn from_word(word: &str) -> Option<Self>;
}

/// A value of the domain, in JSON its word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word<T>(pub T);

impl<T: DomainWord> Word<T> {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0.word()
    }
}

reads_as_text!(Word<T: DomainWord>);

impl<T> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: DomainWord> fmt::Debug for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<T: DomainWord> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de, T: DomainWord> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        T::from_word(&word).map(Self).ok_or_else(|| D::Error::custom(format!("unknown word `{word}`")))
    }
}

macro_rules! domain_words {
    ($($name:ty),*) => {$(
        impl DomainWord for $name {
            fn word(self) -> &'static str {
                Self::word(self)
            }

            fn from_word(word: &str) -> Option<Self> {
                Self::from_word(word)
            }
        }
    )*};
}

domain_words!(AnswerAction, Direction, Family, ParentWhy, Phase, PhaseGroup);

impl DomainWord for Verb {
    fn word(self) -> &'static str {
        Self::word(self)
    }

    fn from_word(word: &str) -> Option<Self> {
        Some(Self::from_word(word))
    }
}
