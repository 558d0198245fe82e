//! The two ways to have an api: beside a running engine, or on a registry that is only read (ruling 17).
//!
//! Holds what calls need and nothing of its own: there is no cache and no state here. It starts nothing; `host`
//! composes it. Read `calls/` for what can be asked.

use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::{Clock, Registry, Secrets};
use domain::time::Timestamp;
use engine::{Draw, Engine};

use crate::error::ApiError;

/// What only a running core has.
#[derive(Clone)]
pub struct Live {
    /// The engine.
    pub engine: Engine,
    /// Where secret values of servers lie.
    pub secrets: Arc<dyn Secrets>,
    /// Random bits for new ids.
    pub draw: Draw,
}

/// Everything that can be asked. Clones are the same api.
#[derive(Clone)]
pub struct Api {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: Policy,
    live: Option<Live>,
}

impl Api {
    /// An api that only reads, on a registry without a core beside it.
    #[must_use]
    pub fn reading(registry: Arc<dyn Registry>, clock: Arc<dyn Clock>, policy: Policy) -> Self {
        Self { registry, clock, policy, live: None }
    }

    /// The api of a running core.
    #[must_use]
    pub fn running(registry: Arc<dyn Registry>, clock: Arc<dyn Clock>, policy: Policy, live: Live) -> Self {
        Self { registry, clock, policy, live: Some(live) }
    }

    /// Whether a core runs behind this api.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.live.is_some()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.live.as_ref().map(|live| &live.engine)
    }

    /// What only a core can do.
    pub(crate) fn live(&self) -> Result<&Live, ApiError> {
        self.live.as_ref().ok_or_else(ApiError::no_core)
    }
}
