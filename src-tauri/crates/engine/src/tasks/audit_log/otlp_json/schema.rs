//! The messages of OTLP that are sent, as their published protobuf definitions have them: which fields there are, and how
//! JSON writes each. Only for tests; nothing is read with it.

use serde_json::Value;

/// What a field is in `opentelemetry-proto` 1.10, and how proto3 JSON writes it.
#[derive(Clone, Copy)]
enum ProtoField {
    Text,
    /// `int64`, `fixed64`: a decimal text.
    Whole64,
    /// An enumeration or a number of 32 bits.
    Number,
    Bool,
    Message(&'static str),
    Many(&'static str),
    /// Bytes as so many hexadecimal digits, not all 0: what OTLP does instead of base64 for ids of traces and spans.
    Id(usize),
}

fn message(name: &str) -> &'static [(&'static str, ProtoField)] {
    use ProtoField::{Bool, Id, Many, Message, Number, Text, Whole64};
    match name {
        "ExportTraceServiceRequest" => &[("resourceSpans", Many("ResourceSpans"))],
        "ResourceSpans" => {
            &[("resource", Message("Resource")), ("scopeSpans", Many("ScopeSpans")), ("schemaUrl", Text)]
        }
        "ScopeSpans" => &[("scope", Message("Scope")), ("spans", Many("Span")), ("schemaUrl", Text)],
        "Span" => &[
            ("traceId", Id(32)),
            ("spanId", Id(16)),
            ("traceState", Text),
            ("parentSpanId", Id(16)),
            ("flags", Number),
            ("name", Text),
            ("kind", Number),
            ("startTimeUnixNano", Whole64),
            ("endTimeUnixNano", Whole64),
            ("attributes", Many("KeyValue")),
            ("droppedAttributesCount", Number),
            ("events", Many("Event")),
            ("droppedEventsCount", Number),
            ("links", Many("Link")),
            ("droppedLinksCount", Number),
            ("status", Message("Status")),
        ],
        "Event" => &[
            ("timeUnixNano", Whole64),
            ("name", Text),
            ("attributes", Many("KeyValue")),
            ("droppedAttributesCount", Number),
        ],
        "Link" => &[
            ("traceId", Id(32)),
            ("spanId", Id(16)),
            ("traceState", Text),
            ("attributes", Many("KeyValue")),
            ("droppedAttributesCount", Number),
            ("flags", Number),
        ],
        "Status" => &[("message", Text), ("code", Number)],
        "ExportLogsServiceRequest" => &[("resourceLogs", Many("ResourceLogs"))],
        "ResourceLogs" => &[("resource", Message("Resource")), ("scopeLogs", Many("ScopeLogs")), ("schemaUrl", Text)],
        "Resource" => &[("attributes", Many("KeyValue"))],
        "ScopeLogs" => &[("scope", Message("Scope")), ("logRecords", Many("LogRecord")), ("schemaUrl", Text)],
        "Scope" => &[("name", Text), ("version", Text), ("attributes", Many("KeyValue"))],
        "LogRecord" => &[
            ("timeUnixNano", Whole64),
            ("observedTimeUnixNano", Whole64),
            ("severityNumber", Number),
            ("severityText", Text),
            ("body", Message("AnyValue")),
            ("attributes", Many("KeyValue")),
            ("eventName", Text),
        ],
        "KeyValue" => &[("key", Text), ("value", Message("AnyValue"))],
        "AnyValue" => &[("stringValue", Text), ("boolValue", Bool), ("intValue", Whole64)],
        other => panic!("no message `{other}`"),
    }
}

/// Fails unless this is such a message and nothing else.
pub(in crate::tasks::audit_log) fn check(name: &str, value: &Value) {
    let members = value.as_object().unwrap_or_else(|| panic!("{name} is an object: {value}"));
    assert!(name != "AnyValue" || members.len() == 1, "one of its kinds: {value}");
    for (key, value) in members {
        let field = message(name).iter().find(|(known, _)| known == key);
        let (_, field) = field.unwrap_or_else(|| panic!("{name} has no field `{key}`"));
        let fits = match field {
            ProtoField::Text => value.is_string(),
            ProtoField::Whole64 => value.as_str().is_some_and(|text| text.parse::<i64>().is_ok()),
            ProtoField::Number => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
            ProtoField::Bool => value.is_boolean(),
            ProtoField::Id(digits) => value.as_str().is_some_and(|id| {
                id.len() == *digits
                    && id.bytes().all(|byte| byte.is_ascii_hexdigit())
                    && id.bytes().any(|byte| byte != b'0')
            }),
            ProtoField::Message(of) => {
                check(of, value);
                true
            }
            ProtoField::Many(of) => {
                value.as_array().expect("a list").iter().for_each(|one| check(of, one));
                true
            }
        };
        assert!(fits, "{name}.{key} is written as its type wants: {value}");
    }
}
