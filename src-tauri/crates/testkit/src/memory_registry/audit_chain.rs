//! The audit chain, linked and checked from its documentation alone: this is the stand-alone verifier of the tests.
//!
//! Written from `docs/audit.md`, apart from the crate `verify`. The memory registry writes rows of layout 1, the other
//! registries of layout 2; both are checked here.

pub(crate) mod receipts;
mod sinks;

use domain::audit::{AuditEvent, Subject};
use domain::ports::{AuditLink, SaltedFields};
use sha2::{Digest, Sha256};

pub(super) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Handle(id) => format!("handle:{id}"),
        Subject::Request(id, key) => format!("request:{id}:{key}"),
        Subject::Server(id) => format!("server:{id}"),
        Subject::Agent(id) => format!("agent:{id}"),
        Subject::Store => "store".into(),
        Subject::Unknown(text) => text.clone(),
    }
}

pub(super) fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Adds a field behind its length.
fn add(digest: &mut Sha256, field: &[u8]) {
    digest.update((field.len() as u64).to_be_bytes());
    digest.update(field);
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The commitment and the hash of a row of layout 2.
fn salted_hashes(previous: &str, row: &AuditLink, salted: &SaltedFields) -> (String, String) {
    let commitment = salted.erasable.as_ref().map_or_else(
        || salted.commitment.clone(),
        |text| {
            let mut digest = Sha256::new();
            digest.update("taskwarden note 2");
            add(&mut digest, &unhex(&text.salt));
            add(&mut digest, row.event.note.as_bytes());
            add(&mut digest, text.detail.as_bytes());
            hex(digest)
        },
    );
    let AuditEvent { at, actor, verb, subject: about, note: _ } = &row.event;
    let mut digest = Sha256::new();
    digest.update(unhex(previous));
    let (number, at, actor) = (row.number.to_string(), at.as_millis().to_string(), actor.to_string());
    let fields =
        ["taskwarden audit 2", &number, &at, &actor, verb.word(), &subject(about), &salted.server, &salted.agent];
    fields.into_iter().for_each(|field| add(&mut digest, field.as_bytes()));
    add(&mut digest, &unhex(&commitment));
    (commitment, hex(digest))
}

/// The hash of a row of layout 1 after the row with hash `previous`.
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
        add(&mut digest, field.as_bytes());
    }
    hex(digest)
}

/// The next row of a chain.
pub(crate) fn link(last: Option<&AuditLink>, event: AuditEvent) -> AuditLink {
    let number = last.map_or(1, |last| last.number + 1);
    let previous = last.map_or_else(|| "0".repeat(64), |last| last.hash.clone());
    let hash = hash(&previous, number, &event);
    AuditLink { number, event, salted: None, previous, hash }
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
        let mut expected = link(last, row.event.clone());
        if let Some(salted) = &row.salted {
            let (commitment, hash) = salted_hashes(&expected.previous, row, salted);
            expected.salted = Some(SaltedFields { commitment, ..salted.clone() });
            expected.hash = hash;
        }
        if expected != *row {
            return Some(format!("row {} should be {expected:?} and is {row:?}", row.number));
        }
        last = Some(row);
    }
    None
}
