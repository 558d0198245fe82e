//! No file is too long to be read in one go (style 9).
//!
//! The cure is a split by noun, never a longer limit.

use super::finding::Finding;

/// The most lines a file of this kind may have; `None` for kinds without a limit.
pub(crate) fn limit(path: &str) -> Option<usize> {
    if path.ends_with(".rs") {
        Some(500)
    } else if path.ends_with(".svelte") {
        Some(300)
    } else {
        None
    }
}

/// Counts the lines.
pub(crate) fn check(path: &str, text: &str) -> Option<Finding> {
    let most = limit(path)?;
    let lines = text.lines().count();
    let rule = format!("{lines} lines, more than {most}");
    (lines > most).then(|| Finding::new(path, most + 1, rule, "split it by noun (style 9, 10)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_full_but_not_longer() {
        assert_eq!(check("a.rs", &"x\n".repeat(500)), None, "exactly the limit");
        assert!(check("a.rs", &"x\n".repeat(501)).is_some(), "one line more");
        assert!(check("a.svelte", &"x\n".repeat(301)).is_some(), "components are shorter");
        assert_eq!(check("a.sql", &"x\n".repeat(900)), None, "no limit for this kind");
    }
}
