//! Known weaknesses of the npm packages that ship in the page, or build and drive it.
//!
//! npm asks its registry, and there is no snapshot as for crates: the list is 3 GB and has no part for a few packages.
//! Where the registry does not answer that question, this says so and finds nothing. The servers, clients and agent
//! programs of the tests are not asked for: their versions are chosen for what they do.

use serde_json::Value;

use crate::failure::Failure;
use crate::setup::node;
use crate::workspace::Workspace;

const FOLDERS: [&str; 2] = ["ui", "tests/e2e"];

/// Every package with a weakness that is severe. What is not severe is shown and no finding.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        let mut audit = node::npm(workspace, folder, &["audit", "--package-lock-only", "--json"])?;
        let said = audit.output().map_err(|why| Failure::new(format!("npm did not start: {why}"), "Install npm."))?;
        match read(&String::from_utf8_lossy(&said.stdout)) {
            Ok(weak) => {
                for Weakness { package, severity } in weak {
                    let line = format!("{folder}: {package} has a known weakness ({severity}); run `npm audit` there");
                    match severity.as_str() {
                        "high" | "critical" => findings.push(line),
                        _ => println!("{line}"),
                    }
                }
            }
            Err(why) => println!("{folder}: known weaknesses of npm packages were not checked: {why}"),
        }
    }
    Ok(findings)
}

#[derive(Debug, PartialEq, Eq)]
struct Weakness {
    package: String,
    severity: String,
}

/// What `npm audit --json` found, or why it could not look.
fn read(said: &str) -> Result<Vec<Weakness>, String> {
    let answer: Value = serde_json::from_str(said).map_err(|why| format!("npm did not answer in JSON ({why})"))?;
    let Some(packages) = answer.get("vulnerabilities").and_then(Value::as_object) else {
        let why = answer.get("message").and_then(Value::as_str).unwrap_or("its answer holds no list");
        return Err(why.split(" - ").next().unwrap_or(why).to_owned());
    };
    let weakness = |(package, about): (&String, &Value)| Weakness {
        package: package.clone(),
        severity: about.get("severity").and_then(Value::as_str).unwrap_or("critical").to_owned(),
    };
    Ok(packages.iter().map(weakness).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weakness_is_named_with_its_severity_and_one_without_counts_as_the_worst() {
        let said = r#"{"vulnerabilities":{"old":{"severity":"low"},"odd":{}},"metadata":{}}"#;
        let weak = |package: &str, severity: &str| Weakness { package: package.into(), severity: severity.into() };
        let mut found = read(said).expect("an answer");
        found.sort_by(|one, other| one.package.cmp(&other.package));
        assert_eq!(found, [weak("odd", "critical"), weak("old", "low")]);
        assert_eq!(read(r#"{"vulnerabilities":{}}"#), Ok(Vec::new()), "nothing is known");
    }

    #[test]
    fn a_registry_that_does_not_answer_is_told_from_one_that_knows_nothing() {
        let said = r#"{"message":"405 Method Not Allowed - POST bulk","error":{"summary":"","detail":""}}"#;
        assert_eq!(read(said), Err("405 Method Not Allowed".to_owned()), "the reason without an address");
        assert!(read("").is_err_and(|why| why.contains("JSON")), "npm said nothing");
    }
}
