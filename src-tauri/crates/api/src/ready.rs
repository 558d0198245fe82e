//! Settings that can be pasted into an agent's program, for both ways to this core: HTTP and a command.
//!
//! Written here so that the window and the command line show the same. They carry the token where the program has to;
//! nothing of them is kept or logged. Which servers exist is not looked at: an agent reaches all of them at once.

use serde_json::{Value, json};

use crate::dto::ReadySettings;

/// The variable in which `taskwarden connect` looks for the token first (ruling 25).
const TOKEN: &str = "TASKWARDEN_TOKEN";

/// What the settings are about.
#[derive(Clone, Copy)]
pub struct For<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// Its token.
    pub token: &'a str,
    /// The program and first arguments of the bridge, such as `taskwarden connect`.
    pub connect: &'a [String],
    /// Where all servers are over HTTP, when they are.
    pub url: Option<&'a str>,
    /// Whether the token was put where `connect` finds it, so that it need not stand in the settings of the command.
    pub is_saved: bool,
}

/// The settings.
#[must_use]
pub fn settings(of: For<'_>) -> ReadySettings {
    let For { agent, token, connect, url, is_saved } = of;
    let header = format!("Bearer {token}");
    let (program, first) =
        connect.split_first().map_or(("taskwarden", ["connect".to_owned()].to_vec()), |(p, f)| (p, f.to_vec()));
    let mut args = first;
    args.extend(["--agent".to_owned(), agent.to_owned()]);
    let mut command = json!({ "command": program, "args": args });
    if !is_saved && let Some(command) = command.as_object_mut() {
        command.insert("env".into(), json!({ TOKEN: token }));
    }
    ReadySettings {
        http: url.map(|url| {
            pretty(&json!({
                "mcpServers": { "taskwarden": { "type": "http", "url": url, "headers": { "Authorization": header } } }
            }))
        }),
        stdio: pretty(&json!({ "mcpServers": { "taskwarden": command } })),
        claude: url.map(|url| {
            format!("claude mcp add --transport http taskwarden {url} --header \"Authorization: {header}\"")
        }),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(is_saved: bool, url: Option<&str>) -> ReadySettings {
        let connect = ["/opt/taskwarden".to_owned(), "connect".to_owned()];
        settings(For { agent: "claude", token: "twa_x", connect: &connect, url, is_saved })
    }

    #[test]
    fn settings_name_the_way_and_the_token_once_each() {
        let all = made(false, Some("http://127.0.0.1:7717/mcp"));
        let http: Value = serde_json::from_str(&all.http.expect("an address")).expect("JSON");
        assert_eq!(http["mcpServers"]["taskwarden"]["headers"]["Authorization"], "Bearer twa_x");
        let stdio: Value = serde_json::from_str(&all.stdio).expect("JSON");
        let command = &stdio["mcpServers"]["taskwarden"];
        assert_eq!(command["command"], "/opt/taskwarden");
        assert_eq!(command["args"], json!(["connect", "--agent", "claude"]));
        assert_eq!(command["env"][TOKEN], "twa_x");
    }

    #[test]
    fn a_saved_token_does_not_stand_in_the_command() {
        let all = made(true, None);
        assert!(!all.stdio.contains("twa_x"), "`connect` reads it from its file");
        assert_eq!((all.http, all.claude), (None, None), "without an address there is nothing to paste");
    }
}
