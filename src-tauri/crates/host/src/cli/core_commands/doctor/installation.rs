//! Looks at an installation from outside of its core, for `taskwarden doctor`.
//!
//! Works without a core, without a readable configuration and with a damaged registry. The checks that need no core are in
//! `crate::doctor`.

use std::sync::Arc;

use api::calls::Nothing;
use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::Finding;
use api::{Api, Caller, Code};
use domain::ports::RegistryError;
use engine::SystemClock;

use crate::app::compose;
use crate::app::socket_client::SocketClient;
use crate::app::start_error::StartError;
use crate::config::{Config, ConfigError};
use crate::doctor::{data_dir, secrets, with_facts};
use crate::os::core_lock::CoreLock;
use crate::os::user;

/// Runs all checks.
pub(super) async fn examine(config: Result<Config, ConfigError>) -> Vec<Finding> {
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

/// Whether a core runs and answers; its facts when it does.
async fn core(config: &Config) -> (Vec<Finding>, Option<CoreFacts>) {
    let area = "core";
    let holder = CoreLock::holder(&config.paths.lock());
    let Some(pid) = holder else {
        let start = "Start one with `taskwarden serve`.";
        return (vec![Finding::note(area, "no core is running for this data folder", start)], None);
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
            let message = format!("process {process} holds the data folder but its socket does not answer");
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
    let registry = match compose::open_to_read(config).await {
        Ok(registry) => registry,
        // Also a file that a first start left empty when it was killed.
        Err(StartError::Registry(RegistryError::Missing { .. })) => {
            return vec![Finding::fine("registry", "there is none yet; the core creates it when it first starts")];
        }
        Err(error) => return vec![Finding::broken("registry", error.to_string(), error.hint())],
    };
    let api = Api::reading(registry, Arc::new(SystemClock), config.policy.clone(), compose::scale());
    match api.doctor(&Caller::here(user::here()), Nothing {}).await {
        Ok(facts) => with_facts(config, &facts),
        Err(error) => vec![Finding::broken("registry", error.message, error.hint)],
    }
}
