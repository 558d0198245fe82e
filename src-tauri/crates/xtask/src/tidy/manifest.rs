//! The few facts of a Cargo.toml that the checks need.
//!
//! Reads tables and keys line by line, which is all that our manifests use. A dependency written in a way it does
//! not know is reported as one without the shared version, so nothing passes unread.

/// For what a dependency is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It ships.
    Normal,
    /// Tests and examples only.
    Dev,
    /// Build scripts.
    Build,
}

/// One dependency of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name it has in code.
    pub(crate) name: String,
    /// For what.
    pub(crate) used: Use,
    /// Whether its version comes from the root manifest.
    pub(crate) is_shared: bool,
    /// From 1.
    pub(crate) line: usize,
}

/// All dependencies, also those for one platform.
pub(crate) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut table = Table::Other;
    for (at, line) in text.lines().enumerate() {
        let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = Table::of(header);
            if let Table::One(used, name) = &table {
                found.push(Dependency { name: name.clone(), used: *used, is_shared: false, line: at + 1 });
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|(key, _)| !key.starts_with('#')) else { continue };
        let (key, value) = (key.trim(), value.trim());
        match &table {
            Table::Many(used) => found.push(one_line(key, value, *used, at + 1)),
            Table::One(..) if key == "workspace" && value == "true" => {
                if let Some(last) = found.last_mut() {
                    last.is_shared = true;
                }
            }
            Table::One(..) | Table::Other => {}
        }
    }
    found
}

/// Whether the crate takes over the lints of the workspace.
pub(crate) fn has_shared_lints(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.any(|line| line.replace(' ', "") == "workspace=true")
}

/// Where a crate says that its library has no tests.
pub(crate) fn library_without_tests(text: &str) -> Option<usize> {
    let mut table = "";
    text.lines().map(str::trim).enumerate().find_map(|(at, line)| {
        if line.starts_with('[') {
            table = line;
        }
        let line = line.split('#').next().unwrap_or_default().replace(' ', "");
        (table == "[lib]" && line == "test=false").then_some(at + 1)
    })
}

enum Table {
    /// `[dependencies]`
    Many(Use),
    /// `[dependencies.name]`
    One(Use, String),
    Other,
}

impl Table {
    fn of(header: &str) -> Self {
        // `[target.'cfg(unix)'.dependencies]`: what is before the last part does not matter.
        for (word, used) in
            [("dev-dependencies", Use::Dev), ("build-dependencies", Use::Build), ("dependencies", Use::Normal)]
        {
            if header == word || header.ends_with(&format!(".{word}")) && header.starts_with("target.") {
                return Self::Many(used);
            }
            if let Some((before, name)) = header.rsplit_once('.')
                && (before == word || before.ends_with(&format!(".{word}")) && before.starts_with("target."))
            {
                return Self::One(used, name.trim_matches('"').to_owned());
            }
        }
        Self::Other
    }
}

fn one_line(key: &str, value: &str, used: Use, line: usize) -> Dependency {
    let dotted = key.strip_suffix(".workspace");
    let is_shared = dotted.is_some() && value == "true"
        || value.replace(' ', "").split(['{', ',', '}']).any(|part| part == "workspace=true");
    Dependency { name: dotted.unwrap_or(key).trim_matches('"').to_owned(), used, is_shared, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(name: &str, used: Use, is_shared: bool, line: usize) -> Dependency {
        Dependency { name: name.to_owned(), used, is_shared, line }
    }

    #[test]
    fn only_a_library_without_tests_is_found() {
        let text = "[lib]\nname = \"a\"\ntest = false # why\n";
        assert_eq!(library_without_tests(text), Some(3));
        assert_eq!(library_without_tests("[lib]\ndoctest = false\n[[bin]]\ntest = false\n"), None);
    }

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        let text = "\
[package]
name = \"x\"
[dependencies]
a.workspace = true
b = { workspace = true, features = [\"f\"] }
c = \"1.0\" # why
[dependencies.d]
workspace = true
[dev-dependencies]
e.workspace = true
[target.'cfg(unix)'.dependencies]
f = { version = \"1\" }
[lints]
workspace = true
";
        let expected = [
            dependency("a", Use::Normal, true, 4),
            dependency("b", Use::Normal, true, 5),
            dependency("c", Use::Normal, false, 6),
            dependency("d", Use::Normal, true, 7),
            dependency("e", Use::Dev, true, 10),
            dependency("f", Use::Normal, false, 12),
        ];
        assert_eq!(dependencies(text), expected, "name, use, version and line of each");
        assert!(has_shared_lints(text), "the last table");
        assert!(!has_shared_lints("[lints]\n[dependencies]\n"), "no lints taken over");
    }
}
