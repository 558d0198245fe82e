//! Answers to the probe and the handshake, as real servers give them.
//!
//! `tests/fixtures/wire/opening-*.txt`: the first line names the origin, then pairs of lines: which request with the
//! whole answer, and `=>` with what it says.

use std::path::PathBuf;

use super::*;
use crate::wire::message::{Incoming, Message, MessageLimits, parse};

fn said(request: &str, answer: &Answer) -> String {
    let policy = Policy::default();
    match request {
        "discover" => match discovered(answer, &policy) {
            Discovered::Modern(version, _) => format!("modern {version}"),
            Discovered::TryVersion(version) => format!("try {version}"),
            Discovered::NoCommon(versions) => format!("no common {versions}"),
            Discovered::Refused(text) => format!("refused {text}"),
            Discovered::Legacy => "legacy".into(),
        },
        "initialize" => match initialized(answer, &policy) {
            Initialized::Agreed(version, _) => format!("agreed {version}"),
            Initialized::NoCommon(version) => format!("no common {version}"),
            Initialized::Modern => "modern".into(),
            Initialized::Refused(text) => format!("refused {text}"),
            Initialized::Odd => "odd".into(),
        },
        other => panic!("`{other}` is no request of the handshake"),
    }
}

#[test]
fn every_captured_opening_tells_its_era() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/wire");
    let mut cases = 0;
    for name in ["opening-captured.txt", "opening-rules.txt"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("the fixture is there");
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("# origin: ")), "{name} names its origin");
        while let (Some(given), Some(expected)) = (lines.next(), lines.next()) {
            let (request, answer) = given.split_once(' ').expect("a request and its answer");
            let parsed = parse(answer.as_bytes(), &MessageLimits::of(&Policy::default()));
            let Ok(Incoming::One(Message::Response { answer, .. })) = parsed else { panic!("an answer: {given}") };
            assert_eq!(Some(said(request, &answer).as_str()), expected.strip_prefix("=> "), "{name}: {given}");
            cases += 1;
        }
    }
    assert!(cases >= 25, "all of them were read: {cases}");
}
