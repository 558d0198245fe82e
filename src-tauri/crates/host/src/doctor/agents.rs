//! Agents: where they are served, who has access, and whether their saved tokens are private.
//!
//! Reads no token, only who could read its file. Whether an agent is connected is the core's word.

use std::fs;

use api::calls::clients::DriftedFile;
use api::calls::core::doctor::{CoreFacts, NamedFacts};
use api::calls::core::findings::Finding;
use api::format::time::count;

use crate::config::Config;
use crate::config::paths::is_private;

const AREA: &str = "agents";

pub(super) fn examine(config: &Config, facts: &NamedFacts) -> Vec<Finding> {
    let mut found = vec![access(facts)];
    found.extend(saved(config, facts));
    found.extend(facts.drifted.iter().map(drifted));
    found
}

/// A file that somebody changed since its servers were routed.
fn drifted(file: &DriftedFile) -> Finding {
    Finding::note(
        AREA,
        format!("`{}` changed since it was routed: {}", file.path, file.said.join("; ")),
        format!("Run `taskwarden clients route {0}` again, or `taskwarden clients undo {0}`.", file.client),
    )
}

/// Where agents reach the core, without naming any.
pub(super) fn listener(facts: &CoreFacts) -> Option<Finding> {
    let at = facts.agents_at.as_ref()?;
    Some(match (&at.url, &at.why) {
        (Some(url), _) => Finding::fine(AREA, format!("served at {url} and at the socket")),
        (None, Some(why)) => Finding::broken(
            AREA,
            format!("no HTTP address is open: {why}"),
            "Set `listen` in `config.toml` to a free port, such as `127.0.0.1:7718`, and restart the core; \
             `taskwarden connect` works in any case.",
        ),
        (None, None) => Finding::fine(AREA, "served at the socket only; `listen` is off"),
    })
}

fn access(facts: &NamedFacts) -> Finding {
    let many = |wanted: fn(&api::dto::AgentFacts) -> bool| {
        u64::try_from(facts.agents.iter().filter(|agent| wanted(agent)).count()).unwrap_or(u64::MAX)
    };
    let with_access = many(|agent| agent.revoked_at.is_none());
    if with_access == 0 {
        return Finding::note(AREA, "no agent has access", "Add one: `taskwarden agents add NAME`.");
    }
    let connected = many(|agent| agent.connected);
    Finding::fine(AREA, format!("{} with access, {connected} connected", count(with_access, "agent")))
}

/// Tokens that are saved in files.
fn saved(config: &Config, facts: &NamedFacts) -> Vec<Finding> {
    let Ok(folder) = fs::read_dir(config.paths.agents()) else { return Vec::new() };
    let mut found = Vec::new();
    for path in folder.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if is_private(&path).is_ok_and(|private| !private) {
            found.push(Finding::broken(
                AREA,
                format!("the token in `{}` can be read by other users", path.display()),
                format!("Run `taskwarden agents revoke {name}` and add it again; the old token is then worthless."),
            ));
        } else if !facts.agents.iter().any(|agent| agent.name == name && agent.revoked_at.is_none()) {
            found.push(Finding::note(
                AREA,
                format!("`{}` is the token of an agent without access", path.display()),
                "Delete the file.",
            ));
        }
    }
    found
}
