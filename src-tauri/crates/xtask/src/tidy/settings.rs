//! Tool settings in the repository do not choose a registry either.
//!
//! Which registry, proxy or certificate a machine uses is the machine's business.

use super::finding::Finding;

const CURE: &str = "leave it to the settings of the machine";

/// Whether this file sets up a package tool.
pub(crate) fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, ".npmrc" | "pip.conf") || path == ".cargo/config.toml" || name.starts_with("requirements")
}

/// Finds the choice of a registry.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let chooses = |line: &str| {
        let line = line.trim_start();
        [
            "registry=",
            "registry =",
            "[source.",
            "[registries.",
            "index-url",
            "--index-url",
            "--extra-index-url",
            "proxy",
        ]
        .iter()
        .any(|word| line.starts_with(word))
            || line.contains(":registry=")
            || line.contains("_authToken")
    };
    let lines = text.lines().enumerate().filter(|(_, line)| chooses(line));
    lines.map(|(at, _)| Finding::new(path, at + 1, "chooses a registry", CURE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_registry_is_found() {
        for (path, text) in [
            (".npmrc", "registry=https://mirror.example"),
            ("tests/peers/.npmrc", "@scope:registry=https://mirror.example"),
            (".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\""),
            ("requirements.txt", "--index-url https://mirror.example"),
        ] {
            assert!(is_settings(path), "{path}");
            assert_eq!(check(path, text).len(), 1, "{path}: {text}");
        }
        assert!(check(".npmrc", "omit-lockfile-registry-resolved=true").is_empty(), "this names no registry");
    }
}
