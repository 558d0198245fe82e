//! The data directory while this process holds it: its lock is taken, and logging has begun.
//!
//! Holding it is what makes a process the core; nothing is opened in it here.

use super::start_error::StartError;
use crate::config::Config;
use crate::logging;
use crate::os::concealment;
use crate::os::core_lock::CoreLock;
use crate::socket::Starters;

/// The data directory, held by this process: the lock is taken and logging has begun.
pub struct LockedDataDir {
    pub(super) config: Config,
    /// What started this core, if that was read before the core detached from it.
    pub(super) starters: Option<Starters>,
    _lock: CoreLock,
}

impl LockedDataDir {
    /// Takes the data directory for a core.
    ///
    /// # Errors
    /// When it cannot be used, or another core has it.
    pub fn take(config: Config) -> Result<Self, StartError> {
        concealment::conceal();
        config.paths.prepare()?;
        let lock = CoreLock::take(&config.paths.lock(), &config.policy.hosting)?;
        config.paths.close_files()?;
        logging::start(&config)
            .map_err(|source| StartError::Logs { folder: config.paths.logs().display().to_string(), source })?;
        Ok(Self { config, starters: None, _lock: lock })
    }

    /// Sets what started this core, for a core that is no longer a child of it.
    pub(crate) fn set_starters(&mut self, starters: Option<Starters>) {
        self.starters = starters;
    }
}
