//! A data directory of its own, and the real program in it.
//!
//! Runs the `taskwarden` command line as a child process, as a person would: arguments in, text and exit code out.
//! The binary is `core-under-test`, which is `taskwarden` with kill points in reach of the environment.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The longest any wait in these tests may take: a debug build on two cores, half as fast as ours and busy with other
/// tests. Below the five minutes after which the runner ends a test, so that a wait says what it waited for.
pub const PATIENCE: Duration = Duration::from_secs(150);

/// Waits until `level` holds a value, at most [`PATIENCE`]. Panics with the last words of `state` otherwise.
pub fn wait_for<T>(what: &str, mut level: impl FnMut() -> Option<T>, state: impl Fn() -> String) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = level() {
            return value;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long until {what}; last state: {}", state());
        pause();
    }
}

/// Looks at something that changes, a pause between two, for as long as [`PATIENCE`] lasts; for loops that also act.
pub fn looks() -> impl Iterator<Item = ()> {
    let begun = Instant::now();
    let mut is_first = true;
    std::iter::from_fn(move || {
        if !std::mem::take(&mut is_first) {
            pause();
        }
        (begun.elapsed() < PATIENCE).then_some(())
    })
}

fn pause() {
    pause_for(Duration::from_millis(40));
}

/// The pause between two looks at a level, or before a kill at a random moment. Never to hope that something happened.
#[expect(clippy::disallowed_methods, reason = "the one place of the tests that pauses")]
pub fn pause_for(span: Duration) {
    std::thread::sleep(span);
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; 128 + signal when killed.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(128),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The JSON document it printed.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("not JSON ({e}): `{}`; stderr: `{}`", self.out, self.err))
    }
}

/// A data directory.
pub struct Home {
    dir: TempDir,
    program: PathBuf,
}

/// A running core.
pub struct Core {
    child: Child,
}

impl Home {
    /// A new, empty data directory for this program (`env!("CARGO_BIN_EXE_core-under-test")`).
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self { dir: TempDir::new().expect("a temporary folder"), program: program.into() }
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `TASKWARDEN_HOME` of its commands.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The command, ready to get more arguments.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("TASKWARDEN_HOME", self.data()).env("NO_COLOR", "1");
        // Cores of tests run side by side: the one port of the product is for none of them.
        command.env("TASKWARDEN_LISTEN", "off");
        command.env_remove("TASKWARDEN_TORTURE").env_remove("TASKWARDEN_SEED");
        // No desktop of the machine may be reached from a test.
        command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("DISPLAY").stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        Ran::of(&self.command().args(args).output().expect("the program starts"))
    }

    /// Runs a command with additional environment.
    pub fn run_with<A: AsRef<OsStr>>(&self, env: &[(&str, &str)], args: &[A]) -> Ran {
        Ran::of(&self.command().envs(env.iter().copied()).args(args).output().expect("the program starts"))
    }

    /// Runs a command with something on its standard input.
    pub fn run_with_input<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &str) -> Ran {
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input.as_bytes());
        }
        Ran::of(&child.wait_with_output().expect("the program ends"))
    }

    /// Runs a command that must succeed and print one JSON document.
    pub fn json<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "the command succeeds; stderr: {}", ran.err);
        ran.json()
    }

    /// Starts the core and waits until commands reach it.
    #[must_use]
    pub fn serve(&self) -> Core {
        self.serve_with(&[])
    }

    /// Starts the core with additional environment and waits until commands reach it, or until it ended.
    #[must_use]
    pub fn serve_with(&self, env: &[(&str, &str)]) -> Core {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir.path().join("core.log"))
            .expect("the log of the core");
        let mut command = self.command();
        command.arg("serve").stdout(Stdio::null()).stderr(log);
        for (name, value) in env {
            command.env(name, value);
        }
        let mut core = Core { child: command.spawn().expect("the core starts") };
        let socket = self.data().join("core.sock");
        wait_for(
            "the core listens",
            || (core.ended() || std::os::unix::net::UnixStream::connect(&socket).is_ok()).then_some(()),
            || self.core_log(),
        );
        core
    }

    /// What the core wrote so far.
    #[must_use]
    pub fn core_log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("core.log")).unwrap_or_default()
    }

    /// The task as `tasks show --json` prints it.
    #[must_use]
    pub fn task(&self, id: &str) -> Value {
        self.json(["tasks", "show", id, "--json"])
    }

    /// Waits until a task is in a phase.
    pub fn wait_phase(&self, id: &str, phase: &str) -> Value {
        wait_for(
            &format!("task {id} is {phase}"),
            || Some(self.task(id)).filter(|task| task.get("phase").is_some_and(|word| word == phase)),
            || format!("{}\ncore: {}", self.task(id), self.core_log()),
        )
    }

    /// Waits until the server has made a task of a call, whatever became of the task since.
    pub fn wait_taken(&self, id: &str) -> Value {
        wait_for(
            &format!("the server makes a task of {id}"),
            || Some(self.task(id)).filter(|task| task.get("view").is_some_and(|word| word == "task")),
            || format!("{}\ncore: {}", self.task(id), self.core_log()),
        )
    }

    /// Starts a call and returns its handle.
    pub fn call(&self, server: &str, tool: &str, args: &Value) -> String {
        let printed = self.json(["call", server, tool, "--args", &args.to_string(), "--json"]);
        printed
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("`call --json` prints an id: {printed}"))
            .to_owned()
    }
}

impl Drop for Home {
    /// Ends what a killed core left running: a core that a bridge started, and processes that are kept for the next one.
    fn drop(&mut self) {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let core = read(&self.data().join("core.lock")).trim().parse::<i32>().ok();
        let folders = std::fs::read_dir(self.data().join("keep")).into_iter().flatten().filter_map(Result::ok);
        let keepers = folders.filter_map(|folder| {
            let who = serde_json::from_str::<Value>(&read(&folder.path().join("who"))).ok()?;
            i32::try_from(who.pointer("/keeper/pid")?.as_i64()?).ok()
        });
        for (pid, signal) in core
            .map(|pid| (pid, rustix::process::Signal::KILL))
            .into_iter()
            .chain(keepers.map(|pid| (pid, rustix::process::Signal::TERM)))
        {
            // A number that belongs to somebody else by now is told by the data directory in its environment.
            let is_ours = std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                let place = self.data().display().to_string();
                signal == rustix::process::Signal::TERM || String::from_utf8_lossy(&environ).contains(&place)
            });
            if let Some(pid) = rustix::process::Pid::from_raw(pid).filter(|_| is_ours) {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }
}

impl Core {
    /// Whether it ended by itself.
    pub fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The exit code, once it ended by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.try_wait().ok().flatten().and_then(|status| status.code())
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it without warning, as a power cut would.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end and returns its exit code.
    pub fn stop(mut self) -> Option<i32> {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
