//! `cargo xtask test`: everything CI checks (style 56), two steps at a time, and for a minute three.
//!
//! `.ci/run` calls nothing else, so a green run here is a green run there. `checks/lanes.rs` runs the steps; here they
//! get their order. Compilers keep every core busy and stand in one lane; installations and the page mostly wait for the
//! network or a timer and stand in the second. Packages are made and installed in a third. One selection of packages,
//! `--workspace`, everywhere: any other would compile the heavy crates a second time.

pub(crate) mod compiler;
mod installed;
mod lanes;

use crate::failure::Failure;
use crate::setup::install;
use crate::workspace::Workspace;
use crate::{journeys, page, process, supply, tidy};

/// One check, known by its name.
struct Step {
    name: &'static str,
    /// Steps of other lanes that must have passed before. Those of its own lane come before it anyway.
    needs: &'static [&'static str],
    run: fn(&Workspace) -> Result<(), Failure>,
}

const fn step(name: &'static str, needs: &'static [&'static str], run: fn(&Workspace) -> Result<(), Failure>) -> Step {
    Step { name, needs, run }
}

/// Tests at a time for each core. Together they use 345 s of a processor and wait for the rest of their time (1,509
/// tests on two cores, measured 2026-11-22); with two a core the longest of them decided how long all took.
const TESTS_A_CORE: usize = 3;

/// What compiles, and the tests of what was compiled. The window and the command line carry the page. Stories and journeys
/// wait for a browser most of the time and run beside each other; the clock of a story stands still, so that it does not
/// mind.
const COMPILED: [Step; 8] = [
    step("tools", &[], install::tools),
    step("format", &[], format),
    step("tidy", &[], tidy::run),
    step("supply", &[], supply::check),
    step("build", &["packages", "page"], build),
    step("tests", &["peers"], tests),
    step("stories", &["page checks"], page::sampled_stories),
    step("window", &["journeys"], journeys::window),
];

/// What is installed, and everything with JavaScript in it. The journeys have the programs, and begin when the tests are
/// over: they say how long a person waits.
const BESIDE: [Step; 5] = [
    step("packages", &[], install::for_tests),
    step("page", &[], page::build_anew),
    step("peers", &[], install::peers),
    step("page checks", &[], page::check),
    step("journeys", &["tests"], journeys::run),
];

/// Packages of what was compiled, which mostly wait for a task to go on.
const PACKED: [Step; 1] = [step("installed", &["build"], installed::run)];

/// What runs at the same time.
const LANES: [&[Step]; 3] = [&COMPILED, &BESIDE, &PACKED];

/// Runs all steps.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    lanes::run(workspace, LANES)
}

fn steps() -> impl Iterator<Item = &'static Step> {
    LANES.into_iter().flatten()
}

/// Runs some steps by their names, one after the other, with their output on our terminal.
pub(crate) fn run_some(workspace: &Workspace, names: &[&str]) -> Result<(), Failure> {
    for &name in names {
        let named = steps().find(|step| step.name == name).ok_or_else(|| {
            let all: Vec<_> = steps().map(|step| step.name).collect();
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
        let names: Vec<&str> = steps().map(|step| step.name).collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(at), "`{name}` is one step");
        }
        for lane in LANES {
            for need in lane.iter().flat_map(|step| step.needs) {
                assert!(names.contains(need), "`{need}` is a step");
                assert!(lane.iter().all(|step| step.name != *need), "`{need}` is a step of another lane");
            }
        }
        // All lanes come to their ends when nothing fails: what stands first in one never waits for what waits for it.
        let mut done: Vec<&str> = Vec::new();
        let mut left = LANES;
        let may_run = |done: &[&str], step: &Step| step.needs.iter().all(|need| done.contains(need));
        while let Some(lane) = left.iter_mut().find(|lane| lane.first().is_some_and(|step| may_run(&done, step))) {
            let (step, rest) = lane.split_first().unwrap();
            done.push(step.name);
            *lane = rest;
        }
        assert_eq!(done.len(), names.len(), "steps that run: {done:?}");
    }

    #[test]
    fn a_step_that_is_not_there_is_answered_with_those_that_are() {
        let failure = run_some(&Workspace::at(Path::new("/")), &["lint"]).unwrap_err().to_string();
        assert!(failure.contains("`lint`") && failure.contains("supply, build, tests"), "{failure}");
    }
}
