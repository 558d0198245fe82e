//! Which modules of its own crate a file names, as far as that follows from the text.
//!
//! Knows `use` trees and paths that begin with `crate`, `super`, `self` or a child module. Re-exports (`pub use`) do
//! not count: they are the face of a folder. Macros and globs of other crates are not seen.

use std::collections::BTreeSet;

use crate::tidy::source::Source;

/// A module as the names on the way to it from the root of its crate.
pub(crate) type Module = Vec<String>;

/// The crate of a file that ships, and its module; the root has no names.
pub(crate) fn module_of(path: &str) -> Option<(&str, Module)> {
    let (krate, inside) = match path.strip_prefix("src-tauri/crates/") {
        Some(rest) => rest.split_once("/src/")?,
        None => ("shell", path.strip_prefix("src-tauri/src/")?),
    };
    let stem = inside.strip_suffix(".rs")?;
    let names: Module = stem.split('/').map(str::to_owned).collect();
    match (names.first().map(String::as_str), names.len()) {
        (Some("lib" | "main"), 1) => Some((krate, Module::new())),
        (Some("bin"), _) => None,
        _ => Some((krate, names)),
    }
}

/// The modules that this file imports from or names in a path.
pub(crate) fn imports(source: &Source, module: &Module, modules: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut spans = Vec::new();
    for place in source.shipped_places("use ").filter(|place| starts_word(place.before)) {
        let Some((tree, _)) = place.after.split_once(';') else { continue };
        spans.push(place.at..place.at + "use ".len() + tree.len());
        let line = place.before.rsplit('\n').next().unwrap_or_default().trim();
        if line.is_empty() {
            let mut tokens = tokens(tree).into_iter().peekable();
            leaves(&mut tokens, &[], &mut found, &|path| target(path, module, modules));
        }
    }
    let children = modules.iter().filter(|of| of.len() == module.len() + 1 && of.starts_with(module));
    let heads =
        ["crate", "super", "self"].map(str::to_owned).into_iter().chain(children.filter_map(|of| of.last().cloned()));
    for head in heads {
        let needle = format!("{head}::");
        for place in source.shipped_places(&needle).filter(|place| starts_word(place.before)) {
            if !spans.iter().any(|span| span.contains(&place.at)) {
                let end = place.after.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
                let rest = place.after.get(..end.unwrap_or(place.after.len())).unwrap_or_default();
                let path: Vec<&str> = [head.as_str()].into_iter().chain(rest.split("::")).collect();
                found.extend(target(&path, module, modules));
            }
        }
    }
    found.remove(module);
    found
}

fn starts_word(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '.')
}

/// Names, `{`, `}` and `,` of a `use` tree.
fn tokens(tree: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = tree;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '{' | '}' | ',' | '*' => 1,
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            c => {
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
                continue;
            }
        };
        found.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default();
    }
    found
}

type Tokens<'a> = std::iter::Peekable<std::vec::IntoIter<&'a str>>;

/// Walks one branch of a tree and collects the modules of its leaves.
fn leaves<'a>(
    tokens: &mut Tokens<'a>,
    prefix: &[&'a str],
    found: &mut BTreeSet<Module>,
    target: &dyn Fn(&[&str]) -> Option<Module>,
) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.peek().copied() {
        match token {
            "," | "}" => break,
            "{" => {
                tokens.next();
                while tokens.peek().is_some_and(|token| *token != "}") {
                    leaves(tokens, &path, found, target);
                    if tokens.peek() == Some(&",") {
                        tokens.next();
                    }
                }
                tokens.next();
                return;
            }
            "as" => {
                tokens.next();
                tokens.next();
            }
            name => {
                path.push(name);
                tokens.next();
            }
        }
    }
    found.extend(target(&path));
}

/// The module that a path of this module leads to: the longest beginning that is one.
fn target(path: &[&str], module: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut at = match *path.first()? {
        "crate" => Module::new(),
        "self" | "super" => module.clone(),
        child => {
            let mut inside = module.clone();
            inside.push(child.to_owned());
            modules.contains(&inside).then(|| module.clone())?
        }
    };
    for name in path {
        match *name {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            name => at.push(name.to_owned()),
        }
    }
    while !at.is_empty() && !modules.contains(&at) {
        at.pop();
    }
    (!at.is_empty()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, module: &str, modules: &[&str]) -> Vec<String> {
        let split = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
        let all: BTreeSet<Module> = modules.iter().map(|name| split(name)).collect();
        let found = imports(&Source::read("a.rs", text), &split(module), &all);
        found.into_iter().map(|module| module.join("::")).collect()
    }

    #[test]
    fn a_file_is_a_module_of_its_crate() {
        let (krate, module) = module_of("src-tauri/crates/mcp/src/gateway/calls.rs").unwrap();
        assert_eq!((krate, module.join("::").as_str()), ("mcp", "gateway::calls"));
        assert_eq!(module_of("src-tauri/src/lib.rs"), Some(("shell", Module::new())));
        assert_eq!(module_of("tests/src/lib.rs"), None);
    }

    #[test]
    fn trees_of_use_and_paths_lead_to_modules() {
        let modules = ["a", "a::b", "a::c", "d"];
        assert_eq!(named("use crate::{a::{b::X, Y}, d as e};", "a::c", &modules), ["a", "a::b", "d"]);
        assert_eq!(named("use super::b::{self, X};", "a::c", &modules), ["a::b"]);
        assert_eq!(named("fn f() { crate::d::g(); b::h() }", "a", &modules), ["a::b", "d"]);
        assert!(named("pub use b::X;", "a", &modules).is_empty(), "a re-export is the face of a folder");
        assert!(named("// crate::d::g\nfn f() { x.d::<u8>() }", "a", &modules).is_empty());
    }
}
