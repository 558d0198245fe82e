//! Which parts of a file exist for tests only.
//!
//! Finds items behind `#[cfg(test)]` (also inside `all(…)` and `any(…)`) by their braces, and modules that are
//! declared that way and live in a file of their own. It does not resolve paths: `shipped.rs` does.

use std::ops::Range;

/// The parts of one file.
#[derive(Debug, Default)]
pub(crate) struct TestCode {
    /// Modules in files of their own.
    pub(crate) modules: Vec<String>,
    ranges: Vec<Range<usize>>,
}

impl TestCode {
    /// Finds them in code without comments and texts.
    pub(crate) fn find(code: &str) -> Self {
        let mut found = Self::default();
        for (at, opening) in code.match_indices("#[cfg(") {
            let Some(condition) = code.get(at + opening.len()..) else { continue };
            let Some((condition, item)) = condition.split_once(")]") else { continue };
            if !is_for_tests(condition) {
                continue;
            }
            let start = code.len() - item.len();
            let length = item_length(item);
            found.ranges.push(at..start + length);
            found.modules.extend(module_in_a_file(item.get(..length).unwrap_or(item)));
        }
        found
    }

    /// Whether this offset is inside a test item.
    pub(crate) fn covers(&self, at: usize) -> bool {
        self.ranges.iter().any(|range| range.contains(&at))
    }
}

fn is_for_tests(condition: &str) -> bool {
    let condition = condition.trim_start();
    let parts = condition.strip_prefix("all(").or_else(|| condition.strip_prefix("any(")).unwrap_or(condition);
    parts.split(',').any(|part| part.trim().trim_end_matches(')') == "test")
}

/// Bytes to the end of the item: its closing brace, or a semicolon before any brace.
fn item_length(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in item.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    item.len()
}

/// `mod name;` → `name`.
fn module_in_a_file(item: &str) -> Option<String> {
    let declared = item.trim().strip_suffix(';')?;
    let mut words = declared.split_whitespace().rev();
    let name = words.next()?;
    (words.next()? == "mod").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_for_tests_end_with_their_brace() {
        let code = "#[cfg(all(test, unix))]\nfn a() { if x { y } }\nfn b() {}";
        let found = TestCode::find(code);
        assert!(found.covers(code.find('y').unwrap()), "inside");
        assert!(!found.covers(code.find('b').unwrap()), "after it");
    }

    #[test]
    fn modules_in_files_of_their_own_are_named() {
        let found = TestCode::find("#[cfg(test)]\nmod story;\n#[cfg(test)]\npub(crate) mod scripts;\nmod shipped;");
        assert_eq!(found.modules, ["story", "scripts"], "both kinds of visibility");
    }

    #[test]
    fn code_that_is_not_for_tests_is_left_alone() {
        for shipped in
            ["#[cfg(not(test))]\nfn a() {}", "#[cfg(unix)]\nfn a() {}", "#[cfg(any(unix, testing))] fn a() {}"]
        {
            assert!(!TestCode::find(shipped).covers(shipped.find('a').unwrap()), "`{shipped}` ships");
        }
    }
}
