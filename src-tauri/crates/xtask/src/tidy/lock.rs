//! Lock files name packages and digests, never a place to download from.
//!
//! A clone must build with whatever registry its machine is set up for. The one address a Cargo lock may hold is the
//! name by which cargo knows crates.io, which every mirror stands in for.

use super::finding::Finding;

const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
const CURE: &str = "lock it again with the default registry (`omit-lockfile-registry-resolved` for npm)";

/// Whether this file is a lock.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "Cargo.lock" | "package-lock.json" | "npm-shrinkwrap.json" | "yarn.lock" | "pnpm-lock.yaml")
}

/// Finds addresses.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_address = |line: &str| {
        let line = line.trim();
        if path.ends_with("Cargo.lock") {
            line.starts_with("source = ") && line != CRATES_IO
        } else {
            (line.starts_with("\"resolved\"") || line.starts_with("resolved ") || line.contains("tarball:"))
                && line.contains("://")
        }
    };
    let lines = text.lines().enumerate().filter(|(_, line)| is_address(line));
    lines.map(|(at, _)| Finding::new(path, at + 1, "holds a download address", CURE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_crates_io_check_may_stand_in_a_cargo_lock() {
        let mirror = "source = \"registry+https://mirror.example/index\"";
        let text = format!("name = \"a\"\n{CRATES_IO}\n\nname = \"b\"\n{mirror}\n");
        let lines: Vec<usize> = check("Cargo.lock", &text).iter().map(|found| found.line).collect();
        assert_eq!(lines, [5], "the mirror, and not crates.io");
        assert_eq!(check("Cargo.lock", "source = \"git+https://example.org/a\"").len(), 1, "no git dependencies");
    }

    #[test]
    fn an_npm_lock_holds_digests_only() {
        let text = "{\n  \"resolved\": \"https://mirror.example/a.tgz\",\n  \"integrity\": \"sha512-x\"\n}";
        assert_eq!(check("tests/peers/package-lock.json", text).len(), 1, "the address");
        let local = "  \"resolved\": \"packages/a\",\n  \"homepage\": \"https://example.org\"";
        assert!(check("package-lock.json", local).is_empty(), "a workspace link and a homepage are no downloads");
    }
}
