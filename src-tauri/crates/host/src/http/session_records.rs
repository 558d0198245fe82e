//! Records of browser sessions in the registry, so that a restart of the core signs nobody out (decision 0035).
//!
//! A record holds what the two secrets of a session hash to, never the secrets. `sign_in.rs` decides which session
//! counts; what cannot be recorded counts until the core ends. A person ends a session in
//! `api::calls::core::sessions`, which leaves [`ENDED_SESSION`] in the place of the record.

use std::sync::Arc;

use api::{ENDED_SESSION, SESSION_RECORD};
use domain::agent::TokenDigest;
use domain::policy::HostPolicy;
use domain::ports::{Clock, Registry, RegistryError};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::sign_in::{KeptSession, SignIn};

/// A session as its record has it. Times are of the wall clock: the boot clock begins anew with the computer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    cookie: String,
    word: String,
    browser: String,
    since: i64,
    used: i64,
    until: i64,
}

/// Keeps the records of the sessions of one core.
pub(crate) struct SessionRecords {
    sign_in: Arc<SignIn>,
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    hosting: HostPolicy,
}

impl SessionRecords {
    /// Takes in what an earlier core recorded, and forgets what no longer counts. A registry that cannot be read signs
    /// everybody out and keeps the core running.
    pub(crate) async fn open(
        sign_in: Arc<SignIn>,
        registry: Arc<dyn Registry>,
        clock: Arc<dyn Clock>,
        hosting: HostPolicy,
    ) -> Self {
        let records = Self { sign_in, registry, clock, hosting };
        if let Err(error) = records.restore().await {
            tracing::warn!(%error, "browsers must sign in again: their sessions cannot be read");
        }
        records
    }

    async fn restore(&self) -> Result<(), RegistryError> {
        let kept = self.registry.desk_list(SESSION_RECORD).await?;
        let mut sessions: Vec<KeptSession> =
            kept.iter().filter_map(|item| self.session(&item.key, &item.value)).collect();
        sessions.sort_by_key(|session| session.since);
        for session in sessions {
            self.sign_in.restore(session);
        }
        self.forget_others().await
    }

    /// Records a session that began or was used: at each sign-in and each start of the page.
    pub(crate) async fn note(&self, id: &str) {
        let noted = async {
            let Some(session) = self.sign_in.kept().into_iter().find(|session| session.id == id) else { return Ok(()) };
            let text = serde_json::to_string(&self.record(session)).unwrap_or_default();
            self.registry.desk_put(SESSION_RECORD, id, Some(text), self.clock.now()).await?;
            // It ended while it was written: a record of it must not stay.
            self.forget_others().await
        };
        if let Err(error) = noted.await {
            tracing::warn!(%error, "a browser session is not recorded; it ends with this core");
        }
    }

    /// Deletes the records of sessions that do not count.
    async fn forget_others(&self) -> Result<(), RegistryError> {
        let recorded = self.registry.desk_list(SESSION_RECORD).await?;
        let counting = self.sign_in.kept();
        for item in recorded.iter().filter(|item| counting.iter().all(|session| session.id != item.key)) {
            self.registry.desk_put(SESSION_RECORD, &item.key, None, self.clock.now()).await?;
        }
        Ok(())
    }

    fn record(&self, session: KeptSession) -> Record {
        let wall = |at: i64| self.clock.now().as_millis().saturating_add(at.saturating_sub(self.sign_in.now()));
        Record {
            since: wall(session.since),
            used: wall(session.used),
            until: wall(session.until),
            cookie: hex::encode(session.cookie.0),
            word: hex::encode(session.word.0),
            browser: session.browser,
        }
    }

    /// The session of a record; `None` for one that ended, that cannot be read, or that begins in the future: then a
    /// clock was set back, and how long it has lasted is not known.
    fn session(&self, id: &str, text: &str) -> Option<KeptSession> {
        if text == ENDED_SESSION {
            return None;
        }
        let record: Record = serde_json::from_str(text).ok()?;
        let now = self.clock.now();
        let longest = i64::try_from(self.hosting.browser_session_span.as_millis()).unwrap_or(i64::MAX);
        let until = record.until.min(record.since.saturating_add(longest));
        if Timestamp::from_millis(record.since) > now {
            return None;
        }
        let boot = |at: i64| self.sign_in.now().saturating_add(at.saturating_sub(now.as_millis()));
        Some(KeptSession {
            id: id.to_owned(),
            cookie: digest(&record.cookie)?,
            word: digest(&record.word)?,
            browser: record.browser,
            since: boot(record.since),
            used: boot(record.used),
            until: boot(until),
        })
    }
}

fn digest(text: &str) -> Option<TokenDigest> {
    Some(TokenDigest(hex::decode(text).ok()?.try_into().ok()?))
}
