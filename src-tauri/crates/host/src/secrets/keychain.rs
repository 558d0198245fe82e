//! Secrets in the operating system's keychain.
//!
//! Every use runs on a thread of its own with a limit: the keychain may ask its person to unlock it, and its client
//! library blocks on a runtime that must not be ours. Items are named by the data directory's vault id.

use std::sync::mpsc;
use std::time::Duration;

use domain::ports::{Secret, SecretError};
use keyring::Entry;

/// What items are filed under.
const SERVICE: &str = "taskwarden";

pub(super) struct Keychain {
    vault: String,
    limit: Duration,
}

impl Keychain {
    pub(super) fn new(vault: &str, limit: Duration) -> Self {
        Self { vault: vault.to_owned(), limit }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        self.on_thread(name, |entry| match entry.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(said(&error)),
        })
        .map_err(SecretError)
    }

    pub(super) fn set(&self, name: &str, secret: Option<&Secret>) -> Result<(), SecretError> {
        let secret = secret.cloned();
        self.on_thread(name, move |entry| {
            let done = match &secret {
                Some(secret) => entry.set_password(secret.reveal()),
                None => entry.delete_credential(),
            };
            match done {
                Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
                Err(error) => Err(said(&error)),
            }
        })
        .map_err(SecretError)
    }

    /// A real set, get and delete: a locked keychain says that it is fine and fails at `set`.
    pub(super) fn probe(&self) -> Result<(), String> {
        let name = format!("probe-{}", std::process::id());
        let word = format!("{:x}", (crate::os::random::draw())());
        self.on_thread(&name, move |entry| {
            entry.set_password(&word).map_err(|error| said(&error))?;
            let back = entry.get_password().map_err(|error| said(&error));
            let gone = entry.delete_credential().map_err(|error| said(&error));
            if back? != word {
                return Err("the keychain returned something other than what was stored".into());
            }
            gone
        })
    }

    fn on_thread<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Entry) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let user = format!("{}/{name}", self.vault);
        // One answer comes, or none.
        let (answer, answered) = mpsc::sync_channel(1);
        let started = std::thread::Builder::new().name("keychain".into()).spawn(move || {
            let outcome = match Entry::store_status() {
                Err(error) => Err(said(error)),
                Ok(()) => Entry::new(SERVICE, &user).map_err(|error| said(&error)).and_then(|entry| work(&entry)),
            };
            // The caller may have timed out; then nobody needs the answer.
            let _ = answer.send(outcome);
        });
        started.map_err(|error| format!("a thread for the keychain could not be started: {error}"))?;
        match answered.recv_timeout(self.limit) {
            Ok(outcome) => outcome,
            Err(mpsc::RecvTimeoutError::Timeout) => Err("the keychain did not answer".into()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err("the keychain's client crashed".into()),
        }
    }
}

/// The keychain's error as text; variants that could contain bytes of a secret are named, not printed.
fn said(error: &keyring::Error) -> String {
    match error {
        keyring::Error::NoStorageAccess(why) => format!("the keychain is locked or closed: {why}"),
        keyring::Error::PlatformFailure(why) => format!("the keychain failed: {why}"),
        keyring::Error::BadEncoding(_) => "the keychain holds something that is not text".into(),
        keyring::Error::NoEntry => "the keychain has no such item".into(),
        keyring::Error::NoDefaultStore => "there is no keychain in this session".into(),
        keyring::Error::TooLong(name, most) => format!("`{name}` is longer than {most} characters"),
        _ => "the keychain cannot be used here".into(),
    }
}
