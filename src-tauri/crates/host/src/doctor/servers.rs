//! Each configured server: whether a person agreed, its command exists, and it can be reached.
//!
//! Whether it can be reached is the core's word; without a core only this machine is checked. No server is contacted
//! from here.

use std::path::Path;

use api::calls::core::doctor::NamedFacts;
use api::calls::core::findings::Finding;
use api::dto::server::HealthKind;
use api::dto::{AddressDto, RefusedQuestionsDto, ServerDto, moment};
use api::format::time;
use domain::ports::Clock as _;
use engine::SystemClock;

use super::server_secrets;
use crate::config::Config;
use crate::os::program_lookup;

pub(super) fn examine(config: &Config, facts: &NamedFacts, has_core: bool) -> Vec<Finding> {
    if facts.servers.is_empty() {
        let cure = "Add one: `taskwarden servers add NAME -- COMMAND`, or `--url URL`.";
        return vec![Finding::note("servers", "no server is configured", cure)];
    }
    facts.servers.iter().flat_map(|server| one(config, server, has_core)).collect()
}

fn one(config: &Config, server: &ServerDto, has_core: bool) -> Vec<Finding> {
    let area = format!("server {}", server.name);
    let mut found = Vec::new();
    if !server.agreed {
        found.push(Finding::broken(
            &area,
            "nobody agreed to this address, or it has changed since",
            format!("Remove it and add it again: `taskwarden servers remove {}`.", server.name),
        ));
    }
    // The core's own attempt decides where there was one: its PATH differs from that of this command.
    let is_told = match server.health.kind {
        HealthKind::Up => true,
        HealthKind::Connecting | HealthKind::Down | HealthKind::Ended | HealthKind::Blocked => has_core,
        HealthKind::Unknown => false,
    };
    let mut lacks = false;
    if let AddressDto::Stdio { command, cwd, .. } = &server.address
        && !is_told
    {
        if program_lookup::locate(command, program_lookup::folder_of(cwd.as_deref()).as_deref()).is_none() {
            lacks = true;
            found.push(Finding::broken(
                &area,
                format!("its command `{command}` was not found"),
                format!(
                    "Install it. If it has moved, run `taskwarden servers remove {}` and add it again.",
                    server.name
                ),
            ));
        }
        if let Some(cwd) = cwd.as_ref().filter(|cwd| !Path::new(cwd).is_dir()) {
            lacks = true;
            found.push(Finding::broken(
                &area,
                format!("its folder `{cwd}` does not exist"),
                "Create it, or add the server again.",
            ));
        }
    }
    // A server that is down because something is missing is reported once, with the fix for that.
    if !lacks {
        found.extend(reach(config, server, has_core, &area));
    }
    found.push(server_secrets::examine(&area, server, has_core));
    if let Some(refused) = refused_questions(server) {
        found.push(Finding::note(&area, refused, "Answer or cancel what waits in `taskwarden inbox`."));
    }
    found
}

fn reach(config: &Config, server: &ServerDto, has_core: bool, area: &str) -> Option<Finding> {
    let health = &server.health;
    let protocol = match (&server.era, &server.dialect) {
        (Some(era), Some(dialect)) => format!("{era}, tasks {dialect}"),
        (Some(era), None) => era.to_string(),
        (None, _) => "never reached".into(),
    };
    let why = health.why.clone().unwrap_or_else(|| "no reason is known".into());
    let hint = health.hint.clone().unwrap_or_else(|| "It will be tried again automatically.".into());
    let last = last_output(config, &server.stderr_tail);
    match health.kind {
        HealthKind::Up => Some(Finding::fine(area, format!("up ({protocol})"))),
        HealthKind::Connecting => {
            Some(Finding::note(area, format!("connecting ({protocol})"), "Check again in a moment."))
        }
        // Nothing is wrong with what a person ended.
        HealthKind::Ended => Some(Finding::note(area, why, hint)),
        HealthKind::Down | HealthKind::Blocked => {
            Some(Finding::broken(area, format!("{}: {why}{last}", health.kind), hint))
        }
        HealthKind::Unknown if has_core => Some(Finding::note(area, "not tried yet", "Check again in a moment.")),
        HealthKind::Unknown => None,
    }
}

/// `12 questions refused since 5 min ago: too many open`.
pub(crate) fn refused_questions(server: &ServerDto) -> Option<String> {
    let RefusedQuestionsDto { count, since } = server.refused_questions.as_ref()?;
    let since = moment(since).map(|at| format!(" since {}", time::ago(at, SystemClock.now()))).unwrap_or_default();
    Some(format!("{} refused{since}: too many open", time::count(*count, "question")))
}

/// The last line of its standard error.
fn last_output(config: &Config, tail: &str) -> String {
    match tail.trim_end().lines().last() {
        Some(line) if !line.trim().is_empty() => {
            format!(
                "; its last output: `{}`",
                domain::policy::plain_text(line.trim(), config.policy.server_text_cap_chars)
            )
        }
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(kind: &str) -> ServerDto {
        serde_json::from_value(serde_json::json!({
            "name": "poor", "id": "srv_1", "agreed": true, "openTasks": 0, "createdAt": "2026-01-01T00:00:00Z",
            "address": { "kind": "stdio", "command": "no-such-program-here" },
            "health": { "kind": kind, "why": "its process ended" },
        }))
        .expect("a server")
    }

    fn broken(kind: &str, has_core: bool) -> Vec<String> {
        let config = Config::built_in(crate::config::paths::Paths::new("/data"));
        let found = one(&config, &server(kind), has_core);
        found
            .into_iter()
            .filter(|one| one.grade == api::calls::core::findings::Grade::Broken)
            .map(|one| one.message)
            .collect()
    }

    #[test]
    fn a_server_that_is_up_is_not_broken_because_the_caller_has_another_path() {
        assert_eq!(broken("up", true), Vec::<String>::new(), "the core reached it");
        let down = broken("down", true);
        assert_eq!(down.len(), 1, "one trouble is counted once: {down:?}");
        assert!(down[0].contains("its process ended"), "the core knows why: {down:?}");
        assert_eq!(broken("ended", true), Vec::<String>::new(), "a person ended it, so nothing is in trouble");
        for kind in ["down", "unknown"] {
            let alone = broken(kind, false);
            assert_eq!(alone.len(), 1, "without a core it is counted once, too: {alone:?}");
            assert!(alone[0].contains("no-such-program-here"), "and named: {alone:?}");
        }
    }
}
