//! Where secrets are stored: the operating system's keychain, or a file that only the user can read (ruling 9).
//!
//! The choice is made once per data directory and written to `secrets.place`, because the registry's seal key is stored
//! there too: a keychain that appears later must not hide the key that the registry was sealed with. The keychain is
//! probed by a real set, get and delete; a locked one that claims to work fails there. Errors never contain values.

mod collector_headers;
mod file;
mod keychain;
mod log_signer;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use domain::ids::ServerId;
use domain::ports::{Secret, SecretError, Secrets};
use serde::{Deserialize, Serialize};

use crate::config::paths::Paths;
use crate::config::{Config, SecretsChoice};
pub(crate) use collector_headers::CollectorHeaders;
use file::SecretFile;
pub(crate) use file::write_private;
use keychain::Keychain;
pub(crate) use log_signer::VaultSigner;

/// The name of the registry's key beside the servers' secrets.
const SEAL_KEY: &str = "registry-seal-key";

/// Letters of a vault's name: 64 random bits, so that two data directories never share one.
const VAULT_LETTERS: usize = 16;

/// The choice made for a data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Place {
    /// `keychain` or `file`.
    place: Kind,
    /// Names this data directory in the keychain, so that the directory can be moved.
    vault: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Keychain,
    File,
}

/// The secrets of one data directory.
pub(crate) struct Vault {
    store: Store,
    /// Where secrets are, for people.
    said: String,
}

enum Store {
    Keychain(Keychain),
    File(SecretFile),
}

/// Why secrets cannot be stored. Contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file that says where secrets are.
    #[error("`{path}` cannot be read or written: {why}")]
    Place { path: String, why: String },
    #[error("the keychain cannot be used: {0}")]
    Keychain(String),
    /// The secrets file or the keychain contains something invalid.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The registry is there and its key is not.
    #[error("the key of the registry is not in the {0}")]
    KeyGone(&'static str),
}

impl VaultError {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Place { .. } => "Check its owner and permissions, and that it is as Taskwarden wrote it.".into(),
            Self::Keychain(_) => "Unlock the keychain of your desktop session and try again.".into(),
            Self::Secret(_) => {
                "Run `taskwarden doctor`: it says whether the keychain is locked, or the secrets file is \
                 closed to you or must be restored from a backup."
                    .into()
            }
            Self::KeyGone(_) => {
                "Restore it from a backup. Without it the arguments, answers and results in the registry stay sealed; \
                 to start over, move the data folder away."
                    .into()
            }
        }
    }
}

impl Vault {
    /// The vault of a data directory. Chooses its place when the directory is new.
    ///
    /// # Errors
    /// When the chosen place cannot be used now.
    pub(crate) fn open(config: &Config) -> Result<Self, VaultError> {
        let path = config.paths.secrets_place();
        match read_place(&path)? {
            Some(place) => Self::at(&place, config),
            None => {
                let mut vault = hex::encode(crate::os::random::key());
                vault.truncate(VAULT_LETTERS);
                let keychain = Keychain::new(&vault, config.policy.hosting.keychain_limit);
                let (kind, why) = match config.secrets {
                    SecretsChoice::File => (Kind::File, "as configured".to_owned()),
                    SecretsChoice::Keychain => {
                        keychain.probe().map_err(VaultError::Keychain)?;
                        (Kind::Keychain, String::new())
                    }
                    SecretsChoice::Auto => match keychain.probe() {
                        Ok(()) => (Kind::Keychain, String::new()),
                        Err(why) => (Kind::File, why),
                    },
                };
                let place = Place { place: kind, vault };
                write_place(&path, &place)?;
                if kind == Kind::File {
                    tracing::info!(why, "secrets are in a file that only the user can read");
                }
                Self::at(&place, config)
            }
        }
    }

    /// Whether secrets are in a file that only the user can read.
    pub(crate) fn is_in_file(&self) -> bool {
        match self.store {
            Store::File(_) => true,
            Store::Keychain(_) => false,
        }
    }

    /// The vault as it was chosen before; `None` for a directory that has none yet.
    ///
    /// # Errors
    /// When the place file cannot be read.
    pub(crate) fn find(config: &Config) -> Result<Option<Self>, VaultError> {
        match read_place(&config.paths.secrets_place())? {
            Some(place) => Self::at(&place, config).map(Some),
            None => Ok(None),
        }
    }

    fn at(place: &Place, config: &Config) -> Result<Self, VaultError> {
        let limit = config.policy.hosting.keychain_limit;
        Ok(match place.place {
            Kind::Keychain => Self {
                store: Store::Keychain(Keychain::new(&place.vault, limit)),
                said: "the keychain of the operating system".into(),
            },
            Kind::File => Self {
                said: format!("the file `{}`, which only you can read", config.paths.secrets().display()),
                store: Store::File(SecretFile::new(config.paths.secrets(), config.policy.hosting.small_file_bytes)),
            },
        })
    }

    /// The key that seals the registry's private fields. Made once, when there is no registry yet.
    ///
    /// # Errors
    /// When it cannot be read or stored, or the registry is there and its key is not.
    pub(crate) fn seal_key(&self, paths: &Paths) -> Result<[u8; 32], VaultError> {
        if let Some(text) = self.read(SEAL_KEY)? {
            return key_from_text(text.reveal())
                .ok_or_else(|| SecretError("the registry's key is damaged".into()).into());
        }
        if paths.registry().exists() {
            return Err(VaultError::KeyGone(match self.store {
                Store::Keychain(_) => "keychain",
                Store::File(_) => "secrets file",
            }));
        }
        let key = crate::os::random::key();
        self.write(SEAL_KEY, Some(&Secret::new(hex::encode(key))))?;
        Ok(key)
    }

    /// Tries a real set, get and delete in the chosen store.
    ///
    /// # Errors
    /// One line, without a secret.
    pub(crate) fn probe(&self) -> Result<(), String> {
        match &self.store {
            Store::Keychain(keychain) => keychain.probe(),
            Store::File(file) => file.check(),
        }
    }

    /// Whether secrets are in the keychain.
    #[must_use]
    pub(crate) fn is_keychain(&self) -> bool {
        matches!(self.store, Store::Keychain(_))
    }

    fn read(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        match &self.store {
            Store::Keychain(keychain) => keychain.get(name),
            Store::File(file) => file.get(name),
        }
    }

    fn write(&self, name: &str, secret: Option<&Secret>) -> Result<(), SecretError> {
        match &self.store {
            Store::Keychain(keychain) => keychain.set(name, secret),
            Store::File(file) => file.set(name, secret),
        }
    }
}

/// Whether the desktop's keychain could be used, tried for `doctor` beside the chosen place.
pub(crate) fn keychain_works(limit: Duration) -> Result<(), String> {
    Keychain::new("probe", limit).probe()
}

impl Secrets for Vault {
    fn get(&self, server: ServerId, name: &str) -> Result<Option<Secret>, SecretError> {
        self.read(&format!("{server}/{name}"))
    }

    fn put(&self, server: ServerId, name: &str, secret: &Secret) -> Result<(), SecretError> {
        self.write(&format!("{server}/{name}"), Some(secret))
    }

    fn forget(&self, server: ServerId, name: &str) -> Result<(), SecretError> {
        self.write(&format!("{server}/{name}"), None)
    }

    fn describe(&self) -> String {
        self.said.clone()
    }
}

fn read_place(path: &Path) -> Result<Option<Place>, VaultError> {
    let failed = |why: String| VaultError::Place { path: path.display().to_string(), why };
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn write_place(path: &Path, place: &Place) -> Result<(), VaultError> {
    let failed = |why: String| VaultError::Place { path: path.display().to_string(), why };
    let text = serde_json::to_string(place).map_err(|error| failed(error.to_string()))?;
    write_private(path, text.as_bytes()).map_err(|error| failed(error.to_string()))
}

fn key_from_text(text: &str) -> Option<[u8; 32]> {
    let mut key = [0_u8; 32];
    hex::decode_to_slice(text, &mut key).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(dir: &Path, wish: SecretsChoice) -> Config {
        Config { secrets: wish, ..Config::built_in(Paths::new(dir)) }
    }

    #[test]
    fn the_place_of_secrets_is_chosen_once_and_the_key_of_the_registry_stays_the_same() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = config(dir.path(), SecretsChoice::File);
        let key = Vault::open(&first).expect("a vault").seal_key(&first.paths).expect("a key");
        // Somebody now wishes for the keychain: the place stays, else the registry could not be read any more.
        let later = config(dir.path(), SecretsChoice::Keychain);
        let vault = Vault::open(&later).expect("the same vault");
        assert!(!vault.is_keychain(), "the choice is sticky");
        assert_eq!(vault.seal_key(&later.paths).expect("a key"), key, "and the key is the same");
    }

    #[test]
    fn a_registry_whose_key_is_gone_is_not_given_a_new_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = config(dir.path(), SecretsChoice::File);
        fs::write(config.paths.registry(), "not empty").expect("a registry");
        let lost = Vault::open(&config).expect("a vault").seal_key(&config.paths);
        assert!(matches!(lost, Err(VaultError::KeyGone(_))), "sealed fields would be lost without a word");
    }

    #[test]
    fn secrets_of_servers_are_kept_apart_and_forgotten_one_by_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let vault = Vault::open(&config(dir.path(), SecretsChoice::File)).expect("a vault");
        let (one, two) = (ServerId::from_random(1), ServerId::from_random(2));
        vault.put(one, "TOKEN", &Secret::new("a")).expect("kept");
        vault.put(two, "TOKEN", &Secret::new("b")).expect("kept");
        vault.forget(one, "TOKEN").expect("forgotten");
        assert_eq!(vault.get(one, "TOKEN"), Ok(None));
        assert_eq!(vault.get(two, "TOKEN").map(|found| found.map(|s| s.reveal().to_owned())), Ok(Some("b".into())));
        assert!(
            crate::config::paths::is_private(&dir.path().join("secrets.json")).expect("the file"),
            "only the user reads it"
        );
    }
}
