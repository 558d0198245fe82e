//! The shell stays thin (architecture §3.10): what a window could decide belongs to `api` or `host`.
//!
//! Counts lines of code over the whole crate, without comments, blank lines and tests.

use super::finding::Finding;
use super::shipped::Shipped;
use super::source::Source;

const FOLDER: &str = "src-tauri/src/";
const MOST: usize = 900;

/// Counts the lines.
pub(crate) fn check(sources: &[Source], shipped: &Shipped) -> Option<Finding> {
    let ours = sources.iter().filter(|source| source.path.starts_with(FOLDER) && shipped.has(&source.path));
    let lines: usize = ours.map(Source::shipped_lines).sum();
    let rule = format!("the shell has {lines} lines of code, more than {MOST}");
    (lines > MOST).then(|| Finding::new(FOLDER, 1, rule, "move what is no window business to `host` or `api`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_may_be_full_but_not_longer() {
        let file = |lines: usize, more: &str| Source::read("src-tauri/src/a.rs", &("f();\n".repeat(lines) + more));
        let elsewhere = Source::read("src-tauri/crates/host/src/a.rs", &"f();\n".repeat(MOST));
        let full = [file(MOST, "// A comment.\n\n#[cfg(test)]\nmod tests {\n    f();\n}\n"), elsewhere];
        assert_eq!(check(&full, &Shipped::default()), None, "comments, tests and other crates do not count");
        assert!(check(&[file(MOST, "g();\n")], &Shipped::default()).is_some(), "one line more");
    }
}
