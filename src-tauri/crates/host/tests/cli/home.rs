//! A data directory of its own, the real program in it, and a core that tells when it listens.
//!
//! Nothing here sleeps: a core prints a line when it is there, and `tasks watch` waits on the level itself.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_taskwarden");

/// The longest any wait may take: a debug build on a busy machine half as fast as ours.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// The error object on standard error.
    pub(crate) fn error(&self) -> Value {
        serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("not one JSON object ({error}): {self:?}"))
    }
}

/// A data directory.
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A new folder with these files.
    pub(crate) fn folder(&self, name: &str, files: &[&str]) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in files {
            std::fs::write(folder.join(file), "bees").expect("a file");
        }
        folder
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).stdin(Stdio::null());
        command.env("TASKWARDEN_HOME", self.data()).env("TASKWARDEN_SECRETS", "file").env("NO_COLOR", "1");
        // Tests run side by side: the one port of the product is for none of them.
        command.env("TASKWARDEN_LISTEN", "off");
        command.env_remove("DBUS_SESSION_BUS_ADDRESS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().expect("the program starts").into()
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "`{args:?}` succeeds: {ran:?}");
        ran
    }

    /// Starts a core and returns when it listens.
    pub(crate) fn serve(&self) -> Core {
        self.serve_with(&[]).0
    }

    /// The same with more arguments, and what the core said.
    pub(crate) fn serve_with(&self, args: &[&str]) -> (Core, Value) {
        let mut command = self.command(&["serve", "--json"]);
        command.args(args);
        self.listening(command)
    }

    /// Starts this core and returns when it listens.
    pub(crate) fn listening(&self, mut command: Command) -> (Core, Value) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the core starts");
        let mut said = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut said).expect("its first line");
        assert!(said.contains("listening"), "the core says where it listens: `{said}`");
        (Core { child }, serde_json::from_str(&said).expect("one JSON document"))
    }

    /// A core with the demo server on it.
    pub(crate) fn with_demo() -> (Self, Core) {
        let home = Self::new();
        let core = home.serve();
        home.ok(&["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
        (home, core)
    }

    /// Starts a call and gives its handle.
    pub(crate) fn call(&self, tool: &str, args: &str) -> String {
        let ran = self.ok(&["call", "demo", tool, "--args", args]);
        ran.out.trim().to_owned()
    }

    /// Starts a call and gives its handle when the server has made a task of it. A cancel before that is one of the call,
    /// whose reply may then never come.
    pub(crate) fn call_taken(&self, tool: &str, args: &str) -> String {
        let id = self.call(tool, args);
        let begun = Instant::now();
        loop {
            let task = self.task(&id);
            if task["view"] == "task" {
                return id;
            }
            assert!(begun.elapsed() < PATIENCE, "the server makes a task of it: {task}");
        }
    }

    /// Waits until a task asks or is over; the exit code says which.
    pub(crate) fn watch(&self, id: &str) -> Option<i32> {
        self.run(&["tasks", "watch", id, "--timeout", "60"]).code
    }

    pub(crate) fn task(&self, id: &str) -> Value {
        self.ok(&["tasks", "show", id, "--json"]).json()
    }
}

/// Waits until something holds.
#[expect(clippy::disallowed_methods, reason = "between two looks at a level")]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A running core.
pub(crate) struct Core {
    child: Child,
}

impl Core {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(pid, signal).expect("a signal");
    }

    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
