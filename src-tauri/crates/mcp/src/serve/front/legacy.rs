//! The methods of the sessions that begin with `initialize`; tasks only for 2025-11-25.
//!
//! Here the client decides what becomes a task (`params.task`), questions are requests to the client, and tasks belong
//! to their session. Sessions of older versions get blocking calls with progress.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::desk::{Job, Kept, Length, Needs, Order, Owner, ToolCard};
use super::super::fault::{Fault, FaultKind};
use super::super::seat::Seat;
use super::super::service::Request;
use super::super::session::Session;
use super::follow::Follower;
use super::modern::members;
use super::{Inner, ask, courier, hold, progress_token, task_id, wire};

/// Answers one request.
pub(super) async fn answer(
    front: &Arc<Inner>,
    session: &Arc<Session>,
    request: Request,
    seat: Seat,
) -> Result<Value, Fault> {
    let params = &request.params.map();
    match request.method.as_str() {
        "initialize" => Ok(initialize(front, session)),
        "ping" => Ok(json!({})),
        "tools/list" => {
            if params.contains_key("cursor") {
                return Err(Fault::params("this `cursor` is not known here"));
            }
            let tool = |tool| wire::tool(tool, session.has_tasks());
            Ok(json!({"tools": front.desk.tools().iter().map(tool).collect::<Vec<_>>()}))
        }
        "tools/call" => call(front, session, params, seat).await,
        "tasks/get" if session.has_tasks() => {
            let job = job(front, session, params)?;
            Ok(Value::Object(wire::legacy_task(job.id(), &job.sheet())))
        }
        "tasks/result" if session.has_tasks() => result(front, session, params, seat).await,
        "tasks/list" if session.has_tasks() => list(front, session, params),
        "tasks/cancel" if session.has_tasks() => cancel(front, session, params),
        _ => Err(Fault::no_method()),
    }
}

fn initialize(front: &Inner, session: &Session) -> Value {
    let card = front.desk.card();
    let mut capabilities = members(json!({"tools": {}}));
    if session.has_tasks() {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), tasks);
    }
    json!({
        "protocolVersion": session.version(),
        "capabilities": capabilities,
        "serverInfo": wire::server_info(&card),
        "instructions": card.instructions,
    })
}

fn owner(session: &Session) -> Owner {
    Owner::Session(session.id().to_owned())
}

async fn call(
    front: &Arc<Inner>,
    session: &Arc<Session>,
    params: &Map<String, Value>,
    seat: Seat,
) -> Result<Value, Fault> {
    let (tool, arguments) = front.tool_call(params)?;
    // Versions without tasks ignore the member (protocol.md §1.1).
    let augmented = params.get("task").filter(|_| session.has_tasks());
    match (tool.length, augmented) {
        (Length::Short, Some(_)) => {
            return Err(Fault::new(FaultKind::MethodNotFound, "this tool does not run as a task"));
        }
        (Length::Endless, None) => return Err(Fault::new(FaultKind::MethodNotFound, "this tool only runs as a task")),
        (Length::Short | Length::Long, None) | (Length::Long | Length::Endless, Some(_)) => {}
    }
    if let Some(refusal) = cannot_ask(session, tool) {
        return Ok(refusal);
    }
    let order = |kept| Order { tool: tool.name, arguments, owner: owner(session), kept };
    let Some(augmented) = augmented else {
        let job = front.desk.begin(order(Kept::WhileHeld))?;
        return hold::legacy(front, session, job, progress_token(params), seat).await;
    };
    let ttl = match augmented.get("ttl") {
        None | Some(Value::Null) => None,
        Some(ttl) => {
            let ttl = ttl.as_f64().filter(|ttl| ttl.is_finite() && *ttl >= 0.0);
            let ttl = ttl.ok_or_else(|| Fault::params("`task.ttl` must be a number of milliseconds"))?;
            Some(Duration::from_millis(ttl as u64))
        }
    };
    let job = front.desk.begin(order(Kept::For(ttl)))?;
    let task = wire::legacy_task(job.id(), &job.sheet());
    courier::send(front, session, job, progress_token(params));
    Ok(json!({"task": task}))
}

/// The tool result that tells why the tool cannot ask this client, if so.
fn cannot_ask(session: &Session, tool: &ToolCard) -> Option<Value> {
    let declared = session.capabilities().get("elicitation").and_then(Value::as_object);
    let (has, what) = match tool.needs {
        Needs::Nobody => return None,
        Needs::Forms => (declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form")), "forms"),
        Needs::Visits => (declared.is_some_and(|modes| modes.contains_key("url")), "links"),
    };
    if has {
        return None;
    }
    let text = format!("This tool asks a person by {what}, and this client did not declare that it shows {what}.");
    Some(json!({"content": [{"type": "text", "text": text}], "isError": true}))
}

fn job(front: &Inner, session: &Session, params: &Map<String, Value>) -> Result<Arc<dyn Job>, Fault> {
    front.desk.job(&owner(session), task_id(params)?).ok_or_else(Fault::unknown_task)
}

/// `tasks/result`: waits for the end, and asks on its stream meanwhile.
async fn result(front: &Inner, session: &Session, params: &Map<String, Value>, seat: Seat) -> Result<Value, Fault> {
    let job = job(front, session, params)?;
    let mut follower = Follower::of(&*job, front.limits.push_rest);
    loop {
        let freed = front.claims.freed();
        let sheet = job.sheet();
        if let Some(ended) = hold::outcome(&sheet.stage) {
            let mut result = members(ended?);
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.extend(members(wire::related(job.id())));
            }
            return Ok(Value::Object(result));
        }
        let claimed = sheet.questions.iter().find_map(|question| {
            let claim = front.claims.take(job.id(), &question.key)?;
            Some((claim, question))
        });
        if let Some((_claim, question)) = claimed {
            let params = wire::legacy_elicitation(job.id(), question, session.version(), Some(job.id()));
            if ask::settle(&*job, &question.key, seat.ask("elicitation/create", &params)).await {
                continue;
            }
            // This stream is gone, so nobody waits for the result here; the question is free for another one.
            return Err(Fault::new(FaultKind::Internal, "the client's stream is gone"));
        }
        tokio::select! {
            alive = follower.changed() => if !alive {
                return Err(Fault::unknown_task());
            },
            () = freed => {}
        }
    }
}

fn list(front: &Inner, session: &Session, params: &Map<String, Value>) -> Result<Value, Fault> {
    let after = match params.get("cursor") {
        None | Some(Value::Null) => None,
        Some(cursor) => Some(cursor.as_str().ok_or_else(|| Fault::params("`cursor` must be a text"))?),
    };
    let most = front.limits.tasks_per_page;
    let page = front.desk.jobs(&owner(session), after, most + 1);
    let mut page = page.ok_or_else(|| Fault::params("this `cursor` is not known here"))?;
    let more = page.len() > most;
    page.truncate(most);
    let tasks: Vec<_> = page.iter().map(|job| Value::Object(wire::legacy_task(job.id(), &job.sheet()))).collect();
    let mut list = members(json!({"tasks": tasks}));
    if let (true, Some(last)) = (more, page.last()) {
        list.insert("nextCursor".to_owned(), last.id().into());
    }
    Ok(Value::Object(list))
}

fn cancel(front: &Inner, session: &Session, params: &Map<String, Value>) -> Result<Value, Fault> {
    let job = job(front, session, params)?;
    if job.sheet().stage.is_over() {
        return Err(Fault::params("the task is over already"));
    }
    job.declare_cancelled();
    Ok(Value::Object(wire::legacy_task(job.id(), &job.sheet())))
}
