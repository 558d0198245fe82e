//! Units on their way to the writer: encoded and sealed where they come from, so that the writer only writes.
//!
//! What depends on the transaction (numbers, hashes, which requests changed) is left to `group.rs` and `commit.rs`.

use domain::audit::{Actor, AuditEvent};
use domain::ports::change::Entity;
use domain::task::TaskHandle;
use domain::ids::{HandleId, Seq, ServerId, SessionKey, UpstreamTaskId};
use domain::ports::{AgentUnit, Commit, CommitError, ContactNote, Recorded, RegistryError, RuleUnit, ServerUnit};
use domain::task::input_request::{InputRequest, RequestState};
use domain::task::status::Intent;
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::budget::BudgetRows;
use super::desk::DeskRow;
use super::kin::job_mark;
use super::raw::RawRow;
use super::retention::RemovalRows;
use super::verify::VerifiedMark;
use super::{Base, Limits, whole};
use crate::rows;
use crate::seal::{Place, Sealer};

/// One atomic change, ready to write.
#[derive(Debug)]
pub(crate) enum Unit {
    /// A new handle.
    Admit(Box<HandleUnit>),
    /// A change of a handle.
    Commit(Box<HandleUnit>),
    /// Contact notes, as the JSON array that the statement reads.
    Contacts(String),
    /// A server's configuration.
    PutServer(Box<ServerRow>),
    /// A server's removal.
    RemoveServer(ServerId, Vec<AuditEvent>),
    /// An agent.
    PutAgent(Box<AgentUnit>),
    /// Notes of agents, as the JSON array that the statement reads.
    Agents(String),
    /// A rule.
    PutRule(Box<RuleUnit>),
    /// Facts alone.
    Record(Vec<AuditEvent>),
    /// Something at a person's desk.
    Desk(DeskRow, Vec<AuditEvent>),
    /// What was counted.
    Budget(Box<BudgetRows>),
    /// What retention removes.
    Remove(Box<RemovalRows>),
    /// How far the audit chain is verified.
    Verified(VerifiedMark),
}

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// A handle has a new version.
    Recorded(Recorded),
    /// A server changed.
    Changed(Seq),
    /// Nothing to tell.
    Done,
    /// Somebody else committed the handle first; nothing was written.
    Conflict,
    /// The task is here already; nothing was written.
    Exists(HandleId),
}

impl Written {
    /// As the answer to `admit` and `commit`.
    pub(crate) fn recorded(self) -> Result<Recorded, CommitError> {
        match self {
            Self::Recorded(recorded) => Ok(recorded),
            Self::Conflict => Err(CommitError::Conflict),
            Self::Exists(id) => Err(CommitError::Exists(id)),
            Self::Changed(_) | Self::Done => Err(mismatch().into()),
        }
    }

    /// As the answer to what changes a server.
    pub(crate) fn changed(self) -> Result<Seq, RegistryError> {
        match self {
            Self::Changed(seq) => Ok(seq),
            Self::Recorded(_) | Self::Done | Self::Conflict | Self::Exists(_) => Err(mismatch()),
        }
    }

    /// As the answer to what gives nothing.
    pub(crate) fn done(self) -> Result<(), RegistryError> {
        match self {
            Self::Done => Ok(()),
            Self::Recorded(_) | Self::Changed(_) | Self::Conflict | Self::Exists(_) => Err(mismatch()),
        }
    }
}

fn mismatch() -> RegistryError {
    RegistryError::Other { operation: "read its writer's answer", why: "it belongs to another kind of unit".into() }
}

/// A handle with all that is committed with it.
#[derive(Debug)]
pub(crate) struct HandleUnit {
    /// Its id.
    pub(crate) id: HandleId,
    /// Its id as text: the key of its row.
    pub(crate) key: String,
    /// Its server.
    pub(crate) server: String,
    /// Its agent; empty for none, as in `tallies`.
    pub(crate) agent: String,
    /// Its tool.
    pub(crate) tool: Option<String>,
    /// Its phase.
    pub(crate) phase: &'static str,
    /// Whether the phase is not over.
    pub(crate) is_open: bool,
    /// The version that was read.
    pub(crate) version: u64,
    /// When it was admitted.
    pub(crate) created: i64,
    /// When it changed.
    pub(crate) changed: i64,
    /// For the sweeper.
    pub(crate) tick_at: Option<i64>,
    /// For the deliverer.
    pub(crate) deliver_at: Option<i64>,
    /// For the unique index.
    pub(crate) task_mark: Option<[u8; 32]>,
    /// The rest of it.
    pub(crate) body_sealed: Vec<u8>,
    /// All its questions; the writer seals those that changed.
    pub(crate) requests: Vec<RequestRow>,
    /// Facts.
    pub(crate) audit: Vec<AuditEvent>,
    /// Status lines: when, and the sealed line.
    pub(crate) log: Vec<(i64, Vec<u8>)>,
    /// Payloads: kind, and the sealed bytes or nothing to erase.
    pub(crate) payloads: Vec<(String, Option<Vec<u8>>)>,
    /// Raw messages.
    pub(crate) raw: Vec<RawRow>,
    /// Where the wish to stop stands, and how long the task took from it to its end.
    pub(crate) stop: Option<(&'static str, Option<i64>)>,
    /// A duration to learn from.
    pub(crate) learned_ms: Option<i64>,
    /// What lists of agents' tasks are found by.
    pub(crate) kin: Kin,
    /// Whether it may use the reserve when the disk is full.
    pub(crate) is_decision: bool,
}

/// What a task is found by because of its agent, job or parent. `None` and `false` are null in the row.
#[derive(Debug)]
pub(crate) struct Kin {
    /// Keyed hash of its job.
    pub(crate) job_mark: Option<[u8; 32]>,
    /// The task during which it was called.
    pub(crate) parent: Option<String>,
    /// Its agent has its handle.
    pub(crate) given: bool,
    /// Its agent never got its reply.
    pub(crate) undelivered: bool,
    /// Its agent is gone.
    pub(crate) orphaned: bool,
    /// Its result waits for a person.
    pub(crate) held: bool,
    /// A person is asked whether it may go on past its limit.
    pub(crate) over_limit: bool,
}

impl Kin {
    fn of(handle: &TaskHandle, sealer: &Sealer) -> Self {
        Self {
            job_mark: handle.job.as_ref().map(|job| job_mark(sealer, job)),
            parent: handle.parent.map(|parent| parent.id.to_string()),
            given: handle.is_given(),
            undelivered: handle.is_undelivered(),
            orphaned: handle.is_orphaned(),
            held: handle.is_held(),
            over_limit: handle.asks_to_go_on(),
        }
    }
}

/// One question, encoded but not sealed.
#[derive(Debug)]
pub(crate) struct RequestRow {
    /// Its key.
    pub(crate) key: String,
    /// When it was first seen.
    pub(crate) opened: i64,
    /// The word of its state.
    pub(crate) state: &'static str,
    /// Keyed hash of the body.
    pub(crate) mark: [u8; 32],
    /// The body as JSON.
    pub(crate) body: Vec<u8>,
}

/// A server, encoded.
#[derive(Debug)]
pub(crate) struct ServerRow {
    /// Its id.
    pub(crate) id: ServerId,
    /// Its name.
    pub(crate) name: String,
    /// When it was added.
    pub(crate) created: i64,
    /// The rest.
    pub(crate) body: String,
    /// The session last negotiated.
    pub(crate) session_sealed: Option<Vec<u8>>,
    /// Facts.
    pub(crate) audit: Vec<AuditEvent>,
}

/// The keyed hash under which an upstream task is found.
pub(crate) fn task_mark(
    sealer: &Sealer,
    server: ServerId,
    (generation, session): (u32, Option<&SessionKey>),
    task: &UpstreamTaskId,
) -> [u8; 32] {
    let known: &[u8] = if session.is_some() { b"session" } else { b"principal" };
    sealer.mark(&[
        b"task",
        server.to_string().as_bytes(),
        &generation.to_be_bytes(),
        known,
        session.map(SessionKey::as_str).unwrap_or_default().as_bytes(),
        task.as_str().as_bytes(),
    ])
}

/// JSON text of a value.
pub(crate) fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Where the body of a handle stands.
pub(crate) fn handle_place(key: &str) -> Place<'_> {
    Place { table: "handles", column: "body_sealed", row: key }
}

/// The row name of something that belongs to a handle.
pub(crate) fn row_of(handle: &str, own: &str) -> String {
    format!("{handle} {own}")
}

/// The word of a question's state: `open` only when people are asked, because that is how the inbox finds it.
fn state(handle: &TaskHandle, request: &InputRequest) -> &'static str {
    let for_agent = request.state.is_open() && !handle.asks_people(request, handle.changed);
    if for_agent { "asked" } else { request.state.word() }
}

/// Where the wish to stop stands, and how long the task took from it to its end.
fn stop(handle: &TaskHandle) -> Option<(&'static str, Option<i64>)> {
    let wish = match &handle.intent {
        Intent::Cancel(wish) | Intent::Revoked(wish) => wish,
        Intent::None | Intent::Unwatched { .. } => return None,
    };
    let took = |end: Timestamp| i64::try_from(end.since(wish.at).as_millis()).unwrap_or(i64::MAX);
    handle.stop_state().map(|state| (state.word(), handle.ended_at().map(took)))
}

impl HandleUnit {
    /// Encodes and seals a commit.
    pub(crate) fn of(unit: &Commit, sealer: &Sealer, limits: Limits) -> Result<Self, RegistryError> {
        let TaskHandle { id, server, agent, tool, home, view, requests, version, created, changed, .. } = &unit.handle;
        let key = id.to_string();
        let seal =
            |place: Place<'_>, plain: &[u8]| sealer.seal(place, plain).map_err(Base::sealing("seal a field of a task"));
        // The version that the row will have.
        let next = version.saturating_add(1);
        let seal_next = |place: Place<'_>, plain: &[u8]| {
            sealer.seal_version(place, next, plain).map_err(Base::sealing("seal a field of a task"))
        };
        let body_sealed = seal_next(handle_place(&key), &text(&rows::handle::body(&unit.handle)))?;
        let requests = requests
            .values()
            .map(|request| {
                let body = text(&rows::request::body(request));
                let state = state(&unit.handle, request);
                RequestRow {
                    key: request.key.as_str().into(),
                    opened: request.opened.as_millis(),
                    state,
                    mark: sealer.mark(&[
                        b"request",
                        key.as_bytes(),
                        request.key.as_str().as_bytes(),
                        &body,
                        state.as_bytes(),
                    ]),
                    body,
                }
            })
            .collect();
        let log = unit.log.iter().map(|line| {
            let place = Place {
                table: "status_log",
                column: "line_sealed",
                row: &row_of(&key, &line.at.as_millis().to_string()),
            };
            Ok((line.at.as_millis(), seal(place, &text(&json!([line.status, line.text])))?))
        });
        let payloads = unit.payloads.iter().map(|write| {
            let kind = write.kind.text();
            let place = Place { table: "payloads", column: "sealed", row: &row_of(&key, &kind) };
            let sealed =
                write.payload.as_ref().map(|payload| seal_next(place, payload.as_str().as_bytes())).transpose()?;
            Ok((kind, sealed))
        });
        Ok(Self {
            id: *id,
            server: server.to_string(),
            agent: agent.map(|agent| agent.to_string()).unwrap_or_default(),
            tool: tool.as_deref().map(Into::into),
            phase: unit.phase.word(),
            is_open: !unit.phase.is_over(),
            version: *version,
            created: created.as_millis(),
            changed: changed.as_millis(),
            tick_at: unit.tick_at.map(Timestamp::as_millis),
            deliver_at: unit.deliver_at.map(Timestamp::as_millis),
            task_mark: view
                .task()
                .map(|task| task_mark(sealer, *server, (home.generation, home.session.as_ref()), &task.id)),
            body_sealed,
            requests,
            audit: unit.audit.clone(),
            log: log.collect::<Result<_, RegistryError>>()?,
            payloads: payloads.collect::<Result<_, RegistryError>>()?,
            raw: unit.raw.iter().map(|message| RawRow::of(&key, message, sealer)).collect::<Result<_, _>>()?,
            stop: stop(&unit.handle),
            learned_ms: unit.learned_ms.map(whole),
            kin: Kin::of(&unit.handle, sealer),
            is_decision: is_decision(unit, limits.reserve_change_bytes),
            key,
        })
    }
}

impl ServerRow {
    /// Encodes and seals a server.
    pub(crate) fn of(unit: &ServerUnit, sealer: &Sealer) -> Result<Self, RegistryError> {
        let ServerUnit { server, audit } = unit;
        let session = server.negotiated.as_ref().and_then(|spoken| spoken.session.as_ref());
        let place = Place { table: "servers", column: "session_sealed", row: &server.id.to_string() };
        Ok(Self {
            id: server.id,
            name: server.name.clone(),
            created: server.created.as_millis(),
            body: rows::server::body(server).to_string(),
            session_sealed: session
                .map(|session| sealer.seal(place, session.as_str().as_bytes()))
                .transpose()
                .map_err(Base::sealing("seal a session"))?,
            audit: audit.clone(),
        })
    }
}

impl Unit {
    /// Contact notes as a unit.
    pub(crate) fn contacts(notes: &[ContactNote]) -> Self {
        let rows = notes.iter().map(|note| {
            json!([note.handle.to_string(), note.seen.as_millis(), note.next_poll.map(Timestamp::as_millis)])
        });
        Self::Contacts(Value::Array(rows.collect()).to_string())
    }

    /// Whether it may take space of the reserve when the disk is full (ruling 28): what people decided, what carries it
    /// out, and what makes room. Everything else is refused until there is room again.
    pub(crate) fn may_use_reserve(&self) -> bool {
        let is_decided = |audit: &[AuditEvent]| audit.iter().any(is_of_person);
        match self {
            Self::Commit(unit) => unit.is_decision,
            Self::RemoveServer(..) | Self::Remove(_) => true,
            Self::PutRule(unit) => unit.remove,
            Self::PutAgent(unit) => unit.agent.revoked.is_some(),
            Self::Record(audit) | Self::Desk(_, audit) => is_decided(audit),
            Self::Admit(_)
            | Self::Contacts(_)
            | Self::PutServer(_)
            | Self::Agents(_)
            | Self::Budget(_)
            | Self::Verified(_) => false,
        }
    }
}

fn is_of_person(event: &AuditEvent) -> bool {
    match event.actor {
        Actor::Person(_) => true,
        Actor::Agent(_) | Actor::Server(_) | Actor::System(_) => false,
    }
}

/// Whether a commit records what a person decided, or carries it out and is small.
fn is_decision(unit: &Commit, small: usize) -> bool {
    let bytes = unit.payloads.iter().filter_map(|write| write.payload.as_ref()).map(|payload| payload.as_str().len());
    let is_wanted = match unit.handle.intent {
        Intent::Cancel(_) | Intent::Revoked(_) => true,
        Intent::None | Intent::Unwatched { .. } => false,
    };
    let carries_out = is_wanted || unit.deliver_at.is_some() || unit.handle.requests.values().any(is_answered);
    unit.audit.iter().any(is_of_person) || (carries_out && bytes.sum::<usize>() <= small)
}

fn is_answered(request: &InputRequest) -> bool {
    match request.state {
        RequestState::Answered(_) => true,
        RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
    }
}

/// The kind and the id of an entity, as the change log keeps them.
pub(crate) fn entity(entity: Entity) -> (&'static str, String) {
    match entity {
        Entity::Handle(id) => ("handle", id.to_string()),
        Entity::Server(id) => ("server", id.to_string()),
        Entity::Agent(id) => ("agent", id.to_string()),
    }
}
