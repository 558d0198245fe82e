//! The window reads the types that this core writes.

use std::path::Path;

use domain::raw_message::Direction;
use domain::task::Origin;
use domain::task::status::{CancelState, Phase, PhaseGroup};

#[test]
fn the_types_of_the_window_are_those_of_this_core() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/lib/bindings/index.ts");
    let kept = std::fs::read_to_string(&place).expect("the window's types are checked in");
    let first_other = api::bindings::typescript().lines().zip(kept.lines()).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first_other, None, "run `cargo xtask bindings` and commit `ui/src/lib/bindings`: first other line");
    assert_eq!(api::bindings::typescript().len(), kept.len(), "run `cargo xtask bindings`");
}

#[test]
fn words_that_the_window_switches_on_are_those_of_the_domain() {
    let union = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ");
    let text = api::bindings::typescript();
    let stops = [
        CancelState::Asked,
        CancelState::Acknowledged,
        CancelState::Stopped,
        CancelState::EndedHere,
        CancelState::FinishedAnyway,
        CancelState::Refused,
    ];
    let origins = [Origin::Started, Origin::Agent, Origin::Discovered, Origin::Adopted];
    for words in [
        union(&stops.map(CancelState::word)),
        union(&origins.map(Origin::word)),
        union(&[Direction::FromServer.word(), Direction::ToServer.word()]),
        union(&Phase::ALL.map(Phase::word)),
        union(&PhaseGroup::ALL.map(PhaseGroup::word)),
    ] {
        assert!(text.contains(&words), "{words} stands in the types of the window");
    }
}

#[test]
fn the_window_shows_each_phase_by_the_label_that_the_command_line_takes() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/lib/text/task.ts");
    let text = std::fs::read_to_string(&place).expect("the window's text is there");
    for phase in Phase::ALL {
        let line = format!("  {}: \"{}\",\n", phase.word(), phase.label());
        assert!(text.contains(&line), "`{}` is not `{}` in `ui/src/lib/text/task.ts`", phase.word(), phase.label());
    }
}
