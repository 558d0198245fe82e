//! The `taskwarden-verify` program: checks an export against its checkpoint and any number of anchors.
//!
//! Reads files only. Exit codes: 0 verified, 1 broken, 2 usage, 4 nothing to verify or to compare with.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::process::ExitCode;

use verify::anchor::parse_anchors;
use verify::export::{ExportProblem, FORMAT, Trust, check_export};
use verify::note::NoteKey;
use verify::verdict::{NOTHING, USAGE};

const HELP: &str = "\
Check an export of Taskwarden's audit log.

Usage: taskwarden-verify [OPTIONS] FILE

Arguments:
  FILE              An export in the format jsonl

Options:
  --anchor FILE     Compare with the checkpoints of this file; may be given more than once
  --epoch NUMBER    You know that the log went on from an older copy of itself: checkpoints from before that fork from it
                    are named, and are no fault. NUMBER is that of its epoch: 2 after the first time, and one more
                    after each further time; rows `epochBegun` say when
  --key KEY         Trust this public key (NAME+ID+BASE64) in place of those in the export; may be given more than once
  -h, --help        Show this help
  -V, --version     Show the version and the formats that it reads

Exit codes: 0 verified, 1 broken, 2 usage or a file that cannot be read, 4 nothing to verify, or no anchor to compare with
";

enum Asked {
    Help,
    Version,
    Check { file: String, trust: Trust },
}

fn asked(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let (mut file, mut trust) = (None, Trust::default());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => return Ok(Asked::Help),
            "-V" | "--version" => return Ok(Asked::Version),
            "--anchor" => {
                let path = words.next().ok_or("`--anchor` needs a file")?;
                let text =
                    std::fs::read_to_string(&path).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
                let anchors =
                    parse_anchors(&path, &text).map_err(|why| format!("`{path}` is no file of anchors: {why}"))?;
                if anchors.is_empty() {
                    return Err(format!("`{path}` is no file of anchors: no checkpoint is in it"));
                }
                trust.anchors.extend(anchors);
            }
            "--epoch" => {
                let number = words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 1);
                trust.epoch =
                    Some(number.ok_or("`--epoch` needs a number from 2 (2: the log went on from an older copy once)")?);
            }
            "--key" => {
                let key = words.next().ok_or("`--key` needs a key")?;
                trust.keys.push(NoteKey::parse(&key).map_err(|why| format!("`--key`: {why}"))?);
            }
            option if option.starts_with('-') && option != "-" => return Err(format!("unknown option `{option}`")),
            _ if file.is_some() => return Err(format!("one file at a time; `{word}` is a second one")),
            _ => file = Some(word),
        }
    }
    file.map(|file| Asked::Check { file, trust }).ok_or_else(|| "an export is missing".into())
}

fn version() -> String {
    format!(
        "taskwarden-verify {}\nReads exports of the format `{FORMAT}`, and signed notes (C2SP) as anchors.\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn check(file: &str, trust: &Trust) -> (String, u8) {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) => return (format!("`{file}` cannot be read: {error}\n"), USAGE),
    };
    match check_export(BufReader::new(opened), trust) {
        Ok(verdict) => (verdict.to_string(), verdict.exit_code()),
        Err(problem @ ExportProblem::Read(_)) => (format!("{file}: {problem}\n"), USAGE),
        Err(problem @ ExportProblem::NoExport(_)) => (format!("{file}: {problem}\n"), NOTHING),
    }
}

fn main() -> ExitCode {
    let (text, code) = match asked(std::env::args().skip(1)) {
        Ok(Asked::Help) => (HELP.to_owned(), 0),
        Ok(Asked::Version) => (version(), 0),
        Ok(Asked::Check { file, trust }) => check(&file, &trust),
        Err(why) => (format!("{why}\n\n{HELP}"), USAGE),
    };
    let written = if code == USAGE {
        std::io::stderr().write_all(text.as_bytes())
    } else {
        std::io::stdout().write_all(text.as_bytes())
    };
    // A reader that closed the pipe has seen enough; the exit code still says what was found.
    drop(written);
    ExitCode::from(code)
}
