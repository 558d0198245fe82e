//! The registry without a disk, for tests on a paused clock.
//!
//! It keeps the same contract as the real one (`contract/` checks both), down to the order of lists and the hashes of the
//! audit chain. It awaits nothing, so a paused clock never jumps because of it. Clones share their state, so a test can
//! restart everything around it. The state is in `store.rs`.

mod agents;
mod alarms;
mod audit_chain;
mod audit_rows;
mod checkpoints;
mod control;
mod halts;
mod plans;
mod port;
mod questions;
mod routes;
mod storage;
mod store;
mod task_list;
mod token_usage;

use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::RegistryError;
use parking_lot::Mutex;

pub use audit_chain::finding as audit_finding;
use store::MemoryStore;

/// The registry in memory.
#[derive(Debug, Clone)]
pub struct MemoryRegistry {
    state: Arc<Mutex<MemoryStore>>,
    policy: Arc<Policy>,
}

impl MemoryRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self { state: Arc::default(), policy: Arc::new(policy) }
    }

    /// The same registry after it was closed: what a new process would open.
    #[must_use]
    pub fn reopened(&self) -> Self {
        let mut state = self.state.lock().clone();
        state.closed = false;
        Self { state: Arc::new(Mutex::new(state)), policy: Arc::clone(&self.policy) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut MemoryStore, &Policy) -> T) -> Result<T, RegistryError> {
        let mut state = self.state.lock();
        if state.closed { Err(RegistryError::Closed) } else { Ok(act(&mut state, &self.policy)) }
    }
}
