//! Puts in place what building and testing needs and this machine lacks, and says so.
//!
//! System packages only where they are missing and this is Debian with root; other systems get the name to install.
//! Servers, clients and agent programs we did not write, which the integration tests use, go to `node_modules` of
//! `tests/peers`, `tests/clients` and `tests/agents` and to `target/peers`; a stamp with the versions makes the second run
//! instant. Nothing of this ships.

use std::fs;

use crate::failure::Failure;
use crate::process;
use crate::setup::install_lock::{self, InstallKind};
use crate::setup::node;
use crate::workspace::Workspace;

const PEERS: &str = "tests/peers";
const CLIENTS: &str = "tests/clients";
/// The programs of agents themselves: about 1 GB, so they are fetched once and never without being needed.
pub(crate) const AGENTS: &str = "tests/agents";

/// Parts of the toolchain that a minimal installation lacks. The C compiler was needed to build this program.
pub(crate) fn tools(workspace: &Workspace) -> Result<(), Failure> {
    for (component, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !process::is_there("cargo", &[command, "--version"]) {
            println!("installing {component}");
            let mut add = process::program_in(workspace, "rustup", &["component", "add", component]);
            process::run(&mut add, "Install this component of the Rust toolchain by hand.")?;
        }
    }
    Ok(())
}

/// What the window is built with: the web view of the system, found through pkg-config.
pub(crate) fn for_window(workspace: &Workspace) -> Result<(), Failure> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let mut missing = Vec::new();
    if !process::is_there("pkg-config", &["--version"]) {
        missing.push("pkg-config");
    }
    if !process::is_there("pkg-config", &["--exists", "webkit2gtk-4.1", "dbus-1"]) {
        missing.extend(["libwebkit2gtk-4.1-dev", "libdbus-1-dev"]);
    }
    system(workspace, &missing)
}

/// What the tests of the window and the page are driven with, beside what they are built with.
pub(crate) fn for_tests(workspace: &Workspace) -> Result<(), Failure> {
    for_window(workspace)?;
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let programs = [
        ("Xvfb", "-help", "xvfb"),
        ("xauth", "-V", "xauth"),
        ("xwininfo", "-version", "x11-utils"),
        ("dbus-run-session", "--version", "dbus"),
        ("WebKitWebDriver", "--version", "webkit2gtk-driver"),
        ("/usr/bin/chromium", "--version", "chromium"),
    ];
    let mut missing = Vec::new();
    missing.extend(programs.iter().filter(|(name, ask, _)| !runs(name, ask)).map(|(_, _, package)| *package));
    if !process::is_there("/usr/bin/python3", &["-c", "import dbus, gi"]) {
        missing.extend(["python3", "python3-dbus", "python3-gi"]);
    }
    if !std::path::Path::new("/usr/share/doc/libxtst6").exists() {
        missing.push("libxtst6");
    }
    // Without it, tests that set the clock of a core (`tests/src/faketime.rs`) are not run, which CI takes for a failure.
    if !std::path::Path::new("/usr/share/doc/libfaketime").exists() {
        missing.push("libfaketime");
    }
    // Without any font a picture holds no letters.
    if !process::is_there("fc-match", &["-f", "%{file}", "sans"]) {
        missing.extend(["fontconfig", "fonts-dejavu-core"]);
    }
    system(workspace, &missing)
}

/// What all packages are made with. What builds the programs is `for_window`'s.
pub(crate) fn for_packages(workspace: &Workspace) -> Result<(), Failure> {
    for_debs(workspace)?;
    system(workspace, if runs("rpmbuild", "--version") { &[] } else { &["rpm"] })
}

/// What packages of Debian and archives are made with.
pub(crate) fn for_debs(workspace: &Workspace) -> Result<(), Failure> {
    let programs = [
        ("dpkg-shlibdeps", "--version", "dpkg-dev"),
        ("objcopy", "--version", "binutils"),
        ("zstd", "--version", "zstd"),
    ];
    let missing: Vec<_> =
        programs.iter().filter(|(name, ask, _)| !runs(name, ask)).map(|(_, _, package)| *package).collect();
    system(workspace, &missing)
}

/// The proxy that the gateway is measured against. Without it the bench uses its own forwarder, so this may fail.
pub(crate) fn for_bench(workspace: &Workspace) {
    if !cfg!(target_os = "linux") || runs("nginx", "-v") || runs("/usr/sbin/nginx", "-v") {
        return;
    }
    if let Err(why) = system(workspace, &["nginx-light"]) {
        println!("{why}\nthe gateway is measured against a minimal forwarder alone");
    }
}

/// Whether a program starts, whatever it thinks of the question.
fn runs(program: &str, ask: &str) -> bool {
    use std::process::{Command, Stdio};
    Command::new(program).arg(ask).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Servers, clients and agent programs we did not write.
pub(crate) fn peers(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, PEERS)?;
    node::install(workspace, CLIENTS)?;
    node::install(workspace, AGENTS)?;
    environment(workspace, "venv", PEERS)?;
    environment(workspace, "clients", CLIENTS)
}

/// A virtual environment below `target/peers` with the packages of `requirements.txt` in this folder, unless it is there
/// already. Each file that is fetched has the digest that is written there.
fn environment(workspace: &Workspace, name: &str, of: &str) -> Result<(), Failure> {
    let folder = workspace.path("target/peers").join(name);
    let packages = format!("{of}/requirements.txt");
    let (stamp, wanted) = (folder.join("installed"), workspace.read(&packages)?);
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    let folder = folder.to_string_lossy();
    if !process::is_there("python3", &["-c", "import ensurepip, venv"]) {
        system(workspace, &["python3", "python3-venv"])?;
    }
    println!("installing the packages of `{packages}` (a virtual environment in {folder})");
    let mut create = process::program_in(workspace, "python3", &["-m", "venv", &folder]);
    process::run(&mut create, "Python needs its `venv` module for this.")?;
    let mut install = process::program_in(workspace, &format!("{folder}/bin/pip"), &["install", "--quiet"]);
    install.args(["--require-hashes", "--requirement", &packages]);
    let hint = "pip needs its index for this; where a digest differs, what the index has is not what was tested.";
    process::run(&mut install, hint)?;
    fs::write(&stamp, wanted)
        .map_err(|why| Failure::new(format!("`{}` cannot be written: {why}", stamp.display()), "Check the disk."))
}

/// Installs packages of the system, and says so; nothing for an empty list.
pub(crate) fn system(workspace: &Workspace, packages: &[&str]) -> Result<(), Failure> {
    if packages.is_empty() {
        return Ok(());
    }
    let names = packages.join(" ");
    let hint = format!("Install these system packages by hand: {names}.");
    if !process::is_there("apt-get", &["--version"]) {
        return Err(Failure::new(format!("this machine lacks {names}"), hint));
    }
    let _turn = install_lock::take(workspace, InstallKind::System)?;
    println!("installing system packages: {names}");
    process::run(&mut process::program_in(workspace, "apt-get", &["update", "-qq"]), &hint)?;
    let mut install = process::program_in(workspace, "apt-get", &["install", "-y", "-qq", "--no-install-recommends"]);
    process::run(install.args(packages).env("DEBIAN_FRONTEND", "noninteractive"), &hint)
}
