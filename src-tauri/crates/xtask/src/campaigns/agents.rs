//! `cargo xtask torture agents`: real agent programs in every scenario, over both transports, as one table.
//!
//! The scenarios are in `tests/agents`, and CI runs a sample of them (`tests/it/agents.rs`). Here the programs are
//! installed, the core is built, and each cell becomes a row. A cell that fails does not keep the others from running.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::campaigns::json::flat_object;
use crate::failure::Failure;
use crate::setup::{install, node};
use crate::workspace::Workspace;
use crate::{process, table};

/// Cells at a time: a cell mostly waits.
const JOBS: &str = "4";
const COLUMNS: [&str; 5] = ["scenario", "program", "transport", "result", "seconds"];

/// Runs the cells that `filter` leaves (`--program`, `--transport`, `--scenario`, `--sample`); fails when any did.
pub(crate) fn run(workspace: &Workspace, filter: &[&str]) -> Result<(), Failure> {
    node::install(workspace, install::AGENTS)?;
    let mut build = process::cargo(workspace, &["build", "--workspace", "--bins"]);
    process::run(&mut build, "Fix what the compiler names above.")?;
    let lost = |why: std::io::Error| Failure::new(format!("the programs could not be run: {why}"), "Try it again.");
    let script = workspace.path(install::AGENTS).join("run.mjs");
    let mut harness = node::node(workspace, &[&script.to_string_lossy(), "--json", "--jobs", JOBS])?;
    harness.args(filter).env("TASKWARDEN", workspace.built("core-under-test"));
    harness.env("TASKWARDEN_RMCP_PEER", workspace.built("rmcp-peer"));
    let mut running = harness.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(lost)?;
    let mut rows = Vec::new();
    if let Some(printed) = running.stdout.take() {
        for line in BufReader::new(printed).lines() {
            let line = line.map_err(lost)?;
            println!("  {line}");
            rows.extend(row(&line));
        }
    }
    rows.sort();
    println!("\n{}", table::lay_out(&COLUMNS, &rows));
    if running.wait().map_err(lost)?.success() {
        return Ok(());
    }
    Err(Failure::new(
        "scenarios of agent programs that failed are in the table",
        "What the model read is above; run one alone with `--program`, `--transport` and `--scenario`.",
    ))
}

/// A row of the table, or nothing when the line is no cell.
fn row(line: &str) -> Option<Vec<String>> {
    let members = flat_object(line)?;
    let cell = |wanted: &str| members.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.clone());
    cell("scenario")?;
    Some(COLUMNS.iter().map(|&column| cell(column).unwrap_or_else(|| "–".to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_cell_becomes_a_row_and_other_lines_do_not() {
        let line = r#"{"campaign":"agents","program":"codex","transport":"http","scenario":"quick-call","seconds":1.5,"result":"ok"}"#;
        let expected = ["quick-call", "codex", "http", "ok", "1.5"].map(str::to_owned).to_vec();
        assert_eq!(row(line), Some(expected), "every column in its place");
        assert_eq!(row("opencode says hello"), None, "a line of talk is no cell");
    }
}
