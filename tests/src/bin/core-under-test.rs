//! `taskwarden` with kill points: the process aborts where `CORE_UNDER_TEST_ABORT_AT` says, for example at
//! `registry.commit:before:12`. Without it, this is the program that ships, argument for argument.

use std::process::ExitCode;
use std::sync::Arc;

use host::compose::Adapters;
use testkit::kill::{Fate, KillPoints, KilledConnector, KilledIntents, KilledRegistry};

fn with_kill_points(adapters: Adapters) -> Adapters {
    let Ok(fatal) = std::env::var("CORE_UNDER_TEST_ABORT_AT") else { return adapters };
    let points = KillPoints::new(move |point| {
        if point == fatal {
            // No destructor runs and nothing is flushed, as at a power cut.
            std::process::abort();
        }
        Fate::Live
    });
    Adapters {
        registry: Arc::new(KilledRegistry::new(adapters.registry, points.clone())),
        intents: Arc::new(KilledIntents::new(adapters.intents, points.clone())),
        connector: Arc::new(KilledConnector::new(adapters.connector, points)),
        ..adapters
    }
}

fn main() -> ExitCode {
    host::cli::run_with(std::env::args_os(), with_kill_points)
}
