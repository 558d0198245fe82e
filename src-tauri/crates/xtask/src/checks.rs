//! `cargo xtask test`: everything CI checks, in its order (style 56).
//!
//! `.ci/run` calls nothing else, so a green run here is a green run there. Stops at the first step that fails, with
//! what to do, and prints how long each step took. One package selection, `--workspace`, everywhere: any other would
//! compile the heavy crates a second time.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::setup::install;
use crate::workspace::Workspace;
use crate::{journeys, page, process, supply, table, tidy};

type Step = (&'static str, fn(&Workspace) -> Result<(), Failure>);

/// The page before everything that carries it.
const STEPS: [Step; 14] = [
    ("tools", install::tools),
    ("packages", install::for_tests),
    ("format", format),
    ("tidy", tidy::run),
    ("supply", supply::check),
    ("page", page::check),
    ("clippy", clippy),
    ("docs", docs),
    ("build", build),
    ("peers", install::peers),
    ("tests", tests),
    ("stories", page::sampled_stories),
    ("journeys", journeys::run),
    ("window", journeys::window),
];

/// Runs all steps.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut failed = None;
    for (name, step) in STEPS {
        println!("== {name}");
        let begun = Instant::now();
        let ended = step(workspace);
        let result = if ended.is_ok() { "ok" } else { "failed" };
        rows.push(vec![name.to_owned(), seconds(begun.elapsed()), result.to_owned()]);
        if ended.is_err() {
            failed = ended.err();
            break;
        }
    }
    println!("\n{}", table::lay_out(&["step", "time", "result"], &rows));
    failed.map_or(Ok(()), Err)
}

fn format(workspace: &Workspace) -> Result<(), Failure> {
    process::run(&mut process::cargo(workspace, &["fmt", "--all", "--check"]), "Run `cargo fmt --all`.")
}

fn clippy(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    process::run(&mut process::cargo(workspace, &arguments), "Fix what clippy names above; bans give their reason.")
}

fn docs(workspace: &Workspace) -> Result<(), Failure> {
    let mut docs = process::cargo(workspace, &["doc", "--workspace", "--no-deps", "--quiet"]);
    process::run(docs.env("RUSTDOCFLAGS", "-D warnings"), "Fix the documentation that rustdoc names above.")
}

fn build(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = ["build", "--workspace", "--all-targets", "--quiet"];
    process::run(&mut process::cargo(workspace, &arguments), "Fix what the compiler names above.")
}

/// With cargo-nextest where it is installed (one process per test), else with cargo alone; both must pass.
fn tests(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = if process::is_there("cargo-nextest", &["nextest", "--version"]) {
        vec!["nextest", "run", "--workspace", "--profile", "ci"]
    } else {
        vec!["test", "--workspace", "--quiet"]
    };
    process::run(&mut process::cargo(workspace, &arguments), "The failing tests are named above with their reason.")
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
