//! The program as its user calls it.

use std::process::Command;

use verify::export::FORMAT;

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
