//! The root folder holds six entries, what tools demand, and dotfiles (architecture, decision 2).

use super::finding::Finding;

const ENTRIES: [&str; 9] =
    ["Cargo.toml", "README.md", "icons", "src-tauri", "tests", "ui", "Cargo.lock", "LICENSE", "rust-toolchain.toml"];

/// Finds entries that do not belong there.
pub(crate) fn check(names: &[String]) -> Vec<Finding> {
    let strange = names.iter().filter(|name| !name.starts_with('.') && !ENTRIES.contains(&name.as_str()));
    strange
        .map(|name| Finding::new(name, 1, "does not belong in the root folder", "move it to where it is used"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_agreed_entries_and_dotfiles_stand_in_the_root() {
        let names = ["Cargo.toml", ".ci", "src-tauri", "docs", "notes.txt"].map(str::to_owned);
        let found: Vec<String> = check(&names).into_iter().map(|found| found.path).collect();
        assert_eq!(found, ["docs", "notes.txt"], "what nobody agreed on");
    }
}
