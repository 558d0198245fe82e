//! `cargo xtask bench [NAME…]`: one table of what we measure, in release mode; with names only those parts.
//!
//! Each measuring program, an example or a script of a browser, prints one JSON object per line on its standard output:
//! `{"metric", "reference", "ours", "ratio", "best", "aim", "unit", "note"}`, where `reference` and `ours` were measured
//! in the same run and any member may be null or missing. Where a figure has a must and something to reach for, `aim`
//! holds both. Other lines are shown as they are. The table judges nothing: it holds ratios and aims side by side, with
//! what the last run had (`bench/former.rs`), because absolute figures belong to a machine. What else the machine did
//! meanwhile is said below it (`bench/machine.rs`).

mod former;
mod machine;
mod programs;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::campaigns::json::flat_object;
use crate::failure::Failure;
use crate::setup::{install, node};
use crate::workspace::Workspace;
use crate::{page, process, table};
use former::Former;
use machine::Watch;
use programs::{Browser, Program};

const COLUMNS: [&str; 8] = ["metric", "reference", "ours", "unit", "ratio", "best", "last run", "aim"];

/// What one part measured.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct Measured {
    /// The members of a line by their names, numbers as they were written.
    members: Vec<(String, Option<String>)>,
}

impl Measured {
    /// A line of a measuring program, or nothing when the line measures nothing.
    fn read(line: &str) -> Option<Self> {
        let measured = Self { members: flat_object(line)? };
        measured.get("metric").is_some().then_some(measured)
    }

    fn get(&self, wanted: &str) -> Option<&str> {
        let (_, value) = self.members.iter().find(|(name, _)| name == wanted)?;
        value.as_deref().filter(|value| !value.is_empty())
    }

    /// The line of the table. A missing figure is a dash, with its reason where the aim stands.
    fn row(&self, former: &Former) -> Vec<String> {
        let cell = |column: &str| match column {
            "last run" => self.get("metric").and_then(|metric| former.figure(metric)),
            "aim" => match (self.get("aim"), self.get("note")) {
                (Some(aim), Some(note)) => Some(format!("{aim} ({note})")),
                (None, Some(note)) => Some(format!("({note})")),
                (aim, None) => aim.map(str::to_owned),
            },
            other => self.get(other).map(rounded),
        };
        COLUMNS.iter().map(|&column| cell(column).unwrap_or_else(|| "–".to_owned())).collect()
    }
}

/// Builds, runs every wanted program one after the other, prints the table.
pub(crate) fn run(workspace: &Workspace, names: &[&str]) -> Result<(), Failure> {
    let wanted = programs::wanted(names)?;
    let (there, absent): (Vec<&Program>, Vec<&Program>) =
        wanted.programs.into_iter().partition(|program| workspace.path(program.source).is_file());
    if names.is_empty() || !wanted.browsers.is_empty() {
        install::for_tests(workspace)?;
    }
    install::for_bench(workspace);
    build(workspace, &there, names.is_empty(), &wanted.browsers)?;

    let mut tables = Vec::new();
    for program in there {
        println!("measuring {}; keep the machine quiet", program.name);
        let path = workspace.target().join("release").join("examples").join(program.name);
        let mut command = Command::new(path);
        command.current_dir(workspace.root());
        tables.push(measure(workspace, program.name, &mut command)?);
    }
    for browser in wanted.browsers {
        println!("measuring {}; keep the machine quiet", browser.says);
        node::install(workspace, browser.folder)?;
        let mut script = node::npm(workspace, browser.folder, &["run", "--silent", "bench"])?;
        let program = format!("taskwarden{}", std::env::consts::EXE_SUFFIX);
        script.env("TASKWARDEN", workspace.target().join("release").join(program));
        tables.push(measure(workspace, browser.name, &mut script)?);
    }
    for table in &tables {
        println!("\n{table}");
    }
    if absent.is_empty() {
        return Ok(());
    }
    let names = absent.iter().map(|program| program.name).collect::<Vec<_>>().join("`, `");
    Err(Failure::new(format!("not measured: `{names}`"), "Their sources are missing; restore them with git."))
}

/// Everything for the whole table; for some parts only the programs that ship and theirs.
fn build(workspace: &Workspace, programs: &[&Program], is_whole: bool, browsers: &[&Browser]) -> Result<(), Failure> {
    let needs_page = is_whole || !browsers.is_empty() || programs.iter().any(|program| program.needs_page);
    if needs_page {
        page::build(workspace)?;
    }
    println!("building in release mode; the first time takes twenty minutes");
    let mut arguments = vec!["build", "--release"];
    if is_whole {
        arguments.extend(["--workspace", "--bins", "--examples"]);
    } else {
        arguments.extend(["-p", "taskwarden-host", "--bin", "taskwarden"]);
        arguments.extend(["-p", "taskwarden-verify", "--bin", "taskwarden-verify"]);
        for program in programs {
            arguments.extend(["-p", program.package, "--example", program.name]);
            arguments.extend(program.helpers.iter().flat_map(|helper| ["--example", helper]));
        }
    }
    let mut build = process::cargo(workspace, &arguments);
    process::run(&mut build, "Fix what the compiler names above.")
}

/// Runs one program and lays out what it measured; one that measures nothing has failed.
fn measure(workspace: &Workspace, name: &str, program: &mut Command) -> Result<String, Failure> {
    let failed = |why: String| Failure::new(format!("`{name}` {why}"), "Run it by hand to see more.");
    let former = Former::read(workspace, name);
    let watch = Watch::begin();
    let mut running = program
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| failed(format!("could not be started: {why}")))?;
    let mut measured = Vec::new();
    if let Some(printed) = running.stdout.take() {
        for line in BufReader::new(printed).lines() {
            let line = line.map_err(|why| failed(format!("could not be read: {why}")))?;
            println!("  {line}");
            measured.extend(Measured::read(&line));
        }
    }
    match running.wait() {
        Ok(status) if status.success() && measured.is_empty() => Err(Failure::new(
            format!("`{name}` measured nothing"),
            "It must print at least one line as described in the documentation of `xtask::campaigns::bench`.",
        )),
        Ok(status) if status.success() => {
            let beside = watch.end();
            former::write(workspace, name, &measured, &beside)?;
            Ok(laid_out(name, &measured, &former, &beside))
        }
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(why) => Err(failed(format!("was lost: {why}"))),
    }
}

/// The table of one program: lines without an aim first, so that those with one stand together below.
fn laid_out(name: &str, measured: &[Measured], former: &Former, beside: &str) -> String {
    let (aimed, other): (Vec<_>, Vec<_>) = measured.iter().partition(|line| line.get("aim").is_some());
    let rows: Vec<_> = other.into_iter().chain(aimed).map(|line| line.row(former)).collect();
    let before = former.told().map(|told| format!("\nlast run: {told}")).unwrap_or_default();
    format!("{name}\n{}\nthis run: {beside}{before}", table::lay_out(&COLUMNS, &rows))
}

/// Numbers with three figures that mean something; other text as it is.
fn rounded(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.abs() >= 100.0 => format!("{number:.0}"),
        Ok(number) if number.abs() >= 10.0 => format!("{number:.1}"),
        Ok(number) if number.fract() != 0.0 => format!("{number:.2}"),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: &str) -> Option<Vec<String>> {
        Some(Measured::read(line)?.row(&Former::default()))
    }

    #[test]
    fn a_measured_line_becomes_a_row_and_other_lines_do_not() {
        let line = r#"{"metric":"commits","reference":1234.56,"ours":1000,"ratio":0.8123,"aim":">= 0.8","unit":"/s"}"#;
        let expected = ["commits", "1235", "1000", "/s", "0.81", "–", "–", ">= 0.8"].map(str::to_owned).to_vec();
        assert_eq!(row(line), Some(expected), "every column in its place");
        assert_eq!(row("warming up"), None, "a line of talk is no measurement");
        assert_eq!(row(r#"{"seed":1}"#), None, "an object without a metric is no measurement");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_with_its_reason() {
        let dash = row(r#"{"metric":"latency","ours":12.34,"reference":null,"aim":""}"#).unwrap();
        assert_eq!(dash, ["latency", "–", "12.3", "–", "–", "–", "–", "–"], "null, absent and empty are the same");
        let told = row(r#"{"metric":"system calls","ours":null,"aim":"<= 10","note":"no perf"}"#).unwrap();
        assert_eq!(told, ["system calls", "–", "–", "–", "–", "–", "–", "<= 10 (no perf)"]);
    }

    #[test]
    fn lines_with_an_aim_stand_together_at_the_end() {
        let line = |metric: &str, aim: &str| {
            Measured::read(&format!(r#"{{"metric":"{metric}","ours":1,"aim":"{aim}"}}"#)).unwrap()
        };
        let table = laid_out("x", &[line("a", "< 2"), line("b", ""), line("c", "< 3")], &Former::default(), "quiet");
        let order: Vec<_> = table.lines().filter_map(|line| line.chars().next()).collect();
        assert_eq!(order, ['x', 'm', '-', 'b', 'a', 'c', 't'], "{table}");
    }
}
