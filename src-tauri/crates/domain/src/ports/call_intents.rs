//! Calls of agents that may be in flight, written before they are sent (ruling 21).
//!
//! A call intent survives the death of the process but not of the machine: it is written without waiting and overlaps
//! the call. Calls that end within `gateway.intent_settle` are never written. What a crash leaves becomes an
//! *unconfirmed* task; nothing is ever sent again because of it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::PortFuture;
use crate::digest::{is_plainly_canonical, sha256_hex};
use crate::ids::{AgentId, HandleId, HostId, ServerId};
use crate::ports::registry::error::RegistryError;
use crate::task::payload::Payload;
use crate::time::Timestamp;

/// The hex SHA-256 of a call's canonical arguments, computed when somebody asks for it and then once: clones share it.
#[derive(Clone)]
pub struct ArgumentsDigest {
    /// What it is computed from; `None` where it was known when this was made.
    arguments: Option<Payload>,
    digest: Arc<OnceLock<Arc<str>>>,
}

impl ArgumentsDigest {
    /// The digest of these arguments.
    #[must_use]
    pub fn of(arguments: Payload) -> Self {
        Self { arguments: Some(arguments), digest: Arc::default() }
    }

    /// The same digest for who asks later: it keeps no message alive, only the arguments where it is not computed yet.
    #[must_use]
    pub fn detached(&self) -> Self {
        let is_known = self.digest.get().is_some();
        let arguments = self.arguments.as_ref().filter(|_| !is_known).map(Payload::detached);
        Self { arguments, digest: Arc::clone(&self.digest) }
    }

    /// Bytes of the arguments that this keeps.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.arguments.as_ref().map_or(0, |arguments| arguments.as_str().len())
    }

    /// The hex digits.
    #[must_use]
    pub fn get(&self) -> &Arc<str> {
        self.digest.get_or_init(|| self.arguments.as_ref().map_or_else(|| "".into(), arguments_digest))
    }
}

impl From<&str> for ArgumentsDigest {
    /// A digest that was computed before.
    fn from(digest: &str) -> Self {
        Self { arguments: None, digest: Arc::new(OnceLock::from(Arc::from(digest))) }
    }
}

impl PartialEq for ArgumentsDigest {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for ArgumentsDigest {}

impl fmt::Debug for ArgumentsDigest {
    /// Without the digits, from which arguments can be guessed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArgumentsDigest")
    }
}

/// Hex SHA-256 of the canonical arguments; of the bytes as they are when they have no canonical form.
#[must_use]
pub fn arguments_digest(arguments: &Payload) -> Arc<str> {
    // Most arguments of programs are; parsing and sorting them takes many times as long as the digest.
    if is_plainly_canonical(arguments.as_str()) {
        return Arc::from(sha256_hex(arguments.as_str()));
    }
    let canonical = serde_json::from_str::<serde_json::Value>(arguments.as_str())
        .ok()
        .and_then(|value| serde_json_canonicalizer::to_vec(&value).ok());
    Arc::from(sha256_hex(canonical.as_deref().unwrap_or(arguments.as_str().as_bytes())))
}

/// One call that may be on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIntent {
    /// The handle it gets, should it ever need one.
    pub id: HandleId,
    /// Where it goes.
    pub server: ServerId,
    /// On whose own connection.
    pub seat: Option<AgentId>,
    /// Whose it is.
    pub agent: AgentId,
    pub tool: Arc<str>,
    /// What its arguments hash to.
    pub arguments_digest: ArgumentsDigest,
    /// When it began.
    pub at: Timestamp,
    /// In which run of the core.
    pub host: HostId,
}

/// Where intents are written.
pub trait CallIntents: Send + Sync + 'static {
    /// A call begins. Returns at once and wakes nobody in the way of a call; it is in the file after about
    /// `gateway.intent_settle`, unless it ended before.
    fn begin(&self, intent: CallIntent);
    /// Its reply is here, or its handle is in the registry. Returns at once.
    fn end(&self, id: HandleId);
    /// What earlier runs began and did not end.
    fn left_over(&self) -> PortFuture<'_, Result<Vec<CallIntent>, RegistryError>>;
    /// What was left over has handles in the registry now, and is forgotten.
    fn settled(&self, ids: Vec<HandleId>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Waits until everything begun and ended before is in the file.
    fn flushed(&self) -> PortFuture<'_, ()>;
}
