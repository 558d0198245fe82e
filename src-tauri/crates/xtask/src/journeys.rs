//! The whole system as a person has it: journeys in Chromium, the real window, pictures of every screen.
//!
//! They need the programs of the workspace, built before, and the system packages that `install.rs` names. The scripts
//! are JavaScript in `tests`; here they only get their place and their display.

use crate::failure::Failure;
use crate::setup::{install, node};
use crate::workspace::Workspace;
use crate::{page, process};

const E2E: &str = "tests/e2e";
const SHOTS: &str = "target/screenshots";

/// Journeys through the headless host's page.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, E2E)?;
    let mut journeys = node::npm(workspace, E2E, &["test"])?;
    journeys.env("TASKWARDEN", workspace.built("taskwarden"));
    process::run(
        &mut journeys,
        "The journey that failed is named above; run it alone with `npx vitest` in `tests/e2e`.",
    )
}

/// The real window on a display and a session bus of its own, driven like a browser.
pub(crate) fn window(workspace: &Workspace) -> Result<(), Failure> {
    let script = workspace.path("tests/smoke/run.sh");
    let node = node::node(workspace, &[])?;
    let mut smoke = process::program_in(workspace, &script.to_string_lossy(), &[]);
    if let Some((_, path)) = node.get_envs().find(|(name, _)| *name == "PATH") {
        smoke.env("PATH", path.unwrap_or_default());
    }
    smoke.env("TASKWARDEN", workspace.built("taskwarden"));
    smoke.env("TASKWARDEN_WINDOW", workspace.built("taskwarden-desktop"));
    smoke.env("TASKWARDEN_SHOTS", workspace.path(SHOTS));
    process::run(&mut smoke, "What the window did is above; `tests/smoke/run.sh` runs it alone.")
}

/// Pictures of every screen in both themes, into a folder that git ignores.
pub(crate) fn screenshots(workspace: &Workspace) -> Result<(), Failure> {
    install::for_tests(workspace)?;
    page::build(workspace)?;
    let mut build = process::cargo(workspace, &["build", "--workspace", "--bins"]);
    process::run(&mut build, "Fix what the compiler names above.")?;
    node::install(workspace, E2E)?;
    let mut shots = node::npm(workspace, E2E, &["run", "screenshots"])?;
    shots.env("TASKWARDEN", workspace.built("taskwarden"));
    shots.env("TASKWARDEN_SHOTS", workspace.path(SHOTS));
    process::run(&mut shots, "What failed is named above.")?;
    println!("the pictures are in `{SHOTS}`");
    Ok(())
}
