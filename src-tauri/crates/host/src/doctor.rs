//! Checks an installation and says how to fix each problem.
//!
//! Works without a core, without a readable configuration and with a damaged registry: each check is independent and
//! says what it could not see. It changes nothing but a probe item in the keychain.

mod agents;
mod data_dir;
pub(crate) mod finding;
mod limits;
pub(crate) mod servers;
mod storage;

use std::sync::Arc;

use api::calls::Nothing;
use api::calls::core::doctor::CoreFacts;
use api::format::time::count;
use api::{Api, Caller, Code};
use engine::SystemClock;

use crate::app::compose;
use crate::app::lock::CoreLock;
use crate::app::socket_client::SocketClient;
use crate::config::{Config, ConfigError, SecretsChoice};
use crate::os::user;
use crate::secrets::{Vault, keychain_works};
use finding::Finding;

/// Runs all checks.
pub(crate) async fn examine(config: Result<Config, ConfigError>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            return vec![Finding::broken("config", error.to_string(), error.hint())];
        }
    };
    let mut found = data_dir::examine(&config);
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
            Ok(()) if vault.is_keychain() => Finding::fine(area, "secrets and the registry's key are in the keychain"),
            Ok(()) => {
                let said = domain::ports::Secrets::describe(&vault);
                let why = match keychain_works(config.policy.hosting.keychain_limit) {
                    Ok(()) => {
                        "a keychain is available now, but the choice was made when the data directory was new".into()
                    }
                    Err(why) => why,
                };
                Finding::note(
                    area,
                    format!("secrets and the registry's key are in {said} ({why})"),
                    "Keep the data directory out of shared backups. Nothing else is needed.",
                )
            }
            Err(why) if vault.is_keychain() => {
                Finding::broken(area, why, "Unlock the keychain of your desktop session; the registry's key is in it.")
            }
            Err(why) => Finding::broken(area, why, secrets_cure(config)),
        },
        Ok(None) => Finding::fine(
            area,
            match config.secrets {
                SecretsChoice::Auto => "no secrets yet; where they are stored is chosen when the core first starts",
                SecretsChoice::Keychain => "no secrets yet; they will be in the keychain",
                SecretsChoice::File => "no secrets yet; they will be in a file that only you can read",
            },
        ),
        Err(error) => Finding::broken(area, error.to_string(), error.hint()),
    }
}

/// How to fix a secrets file that cannot be used.
fn secrets_cure(config: &Config) -> String {
    let path = config.paths.secrets();
    let shown = path.display();
    match std::fs::read(&path) {
        Ok(bytes) if serde_json::from_slice::<std::collections::BTreeMap<String, String>>(&bytes).is_err() => format!(
            "Restore `{shown}` from a backup: the registry's key is in it. Without a backup, move the whole data \
             directory away and start over."
        ),
        Ok(_) => format!("Run `chmod 600 {shown}`; the core also does it when it starts."),
        Err(_) => format!("Run `chmod 600 {shown}`, or make your user its owner."),
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
        let attached = SocketClient::new(&config.paths, &config.policy)?;
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
                    "process {process} has version {}, this command has {}",
                    facts.version,
                    env!("CARGO_PKG_VERSION")
                );
                (vec![Finding::note(area, message, restart)], Some(facts))
            }
            Err(_) => {
                let message = format!("process {process} has a version that this command does not understand");
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
            let message = format!(
                "process {process} does not answer within {}",
                api::format::time::span(config.policy.reply_limit)
            );
            (vec![Finding::broken(area, message, restart)], None)
        }
    }
}

/// Without an answering core: what the registry itself says.
async fn registry_alone(config: &Config) -> Vec<Finding> {
    if !config.paths.registry().exists() {
        return vec![Finding::fine("registry", "there is none yet; the core creates it when it first starts")];
    }
    if std::fs::metadata(config.paths.registry()).is_ok_and(|facts| facts.len() == 0) {
        // Reported with the files of the data directory.
        return Vec::new();
    }
    let registry = match compose::open_to_read(config).await {
        Ok(registry) => registry,
        Err(error) => return vec![Finding::broken("registry", error.to_string(), error.hint())],
    };
    let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone(), compose::scale());
    match api.doctor(&Caller::here(user::here()), Nothing {}).await {
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
            "servers, agents and the use of limits are only shown to people",
            "Run `taskwarden doctor` in a terminal of your own.",
        )),
    }
    found
}
