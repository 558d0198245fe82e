//! A task, encoded and sealed for its row, with everything that is committed with it.
//!
//! It is made in the caller's task, so that the writer only writes. What depends on the transaction (numbers, hashes, which
//! questions changed) is left to `write/task_commit.rs`; the encodings are in `codec/`.

use domain::audit::{Actor, AuditEvent};
use domain::ids::{HandleId, JobKey, ServerId, SessionKey, UpstreamTaskId};
use domain::ports::{Commit, RegistryError};
use domain::task::input_request::{InputRequest, RequestState};
use domain::task::status::{Intent, Phase};
use domain::task::{Home, TaskHandle};
use domain::time::Timestamp;
use serde_json::json;

use super::raw_messages::RawMessageRow;
use super::row_name;
use super::status_log::SealedLine;
use crate::codec::{self, InputRequestDef, TaskDef};
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::{StoreContext, StoreLimits, whole};

/// The row of a task, and the version that it gets with this commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskVersion {
    pub(crate) number: i64,
    pub(crate) version: u64,
}

/// A task with all that is committed with it.
#[derive(Debug)]
pub(crate) struct EncodedTask {
    pub(crate) id: HandleId,
    /// The id as text, by which the row is found.
    pub(crate) key: String,
    pub(crate) server: String,
    /// Empty for none, as in `kinds`.
    pub(crate) agent: String,
    pub(crate) tool: Option<String>,
    pub(crate) phase: &'static str,
    pub(crate) is_open: bool,
    /// The version that was read; the row gets the next one.
    pub(crate) version: u64,
    pub(crate) created: i64,
    pub(crate) changed: i64,
    /// When the sweeper looks at its phase again.
    pub(crate) tick_at: Option<i64>,
    /// When the deliverer has something to send.
    pub(crate) deliver_at: Option<i64>,
    /// The keyed hash of its upstream task, for the unique index.
    pub(crate) task_mark: Option<[u8; 32]>,
    pub(crate) body_sealed: Vec<u8>,
    /// All its questions; the writer seals those that changed.
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) audit: Vec<AuditEvent>,
    pub(crate) log: Vec<SealedLine>,
    /// The kind of each payload, and its sealed bytes or nothing to erase it.
    pub(crate) payloads: Vec<(String, Option<Vec<u8>>)>,
    pub(crate) raw: Vec<RawMessageRow>,
    /// How far a cancel got, and how many milliseconds the task took from it to its end.
    pub(crate) stop: Option<(&'static str, Option<i64>)>,
    /// A duration to learn from.
    pub(crate) learned_ms: Option<i64>,
    pub(crate) index: TaskIndexColumns,
    /// Whether it may use the reserve when the disk is full.
    pub(crate) is_decision: bool,
}

/// The columns by which a task is found for its agent, its job or its parent. `None` and `false` are null in the row, so that
/// an index holds only the tasks it is for.
#[derive(Debug)]
pub(crate) struct TaskIndexColumns {
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
    /// It is lost because a person ended its server, or waits because a person paused it.
    pub(crate) settled: bool,
}

impl TaskIndexColumns {
    fn of(handle: &TaskHandle, phase: Phase, sealer: &Sealer) -> Self {
        Self {
            job_mark: handle.job.as_ref().map(|job| job_mark(sealer, job)),
            parent: handle.parent.map(|parent| parent.id.to_string()),
            given: handle.is_given(),
            undelivered: handle.is_undelivered(),
            orphaned: handle.is_orphaned(),
            held: handle.is_held(),
            over_limit: handle.asks_at_limit(),
            settled: handle.is_settled_wait(phase),
        }
    }
}

/// One question, encoded but not sealed.
#[derive(Debug)]
pub(crate) struct RequestRow {
    pub(crate) key: String,
    /// When it was first seen.
    pub(crate) opened: i64,
    /// The word of its state.
    pub(crate) state: &'static str,
    /// When it was answered, and by whom: the text of its decider.
    pub(crate) answered: Option<(i64, String)>,
    /// Keyed hash of the body.
    pub(crate) mark: [u8; 32],
    /// The body as JSON.
    pub(crate) body: Vec<u8>,
}

/// The keyed hash under which an upstream task is found.
pub(crate) fn task_mark(sealer: &Sealer, server: ServerId, home: &Home, task: &UpstreamTaskId) -> [u8; 32] {
    let Home { generation, session } = home;
    let known: &[u8] = if session.is_some() { b"session" } else { b"principal" };
    sealer.mark(&[
        b"task",
        server.to_string().as_bytes(),
        &generation.to_be_bytes(),
        known,
        session.as_ref().map(SessionKey::as_str).unwrap_or_default().as_bytes(),
        task.as_str().as_bytes(),
    ])
}

/// The keyed hash under which the attempts of a job are found: a plain one could be tried with guessed arguments.
pub(crate) fn job_mark(sealer: &Sealer, job: &JobKey) -> [u8; 32] {
    sealer.mark(&[b"job", job.as_str().as_bytes()])
}

/// Where the body of a task is stored.
pub(crate) fn handle_place(key: &str) -> FieldLocation<'_> {
    FieldLocation { table: "handles", column: "body_sealed", row: key }
}

/// The word of a question's state: `open` only when people are asked, because the inbox finds it by that.
fn state(handle: &TaskHandle, request: &InputRequest) -> &'static str {
    let for_agent = request.state.is_open() && !handle.asks_people(request, handle.changed);
    if for_agent { "asked" } else { request.state.word() }
}

/// When a question was answered, and by whom.
fn answered(request: &InputRequest) -> Option<(i64, String)> {
    match &request.state {
        RequestState::Answered(answer) | RequestState::Confirmed(answer) => {
            Some((answer.at.as_millis(), answer.by.to_string()))
        }
        RequestState::Open | RequestState::Withdrawn { .. } => None,
    }
}

/// How a cancel that was sent counts, and how long the task took from it to its end.
fn stop(handle: &TaskHandle) -> Option<(&'static str, Option<i64>)> {
    let wish = match &handle.intent {
        Intent::Cancel(wish) | Intent::Revoked(wish) => wish,
        Intent::None | Intent::Unwatched { .. } => return None,
    };
    let took = |end: Timestamp| i64::try_from(end.since(wish.at).as_millis()).unwrap_or(i64::MAX);
    handle.sent_cancel().map(|sent| (sent.word(), handle.ended_at().map(took)))
}

impl EncodedTask {
    /// Encodes and seals a commit.
    pub(crate) fn of(commit: &Commit, sealer: &Sealer, limits: StoreLimits) -> Result<Self, RegistryError> {
        let TaskHandle { id, server, agent, tool, home, view, requests, version, created, changed, .. } =
            &commit.handle;
        let key = id.to_string();
        let seal = |place: FieldLocation<'_>, plain: &[u8]| {
            sealer.seal(place, plain).map_err(StoreContext::sealing("seal a field of a task"))
        };
        // The version that the row will have.
        let next = version.saturating_add(1);
        let seal_next = |place: FieldLocation<'_>, plain: &[u8]| {
            sealer.seal_version(place, next, plain).map_err(StoreContext::sealing("seal a field of a task"))
        };
        let body_sealed = seal_next(handle_place(&key), codec::encode::<TaskDef>(&commit.handle)?.as_bytes())?;
        let requests = requests
            .values()
            .map(|request| {
                let body = codec::encode::<InputRequestDef>(request)?.into_bytes();
                let state = state(&commit.handle, request);
                Ok(RequestRow {
                    key: request.key.as_str().into(),
                    opened: request.opened.as_millis(),
                    state,
                    answered: answered(request),
                    mark: sealer.mark(&[
                        b"request",
                        key.as_bytes(),
                        request.key.as_str().as_bytes(),
                        &body,
                        state.as_bytes(),
                    ]),
                    body,
                })
            })
            .collect::<Result<_, RegistryError>>()?;
        let log = commit.log.iter().map(|line| {
            let place = FieldLocation {
                table: "status_log",
                column: "line_sealed",
                row: &row_name(&key, &line.at.as_millis().to_string()),
            };
            Ok(SealedLine {
                at: line.at.as_millis(),
                sealed: seal(place, json!([line.status, line.text]).to_string().as_bytes())?,
            })
        });
        let payloads = commit.payloads.iter().map(|write| {
            let kind = write.kind.text();
            let place = FieldLocation { table: "payloads", column: "sealed", row: &row_name(&key, &kind) };
            let sealed =
                write.payload.as_ref().map(|payload| seal_next(place, payload.as_str().as_bytes())).transpose()?;
            Ok((kind, sealed))
        });
        Ok(Self {
            id: *id,
            server: server.to_string(),
            agent: agent.map(|agent| agent.to_string()).unwrap_or_default(),
            tool: tool.as_deref().map(Into::into),
            phase: commit.phase.word(),
            is_open: !commit.phase.is_over(),
            version: *version,
            created: created.as_millis(),
            changed: changed.as_millis(),
            tick_at: commit.tick_at.map(Timestamp::as_millis),
            deliver_at: commit.deliver_at.map(Timestamp::as_millis),
            task_mark: view.task().map(|task| task_mark(sealer, *server, home, &task.id)),
            body_sealed,
            requests,
            audit: commit.audit.clone(),
            log: log.collect::<Result<_, RegistryError>>()?,
            payloads: payloads.collect::<Result<_, RegistryError>>()?,
            raw: commit.raw.iter().map(|message| RawMessageRow::of(&key, message, sealer)).collect::<Result<_, _>>()?,
            stop: stop(&commit.handle),
            learned_ms: commit.learned_ms.map(whole),
            index: TaskIndexColumns::of(&commit.handle, commit.phase, sealer),
            is_decision: is_decision(commit, limits.reserve_change_bytes),
            key,
        })
    }
}

pub(crate) fn is_of_person(event: &AuditEvent) -> bool {
    match event.actor {
        // What a control token does only makes things safer, and a person gave it the right.
        Actor::Person(_) | Actor::Control(_) => true,
        Actor::Agent(_) | Actor::Server(_) | Actor::System(_) | Actor::Rule(_) | Actor::Unknown(_) => false,
    }
}

/// Whether a commit records what a person decided, or carries it out and is small.
fn is_decision(commit: &Commit, small: usize) -> bool {
    let bytes = commit.payloads.iter().filter_map(|write| write.payload.as_ref()).map(|payload| payload.as_str().len());
    let is_wanted = match commit.handle.intent {
        Intent::Cancel(_) | Intent::Revoked(_) => true,
        Intent::None | Intent::Unwatched { .. } => false,
    };
    let carries_out = is_wanted || commit.deliver_at.is_some() || commit.handle.requests.values().any(is_answered);
    commit.audit.iter().any(is_of_person) || (carries_out && bytes.sum::<usize>() <= small)
}

fn is_answered(request: &InputRequest) -> bool {
    match request.state {
        RequestState::Answered(_) => true,
        RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
    }
}
