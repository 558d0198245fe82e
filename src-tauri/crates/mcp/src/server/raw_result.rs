//! A result on its way to the client: JSON of ours, or the text of a server that was validated once.
//!
//! A large result of a server is neither parsed nor copied again. Errors are `rpc_error.rs`.

use bytes::Bytes;
use domain::policy::COPIED_RESULT_MAX_BYTES;
use domain::task::payload::Payload;
use serde_json::value::RawValue;

use crate::wire::message::{self, Id};

/// A result to answer with.
#[derive(Debug)]
pub enum RawResult {
    /// JSON of ours.
    Raw(Box<RawValue>),
    /// JSON text that came as a whole message and was found to be JSON then.
    Text(Payload),
}

impl From<Box<RawValue>> for RawResult {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Raw(raw)
    }
}

impl RawResult {
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

    /// The whole response on one line, in pieces to be written one behind the other. A large result is not copied.
    pub(crate) fn pieces(self, id: &Id) -> [Bytes; 3] {
        let text = self.text();
        if text.len() <= COPIED_RESULT_MAX_BYTES || memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            return [self.write(id).into(), Bytes::new(), Bytes::new()];
        }
        let (before, behind) = message::result_ends(id);
        let text = match self {
            Self::Raw(raw) => Bytes::from(Box::<str>::from(raw).into_string()),
            Self::Text(text) => text.shared().clone().into_bytes(),
        };
        [before.into(), text, Bytes::from_static(behind)]
    }
}
