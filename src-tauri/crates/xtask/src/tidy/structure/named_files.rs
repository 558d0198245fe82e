//! Comments and pages name Rust files that exist.
//!
//! A name in backquotes may leave out the folders before it and the `src` of a crate: `engine/core.rs` is enough.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;

const CURE: &str = "name the file where this is today";

/// Checks the text of one file; `known` comes from [`ends_of`].
pub(crate) fn check(path: &str, text: &str, known: &BTreeSet<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_file_name(name)) {
            if !known.contains(name) {
                found.push(Finding::new(path, at + 1, format!("`{name}` does not exist"), CURE));
            }
        }
    }
    found
}

/// Every way to name the Rust files of the workspace from the end.
pub(crate) fn ends_of(files: &[String]) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        for written in [path.clone(), path.replace("/src/", "/")] {
            let starts = written.match_indices('/').map(|(at, _)| at + 1).chain([0]);
            known.extend(starts.filter_map(|at| written.get(at..)).map(str::to_owned));
        }
    }
    known
}

fn is_file_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '-' | '.');
    text.strip_suffix(".rs").is_some_and(|stem| !stem.is_empty() && stem.chars().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_named_from_any_folder_on_and_must_exist() {
        let known = ends_of(&["src-tauri/crates/engine/src/tasks/ledger.rs".to_owned()]);
        let found = |text: &str| check("a.rs", text, &known).len();
        assert_eq!(found("Read `ledger.rs`, `tasks/ledger.rs` or `engine/tasks/ledger.rs`."), 0);
        assert_eq!(found("Read `calls/ledger.rs` and `book.rs` next."), 2);
        assert_eq!(found("`*.rs`, `.rs` and `cargo test` are no files"), 0);
    }
}
