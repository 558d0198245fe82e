//! `taskwarden audit verify FILE`: an export, checked in this process.
//!
//! The check, the sentences and the exit codes are those of `taskwarden-verify`; here they are JSON as well.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use api::{ApiError, Code};
use serde::Serialize;
use verify::export::{ExportProblem, Trust, check_export};
use verify::hex;
use verify::verdict::{BROKEN, BrokenRow, HeadFinding, HeadState, VERIFIED, Verdict};

use crate::cli::output::exit_code::CommandResult;
use crate::cli::output::screen::Screen;

/// What `audit verify FILE --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportVerified<'a> {
    /// `verified`, `broken` or `nothing`: nothing to verify, or no anchor to compare with.
    verdict: &'static str,
    /// First row of the range; null when there is none.
    first: Option<u64>,
    /// Last row of the range.
    last: Option<u64>,
    /// Rows that are there with all their fields, also those whose text was erased.
    rows: u64,
    /// Of these, rows whose text was erased.
    erased: u64,
    /// Rows without their text.
    stubs: u64,
    /// Rows that are there only because they vouch for receipts.
    vouching: u64,
    receipts: u64,
    /// The first thing that does not hold.
    broken: Option<BrokenExport<'a>>,
    /// Each checkpoint of the file with the key that signed it.
    checkpoints: &'a [String],
    anchors: Vec<ComparedHead<'a>>,
    /// What the rows prove; null when something is broken.
    proves: Option<&'a str>,
    warnings: &'a [String],
    unproven: &'a [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BrokenExport<'a> {
    /// The row; null when it is about the whole file.
    number: Option<u64>,
    why: &'a str,
    /// The hash that was expected, where two hashes differ.
    expected: Option<String>,
    found: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedHead<'a> {
    /// Where the checkpoint was read.
    place: &'a str,
    /// The rows that it covers.
    size: u64,
    state: &'static str,
    /// Why its signature does not count; null when it does.
    unsigned: Option<&'a str>,
}

/// Checks an export and prints the verdict; the exit code is the verdict's.
pub(super) fn check(file: &Path, trust: &Trust, screen: &Screen) -> CommandResult {
    let opened = File::open(file).map_err(|error| {
        ApiError::new(
            Code::Usage,
            format!("`{}` cannot be read: {error}", file.display()),
            "Give a file that `taskwarden audit export` wrote.",
        )
    })?;
    let verdict = check_export(BufReader::new(opened), trust).map_err(|problem| unchecked(file, &problem))?;
    if screen.is_json() {
        screen.json(&ExportVerified::of(&verdict))?;
    } else {
        screen.line(verdict.to_string().trim_end());
    }
    Ok(verdict.exit_code())
}

/// Why there is no verdict. A file that is no export has nothing to verify, as for `taskwarden-verify`.
fn unchecked(file: &Path, problem: &ExportProblem) -> ApiError {
    let code = match problem {
        ExportProblem::Read(_) => Code::Usage,
        ExportProblem::NoExport(_) => Code::NotFound,
    };
    ApiError::new(
        code,
        format!("`{}`: {problem}", file.display()),
        "Give a file that `taskwarden audit export` wrote with `--format jsonl`.",
    )
}

impl<'a> ExportVerified<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        Self {
            verdict: match verdict.exit_code() {
                VERIFIED => "verified",
                BROKEN => "broken",
                _ => "nothing",
            },
            first: verdict.range.map(|(first, _)| first),
            last: verdict.range.map(|(_, last)| last),
            rows: verdict.rows,
            erased: verdict.erased,
            stubs: verdict.stubs,
            vouching: verdict.vouching,
            receipts: verdict.receipts,
            broken: verdict.broken.as_ref().map(BrokenExport::of),
            checkpoints: &verdict.checkpoints,
            anchors: verdict.anchors.iter().map(ComparedHead::of).collect(),
            proves: verdict.proves.as_deref().filter(|_| verdict.broken.is_none()),
            warnings: &verdict.warnings,
            unproven: &verdict.unproven,
        }
    }
}

impl<'a> BrokenExport<'a> {
    fn of(broken: &'a BrokenRow) -> Self {
        let hashes = broken.hashes.as_ref();
        Self {
            number: broken.number,
            why: &broken.why,
            expected: hashes.map(|(expected, _)| hex::encode(expected)),
            found: hashes.map(|(_, found)| hex::encode(found)),
        }
    }
}

impl<'a> ComparedHead<'a> {
    fn of(head: &'a HeadFinding) -> Self {
        let state = match head.state {
            HeadState::Agrees => "agrees",
            HeadState::Contradicts => "contradicts",
            HeadState::Beyond => "beyond",
            HeadState::NotCompared => "notCompared",
            HeadState::OtherLog => "otherLog",
            HeadState::Forked => "forked",
            HeadState::KnownFork => "knownFork",
        };
        Self { place: &head.place, size: head.size, state, unsigned: head.unsigned.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_export_has_nothing_to_verify_and_one_that_cannot_be_read_is_a_wrong_argument() {
        let problem = check_export(&b"number,at,who\n"[..], &Trust::default()).expect_err("a table is no export");
        let error = unchecked(Path::new("rows.csv"), &problem);
        assert_eq!(error.code.exit(), verify::verdict::NOTHING, "as `taskwarden-verify` ends: {error:?}");
        assert!(error.message.starts_with("`rows.csv`: ") && error.hint.contains("jsonl"), "{error:?}");
        let problem = ExportProblem::Read(std::io::Error::other("a disk error"));
        assert_eq!(unchecked(Path::new("rows.jsonl"), &problem).code.exit(), verify::verdict::USAGE);
    }

    #[test]
    fn the_verdict_in_json_says_what_people_read() {
        let broken = BrokenRow::row(7, "the hash is another").with_hashes([1; 32], [2; 32]);
        let head = HeadFinding { place: "log.notes".into(), size: 9, state: HeadState::Beyond, unsigned: None };
        let mut verdict = Verdict { rows: 6, range: Some((1, 7)), proves: Some("all".into()), ..Verdict::default() };
        verdict.fail(broken);
        verdict.add_anchor(head);
        let told = serde_json::to_value(ExportVerified::of(&verdict)).expect("it is JSON");
        assert_eq!((&told["verdict"], &told["broken"]["number"]), (&"broken".into(), &7.into()), "{told}");
        assert_eq!(told["broken"]["expected"], "01".repeat(32), "{told}");
        assert_eq!((&told["anchors"][0]["state"], &told["last"]), (&"beyond".into(), &7.into()), "{told}");
        assert_eq!(told["proves"], serde_json::Value::Null, "what is broken proves nothing: {told}");
        let told = serde_json::to_value(ExportVerified::of(&Verdict::default())).expect("it is JSON");
        assert_eq!((&told["verdict"], &told["first"]), (&"nothing".into(), &serde_json::Value::Null), "{told}");
    }
}
