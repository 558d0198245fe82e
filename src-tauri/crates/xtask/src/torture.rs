//! `cargo xtask torture`: the campaigns at full length (rulings 35, 39).
//!
//! The campaigns themselves are integration tests, which CI samples: kills of the core under people, under agents over
//! HTTP and through bridges, and a million guessed handles. Here they only get their number and their terminal, and
//! print their figures.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// Kills of a full campaign: product.md, "handles lost over 1,000 kill -9".
pub(crate) const KILLS: u32 = 1_000;

/// Tests that kill, and the test that guesses. It answers a million requests: only a release build does that in minutes.
const CAMPAIGNS: [(&str, &[&str]); 2] = [("torture_no", &[]), ("torture_guessing", &["--release"])];

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

/// Runs the campaigns.
pub(crate) fn run(workspace: &Workspace, kills: u32) -> Result<(), Failure> {
    println!("killing the core at {kills} random moments, under people and under agents; then guessing handles");
    for (campaign, build) in CAMPAIGNS {
        let package = ["test", "-p", "taskwarden-tests", "--test", "it"];
        let tests = [campaign, "--", "--nocapture", "--test-threads=1"];
        let arguments: Vec<&str> = package.iter().chain(build).chain(&tests).copied().collect();
        let mut campaign = process::cargo(workspace, &arguments);
        campaign.env("TASKWARDEN_TORTURE", kills.to_string());
        process::run(
            &mut campaign,
            "The output above names the seed; run it again with that seed to see it fail again.",
        )?;
    }
    Ok(())
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
