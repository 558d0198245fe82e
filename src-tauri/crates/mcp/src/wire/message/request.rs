//! Reads a request whose bytes are shared: its params are a slice of them.
//!
//! What is no request is read as [`parse_of_client`](super::parse_of_client) does, with the same limits and the same
//! refusals.

use bytes::Bytes;
use bytestring::ByteString;

use super::{
    BadMessage, Content, Id, Incoming, MessageLimits, MessageProblem, Sender, batch, checked, content, envelope,
};

/// A frame, with the params of a request as a slice of it.
#[derive(Debug)]
pub(crate) enum RequestFrame {
    /// One request, its params shared with the frame.
    Request(SharedRequest),
    /// Another message, or a batch of them.
    Other(Incoming),
}

/// A request whose params are a slice of its frame.
pub(crate) struct SharedRequest {
    pub(crate) id: Id,
    pub(crate) method: String,
    /// The params as they came, `None` when absent.
    pub(crate) params: Option<ByteString>,
}

impl std::fmt::Debug for SharedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Request({})", self.method)
    }
}

/// Reads one frame: a request, another message, or a batch.
///
/// # Errors
/// As [`parse_of_client`](super::parse_of_client).
pub(crate) fn parse_request(bytes: &Bytes, limits: &MessageLimits) -> Result<RequestFrame, BadMessage> {
    let text = checked(bytes, limits)?;
    if text.trim_start().starts_with('[') {
        return batch(text, limits, Sender::Client).map(|members| RequestFrame::Other(Incoming::Batch(members)));
    }
    let (envelope, id) = envelope(text, limits)?;
    let read =
        content(&envelope, id.is_some(), Sender::Client).map_err(|wrong| BadMessage { id: id.clone(), wrong })?;
    match (read, id) {
        (Content::Call { method, params }, Some(id)) => {
            let params = params.map(|raw| shared(bytes, raw.get())).transpose()?;
            Ok(RequestFrame::Request(SharedRequest { id, method, params }))
        }
        (other, id) => Ok(RequestFrame::Other(Incoming::One(other.into_message(id)))),
    }
}

/// The slice of the frame that this text is. The frame was found to be UTF-8, so a part of it that is text is too.
fn shared(bytes: &Bytes, text: &str) -> Result<ByteString, BadMessage> {
    let slice = bytes.slice_ref(text.as_bytes());
    ByteString::try_from(slice).map_err(|bad| BadMessage::of(MessageProblem::NotUtf8 { at: bad.valid_up_to() }))
}
