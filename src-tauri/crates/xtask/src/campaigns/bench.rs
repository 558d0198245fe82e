//! `cargo xtask bench`: one table of what we measure, in release mode.
//!
//! Each measuring program, an example or a script of a browser, prints one JSON object per line on its standard output:
//! `{"metric", "reference", "ours", "ratio", "aim", "unit"}`, where `reference` and `ours` were measured in the same
//! run and any member may be null. Other lines are shown as they are. The table judges nothing: it holds ratios and
//! aims side by side, because absolute figures belong to a machine.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::json::flat_object;
use crate::setup::{install, node};
use crate::workspace::Workspace;
use crate::{page, process, table};

const COLUMNS: [&str; 6] = ["metric", "reference", "ours", "unit", "ratio", "aim"];

/// The measuring programs, in the order of the table, and where their sources are.
const PROGRAMS: [(&str, &str); 10] = [
    ("commit_rate", "src-tauri/crates/registry/examples/commit_rate.rs"),
    ("list_rate", "src-tauri/crates/registry/examples/list_rate.rs"),
    ("intent_rate", "src-tauri/crates/registry/examples/intent_rate.rs"),
    ("poll_load", "tests/examples/poll_load.rs"),
    ("watch_latency", "tests/examples/watch_latency.rs"),
    ("gateway_cost", "tests/examples/gateway_cost.rs"),
    ("count_rate", "src-tauri/crates/tokens/examples/count_rate.rs"),
    ("budget_cost", "tests/examples/budget_cost.rs"),
    ("feed_rate", "src-tauri/crates/api/examples/feed_rate.rs"),
    ("window_start", "src-tauri/examples/window_start.rs"),
];

/// What a browser measures, with the folder whose `npm run bench` does it: the list on a made-up core, and what a
/// person waits for through the whole chain.
const IN_A_BROWSER: [(&str, &str); 2] = [("the task list", "ui"), ("what a person waits for", "tests/e2e")];

/// Builds, runs every program one after the other, prints the table.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let (there, absent): (Vec<_>, Vec<_>) =
        PROGRAMS.into_iter().partition(|(_, source)| workspace.path(source).is_file());
    install::for_tests(workspace)?;
    install::for_bench(workspace);
    page::build(workspace)?;
    println!("building in release mode; the first time takes twenty minutes");
    let mut build = process::cargo(workspace, &["build", "--release", "--workspace", "--bins", "--examples"]);
    process::run(&mut build, "Fix what the compiler names above.")?;

    let mut rows = Vec::new();
    for (name, _) in there {
        println!("measuring {name}; keep the machine quiet");
        let program = workspace.target().join("release").join("examples").join(name);
        rows.extend(measure(name, Command::new(program).current_dir(workspace.root()))?);
    }
    for (name, folder) in IN_A_BROWSER {
        println!("measuring {name}; keep the machine quiet");
        node::install(workspace, folder)?;
        let mut script = node::npm(workspace, folder, &["run", "--silent", "bench"])?;
        let program = format!("taskwarden{}", std::env::consts::EXE_SUFFIX);
        script.env("TASKWARDEN", workspace.target().join("release").join(program));
        rows.extend(measure(name, &mut script)?);
    }
    println!("\n{}", table::lay_out(&COLUMNS, &rows));
    if absent.is_empty() {
        return Ok(());
    }
    let names = absent.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("`, `");
    Err(Failure::new(format!("not measured: `{names}`"), "Their sources are missing; restore them with git."))
}

/// Runs one program and turns its measured lines into rows; one that measures nothing has failed.
fn measure(name: &str, program: &mut Command) -> Result<Vec<Vec<String>>, Failure> {
    let failed = |why: String| Failure::new(format!("`{name}` {why}"), "Run it by hand to see more.");
    let mut running = program
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| failed(format!("could not be started: {why}")))?;
    let mut rows = Vec::new();
    if let Some(printed) = running.stdout.take() {
        for line in BufReader::new(printed).lines() {
            let line = line.map_err(|why| failed(format!("could not be read: {why}")))?;
            println!("  {line}");
            rows.extend(row(&line));
        }
    }
    match running.wait() {
        Ok(status) if status.success() && rows.is_empty() => Err(Failure::new(
            format!("`{name}` measured nothing"),
            "It must print at least one line as described in the documentation of `xtask::campaigns::bench`.",
        )),
        Ok(status) if status.success() => Ok(rows),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(why) => Err(failed(format!("was lost: {why}"))),
    }
}

/// A line of the table, or nothing when the line measures nothing.
fn row(line: &str) -> Option<Vec<String>> {
    let members = flat_object(line)?;
    let member = |wanted: &str| members.iter().find(|(name, _)| name == wanted);
    member("metric")?;
    let cell = |column: &str| member(column).and_then(|(_, value)| value.clone()).map(|value| rounded(&value));
    Some(COLUMNS.iter().map(|&column| cell(column).unwrap_or_else(|| "–".to_owned())).collect())
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

    #[test]
    fn a_measured_line_becomes_a_row_and_other_lines_do_not() {
        let line = r#"{"metric":"commits","reference":1234.56,"ours":1000,"ratio":0.8123,"aim":">= 0.8","unit":"/s"}"#;
        let expected = ["commits", "1235", "1000", "/s", "0.81", ">= 0.8"].map(str::to_owned).to_vec();
        assert_eq!(row(line), Some(expected), "every column in its place");
        assert_eq!(row("warming up"), None, "a line of talk is no measurement");
        assert_eq!(row(r#"{"seed":1}"#), None, "an object without a metric is no measurement");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let dash = row(r#"{"metric":"latency","ours":12.34,"reference":null}"#).unwrap();
        assert_eq!(dash, ["latency", "–", "12.3", "–", "–", "–"], "null and absent are the same");
    }
}
