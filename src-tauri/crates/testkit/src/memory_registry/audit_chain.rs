//! The audit chain, linked and checked from its documentation alone: this is the stand-alone verifier of the tests.
//!
//! SHA-256 over the previous hash (32 zero bytes before row 1) and then `number`, `at` (milliseconds), `actor`,
//! `verb`, `subject`, `note`, and `origin` where there is one, each as UTF-8 behind its length as eight big-endian bytes.

use domain::audit::{AuditEvent, Subject};
use domain::ports::AuditLink;
use sha2::{Digest, Sha256};

fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Handle(id) => format!("handle:{id}"),
        Subject::Request(id, key) => format!("request:{id}:{key}"),
        Subject::Server(id) => format!("server:{id}"),
        Subject::Agent(id) => format!("agent:{id}"),
        Subject::Store => "store".into(),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The hash of a row after the row with hash `previous`.
fn hash(previous: &str, number: u64, event: &AuditEvent) -> String {
    let mut digest = Sha256::new();
    digest.update(unhex(previous));
    let fields = [
        number.to_string(),
        event.at.as_millis().to_string(),
        event.actor.to_string(),
        event.verb.word().to_owned(),
        subject(&event.subject),
        event.note.clone(),
    ];
    for field in fields.into_iter().chain(event.origin().map(ToString::to_string)) {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field.as_bytes());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The next row of a chain.
pub(crate) fn link(last: Option<&AuditLink>, event: AuditEvent) -> AuditLink {
    let number = last.map_or(1, |last| last.number + 1);
    let previous = last.map_or_else(|| "0".repeat(64), |last| last.hash.clone());
    let hash = hash(&previous, number, &event);
    AuditLink { number, event, previous, hash }
}

/// What is wrong with a whole chain of audit rows; `None` is good.
#[must_use]
pub fn finding(rows: &[AuditLink]) -> Option<String> {
    finding_after(None, rows)
}

/// As [`finding`], for rows behind others that were removed, of which this is the last.
pub(crate) fn finding_after(removed: Option<&AuditLink>, rows: &[AuditLink]) -> Option<String> {
    let mut last = removed;
    for row in rows {
        let expected = link(last, row.event.clone());
        if expected != *row {
            return Some(format!("row {} should be {expected:?} and is {row:?}", row.number));
        }
        last = Some(row);
    }
    None
}
