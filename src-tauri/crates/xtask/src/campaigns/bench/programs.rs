//! The parts of the bench, in the order of the table, and how they are called.

use crate::failure::Failure;

/// A measuring program: an example of one of our packages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// What it is called, without the part behind `_` as well.
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) source: &'static str,
    /// Other examples that it starts.
    pub(super) helpers: &'static [&'static str],
    /// Whether the page has to be built before.
    pub(super) needs_page: bool,
}

impl Program {
    const fn of(name: &'static str, package: &'static str, source: &'static str) -> Self {
        Self { name, package, source, helpers: &[], needs_page: false }
    }
}

/// What a browser measures, with the folder whose `npm run bench` does it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Browser {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) says: &'static str,
}

const TESTS: &str = "taskwarden-tests";
const REGISTRY: &str = "taskwarden-registry";

static PROGRAMS: [Program; 13] = [
    Program::of("commit_rate", REGISTRY, "src-tauri/crates/registry/examples/commit_rate.rs"),
    Program::of("list_rate", REGISTRY, "src-tauri/crates/registry/examples/list_rate.rs"),
    Program::of("intent_rate", REGISTRY, "src-tauri/crates/registry/examples/intent_rate.rs"),
    Program::of("poll_load", TESTS, "tests/examples/poll_load.rs"),
    Program::of("watch_latency", TESTS, "tests/examples/watch_latency.rs"),
    Program { helpers: &["counted_core"], ..Program::of("gateway_cost", TESTS, "tests/examples/gateway_cost/main.rs") },
    Program::of("count_rate", "taskwarden-tokens", "src-tauri/crates/tokens/examples/count_rate.rs"),
    Program::of("budget_cost", TESTS, "tests/examples/budget_cost.rs"),
    Program::of("attack_cost", TESTS, "tests/examples/attack_cost.rs"),
    Program::of("stop_cost", TESTS, "tests/examples/stop_cost.rs"),
    Program::of("audit_cost", TESTS, "tests/examples/audit_cost.rs"),
    Program::of("feed_rate", "taskwarden-api", "src-tauri/crates/api/examples/feed_rate.rs"),
    Program {
        needs_page: true,
        ..Program::of("window_start", "taskwarden-desktop", "src-tauri/examples/window_start.rs")
    },
];

/// The list on a made-up core, and what a person waits for through the whole chain.
static BROWSERS: [Browser; 2] = [
    Browser { name: "screen", folder: "ui", says: "the task list" },
    Browser { name: "journey", folder: "tests/e2e", says: "what a person waits for" },
];

/// The parts that are measured.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) programs: Vec<&'static Program>,
    pub(super) browsers: Vec<&'static Browser>,
}

/// The parts with these names, in the order of the table; all without a name.
pub(super) fn wanted(names: &[&str]) -> Result<Wanted, Failure> {
    let is_meant = |name: &str, whole: &str| name == whole || whole.split('_').next() == Some(name);
    let known = |name: &str| {
        PROGRAMS.iter().any(|program| is_meant(name, program.name))
            || BROWSERS.iter().any(|browser| is_meant(name, browser.name))
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let programs = PROGRAMS.iter().filter_map(|program| program.name.split('_').next());
        let all: Vec<&str> = programs.chain(BROWSERS.iter().map(|browser| browser.name)).collect();
        let hint = format!("There are: {}.", all.join(", "));
        return Err(Failure::new(format!("the bench has no part `{unknown}`"), hint));
    }
    let is_wanted = |whole: &str| names.is_empty() || names.iter().any(|name| is_meant(name, whole));
    Ok(Wanted {
        programs: PROGRAMS.iter().filter(|program| is_wanted(program.name)).collect(),
        browsers: BROWSERS.iter().filter(|browser| is_wanted(browser.name)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_called_by_their_first_word_or_their_whole_name() {
        let names = |wanted: Wanted| wanted.programs.iter().map(|program| program.name).collect::<Vec<_>>();
        assert_eq!(names(wanted(&["gateway"]).unwrap()), ["gateway_cost"]);
        let both = names(wanted(&["count_rate", "list"]).unwrap());
        assert_eq!(both, ["list_rate", "count_rate"], "in the order of the table");
        assert_eq!(names(wanted(&[]).unwrap()).len(), PROGRAMS.len(), "all without a name");
        let unknown = wanted(&["gatweay"]).unwrap_err();
        assert!(unknown.to_string().contains("gateway"), "it says what there is: {unknown}");
    }

    #[test]
    fn no_name_means_two_parts() {
        let firsts = PROGRAMS.iter().filter_map(|program| program.name.split('_').next());
        let mut all: Vec<&str> = firsts.chain(BROWSERS.iter().map(|browser| browser.name)).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    }
}
