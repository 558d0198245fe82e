//! An audit row as columns, and the hash that links it to the row before (ruling 8).
//!
//! New rows have layout 2; rows of layout 1 stay as they are. Both are described in `docs/audit.md`, and hashed by the crate
//! `verify` alone. Words that this version does not know are kept as they stand, so that a newer row breaks no page.

use std::collections::{BTreeMap, BTreeSet};

use domain::audit::decision_origin::DecisionOrigin;
use domain::audit::{Actor, AuditEvent, DecidingRule, Subject, Verb};
use domain::ids::{HandleId, PersonId, RequestKey};
use domain::time::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use verify::chain::{ChainRow, Hash, commitment};

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
        Subject::Unknown(text) => text.clone(),
    }
}

/// The handle that the subject belongs to, for the index.
pub(crate) fn subject_handle(subject: &Subject) -> Option<HandleId> {
    match subject {
        Subject::Handle(id) | Subject::Request(id, _) => Some(*id),
        Subject::Server(_) | Subject::Agent(_) | Subject::Store | Subject::Unknown(_) => None,
    }
}

/// The task that a row is about, as far as the row says so itself: the text behind the kind of its subject.
pub(crate) fn handle_in(subject: &str) -> Option<&str> {
    match subject.split_once(':')? {
        ("handle", id) => Some(id),
        ("request", rest) => rest.split_once(':').map(|(id, _)| id),
        _ => None,
    }
}

/// The server and agent of a task, for the rows of that task; empty for none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskParties<'a> {
    pub(crate) server: &'a str,
    pub(crate) agent: &'a str,
}

/// Where a new row stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainPlace {
    /// The hash of the row before.
    pub(crate) previous: Hash,
    pub(crate) number: u64,
}

/// A row of layout 2 as it is stored.
#[derive(Debug)]
pub(crate) struct EncodedAuditRow {
    pub(crate) number: u64,
    pub(crate) actor: String,
    pub(crate) subject: String,
    pub(crate) handle: Option<String>,
    pub(crate) server: String,
    pub(crate) agent: String,
    pub(crate) detail: String,
    pub(crate) salt: [u8; 16],
    pub(crate) commitment: Hash,
    pub(crate) hash: Hash,
}

impl EncodedAuditRow {
    /// The row of an event behind the row with the hash `previous`.
    pub(crate) fn linked(
        ChainPlace { previous, number }: ChainPlace,
        event: &AuditEvent,
        parties: TaskParties<'_>,
        salt: [u8; 16],
    ) -> Self {
        let (server, agent) = about(event, parties);
        let (actor, subject) = (event.actor.to_string(), subject(&event.subject));
        let detail = detail(event);
        let commitment = commitment(&salt, &event.note, &detail);
        let fields = ChainRow {
            number,
            layout: 2,
            at: event.at.as_millis(),
            actor: &actor,
            verb: event.verb.word(),
            subject: &subject,
            server: &server,
            agent: &agent,
            text: None,
            commitment: Some(commitment),
        };
        let hash = fields.salted_hash(&previous, &commitment);
        let handle = subject_handle(&event.subject).map(|id| id.to_string());
        Self { number, actor, subject, handle, server, agent, detail, salt, commitment, hash }
    }
}

/// The server and agent that a row is about: those of its task, else its subject, else who acted.
fn about(event: &AuditEvent, TaskParties { server, agent }: TaskParties<'_>) -> (String, String) {
    let text =
        |known: &str, named: Option<String>| if known.is_empty() { named.unwrap_or_default() } else { known.into() };
    let servers = match (&event.subject, &event.actor) {
        (Subject::Server(id), _) | (_, Actor::Server(id)) => Some(id.to_string()),
        _ => None,
    };
    let agents = match (&event.subject, &event.actor) {
        (Subject::Agent(id), _) | (_, Actor::Agent(id)) => Some(id.to_string()),
        _ => None,
    };
    (text(server, servers), text(agent, agents))
}

/// What is known beyond the note, as RFC 8785 wants it: members in order, and only texts and small whole numbers.
fn detail(event: &AuditEvent) -> String {
    let mut members: BTreeMap<&str, Value> = BTreeMap::new();
    if let Some(DecisionOrigin { door, process, executable }) = event.origin() {
        members.insert("door", door.word().into());
        if let Some(process) = process {
            members.insert("process", format!("{}@{}", process.pid, process.started).into());
        }
        if let Some(executable) = executable {
            members.insert("executable", executable.as_str().into());
        }
    }
    if let Some(rule) = event.rule() {
        members.insert("rule", rule.id.to_string().into());
        members.insert("version", rule.version.into());
    }
    // Texts and numbers always encode.
    serde_json::to_string(&members).unwrap_or_else(|_| "{}".into())
}

/// How a decision came in, as the detail of its row says it.
fn origin_in(detail: &Value) -> Option<DecisionOrigin> {
    let word = |name: &str| detail.get(name).and_then(Value::as_str);
    let unknown = "unknown";
    let [process, executable] = ["process", "executable"].map(|name| word(name).unwrap_or(unknown));
    DecisionOrigin::from_text(&format!("{} {process} {executable}", word("door")?))
}

/// The rule that decided, as the detail of its row says it.
fn rule_in(detail: &Value) -> Option<DecidingRule> {
    let version = detail.get("version")?.as_u64()?;
    Some(DecidingRule { id: detail.get("rule")?.as_str()?.parse().ok()?, version: u32::try_from(version).ok()? })
}

fn read_part(name: &str) -> Option<&'static str> {
    let mut parts = PARTS.lock();
    if let Some(known) = parts.get(name) {
        return Some(known);
    }
    if parts.len() >= PARTS_MAX {
        return None;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    parts.insert(kept);
    Some(kept)
}

/// An actor from its text; a kind that is not known, or an id that does not read, is kept as it stands.
fn read_actor(text: &str) -> Actor {
    let known = match text.split_once(':') {
        Some(("person", name)) => Some(Actor::Person(PersonId::new(name))),
        Some(("agent", agent)) => agent.parse().map(Actor::Agent).ok(),
        Some(("server", server)) => server.parse().map(Actor::Server).ok(),
        Some(("control", token)) => token.parse().map(Actor::Control).ok(),
        Some(("system", part)) => read_part(part).map(Actor::System),
        _ => None,
    };
    known.unwrap_or_else(|| Actor::Unknown(text.into()))
}

/// What is stored apart goes back to who acted: the origin to a person, the rule to the part that applies rules.
fn with_detail(actor: Actor, origin: Option<DecisionOrigin>, rule: Option<DecidingRule>) -> Actor {
    match (actor, origin, rule) {
        (Actor::Person(person), Some(origin), _) => Actor::Person(person.through(origin)),
        (Actor::System("rule"), _, Some(rule)) => Actor::Rule(rule),
        (actor, _, _) => actor,
    }
}

/// A subject from its text; a kind that is not known, or an id that does not read, is kept as it stands.
fn read_subject(text: &str) -> Subject {
    let known = match text.split_once(':') {
        Some(("handle", handle)) => handle.parse().map(Subject::Handle).ok(),
        Some(("server", server)) => server.parse().map(Subject::Server).ok(),
        Some(("agent", agent)) => agent.parse().map(Subject::Agent).ok(),
        Some(("request", rest)) => rest
            .split_once(':')
            .and_then(|(handle, key)| Some(Subject::Request(handle.parse().ok()?, RequestKey::new(key)))),
        None if text == STORE => Some(Subject::Store),
        _ => None,
    };
    known.unwrap_or_else(|| Subject::Unknown(text.into()))
}

/// The columns of a row that an event is read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventColumns<'a> {
    pub(crate) at: i64,
    pub(crate) actor: &'a str,
    pub(crate) verb: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) note: &'a str,
    /// Layout 1 only.
    pub(crate) origin: Option<&'a str>,
    /// Layout 2 only; `None` when it was erased.
    pub(crate) detail: Option<&'a str>,
}

/// Reads an event from its columns.
pub(crate) fn read(columns: EventColumns<'_>) -> AuditEvent {
    let detail: Value = columns.detail.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let origin = columns.origin.and_then(DecisionOrigin::from_text).or_else(|| origin_in(&detail));
    AuditEvent {
        at: Timestamp::from_millis(columns.at),
        actor: with_detail(read_actor(columns.actor), origin, rule_in(&detail)),
        verb: Verb::from_word(columns.verb),
        subject: read_subject(columns.subject),
        note: columns.note.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_all_listed() {
        let place = |verb: Verb| match verb {
            Verb::Unknown(_) => usize::MAX,
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
            Verb::Escalated => 42,
            Verb::BulkBegun => 43,
            Verb::BulkEnded => 44,
            Verb::ControlTokenAdded => 45,
            Verb::ControlTokenRevoked => 46,
            Verb::ControlLimited => 47,
            Verb::ClientFileChanged => 48,
            Verb::Checkpointed => 49,
            Verb::Exported => 50,
            Verb::SigningKeyReplaced => 51,
            Verb::AnchorAdded => 52,
            Verb::AnchorRemoved => 53,
            Verb::SignInBegun => 54,
            Verb::SignedIn => 55,
            Verb::SignedOut => 56,
            Verb::AlarmRaised => 57,
            Verb::AlarmEnded => 58,
            Verb::AlarmDismissed => 59,
            Verb::Called => 60,
            Verb::ReceiptsMissing => 61,
            Verb::PauseBegun => 62,
            Verb::PauseEnded => 63,
            Verb::SinkAdded => 64,
            Verb::SinkRemoved => 65,
            Verb::SinkResumed => 66,
            Verb::ToolsChanged => 67,
            Verb::ToolsSeen => 68,
            Verb::EpochBegun => 69,
            Verb::SignInFailed => 70,
            Verb::ServerActEnded => 71,
        };
        for (index, verb) in Verb::ALL.into_iter().enumerate() {
            assert_eq!(place(verb), index, "{} stands at its place", verb.word());
        }
    }

    const FIRST: ChainPlace = ChainPlace { previous: [0; 32], number: 1 };

    fn event() -> AuditEvent {
        AuditEvent {
            at: Timestamp::from_millis(1_700_000_000_000),
            actor: Actor::Person(PersonId::new("ada")),
            verb: Verb::Admitted,
            subject: Subject::Handle(HandleId::from_random(1)),
            note: "hello".into(),
        }
    }

    fn columns<'a>(row: &'a EncodedAuditRow, event: &'a AuditEvent) -> EventColumns<'a> {
        EventColumns {
            at: event.at.as_millis(),
            actor: &row.actor,
            verb: event.verb.word(),
            subject: &row.subject,
            note: &event.note,
            origin: None,
            detail: Some(&row.detail),
        }
    }

    #[test]
    fn the_door_the_process_and_the_rule_of_a_decision_are_in_the_detail_and_read_back() {
        let origin = DecisionOrigin::from_text("terminal 7@99 /opt/my \"tools\"/x").expect("an origin");
        let rule = DecidingRule { id: domain::ids::StandingAnswerId::from_random(8), version: 2 };
        let browser = DecisionOrigin::from_text("browser unknown unknown").expect("an origin");
        let expected_rule = format!(r#"{{"rule":"{}","version":2}}"#, rule.id);
        for (actor, wanted) in [
            (
                Actor::Person(PersonId::new("ada").through(origin)),
                r#"{"door":"terminal","executable":"/opt/my \"tools\"/x","process":"7@99"}"#,
            ),
            (Actor::Person(PersonId::new("ada").through(browser)), r#"{"door":"browser"}"#),
            (Actor::Rule(rule), expected_rule.as_str()),
            (Actor::System("budget"), "{}"),
        ] {
            let event = AuditEvent { actor, ..event() };
            let row = EncodedAuditRow::linked(FIRST, &event, TaskParties::default(), [1; 16]);
            assert_eq!(row.detail, wanted);
            assert_eq!(read(columns(&row, &event)), event, "it reads back whole");
        }
    }

    #[test]
    fn a_row_names_the_server_and_the_agent_that_it_is_about() {
        let (server, agent) = (domain::ids::ServerId::from_random(2), domain::ids::AgentId::from_random(3));
        let about = |actor, subject| {
            let event = AuditEvent { actor, subject, ..event() };
            let row = EncodedAuditRow::linked(FIRST, &event, TaskParties::default(), [1; 16]);
            (row.server, row.agent)
        };
        let person = || Actor::Person(PersonId::new("ada"));
        assert_eq!(about(person(), Subject::Server(server)), (server.to_string(), String::new()));
        assert_eq!(about(person(), Subject::Agent(agent)), (String::new(), agent.to_string()));
        assert_eq!(about(Actor::Agent(agent), Subject::Server(server)), (server.to_string(), agent.to_string()));
        assert_eq!(about(person(), Subject::Store), (String::new(), String::new()));
        let parties = TaskParties { server: "srv_task", agent: "agt_task" };
        let event = AuditEvent { actor: Actor::Server(server), ..event() };
        let row = EncodedAuditRow::linked(FIRST, &event, parties, [1; 16]);
        assert_eq!(
            (row.server.as_str(), row.agent.as_str()),
            ("srv_task", "agt_task"),
            "a row of a task has the task's"
        );
    }

    #[test]
    fn words_of_a_newer_version_are_kept_as_they_stand() {
        let event = read(EventColumns {
            at: 5,
            actor: "robot:r2",
            verb: "teleported",
            subject: "plan:pln_1",
            note: "",
            origin: None,
            detail: Some("{\"depth\":[1]}"),
        });
        assert_eq!(event.verb.word(), "teleported");
        assert_eq!(event.actor.to_string(), "robot:r2");
        assert_eq!(subject(&event.subject), "plan:pln_1");
    }
}
