//! One task as columns and a JSON body.
//!
//! Columns hold what lists, sweeps and the unique index ask for; the body holds the rest and is sealed, because the
//! server's task id and session may act as bearer tokens (protocol.md §6.1). Requests have rows of their own.

use std::collections::{BTreeMap, BTreeSet};

use domain::task::{Audience, Home, Origin, SharedQuestions, TaskHandle, Told, UsualDuration};
use domain::ids::{RequestKey, SessionKey};
use domain::task::observation::Progress;
use domain::task::input_request::InputRequest;
use domain::task::status::{Contact, Due, DueWhy};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::contact::{contact, intent, read_contact, read_intent};
use super::view::{read_view, view};
use super::{ENCODING, Fields, Flaw, Read, maybe_real, maybe_time, time};

fn audience(audience: Audience) -> Value {
    match audience {
        Audience::People => json!({ "is": "people" }),
        Audience::Agent => json!({ "is": "agent" }),
        Audience::AgentThenPeople { people_at } => json!({ "is": "agentThenPeople", "peopleAt": time(people_at) }),
        Audience::Both => json!({ "is": "both" }),
    }
}

fn read_audience(fields: Fields<'_>) -> Read<Audience> {
    match fields.text("is")? {
        "people" => Ok(Audience::People),
        "agent" => Ok(Audience::Agent),
        "agentThenPeople" => Ok(Audience::AgentThenPeople { people_at: fields.time("peopleAt")? }),
        "both" => Ok(Audience::Both),
        other => Err(Flaw::word("is", other)),
    }
}

fn read_origin(word: &str) -> Read<Origin> {
    [Origin::Started, Origin::Agent, Origin::Discovered, Origin::Adopted]
        .into_iter()
        .find(|origin| origin.word() == word)
        .ok_or_else(|| Flaw::word("origin", word))
}

fn progress(progress: &Progress) -> Value {
    let Progress { done, total, message } = progress;
    json!({ "done": maybe_real(*done), "total": maybe_real(*total), "message": message })
}

fn read_progress(fields: Fields<'_>) -> Read<Progress> {
    Ok(Progress {
        done: fields.maybe_real("done")?,
        total: fields.maybe_real("total")?,
        message: fields.maybe_text("message")?.map(Into::into),
    })
}

fn usual(usual: UsualDuration) -> Value {
    let UsualDuration { samples, median_ms, p90_ms, p95_ms } = usual;
    json!({ "samples": samples, "medianMs": median_ms, "p90Ms": p90_ms, "p95Ms": p95_ms })
}

fn read_usual(fields: Fields<'_>) -> Read<UsualDuration> {
    Ok(UsualDuration {
        samples: fields.u32("samples")?,
        median_ms: fields.u64("medianMs")?,
        p90_ms: fields.u64("p90Ms")?,
        p95_ms: fields.u64("p95Ms")?,
    })
}

fn due(due: Due) -> Value {
    json!({
        "at": time(due.at),
        "why": match due.why {
            DueWhy::Agreed => "agreed",
            DueWhy::Usual => "usual",
        },
    })
}

fn read_due(fields: Fields<'_>) -> Read<Due> {
    let why = match fields.text("why")? {
        "agreed" => DueWhy::Agreed,
        "usual" => DueWhy::Usual,
        other => return Err(Flaw::word("why", other)),
    };
    Ok(Due { at: fields.time("at")?, why })
}

fn read_told(fields: Fields<'_>) -> Read<BTreeSet<Told>> {
    let words = fields.texts("told")?;
    words.iter().map(|word| Told::from_word(word).ok_or_else(|| Flaw::word("told", word))).collect()
}

/// The columns of a handle that are not in its body, as read.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    /// `id`.
    pub(crate) id: &'a str,
    /// `server`.
    pub(crate) server: &'a str,
    /// `agent`.
    pub(crate) agent: Option<&'a str>,
    /// `tool`.
    pub(crate) tool: Option<&'a str>,
    /// `version`.
    pub(crate) version: u64,
    /// `created`.
    pub(crate) created: Timestamp,
    /// `changed`.
    pub(crate) changed: Timestamp,
    /// `seen` of its contact row: flushed apart from commits (ruling 6).
    pub(crate) seen: Option<Timestamp>,
}

/// Writes the body of a handle.
pub(crate) fn body(handle: &TaskHandle) -> Value {
    let TaskHandle {
        id: _,
        server: _,
        agent: _,
        origin,
        tool: _,
        arguments_digest,
        home: Home { generation, session },
        seat: _,
        view: said,
        contact: reach,
        intent: wanted,
        audience: asked,
        requests: _,
        shared: _,
        more_questions: _,
        progress: got,
        usual: takes,
        due: by,
        paused_since,
        paused_ms,
        contradicted,
        told,
        given: _,
        undelivered: _,
        orphaned: _,
        hold: _,
        tokens: _,
        over_limit: _,
        cancelled_for_agent: _,
        failed_for_agent: _,
        parent: _,
        trace: _,
        job: _,
        attempt: _,
        agent_ttl: _,
        version: _,
        created: _,
        changed: _,
        ended,
    } = handle;
    let mut body = json!({
        "v": ENCODING,
        "origin": origin.word(),
        "argumentsDigest": arguments_digest.as_deref(),
        "generation": generation,
        "session": session.as_ref().map(SessionKey::as_str),
        "view": view(said),
        "contact": contact(reach),
        "intent": intent(wanted),
        "audience": audience(*asked),
        "progress": got.as_ref().map(progress),
        "usual": takes.map(usual),
        "due": by.map(due),
        "pausedSince": maybe_time(*paused_since),
        "pausedMs": paused_ms,
        "contradicted": contradicted,
        "ended": maybe_time(*ended),
        "told": told.iter().map(|told| told.word()).collect::<Vec<_>>(),
    });
    if let Some(body) = body.as_object_mut() {
        super::agent::write(handle, body);
    }
    body
}

/// Reads a handle from its columns, its body and its requests.
pub(crate) fn read(
    columns: &Columns<'_>,
    body: &Value,
    requests: BTreeMap<RequestKey, InputRequest>,
) -> Read<TaskHandle> {
    let fields = Fields::stored(body, "body")?;
    let id = |name: &str| Flaw::new(name, "does not read as an id");
    let reach = match (fields.inner("contact", read_contact)?, columns.seen) {
        (Contact::Fresh { seen }, Some(noted)) => Contact::Fresh { seen: seen.max(noted) },
        (stored, _) => stored,
    };
    let mut handle = TaskHandle {
        id: columns.id.parse().map_err(|_| id("id"))?,
        server: columns.server.parse().map_err(|_| id("server"))?,
        agent: columns.agent.map(str::parse).transpose().map_err(|_| id("agent"))?,
        origin: read_origin(fields.text("origin")?)?,
        tool: columns.tool.map(Into::into),
        arguments_digest: fields.maybe_text("argumentsDigest")?.map(Into::into),
        home: Home {
            generation: fields.u32("generation")?,
            session: fields.maybe_text("session")?.map(SessionKey::new),
        },
        seat: None,
        view: fields.inner("view", read_view)?,
        contact: reach,
        intent: fields.inner("intent", read_intent)?,
        audience: fields.inner("audience", read_audience)?,
        requests: requests.into(),
        shared: SharedQuestions::default(),
        more_questions: 0,
        progress: fields.maybe_inner("progress", read_progress)?,
        usual: fields.maybe_inner("usual", read_usual)?,
        due: fields.maybe_inner("due", read_due)?,
        paused_since: fields.maybe_time("pausedSince")?,
        paused_ms: fields.u64("pausedMs")?,
        contradicted: fields.flag("contradicted")?,
        told: read_told(fields)?,
        given: None,
        undelivered: None,
        orphaned: None,
        hold: None,
        tokens: None,
        over_limit: None,
        cancelled_for_agent: None,
        failed_for_agent: None,
        parent: None,
        trace: None,
        job: None,
        attempt: 1,
        agent_ttl: None,
        version: columns.version,
        created: columns.created,
        changed: columns.changed,
        ended: fields.maybe_time("ended")?,
    };
    super::agent::read(&fields, &mut handle)?;
    Ok(handle)
}
