//! The checks as a running core makes them for the window: the same as the command's, with the core's facts at hand.
//!
//! Only the question whether a core runs is left out: it is the core that answers.

use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::{DoctorReport, Examiner, Finding, KeptProcess};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::config::Config;

/// Checks the surroundings of the core in this process.
pub(crate) struct HostExaminer {
    config: Config,
}

impl HostExaminer {
    pub(crate) fn new(config: Config) -> Self {
        Self { config }
    }
}

impl Examiner for HostExaminer {
    fn examine(&self, facts: CoreFacts) -> BoxFuture<'_, DoctorReport> {
        let config = self.config.clone();
        // Files and the keychain block, so the checks have a thread of their own.
        let work = tokio::task::spawn_blocking(move || report(&config, &facts));
        async move {
            work.await.unwrap_or_else(|_| {
                let found = Finding::broken(
                    "doctor",
                    "the checks ended early",
                    "Run `taskwarden doctor` in a terminal; it says what it could not see.",
                );
                DoctorReport::of(vec![found], Vec::new(), std::time::Duration::ZERO)
            })
        }
        .boxed()
    }
}

fn report(config: &Config, facts: &CoreFacts) -> DoctorReport {
    let mut found = super::data_dir::examine(config);
    found.push(super::secrets(config));
    found.push(Finding::fine("core", format!("process {} answers, version {}", std::process::id(), facts.version)));
    found.extend(super::with_facts(config, facts));
    let kept = keeper::kept_children(&config.paths.keepers());
    let kept = kept.into_iter().map(|one| KeptProcess { process: one.child, keeper: one.keeper, command: one.command });
    DoctorReport::of(found, kept.collect(), config.policy.keeping.alone_limit)
}
