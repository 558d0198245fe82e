//! The table "Where to start" of ARCHITECTURE.md leads to places that exist.

use crate::tidy::finding::Finding;

/// Where the table is.
pub(crate) const PAGE: &str = "src-tauri/ARCHITECTURE.md";
const HEADING: &str = "## Where to start";
const LEAST: usize = 10;
const CURE: &str = "name the path where a newcomer finds it today";

/// Checks every row: one question, one path.
pub(crate) fn check(text: &str, files: &[String]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut rows = 0;
    let section = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    for (at, line) in section.take_while(|(_, line)| !line.starts_with("## ")) {
        let Some(path) = line.strip_suffix("` |").and_then(|row| row.rsplit_once('`')).map(|(_, path)| path) else {
            continue;
        };
        rows += 1;
        let inside = format!("{path}/");
        if !files.iter().any(|file| file == path || file.starts_with(&inside)) {
            found.push(Finding::new(PAGE, at + 1, format!("`{path}` does not exist"), CURE));
        }
    }
    if rows < LEAST {
        let rule = format!("`{HEADING}` answers {rows} questions, fewer than {LEAST}");
        found.push(Finding::new(PAGE, 1, rule, CURE));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_path_that_exists() {
        let rows: String = (0..LEAST).map(|at| format!("| question {at} | `a/b.rs` |\n")).collect();
        let page = format!("# Title\n\n{HEADING}\n\n| question | path |\n|---|---|\n{rows}\n## Next\n");
        let files = ["a/b.rs".to_owned()];
        assert!(check(&page, &files).is_empty());
        assert_eq!(check(&page.replace("1 | `a/b.rs`", "1 | `a/c.rs`"), &files).len(), 1);
        assert!(check(&page.replace("`a/b.rs`", "`a`"), &files).is_empty(), "a folder is a place");
        assert_eq!(check("# Title\n", &files).len(), 1, "no table");
    }
}
