//! Rows of the audit log, and its checkpoints, as OpenTelemetry log records in the JSON encoding of OTLP.
//!
//! A record says what its row says and nothing more, so it has no arguments, answers, results or secrets. What a collector
//! gets is described in `docs/audit.md`; when it gets it is `sinks.rs`, and for checkpoints `anchors.rs`.

use domain::audit::Verb;
use domain::digest::hex;
use domain::ports::{AuditRow, Checkpoint};
use serde_json::{Map, Value, json};

use super::otlp_json::{id_of, log_id, nanos, resource, scope, text, whole};

/// Who writes the records.
const SCOPE: &str = "taskwarden.audit";

/// How much a record matters, as the log data model of OpenTelemetry has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Info,
    Warn,
    Error,
}

impl Severity {
    fn of(row: &AuditRow) -> Self {
        if !row.fits {
            return Self::Error;
        }
        let verb = Verb::from_word(&row.verb);
        if matches!(verb, Verb::ReceiptsMissing | Verb::SigningKeyReplaced) {
            return Self::Error;
        }
        let is_trouble = matches!(
            verb,
            Verb::Unconfirmed
                | Verb::Contradiction
                | Verb::Lost
                | Verb::Orphaned
                | Verb::OverLimit
                | Verb::Halted
                | Verb::Escalated
                | Verb::ControlLimited
                | Verb::AlarmRaised
                | Verb::EpochBegun
        );
        if is_trouble { Self::Warn } else { Self::Info }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Info => 9,
            Self::Warn => 13,
            Self::Error => 17,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// What the detail of a row says of the decision.
fn add_decision(attributes: &mut Vec<Value>, detail: &str) {
    let detail: Value = serde_json::from_str(detail).unwrap_or_default();
    let word = |name: &str| detail.get(name).and_then(Value::as_str);
    attributes.extend(word("door").map(|door| text("taskwarden.decision.door", door)));
    let process = word("process").and_then(|process| process.split_once('@')?.0.parse().ok());
    attributes.extend(process.map(|pid| whole("process.pid", pid)));
    let is_path = |executable: &&str| executable.starts_with('/');
    attributes.extend(word("executable").filter(is_path).map(|path| text("process.executable.path", path)));
    attributes.extend(word("rule").map(|rule| text("taskwarden.rule.id", rule)));
    attributes.extend(detail.get("version").and_then(Value::as_u64).map(|of| whole("taskwarden.rule.version", of)));
}

fn attributes(origin: &str, row: &AuditRow) -> Vec<Value> {
    let mut all = vec![
        text("log.record.uid", &uid(origin, row.number)),
        whole("taskwarden.audit.number", row.number),
        whole("taskwarden.audit.layout", u64::from(row.layout)),
        text("taskwarden.audit.actor", &row.actor),
        text("taskwarden.audit.verb", &row.verb),
        text("taskwarden.audit.subject", &row.subject),
        text("taskwarden.audit.hash", &hex(&row.hash)),
        text("taskwarden.audit.previous", &hex(&row.previous)),
    ];
    if !row.fits {
        all.push(json!({"key": "taskwarden.audit.broken", "value": {"boolValue": true}}));
    }
    all.extend(row.actor.strip_prefix("person:").map(|name| text("user.name", name)));
    let task = id_of(&row.subject, "handle").or_else(|| id_of(&row.subject, "request"));
    all.extend(task.map(|task| text("taskwarden.task.id", task)));
    let named = |column: &str, kind: &str| {
        let other = id_of(&row.subject, kind).or_else(|| id_of(&row.actor, kind)).unwrap_or_default();
        Some(if column.is_empty() { other } else { column }.to_owned()).filter(|id| !id.is_empty())
    };
    all.extend(named(&row.server, "server").map(|server| text("taskwarden.server.id", &server)));
    all.extend(named(&row.agent, "agent").map(|agent| text("gen_ai.agent.id", &agent)));
    if let Some(detail) = &row.detail {
        add_decision(&mut all, detail);
    }
    all
}

/// What tells a record from every other one, and is the same whenever its row is sent.
fn uid(origin: &str, number: u64) -> String {
    format!("{}/{number}", log_id(origin))
}

fn record(origin: &str, row: &AuditRow) -> Value {
    let severity = Severity::of(row);
    let mut record = Map::new();
    record.insert("timeUnixNano".into(), nanos(row.at).into());
    record.insert("observedTimeUnixNano".into(), nanos(row.at).into());
    record.insert("severityNumber".into(), severity.number().into());
    record.insert("severityText".into(), severity.text().into());
    record.insert("eventName".into(), format!("{SCOPE}.{}", row.verb).into());
    if let Some(note) = row.note.as_ref().filter(|note| !note.is_empty()) {
        record.insert("body".into(), json!({"stringValue": note}));
    }
    record.insert("attributes".into(), attributes(origin, row).into());
    Value::Object(record)
}

/// One request with the first of these rows, as many as have so many bytes and at least one.
pub(crate) struct LogRequest {
    pub(crate) body: String,
    pub(crate) rows: usize,
}

/// Puts rows of the log with this name into a request.
pub(crate) fn request(origin: &str, rows: &[AuditRow], most_bytes: usize) -> LogRequest {
    let (resource, scope) = (resource(origin), scope(SCOPE));
    let mut body =
        format!(r#"{{"resourceLogs":[{{"resource":{resource},"scopeLogs":[{{"scope":{scope},"logRecords":["#);
    let mut taken = 0;
    for row in rows {
        let record = record(origin, row).to_string();
        if taken > 0 {
            if body.len() + record.len() > most_bytes {
                break;
            }
            body.push(',');
        }
        body.push_str(&record);
        taken += 1;
    }
    body.push_str("]}]}]}");
    LogRequest { body, rows: taken }
}

/// Puts a checkpoint of the log with this name into a request: one record, whose text is the whole signed note.
pub(crate) fn checkpoint_request(origin: &str, checkpoint: &Checkpoint) -> String {
    let Checkpoint { size, root, note, at, key } = checkpoint;
    let severity = Severity::Info;
    let record = json!({
        "timeUnixNano": nanos(*at),
        "observedTimeUnixNano": nanos(*at),
        "severityNumber": severity.number(),
        "severityText": severity.text(),
        "eventName": format!("{SCOPE}.checkpoint"),
        "body": {"stringValue": note},
        "attributes": [
            text("log.record.uid", &format!("{}/checkpoint/{size}", log_id(origin))),
            whole("taskwarden.audit.checkpoint.size", *size),
            text("taskwarden.audit.checkpoint.root", &hex(root)),
            text("taskwarden.audit.checkpoint.key", key),
        ],
    });
    let logs = json!({"scope": scope(SCOPE), "logRecords": [record]});
    json!({"resourceLogs": [{"resource": resource(origin), "scopeLogs": [logs]}]}).to_string()
}

/// Rows of the log with this name as lines of a file: each is one request of at most so many bytes, as the file receiver
/// of a collector (`otlpjsonfile`) reads them.
#[must_use]
pub fn otlp_lines(origin: &str, rows: &[AuditRow], most_bytes: usize) -> String {
    let (mut lines, mut left) = (String::new(), rows);
    while !left.is_empty() {
        let LogRequest { body, rows } = request(origin, left, most_bytes);
        lines.push_str(&body);
        lines.push('\n');
        left = left.get(rows.max(1)..).unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests;
