//! What can be wrong with a set-up, and the cure for each (issue: `doctor` names each problem and its cure).
//!
//! Works without a core, without a readable configuration and with a damaged registry: each check stands alone and
//! says what it could not see. It changes nothing but a probe item in the keychain.

mod agents;
mod limits;
mod place;
mod servers;
mod storage;

use std::sync::Arc;

use api::calls::Nothing;
use api::calls::core::doctor::CoreFacts;
use api::format::time::count;
use api::{Api, Caller, Code};
use engine::SystemClock;
use serde::Serialize;

use crate::attach::Attached;
use crate::config::{Config, ConfigError, SecretsWish};
use crate::lock::CoreLock;
use crate::secrets::{Vault, keychain_works};
use crate::{compose, person};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Grade {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Something does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// What it is about.
    pub(crate) area: String,
    /// How bad it is.
    pub(crate) grade: Grade,
    /// What was found.
    pub(crate) message: String,
    /// What a person can do; null when nothing needs doing.
    pub(crate) cure: Option<String>,
}

impl Finding {
    pub(crate) fn fine(area: &str, message: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Fine, message: message.into(), cure: None }
    }

    pub(crate) fn note(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Note, message: message.into(), cure: Some(cure.into()) }
    }

    pub(crate) fn broken(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Broken, message: message.into(), cure: Some(cure.into()) }
    }
}

/// Looks at everything.
pub(crate) async fn examine(config: Result<Config, ConfigError>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            return vec![Finding::broken("config", error.to_string(), error.hint())];
        }
    };
    let mut found = place::examine(&config);
    found.push(secrets(&config));
    let (core, facts) = core(&config).await;
    found.extend(core);
    match facts {
        Some(facts) => found.extend(with_facts(&config, &facts)),
        None => found.extend(registry_alone(&config).await),
    }
    found
}

fn secrets(config: &Config) -> Finding {
    let area = "secrets";
    match Vault::find(config) {
        Ok(Some(vault)) => match vault.probe() {
            Ok(()) if vault.is_keychain() => Finding::fine(area, "secrets and the registry's key lie in the keychain"),
            Ok(()) => {
                let said = domain::ports::Secrets::describe(&vault);
                let why = match keychain_works(config.policy.hosting.keychain_limit) {
                    Ok(()) => "a keychain is there now, but the choice was made when the data directory was new".into(),
                    Err(why) => why,
                };
                Finding::note(
                    area,
                    format!("secrets and the registry's key lie in {said} ({why})"),
                    "Keep the data directory out of shared backups. Nothing else is needed.",
                )
            }
            Err(why) if vault.is_keychain() => Finding::broken(
                area,
                why,
                "Unlock the keychain of your desktop session; the registry's key lies there.",
            ),
            Err(why) => Finding::broken(area, why, secrets_cure(config)),
        },
        Ok(None) => Finding::fine(
            area,
            match config.secrets {
                SecretsWish::Auto => "no secret yet; the place is chosen when the core first starts",
                SecretsWish::Keychain => "no secret yet; they will lie in the keychain",
                SecretsWish::File => "no secret yet; they will lie in a file that only you can read",
            },
        ),
        Err(error) => Finding::broken(area, error.to_string(), error.hint()),
    }
}

/// The cure for a secrets file that cannot be used.
fn secrets_cure(config: &Config) -> String {
    let path = config.paths.secrets();
    let shown = path.display();
    match std::fs::read(&path) {
        Ok(bytes) if serde_json::from_slice::<std::collections::BTreeMap<String, String>>(&bytes).is_err() => format!(
            "Restore `{shown}` from a backup: the registry's key lies in it. Without one, move the whole data \
             directory aside and begin anew."
        ),
        Ok(_) => format!("Run `chmod 600 {shown}`; the core does it too when it starts."),
        Err(_) => format!("Run `chmod 600 {shown}`, or give it back to your user."),
    }
}

/// Whether a core runs and answers; its facts when it does.
async fn core(config: &Config) -> (Vec<Finding>, Option<CoreFacts>) {
    let area = "core";
    let holder = CoreLock::holder(&config.paths.lock());
    let Some(pid) = holder else {
        let start = "Start one with `taskwarden serve`.";
        return (vec![Finding::note(area, "no core is running for this data directory", start)], None);
    };
    let process = pid.map_or_else(|| "of unknown number".into(), |pid| pid.to_string());
    let restart = "Stop it with Ctrl-C in its terminal (or `kill` its process) and start it again.";
    let asked = async {
        let attached = Attached::new(&config.paths, &config.policy)?;
        attached.call("doctor", "{}".into()).await
    };
    match tokio::time::timeout(config.policy.reply_limit, asked).await {
        Ok(Ok(text)) => match serde_json::from_str::<CoreFacts>(&text) {
            Ok(facts) if facts.version == env!("CARGO_PKG_VERSION") => {
                let message = format!("process {process} answers, version {}", facts.version);
                (vec![Finding::fine(area, message)], Some(facts))
            }
            Ok(facts) => {
                let message = format!(
                    "process {process} has version {}, this command {}",
                    facts.version,
                    env!("CARGO_PKG_VERSION")
                );
                (vec![Finding::note(area, message, restart)], Some(facts))
            }
            Err(_) => {
                let message = format!("process {process} is of a version that this command does not understand");
                (vec![Finding::broken(area, message, restart)], None)
            }
        },
        Ok(Err(error)) if error.code == Code::NoCore => {
            let message = format!("process {process} holds the data directory but its socket does not answer");
            let cure = pid.map_or_else(
                || restart.to_owned(),
                |pid| format!("End it with `kill -9 {pid}` and start it again; nothing that was recorded is lost."),
            );
            (vec![Finding::broken(area, message, cure)], None)
        }
        Ok(Err(error)) => (vec![Finding::broken(area, error.message, error.hint)], None),
        Err(_) => {
            let message =
                format!("process {process} does not answer within {}", api::format::time::span(config.policy.reply_limit));
            (vec![Finding::broken(area, message, restart)], None)
        }
    }
}

/// Without an answering core: what the registry itself says.
async fn registry_alone(config: &Config) -> Vec<Finding> {
    if !config.paths.registry().exists() {
        return vec![Finding::fine("registry", "there is none yet; the core makes it when it first starts")];
    }
    if std::fs::metadata(config.paths.registry()).is_ok_and(|facts| facts.len() == 0) {
        // Told with the files of the data directory.
        return Vec::new();
    }
    let registry = match compose::open_to_read(config).await {
        Ok(registry) => registry,
        Err(error) => return vec![Finding::broken("registry", error.to_string(), error.hint())],
    };
    let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone(), compose::scale());
    match api.doctor(&Caller::here(person::here()), Nothing {}).await {
        Ok(facts) => with_facts(config, &facts),
        Err(error) => vec![Finding::broken("registry", error.message, error.hint)],
    }
}

fn with_facts(config: &Config, facts: &CoreFacts) -> Vec<Finding> {
    let mut found = vec![if facts.findings.is_empty() {
        let message = format!(
            "{}: {}, {}, {}, {} MiB, schema {}",
            facts.registry,
            count(facts.tasks, "task"),
            count(facts.open_requests, "open question"),
            count(facts.audit_rows, "audit row"),
            facts.bytes >> 20,
            facts.schema
        );
        Finding::fine("registry", message)
    } else {
        Finding::broken(
            "registry",
            format!("the check of {} found: {}", facts.registry, facts.findings.join("; ")),
            domain::ports::RegistryError::Damaged { path: config.paths.registry(), finding: String::new() }.hint(),
        )
    }];
    found.extend(storage::examine(facts));
    found.extend(agents::listener(facts));
    match &facts.named {
        Some(named) => {
            found.extend(servers::examine(config, named, facts.process.is_some()));
            found.extend(agents::examine(config, named));
            found.extend(limits::examine(named));
        }
        None => found.push(Finding::note(
            "names",
            "servers, agents and the use of limits are shown to people only",
            "Run `taskwarden doctor` in a terminal of your own.",
        )),
    }
    found
}
