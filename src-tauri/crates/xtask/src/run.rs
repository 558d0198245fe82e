//! `cargo xtask run`: from a clone to the open window.
//!
//! With a display: installs what the window needs, builds the page and the window, and becomes the window. Without:
//! says so, builds the command line alone and becomes `taskwarden serve`, which shows the same page in a browser. Both
//! become the program, so that Ctrl-C and signals reach it and it drains. Nothing is added to anybody's data folder.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::setup::install;
use crate::workspace::Workspace;
use crate::{page, process};

const COMPILER: &str = "Fix what the compiler names above; a C compiler is needed once (`apt install gcc`).";

/// Builds, then turns into the window, or into the headless host.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    if has_display() { open_window(workspace) } else { serve(workspace) }
}

/// Linux has a display or not; elsewhere there always is one.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn open_window(workspace: &Workspace) -> Result<(), Failure> {
    install::for_window(workspace)?;
    page::build(workspace)?;
    println!("building in the dev profile (fast to build, slower to run); the first time takes about ten minutes");
    // The same package selection as everywhere else, so that nothing is compiled twice.
    process::run(&mut process::cargo(workspace, &["build", "--workspace", "--bins"]), COMPILER)?;
    println!("Opening the window. Closing it keeps it in the tray, where there is one.");
    become_it(&mut Command::new(workspace.built("taskwarden-desktop")))
}

fn serve(workspace: &Workspace) -> Result<(), Failure> {
    println!("There is no display here, so there will be no window: the same page is served to a browser instead.");
    page::build(workspace)?;
    println!("building in the dev profile (fast to build, slower to run); the first time takes several minutes");
    // Only the default members: the window's libraries are not needed.
    process::run(&mut process::cargo(workspace, &["build", "--bins"]), COMPILER)?;
    let program = workspace.built("taskwarden");
    if core_answers(&program) {
        println!("A core runs already on this data folder.");
        return become_it(Command::new(&program).arg("ui"));
    }
    become_it(Command::new(&program).arg("serve"))
}

fn core_answers(program: &Path) -> bool {
    let mut ask = Command::new(program);
    ask.args(["servers", "tools", "no-such-server"]);
    ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // 4, not found: somebody looked. 3: there is no core.
    ask.status().is_ok_and(|status| status.code() == Some(4))
}

#[cfg(unix)]
fn become_it(program: &mut Command) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt as _;
    let why = program.exec();
    Err(Failure::new(format!("it could not be started: {why}"), "Build it again with `cargo xtask run`."))
}

#[cfg(not(unix))]
fn become_it(program: &mut Command) -> Result<(), Failure> {
    // Not run here. Without exec it is a child; both get Ctrl-C.
    process::run(program, "Its own message is above; `taskwarden doctor` names what is wrong and its cure.")
}
