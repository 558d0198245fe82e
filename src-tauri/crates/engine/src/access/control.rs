//! Control tokens of this moment: which program proves itself with which, and how much each may still end.
//!
//! The registry has them; they are kept in memory as well, so that a token that was revoked opens nothing from the moment
//! its row is stored. What a token reaches is in `domain::agent::control_token`; which calls it opens is the api's.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::agent::TokenDigest;
use domain::agent::control_token::{ControlToken, ControlTokenEnd, ControlUse};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{ControlTokenId, PersonId};
use domain::ports::{ControlTokenUnit, Registry, RegistryError};
use domain::task::decider::Decider;
use domain::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Why a control token may not end as many tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlLimit {
    /// Too many for one call.
    #[error("this control token may end {most} tasks in one call, and {asked} were asked for")]
    PerCall {
        /// Tasks that were asked for.
        asked: u64,
        /// Tasks of one call at most.
        most: u32,
    },
    /// Too many for this hour.
    #[error(
        "this control token may act {most} times in an hour, where each task that it ends, each halt and each pause \
         counts: it acted {used} times, and {asked} more did not fit"
    )]
    PerHour {
        /// Tasks, halts and pauses that were asked for.
        asked: u64,
        /// Those of the last hour.
        used: u64,
        /// Those of an hour at most.
        most: u32,
        /// When as many fit again.
        retry_after: Duration,
    },
}

/// Why a control token opens nothing. It is told to whoever has the token, so it may name it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlTokenRefused {
    /// No token has this text.
    #[error("this control token is not known here")]
    Unknown,
    /// A person revoked it.
    #[error("control token `{name}` was revoked at {at}")]
    Revoked {
        /// The name of the token.
        name: String,
        /// When it was revoked.
        at: Timestamp,
    },
    /// Its time is over.
    #[error("the time of control token `{name}` was over at {at}")]
    TimeOver {
        /// The name of the token.
        name: String,
        /// The end of its time.
        at: Timestamp,
    },
    /// Nobody knows whether its time is over.
    #[error("the clock stands before the moment when control token `{name}` was made")]
    ClockBehind {
        /// The name of the token.
        name: String,
    },
}

impl ControlTokenRefused {
    fn of(token: &ControlToken, end: ControlTokenEnd) -> Self {
        let name = token.name.clone();
        match end {
            ControlTokenEnd::Revoked(at) => Self::Revoked { name, at },
            ControlTokenEnd::TimeOver(at) => Self::TimeOver { name, at },
            ControlTokenEnd::ClockBehind => Self::ClockBehind { name },
        }
    }
}

/// Control tokens, and the calls with an idempotency key that are in progress.
pub(crate) struct ControlAccess {
    tokens: RwLock<Arc<Vec<Arc<ControlToken>>>>,
    /// Moves when a token is revoked.
    revocations: watch::Sender<()>,
    /// Held while tokens change or are counted.
    turn: tokio::sync::Mutex<()>,
    claims: Mutex<HashSet<(ControlTokenId, String)>>,
}

impl ControlAccess {
    pub(crate) async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        let tokens = registry.control_tokens().await?.into_iter().map(Arc::new).collect();
        Ok(Self {
            tokens: RwLock::new(Arc::new(tokens)),
            revocations: watch::Sender::new(()),
            turn: tokio::sync::Mutex::new(()),
            claims: Mutex::default(),
        })
    }

    fn find(&self, is_meant: impl Fn(&ControlToken) -> bool) -> Option<Arc<ControlToken>> {
        self.tokens.read().iter().find(|token| is_meant(token)).cloned()
    }
}

/// A call with an idempotency key in progress; no other with the same key begins before it is dropped.
pub struct ControlClaim {
    core: Arc<EngineCore>,
    of: (ControlTokenId, String),
}

impl Drop for ControlClaim {
    fn drop(&mut self) {
        self.core.control.claims.lock().remove(&self.of);
    }
}

impl Engine {
    /// All control tokens, the newest first.
    #[must_use]
    pub fn control_tokens(&self) -> Arc<Vec<Arc<ControlToken>>> {
        Arc::clone(&self.core.control.tokens.read())
    }

    /// The control token with this digest.
    ///
    /// # Errors
    /// When there is none, or it is not in force.
    pub fn control_token_of(&self, digest: &TokenDigest) -> Result<Arc<ControlToken>, ControlTokenRefused> {
        // Each is compared, so that the time says nothing about which.
        let mut found = None;
        for token in self.control_tokens().iter() {
            if token.digest == *digest {
                found = Some(Arc::clone(token));
            }
        }
        let token = found.ok_or(ControlTokenRefused::Unknown)?;
        match token.ended(self.core.time.now()) {
            None => Ok(token),
            Some(end) => Err(ControlTokenRefused::of(&token, end)),
        }
    }

    /// The control token with this id, when it is in force.
    #[must_use]
    pub fn control_token(&self, id: ControlTokenId) -> Option<Arc<ControlToken>> {
        let tokens = self.control_tokens();
        let found = tokens.iter().find(|token| token.id == id)?;
        found.is_in_force(self.core.time.now()).then(|| Arc::clone(found))
    }

    /// Adds a control token.
    ///
    /// # Errors
    /// When one in force has the same name, there are too many, or it cannot be recorded: then there is none.
    pub async fn add_control_token(&self, token: ControlToken) -> Result<Arc<ControlToken>, EngineError> {
        let core = &self.core;
        let _turn = core.control.turn.lock().await;
        let now = core.time.now();
        let all = self.control_tokens();
        let in_force = || all.iter().filter(|known| known.is_in_force(now));
        if in_force().any(|known| known.name == token.name) {
            return Err(EngineError::ControlNameTaken(token.name));
        }
        if in_force().count() >= core.policy.control.tokens.tokens_max {
            return Err(EngineError::TooManyControlTokens(core.policy.control.tokens.tokens_max));
        }
        let by = token.by.clone();
        store(core, token.clone(), Actor::Person(by), Verb::ControlTokenAdded).await?;
        let token = Arc::new(token);
        let next = std::iter::once(Arc::clone(&token)).chain(all.iter().cloned()).collect();
        *core.control.tokens.write() = Arc::new(next);
        Ok(token)
    }

    /// Revokes a control token. From when this returns it opens nothing, and an operation that it began ends after the
    /// current task.
    ///
    /// # Errors
    /// When there is none of this id, or it cannot be recorded: then it is still in force.
    pub async fn revoke_control_token(
        &self,
        id: ControlTokenId,
        by: PersonId,
    ) -> Result<Arc<ControlToken>, EngineError> {
        let core = &self.core;
        let _turn = core.control.turn.lock().await;
        let known = core.control.find(|token| token.id == id).ok_or(EngineError::UnknownControlToken)?;
        if known.revoked.is_some() {
            return Ok(known);
        }
        let revoked = ControlToken { revoked: Some(core.time.now()), ..ControlToken::clone(&known) };
        store(core, revoked.clone(), Actor::Person(by), Verb::ControlTokenRevoked).await?;
        let revoked = Arc::new(revoked);
        let all = self.control_tokens();
        let newer = |token: &Arc<ControlToken>| Arc::clone(if token.id == id { &revoked } else { token });
        let next = all.iter().map(newer).collect();
        *core.control.tokens.write() = Arc::new(next);
        core.control.revocations.send_replace(());
        Ok(revoked)
    }

    /// Counts what a control token is about to do against its limits: a task that it ends, a halt and a pause count as one
    /// each. The count is durable when this returns.
    ///
    /// # Errors
    /// When they are more than it may end: then none is counted, and the refusal is in the audit log.
    pub async fn count_control_use(&self, token: &ControlToken, tasks: u64) -> Result<(), EngineError> {
        let core = &self.core;
        let _turn = core.control.turn.lock().await;
        let now = core.time.now();
        let hour = core.policy.control.tokens.hour;
        // What was used at a later time than now, because the clock was set back, counts as well.
        let since = now.shifted(i64::try_from(hour.as_millis()).map_or(i64::MIN, |millis| -millis));
        let uses = core.registry.control_uses(token.id, since).await?;
        let used: u64 = uses.iter().map(|used| u64::from(used.tasks)).sum();
        let limit = if tasks > u64::from(token.per_call) {
            Some(ControlLimit::PerCall { asked: tasks, most: token.per_call })
        } else if used.saturating_add(tasks) > u64::from(token.per_hour) {
            let retry_after = free_again(&uses, used.saturating_add(tasks), token.per_hour)
                .map_or(hour, |at| at.plus(hour).since(now));
            Some(ControlLimit::PerHour { asked: tasks, used, most: token.per_hour, retry_after })
        } else {
            None
        };
        if let Some(limit) = limit {
            return Err(refused(core, token, limit).await);
        }
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        core.registry.note_control_use(ControlUse { token: token.id, at: now, tasks }, since).await?;
        Ok(())
    }

    /// Refuses more tasks than a control token may end in one call, without counting them.
    ///
    /// # Errors
    /// When they are more; the refusal is in the audit log.
    pub async fn check_control_call(&self, token: &ControlToken, tasks: u64) -> Result<(), EngineError> {
        if tasks <= u64::from(token.per_call) {
            return Ok(());
        }
        Err(refused(&self.core, token, ControlLimit::PerCall { asked: tasks, most: token.per_call }).await)
    }

    /// Why a control token opens nothing any more; `None` while it is in force.
    #[must_use]
    pub fn control_ended(&self, id: ControlTokenId) -> Option<&'static str> {
        ended(&self.core, &Decider::Control(id))
    }

    /// Returns once a control token opens nothing any more, with the reason. Cancel-safe.
    pub async fn control_token_end(&self, id: ControlTokenId) -> &'static str {
        let mut revocations = self.core.control.revocations.subscribe();
        loop {
            if let Some(why) = self.control_ended(id) {
                return why;
            }
            let until = self.core.control.find(|token| token.id == id).and_then(|token| token.until);
            let at_its_end = async {
                match until {
                    // Wall time may step, so it is asked again before the end.
                    Some(until) => {
                        let left = until.since(self.core.time.now());
                        tokio::time::sleep(left.min(self.core.policy.hosting.feed_heartbeat)).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = at_its_end => {}
                // The sender is in the core that `self` keeps.
                _ = revocations.changed() => {}
            }
        }
    }

    /// Reserves an idempotency key of a token while a call with it is in progress; `None` when one is.
    #[must_use]
    pub fn claim_control_key(&self, token: ControlTokenId, key: &str) -> Option<ControlClaim> {
        let of = (token, key.to_owned());
        let is_free = self.core.control.claims.lock().insert(of.clone());
        is_free.then(|| ControlClaim { core: Arc::clone(&self.core), of })
    }
}

async fn refused(core: &EngineCore, token: &ControlToken, limit: ControlLimit) -> EngineError {
    let (at, note) = (core.time.now(), limit.to_string());
    let (actor, verb) = (Actor::Control(token.id), Verb::ControlLimited);
    match core.registry.record(vec![AuditEvent { at, actor, verb, subject: Subject::Store, note }]).await {
        Ok(()) => EngineError::ControlLimit(limit),
        Err(error) => error.into(),
    }
}

/// Why a decider may not go on: its control token was revoked or its time is over.
pub(crate) fn ended(core: &EngineCore, by: &Decider) -> Option<&'static str> {
    let Decider::Control(id) = by else { return None };
    match core.control.find(|token| token.id == *id) {
        Some(token) if token.revoked.is_some() => Some("its control token was revoked"),
        Some(token) if token.is_in_force(core.time.now()) => None,
        Some(_) => Some("the time of its control token is over"),
        None => Some("its control token is not known any more"),
    }
}

/// The moment of the use with which enough of the hour is free again; `None` when that never is.
fn free_again(uses: &[ControlUse], wanted: u64, most: u32) -> Option<Timestamp> {
    let mut over = wanted.saturating_sub(u64::from(most));
    for used in uses {
        over = over.saturating_sub(u64::from(used.tasks));
        if over == 0 {
            return Some(used.at);
        }
    }
    None
}

async fn store(core: &EngineCore, token: ControlToken, actor: Actor, verb: Verb) -> Result<(), EngineError> {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.word()).collect();
    let note = format!("{} {} ({})", token.id, token.name, scopes.join(", "));
    let fact = AuditEvent { at: core.time.now(), actor, verb, subject: Subject::Store, note };
    Ok(core.registry.put_control_token(ControlTokenUnit { token, audit: vec![fact] }).await?)
}
