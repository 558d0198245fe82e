//! Turns one entry of a file into how its server is started or contacted.
//!
//! The shapes of programs differ in the names of members; the rest is one path. Values of environments and headers become
//! secrets, because nothing tells which of them are. What an entry leaves to other places, such as a file of variables,
//! makes it unresolved, with the reason.

use std::collections::BTreeMap;

use api::calls::clients::files::{EntryReading, HiddenValues};
use api::calls::clients::launch::{ClientLaunch, LaunchVariable};
use domain::server::ServerAddress;
use serde_json::{Map, Value};

use super::catalog::EntryShape;
use super::variables::{self, VariableForm};

/// What is read of an entry, in the words of no program.
#[derive(Default)]
struct Parts {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    /// Variables that the program itself reads from its environment.
    own: Vec<LaunchVariable>,
}

/// Whether the program does not start this entry now.
pub(super) fn is_disabled(entry: &Value) -> bool {
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool);
    flag("disabled") == Some(true) || flag("enabled") == Some(false)
}

/// What an entry says. `folder` is the one that it holds for.
pub(super) fn read(shape: EntryShape, form: VariableForm, entry: &Value, folder: Option<&str>) -> EntryReading {
    let Some(members) = entry.as_object() else { return EntryReading::Unresolved("it is not an object".into()) };
    let parts = match parts(shape, members) {
        Ok(parts) => parts,
        Err(why) => return EntryReading::Unresolved(why),
    };
    if let Some((server, agent)) = parts.command.as_deref().and_then(|command| routed(command, &parts.args)) {
        return EntryReading::Routed { server, agent };
    }
    match launch(form, parts, folder) {
        Ok(launch) => EntryReading::Direct(Box::new(launch)),
        Err(why) => EntryReading::Unresolved(why),
    }
}

/// The server and the agent, when the command is a bridge of Taskwarden.
fn routed(command: &str, args: &[String]) -> Option<(Option<String>, String)> {
    let program = command.rsplit('/').next().unwrap_or(command);
    let (first, rest) = args.split_first()?;
    if first != "connect" || program != "taskwarden" {
        return None;
    }
    let at = rest.iter().position(|arg| arg == "--agent");
    let joined = rest.iter().find_map(|arg| arg.strip_prefix("--agent=")).map(str::to_owned);
    let agent = at.and_then(|at| rest.get(at.saturating_add(1)).cloned()).or(joined)?;
    let is_value = |index: usize| at.is_some_and(|at| index == at.saturating_add(1));
    let server = rest.iter().enumerate().find(|(index, arg)| !arg.starts_with('-') && !is_value(*index));
    Some((server.map(|(_, name)| name.clone()), agent))
}

fn parts(shape: EntryShape, members: &Map<String, Value>) -> Result<Parts, String> {
    let mut parts = Parts::default();
    match shape {
        EntryShape::Usual | EntryShape::Continue => usual(members, &mut parts)?,
        EntryShape::Zed => zed(members, &mut parts)?,
        EntryShape::Opencode => opencode(members, &mut parts)?,
        EntryShape::Codex => codex(members, &mut parts)?,
        EntryShape::Goose => goose(members, &mut parts)?,
    }
    match (&parts.command, &parts.url) {
        (None, None) => Err("it has neither a command nor an address".into()),
        (Some(_), Some(_)) => Err("it has both a command and an address".into()),
        (Some(command), None) if command.trim().is_empty() => Err("its command is empty".into()),
        (None, Some(url)) if !is_address(url) => Err("its address does not begin with `https://` or `http://`".into()),
        (None, Some(url)) if has_password(url) => Err("its address holds a user name or a password".into()),
        (Some(_), None) | (None, Some(_)) => Ok(parts),
    }
}

/// Whether it is an address, or may become one when its variables have values.
fn is_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://") || url.starts_with('$') || url.starts_with('{')
}

/// Whether the address names a user, whose password would be stored in the open.
fn has_password(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

fn usual(members: &Map<String, Value>, parts: &mut Parts) -> Result<(), String> {
    if members.contains_key("envFile") {
        return Err("its variables are in a file (`envFile`), which Taskwarden does not read".into());
    }
    parts.command = text(members, "command")?;
    parts.args = list(members, "args")?;
    parts.env = pairs(members, "env")?;
    parts.cwd = text(members, "cwd")?;
    parts.url = match text(members, "httpUrl")? {
        Some(url) => Some(url),
        None => text(members, "url")?,
    };
    parts.headers = pairs(members, "headers")?;
    Ok(())
}

fn zed(members: &Map<String, Value>, parts: &mut Parts) -> Result<(), String> {
    match members.get("command") {
        Some(Value::Object(command)) => {
            parts.command = text(command, "path")?;
            parts.args = list(command, "args")?;
            parts.env = pairs(command, "env")?;
            Ok(())
        }
        None if !members.contains_key("url") => Err("an extension of Zed starts it".into()),
        _ => usual(members, parts),
    }
}

fn opencode(members: &Map<String, Value>, parts: &mut Parts) -> Result<(), String> {
    let mut command = list(members, "command")?.into_iter();
    parts.command = command.next();
    parts.args = command.collect();
    parts.env = pairs(members, "environment")?;
    parts.cwd = text(members, "cwd")?;
    parts.url = text(members, "url")?;
    parts.headers = pairs(members, "headers")?;
    let is_file = |value: &String| value.contains("{file:");
    if parts.env.values().chain(parts.headers.values()).chain(&parts.args).any(is_file) {
        return Err("a value is in another file (`{file:…}`), which Taskwarden does not read".into());
    }
    if parts.command.is_none() && parts.url.is_none() && members.contains_key("enabled") {
        return Err("it only turns a server of another file on or off".into());
    }
    Ok(())
}

fn codex(members: &Map<String, Value>, parts: &mut Parts) -> Result<(), String> {
    usual(members, parts)?;
    parts.headers.extend(pairs(members, "http_headers")?);
    for (header, variable) in pairs(members, "env_http_headers")? {
        let token = own_variable(parts, &variable);
        parts.headers.insert(header, token);
    }
    if let Some(variable) = text(members, "bearer_token_env_var")? {
        let token = own_variable(parts, &variable);
        parts.headers.insert("Authorization".into(), format!("Bearer {token}"));
    }
    for variable in list(members, "env_vars")? {
        let token = own_variable(parts, &variable);
        parts.env.insert(variable, token);
    }
    Ok(())
}

fn goose(members: &Map<String, Value>, parts: &mut Parts) -> Result<(), String> {
    let kind = members.get("type").and_then(Value::as_str);
    if matches!(kind, Some("builtin" | "platform" | "frontend" | "inline_python")) {
        return Err("it is a part of Goose itself".into());
    }
    parts.command = text(members, "cmd")?;
    parts.args = list(members, "args")?;
    parts.env = pairs(members, "envs")?;
    parts.cwd = text(members, "cwd")?;
    parts.url = text(members, "uri")?;
    parts.headers = pairs(members, "headers")?;
    for variable in list(members, "env_keys")? {
        let token = own_variable(parts, &variable);
        parts.env.insert(variable, token);
    }
    Ok(())
}

/// Notes a variable that the program reads itself, and gives the token that stands for it.
fn own_variable(parts: &mut Parts, name: &str) -> String {
    let token = format!("${{{name}}}");
    parts.own.push(LaunchVariable {
        token: token.clone(),
        name: name.to_owned(),
        is_environment: true,
        is_secret: true,
        default: None,
    });
    token
}

fn launch(form: VariableForm, parts: Parts, folder: Option<&str>) -> Result<ClientLaunch, String> {
    let Parts { command, args, env, cwd, url, headers, own } = parts;
    let mut variables: Vec<LaunchVariable> = Vec::new();
    let mut note = |text: &str, is_secret: bool| {
        for mut variable in variables::find(form, text) {
            if variable.name == "workspaceFolder" {
                variable.default = folder.map(str::to_owned);
            }
            match variables.iter_mut().find(|known| known.token == variable.token) {
                Some(known) => known.is_secret &= is_secret,
                None => variables.push(LaunchVariable { is_secret, ..variable }),
            }
        }
    };
    let secrets = if command.is_some() { env } else { headers };
    secrets.values().for_each(|value| note(value, true));
    args.iter().chain(&command).chain(&cwd).chain(&url).for_each(|text| note(text, false));
    variables.extend(own);
    let names: Vec<String> = secrets.keys().cloned().collect();
    let address = match (command, url) {
        (Some(command), _) => ServerAddress::Stdio {
            command,
            args,
            env: BTreeMap::new(),
            secret_env: names,
            cwd: cwd.or_else(|| folder.map(str::to_owned)),
        },
        (None, Some(url)) => ServerAddress::Http { url, secret_headers: names },
        (None, None) => return Err("it has neither a command nor an address".into()),
    };
    Ok(ClientLaunch { address, secrets: HiddenValues(secrets), variables })
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` is not a text")),
    }
}

fn list(members: &Map<String, Value>, name: &str) -> Result<Vec<String>, String> {
    let bad = || format!("`{name}` is not a list of texts");
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(|item| plain(item).ok_or_else(bad)).collect(),
        Some(_) => Err(bad()),
    }
}

fn pairs(members: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
    let bad = || format!("`{name}` is not an object of texts");
    match members.get(name) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(object)) => {
            object.iter().map(|(key, value)| plain(value).map(|value| (key.clone(), value)).ok_or_else(bad)).collect()
        }
        Some(_) => Err(bad()),
    }
}

/// A text, or what programs turn into one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
