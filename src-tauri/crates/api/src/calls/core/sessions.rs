//! Signed-in browsers, and how a person ends their sessions.
//!
//! The host keeps the sessions, behind [`BrowserSessions`], and a record of each in the registry, so that a restart of the
//! core signs nobody out. A revocation by a person replaces that record in the transaction of its audit row. No secret
//! of a session comes here.

use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::lookup::short;

/// The kind of user data that is the record of a session, by its id. No call lists or puts this kind.
pub const SESSION_RECORD: &str = "browserSession";
/// What is left of the record of a session that a person ended.
pub const ENDED_SESSION: &str = "\"ended\"";

/// The sessions that the core keeps for browsers.
pub trait BrowserSessions: Send + Sync + 'static {
    /// Every session that counts now, oldest first.
    fn list(&self) -> Vec<BrowserSession>;
    /// Ends a session at once, with its open feeds; `false` when there is none of this id.
    fn revoke(&self, id: &str) -> bool;
}

/// One session. Ages include the time that the computer was suspended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// Names the session; it opens nothing.
    pub id: String,
    /// What the browser says it is: plain text, cut.
    pub browser: String,
    /// Time since it was signed in.
    pub age: Duration,
    /// Time since its last request; an open page counts as use.
    pub idle: Duration,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionDto {
    /// Names the session; it opens nothing.
    pub id: String,
    /// What the browser says it is. Any program may say anything here.
    pub browser: String,
    /// When it was signed in.
    pub signed_in_at: String,
    /// When it was last used; an open page counts as use.
    pub used_at: String,
    /// Whether it is the browser that asks.
    pub current: bool,
}

/// Browsers that are signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// One row for each session, oldest first.
    pub sessions: Vec<SessionDto>,
}

/// Which sessions to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "which", deny_unknown_fields)]
pub enum RevokeSessions {
    /// The session of this id, also the one that asks.
    One { id: String },
    /// Every session but the one that asks.
    Others,
}

impl Api {
    /// Lists the browsers that are signed in; none without a core.
    ///
    /// # Errors
    /// None of its own.
    pub async fn session_list(&self, caller: &Caller, _input: Nothing) -> Result<SessionList, ApiError> {
        let sessions = self.live().map_or_else(|_| Vec::new(), |live| live.sessions.list());
        Ok(SessionList { sessions: sessions.into_iter().map(|session| self.session_dto(caller, session)).collect() })
    }

    /// Ends sessions at once and gives those that ended.
    ///
    /// # Errors
    /// When there is no session of this id, or when the sessions ended but that could not be recorded.
    pub async fn session_revoke(&self, caller: &Caller, input: RevokeSessions) -> Result<SessionList, ApiError> {
        let live = self.live()?;
        let mut chosen = live.sessions.list();
        match &input {
            RevokeSessions::One { id } => chosen.retain(|session| session.id == *id),
            RevokeSessions::Others => chosen.retain(|session| caller.session.as_ref() != Some(&session.id)),
        }
        // Ended first: a disk that cannot record must not keep a browser signed in.
        chosen.retain(|session| live.sessions.revoke(&session.id));
        if let (RevokeSessions::One { id }, true) = (&input, chosen.is_empty()) {
            return Err(ApiError::new(
                Code::NotFound,
                format!("there is no browser session `{}`", short(id)),
                "`taskwarden sessions list` shows the open ones; an expired session is gone.",
            ));
        }
        let fact = |session: &BrowserSession| AuditEvent {
            at: self.now(),
            actor: Actor::Person(caller.person.clone()),
            verb: Verb::SessionRevoked,
            subject: Subject::Store,
            note: format!("browser session {}", session.id),
        };
        let mut unrecorded = None;
        for session in &chosen {
            let ended = Some(ENDED_SESSION.to_owned());
            let recorded = self.registry.desk_decide(SESSION_RECORD, &session.id, ended, vec![fact(session)]).await;
            unrecorded = unrecorded.or(recorded.err());
        }
        if let Some(error) = unrecorded {
            let error = ApiError::from(error);
            let message = format!(
                "the sessions ended, but that is not recorded, so a restart of the core would bring them back: {}",
                error.message
            );
            return Err(ApiError { message, ..error });
        }
        Ok(SessionList { sessions: chosen.into_iter().map(|session| self.session_dto(caller, session)).collect() })
    }

    fn session_dto(&self, caller: &Caller, session: BrowserSession) -> SessionDto {
        let ago = |span: Duration| iso(self.now().shifted(-i64::try_from(span.as_millis()).unwrap_or(i64::MAX)));
        SessionDto {
            signed_in_at: ago(session.age),
            used_at: ago(session.idle),
            current: caller.session.as_ref() == Some(&session.id),
            id: session.id,
            browser: session.browser,
        }
    }
}
