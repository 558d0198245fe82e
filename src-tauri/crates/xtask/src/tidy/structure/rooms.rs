//! No folder holds more files than a reader takes in at one look, and no file has a name that says nothing.
//!
//! Tests, stories and generated files do not count.

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;

const MOST: usize = 15;
/// Design components are many small files of one kind.
const MOST_DESIGN: usize = 20;
const SPLIT: &str = "move files that belong together into a folder with a name of its own";
const RENAME: &str = "use the word of the glossary: cancel, shutdown, poll, subscribe, lineage, dedup, count …";

/// File stems that the glossary replaced.
const NEVER: [&str; 36] = [
    "additions",
    "aloft",
    "aside",
    "attend",
    "book",
    "books",
    "coming",
    "company",
    "courier",
    "desk",
    "dice",
    "duplex",
    "errand",
    "fill",
    "flight",
    "follow",
    "gift",
    "given",
    "greeting",
    "guest",
    "kin",
    "leftover",
    "look",
    "mirrored",
    "moment",
    "parcels",
    "post",
    "repeats",
    "roster",
    "seat",
    "slices",
    "stop",
    "taken",
    "toolbox",
    "unasked",
    "weigh",
];

/// Counts the files of every folder.
pub(crate) fn check(files: &[String]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files.iter().filter(|path| counts(path)) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        *rooms.entry(folder).or_default() += 1;
        let stem = name.split('.').next().unwrap_or(name);
        if NEVER.contains(&stem) {
            found.push(Finding::new(path, 1, format!("the name `{stem}` says nothing to a newcomer"), RENAME));
        }
    }
    found.extend(rooms.into_iter().filter_map(|(folder, files)| {
        let most = if folder.starts_with("ui/src/lib/design") { MOST_DESIGN } else { MOST };
        (files > most).then(|| Finding::new(folder, 1, format!("{files} files, more than {most}"), SPLIT))
    }));
    found
}

fn counts(path: &str) -> bool {
    let ours = path.starts_with("src-tauri/") || path.starts_with("ui/src/");
    let kind = [".rs", ".svelte", ".ts"].iter().any(|end| path.ends_with(end));
    let aside = ["/tests/", "/stories/", "/examples/", "/bindings/"].iter().any(|part| path.contains(part))
        || [".test.ts", ".stories.svelte", "/tests.rs"].iter().any(|end| path.ends_with(end));
    ours && kind && !aside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: usize) -> Vec<String> {
        (0..files).map(|at| format!("{name}/file{at}.rs")).collect()
    }

    #[test]
    fn a_room_may_be_full_but_not_crowded() {
        assert!(check(&folder("src-tauri/crates/a/src", MOST)).is_empty());
        assert_eq!(check(&folder("src-tauri/crates/a/src", MOST + 1)).len(), 1);
        assert!(check(&folder("src-tauri/crates/a/tests/it", 40)).is_empty(), "tests do not count");
        assert!(check(&folder("tests/it", 40)).is_empty(), "nor do stories of the whole system");
    }

    #[test]
    fn names_that_the_glossary_replaced_are_found() {
        assert_eq!(check(&["src-tauri/crates/a/src/kin.rs".to_owned()]).len(), 1);
        assert_eq!(check(&["ui/src/lib/desk.ts".to_owned()]).len(), 1);
        assert!(check(&["src-tauri/crates/a/src/kinds.rs".to_owned()]).is_empty());
    }
}
