//! `taskwarden` with kill points, for example `registry.commit:before:12`: the process aborts where
//! `CORE_UNDER_TEST_ABORT_AT` says, and the worker that comes to where `CORE_UNDER_TEST_HOLD_AT` says never leaves it.
//! Without either, this is the program that ships, argument for argument.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use host::app::compose::Adapters;
use mcp::upstream::{ConnectorParts, McpConnector};
use testkit::kill::{Fate, KillPointCallIntents, KillPointConnector, KillPointRegistry, KillPointSecrets, KillPoints};

fn with_kill_points(adapters: Adapters) -> Adapters {
    let point_of = |name| std::env::var(name).ok();
    let (fatal, holding) = (point_of("CORE_UNDER_TEST_ABORT_AT"), point_of("CORE_UNDER_TEST_HOLD_AT"));
    if fatal.is_none() && holding.is_none() {
        return adapters;
    }
    let cuts_secrets = fatal.as_deref().is_some_and(|point| point.starts_with("secrets."));
    let points = KillPoints::new(move |point| {
        if holding.as_deref() == Some(point) {
            loop {
                std::hint::spin_loop();
            }
        }
        if fatal.as_deref() == Some(point) {
            // No destructor runs and nothing is flushed, as at a power cut.
            std::process::abort();
        }
        Fate::Live
    });
    let adapters = if cuts_secrets { with_points_at_secrets(adapters, points.clone()) } else { adapters };
    Adapters {
        registry: Arc::new(KillPointRegistry::new(adapters.registry, points.clone())),
        intents: Arc::new(KillPointCallIntents::new(adapters.intents, points.clone())),
        connector: Arc::new(KillPointConnector::new(adapters.connector, points)),
        ..adapters
    }
}

/// The connector takes its secrets when it is made, so it is made anew. It keeps no children of servers: stories about
/// secrets have servers over HTTP.
fn with_points_at_secrets(adapters: Adapters, points: KillPoints) -> Adapters {
    let home = std::env::var_os("TASKWARDEN_HOME").map(PathBuf::from).unwrap_or_default();
    let connector = McpConnector::new(ConnectorParts {
        policy: adapters.policy.clone(),
        supervisor: adapters.supervisor.clone(),
        secrets: Arc::new(KillPointSecrets::new(Arc::clone(&adapters.secrets), points)),
        clock: Arc::clone(&adapters.clock),
        draw: Arc::clone(&adapters.draw),
        children_dir: home.join("children"),
        keeper: None,
        client_document: None,
    });
    let (forwarder, sign_ins) = (connector.forwarder(), connector.sign_ins());
    Adapters { connector: Arc::new(connector), forwarder, sign_ins, ..adapters }
}

fn main() -> ExitCode {
    host::cli::run_with(std::env::args_os(), with_kill_points)
}
