//! Checks an installation and says how to fix each problem.
//!
//! Each check is independent and says what it could not see. It changes nothing but a probe item in the keychain. A running
//! core makes them for the window (`examiner.rs`); the command finds out first whether a core runs
//! (`cli/core_commands/doctor/installation.rs`).

mod agents;
pub(crate) mod data_dir;
mod examiner;
mod halt;
mod limits;
mod server_secrets;
pub(crate) mod servers;
mod storage;

use crate::config::{Config, SecretsChoice};
use crate::secrets::{Vault, keychain_works};
use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::Finding;
use api::format::storage::bytes;
use api::format::time::count;
pub(crate) use examiner::HostExaminer;

/// Where secrets are, and whether they can be read.
pub(crate) fn secrets(config: &Config) -> Finding {
    let area = "secrets";
    match Vault::find(config) {
        Ok(Some(vault)) => match vault.probe() {
            Ok(()) if vault.is_keychain() => Finding::fine(area, "secrets and the registry's key are in the keychain"),
            Ok(()) => {
                let said = domain::ports::Secrets::describe(&vault);
                let why = match config.secrets {
                    // The keychain is not asked: whether it works changes nothing.
                    SecretsChoice::File => "as configured".into(),
                    SecretsChoice::Auto | SecretsChoice::Keychain => {
                        match keychain_works(config.policy.hosting.keychain_limit) {
                            Ok(()) => "a keychain is available now, but the choice was made when the data folder \
                                       was new"
                                .into(),
                            Err(why) => why,
                        }
                    }
                };
                Finding::note(
                    area,
                    format!("secrets and the registry's key are in {said} ({why})"),
                    "Keep the data folder out of shared backups. Nothing else is needed.",
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

/// What follows from what a core or the registry says of itself.
pub(crate) fn with_facts(config: &Config, facts: &CoreFacts) -> Vec<Finding> {
    let mut found = vec![if facts.findings.is_empty() {
        let message = format!(
            "{}: {}, {}, {}, {}, schema {}",
            facts.registry,
            count(facts.tasks, "task"),
            count(facts.open_requests, "open question"),
            count(facts.audit_rows, "audit row"),
            bytes(facts.bytes),
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
            found.extend(halt::examine(config, named, facts.process.is_some()));
            found.extend(servers::examine(config, named, facts.process.is_some()));
            found.extend(agents::examine(config, named));
            found.extend(limits::examine(&named.limits));
        }
        None => found.push(Finding::note(
            "names",
            "servers, agents and the use of limits are only shown to people",
            "Run `taskwarden doctor` in a terminal of your own.",
        )),
    }
    found
}
