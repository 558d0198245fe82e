//! The size of the headless part, beside the one that was recorded last.
//!
//! A release that has grown by more than a little fails, so that somebody looks at why and records the new size.

use super::programs::Source;
use crate::failure::Failure;

const MEGA: u64 = 1_000_000;
/// Bytes of all installed files of the headless part in the profile of packages, 2026-11-28.
const RECORDED: u64 = 44_798_935;
/// What it has to stay below (setup.md, section 8).
const AIM: u64 = 45 * MEGA;
/// Of 100 parts, how many a release may grow without a new record (setup.md, section 7).
const GROWTH: u64 = 3;

/// Bytes as people read them.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / MEGA, bytes % MEGA * 10 / MEGA)
}

/// Prints the size and what it was; fails for a release that has grown too much.
pub(super) fn compare(installed: u64, source: &Source) -> Result<(), Failure> {
    println!(
        "installed, the headless part has {}; recorded {}, aim below {}",
        megabytes(installed),
        megabytes(RECORDED),
        megabytes(AIM)
    );
    match source {
        Source::In(_) => Ok(()),
        Source::Built if has_grown(installed) => Err(Failure::new(
            format!("the headless part has grown from {} to {}", megabytes(RECORDED), megabytes(installed)),
            "Find out why; where it is worth it, record the new size in `package/size.rs`.",
        )),
        Source::Built => Ok(()),
    }
}

const fn has_grown(installed: u64) -> bool {
    installed > RECORDED + RECORDED / 100 * GROWTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_may_grow_a_little_and_no_more() {
        assert!(!has_grown(RECORDED) && !has_grown(RECORDED + RECORDED / 50));
        assert!(has_grown(RECORDED + RECORDED / 25));
    }

    #[test]
    fn sizes_are_told_with_one_digit_behind_the_point() {
        assert_eq!(megabytes(45_960_000), "45.9 MB");
        assert_eq!(megabytes(20_000), "0.0 MB");
    }
}
