//! Which files ship, and which only serve tests, measurements or developers.
//!
//! By place (`tests`, `examples`, `benches`, `testkit`, `xtask`, a file called `tests.rs`) and by declaration
//! (`#[cfg(test)] mod name;`). Parts of files are `source.rs`'s.

use super::source::Source;

/// What is known of all files together.
#[derive(Debug, Default)]
pub(crate) struct Shipped {
    test_modules: Vec<String>,
}

impl Shipped {
    /// Reads the declarations of all files.
    pub(crate) fn of(sources: &[Source]) -> Self {
        let declared = sources.iter().flat_map(|source| {
            let folder = module_folder(&source.path);
            source.test_modules().iter().map(move |name| format!("{folder}/{name}"))
        });
        Self { test_modules: declared.collect() }
    }

    /// Whether users run this file.
    pub(crate) fn has(&self, path: &str) -> bool {
        let for_developers = path.starts_with("tests/")
            || path.starts_with("src-tauri/crates/testkit/")
            || path.starts_with("src-tauri/crates/xtask/")
            || ["/tests/", "/examples/", "/benches/"].iter().any(|folder| path.contains(folder))
            || path.ends_with("/tests.rs");
        let declared = |module: &String| {
            path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        !for_developers && !self.test_modules.iter().any(declared)
    }
}

/// The folder in which the modules of a file are: `a/b.rs` → `a/b`, `a/lib.rs` → `a`.
fn module_folder(path: &str) -> &str {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_test_modules_do_not_ship_wherever_they_are() {
        let sources = [
            Source::read("src-tauri/crates/mcp/src/lib.rs", "#[cfg(test)]\nmod script;\nmod link;"),
            Source::read("src-tauri/crates/mcp/src/link.rs", "#[cfg(test)]\nmod peer;"),
        ];
        let shipped = Shipped::of(&sources);
        for (path, ships) in [
            ("src-tauri/crates/mcp/src/link.rs", true),
            ("src-tauri/crates/mcp/src/scripted.rs", true),
            ("src-tauri/crates/mcp/src/script.rs", false),
            ("src-tauri/crates/mcp/src/script/step.rs", false),
            ("src-tauri/crates/mcp/src/link/peer.rs", false),
            ("src-tauri/crates/domain/src/handle/tests.rs", false),
            ("src-tauri/crates/registry/examples/commit_rate.rs", false),
            ("src-tauri/crates/testkit/src/lib.rs", false),
            ("tests/it/main.rs", false),
        ] {
            assert_eq!(shipped.has(path), ships, "{path}");
        }
    }
}
