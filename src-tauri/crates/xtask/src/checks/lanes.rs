//! Runs lanes of steps at the same time: within a lane one step after the other, each when what it needs has passed.
//!
//! A step is this program again (`cargo xtask test STEP`) with a file for its output, which is shown whole when the
//! step ends: two steps never mix their lines. After a failure no other step begins, those that run come to their end,
//! and their failures are told too. Knows nothing of what the steps do.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Step, compiler};
use crate::failure::Failure;
use crate::table;
use crate::workspace::Workspace;

/// Where the output of each step is kept, below the folder of builds.
const OUTPUTS: &str = "checks";
const COLUMNS: [&str; 4] = ["step", "from", "time", "result"];
const MINUTE: u64 = 60;
/// Lines of a failed step that are shown once more below the table, where nobody has to look for them. Judgement: a page.
const LAST_LINES: usize = 40;

/// A step that ended.
struct Ended {
    name: &'static str,
    from: Duration,
    took: Duration,
    is_passed: bool,
}

/// Runs every step of the lanes with this program, and prints how long each took.
pub(super) fn run(workspace: &Workspace, lanes: [&'static [Step]; 3]) -> Result<(), Failure> {
    let outputs = workspace.target().join(OUTPUTS);
    let unwritable = |why: std::io::Error| {
        Failure::new(format!("`{}` cannot be written: {why}", outputs.display()), "Check the disk.")
    };
    fs::create_dir_all(&outputs).map_err(unwritable)?;
    let program = compiler::copy_of_us(workspace)?;
    run_lanes(&lanes, &outputs, |step| {
        let mut command = Command::new(&program);
        command.args(["test", step.name]).current_dir(workspace.root());
        command
    })
}

/// Runs the lanes, each step as the command that `command_of` makes of it.
fn run_lanes(lanes: &[&'static [Step]], outputs: &Path, command_of: impl Fn(&Step) -> Command) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut ended: Vec<Ended> = Vec::new();
    // What is left of each lane, and whether one of its steps runs.
    let mut left: Vec<(&[Step], bool)> = lanes.iter().map(|lane| (*lane, false)).collect();
    let (tell, told) = mpsc::sync_channel(lanes.len());
    std::thread::scope(|scope| {
        loop {
            for (lane, (steps, is_busy)) in left.iter_mut().enumerate() {
                let Some((step, rest)) = steps.split_first() else { continue };
                if *is_busy || !may_begin(step, &ended) {
                    continue;
                }
                (*steps, *is_busy) = (rest, true);
                let from = begun.elapsed();
                println!("-- {} begins at {}", step.name, clock(from));
                let (tell, command, output) = (tell.clone(), command_of(step), output_of(outputs, step.name));
                scope.spawn(move || {
                    let is_passed = is_passed(command, &output);
                    let took = begun.elapsed().saturating_sub(from);
                    // Nobody hears it when the thread that reads has panicked, which is told anyway.
                    let _ = tell.send((lane, Ended { name: step.name, from, took, is_passed }));
                });
            }
            if left.iter().all(|(_, is_busy)| !is_busy) {
                return;
            }
            let Ok((lane, one)) = told.recv() else { return };
            let said = fs::read(output_of(outputs, one.name)).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let result = if one.is_passed { "passed" } else { "FAILED" };
            println!("{}", format!("== {} {result} after {}\n{said}", one.name, clock(one.took)).trim_end());
            ended.push(one);
            if let Some((_, is_busy)) = left.get_mut(lane) {
                *is_busy = false;
            }
        }
    });
    let names = lanes.iter().flat_map(|lane| lane.iter().map(|step| step.name));
    println!("\n{}\nall together {}", table::lay_out(&COLUMNS, &rows(&ended, names)), clock(begun.elapsed()));
    let failed: Vec<&str> = ended.iter().filter(|one| !one.is_passed).map(|one| one.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    for name in &failed {
        let said = fs::read(output_of(outputs, name)).unwrap_or_default();
        println!("\n== {name} failed; its last lines\n{}", last_lines(&String::from_utf8_lossy(&said)));
    }
    let alone = failed.iter().map(|name| format!("`cargo xtask test '{name}'`")).collect::<Vec<_>>().join(", ");
    Err(Failure::new(
        format!("steps that failed: {}", failed.join(", ")),
        format!("What each said is above and in `{}`; to see it alone: {alone}.", outputs.display()),
    ))
}

/// Whether nothing failed so far and everything that a step needs has passed.
fn may_begin(step: &Step, ended: &[Ended]) -> bool {
    ended.iter().all(|one| one.is_passed) && step.needs.iter().all(|need| ended.iter().any(|one| one.name == *need))
}

fn output_of(outputs: &Path, step: &str) -> std::path::PathBuf {
    outputs.join(format!("{}.log", step.replace(' ', "-")))
}

/// The end of what a step said.
fn last_lines(said: &str) -> String {
    let said = said.trim_end();
    said.lines().skip(said.lines().count().saturating_sub(LAST_LINES)).collect::<Vec<_>>().join("\n")
}

/// Runs a command with its output in a file.
fn is_passed(mut command: Command, output: &Path) -> bool {
    let mut run = || {
        let file = File::create(output)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        command.status()
    };
    match run() {
        Ok(status) => status.success(),
        Err(why) => {
            eprintln!("a step could not be run: {why}");
            false
        }
    }
}

fn rows<'a>(ended: &[Ended], names: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
    let row = |name: &str| match ended.iter().find(|one| one.name == name) {
        Some(one) => vec![clock(one.from), clock(one.took), if one.is_passed { "ok" } else { "failed" }.to_owned()],
        None => vec![String::new(), String::new(), "not run".to_owned()],
    };
    names.map(|name| std::iter::once(name.to_owned()).chain(row(name)).collect()).collect()
}

/// Minutes and seconds, as `4:05`.
fn clock(took: Duration) -> String {
    let seconds = took.as_secs();
    format!("{}:{:02}", seconds / MINUTE, seconds % MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(name: &'static str, needs: &'static [&'static str]) -> Step {
        Step { name, needs, run: |_| Ok(()) }
    }

    /// Runs two lanes of shell scripts; the result, and the script lines that were run, in order.
    fn ran(name: &str, lanes: &[&'static [Step]], script: fn(&str) -> &str) -> (Result<(), Failure>, Vec<String>) {
        let folder = std::env::temp_dir().join(format!("taskwarden-lanes-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let list = folder.join("list");
        let ended = run_lanes(lanes, &folder, |step| {
            let mut shell = Command::new("sh");
            let line = format!("echo {} >> {}; {}", step.name, list.display(), script(step.name));
            shell.args(["-c", &line]);
            shell
        });
        let order = fs::read_to_string(&list).unwrap_or_default().lines().map(str::to_owned).collect();
        fs::remove_dir_all(&folder).unwrap();
        (ended, order)
    }

    #[test]
    fn a_step_waits_for_what_it_needs_in_the_other_lane() {
        const ONE: [Step; 2] = [step("compile", &["page"]), step("test", &[])];
        const TWO: [Step; 2] = [step("page", &[]), step("journeys", &["test"])];
        let (ended, order) = ran("order", &[&ONE, &TWO], |_| "true");
        assert_eq!(ended, Ok(()), "all of them pass");
        assert_eq!(order, ["page", "compile", "test", "journeys"], "each need before what needs it");
    }

    #[test]
    fn after_a_failure_nothing_begins_and_every_failure_is_named() {
        const ONE: [Step; 2] = [step("clippy", &["page"]), step("test", &[])];
        const TWO: [Step; 3] = [step("page", &[]), step("stories", &[]), step("journeys", &["test"])];
        let (ended, order) = ran("failure", &[&ONE, &TWO], |name| if name == "clippy" { "exit 3" } else { "true" });
        let failure = ended.unwrap_err().to_string();
        assert!(failure.starts_with("error: steps that failed: clippy\n"), "{failure}");
        assert!(failure.contains("`cargo xtask test 'clippy'`"), "how to see it alone: {failure}");
        assert!(!order.iter().any(|name| name == "test" || name == "journeys"), "nothing follows: {order:?}");
    }

    #[test]
    fn of_a_failed_step_the_last_lines_are_shown_again() {
        let said: String = (1..=100).map(|line| format!("line {line}\n")).collect();
        let shown = last_lines(&said);
        assert_eq!(shown.lines().count(), LAST_LINES, "a page of them");
        assert_eq!((shown.lines().next(), shown.lines().last()), (Some("line 61"), Some("line 100")), "the last ones");
        assert_eq!(last_lines("one line\n"), "one line", "a short output is shown whole");
    }

    #[test]
    fn the_table_has_every_step_and_says_what_was_not_run() {
        let ended =
            [Ended { name: "clippy", from: Duration::from_secs(61), took: Duration::from_secs(605), is_passed: false }];
        let told = rows(&ended, ["clippy", "docs"].into_iter());
        assert_eq!(told, [vec!["clippy", "1:01", "10:05", "failed"], vec!["docs", "", "", "not run"]], "rows");
    }
}
