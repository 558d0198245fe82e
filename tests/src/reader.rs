//! An agent that calls a tool and has what it brings in the end, by three ways: 2026-07-28 with tasks over HTTP,
//! 2025-11-25 over HTTP, and 2025-11-25 over the pipes of `taskwarden connect`.
//!
//! The first gets a handle and looks; the other two know no tasks, wait for their call and have the four task tools. What
//! they were told is given as it came; nothing is judged here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::by_hand::Agent;
use crate::gate::Gate;
use crate::home::wait_for;

/// How it reaches the gateway.
enum Way {
    Modern(Agent),
    Session { agent: Agent, session: String },
    Bridge(Mutex<Pipes>),
}

struct Pipes {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

/// One agent.
pub struct Reader {
    name: String,
    way: Way,
}

impl Reader {
    /// 2026-07-28 with tasks, over HTTP.
    #[must_use]
    pub fn modern(gate: &Gate, server: &str, name: &str, token: &str) -> Self {
        Self { name: name.to_owned(), way: Way::Modern(Agent::new(&gate.url(server), token)) }
    }

    /// A session of 2025-11-25 without tasks, over HTTP.
    #[must_use]
    pub fn session(gate: &Gate, server: &str, name: &str, token: &str) -> Self {
        let agent = Agent::new(&gate.url(server), token);
        let (session, _) = agent.open("2025-11-25");
        Self { name: name.to_owned(), way: Way::Session { agent, session } }
    }

    /// 2025-11-25 without tasks, over `taskwarden connect`.
    #[must_use]
    pub fn bridge(gate: &Gate, server: &str, name: &str, token: &str) -> Self {
        let mut command = gate.connect(server, name, token);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a bridge");
        let (to, from) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        let mut pipes = Pipes { child, to, from: BufReader::new(from), next: 0 };
        let client = json!({"name": "it", "version": "1"});
        pipes.ask("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
        pipes.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Self { name: name.to_owned(), way: Way::Bridge(Mutex::new(pipes)) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has the four task tools.
    #[must_use]
    pub fn has_task_tools(&self) -> bool {
        match self.way {
            Way::Modern(_) => false,
            Way::Session { .. } | Way::Bridge(_) => true,
        }
    }

    /// The whole answer to a request.
    pub fn ask(&self, method: &str, params: &Value) -> Value {
        match &self.way {
            Way::Modern(agent) => agent.ask(method, params).json(),
            Way::Session { agent, session } => agent.in_session(session, method, params).json(),
            Way::Bridge(pipes) => pipes.lock().ask(method, params),
        }
    }

    /// Calls a tool and gives the answer to that: a handle, where this agent takes handles.
    pub fn begin(&self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// What a begun call brought in the end: an object with `result` or `error`, as its agent has it.
    pub fn end(&self, begun: Value) -> Value {
        let task = begun.pointer("/result/taskId").and_then(Value::as_str).map(str::to_owned);
        let Some(task) = task else { return begun };
        let over = |seen: &Value| {
            let status = seen.pointer("/result/status").and_then(Value::as_str).unwrap_or("gone");
            !matches!(status, "working" | "input_required")
        };
        let look = || self.ask("tasks/get", &json!({"taskId": task}));
        let seen = wait_for("the task is over to its agent", || Some(look()).filter(over), || look().to_string());
        match seen.pointer("/result/status").and_then(Value::as_str) {
            Some("completed") => json!({"result": seen.pointer("/result/result")}),
            Some(_) if seen.pointer("/result/error").is_some() => json!({"error": seen.pointer("/result/error")}),
            Some(_) => json!({"error": {"message": seen.pointer("/result/statusMessage"), "task": seen.get("result")}}),
            None => seen,
        }
    }

    /// Calls a tool to its end.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.end(self.begin(tool, arguments))
    }

    /// Reads a resource to its end, slice by slice, each of at most so many tokens.
    pub fn slices(&self, uri: &str, tokens: u64) -> Vec<String> {
        let (mut slices, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let read = self.ask("resources/read", &json!({"uri": format!("{uri}?offset={offset}&tokens={tokens}")}));
            let content = read.pointer("/result/contents/0").unwrap_or_else(|| panic!("a slice, not {read}"));
            slices.push(content.get("text").and_then(Value::as_str).expect("a text").to_owned());
            next = content.pointer("/_meta/io.taskwarden~1slice/next").and_then(Value::as_u64);
            assert!(next.is_none_or(|next| next > offset), "reading goes on: {content}");
        }
        slices
    }

    /// Reads a result with `tasks_result` to its end, part by part.
    pub fn parts(&self, task: &str) -> Vec<String> {
        let (mut parts, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let read = self.begin("tasks_result", &json!({"task": task, "offset": offset}));
            let text = words(&read);
            let (part, goes_on) = match text.rsplit_once("\n[") {
                Some((part, rest)) if rest.contains("continue with offset") => (part.to_owned(), Some(rest)),
                _ => (text.clone(), None),
            };
            parts.push(part);
            next = goes_on.and_then(|rest| rest.rsplit(' ').next()?.trim_end_matches(']').parse().ok());
            assert!(next.is_none_or(|next: u64| next > offset), "reading goes on: {read}");
        }
        parts
    }
}

/// The texts of the result in an answer; the message where it is an error.
#[must_use]
pub fn words(answer: &Value) -> String {
    if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
        return message.to_owned();
    }
    let blocks = answer.pointer("/result/content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

/// What a short result says of the whole: `_meta["io.taskwarden/held"]`; null where it is not a short one.
#[must_use]
pub fn held(answer: &Value) -> Value {
    answer.pointer("/result/_meta/io.taskwarden~1held").cloned().unwrap_or_default()
}

/// Where the whole of a short result can be read.
#[must_use]
pub fn link(answer: &Value) -> String {
    let mut blocks = answer.pointer("/result/content").and_then(Value::as_array).into_iter().flatten();
    let link = blocks.find(|block| block.get("type").is_some_and(|kind| kind == "resource_link"));
    let uri = link.and_then(|link| link.get("uri")).and_then(Value::as_str);
    uri.unwrap_or_else(|| panic!("a link to the whole, not {answer}")).to_owned()
}

impl Pipes {
    fn write(&mut self, message: &Value) {
        writeln!(self.to, "{message}").and_then(|()| self.to.flush()).expect("the bridge reads");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).expect("the bridge answers");
            assert!(read > 0, "the bridge ended before it answered `{method}`");
            let said: Value = serde_json::from_str(&line).expect("JSON of the bridge");
            if said.get("id").and_then(Value::as_u64) == Some(id) && said.get("method").is_none() {
                return said;
            }
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
