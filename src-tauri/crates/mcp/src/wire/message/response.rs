//! Parses a message whose bytes are shared: the answer is a part of them and is not copied.
//!
//! Only responses are read here; everything else, and every mistake, is left to [`parse`](super::parse).

use bytes::Bytes;
use bytestring::ByteString;
use serde_json::value::RawValue;

use super::{
    Answer, BadMessage, Envelope, Id, Incoming, MessageLimits, MessageProblem, Sender, batch, one, shape, too_deep_at,
};

/// The answer to a request, as a part of the message that it came in.
#[derive(Clone)]
pub enum SharedAnswer {
    /// The `result` member.
    Result(ByteString),
    /// The `error` member, a JSON object.
    Error(ByteString),
}

impl std::fmt::Debug for SharedAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Result(text) => write!(f, "Result({} bytes)", text.len()),
            Self::Error(text) => write!(f, "Error({} bytes)", text.len()),
        }
    }
}

/// The text changes its owner and is not copied.
impl From<Answer> for SharedAnswer {
    fn from(answer: Answer) -> Self {
        let shared = |raw: Box<RawValue>| ByteString::from(Box::<str>::from(raw).into_string());
        match answer {
            Answer::Result(raw) => Self::Result(shared(raw)),
            Answer::Error(raw) => Self::Error(shared(raw)),
        }
    }
}

/// One frame of shared bytes.
#[derive(Debug)]
pub(crate) enum ResponseFrame {
    /// A response, as [`Message::Response`](super::Message::Response).
    Response { id: Option<Id>, answer: SharedAnswer },
    /// Any other message, or a batch.
    Other(Incoming),
}

/// Reads one frame as [`parse`](super::parse) does.
///
/// # Errors
/// Says what is wrong and where, never what was said.
pub(crate) fn parse_response(bytes: Bytes, limits: &MessageLimits) -> Result<ResponseFrame, BadMessage> {
    if bytes.len() > limits.bytes {
        return Err(BadMessage::of(MessageProblem::TooLarge { cap: limits.bytes }));
    }
    let frame = match ByteString::try_from(bytes.clone()) {
        Ok(frame) => frame,
        Err(_) => {
            let at = std::str::from_utf8(&bytes).map_or_else(|bad| bad.valid_up_to(), str::len);
            return Err(BadMessage::of(MessageProblem::NotUtf8 { at }));
        }
    };
    let text = frame.trim_start_matches('\u{feff}');
    if let Some(at) = too_deep_at(text.as_bytes(), limits.depth) {
        return Err(BadMessage::of(MessageProblem::TooDeep { cap: limits.depth, at }));
    }
    if text.trim_start().starts_with('[') {
        return batch(text, limits, Sender::Server).map(|many| ResponseFrame::Other(Incoming::Batch(many)));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|bad| BadMessage::of(shape(&bad)))?;
    match response(&frame, &envelope, limits) {
        Some(response) => Ok(response),
        None => one(text, limits, Sender::Server).map(|message| ResponseFrame::Other(Incoming::One(message))),
    }
}

/// A response without any mistake; `None` for everything else.
fn response(frame: &ByteString, envelope: &Envelope<'_>, limits: &MessageLimits) -> Option<ResponseFrame> {
    let is_version_2 = envelope.jsonrpc.is_none_or(|raw| raw.get() == "\"2.0\"");
    if envelope.method.is_some() || !is_version_2 {
        return None;
    }
    let id = match envelope.id.filter(|raw| raw.get() != "null") {
        Some(raw) => Some(Id::read(raw.get(), limits.id_bytes)?),
        None => None,
    };
    let error = envelope.error.filter(|raw| raw.get() != "null");
    let result = envelope.result.filter(|raw| error.is_none() || raw.get() != "null");
    let answer = match (result, error) {
        (Some(result), None) if id.is_some() => SharedAnswer::Result(frame.slice_ref(result.get())),
        (None, Some(error)) if error.get().starts_with('{') => SharedAnswer::Error(frame.slice_ref(error.get())),
        _ => return None,
    };
    Some(ResponseFrame::Response { id, answer })
}

#[cfg(test)]
mod tests {
    use domain::policy::Policy;
    use proptest::prelude::*;

    use super::super::{Message, parse};
    use super::*;

    /// What a frame says, whichever way it was read.
    fn told(read: Result<ResponseFrame, BadMessage>) -> String {
        match read {
            Ok(ResponseFrame::Response { id, answer: SharedAnswer::Result(text) }) => format!("{id:?} result {text}"),
            Ok(ResponseFrame::Response { id, answer: SharedAnswer::Error(text) }) => format!("{id:?} error {text}"),
            Ok(ResponseFrame::Other(other)) => told_of(Ok(other)),
            Err(bad) => told_of(Err(bad)),
        }
    }

    fn told_of(read: Result<Incoming, BadMessage>) -> String {
        match read {
            Ok(Incoming::One(Message::Response { id, answer: Answer::Result(raw) })) => format!("{id:?} result {raw}"),
            Ok(Incoming::One(Message::Response { id, answer: Answer::Error(raw) })) => format!("{id:?} error {raw}"),
            Ok(other) => format!("{other:?}"),
            Err(bad) => format!("{:?} {bad}", bad.id),
        }
    }

    fn check(frame: &[u8]) {
        let limits = MessageLimits { bytes: 4_096, depth: 8, ..MessageLimits::of(&Policy::default()) };
        let shared = told(parse_response(Bytes::copy_from_slice(frame), &limits));
        assert_eq!(shared, told_of(parse(frame, &limits)), "of {}", String::from_utf8_lossy(frame));
    }

    #[test]
    fn a_shared_frame_is_read_as_any_other() {
        let frames = [
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":1.50}}"#,
            "\u{feff} {\"id\":1.0,\"result\":null}",
            r#"{"id":"q-1","error":{"code":-1,"message":"x"},"result":null}"#,
            r#"{"error":{"code":-1}}"#,
            r#"{"id":null,"error":{}}"#,
            r#"{"result":{}}"#,
            r#"{"id":1,"error":7}"#,
            r#"{"id":1,"error":{},"result":{}}"#,
            r#"{"id":1.5,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"method":"notifications/progress","params":{"progress":1}}"#,
            r#"[{"id":1,"result":{}},7]"#,
            r#"{"id":1,"result":[[[[[[[[[[]]]]]]]]]]}"#,
            r#"{"id":1,"id":2,"result":{}}"#,
            "[]",
            "7",
            "{",
            "",
        ];
        for frame in frames {
            check(frame.as_bytes());
        }
        check(b"{\"id\":1,\"result\":\"\xff\"}");
        check(&[b'x'; 5_000]);
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_in_another_way(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("{"), Just("}"), Just("\"id\":"), Just("\"result\":"), Just("\"error\":"), Just("\"method\":"),
                    Just("1"), Just("null"), Just("\"x\""), Just(","), Just("{}"), Just(" "), Just("\"jsonrpc\":\"2.0\""),
                ],
                0..12,
            ),
        ) {
            check(parts.concat().as_bytes());
        }
    }
}
