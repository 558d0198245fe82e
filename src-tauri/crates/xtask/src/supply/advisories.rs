//! Known weaknesses of packages, from a snapshot of the `RustSec` database with its date.
//!
//! The snapshot holds ids, names and versions of all packages, so that a new one is checked too. An entry that cannot
//! be understood counts as a weakness. [`renew`] takes a new snapshot where git reaches the database.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use semver::{Version, VersionReq};
use serde_json::{Value, json};
use toml::Table;

use super::lock::Locked;
use super::rules::Rules;
use crate::failure::Failure;
use crate::process;
use crate::setup::node;
use crate::workspace::Workspace;

const PATH: &str = "src-tauri/supply/advisories.json";
const DATABASE: &str = "https://github.com/rustsec/advisory-db";
const SOURCE: &str = "RustSec advisory-db (https://rustsec.org), most entries CC0-1.0, those imported from the GitHub \
                      Advisory Database CC-BY-4.0; only ids, names and versions are kept here";

/// One entry.
#[derive(Debug)]
struct Advisory {
    id: String,
    kind: String,
    patched: Vec<String>,
    unaffected: Vec<String>,
}

/// All entries by package.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) date: String,
    by_package: BTreeMap<String, Vec<Advisory>>,
}

/// Reads the snapshot of this clone.
pub(crate) fn read(workspace: &Workspace) -> Result<Snapshot, Failure> {
    parse(&workspace.read(PATH)?)
        .ok_or_else(|| Failure::new(format!("`{PATH}` cannot be read"), "Restore it with git, or renew it."))
}

fn parse(text: &str) -> Option<Snapshot> {
    let whole: Value = serde_json::from_str(text).ok()?;
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let mut by_package: BTreeMap<String, Vec<Advisory>> = BTreeMap::new();
    for entry in whole.get("advisories")?.as_array()? {
        let text = |key: &str| entry.get(key)?.as_str().map(str::to_owned);
        let advisory = Advisory {
            id: text("id")?,
            kind: text("kind")?,
            patched: texts(entry.get("patched")?)?,
            unaffected: texts(entry.get("unaffected")?)?,
        };
        by_package.entry(text("package")?).or_default().push(advisory);
    }
    Some(Snapshot { date: whole.get("date")?.as_str()?.to_owned(), by_package })
}

/// Finds packages with a known weakness that nobody accepted, and accepted ones that do not occur any more.
pub(crate) fn check(snapshot: &Snapshot, locked: &[Locked], rules: &Rules) -> Vec<String> {
    let mut findings = Vec::new();
    let mut met = Vec::new();
    for package in locked.iter().filter(|package| package.is_foreign()) {
        for advisory in snapshot.by_package.get(&package.name).into_iter().flatten() {
            if !affects(advisory, &package.version) {
                continue;
            }
            met.push(advisory.id.as_str());
            if !rules.accepted.contains(&advisory.id) {
                findings.push(format!(
                    "{} {}: {} ({}); update it, or accept it with a reason",
                    package.name, package.version, advisory.id, advisory.kind
                ));
            }
        }
    }
    let stale = rules.accepted.iter().filter(|id| !met.contains(&id.as_str()));
    findings.extend(stale.map(|id| format!("{id}: is accepted and does not occur; take the exception away")));
    findings
}

fn affects(advisory: &Advisory, version: &Version) -> bool {
    // Ranges of the database speak of releases; a pre-release is as its release.
    let release = Version::new(version.major, version.minor, version.patch);
    let holds = |range: &String| VersionReq::parse(range).is_ok_and(|range| range.matches(&release));
    !advisory.patched.iter().chain(&advisory.unaffected).any(holds)
}

/// Takes a new snapshot, and asks npm for weaknesses of the page's packages. Needs the network.
pub(crate) fn renew(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.path("target/advisory-db");
    let _ = fs::remove_dir_all(&folder);
    let hint = "The database is reached over the network; without it the snapshot stays as it is.";
    let mut clone = process::program_in(workspace, "git", &["clone", "--quiet", "--depth", "1", DATABASE]);
    process::run(clone.arg(&folder), hint)?;
    let said = |arguments: &[&str]| {
        let mut git = process::program_in(workspace, "git", arguments);
        git.current_dir(&folder);
        git.output().map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned()).unwrap_or_default()
    };
    let (commit, date) = (said(&["rev-parse", "HEAD"]), said(&["log", "-1", "--format=%cs"]));
    let mut entries = collect(&folder.join("crates"))?;
    entries.sort_by_key(|entry| (entry["package"].to_string(), entry["id"].to_string()));
    let lines: Vec<String> = entries.iter().map(|entry| format!("    {entry}")).collect();
    let text = format!(
        "{{\n  \"source\": {},\n  \"commit\": {},\n  \"date\": {},\n  \"advisories\": [\n{}\n  ]\n}}\n",
        json!(SOURCE),
        json!(commit),
        json!(date),
        lines.join(",\n")
    );
    fs::write(workspace.path(PATH), text)
        .map_err(|why| Failure::new(format!("`{PATH}` cannot be written: {why}"), "Check the disk."))?;
    println!("{} entries as of {date} in `{PATH}`", entries.len());
    let mut audit = node::npm(workspace, "ui", &["audit", "--omit=dev"])?;
    process::run(&mut audit, "Update what npm names above; a registry without this service says so itself.")
}

fn collect(folder: &Path) -> Result<Vec<Value>, Failure> {
    let unreadable =
        |why: String| Failure::new(format!("the database cannot be read: {why}"), "Look whether its format changed.");
    let mut entries = Vec::new();
    for package in fs::read_dir(folder).map_err(|why| unreadable(why.to_string()))?.filter_map(Result::ok) {
        for file in fs::read_dir(package.path()).map_err(|why| unreadable(why.to_string()))?.filter_map(Result::ok) {
            let text = fs::read_to_string(file.path()).map_err(|why| unreadable(why.to_string()))?;
            let entry = entry(&text).ok_or_else(|| unreadable(file.path().display().to_string()))?;
            entries.extend((!entry.is_null()).then_some(entry));
        }
    }
    Ok(entries)
}

/// One file of the database: TOML between fences, then prose. Null for one that was withdrawn.
fn entry(text: &str) -> Option<Value> {
    let (_, rest) = text.split_once("```toml\n")?;
    let (front, _) = rest.split_once("\n```")?;
    let table: Table = toml::from_str(front).ok()?;
    let advisory = table.get("advisory")?;
    if advisory.get("withdrawn").is_some() {
        return Some(Value::Null);
    }
    let word = |key: &str| advisory.get(key).and_then(toml::Value::as_str);
    let ranges = |key: &str| {
        let list = table.get("versions").and_then(|versions| versions.get(key)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(|range| range.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    Some(json!({
        "id": word("id")?, "package": word("package")?, "kind": word("informational").unwrap_or("vulnerability"),
        "patched": ranges("patched"), "unaffected": ranges("unaffected"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::lock::foreign;

    const SNAPSHOT: &str = r#"{"date": "2026-08-21", "advisories": [
        {"id": "R-1", "package": "leaky", "kind": "vulnerability", "patched": [">= 1.2.3", "^0.9.4"], "unaffected": ["< 0.5.0"]},
        {"id": "R-2", "package": "left", "kind": "unmaintained", "patched": [], "unaffected": []}]}"#;

    #[test]
    fn a_version_is_weak_unless_it_is_patched_or_never_was() {
        let snapshot = parse(SNAPSHOT).unwrap();
        for (version, is_weak) in [
            ("1.2.2", true),
            ("1.2.3", false),
            ("2.0.0-rc.1", false),
            ("0.9.4", false),
            ("0.9.3", true),
            ("0.4.9", false),
        ] {
            let found = check(&snapshot, &[foreign("leaky", version)], &Rules::default());
            assert_eq!(!found.is_empty(), is_weak, "{version}: {found:?}");
        }
    }

    #[test]
    fn an_accepted_weakness_is_silent_while_it_occurs_and_told_when_it_is_gone() {
        let snapshot = parse(SNAPSHOT).unwrap();
        let rules = Rules { accepted: vec!["R-2".into()], ..Rules::default() };
        assert!(check(&snapshot, &[foreign("left", "1.0.0")], &rules).is_empty(), "it has a reason");
        assert_eq!(check(&snapshot, &[], &rules).len(), 1, "the reason is gone");
        assert_eq!(check(&snapshot, &[foreign("left", "1.0.0")], &Rules::default()).len(), 1, "nobody accepted it");
    }

    #[test]
    fn an_entry_of_the_database_is_read_and_a_withdrawn_one_left_out() {
        let text =
            "```toml\n[advisory]\nid = \"R-3\"\npackage = \"p\"\n\n[versions]\npatched = [\">= 2\"]\n```\n\n# Title\n";
        let read = entry(text).unwrap();
        assert_eq!((read["kind"].as_str(), read["patched"][0].as_str()), (Some("vulnerability"), Some(">= 2")));
        let withdrawn = text.replace("package", "withdrawn = \"2026-01-01\"\npackage");
        assert_eq!(entry(&withdrawn), Some(Value::Null));
        assert_eq!(entry("# no front matter"), None, "an unknown format is no empty entry");
    }
}
