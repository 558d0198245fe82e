//! `taskwarden` with kill points, for example `registry.commit:before:12`: the process aborts where
//! `CORE_UNDER_TEST_ABORT_AT` says, and the worker that comes to where `CORE_UNDER_TEST_HOLD_AT` says never leaves it.
//! Without either, this is the program that ships, argument for argument.

use std::process::ExitCode;
use std::sync::Arc;

use host::app::compose::Adapters;
use testkit::kill::{Fate, KillPointCallIntents, KillPointConnector, KillPointRegistry, KillPoints};

fn with_kill_points(adapters: Adapters) -> Adapters {
    let point_of = |name| std::env::var(name).ok();
    let (fatal, holding) = (point_of("CORE_UNDER_TEST_ABORT_AT"), point_of("CORE_UNDER_TEST_HOLD_AT"));
    if fatal.is_none() && holding.is_none() {
        return adapters;
    }
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
    Adapters {
        registry: Arc::new(KillPointRegistry::new(adapters.registry, points.clone())),
        intents: Arc::new(KillPointCallIntents::new(adapters.intents, points.clone())),
        connector: Arc::new(KillPointConnector::new(adapters.connector, points)),
        ..adapters
    }
}

fn main() -> ExitCode {
    host::cli::run_with(std::env::args_os(), with_kill_points)
}
