//! `cargo xtask test`: everything CI checks (style 56), two steps at a time.
//!
//! `.ci/run` calls nothing else, so a green run here is a green run there. `checks/lanes.rs` runs the steps; here they
//! get their order. Compilers keep every core busy and stand in one lane; installations, the page and browsers mostly
//! wait for the network or a timer and stand in the other. One package selection, `--workspace`, everywhere: any other
//! would compile the heavy crates a second time.

pub(crate) mod compiler;
mod lanes;

use crate::failure::Failure;
use crate::setup::install;
use crate::workspace::Workspace;
use crate::{journeys, page, process, supply, tidy};

/// One check, known by its name.
struct Step {
    name: &'static str,
    /// Steps of the other lane that must have passed before. Those of its own lane come before it anyway.
    needs: &'static [&'static str],
    run: fn(&Workspace) -> Result<(), Failure>,
}

const fn step(name: &'static str, needs: &'static [&'static str], run: fn(&Workspace) -> Result<(), Failure>) -> Step {
    Step { name, needs, run }
}

/// Tests at a time for each core. Together they use 345 s of a processor and wait for the rest of their time (1,509
/// tests on two cores, measured 2026-11-22); with two a core the longest of them decided how long all took.
const TESTS_A_CORE: usize = 3;

/// What compiles, and the tests of what was compiled. The window and the command line carry the page.
const COMPILED: [Step; 7] = [
    step("tools", &[], install::tools),
    step("format", &[], format),
    step("tidy", &[], tidy::run),
    step("supply", &[], supply::check),
    step("build", &["packages", "page"], build),
    step("tests", &["peers"], tests),
    step("window", &["journeys"], journeys::window),
];

/// What is installed, and everything with JavaScript in it. The journeys have the programs; the clock of a page that is
/// looked at stands still, so the stories do not mind what runs beside them.
const BESIDE: [Step; 6] = [
    step("packages", &[], install::for_tests),
    step("page", &[], page::build_anew),
    step("peers", &[], install::peers),
    step("page checks", &[], page::check),
    step("stories", &[], page::sampled_stories),
    step("journeys", &["build"], journeys::run),
];

/// Runs all steps.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    lanes::run(workspace, [&COMPILED, &BESIDE])
}

/// Runs some steps by their names, one after the other, with their output on our terminal.
pub(crate) fn run_some(workspace: &Workspace, names: &[&str]) -> Result<(), Failure> {
    for &name in names {
        let named = COMPILED.iter().chain(&BESIDE).find(|step| step.name == name).ok_or_else(|| {
            let all: Vec<_> = COMPILED.iter().chain(&BESIDE).map(|step| step.name).collect();
            Failure::new(format!("there is no step `{name}`"), format!("The steps are: {}.", all.join(", ")))
        })?;
        (named.run)(workspace)?;
    }
    Ok(())
}

fn format(workspace: &Workspace) -> Result<(), Failure> {
    process::run(&mut process::cargo(workspace, &["fmt", "--all", "--check"]), "Run `cargo fmt --all`.")
}

/// Programs, lints and documentation in one go; see [`compiler`].
fn build(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = ["build", "--workspace", "--all-targets", "--keep-going", "--quiet"];
    let hint = "Fix what the compiler, clippy or rustdoc name above; bans give their reason.";
    process::run(&mut compiler::cargo(workspace, &arguments)?, hint)
}

/// With cargo-nextest where it is installed (one process per test), else with cargo alone; both must pass.
fn tests(workspace: &Workspace) -> Result<(), Failure> {
    let threads = (cores() * TESTS_A_CORE).to_string();
    let arguments = if process::is_there("cargo-nextest", &["nextest", "--version"]) {
        vec!["nextest", "run", "--workspace", "--profile", "ci", "--test-threads", &threads]
    } else {
        vec!["test", "--workspace", "--quiet"]
    };
    process::run(&mut compiler::cargo(workspace, &arguments)?, "The failing tests are named above with their reason.")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_step_has_one_name_and_needs_steps_that_do_not_need_it() {
        let names: Vec<&str> = COMPILED.iter().chain(&BESIDE).map(|step| step.name).collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(at), "`{name}` is one step");
        }
        for (lane, other) in [(&COMPILED[..], &BESIDE[..]), (&BESIDE[..], &COMPILED[..])] {
            for need in lane.iter().flat_map(|step| step.needs) {
                assert!(other.iter().any(|step| step.name == *need), "`{need}` is a step of the other lane");
            }
        }
        // Both lanes come to their ends when nothing fails: what stands first in one never waits for what waits for it.
        let (mut compiled, mut beside) = (0, 0);
        loop {
            let is_done =
                |name: &&str| COMPILED[..compiled].iter().chain(&BESIDE[..beside]).any(|step| step.name == *name);
            if COMPILED.get(compiled).is_some_and(|step| step.needs.iter().all(is_done)) {
                compiled += 1;
            } else if BESIDE.get(beside).is_some_and(|step| step.needs.iter().all(is_done)) {
                beside += 1;
            } else {
                break;
            }
        }
        assert_eq!((compiled, beside), (COMPILED.len(), BESIDE.len()), "steps that run");
    }

    #[test]
    fn a_step_that_is_not_there_is_answered_with_those_that_are() {
        let failure = run_some(&Workspace::at(Path::new("/")), &["lint"]).unwrap_err().to_string();
        assert!(failure.contains("`lint`") && failure.contains("supply, build, tests"), "{failure}");
    }
}
