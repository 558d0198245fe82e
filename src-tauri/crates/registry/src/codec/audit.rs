//! An audit row as columns, and the hash that links it to the row before (ruling 8).
//!
//! The hash is SHA-256 over the 32 bytes of the previous row's hash (32 zero bytes before row 1), then the fields `number`,
//! `at`, `actor`, `verb`, `subject`, `note`, and `origin` where the row has one, each as UTF-8 text behind its length in bytes
//! as eight big-endian bytes. `number` is decimal; `at` is milliseconds since 1970, decimal; `actor` is `person:NAME`,
//! `agent:ID`, `server:ID` or `system:PART`; `verb` is the word of the export; `subject` is `handle:ID`, `request:ID:KEY`,
//! `server:ID`, `agent:ID` or `store`; `origin` is `DOOR PID@STARTED EXECUTABLE`. A stand-alone verifier needs no more.

use std::collections::BTreeSet;

use domain::audit::decision_origin::DecisionOrigin;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, PersonId, RequestKey};
use domain::time::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::DecodeError;

/// The subject that is the registry itself.
const STORE: &str = "store";
/// Names of our own parts that may be read back; beyond it a registry was made by somebody else. Judgement.
const PARTS_MAX: usize = 256;
/// Names of parts read back so far; `Actor::System` wants them for the life of the program.
static PARTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The subject as text, for the hash and the column.
pub(crate) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Handle(id) => format!("handle:{id}"),
        Subject::Request(id, key) => format!("request:{id}:{key}"),
        Subject::Server(id) => format!("server:{id}"),
        Subject::Agent(id) => format!("agent:{id}"),
        Subject::Store => STORE.into(),
    }
}

/// The handle that the subject belongs to, for the index.
pub(crate) fn subject_handle(subject: &Subject) -> Option<HandleId> {
    match subject {
        Subject::Handle(id) | Subject::Request(id, _) => Some(*id),
        Subject::Server(_) | Subject::Agent(_) | Subject::Store => None,
    }
}

/// The hash of a row.
pub(crate) fn hash(previous: &[u8; 32], number: u64, event: &AuditEvent) -> [u8; 32] {
    let AuditEvent { at, actor, verb, subject: done_to, note } = event;
    let fields =
        [&number.to_string(), &at.as_millis().to_string(), &actor.to_string(), verb.word(), &subject(done_to), note];
    hash_fields(previous, fields, event.origin().map(ToString::to_string).as_deref())
}

/// The hash of a row whose fields are text already, in the order of the description above.
pub(crate) fn hash_fields(previous: &[u8; 32], fields: [&str; 6], origin: Option<&str>) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(previous);
    for field in fields.into_iter().chain(origin) {
        digest.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(field.as_bytes());
    }
    digest.finalize().into()
}

fn read_part(name: &str) -> Result<&'static str, DecodeError> {
    let mut parts = PARTS.lock();
    if let Some(known) = parts.get(name) {
        return Ok(known);
    }
    if parts.len() >= PARTS_MAX {
        return Err(DecodeError::new("actor", "names more parts than Taskwarden has"));
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    parts.insert(kept);
    Ok(kept)
}

fn read_actor(text: &str) -> Result<Actor, DecodeError> {
    let id = || DecodeError::new("actor", "does not read as an id");
    match text.split_once(':') {
        Some(("person", name)) => Ok(Actor::Person(PersonId::new(name))),
        Some(("agent", agent)) => agent.parse().map(Actor::Agent).map_err(|_| id()),
        Some(("server", server)) => server.parse().map(Actor::Server).map_err(|_| id()),
        Some(("system", part)) => read_part(part).map(Actor::System),
        _ => Err(DecodeError::word("actor", text)),
    }
}

/// The origin of a decision goes back to the person who made it.
fn with_origin(actor: Actor, origin: Option<&str>) -> Result<Actor, DecodeError> {
    match (actor, origin) {
        (actor, None) => Some(actor),
        (Actor::Person(person), Some(text)) => {
            DecisionOrigin::from_text(text).map(|origin| Actor::Person(person.through(origin)))
        }
        (Actor::Agent(_) | Actor::Server(_) | Actor::System(_), Some(_)) => None,
    }
    .ok_or_else(|| DecodeError::new("origin", "does not read as one of a person's decision"))
}

fn read_subject(text: &str) -> Result<Subject, DecodeError> {
    let id = || DecodeError::new("subject", "does not read as an id");
    match text.split_once(':') {
        Some(("handle", handle)) => handle.parse().map(Subject::Handle).map_err(|_| id()),
        Some(("server", server)) => server.parse().map(Subject::Server).map_err(|_| id()),
        Some(("agent", agent)) => agent.parse().map(Subject::Agent).map_err(|_| id()),
        Some(("request", rest)) => {
            let (handle, key) = rest.split_once(':').ok_or_else(id)?;
            Ok(Subject::Request(handle.parse().map_err(|_| id())?, RequestKey::new(key)))
        }
        None if text == STORE => Ok(Subject::Store),
        _ => Err(DecodeError::word("subject", text)),
    }
}

/// Reads an event from its columns.
pub(crate) fn read(at: Timestamp, fields: [&str; 4], origin: Option<&str>) -> Result<AuditEvent, DecodeError> {
    let [actor, verb, subject, note] = fields;
    Ok(AuditEvent {
        at,
        actor: with_origin(read_actor(actor)?, origin)?,
        verb: Verb::ALL
            .into_iter()
            .find(|known| known.word() == verb)
            .ok_or_else(|| DecodeError::word("verb", verb))?,
        subject: read_subject(subject)?,
        note: note.into(),
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_all_listed() {
        let place = |verb: Verb| match verb {
            Verb::Admitted => 0_usize,
            Verb::Accepted => 1,
            Verb::Discovered => 2,
            Verb::Adopted => 3,
            Verb::Unconfirmed => 4,
            Verb::Ended => 5,
            Verb::Contradiction => 6,
            Verb::Asked => 7,
            Verb::Withdrawn => 8,
            Verb::AnswerBegun => 9,
            Verb::AnswerEnded => 10,
            Verb::AnswerUndone => 11,
            Verb::CancelBegun => 12,
            Verb::CancelEnded => 13,
            Verb::Revoked => 14,
            Verb::Unwatched => 15,
            Verb::Lost => 16,
            Verb::ServerAdded => 17,
            Verb::ServerAllowed => 18,
            Verb::ServerRemoved => 19,
            Verb::ProcessStarted => 20,
            Verb::ProcessEnded => 21,
            Verb::AgentAdded => 22,
            Verb::AgentRevoked => 23,
            Verb::RuleChanged => 24,
            Verb::Given => 25,
            Verb::Orphaned => 26,
            Verb::ResultHeld => 27,
            Verb::ResultReleased => 28,
            Verb::ResultWithheld => 29,
            Verb::OverLimit => 30,
            Verb::LimitLifted => 31,
            Verb::BudgetChanged => 32,
            Verb::StorageCleaned => 33,
            Verb::StorageChanged => 34,
            Verb::SegmentRemoved => 35,
            Verb::SessionRevoked => 36,
            Verb::ServerChanged => 37,
            Verb::ServerRestarted => 38,
            Verb::AgentTokenReplaced => 39,
            Verb::Halted => 40,
            Verb::Resumed => 41,
            Verb::BulkBegun => 42,
            Verb::BulkEnded => 43,
        };
        for (index, verb) in Verb::ALL.into_iter().enumerate() {
            assert_eq!(place(verb), index, "{} stands at its place", verb.word());
        }
    }

    #[test]
    fn the_hash_of_a_row_is_what_the_documentation_says() {
        // Computed once by an independent program (Python's hashlib) from the description above.
        let event = AuditEvent {
            at: Timestamp::from_millis(1_700_000_000_000),
            actor: Actor::Person(PersonId::new("ada")),
            verb: Verb::Admitted,
            subject: Subject::Handle(HandleId::from_random(1)),
            note: "hello".into(),
        };
        assert_eq!(hex(&hash(&[0; 32], 1, &event)), "47dfeae34dec0ddd43c65afc6b368d51c1ae24d6b52a582602587c48df4143f8");
        let origin = DecisionOrigin::from_text("terminal 7@99 /usr/bin/taskwarden").expect("an origin");
        let decided = AuditEvent { actor: Actor::Person(PersonId::new("ada").through(origin)), ..event };
        assert_eq!(
            hex(&hash(&[0; 32], 1, &decided)),
            "f4c3a6aa77ece93e472d79722d85ce285de0bae59063426b7ac9fa4bb7424d58",
            "rows from before origins keep their hash, and later ones cover it"
        );
    }
}
