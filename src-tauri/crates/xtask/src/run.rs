//! `cargo xtask run`: from a clone to a first supervised task.
//!
//! Builds the command line, sees to it that the built-in demo server is known, prints three commands, then becomes
//! `taskwarden serve`, so that Ctrl-C and signals reach the core itself and it drains. It changes nothing but the data
//! folder of the core and a folder of sample files under `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// Sample files: the demo tool sorts them by kind.
const SAMPLES: [(&str, &str); 6] = [
    ("holiday.jpg", "not really a picture\n"),
    ("invoice-2026-03.pdf", "not really a document\n"),
    ("notes.txt", "Buy milk.\n"),
    ("song.mp3", "not really music\n"),
    ("backup.tar.gz", "not really an archive\n"),
    ("budget.xlsx", "not really a table\n"),
];

const DEMO: &str = "demo";
const DOCTOR: &str = "Its own message is above; `taskwarden doctor` names what is wrong and its cure.";

/// Builds, prepares, then turns into the core.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    println!("building in the dev profile (fast to build, slower to run); the first time takes several minutes");
    // The same package selection as everywhere else, so that nothing is compiled twice.
    let mut build = process::cargo(workspace, &["build", "--workspace", "--bins"]);
    process::run(&mut build, "Fix what the compiler names above; a C compiler is needed once (`apt install gcc`).")?;
    lay_out_samples(&samples(workspace))?;

    let program = taskwarden(workspace);
    let invitation = invitation(&program.to_string_lossy(), home().as_deref(), &samples(workspace).to_string_lossy());
    if core_answers(&program) {
        add_demo(&program)?;
        println!("A core runs already on this data folder.\n{invitation}");
        return Ok(());
    }
    if !has_demo(&program) {
        with_a_core(&program, || add_demo(&program))?;
    }
    println!("The core runs here until Ctrl-C.\n{invitation}");
    become_core(Command::new(&program).arg("serve"))
}

/// Adding a server needs a core, and what the core starts may not add one: so a core runs for a moment beside us.
fn with_a_core(program: &Path, act: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |why: std::io::Error| Failure::new(format!("the core could not be run: {why}"), DOCTOR);
    let mut serve = Command::new(program);
    let mut core = serve.arg("serve").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let acted = wait_for_core(program, &mut core).and_then(|()| act());
    let pid = core.id().to_string();
    // Asked to end, as by Ctrl-C; where there is no `kill`, ended.
    if !process::is_there("kill", &["-INT", &pid]) {
        core.kill().map_err(failed)?;
    }
    let said = core.wait_with_output().map_err(failed)?.stderr;
    if acted.is_err() {
        eprint!("{}", String::from_utf8_lossy(&said));
    }
    acted
}

#[cfg(unix)]
fn become_core(serve: &mut Command) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt as _;
    let why = serve.exec();
    Err(Failure::new(format!("the core could not be started: {why}"), "Build it again with `cargo xtask run`."))
}

#[cfg(not(unix))]
fn become_core(serve: &mut Command) -> Result<(), Failure> {
    // Not run here. Without exec the core is a child; both get Ctrl-C.
    process::run(serve, DOCTOR)
}

/// Asks until the core answers: it is another process, and its socket appears without an event we could wait for.
#[expect(clippy::disallowed_methods, reason = "a developer command that polls another process, not a test")]
fn wait_for_core(program: &Path, core: &mut Child) -> Result<(), Failure> {
    const TRIES: u32 = 300;
    const BETWEEN: Duration = Duration::from_millis(100);
    for _ in 0..TRIES {
        if core_answers(program) {
            return Ok(());
        }
        if !matches!(core.try_wait(), Ok(None)) {
            break;
        }
        std::thread::sleep(BETWEEN);
    }
    Err(Failure::new("the core did not start", DOCTOR))
}

fn core_answers(program: &Path) -> bool {
    let mut ask = Command::new(program);
    ask.args(["servers", "tools", "no-such-server"]);
    ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // 4, not found: somebody looked. 3: there is no core.
    ask.status().is_ok_and(|status| status.code() == Some(4))
}

/// Read from the registry itself when no core runs; a data folder without a registry has no servers yet.
fn has_demo(program: &Path) -> bool {
    let mut list = Command::new(program);
    list.args(["servers", "show", DEMO]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    list.status().is_ok_and(|status| status.success())
}

fn add_demo(program: &Path) -> Result<(), Failure> {
    if has_demo(program) {
        return Ok(());
    }
    let mut add = Command::new(program);
    add.args(["servers", "add", DEMO, "--yes", "--"]).arg(program).arg("demo-server");
    process::run(&mut add, DOCTOR)
}

fn taskwarden(workspace: &Workspace) -> PathBuf {
    workspace.target().join("debug").join(format!("taskwarden{}", std::env::consts::EXE_SUFFIX))
}

fn samples(workspace: &Workspace) -> PathBuf {
    workspace.target().join("demo-downloads")
}

fn lay_out_samples(folder: &Path) -> Result<(), Failure> {
    let failed = |why: std::io::Error| {
        Failure::new(format!("`{}` cannot be written: {why}", folder.display()), "Check its owner and the disk.")
    };
    // As on the first day: an earlier run has moved them.
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    SAMPLES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text).map_err(failed))
}

fn home() -> Option<String> {
    std::env::var("TASKWARDEN_HOME").ok().filter(|home| !home.is_empty())
}

/// The three commands, ready to paste into another terminal.
fn invitation(program: &str, home: Option<&str>, folder: &str) -> String {
    let home = home.map_or(String::new(), |home| format!("TASKWARDEN_HOME={} ", quoted(home)));
    let program = format!("{home}{}", quoted(program));
    let arguments = quoted(&format!("{{\"folder\": \"{}\"}}", folder.replace('\\', "\\\\").replace('"', "\\\"")));
    format!(
        "Try these three commands in another terminal:\n\n  \
         TASK=$({program} call {DEMO} tidy_downloads --args {arguments})\n  \
         {program} tasks answer $TASK --accept '{{\"go\": true, \"dry_run\": false}}'\n  \
         {program} tasks watch $TASK\n"
    )
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invitation_names_the_binary_the_home_and_three_commands() {
        let said = invitation("/a b/taskwarden", Some("/tmp/home"), "/x/demo-downloads");
        let commands: Vec<&str> = said.lines().filter(|line| line.contains("'/a b/taskwarden'")).collect();
        assert_eq!(commands.len(), 3, "product.md: three commands later");
        for command in commands {
            assert!(command.contains("TASKWARDEN_HOME=/tmp/home "), "each command works alone: {command}");
        }
    }

    #[test]
    fn words_with_quotes_survive_the_shell() {
        assert_eq!(quoted("it's"), r"'it'\''s'", "a single quote is closed, escaped and opened again");
        assert_eq!(quoted("/plain/path"), "/plain/path", "plain words stay readable");
    }
}
