//! Settings that can be pasted into an agent's program, over HTTP and through a command.
//!
//! Window and command line show the same text. It contains the token where the program needs it; nothing is kept or logged,
//! and no terminal command contains the token. Which programs are known is `programs.rs`.

pub mod programs;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::dto::ReadySettings;
use crate::format::shell_word;

/// The name under which the programs list the gateway.
const NAME: &str = "taskwarden";
/// The variable in which `taskwarden connect` looks for the token first (ruling 25).
const TOKEN: &str = "TASKWARDEN_TOKEN";
/// The variable that names the data directory.
const HOME: &str = "TASKWARDEN_HOME";

/// What the settings are about.
#[derive(Clone, Copy)]
pub struct SettingsInput<'a> {
    /// The agent's name.
    pub agent: &'a str,
    pub token: &'a str,
    /// The program and first arguments of the bridge, such as `taskwarden connect`.
    pub connect: &'a [String],
    /// The data directory, when the bridge would not find it by itself.
    pub home: Option<&'a str>,
    /// Where all servers are over HTTP, when they are.
    pub url: Option<&'a str>,
    /// The file where `connect` finds the token, when it was saved: then the settings of the command do not hold it.
    pub saved: Option<&'a str>,
}

#[must_use]
pub fn settings(of: SettingsInput<'_>) -> ReadySettings {
    let (http, bridge) = (Http::new(of), Bridge::new(of));
    ReadySettings {
        http: http.as_ref().map(|http| http.servers(json!("http"))),
        stdio: bridge.servers(None),
        claude: http.as_ref().map(|http| {
            let Http { url, header } = http;
            let url = shell_word::shell_quote(url);
            format!("claude mcp add --transport http {NAME} {url} --scope user --header \"Authorization: {header}\"")
        }),
        programs: programs::all(of, http.as_ref(), &bridge),
    }
}

/// The way over HTTP.
struct Http {
    url: String,
    header: String,
}

impl Http {
    fn new(of: SettingsInput<'_>) -> Option<Self> {
        Some(Self { url: of.url?.to_owned(), header: format!("Bearer {}", of.token) })
    }

    /// The document that most programs take.
    fn servers(&self, kind: Value) -> String {
        servers(json!({ "type": kind, "url": self.url, "headers": { "Authorization": self.header } }))
    }
}

/// The way through a command.
struct Bridge {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Bridge {
    fn new(of: SettingsInput<'_>) -> Self {
        let (program, first) = match of.connect.split_first() {
            Some((program, first)) => (program.clone(), first.to_vec()),
            None => (NAME.to_owned(), vec!["connect".to_owned()]),
        };
        let args = first.into_iter().chain(["--agent".to_owned(), of.agent.to_owned()]).collect();
        let token = of.saved.is_none().then(|| (TOKEN, of.token.to_owned()));
        let home = of.home.map(|home| (HOME, home.to_owned()));
        Self { program, args, env: token.into_iter().chain(home).collect() }
    }

    fn env(&self) -> Map<String, Value> {
        self.env.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }

    /// The command line, for a shell.
    fn line(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.args).map(|word| shell_word::shell_quote(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The document that most programs take.
    fn servers(&self, kind: Option<&str>) -> String {
        servers(self.command(kind).into())
    }

    /// The program with its arguments and environment.
    fn command(&self, kind: Option<&str>) -> Map<String, Value> {
        let mut command = Map::new();
        if let Some(kind) = kind {
            command.insert("type".into(), json!(kind));
        }
        command.insert("command".into(), json!(self.program));
        command.insert("args".into(), json!(self.args));
        if !self.env.is_empty() {
            command.insert("env".into(), self.env().into());
        }
        command
    }
}

fn servers(server: Value) -> String {
    pretty(&json!({ "mcpServers": { NAME: server } }))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
