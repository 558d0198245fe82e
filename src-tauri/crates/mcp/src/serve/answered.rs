//! The result of a request on its way out: ours as raw JSON, or the text of a server that was read once already.
//!
//! A large result of a server is neither parsed nor copied again here; it goes into the frame as it is. Errors are
//! `fault.rs`.

use domain::task::payload::Payload;
use serde_json::value::RawValue;

use crate::message::{self, Id};

/// A result to answer with.
#[derive(Debug)]
pub enum Answered {
    /// JSON of ours.
    Raw(Box<RawValue>),
    /// JSON text that came as a whole message and was found to be JSON then.
    Text(Payload),
}

impl From<Box<RawValue>> for Answered {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Raw(raw)
    }
}

impl Answered {
    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Raw(raw) => raw.get(),
            Self::Text(text) => text.as_str(),
        }
    }

    /// The whole response as bytes on one line.
    pub(crate) fn write(&self, id: &Id) -> Vec<u8> {
        message::result_text(id, self.text())
    }
}
