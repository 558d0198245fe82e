//! What only a publisher can fill in: who maintains the packages, and where updates of bundles come from and who signs them.
//!
//! Nothing is published yet, so both files have values that lead nowhere (RFC 2606). Packages that are tried out are made with
//! them; `--publish` refuses them before anything is built (decision 0111).

use serde_json::Value;

use crate::failure::Failure;
use crate::workspace::Workspace;

const PUBLISHER: &str = "src-tauri/packaging/publisher.json";
const UPDATER: &str = "src-tauri/packaging/updater.conf.json";

/// How a name ends that never resolves (RFC 2606).
const NOWHERE: &str = ".invalid";

/// The values of both files.
#[derive(Debug)]
pub(super) struct Publisher {
    /// A name and an address, as packages have it.
    pub(super) maintainer: String,
    /// Where a bundle asks for updates.
    endpoints: Vec<String>,
    /// The key that updates are checked with.
    key: String,
}

impl Publisher {
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Failure> {
        let read = |path: &str| read(path, &workspace.read(path)?);
        Self::from_files(&read(PUBLISHER)?, &read(UPDATER)?)
    }

    fn from_files(publisher: &Value, updater: &Value) -> Result<Self, Failure> {
        let missing =
            |name: &str, path: &str| Failure::new(format!("`{path}` has no `{name}`"), "Restore it with git.");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let maintainer = publisher.get("maintainer").and_then(text).ok_or_else(|| missing("maintainer", PUBLISHER))?;
        if maintainer.is_empty() || maintainer.contains(['\n', '\r']) {
            return Err(Failure::new(
                format!("`maintainer` in `{PUBLISHER}` is not one line"),
                "Write a name and an address.",
            ));
        }
        let of_updater = |name: &str| updater.pointer(&format!("/plugins/updater/{name}"));
        let endpoints =
            of_updater("endpoints").and_then(Value::as_array).ok_or_else(|| missing("endpoints", UPDATER))?;
        let endpoints = endpoints.iter().filter_map(text).collect();
        let key = of_updater("pubkey").and_then(text).ok_or_else(|| missing("pubkey", UPDATER))?;
        Ok(Self { maintainer, endpoints, key })
    }

    /// Refuses values that lead nowhere.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut left = Vec::new();
        if !leads_to_somebody(&self.maintainer) {
            left.push(format!("`maintainer` in `{PUBLISHER}` has no address that can be written to"));
        }
        if self.endpoints.is_empty() || !self.endpoints.iter().all(|address| leads_somewhere(address)) {
            left.push(format!("`endpoints` in `{UPDATER}` have no address (https) that can be reached"));
        }
        if self.key.trim().is_empty() {
            left.push(format!("`pubkey` in `{UPDATER}` is empty"));
        }
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            format!("what a publisher fills in is not there: {}", left.join("; ")),
            "Fill it in as docs/development.md says, or leave out `--publish` to try packages out.",
        ))
    }
}

fn read(path: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|why| Failure::new(format!("`{path}` cannot be read: {why}"), "Mend it, or restore it with git."))
}

/// `Name <somebody@host>`, at a host that may exist.
fn leads_to_somebody(maintainer: &str) -> bool {
    let address = maintainer.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    let host = address.and_then(|address| address.split_once('@')).map(|(_, host)| host);
    host.is_some_and(|host| host.contains('.') && !host.ends_with(NOWHERE))
}

fn leads_somewhere(address: &str) -> bool {
    let host = address.strip_prefix("https://").and_then(|rest| rest.split(['/', ':']).next());
    host.is_some_and(|host| !host.is_empty() && !host.ends_with(NOWHERE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn publisher(maintainer: &str, endpoint: &str, key: &str) -> Result<Publisher, Failure> {
        let updater = json!({"plugins": {"updater": {"endpoints": [endpoint], "pubkey": key}}});
        Publisher::from_files(&json!({"maintainer": maintainer}), &updater)
    }

    #[test]
    fn what_leads_nowhere_is_not_published_and_is_named() {
        let good = ("Ada <ada@example.org>", "https://updates.example.org/{{target}}", "dW50cnVzdGVk");
        publisher(good.0, good.1, good.2).unwrap().check().unwrap();
        for (bad, named) in [
            (("Ada <ada@example.invalid>", good.1, good.2), "maintainer"),
            (("Ada", good.1, good.2), "maintainer"),
            ((good.0, "https://updates.example.invalid/{{target}}", good.2), "endpoints"),
            ((good.0, "http://updates.example.org/", good.2), "endpoints"),
            ((good.0, good.1, " "), "pubkey"),
        ] {
            let refused = publisher(bad.0, bad.1, bad.2).unwrap().check().unwrap_err().to_string();
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn a_maintainer_is_one_line() {
        for broken in ["", "Ada <ada@example.org>\nDepends: x"] {
            assert!(publisher(broken, "https://a.example", "k").is_err(), "{broken:?}");
        }
    }

    #[test]
    fn the_files_of_the_repository_read_and_are_not_ready_to_publish() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let publisher = read(include_str!("../../../../packaging/publisher.json"));
        let updater = read(include_str!("../../../../packaging/updater.conf.json"));
        assert!(Publisher::from_files(&publisher, &updater).unwrap().check().is_err());
    }
}
