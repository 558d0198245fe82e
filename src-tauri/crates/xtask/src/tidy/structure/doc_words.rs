//! A doc comment says something that the name and the type do not, or it is left out.
//!
//! One or two words never do. Headers of files are checked by `doc.rs`.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

const LEAST: usize = 3;
const CURE: &str = "say what the name does not say, or leave the comment out";

/// Finds doc comments of fewer than three words.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut block: Option<(usize, usize)> = None;
    for (at, line) in source.text.lines().chain([""]).enumerate() {
        if let Some(words) = line.trim_start().strip_prefix("///") {
            let (first, before) = block.unwrap_or((at + 1, 0));
            block = Some((first, before + words.split_whitespace().count()));
        } else if let Some((first, words)) = block.take()
            && words < LEAST
        {
            found.push(Finding::new(&source.path, first, "a doc comment of one or two words", CURE));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Source::read("a.rs", text)).into_iter().map(|found| found.line).collect()
    }

    #[test]
    fn a_comment_of_two_words_is_found_and_one_of_three_is_not() {
        assert_eq!(lines("/// When.\nfn a() {}\n/// Its name.\nfn b() {}\n"), [1, 3]);
        assert!(lines("/// Counts open tasks.\nfn a() {}\n").is_empty());
        assert!(lines("/// Counts\n/// open tasks.\nfn a() {}\n").is_empty(), "two lines are one comment");
    }
}
