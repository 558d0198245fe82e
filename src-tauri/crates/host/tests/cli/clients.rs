//! Agent programs on the command line: what is found in their files, imported, routed and undone.
//!
//! Every test has a home folder of its own; nothing of the person who runs the tests is read or written.

mod found;
mod imported;
mod interrupted;
mod routed;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::home::{Core, Home, Ran};

/// A user with agent programs.
pub(crate) struct User {
    home: Home,
    /// Their home folder.
    folder: PathBuf,
}

impl User {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let folder = home.folder("user", &[]);
        Self { home, folder }
    }

    /// A file below the home folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.data()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("HOME", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        for name in ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn serve(&self) -> Core {
        let mut command = self.command(&["serve", "--json"]);
        command.stdin(Stdio::null());
        self.home.listening(command).0
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().expect("the program starts").into()
    }

    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "`{args:?}` succeeds: {ran:?}");
        ran
    }

    /// The clients as they are listed, for a project.
    pub(crate) fn clients(&self, project: &Path) -> Value {
        self.ok(&["clients", "list", "--json", "--folder", project.to_str().expect("text")]).json()
    }
}

/// One server of a list of clients.
pub(crate) fn server<'a>(list: &'a Value, client: &str, name: &str) -> &'a Value {
    let all = |value: &'a Value| value.as_array().into_iter().flatten();
    let client = all(&list["clients"]).find(|one| one["client"] == client).unwrap_or(&Value::Null);
    let files = all(&client["files"]);
    files.flat_map(|file| all(&file["servers"])).find(|one| one["name"] == name).unwrap_or(&Value::Null)
}

/// The tools that a bridge with these words offers, as its reply.
pub(crate) fn tools_over_bridge(user: &User, words: &[&str]) -> String {
    use std::io::{BufRead as _, Write as _};
    let mut command = user.command(words);
    let mut bridge = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the bridge starts");
    let mut to = bridge.stdin.take().expect("its input");
    let mut from = std::io::BufReader::new(bridge.stdout.take().expect("its output"));
    let mut ask = |message: &Value| {
        writeln!(to, "{message}").expect("it reads");
        let mut line = String::new();
        from.read_line(&mut line).expect("it answers");
        line
    };
    let hello = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2"}}});
    assert!(ask(&hello).contains("\"result\""));
    let tools = ask(&serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    drop(to);
    bridge.wait().expect("it ends");
    tools
}
