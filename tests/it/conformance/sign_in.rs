//! The scenarios of the conformance runner for OAuth clients: a person signs in to its servers with the command line.
//!
//! `tests/clients/sign-in.mjs` plays the person and the browser, with a core of its own for each scenario. The runner
//! judges what its servers saw: no check of it fails.

use std::process::Stdio;

use tests::clients::{node, node_program};

use super::{Check, RUNNER};
use crate::PROGRAM;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/sign-in.mjs");

// Not run are the scenarios of 2025-03-26, which guess addresses that nobody published (decision 0086), and those of
// extensions that Taskwarden does not have: client credentials, enterprise policies, DPoP and workload identities.

/// How a client finds the issuer, and which client it is there.
const DISCOVERY: [&str; 9] = [
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/metadata-issuer-mismatch",
    "auth/authorization-server-migration",
];

/// What it asks for, and how it proves itself where tokens are given.
const TOKENS: [&str; 10] = [
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
];

/// Who answers the browser.
const ISSUERS: [&str; 6] = [
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
];

/// The checks of one scenario, and what the client said.
fn run(scenario: &str) -> (Vec<Check>, String) {
    let place = tempfile::tempdir().expect("a folder");
    let client = format!("{} {CLIENT} {PROGRAM}", node_program().display());
    let mut runner = node(RUNNER);
    runner.args(["client", "--command", &client, "--scenario", scenario, "--timeout", "120000", "--output-dir"]);
    let ran = runner.arg(place.path()).stdin(Stdio::null()).output().expect("the runner starts");
    // `auth/NAME-2026-11-21T11-14-24-327Z`
    let folders = std::fs::read_dir(place.path().join("auth")).expect("the folder of the results").flatten();
    let folders: Vec<std::path::PathBuf> = folders.map(|entry| entry.path()).collect();
    let [folder] = folders.as_slice() else {
        panic!("{scenario}: {folders:?}\n{}", String::from_utf8_lossy(&ran.stderr));
    };
    let said = std::fs::read_to_string(folder.join("stderr.txt")).unwrap_or_default();
    (Check::read(&folder.join("checks.json")), said)
}

fn holds(scenarios: &[&str]) {
    let mut failures = Vec::new();
    println!("{:<50} {:>6} {:>7}", "scenario", "checks", "passed");
    for scenario in scenarios {
        let (checks, said) = run(scenario);
        let of = |verdict: &str| checks.iter().filter(|check| check.verdict == verdict).count();
        println!("{scenario:<50} {:>6} {:>7}", checks.len(), of("SUCCESS"));
        assert!(of("SUCCESS") + of("FAILURE") > 0, "{scenario} made no check: {said}");
        let failed = checks.iter().filter(|check| check.verdict == "FAILURE");
        failures.extend(failed.map(|check| format!("{scenario}: {check}\n{said}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn conformance_of_a_sign_in_finds_the_issuer_and_its_client() {
    holds(&DISCOVERY);
}

#[test]
fn conformance_of_a_sign_in_asks_for_what_is_needed_and_proves_itself() {
    holds(&TOKENS);
}

#[test]
fn conformance_of_a_sign_in_knows_who_answers() {
    holds(&ISSUERS);
}
