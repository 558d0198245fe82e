//! The messages that a collector may answer with, in JSON or protobuf: `ExportLogsServiceResponse` or
//! `ExportTraceServiceResponse` of OTLP, and `google.rpc.Status`.
//!
//! Only numbers are read. These messages are small and fixed, so they are read here without a library for protobuf.

use domain::audit::log_sink::SinkSignal;
use serde_json::{Map, Value};

/// What a body claims to be. A closed list, because the header can hold any text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Protobuf,
    Html,
    PlainText,
    Xml,
    /// The header is absent.
    Unnamed,
    Other,
}

impl BodyKind {
    /// Of the header `Content-Type`.
    pub(super) fn of(content_type: Option<&str>) -> Self {
        let Some(content_type) = content_type else { return Self::Unnamed };
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Self::Json,
            "application/x-protobuf" | "application/protobuf" => Self::Protobuf,
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/plain" => Self::PlainText,
            "text/xml" | "application/xml" => Self::Xml,
            _ => Self::Other,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Protobuf => "protobuf",
            Self::Html => "HTML",
            Self::PlainText => "plain text",
            Self::Xml => "XML",
            Self::Unnamed => "content without a type",
            Self::Other => "content of another kind",
        }
    }
}

/// Records or spans that the response to a request of this signal says were rejected; `None` when the body is no such
/// message. In protobuf the messages of both signals are alike.
///
/// The empty message is one, in JSON `{}` and in protobuf no bytes at all, which collectors send with any type. A message
/// that has fields and none that OTLP knows is taken for the answer of another program.
pub(super) fn rejected_items(signal: SinkSignal, kind: BodyKind, body: &[u8]) -> Option<u64> {
    if body.is_empty() {
        return Some(0);
    }
    match kind {
        // Without a type it is read as what was sent.
        BodyKind::Json | BodyKind::Unnamed => rejected_in_json(signal, body),
        BodyKind::Protobuf => rejected_in_protobuf(body),
        BodyKind::Html | BodyKind::PlainText | BodyKind::Xml | BodyKind::Other => None,
    }
}

/// The code of a `google.rpc.Status` with its name; `None` when the body is no such message or the code is unknown.
pub(super) fn status_code(kind: BodyKind, body: &[u8]) -> Option<String> {
    let code = match kind {
        BodyKind::Json | BodyKind::Unnamed => serde_json::from_slice::<Value>(body).ok()?.get("code")?.as_u64()?,
        BodyKind::Protobuf => fields(body)?.into_iter().find_map(|field| match field {
            Field { number: 1, value: FieldValue::Number(code) } => Some(code),
            _ => None,
        })?,
        _ => return None,
    };
    let name = GRPC_CODES.get(usize::try_from(code).ok()?)?;
    Some(format!("gRPC code {code}, {name}"))
}

/// `google.rpc.Code` in plain words, by its number.
const GRPC_CODES: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown error",
    "invalid argument",
    "deadline exceeded",
    "not found",
    "already exists",
    "permission denied",
    "resource exhausted",
    "failed precondition",
    "aborted",
    "out of range",
    "not implemented",
    "internal error",
    "unavailable",
    "data loss",
    "unauthenticated",
];

/// A field of a message in JSON. Names are lower camel case, and a reader takes the original ones, too. Null is absent.
fn field<'a>(message: &'a Map<String, Value>, name: &str, original: &str) -> Option<&'a Value> {
    message.get(name).or_else(|| message.get(original)).filter(|value| !value.is_null())
}

fn rejected_in_json(signal: SinkSignal, body: &[u8]) -> Option<u64> {
    let Value::Object(response) = serde_json::from_slice(body).ok()? else { return None };
    let is_known = response.contains_key("partialSuccess") || response.contains_key("partial_success");
    if !is_known && !response.is_empty() {
        return None;
    }
    let Some(partial) = field(&response, "partialSuccess", "partial_success") else { return Some(0) };
    let partial = partial.as_object()?;
    if !field(partial, "errorMessage", "error_message").is_none_or(Value::is_string) {
        return None;
    }
    // A number of 64 bits is a text in this encoding, and may be a number.
    let count = match signal {
        SinkSignal::Logs => field(partial, "rejectedLogRecords", "rejected_log_records"),
        SinkSignal::Traces => field(partial, "rejectedSpans", "rejected_spans"),
    };
    count.map_or(Some(0), |count| count.as_u64().or_else(|| count.as_str()?.parse().ok()))
}

fn rejected_in_protobuf(body: &[u8]) -> Option<u64> {
    let mut partial = None;
    for Field { number, value } in fields(body)? {
        match (number, value) {
            (1, FieldValue::Bytes(message)) => partial = Some(message),
            (1, _) => return None,
            _ => {}
        }
    }
    let mut rejected = 0;
    for Field { number, value } in fields(partial?)? {
        match (number, value) {
            (1, FieldValue::Number(count)) => rejected = u64::try_from(i64::from_ne_bytes(count.to_ne_bytes())).ok()?,
            (2, FieldValue::Bytes(message)) => drop(std::str::from_utf8(message).ok()?),
            (1 | 2, _) => return None,
            _ => {}
        }
    }
    Some(rejected)
}

/// A field of a message in protobuf.
struct Field<'a> {
    number: u64,
    value: FieldValue<'a>,
}

enum FieldValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a fixed width, which no known message has.
    Fixed,
}

/// The fields of a message in protobuf; `None` when it is none.
fn fields(mut rest: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let key = take_varint(&mut rest)?;
        let value = match key & 7 {
            0 => FieldValue::Number(take_varint(&mut rest)?),
            1 => take_bytes(&mut rest, 8).map(|_| FieldValue::Fixed)?,
            2 => {
                let many = usize::try_from(take_varint(&mut rest)?).ok()?;
                FieldValue::Bytes(take_bytes(&mut rest, many)?)
            }
            5 => take_bytes(&mut rest, 4).map(|_| FieldValue::Fixed)?,
            _ => return None,
        };
        let number = key >> 3;
        if number == 0 {
            return None;
        }
        all.push(Field { number, value });
    }
    Some(all)
}

fn take_bytes<'a>(rest: &mut &'a [u8], many: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(many)?;
    *rest = behind;
    Some(taken)
}

/// A number in groups of seven bits, the lowest first; at most ten bytes.
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: BodyKind = BodyKind::Json;
    const LOGS: SinkSignal = SinkSignal::Logs;

    #[test]
    fn only_a_response_of_otlp_in_json_counts_as_one() {
        for (body, rejected) in [
            ("", Some(0)),
            ("{}", Some(0)),
            (r#"{"partialSuccess": null}"#, Some(0)),
            (r#"{"partialSuccess": {}}"#, Some(0)),
            (r#"{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}"#, Some(2)),
            (r#"{"partial_success": {"rejected_log_records": 3}}"#, Some(3)),
            (r#"{"partialSuccess": {"errorMessage": "a warning"}, "more": 1}"#, Some(0)),
            (r#"{"status": "ok"}"#, None),
            (r#"{"code": 16, "message": "no"}"#, None),
            (r#"{"partialSuccess": []}"#, None),
            (r#"{"partialSuccess": {"rejectedLogRecords": -1}}"#, None),
            (r#"{"partialSuccess": {"rejectedLogRecords": "many"}}"#, None),
            (r#"{"partialSuccess": {"errorMessage": 1}}"#, None),
            ("null", None),
            ("[]", None),
            (r#""ok""#, None),
            ("ok", None),
            ("{", None),
            ("<html></html>", None),
        ] {
            assert_eq!(rejected_items(LOGS, JSON, body.as_bytes()), rejected, "{body}");
            assert_eq!(rejected_items(LOGS, BodyKind::Unnamed, body.as_bytes()), rejected, "without a type: {body}");
        }
    }

    #[test]
    fn spans_are_rejected_under_their_own_name() {
        let rejected = |body: &str| rejected_items(SinkSignal::Traces, JSON, body.as_bytes());
        assert_eq!(rejected(r#"{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}"#), Some(2));
        assert_eq!(rejected(r#"{"partial_success": {"rejected_spans": 3}}"#), Some(3));
        assert_eq!(rejected(r#"{"partialSuccess": {"rejectedLogRecords": 4}}"#), Some(0), "no field of this message");
        assert_eq!((rejected("{}"), rejected(r#"{"status": "ok"}"#)), (Some(0), None));
        assert_eq!(rejected_items(SinkSignal::Traces, BodyKind::Protobuf, &[0x0a, 0x02, 0x08, 0x02]), Some(2));
    }

    #[test]
    fn only_a_response_of_otlp_in_protobuf_counts_as_one() {
        for (body, rejected) in [
            (&b""[..], Some(0)),
            (&[0x0a, 0x00], Some(0)),
            (&[0x0a, 0x02, 0x08, 0x02], Some(2)),
            (&[0x0a, 0x07, 0x08, 0xac, 0x02, 0x12, 0x02, b'n', b'o'], Some(300)),
            (&[0x0a, 0x02, 0x18, 0x01], Some(0)),
            (&[0x10, 0x01], None),
            (&[0x08, 0x02], None),
            (&[0x0a, 0x05, 0x08, 0x02], None),
            // Below zero.
            (&[0x0a, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], None),
            (&b"{}"[..], None),
            (&b"<html></html>"[..], None),
            (&b"ok"[..], None),
        ] {
            assert_eq!(rejected_items(LOGS, BodyKind::Protobuf, body), rejected, "{body:02x?}");
        }
    }

    #[test]
    fn what_is_neither_json_nor_protobuf_is_no_response_unless_it_is_empty() {
        for kind in ["text/html", "text/plain; charset=utf-8", "application/xml", "application/problem+json", "hush"] {
            let kind = BodyKind::of(Some(kind));
            assert_eq!(
                (rejected_items(LOGS, kind, b"{}"), rejected_items(LOGS, kind, b"")),
                (None, Some(0)),
                "{kind:?}"
            );
        }
        assert_eq!(BodyKind::of(Some(" Application/JSON ; charset=utf-8")), JSON);
        assert_eq!(BodyKind::of(Some("application/x-protobuf")), BodyKind::Protobuf);
    }

    #[test]
    fn the_code_of_a_status_has_its_name_and_any_other_number_is_not_told() {
        let code = |body: &str| status_code(JSON, body.as_bytes());
        assert_eq!(code(r#"{"code": 7, "message": "hush"}"#).as_deref(), Some("gRPC code 7, permission denied"));
        assert_eq!((code(r#"{"code": 17}"#), code(r#"{"code": "7"}"#), code("hush")), (None, None, None));
        let protobuf = |body: &[u8]| status_code(BodyKind::Protobuf, body);
        assert_eq!(protobuf(&[0x08, 0x10, 0x12, 0x01, b'x']).as_deref(), Some("gRPC code 16, unauthenticated"));
        assert_eq!((protobuf(&[0x08, 0x20]), protobuf(b"hush")), (None, None));
    }

    #[test]
    fn any_two_bytes_and_any_part_of_a_response_are_read_without_a_fault() {
        let whole = [0x0a, 0x07, 0x08, 0xac, 0x02, 0x12, 0x02, b'n', b'o'];
        for end in 1..whole.len() {
            assert_eq!(rejected_items(LOGS, BodyKind::Protobuf, &whole[..end]), None, "cut off after {end} bytes");
        }
        let is_response = |first: u8, second: u8| {
            let body = [first, second];
            // A code of 16 is below the bytes of text.
            assert_eq!(status_code(BodyKind::Protobuf, &body).is_some(), first == 0x08 && second <= 16, "{body:02x?}");
            rejected_items(LOGS, BodyKind::Protobuf, &body).is_some()
        };
        let responses = (0..=u8::MAX).flat_map(|first| (0..=u8::MAX).map(move |second| (first, second)));
        let found: Vec<_> = responses.filter(|(first, second)| is_response(*first, *second)).collect();
        assert_eq!(found, [(0x0a, 0x00)], "the empty partial success");
        let longest = [&[0x0a, 0x0a, 0x08][..], &[0xff; 8], &[0x7f]].concat();
        assert_eq!(rejected_items(LOGS, BodyKind::Protobuf, &longest), Some(i64::MAX.unsigned_abs()));
        let endless = [&[0x0a, 0x0b, 0x08][..], &[0xff; 10]].concat();
        assert_eq!(rejected_items(LOGS, BodyKind::Protobuf, &endless), None, "a number of more than ten bytes");
    }
}
