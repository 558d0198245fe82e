//! The program as its user calls it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use verify::export::{FORMAT, GapKind};
use verify::filter::RowFilter;

use crate::log::{Log, lines};

/// Rows of a file, and how many of them are read before memory is looked at for the first time.
const ROWS: u64 = 12_000;
const ROWS_BEFORE: usize = 2_000;
/// How much the program may grow by the rows between. Each of them has some 600 bytes in the file.
const GROWTH_MAX_KIB: u64 = 1_024;
/// What the program may hold in all. Design, check 5: 64 MiB.
const MEMORY_MAX_KIB: u64 = 64 * 1_024;

#[test]
fn the_program_says_its_version_and_which_formats_it_reads() {
    for option in ["--version", "-V"] {
        let ran = Command::new(env!("CARGO_BIN_EXE_taskwarden-verify")).arg(option).output().expect("it starts");
        let said = String::from_utf8(ran.stdout).expect("text");
        let (first, formats) = said.split_once('\n').expect("two lines");
        assert_eq!((ran.status.code(), first), (Some(0), concat!("taskwarden-verify ", env!("CARGO_PKG_VERSION"))));
        assert!(formats.contains(FORMAT) && formats.contains("signed notes"), "{said}");
    }
}

#[test]
fn a_file_of_anchors_without_a_checkpoint_is_refused_so_that_an_emptied_one_is_noticed() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (export, anchors) = (folder.join("unanchored.jsonl"), folder.join("empty.notes"));
    let log = Log::of(10);
    std::fs::write(&export, log.export(&RowFilter::default(), GapKind::Stubs, 1..=10)).expect("written");
    for empty in ["", "\n\n"] {
        std::fs::write(&anchors, empty).expect("written");
        let mut program = Command::new(env!("CARGO_BIN_EXE_taskwarden-verify"));
        let ran = program.arg(&export).arg("--anchor").arg(&anchors).output().expect("it starts");
        let said = String::from_utf8(ran.stderr).expect("text");
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains("empty.notes") && said.contains("no checkpoint is in it"), "it names the file: {said}");
        assert!(ran.stdout.is_empty(), "and says nothing of the export");
    }
}

/// The most memory that a process held so far, in KiB.
fn most_memory_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it says so");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn the_memory_of_the_program_does_not_grow_with_the_rows_of_the_file() {
    let log = Log::with_calls(ROWS, &[(ROWS / 2, 256)]);
    let all = lines(&log.export(&RowFilter::default(), GapKind::Stubs, 1..=ROWS));
    let (first, rest) = all.split_at(ROWS_BEFORE);
    let (rest, trailer) = rest.split_at(rest.len() - 1);
    let mut program = Command::new(env!("CARGO_BIN_EXE_taskwarden-verify"));
    let mut running =
        program.arg("/dev/stdin").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut to = running.stdin.take().expect("its input");
    // A pipe holds some hundred rows: what was written before them was read.
    to.write_all(first.concat().as_bytes()).expect("it reads");
    let before = most_memory_kib(running.id());
    to.write_all(rest.concat().as_bytes()).expect("it reads");
    let after = most_memory_kib(running.id());
    to.write_all(trailer.concat().as_bytes()).expect("it reads");
    drop(to);
    let ended = running.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stdout).expect("text");
    assert!(ended.status.success() && said.contains("256 receipts of calls"), "{said}");
    println!("{before} KiB after {ROWS_BEFORE} rows, {after} KiB after {ROWS}");
    assert!(after < MEMORY_MAX_KIB, "{after} KiB");
    assert!(after.saturating_sub(before) < GROWTH_MAX_KIB, "{before} KiB, then {after} KiB");
}
