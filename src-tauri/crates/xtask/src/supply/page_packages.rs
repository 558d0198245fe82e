//! Packages of npm that are in the page: those of its lock file that are not for development alone.

use serde_json::Value;

use crate::failure::Failure;
use crate::setup::node;
use crate::workspace::Workspace;

/// Where the page lives.
pub(super) const UI: &str = "ui";

/// One package of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PagePackage {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: String,
    /// Its folder, below that of the page.
    pub(super) path: String,
}

/// Reads the lock file, and installs what it names.
pub(super) fn read(workspace: &Workspace) -> Result<Vec<PagePackage>, Failure> {
    node::install(workspace, UI)?;
    let lock = workspace.read(&format!("{UI}/package-lock.json"))?;
    let unreadable = || Failure::new(format!("`{UI}/package-lock.json` cannot be read"), "Restore it with git.");
    let lock: Value = serde_json::from_str(&lock).map_err(|_| unreadable())?;
    parse(&lock).ok_or_else(unreadable)
}

fn parse(lock: &Value) -> Option<Vec<PagePackage>> {
    let packages = lock.get("packages")?.as_object()?;
    let mut found = Vec::new();
    for (path, package) in packages {
        let is_left_out = |key: &str| package.get(key).and_then(Value::as_bool).unwrap_or(false);
        if path.is_empty() || is_left_out("dev") || is_left_out("optional") || is_left_out("devOptional") {
            continue;
        }
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or("not named").to_owned();
        let name = path.rsplit("node_modules/").next().unwrap_or(path).to_owned();
        found.push(PagePackage { name, version: text("version"), licence: text("license"), path: path.clone() });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_builds_the_page_is_not_in_it() {
        let lock = json!({"packages": {
            "": {"name": "ui"},
            "node_modules/svelte": {"version": "5.0.0", "license": "MIT"},
            "node_modules/a/node_modules/@b/c": {"version": "1.0.0", "license": "ISC"},
            "node_modules/vite": {"version": "8.0.0", "dev": true},
            "node_modules/fsevents": {"version": "2.0.0", "optional": true},
        }});
        let names: Vec<String> = parse(&lock).unwrap().into_iter().map(|package| package.name).collect();
        assert_eq!(names, ["svelte", "@b/c"]);
    }
}
