//! What happened to a task: audit events in lanes, and raw messages.
//!
//! Audit events carry no content by their own rule; bodies of raw messages are read in pieces (`tasks.piece`).

use domain::audit::decision_origin::{DecisionDoor, DecisionOrigin};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::raw_message::{Direction, RawNote};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::words::{Word, words};
use crate::dto::{LogLineDto, iso};

/// The part of Taskwarden that acts where a limit is reached, as its audit rows name it.
const LIMITS: [&str; 2] = ["budget", "limits"];
/// Who acts where no person, agent or server does.
const TASKWARDEN: &str = "Taskwarden";

words! {
    /// Whose doing something was.
    HistoryLane {
        Agent = "agent",
        Server = "server",
        Person = "person",
        /// Taskwarden, by a rule or a limit.
        Policy = "policy",
    }
}

/// One audit event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEvent {
    pub at: String,
    /// Whose doing it was.
    #[ts(inline)]
    pub lane: HistoryLane,
    /// What was done: a word of the audit log.
    #[ts(type = "AuditVerb")]
    pub verb: Word<Verb>,
    /// Who did it.
    pub actor: ActorDto,
    /// Their name; of Taskwarden and its limits, `Taskwarden`; of a supervisor program, `control:` with the name of its
    /// control token.
    pub who: String,
    /// How it came in, when a person decided it: door, process with its start, executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub origin: Option<OriginDto>,
    /// About which question.
    pub key: Option<String>,
    /// A short sentence.
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ActorDto {
    Person,
    Agent,
    /// The server, by what it said.
    Server,
    /// A limit of tokens that a person set.
    Limit,
    /// Taskwarden by itself.
    Taskwarden,
}

/// How a person's decision came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OriginDto {
    pub door: DoorDto,
    /// The process that asked; null where the system does not tell.
    pub process: Option<u32>,
    /// The file that it ran; null where the system does not tell.
    pub executable: Option<String>,
}

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum DoorDto {
    /// The window of the desktop.
    Window,
    /// A browser that was signed in.
    Browser,
    /// A command in a terminal.
    Terminal,
}

impl From<&DecisionOrigin> for OriginDto {
    fn from(origin: &DecisionOrigin) -> Self {
        let door = match origin.door {
            DecisionDoor::Window => DoorDto::Window,
            DecisionDoor::Browser => DoorDto::Browser,
            DecisionDoor::Terminal => DoorDto::Terminal,
        };
        Self { door, process: origin.process.map(|stamp| stamp.pid), executable: origin.executable.clone() }
    }
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryDto {
    /// Facts, oldest first.
    pub events: Vec<HistoryEvent>,
    /// The server's messages over time, oldest first.
    pub log: Vec<LogLineDto>,
    /// Moments it was heard of, where known, oldest first.
    pub looks: Vec<String>,
}

/// A message as it went over the wire, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RawDto {
    pub n: u64,
    /// When it came or left.
    pub at: String,
    /// Which way it went.
    #[ts(type = "\"fromServer\" | \"toServer\"")]
    pub direction: Word<Direction>,
    /// The method or kind.
    pub about: String,
    /// Its size before it was cut.
    pub bytes: u64,
    /// Whether not all of it is kept.
    pub cut: bool,
}

/// Messages of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RawListDto {
    pub messages: Vec<RawDto>,
}

impl HistoryEvent {
    /// `server` is the name of the task's server, `program` that of the agent that acted, or of the control token with
    /// which a supervisor program did.
    pub(crate) fn of(event: &AuditEvent, server: &str, program: &str) -> Self {
        let (lane, actor, who) = match &event.actor {
            Actor::Person(person) => (HistoryLane::Person, ActorDto::Person, person.to_string()),
            Actor::Agent(_) => (HistoryLane::Agent, ActorDto::Agent, program.to_owned()),
            Actor::Server(_) => (HistoryLane::Server, ActorDto::Server, server.to_owned()),
            Actor::System(part) if LIMITS.contains(part) => {
                (HistoryLane::Policy, ActorDto::Limit, TASKWARDEN.to_owned())
            }
            Actor::System(_) | Actor::Rule(_) => (HistoryLane::Policy, ActorDto::Taskwarden, TASKWARDEN.to_owned()),
            Actor::Control(_) => (HistoryLane::Policy, ActorDto::Taskwarden, format!("control:{program}")),
            Actor::Unknown(text) => (HistoryLane::Policy, ActorDto::Taskwarden, text.clone()),
        };
        let key = match &event.subject {
            Subject::Request(_, key) => Some(key.to_string()),
            Subject::Handle(_) | Subject::Server(_) | Subject::Agent(_) | Subject::Store | Subject::Unknown(_) => None,
        };
        Self {
            at: iso(event.at),
            lane,
            verb: event.verb.into(),
            actor,
            who,
            origin: event.origin().map(OriginDto::from),
            key,
            note: event.note.clone(),
        }
    }
}

impl From<RawNote> for RawDto {
    fn from(note: RawNote) -> Self {
        let RawNote { n, at, direction, about, bytes, cut } = note;
        Self { n, at: iso(at), direction: direction.into(), about, bytes, cut }
    }
}
