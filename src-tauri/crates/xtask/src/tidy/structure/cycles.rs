//! Imports do not run in circles: not between folders, and within a folder between three files at most.
//!
//! A file with a folder of its own is the face of that folder and belongs to it. Folders are compared where their
//! paths part, so a folder and one inside of it are no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Module, imports, module_of};
use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Files of one folder that may import each other in a circle.
const MOST: usize = 3;
const CURE: &str = "move what both need to where both may import it, or pass it as a parameter";

type Edges = BTreeMap<Module, BTreeSet<Module>>;

/// Checks every crate.
pub(crate) fn check(sources: &[&Source]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(Module, &Source)>> = BTreeMap::new();
    for source in sources {
        if let Some((krate, module)) = module_of(&source.path) {
            crates.entry(krate).or_default().push((module, source));
        }
    }
    crates.into_values().flat_map(|files| check_crate(&files)).collect()
}

fn check_crate(files: &[(Module, &Source)]) -> Vec<Finding> {
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let edges: Edges = files.iter().map(|(of, source)| (of.clone(), imports(source, of, &modules))).collect();
    let faces: BTreeSet<Module> =
        modules.iter().filter_map(|of| of.split_last().map(|(_, folder)| folder.to_vec())).collect();
    let folder = |of: &Module| match of.split_last() {
        Some((_, outside)) if !faces.contains(of) => outside.to_vec(),
        _ => of.clone(),
    };
    let place = |of: &Module| files.iter().find(|(module, _)| module.starts_with(of)).map_or("", |(_, at)| &at.path);

    let mut between = Edges::new();
    let mut within: BTreeMap<Module, Edges> = BTreeMap::new();
    for (from, to) in &edges {
        let room = within.entry(folder(from)).or_default().entry(from.clone()).or_default();
        room.extend(to.iter().filter(|to| folder(to) == folder(from)).cloned());
        for to in to {
            let (one, other) = parted(&folder(from), &folder(to));
            if one != other && one.len() == other.len() {
                between.entry(one).or_default().insert(other);
            }
        }
    }
    let name = |of: &Module| of.join("::");
    let mut found = Vec::new();
    for circle in circles(&between) {
        let names = circle.iter().map(name).collect::<Vec<_>>().join("`, `");
        let at = circle.first().map_or("", |of| place(of));
        found.push(Finding::new(at, 1, format!("folders import each other: `{names}`"), CURE));
    }
    for circle in within.values().flat_map(circles).filter(|circle| circle.len() > MOST) {
        let names = circle.iter().map(name).collect::<Vec<_>>().join("`, `");
        let at = circle.first().map_or("", |of| place(of));
        found.push(Finding::new(at, 1, format!("{} files import each other: `{names}`", circle.len()), CURE));
    }
    found
}

/// Two folders at the level where their paths part.
fn parted(one: &Module, other: &Module) -> (Module, Module) {
    let shared = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let upto = |of: &Module| of.iter().take(shared + 1).cloned().collect();
    (upto(one), upto(other))
}

/// Groups of nodes that reach each other, each once.
fn circles(edges: &Edges) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = edges.keys().map(|from| (from, reached(from, edges))).collect();
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for (from, to) in &reach {
        if done.contains(from) || !to.contains(from) {
            continue;
        }
        let circle: Vec<Module> = to
            .iter()
            .filter(|of| reach.get(**of).is_some_and(|back| back.contains(from)))
            .map(|of| (*of).clone())
            .collect();
        done.extend(reach.keys().filter(|of| circle.contains(of)).copied());
        found.push(circle);
    }
    found
}

fn reached<'a>(from: &Module, edges: &'a Edges) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
    while let Some(of) = next.pop() {
        if found.insert(of) {
            next.extend(edges.get(of).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::read(&format!("src-tauri/crates/a/src/{path}.rs"), text)).collect();
        check(&sources.iter().collect::<Vec<_>>()).into_iter().map(|found| found.rule).collect()
    }

    #[test]
    fn two_folders_do_not_import_each_other() {
        let one_way = [("calls/send", "use crate::tasks::Row;"), ("tasks/list", ""), ("calls", ""), ("tasks", "")];
        assert!(rules(&one_way).is_empty(), "one direction is what folders are for");
        let both = [
            ("calls/send", "use crate::tasks::Row;"),
            ("tasks/list", "use crate::calls::send;"),
            ("calls", ""),
            ("tasks", ""),
        ];
        assert_eq!(rules(&both), ["folders import each other: `calls`, `tasks`"]);
        let inside = [("calls", "mod send;"), ("calls/send", "use super::Call;"), ("lib", "use calls::send;")];
        assert!(rules(&inside).is_empty(), "a folder and what is in it are one");
    }

    #[test]
    fn up_to_three_files_may_lean_on_each_other() {
        let circle = |names: &[&str]| {
            let files: Vec<(String, String)> = names
                .iter()
                .zip(names.iter().cycle().skip(1))
                .map(|(of, next)| (format!("x/{of}"), format!("use crate::x::{next}::F;")))
                .collect();
            rules(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>()).len()
        };
        assert_eq!(circle(&["a", "b", "c"]), 0);
        assert_eq!(circle(&["a", "b", "c", "d"]), 1);
    }
}
