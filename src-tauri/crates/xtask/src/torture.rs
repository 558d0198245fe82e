//! `cargo xtask torture`: the kill campaign at full length (rulings 35, 39).
//!
//! The campaign itself is an integration test, which CI samples; here it only gets its number and its terminal.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// Kills of a full campaign: product.md, "handles lost over 1,000 kill -9".
pub(crate) const KILLS: u32 = 1_000;

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

/// Runs the campaign.
pub(crate) fn run(workspace: &Workspace, kills: u32) -> Result<(), Failure> {
    println!("killing the core at {kills} random moments; the seed is printed with each round that fails");
    let arguments = ["test", "--workspace", "--test", "it", "torture", "--", "--nocapture", "--test-threads=1"];
    let mut campaign = process::cargo(workspace, &arguments);
    campaign.env("TASKWARDEN_TORTURE", kills.to_string());
    process::run(&mut campaign, "The output above names the seed; run it again with that seed to see it fail again.")
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
}
