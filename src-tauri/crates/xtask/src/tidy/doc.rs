//! Every Rust file opens with a module doc (style 37).
//!
//! Three to twelve lines once a file that ships is longer than a screen: what it is for, what it does not do, where to
//! read next. Tests need one sentence. Whether the words are true is for the reviewer.

use super::finding::Finding;
use super::shipped::Shipped;
use super::source::Source;

const LONG_FILE: usize = 60;
const LEAST: usize = 3;
const MOST: usize = 12;
const CURE: &str = "say what it is for, what it deliberately does not do and where to read next (style 37)";

/// Checks the first lines.
pub(crate) fn check(source: &Source, shipped: &Shipped) -> Option<Finding> {
    let lines = source.text.lines().take_while(|line| line.starts_with("//!")).count();
    let long = shipped.has(&source.path) && source.text.lines().count() > LONG_FILE;
    let rule = match lines {
        0 => "opens without a module doc".to_owned(),
        few if long && few < LEAST => format!("the module doc has {few} lines, fewer than {LEAST}, in a long file"),
        many if many > MOST => format!("the module doc has {many} lines, more than {MOST}"),
        _ => return None,
    };
    Some(Finding::new(&source.path, 1, rule, CURE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Option<String> {
        check(&Source::read("src-tauri/crates/mcp/src/a.rs", text), &Shipped::default()).map(|found| found.rule)
    }

    #[test]
    fn a_file_without_a_doc_is_found() {
        assert!(check_text("use std::fs;\n").is_some_and(|rule| rule.contains("without")), "no doc at all");
        assert!(check_text("// not a doc\n//! late\n").is_some(), "a doc that is not at the top");
        assert_eq!(check_text("//! Short and true.\nfn a() {}\n"), None, "a short file needs one line");
    }

    #[test]
    fn long_files_need_three_lines_and_no_doc_has_more_than_twelve() {
        let body = "fn a() {}\n".repeat(LONG_FILE);
        assert!(check_text(&format!("//! One line.\n{body}")).is_some_and(|rule| rule.contains("fewer")), "too short");
        assert_eq!(check_text(&format!("//! One.\n//!\n//! Three.\n{body}")), None, "just enough");
        assert!(check_text(&"//! Words.\n".repeat(13)).is_some_and(|rule| rule.contains("more")), "too long");
        let story = Source::read("tests/it/story.rs", &format!("//! One sentence.\n{body}"));
        assert_eq!(check(&story, &Shipped::default()), None, "tests need one sentence");
    }
}
