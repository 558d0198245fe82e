//! Control tokens, what they used of their limit, and answers kept for idempotency keys.
//!
//! It decides nothing: what a token may do is in `domain::agent::control_token`; the encoding is in
//! `codec/task/control_token.rs`. Answers are sealed, because they repeat what servers said.

use domain::agent::TokenDigest;
use domain::agent::control_token::{ControlAnswer, ControlToken, ControlUse};
use domain::audit::AuditEvent;
use domain::ids::ControlTokenId;
use domain::ports::{ControlTokenUnit, RegistryError};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::{self, ControlTokenDef, DecodeError};
use crate::sqlite::StoreContext;
use crate::sqlite::batch::StatementBatch;

/// A change of what is kept of control tokens, ready to write.
#[derive(Debug)]
pub(crate) enum ControlRow {
    Token {
        id: ControlTokenId,
        digest: TokenDigest,
        created: i64,
        revoked: Option<i64>,
        body: String,
        audit: Vec<AuditEvent>,
    },
    Use {
        used: ControlUse,
        forget: i64,
    },
    Answer {
        token: ControlTokenId,
        key: String,
        request: String,
        status: u16,
        body: Vec<u8>,
        at: i64,
        forget: i64,
    },
}

impl ControlRow {
    pub(crate) fn token(unit: ControlTokenUnit) -> Result<Self, RegistryError> {
        let ControlTokenUnit { token, audit } = unit;
        let body = codec::encode::<ControlTokenDef>(&token)?;
        let revoked = token.revoked.map(Timestamp::as_millis);
        Ok(Self::Token { id: token.id, digest: token.digest, created: token.created.as_millis(), revoked, body, audit })
    }

    /// The audit rows of this change.
    pub(crate) fn audit(&self) -> &[AuditEvent] {
        match self {
            Self::Token { audit, .. } => audit,
            Self::Use { .. } | Self::Answer { .. } => &[],
        }
    }

    /// Which statements it is written with.
    pub(crate) const fn shape(&self) -> u8 {
        match self {
            Self::Token { .. } => 19,
            Self::Use { .. } => 20,
            Self::Answer { .. } => 21,
        }
    }

    /// Whether it may take space of the reserve when the disk is full: a revocation, and what must be counted before
    /// tasks are cancelled.
    pub(crate) const fn is_urgent(&self) -> bool {
        match self {
            Self::Token { revoked, .. } => revoked.is_some(),
            Self::Use { .. } => true,
            Self::Answer { .. } => false,
        }
    }
}

/// Writes one change.
pub(crate) fn put(batch: &mut StatementBatch, row: &ControlRow) {
    match row {
        ControlRow::Token { id, digest, created, revoked, body, audit: _ } => {
            batch
                .add(
                    "INSERT INTO control_tokens (id, digest, created, revoked, body) VALUES (?, ?, ?, ?, ?) \
                     ON CONFLICT (id) DO UPDATE SET revoked = coalesce(control_tokens.revoked, excluded.revoked), \
                     body = excluded.body",
                )
                .with(id.to_string())
                .with(digest.0.to_vec())
                .with(*created)
                .with(*revoked)
                .with(body.clone());
        }
        ControlRow::Use { used, forget } => {
            batch.add("DELETE FROM control_uses WHERE at < ?").with(*forget);
            batch
                .add("INSERT INTO control_uses (token, at, tasks) VALUES (?, ?, ?)")
                .with(used.token.to_string())
                .with(used.at.as_millis())
                .with(used.tasks);
        }
        ControlRow::Answer { token, key, request, status, body, at, forget } => {
            batch.add("DELETE FROM control_answers WHERE at < ?").with(*forget);
            batch
                .add(
                    "INSERT INTO control_answers (token, key, request, status, body_sealed, at) \
                     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (token, key) DO UPDATE SET status = excluded.status, \
                     body_sealed = excluded.body_sealed, at = excluded.at WHERE control_answers.status = ?",
                )
                .with(token.to_string())
                .with(key.clone())
                .with(request.clone())
                .with(*status)
                .with(body.clone())
                .with(*at)
                .with(ControlAnswer::BEGUN);
        }
    }
}

pub(crate) fn read_token(row: &SqliteRow) -> Result<ControlToken, RegistryError> {
    let unread =
        |error: sqlx::Error| RegistryError::Other { operation: "read a control token", why: error.to_string() };
    let id: &str = row.try_get(0).map_err(unread)?;
    let digest: &[u8] = row.try_get(1).map_err(unread)?;
    let revoked: Option<i64> = row.try_get(2).map_err(unread)?;
    let body: &str = row.try_get(3).map_err(unread)?;
    let bad = |field, what| StoreContext::bad_row("read `control_tokens`", id, &DecodeError::new(field, what));
    let body =
        serde_json::from_str(body).map_err(|error| StoreContext::not_json("read `control_tokens`", id, &error))?;
    let token = codec::decode::<ControlTokenDef>(body)
        .map_err(|error| StoreContext::bad_row("read `control_tokens`", id, &error))?;
    Ok(ControlToken {
        id: id.parse().map_err(|_| bad("id", "does not read as an id"))?,
        digest: TokenDigest(digest.try_into().map_err(|_| bad("digest", "has not 32 bytes"))?),
        revoked: revoked.map(Timestamp::from_millis),
        ..token
    })
}
