//! Packages of `Cargo.lock`, whatever platform they are for, and where they come from.

use semver::Version;
use toml::{Table, Value};

use crate::failure::Failure;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// One package of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: Version,
    source: Option<String>,
    /// SHA-256 of its archive, hexadecimal.
    pub(crate) checksum: Option<String>,
}

impl Locked {
    /// Whether somebody else wrote it.
    pub(crate) const fn is_foreign(&self) -> bool {
        self.source.is_some()
    }
}

/// Reads a lock file.
pub(crate) fn read(text: &str) -> Result<Vec<Locked>, Failure> {
    let unreadable = |why: String| Failure::new(format!("`Cargo.lock` cannot be read: {why}"), "Restore it with git.");
    let table: Table = toml::from_str(text).map_err(|error| unreadable(error.message().to_owned()))?;
    let packages = table.get("package").and_then(Value::as_array).cloned().unwrap_or_default();
    packages
        .iter()
        .map(|package| {
            let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
            let name = text("name").ok_or_else(|| unreadable("a package has no name".into()))?;
            let version = text("version").and_then(|version| version.parse().ok());
            let version = version.ok_or_else(|| unreadable(format!("`{name}` has no version")))?;
            Ok(Locked { name, version, source: text("source"), checksum: text("checksum") })
        })
        .collect()
}

/// Finds packages that come from elsewhere, or whose content nobody wrote down.
pub(crate) fn check(locked: &[Locked]) -> Vec<String> {
    let foreign = locked.iter().filter(|package| package.is_foreign());
    let strange = foreign.filter(|package| package.source.as_deref() != Some(CRATES_IO) || package.checksum.is_none());
    strange
        .map(|package| {
            format!("{} {}: not from crates.io with a checksum; take it from there", package.name, package.version)
        })
        .collect()
}

#[cfg(test)]
pub(crate) fn foreign(name: &str, version: &str) -> Locked {
    let version = version.parse().unwrap();
    Locked { name: name.into(), version, source: Some(CRATES_IO.into()), checksum: Some("ab".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_from_elsewhere_or_without_a_checksum_is_found() {
        let text = format!(
            "[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\
             [[package]]\nname = \"good\"\nversion = \"1.0.0\"\nsource = \"{CRATES_IO}\"\nchecksum = \"ab\"\n\
             [[package]]\nname = \"bare\"\nversion = \"1.0.0\"\nsource = \"{CRATES_IO}\"\n\
             [[package]]\nname = \"git\"\nversion = \"1.0.0\"\nsource = \"git+https://example.org/x\"\n"
        );
        let found = check(&read(&text).unwrap());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("bare") && found[1].starts_with("git"), "{found:?}");
    }
}
