//! The audit log: facts in one chain, numbered without gaps.
//!
//! Rows are added by `group.rs` inside the transaction they tell of, and never changed or removed here. The hash and
//! what a stand-alone verifier needs are described in `rows/audit.rs`.

use domain::audit::AuditEvent;
use domain::ids::HandleId;
use domain::ports::{AuditLink, AuditPage, RegistryError};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::script::Script;
use super::{Base, Sqlite, unsigned, whole};
use crate::rows::audit::{hex, read, subject, subject_handle};

/// Adds a row with its link.
pub(crate) fn insert(
    script: &mut Script,
    (number, event): (u64, &AuditEvent),
    (previous, hash): (&[u8; 32], &[u8; 32]),
) {
    script
        .add(
            "INSERT INTO audit (number, at, actor, verb, subject, handle, note, previous, hash, origin) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .with(whole(number))
        .with(event.at.as_millis())
        .with(event.actor.to_string())
        .with(event.verb.word())
        .with(subject(&event.subject))
        .with(subject_handle(&event.subject).map(|id| id.to_string()))
        .with(event.note.clone())
        .with(previous.to_vec())
        .with(hash.to_vec())
        .with(event.origin().map(ToString::to_string));
}

fn link(base: &Base, row: &SqliteRow) -> Result<AuditLink, RegistryError> {
    let trouble = || base.fault("read the audit log");
    let number = unsigned(row.try_get(0).map_err(trouble())?);
    let at = Timestamp::from_millis(row.try_get(1).map_err(trouble())?);
    let event = read(
        at,
        [
            row.try_get(2).map_err(trouble())?,
            row.try_get(3).map_err(trouble())?,
            row.try_get(4).map_err(trouble())?,
            row.try_get(5).map_err(trouble())?,
        ],
        row.try_get(8).map_err(trouble())?,
    )
    .map_err(|flaw| Base::bad_row("read `audit`", &number.to_string(), &flaw))?;
    Ok(AuditLink {
        number,
        event,
        previous: hex(row.try_get(6).map_err(trouble())?),
        hash: hex(row.try_get(7).map_err(trouble())?),
    })
}

impl Sqlite {
    /// The audit rows of one handle (or all), after a position.
    pub(crate) async fn read_audit(
        &self,
        handle: Option<HandleId>,
        after: u64,
        limit: u32,
    ) -> Result<AuditPage, RegistryError> {
        let trouble = || self.base.fault("read the audit log");
        let limit = limit.clamp(1, self.base.limits.page_rows_max);
        let mut find = Script::default();
        match handle {
            Some(id) => find
                .add(
                    "SELECT number, at, actor, verb, subject, note, previous, hash, origin FROM audit \
                     WHERE handle = ? AND number > ? ORDER BY number LIMIT ?",
                )
                .with(id.to_string()),
            None => find.add(
                "SELECT number, at, actor, verb, subject, note, previous, hash, origin FROM audit \
                 WHERE number > ? ORDER BY number LIMIT ?",
            ),
        }
        .with(whole(after))
        .with(i64::from(limit) + 1);
        let mut reader = self.reader().await?;
        let found = find.rows(&mut reader).await.map_err(trouble())?;
        let mut rows = found.iter().map(|row| link(&self.base, row)).collect::<Result<Vec<_>, _>>()?;
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > kept;
        rows.truncate(kept);
        Ok(AuditPage { next_after: rows.last().filter(|_| more).map(|last| last.number), rows })
    }
}
