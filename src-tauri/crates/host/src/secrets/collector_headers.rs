//! Headers for collectors of the audit log and of its checkpoints: checked, stored in the vault, and held in memory once
//! they were read.
//!
//! Values never enter messages. Who sends them is `http/log_collectors.rs`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::audit::log_sink::{CollectorHeaderError, LogSink};
use domain::ports::{Secret, SecretError};
use parking_lot::Mutex;
use reqwest::header::{
    ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};

use super::Vault;

/// Headers that belong to the request itself.
const RESERVED: [HeaderName; 7] =
    [ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING];

/// Characters of a name that is shown back.
const SHOWN_CHARS: usize = 80;

/// The headers of all collectors of a kind.
pub(crate) struct CollectorHeaders {
    vault: Arc<Vault>,
    /// What the names of values in the vault begin with.
    kind: &'static str,
    known: Mutex<HashMap<u32, HeaderMap>>,
}

fn header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), CollectorHeaderError> {
    let shown = || domain::policy::plain_text(name, SHOWN_CHARS).replace('\n', " ");
    let bad = |why: &str| CollectorHeaderError::Unusable(format!("the header `{}` {why}", shown()));
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has a name that HTTP does not allow"))?;
    if RESERVED.contains(&parsed) {
        return Err(bad("belongs to the request itself and cannot be chosen"));
    }
    if value.reveal().trim().is_empty() {
        return Err(bad("has no value"));
    }
    let value = HeaderValue::from_str(value.reveal()).map_err(|_| bad("has a value that HTTP does not allow"))?;
    Ok((parsed, value))
}

impl CollectorHeaders {
    /// Of collectors that rows and tasks are sent to.
    pub(crate) fn of_sinks(vault: Arc<Vault>) -> Self {
        Self { vault, kind: "audit-sink", known: Mutex::default() }
    }

    /// Of collectors that checkpoints are copied to.
    pub(crate) fn of_anchors(vault: Arc<Vault>) -> Self {
        Self { vault, kind: "audit-anchor", known: Mutex::default() }
    }

    /// The name of a value in the vault.
    fn vault_name(&self, sink: u32, header: &str) -> String {
        format!("{}-{sink}/{}", self.kind, header.to_ascii_lowercase())
    }

    /// Stores values in place of earlier ones of these names; none when one of them cannot be sent.
    pub(crate) fn keep(&self, sink: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError> {
        let mut names = HashSet::new();
        for (name, value) in headers {
            let (parsed, _) = header(name, value)?;
            if !names.insert(parsed) {
                return Err(CollectorHeaderError::Unusable(format!(
                    "the header `{name}` is given twice; upper and lower case are the same"
                )));
            }
        }
        self.known.lock().remove(&sink);
        let store = |(name, value): &(String, Secret)| self.vault.write(&self.vault_name(sink, name), Some(value));
        headers.iter().try_for_each(store).map_err(|SecretError(why)| CollectorHeaderError::NotStored(why))
    }

    pub(crate) fn forget(&self, sink: u32, names: &[String]) {
        self.known.lock().remove(&sink);
        for name in names {
            // A value that cannot be forgotten belongs to no sink any more; `doctor` tells about the place itself.
            let _ = self.vault.write(&self.vault_name(sink, name), None);
        }
    }

    /// The headers of a request to this collector.
    ///
    /// # Errors
    /// When one is not there or cannot be read; the text is the second half of a sentence about the collector.
    pub(crate) fn of(&self, sink: &LogSink) -> Result<HeaderMap, SecretError> {
        if let Some(known) = self.known.lock().get(&sink.id) {
            return Ok(known.clone());
        }
        let mut headers = HeaderMap::new();
        for name in &sink.headers {
            let stored = self.vault.read(&self.vault_name(sink.id, name))?;
            let value = stored.ok_or_else(|| SecretError(format!("the value of the header `{name}` is not there")))?;
            let (name, mut value) = header(name, &value).map_err(|error| SecretError(error.to_string()))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        self.known.lock().insert(sink.id, headers.clone());
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use domain::audit::log_sink::SinkSignal;

    use super::*;
    use crate::config::paths::Paths;
    use crate::config::{Config, SecretsChoice};

    fn sink(names: &[&str]) -> LogSink {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        LogSink::new(1, "https://collector.example".into(), names, &[SinkSignal::Logs], 1)
    }

    #[test]
    fn headers_outlive_a_restart_are_replaced_one_by_one_and_are_gone_with_their_sink() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = Config { secrets: SecretsChoice::File, ..Config::built_in(Paths::new(dir.path())) };
        let open = || CollectorHeaders::of_sinks(Arc::new(Vault::open(&config).expect("a vault")));
        let pair = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
        let headers = open();
        headers.keep(1, &[pair("Authorization", "Bearer a"), pair("X-Tenant", "t")]).expect("kept");
        headers.keep(1, &[pair("authorization", "Bearer b")]).expect("replaced");
        let names = ["Authorization", "X-Tenant"];
        for headers in [headers, open()] {
            let found = headers.of(&sink(&names)).expect("they are read");
            assert_eq!(
                (found["authorization"].as_bytes(), found["x-tenant"].as_bytes()),
                (&b"Bearer b"[..], &b"t"[..])
            );
            assert!(!format!("{found:?}").contains("Bearer"), "they are not shown");
        }
        let of_anchors = CollectorHeaders::of_anchors(Arc::new(Vault::open(&config).expect("a vault")));
        assert!(of_anchors.of(&sink(&names)).is_err(), "an anchor with the number of a sink does not get its headers");
        let headers = open();
        headers.forget(1, &names.map(str::to_owned));
        assert!(headers.of(&sink(&names)).expect_err("gone").0.contains("`Authorization` is not there"));
    }

    #[test]
    fn what_cannot_be_a_header_is_named_and_nothing_is_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = Config { secrets: SecretsChoice::File, ..Config::built_in(Paths::new(dir.path())) };
        let headers = CollectorHeaders::of_sinks(Arc::new(Vault::open(&config).expect("a vault")));
        for (name, value, word) in [
            ("two words", "v", "a name that HTTP"),
            ("Content-Type", "text/plain", "belongs to the request"),
            ("X-Key", "hush\nhush", "a value that HTTP"),
            ("X-Key", " \t ", "has no value"),
            ("x-good", "hush", "given twice"),
        ] {
            let pairs = [("X-Good".to_owned(), Secret::new("v")), (name.to_owned(), Secret::new(value))];
            let refused = headers.keep(1, &pairs).expect_err(name).to_string();
            assert!(refused.contains(word) && refused.contains(name) && !refused.contains("hush"), "{refused}");
            assert!(headers.of(&sink(&["X-Good"])).is_err(), "nothing is kept");
        }
    }
}
