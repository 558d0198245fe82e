//! Packages as cargo resolves them for the system that we ship for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// What is built and packaged here; others are not run here yet.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// The programs that people get.
const SHIPPED: [&str; 2] = ["taskwarden-desktop", "taskwarden-host"];

/// Packages whose data a build script of ours writes into a program: the vocabularies of tokens.
const DATA: [&str; 1] = ["bpe-openai"];

/// One package.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    pub(crate) repository: Option<String>,
    /// Where its files lie.
    pub(crate) folder: PathBuf,
    pub(crate) is_foreign: bool,
    /// Whether it is in a program that people get, and not only in tests or build scripts.
    pub(crate) is_shipped: bool,
}

/// Asks cargo.
pub(crate) fn read(workspace: &Workspace) -> Result<Vec<Package>, Failure> {
    let hint = "Run `cargo metadata --locked` to see what is wrong; packages are fetched over the network.";
    let failed = |why: &str| Failure::new(format!("cargo does not say what it builds from: {why}"), hint);
    let arguments = ["metadata", "--format-version", "1", "--filter-platform", PLATFORM];
    let done = process::cargo(workspace, &arguments).output().map_err(|error| failed(&error.to_string()))?;
    if !done.status.success() {
        return Err(failed(String::from_utf8_lossy(&done.stderr).trim()));
    }
    let whole = serde_json::from_slice(&done.stdout).map_err(|error| failed(&error.to_string()))?;
    parse(&whole).ok_or_else(|| failed("its answer has another form"))
}

fn parse(whole: &Value) -> Option<Vec<Package>> {
    let nodes = whole.get("resolve")?.get("nodes")?.as_array()?;
    let used: BTreeMap<&str, Vec<&str>> =
        nodes.iter().map(|node| Some((node.get("id")?.as_str()?, shipped_with(node)?))).collect::<Option<_>>()?;
    let all = whole.get("packages")?.as_array()?;
    let id = |package: &Value| package.get("id").and_then(Value::as_str).map(str::to_owned);
    let mut open: Vec<String> = all
        .iter()
        .filter(|package| package.get("name").and_then(Value::as_str).is_some_and(|name| SHIPPED.contains(&name)))
        .filter_map(id)
        .collect();
    let mut shipped = BTreeSet::new();
    while let Some(next) = open.pop() {
        if shipped.insert(next.clone()) {
            open.extend(used.get(next.as_str()).into_iter().flatten().map(|id| (*id).to_owned()));
        }
    }
    let resolved = all.iter().filter(|package| id(package).is_some_and(|id| used.contains_key(id.as_str())));
    resolved
        .map(|package| {
            let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
            let mut folder = PathBuf::from(text("manifest_path")?);
            folder.pop();
            let name = text("name")?;
            let is_shipped = shipped.contains(&text("id")?) || DATA.contains(&name.as_str());
            Some(Package {
                name,
                version: text("version")?,
                licence: text("license"),
                repository: text("repository"),
                folder,
                is_foreign: text("source").is_some(),
                is_shipped,
            })
        })
        .collect()
}

/// What a package is linked with: its ordinary dependencies.
fn shipped_with(node: &Value) -> Option<Vec<&str>> {
    let is_ordinary = |dep: &&Value| {
        let kinds = dep.get("dep_kinds").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind.get("kind").is_some_and(Value::is_null)))
    };
    let deps = node.get("deps")?.as_array()?;
    deps.iter().filter(is_ordinary).map(|dep| dep.get("pkg")?.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_tests_and_build_scripts_use_is_not_shipped() {
        let package = |name: &str, source: Option<&str>| json!({"name": name, "id": name, "version": "1.0.0", "license": "MIT", "repository": null, "manifest_path": "/x/Cargo.toml", "source": source});
        let dep = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let whole = json!({
            "packages": [package("taskwarden-host", None), package("a", Some("r")), package("b", Some("r")), package("tests-only", Some("r")), package("builds", Some("r")), package("bpe-openai", Some("r"))],
            "resolve": {"nodes": [
                {"id": "taskwarden-host", "deps": [dep("a", Value::Null), dep("tests-only", json!("dev"))]},
                {"id": "a", "deps": [dep("b", Value::Null), dep("builds", json!("build")), dep("bpe-openai", json!("build"))]},
                {"id": "b", "deps": []}, {"id": "tests-only", "deps": []}, {"id": "builds", "deps": []},
                {"id": "bpe-openai", "deps": [dep("builds", Value::Null)]},
            ]},
        });
        let shipped: Vec<String> = parse(&whole)
            .unwrap()
            .into_iter()
            .filter(|package| package.is_shipped)
            .map(|package| package.name)
            .collect();
        assert_eq!(shipped, ["taskwarden-host", "a", "b", "bpe-openai"], "data is shipped, what reads it is not");
    }
}
