//! Who may import whom: the allow-list of architecture.md §3.2 with ruling 36.
//!
//! Crate boundaries exist where the compiler should forbid an import, so the list is read from the manifests: what is
//! not named here cannot be used by mistake. `decisions/0007` says why each addition to the architecture's table is
//! there. Versions stand in the root manifest alone (style 26).

mod allowed;

use allowed::{Allowed, allowed};

use super::finding::Finding;
use super::manifest::{self, Dependency, Use};

const ASK: &str = "move the code to the crate that may, or argue for the edge in `src-tauri/decisions`";
const SHARE: &str = "put the version into `[workspace.dependencies]` and write `.workspace = true` (style 26)";

/// Checks one manifest.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if path == "Cargo.toml" {
        return check_root(text);
    }
    let name = crate_of(path);
    let Some(allowed) = allowed(name) else {
        return vec![Finding::new(path, 1, format!("crate `{name}` is not in the import allow-list"), ASK)];
    };
    let mut found = Vec::new();
    for dependency in manifest::dependencies(text) {
        if !may_use(&allowed, &dependency) {
            let kind = if dependency.used == Use::Dev { "tests of " } else { "" };
            let rule = format!("{kind}`{name}` may not use `{}`", dependency.name);
            found.push(Finding::new(path, dependency.line, rule, ASK));
        }
        if !dependency.is_shared {
            let rule = format!("`{}` has a version of its own", dependency.name);
            found.push(Finding::new(path, dependency.line, rule, SHARE));
        }
    }
    if !manifest::has_shared_lints(text) {
        let cure = "add `[lints]` with `workspace = true`";
        found.push(Finding::new(path, 1, "does not take over the lints of the workspace", cure));
    }
    if let Some(line) = manifest::library_without_tests(text) {
        let cure = "remove `test = false`: clippy reads a library with its tests alone (decision 0121)";
        found.push(Finding::new(path, line, "has a library that clippy does not read", cure));
    }
    found
}

fn may_use(allowed: &Allowed, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    match dependency.used {
        Use::Normal => allowed.normal(name),
        Use::Dev => allowed.normal(name) || allowed.dev(name),
        Use::Build => allowed.build(name),
    }
}

/// An outside crate under another name would hide from the list.
fn check_root(text: &str) -> Vec<Finding> {
    let renamed = |line: &str| line.contains("package = \"") && !line.contains("package = \"taskwarden-");
    let lines = text.lines().enumerate().filter(|(_, line)| renamed(line));
    lines
        .map(|(at, _)| Finding::new("Cargo.toml", at + 1, "renames a crate that is not ours", "use its own name"))
        .collect()
}

/// `src-tauri/crates/mcp/Cargo.toml` → `mcp`; the shell is `src-tauri`, the tests are `tests`.
fn crate_of(path: &str) -> &str {
    let folder = path.strip_suffix("/Cargo.toml").unwrap_or(path);
    folder.rsplit('/').next().unwrap_or(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn rules(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|found| found.rule).collect()
    }

    fn crate_path(name: &str) -> String {
        format!("src-tauri/crates/{name}/Cargo.toml")
    }

    #[test]
    fn edges_that_the_architecture_forbids_are_found() {
        for (name, dependency) in [
            ("domain", "tokio"),
            ("domain", "serde"),
            ("domain", "engine"),
            ("engine", "sqlx"),
            ("engine", "mcp"),
            ("engine", "serde"),
            ("registry", "engine"),
            ("registry", "rmcp"),
            ("mcp", "sqlx"),
            ("mcp", "registry"),
            ("api", "mcp"),
            ("api", "sqlx"),
            ("host", "tauri"),
            ("host", "sqlx"),
            ("testkit", "rmcp"),
            ("xtask", "reqwest"),
            ("src-tauri", "engine"),
            ("demo", "registry"),
        ] {
            let text = format!("[dependencies]\n{dependency}.workspace = true\n{LINTS}");
            let found = rules(&crate_path(name), &text);
            assert_eq!(found, [format!("`{name}` may not use `{dependency}`")], "this edge is not in §3.2");
        }
    }

    #[test]
    fn edges_of_the_architecture_are_allowed() {
        for (name, dependency) in [("host", "mcp"), ("api", "engine"), ("registry", "sqlx"), ("tests", "host")] {
            let text = format!("[dependencies]\n{dependency}.workspace = true\n{LINTS}");
            assert!(rules(&crate_path(name), &text).is_empty(), "{name} -> {dependency}");
        }
    }

    #[test]
    fn tests_have_a_laxer_list_but_not_an_open_one() {
        let with = |dependency: &str| format!("[dev-dependencies]\n{dependency}.workspace = true\n{LINTS}");
        assert!(rules(&crate_path("engine"), &with("testkit")).is_empty(), "doubles are for tests");
        assert_eq!(rules(&crate_path("engine"), &with("registry")).len(), 1, "real adapters belong in `tests`");
        let shipped = format!("[dependencies]\ntestkit.workspace = true\n{LINTS}");
        assert_eq!(rules(&crate_path("engine"), &shipped).len(), 1, "doubles never ship");
    }

    #[test]
    fn versions_and_lints_are_shared_and_strangers_are_named() {
        let own = format!("[dependencies]\nserde_json = \"1\"\n{LINTS}");
        assert_eq!(rules(&crate_path("mcp"), &own), ["`serde_json` has a version of its own"], "one version each");
        assert_eq!(rules(&crate_path("mcp"), "[package]\n").len(), 1, "the lints are missing");
        assert_eq!(rules(&crate_path("misc"), LINTS).len(), 1, "a crate that nobody argued for");
        let unread = format!("[lib]\ntest = false\n{LINTS}");
        assert_eq!(rules(&crate_path("mcp"), &unread), ["has a library that clippy does not read"]);
        assert_eq!(rules("Cargo.toml", "db = { package = \"sqlx\" }").len(), 1, "a rename would hide sqlx");
    }
}
