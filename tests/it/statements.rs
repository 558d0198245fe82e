//! The statements of protocol.md §8.1, seen from outside: what the real program says on the wire, and what it shows.
//!
//! `era.rs` is 1-9, `modern.rs` is 10-27, `legacy.rs` is 28-36 and the sessions of 8, `asking.rs` is 37-40. Where a peer
//! that we did not write can hold us to a statement, it does; where none can, a server of ours records what it was
//! sent. `../STATEMENTS.md` names the test and the peer of each statement.

mod asking;
mod era;
pub(crate) mod legacy;
mod modern;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::hostile::{self, Asked, Deed, Hostile};

/// One request as a server got it.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) at: Instant,
    pub(crate) verb: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Note {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Everything a server got, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Note>>>);

impl Log {
    /// A server that notes each request before it answers.
    pub(crate) fn serve(&self, deed: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> Hostile {
        let log = Arc::clone(&self.0);
        Hostile::start(move |asked| {
            log.lock().push(Note {
                at: Instant::now(),
                verb: asked.verb.clone(),
                headers: asked.headers.clone(),
                body: asked.body.clone(),
            });
            deed(asked)
        })
    }

    pub(crate) fn all(&self) -> Vec<Note> {
        self.0.lock().clone()
    }

    pub(crate) fn of(&self, method: &str) -> Vec<Note> {
        self.all().into_iter().filter(|note| note.method() == method).collect()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.all().iter().map(|note| format!("{} {}", note.verb, note.method())).collect()
    }

    /// Waits until a method was asked so many times.
    pub(crate) fn wait_for(&self, method: &str, times: usize) -> Vec<Note> {
        wait_for(
            &format!("the server got {method} {times} times"),
            || Some(self.of(method)).filter(|notes| notes.len() >= times),
            || format!("{:?}", self.methods()),
        )
    }
}

/// An error of the server.
pub(crate) fn error(asked: &Asked, status: &str, code: i64, message: &str, data: &Value) -> Deed {
    let error = json!({"code": code, "message": message, "data": data});
    let id: Value = serde_json::from_str(&asked.id()).unwrap_or_default();
    Deed::Say(hostile::json(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()))
}

/// A result of the server.
pub(crate) fn result(asked: &Asked, result: &Value) -> Deed {
    Deed::Say(hostile::result(&asked.id(), &result.to_string()))
}

/// What a server says to a method it does not have.
pub(crate) fn no_method(asked: &Asked) -> Deed {
    error(asked, "404 Not Found", -32_601, "no such method", &Value::Null)
}

/// A task of the 2026-07-28 dialect, complete unless `more` says otherwise.
pub(crate) fn task_2026(id: &str, status: &str, more: &Value) -> Value {
    let mut task = json!({
        "resultType": "complete", "taskId": id, "status": status, "ttlMs": null, "pollIntervalMs": 100,
        "createdAt": "2026-11-21T00:00:00Z", "lastUpdatedAt": "2026-11-21T00:00:00Z",
    });
    merge(&mut task, more);
    task
}

/// A task of the 2025-11-25 dialect.
pub(crate) fn task_2025(id: &str, status: &str, more: &Value) -> Value {
    let mut task = json!({
        "taskId": id, "status": status, "ttl": 60_000, "pollInterval": 300,
        "createdAt": "2026-11-21T00:00:00Z", "lastUpdatedAt": "2026-11-21T00:00:00Z",
    });
    merge(&mut task, more);
    task
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        into[name] = value.clone();
    }
}

/// Opens a modern server; what it does not know goes to `rest`.
pub(crate) fn modern(asked: &Asked, rest: impl FnOnce(&Asked) -> Deed) -> Deed {
    match asked.method() {
        "server/discover" => Deed::Say(hostile::discover(&asked.id())),
        "tools/list" => Deed::Say(hostile::tools(&asked.id())),
        "tools/call" => Deed::Say(hostile::created(&asked.id(), "task-1")),
        _ => rest(asked),
    }
}

/// Adds a server by its address and waits until its health is `health`.
pub(crate) fn add_url(home: &Home, name: &str, url: &str, health: &str) -> Value {
    let ran = home.run(["servers", "add", name, "--yes", "--url", url]);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    server_is(home, name, health)
}

/// Adds a stdio server and waits until it is up.
pub(crate) fn add_command(home: &Home, name: &str, env: &[String], command: &[String]) -> Value {
    let mut args: Vec<String> = ["servers", "add", name, "--yes"].map(str::to_owned).to_vec();
    args.extend(env.iter().flat_map(|pair| ["--env".to_owned(), pair.clone()]));
    args.push("--".into());
    args.extend(command.iter().cloned());
    let ran = home.run(&args);
    assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
    server_is(home, name, "up")
}

/// Waits until a server's health is of a kind.
pub(crate) fn server_is(home: &Home, name: &str, health: &str) -> Value {
    let show = || home.json(["servers", "show", name, "--json"]);
    wait_for(
        &format!("server {name} is {health}"),
        || Some(show()).filter(|server| server["health"]["kind"] == health),
        || format!("{}\ncore: {}", show(), home.core_log()),
    )
}

/// The open questions of a task.
pub(crate) fn open_questions(home: &Home, id: &str) -> Vec<Value> {
    let inbox = home.json(["inbox", "--json"]);
    inbox["items"].as_array().into_iter().flatten().filter(|item| item["task"] == id).cloned().collect()
}

pub(crate) fn result_text(home: &Home, id: &str) -> String {
    let ran = home.run(["tasks", "result", id]);
    assert_eq!(ran.code, 0, "the result of {id} can be read: {}", ran.err);
    ran.out
}
