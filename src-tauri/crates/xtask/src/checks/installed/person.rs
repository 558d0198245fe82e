//! Somebody with an empty home who runs the installed program.
//!
//! The home is short, because the place of a socket may have 108 bytes. Everything is asked through the command line, as
//! a person or a program does; the core is ended when this is dropped.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{HINT, failed};
use crate::failure::Failure;
use crate::package::files::{make_empty, unreadable};
use crate::process;

/// Seconds that one command may take, in the words of `timeout`; a slow machine needs a few.
const LIMIT: &str = "30";
/// How often a task is looked at, about once a second.
const LOOKS: usize = 40;

pub(super) struct Person {
    home: PathBuf,
    program: PathBuf,
}

impl Person {
    /// Somebody new.
    pub(super) fn at_home(program: &Path) -> Result<Self, Failure> {
        let home = std::env::temp_dir().join(format!("tw{}", std::process::id()));
        make_empty(&home)?;
        Ok(Self { home, program: program.to_path_buf() })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Where the program keeps what it records.
    pub(super) fn data(&self) -> PathBuf {
        self.home.join(".local/share/taskwarden")
    }

    /// Removes the home.
    pub(super) fn leave(self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.home).map_err(|why| unreadable(&self.home, &why))
    }

    /// The installed program with a limit of time and nothing of our environment.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(&self.program).args(words);
        self.at_place(&mut command);
        command
    }

    fn at_place(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.home).current_dir(&self.home);
    }

    /// What a command prints.
    pub(super) fn run(&self, words: &[&str]) -> Result<String, Failure> {
        let done = self.command(words).stdin(Stdio::null()).output();
        let done = done.map_err(|why| failed(format!("`timeout` did not start: {why}")))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(failed(format!("`taskwarden {}` ended with {}: {said}", words.join(" "), done.status)))
    }

    /// What a command prints as JSON, whatever it ends with.
    pub(super) fn json(&self, words: &[&str]) -> Result<Value, Failure> {
        let said = self.command(words).stdin(Stdio::null()).output();
        let said = said.map_err(|why| failed(format!("`timeout` did not start: {why}")))?.stdout;
        serde_json::from_slice(&said).map_err(|why| {
            failed(format!(
                "`taskwarden {}` printed no JSON: {why}: {}",
                words.join(" "),
                String::from_utf8_lossy(&said)
            ))
        })
    }

    /// Starts a core and waits until it listens.
    pub(super) fn serve(&self) -> Result<InstalledCore, Failure> {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
        self.at_place(&mut command);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut core = InstalledCore { child: child.map_err(|why| failed(format!("the core did not start: {why}")))? };
        let line = core.child.stdout.take().map(first_line).unwrap_or_default();
        let begun: Value = serde_json::from_str(&line).unwrap_or_default();
        if begun.get("process").and_then(Value::as_u64) != Some(core.child.id().into()) {
            return Err(failed(format!("the core does not say that it listens: `{line}`")));
        }
        Ok(core)
    }

    /// Speaks MCP with the installed program as the program of an agent does.
    pub(super) fn initialise(&self) -> Result<(), Failure> {
        self.run(&["agents", "add", "checker", "--save"])?;
        let mut bridge = self.command(&["connect", "--agent", "checker"]);
        let bridge = bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut bridge = bridge.map_err(|why| failed(format!("the bridge did not start: {why}")))?;
        let who = json!({ "name": "checker", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let mut input = bridge.stdin.take();
        let is_written = input.as_mut().is_some_and(|input| writeln!(input, "{hello}").is_ok());
        let line = bridge.stdout.take().map(first_line).unwrap_or_default();
        // The bridge ends with its input.
        drop(input);
        let _ = bridge.wait();
        let reply: Value = serde_json::from_str(&line).unwrap_or_default();
        if !is_written || reply.pointer("/result/serverInfo/name").is_none_or(|name| !name.is_string()) {
            return Err(failed(format!("`initialize` is answered with `{line}`")));
        }
        Ok(())
    }

    /// Calls a tool; the handle of its task.
    pub(super) fn start_task(&self, server: &str, tool: &str) -> Result<String, Failure> {
        let called = self.json(&["call", server, tool, "--json"])?;
        let handle = called.get("handle").or_else(|| called.get("id")).and_then(Value::as_str).map(str::to_owned);
        handle.ok_or_else(|| failed(format!("a call gave no handle: {called}")))
    }

    /// The step that an open `runaway` reports once it is beyond this one.
    pub(super) fn step_after(&self, task: &str, step: u64) -> Result<u64, Failure> {
        let mut shown = Value::Null;
        for _ in 0..LOOKS {
            shown = self.json(&["tasks", "show", task, "--json"])?;
            let now = shown.get("statusMessage").and_then(Value::as_str).and_then(tick);
            if let Some(now) = now.filter(|now| shown.get("over") == Some(&Value::Bool(false)) && *now > step) {
                return Ok(now);
            }
            // Waits for the next change, or a second; how it ends says nothing here.
            let mut watch = self.command(&["tasks", "watch", task, "--timeout", "1"]);
            let _ = watch.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        Err(failed(format!("the task does not go beyond step {step}: {shown}")))
    }

    /// The process of the one server that a keeper holds.
    pub(super) fn kept_process(&self) -> Result<u64, Failure> {
        let folders = fs::read_dir(self.data().join("keep")).into_iter().flatten().flatten();
        let kept: Vec<u64> = folders
            .filter_map(|folder| fs::read(folder.path().join("who")).ok())
            .filter_map(|text| serde_json::from_slice::<Value>(&text).ok())
            .filter_map(|who| who.pointer("/child/pid").and_then(Value::as_u64))
            .collect();
        match kept.as_slice() {
            [process] => Ok(*process),
            _ => Err(failed(format!("one server is kept, and not {kept:?}"))),
        }
    }
}

/// The step in `tick 1,044: 8,543 primes below 88,000`.
fn tick(status: &str) -> Option<u64> {
    let (step, _) = status.strip_prefix("tick ")?.split_once(':')?;
    step.replace(',', "").parse().ok()
}

fn first_line(output: impl std::io::Read) -> String {
    let mut line = String::new();
    // What cannot be read is an empty line, which nobody takes for an answer.
    let _ = BufReader::new(output).read_line(&mut line);
    line
}

/// A running core of the installed program.
pub(super) struct InstalledCore {
    child: Child,
}

impl InstalledCore {
    /// Ends it as a service manager does, and waits until it has ended.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        process::run(Command::new("kill").arg(self.child.id().to_string()), HINT)?;
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("the core ended with {status}"))),
            Err(why) => Err(failed(format!("the core cannot be waited for: {why}"))),
        }
    }
}

impl Drop for InstalledCore {
    fn drop(&mut self) {
        // It has ended already where everything went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_from_what_the_server_says() {
        assert_eq!(tick("tick 1,044: 8,543 primes below 88,000"), Some(1_044));
        assert_eq!(tick("cancelled"), None);
    }
}
