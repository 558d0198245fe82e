//! `cargo xtask torture`: the campaigns at full length, and one table of what they found (rulings 35, 39).
//!
//! The campaigns are integration tests, which CI samples: kills of the core under people, under agents and under a halt,
//! steps of the clock, full disks, servers that die under idle sessions, guessed handles, receipts of calls while the core
//! is killed and at 5,000 calls a second. Here they only get their number and their workers. Each prints one flat JSON
//! object with its figures (`tests/src/torture.rs`); one that fails does not keep the others from running.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::campaigns::json::flat_object;
use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{process, table};

/// Kills of a full campaign: product.md, "handles lost over 1,000 kill -9".
pub(crate) const KILLS: u32 = 1_000;

/// Workers of the core's runtime: as few as a small laptop has, and more than there are cores (issue 11). Each gets half
/// of the rounds.
const WORKERS: [u32; 2] = [2, 8];

/// Tests that count rounds, with how many kills of the whole stand for one of their rounds.
const CAMPAIGNS: [(&str, u32); 7] = [
    ("kill::torture_nothing_is_lost_over_many_kills_at_random_moments", 1),
    ("gateway_kill::torture_no_handle_that_an_agent_saw_is_unknown_over_many_kills", 1),
    ("torture_clock::torture_no_decision_waits_for_a_clock_that_steps", 20),
    ("torture_disk::torture_nothing_is_lost_or_done_unseen_while_the_disk_is_full", 20),
    ("halt_kill::torture_a_halt_holds_and_its_page_is_whole_wherever_the_core_is_killed", 5),
    ("torture_sessions::torture_no_session_is_lost_and_no_answer_late_while_servers_die", 20),
    (
        "receipts::after_kills_under_load_every_missing_receipt_lies_in_a_time_that_the_log_names_and_none_is_there_twice",
        10,
    ),
];

/// Kills around each commit. CI takes a sample of the commits, the full campaign all of them.
const EACH_COMMIT: [&str; 2] = [
    "kill::nothing_is_lost_when_the_core_dies_around_any_commit",
    "gateway_kill::no_handle_is_lost_when_the_core_dies_around_a_commit_of_an_agents_task",
];

/// The build that `cargo xtask test` has made already: another choice of packages would compile their dependencies anew.
const DEBUG: [&str; 3] = ["--workspace", "--tests", "--quiet"];
const RELEASE: [&str; 5] = ["--release", "-p", "taskwarden-tests", "--test", "it"];

/// A million guessed handles, 5,000 calls a second for a minute, and the figures and times of the checks of stop.md §7: only
/// a release build does these in minutes, so they are a part of the full campaign alone.
const WHOLE: [&str; 7] = [
    "gateway_guess::torture_guessing_handles_brings_one_answer_and_costs_nothing",
    "receipts::receipts_are_the_calls_that_the_server_got_under_a_burst_of_thousands_and_an_orderly_end_loses_none",
    "bulk::a_thousand_tasks_are_asked_to_cancel_each_once_with_a_result_each",
    "halt_under_load::after_a_halt_among_many_calls_the_servers_log_and_the_halt_page_agree_call_by_call",
    "halt_questions::a_question_that_was_frozen_has_the_time_left_that_it_had",
    "halt_file::the_file_halts_calls_within_a_second_while_the_socket_is_out_of_reach_and_halts_once",
    "pauses::a_frozen_server_uses_no_processor_keeps_its_work_over_a_kill_and_brings_the_right_digests_when_thawed",
];

const COLUMNS: [&str; 8] = ["campaign", "workers", "rounds", "failures", "handles", "answers", "gapMs", "seconds"];

/// Reads the number of kills.
pub(crate) fn parse(text: &str) -> Result<u32, Failure> {
    match text.parse() {
        Ok(kills) if kills > 0 => Ok(kills),
        _ => Err(Failure::new(
            format!("`{text}` is not a number of kills"),
            "Give a whole number above zero, such as `cargo xtask torture 200`.",
        )),
    }
}

/// Runs every campaign and prints the table; fails when any campaign did.
pub(crate) fn run(workspace: &Workspace, kills: u32) -> Result<(), Failure> {
    println!("{kills} kills under people and {kills} under agents, and the other campaigns in proportion");
    let mut build = process::cargo(workspace, &["test", "--workspace", "--tests", "--no-run"]);
    process::run(&mut build, "Fix what the compiler names above.")?;
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for (test, kills_each) in CAMPAIGNS {
        for workers in WORKERS {
            let rounds = rounds(kills, kills_each);
            let mut campaign = campaign(workspace, test, &DEBUG);
            campaign.env("TASKWARDEN_TORTURE", rounds.to_string()).env("TOKIO_WORKER_THREADS", workers.to_string());
            let ended = follow(&mut campaign)?;
            if !ended.is_passed {
                failed.push(format!("{test} with {workers} workers"));
            }
            rows.push(ended.figures.unwrap_or_else(|| without_figures(test, workers)));
        }
    }
    if kills >= KILLS {
        let each_commit = EACH_COMMIT.map(|test| (test, &DEBUG[..]));
        for (test, build) in each_commit.into_iter().chain(WHOLE.map(|test| (test, &RELEASE[..]))) {
            let mut whole = campaign(workspace, test, build);
            whole.env("TASKWARDEN_TORTURE", kills.to_string());
            if !follow(&mut whole)?.is_passed {
                failed.push(test.to_owned());
            }
        }
    }
    println!("\n{}", table::lay_out(&COLUMNS, &rows));
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("campaigns that failed: {}", failed.join(", ")),
        "The output above names the seed; set `TASKWARDEN_SEED` to it to see the same rounds again.",
    ))
}

/// The rounds of a campaign on one number of workers; at least one.
fn rounds(kills: u32, kills_each: u32) -> u32 {
    let halves = u32::try_from(WORKERS.len()).unwrap_or(1);
    kills.div_ceil(kills_each.saturating_mul(halves)).max(1)
}

fn campaign(workspace: &Workspace, test: &str, build: &[&str]) -> Command {
    let tests = ["--", "--exact", test, "--nocapture", "--test-threads=1"];
    let arguments: Vec<&str> = ["test"].iter().chain(build).chain(&tests).copied().collect();
    process::cargo(workspace, &arguments)
}

/// How a campaign ended, with its row of the table if it came so far.
struct Ended {
    is_passed: bool,
    figures: Option<Vec<String>>,
}

/// Runs a campaign with its output on our terminal, and keeps its line of figures.
fn follow(campaign: &mut Command) -> Result<Ended, Failure> {
    let lost = |why: std::io::Error| Failure::new(format!("a campaign could not be run: {why}"), "Try it again.");
    let mut running = campaign.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(lost)?;
    let mut figures = None;
    if let Some(printed) = running.stdout.take() {
        for line in BufReader::new(printed).lines() {
            let line = line.map_err(lost)?;
            println!("  {line}");
            figures = row(&line).or(figures);
        }
    }
    let status = running.wait().map_err(lost)?;
    Ok(Ended { is_passed: status.success(), figures })
}

/// A row of the table, or nothing when the line has no figures.
fn row(line: &str) -> Option<Vec<String>> {
    let members = flat_object(line)?;
    let cell = |wanted: &str| members.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.clone());
    cell("campaign")?;
    Some(COLUMNS.iter().map(|&column| cell(column).unwrap_or_else(|| "–".to_owned())).collect())
}

/// The row of a campaign that printed none: it says above why.
fn without_figures(test: &str, workers: u32) -> Vec<String> {
    vec![test.to_owned(), workers.to_string(), "not run".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_above_zero_are_campaigns() {
        assert_eq!(parse("50"), Ok(50), "a plain number");
        for bad in ["0", "-1", "many", "1.5", ""] {
            assert!(parse(bad).is_err(), "`{bad}` is not a campaign");
        }
    }

    #[test]
    fn the_rounds_are_shared_by_the_numbers_of_workers() {
        assert_eq!(rounds(1_000, 1) * 2, 1_000, "kills");
        assert_eq!(rounds(1_000, 20) * 2, 50, "steps of the clock");
        assert_eq!((rounds(50, 20), rounds(1, 20)), (2, 1), "a sample has at least one of each");
    }

    #[test]
    fn a_line_of_figures_becomes_a_row_and_other_lines_do_not() {
        let line = r#"{"answers":3,"campaign":"kills under people","failures":0,"gapMs":812,"handles":40,"rounds":8,"seconds":12,"workers":"2"}"#;
        let expected = ["kills under people", "2", "8", "0", "40", "3", "812", "12"].map(str::to_owned).to_vec();
        assert_eq!(row(line), Some(expected), "every column in its place");
        assert_eq!(row("test kill::torture ... ok"), None, "a line of talk has no figures");
        assert_eq!(row(r#"{"metric":"x"}"#), None, "neither has another object");
    }
}
