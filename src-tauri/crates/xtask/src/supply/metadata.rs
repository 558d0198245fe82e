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
    /// What cargo calls it, and only it.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    pub(crate) repository: Option<String>,
    /// Where its files lie.
    pub(crate) folder: PathBuf,
    /// What it is linked with: ids of its ordinary dependencies.
    pub(crate) dependencies: Vec<String>,
    pub(crate) is_foreign: bool,
    /// Whether it runs inside the compiler.
    pub(crate) is_macro: bool,
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
            let id = text("id")?;
            let dependencies = used.get(id.as_str()).into_iter().flatten().map(|id| (*id).to_owned()).collect();
            let is_shipped = shipped.contains(&id) || DATA.contains(&name.as_str());
            Some(Package {
                id,
                name,
                version: text("version")?,
                licence: text("license"),
                repository: text("repository"),
                folder,
                dependencies,
                is_foreign: text("source").is_some(),
                is_macro: is_macro(package),
                is_shipped,
            })
        })
        .collect()
}

fn is_macro(package: &Value) -> bool {
    let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
    let mut kinds = targets.filter_map(|target| target.get("kind").and_then(Value::as_array)).flatten();
    kinds.any(|kind| kind == "proc-macro")
}

/// The packages that are in the programs of these packages, sorted by name: those that are linked, and the data that
/// build scripts of ours write into one.
pub(crate) fn linked<'a>(packages: &'a [Package], roots: &[&str]) -> Vec<&'a Package> {
    let by_id: BTreeMap<&str, &Package> = packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let mut open: Vec<&Package> = packages.iter().filter(|package| roots.contains(&package.name.as_str())).collect();
    let mut found: BTreeMap<&str, &Package> = BTreeMap::new();
    while let Some(next) = open.pop() {
        if next.is_macro || found.insert(&next.id, next).is_some() {
            continue;
        }
        open.extend(next.dependencies.iter().filter_map(|id| by_id.get(id.as_str())));
    }
    // Data comes without what its own package needs to read it.
    let data = packages.iter().filter(|package| DATA.contains(&package.name.as_str()));
    found.extend(data.map(|package| (package.id.as_str(), package)));
    let mut linked: Vec<&Package> = found.into_values().collect();
    linked.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    linked
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

    #[test]
    fn macros_are_shipped_with_their_notices_and_linked_into_nothing() {
        let package = |name: &str, kind: &str| json!({"name": name, "id": name, "version": "1.0.0", "license": "MIT", "repository": null, "manifest_path": "/x/Cargo.toml", "source": "r", "targets": [{"kind": [kind]}]});
        let dep = |name: &str| json!({"pkg": name, "dep_kinds": [{"kind": null}]});
        let whole = json!({
            "packages": [package("taskwarden-host", "lib"), package("serde", "lib"), package("derive", "proc-macro"), package("syn", "lib"), package("window", "lib")],
            "resolve": {"nodes": [
                {"id": "taskwarden-host", "deps": [dep("serde")]},
                {"id": "serde", "deps": [dep("derive")]},
                {"id": "derive", "deps": [dep("syn")]},
                {"id": "syn", "deps": []}, {"id": "window", "deps": [dep("serde")]},
            ]},
        });
        let packages = parse(&whole).unwrap();
        let names: Vec<&str> =
            linked(&packages, &["taskwarden-host"]).iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["serde", "taskwarden-host"], "neither the macro, nor what it needs, nor the window");
        assert!(packages.iter().any(|package| package.name == "derive" && package.is_shipped));
    }
}
