//! The window reads the types that this core writes.

use std::path::Path;

#[test]
fn the_types_of_the_window_are_those_of_this_core() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/lib/bindings/index.ts");
    let kept = std::fs::read_to_string(&place).expect("the window's types are checked in");
    let first_other = api::bindings::typescript().lines().zip(kept.lines()).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first_other, None, "run `cargo xtask bindings` and commit `ui/src/lib/bindings`: first other line");
    assert_eq!(api::bindings::typescript().len(), kept.len(), "run `cargo xtask bindings`");
}
