//! Claude Code, Codex, Gemini CLI and opencode behind the gateway: what their models read, over HTTP and `connect`.
//!
//! The programs are the real ones, offline, on a scripted model; the table of scenarios is in `tests/agents`. Here each
//! program runs its cells of the sample; `cargo xtask torture agents` runs all of them. The set-up of a new user, from six
//! servers in their files to a supervised call and back, is `tests/agents/set-up.mjs`.

use std::path::Path;
use std::process::Command;

use domain::client::profile;
use serde_json::Value;
use tests::clients::node_program;

use crate::{PROGRAM, RMCP_PEER};

/// Cells of one program at a time.
const JOBS: &str = "2";

/// Plays a script of `tests/agents` to its end; what failed is told in its own words.
fn plays(script: &str, args: &[&str]) {
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/agents")).join(script);
    let mut harness = Command::new(node_program());
    harness.arg(script).args(args);
    harness.env("TASKWARDEN", PROGRAM).env("TASKWARDEN_RMCP_PEER", RMCP_PEER);
    let ended = harness.output().expect("node is installed");
    let (cells, failures) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{failures}\n{cells}");
    println!("{cells}");
}

/// Plays the cells of the sample that belong to this program; what failed is told with what the model read.
fn plays_its_sample(program: &str) {
    plays("run.mjs", &["--sample", "--jobs", JOBS, "--program", program]);
}

#[test]
fn agents_of_a_new_user_are_imported_routed_and_supervised_within_two_minutes_and_taken_back_byte_for_byte() {
    plays("set-up.mjs", &[]);
}

#[test]
fn claude_code_works_behind_the_gateway() {
    plays_its_sample("claude-code");
}

#[test]
fn codex_works_behind_the_gateway() {
    plays_its_sample("codex");
}

#[test]
fn gemini_cli_works_behind_the_gateway() {
    plays_its_sample("gemini-cli");
}

#[test]
fn opencode_works_behind_the_gateway() {
    plays_its_sample("opencode");
}

/// The figures of a profile are of the version that runs here: whoever raises one measures again.
#[test]
fn each_profile_names_the_version_that_these_tests_run() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/package.json");
    let manifest = std::fs::read_to_string(manifest).expect("the manifest of the programs");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let packages = [
        ("claude-code", "optionalDependencies", "@anthropic-ai/claude-code-linux-x64"),
        ("codex", "optionalDependencies", "@openai/codex-linux-x64"),
        ("gemini-cli", "dependencies", "@google/gemini-cli"),
        ("opencode", "optionalDependencies", "opencode-linux-x64"),
    ];
    for (word, kind, package) in packages {
        let profile = profile::of_word(word).expect("a profile");
        // An alias names another package's version: `npm:@openai/codex@0.169.0-linux-x64`.
        let pinned = manifest[kind][package].as_str().expect("a version");
        let pinned = pinned.rsplit('@').next().unwrap_or(pinned).trim_end_matches("-linux-x64");
        assert_eq!(pinned, profile.version, "{word}");
    }
}
