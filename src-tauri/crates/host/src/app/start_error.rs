//! Why a core could not be started, and what a person can do about it.

use std::io;

use domain::ports::RegistryError;

use crate::config::paths::HomeError;
use crate::os::core_lock::LockError;
use crate::secrets::VaultError;

/// Why a core could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the logs in `{folder}` cannot be written: {source}")]
    Logs { folder: String, source: io::Error },
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("the socket `{path}` cannot be opened: {source}")]
    Socket { path: String, source: io::Error },
    /// A thread beside the runtime could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
    /// Another core has the directory and cannot be reached.
    #[error("{0}")]
    Attach(String),
}

impl StartError {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Home(inner) => inner.hint(),
            Self::Lock(LockError::Held { .. }) => {
                "Use that core: every `taskwarden` command reaches it. Or stop it first with Ctrl-C in its terminal."
                    .into()
            }
            Self::Lock(LockError::Unusable { .. }) | Self::Logs { .. } | Self::Socket { .. } => {
                "Check the owner and permissions of the data folder, and that its disk is local and not full.".into()
            }
            Self::Thread(_) => "Close some programs or raise the limits of your user, then try again.".into(),
            Self::Attach(_) => "Run `taskwarden doctor`.".into(),
            Self::Vault(inner) => inner.hint(),
            Self::Registry(inner) => inner.hint(),
        }
    }
}
