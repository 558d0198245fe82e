//! Which members of an entry say how its server is reached, and their values when it is reached through Taskwarden.
//!
//! The program's own members, such as a timeout or a list of allowed tools, are not among them and stay.

use serde_json::{Map, Value, json};

use super::catalog::EntryShape;
use super::member_edit::MemberEdit;

/// The variable that names the data folder, where it is not the usual one.
pub(super) const HOME_VARIABLE: &str = "TASKWARDEN_HOME";

/// What starts `taskwarden connect` for one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BridgeCommand {
    /// The full path of this program: those of a desktop start with a short search path.
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// The data folder, where it is not the usual one.
    pub(super) home: Option<String>,
}

/// The members that turn an entry into a bridge. Entries of a list have none: nothing but the order says which is which.
pub(super) fn members(shape: EntryShape, entry: &Value, bridge: &BridgeCommand) -> Vec<MemberEdit> {
    let env = bridge.home.as_ref().map(|home| json!({ HOME_VARIABLE: home }));
    let (program, args) = (json!(bridge.program), json!(bridge.args));
    let mut members: Vec<(&str, Option<Value>)> = match shape {
        EntryShape::Usual | EntryShape::Codex => vec![("command", Some(program)), ("args", Some(args)), ("env", env)],
        EntryShape::Zed if entry.get("command").is_some_and(Value::is_object) => {
            let mut command = Map::from_iter([("path".to_owned(), program), ("args".to_owned(), args)]);
            command.extend(env.map(|env| ("env".to_owned(), env)));
            vec![("command", Some(Value::Object(command)))]
        }
        EntryShape::Zed => vec![("command", Some(program)), ("args", Some(args)), ("env", env)],
        EntryShape::Opencode => {
            let line: Vec<&String> = [&bridge.program].into_iter().chain(&bridge.args).collect();
            vec![("type", Some(json!("local"))), ("command", Some(json!(line))), ("environment", env), ("oauth", None)]
        }
        EntryShape::Goose => vec![
            ("type", Some(json!("stdio"))),
            ("cmd", Some(program)),
            ("args", Some(args)),
            ("envs", env),
            ("env_keys", None),
            ("uri", None),
        ],
        EntryShape::Continue => return Vec::new(),
    };
    members.extend([("cwd", None), ("url", None), ("headers", None)]);
    match shape {
        EntryShape::Usual => {
            members.push(("httpUrl", None));
            if entry.get("type").is_some() {
                members.push(("type", Some(json!("stdio"))));
            }
        }
        EntryShape::Codex => members.extend([
            ("http_headers", None),
            ("env_http_headers", None),
            ("bearer_token_env_var", None),
            ("env_vars", None),
        ]),
        EntryShape::Zed | EntryShape::Opencode | EntryShape::Goose | EntryShape::Continue => {}
    }
    // A member that is not there need not be removed.
    let is_needed = |(name, value): &(&str, Option<Value>)| value.is_some() || entry.get(*name).is_some();
    let edit = |(name, value): (&str, Option<Value>)| MemberEdit { name: name.to_owned(), value };
    members.into_iter().filter(is_needed).map(edit).collect()
}
