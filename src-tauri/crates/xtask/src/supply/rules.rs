//! The rules as `.config/deny.toml` has them. Only the keys that are used here are read.

use toml::{Table, Value};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Where they stand.
pub(crate) const PATH: &str = ".config/deny.toml";

/// What is allowed, and the exceptions by name.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Licences, as SPDX names them.
    pub(crate) licences: Vec<String>,
    /// Advisories that are known and accepted.
    pub(crate) accepted: Vec<String>,
    /// Packages that may come in several versions, as `name@version`.
    pub(crate) duplicates: Vec<String>,
    /// Packages with a known fault, as `name@=version`.
    pub(crate) denied: Vec<String>,
}

/// Reads them.
pub(crate) fn read(workspace: &Workspace) -> Result<Rules, Failure> {
    parse(&workspace.read(PATH)?)
        .map_err(|why| Failure::new(format!("`{PATH}` cannot be read: {why}"), "Write it as cargo-deny documents it."))
}

fn parse(text: &str) -> Result<Rules, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let list = |section: &str, key: &str, name: &str| -> Result<Vec<String>, String> {
        let entries = table.get(section).and_then(|section| section.get(key)).and_then(Value::as_array);
        entries.into_iter().flatten().map(|entry| named(entry, name).ok_or(format!("{section}.{key}"))).collect()
    };
    Ok(Rules {
        licences: list("licenses", "allow", "")?,
        accepted: list("advisories", "ignore", "id")?,
        duplicates: list("bans", "skip", "crate")?,
        denied: list("bans", "deny", "crate")?,
    })
}

/// A name alone, or one with its reason; an exception without a reason is none.
fn named(entry: &Value, name: &str) -> Option<String> {
    if name.is_empty() {
        return entry.as_str().map(str::to_owned);
    }
    entry.get("reason")?.as_str().filter(|reason| !reason.trim().is_empty())?;
    entry.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_has_a_reason_or_the_rules_are_not_read() {
        let rules = parse(
            "[licenses]\nallow = [\"MIT\"]\n[advisories]\nignore = [{ id = \"R-1\", reason = \"not reached\" }]\n\
             [bans]\nskip = [{ crate = \"syn@1\", reason = \"of a build script\" }]\n",
        );
        let rules = rules.expect("they read");
        assert_eq!((rules.licences, rules.accepted), (vec!["MIT".to_owned()], vec!["R-1".to_owned()]));
        assert_eq!(rules.duplicates, ["syn@1"]);
        assert!(parse("[advisories]\nignore = [{ id = \"R-1\" }]\n").is_err(), "without one it is an oversight");
        assert!(parse("[advisories]\nignore = [\"R-1\"]\n").is_err(), "and so is a name alone");
    }
}
