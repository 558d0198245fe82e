//! The `ControlStore` port on SQLite: control tokens, what they used, and answers kept for idempotency keys.
//!
//! Rows are in `tables/agents/control.rs`. Nothing is decided here.

use domain::agent::control_token::{ControlAnswer, ControlToken, ControlUse};
use domain::digest::sha256_hex;
use domain::ids::ControlTokenId;
use domain::ports::{ControlStore, ControlTokenUnit, PortFuture, RegistryError};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::tables::agents::control::{ControlRow, read_token};
use super::tables::row_name;
use super::write::mutation::Mutation;
use super::{SqliteRegistry, StoreContext};
use crate::codec::DecodeError;
use crate::seal::FieldLocation;

/// Tokens and uses read at most; the limit only keeps a damaged file from filling the memory.
const ROWS_MAX: u32 = 100_000;

impl ControlStore for SqliteRegistry {
    fn put_control_token(&self, unit: ControlTokenUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let row = ControlRow::token(unit)?;
            self.writer()?.write(Mutation::PutControl(Box::new(row))).await?.into_done()
        })
    }

    fn control_tokens(&self) -> PortFuture<'_, Result<Vec<ControlToken>, RegistryError>> {
        Box::pin(async move {
            let mut reader = self.reader().await?;
            let found = sqlx::query(
                "SELECT id, digest, revoked, body FROM control_tokens ORDER BY created DESC, id DESC LIMIT ?",
            )
            .bind(ROWS_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(self.base.failed("read control tokens"))?;
            found.iter().map(read_token).collect()
        })
    }

    fn note_control_use(&self, used: ControlUse, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let row = ControlRow::Use { used, forget: forget.as_millis() };
            self.writer()?.write(Mutation::PutControl(Box::new(row))).await?.into_done()
        })
    }

    fn control_uses(
        &self,
        token: ControlTokenId,
        since: Timestamp,
    ) -> PortFuture<'_, Result<Vec<ControlUse>, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read the uses of a control token");
            let mut reader = self.reader().await?;
            let found =
                sqlx::query("SELECT at, tasks FROM control_uses WHERE token = ? AND at > ? ORDER BY at LIMIT ?")
                    .bind(token.to_string())
                    .bind(since.as_millis())
                    .bind(ROWS_MAX)
                    .fetch_all(&mut *reader)
                    .await
                    .map_err(failed())?;
            let read = |row: &SqliteRow| {
                let at = Timestamp::from_millis(row.try_get(0).map_err(failed())?);
                Ok(ControlUse { token, at, tasks: row.try_get(1).map_err(failed())? })
            };
            found.iter().map(read).collect()
        })
    }

    fn keep_answer(&self, answer: ControlAnswer, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let ControlAnswer { token, key, request, status, body, at } = answer;
            let key = sha256_hex(&key);
            let row = row_name(&token.to_string(), &key);
            let place = FieldLocation { table: "control_answers", column: "body_sealed", row: &row };
            let body = self
                .base
                .sealer
                .seal(place, body.as_bytes())
                .map_err(StoreContext::sealing("keep the answer to a control call"))?;
            let (at, forget) = (at.as_millis(), forget.as_millis());
            let row = ControlRow::Answer { token, key, request, status, body, at, forget };
            self.writer()?.write(Mutation::PutControl(Box::new(row))).await?.into_done()
        })
    }

    fn kept_answer(
        &self,
        token: ControlTokenId,
        key: &str,
    ) -> PortFuture<'_, Result<Option<ControlAnswer>, RegistryError>> {
        let key = key.to_owned();
        Box::pin(async move {
            let failed = || self.base.failed("read the answer to a control call");
            let (id, digest) = (token.to_string(), sha256_hex(&key));
            let mut reader = self.reader().await?;
            let row =
                sqlx::query("SELECT request, status, body_sealed, at FROM control_answers WHERE token = ? AND key = ?")
                    .bind(id.clone())
                    .bind(digest.clone())
                    .fetch_optional(&mut *reader)
                    .await
                    .map_err(failed())?;
            let Some(row) = row else { return Ok(None) };
            let place = FieldLocation { table: "control_answers", column: "body_sealed", row: &row_name(&id, &digest) };
            let body = self.base.unseal(place, row.try_get(2).map_err(failed())?)?;
            let body = String::from_utf8(body).map_err(|_| {
                StoreContext::bad_row("read `control_answers`", &id, &DecodeError::new("body", "is not text"))
            })?;
            Ok(Some(ControlAnswer {
                token,
                key,
                request: row.try_get(0).map_err(failed())?,
                status: row.try_get(1).map_err(failed())?,
                body,
                at: Timestamp::from_millis(row.try_get(3).map_err(failed())?),
            }))
        })
    }
}
