//! Pauses, one row each.
//!
//! It decides nothing: what a pause means is in `domain::server::pause`. Reasons stay readable, like those of halts.

use std::collections::BTreeSet;

use domain::audit::AuditEvent;
use domain::ids::{HandleId, PersonId};
use domain::ports::change::Entity;
use domain::ports::{PauseUnit, RegistryError};
use domain::server::halt::HaltedBy;
use domain::server::pause::{Pause, PauseEnd, PauseSubject, SendWaiting};
use domain::time::Timestamp;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::sqlite::StoreContext;
use crate::sqlite::batch::StatementBatch;

const AGENT: &str = "agent";
const SERVER: &str = "server";

/// A pause, ready to write.
#[derive(Debug)]
pub(crate) struct PauseRow {
    pause: Pause,
    kept: u32,
    pub(crate) audit: Vec<AuditEvent>,
}

impl PauseRow {
    pub(crate) fn of(unit: PauseUnit) -> Self {
        let PauseUnit { pause, kept, audit } = unit;
        Self { pause, kept, audit }
    }

    /// What changes with it.
    pub(crate) const fn entity(&self) -> Entity {
        match self.pause.subject {
            PauseSubject::Agent(id) => Entity::Agent(id),
            PauseSubject::Server(id) => Entity::Server(id),
        }
    }
}

fn subject(of: PauseSubject) -> String {
    match of {
        PauseSubject::Agent(id) => format!("{AGENT}:{id}"),
        PauseSubject::Server(id) => format!("{SERVER}:{id}"),
    }
}

fn read_subject(text: &str) -> Option<PauseSubject> {
    match text.split_once(':')? {
        (AGENT, id) => id.parse().ok().map(PauseSubject::Agent),
        (SERVER, id) => id.parse().ok().map(PauseSubject::Server),
        _ => None,
    }
}

/// Puts a pause, and removes those that are over and beyond what is kept.
pub(crate) fn put(batch: &mut StatementBatch, row: &PauseRow) {
    let Pause { id, subject: of, by, at, reason, holds_results, ended } = &row.pause;
    let sent = ended.as_ref().and_then(|end| match &end.send {
        SendWaiting::All => None,
        SendWaiting::Only(chosen) => {
            Some(json!(chosen.iter().map(HandleId::to_string).collect::<Vec<_>>()).to_string())
        }
    });
    batch
        .add(
            "INSERT INTO pauses (id, subject, at, begun_by, reason, holds_results, ended, ended_by, sent) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, ended_by = excluded.ended_by, sent = excluded.sent",
        )
        .with(id.to_string())
        .with(subject(*of))
        .with(at.as_millis())
        .with(by.to_string())
        .with(reason.clone())
        .with(*holds_results)
        .with(ended.as_ref().map(|end| end.at.as_millis()))
        .with(ended.as_ref().map(|end| end.by.as_str().to_owned()))
        .with(sent);
    batch
        .add(
            "DELETE FROM pauses WHERE ended IS NOT NULL AND id NOT IN \
             (SELECT id FROM pauses WHERE ended IS NOT NULL ORDER BY at DESC, id DESC LIMIT ?)",
        )
        .with(row.kept);
}

/// All pauses, the newest first, with the columns that [`read`] takes. Those in force are one for each agent and server,
/// and of those that are over `kept` remain.
pub(crate) const ALL: &str = "SELECT id, subject, at, begun_by, reason, holds_results, ended, ended_by, sent FROM pauses \
     ORDER BY at DESC, id DESC";

pub(crate) fn read(base: &StoreContext, row: &SqliteRow) -> Result<Pause, RegistryError> {
    let failed = || base.failed("read a pause");
    let id: &str = row.try_get(0).map_err(failed())?;
    let bad = |column: &'static str, why: &'static str| {
        StoreContext::bad_row("read `pauses`", id, &DecodeError::new(column, why))
    };
    let of: &str = row.try_get(1).map_err(failed())?;
    let by: &str = row.try_get(3).map_err(failed())?;
    let ended: Option<i64> = row.try_get(6).map_err(failed())?;
    let ended_by: Option<String> = row.try_get(7).map_err(failed())?;
    let sent: Option<&str> = row.try_get(8).map_err(failed())?;
    let send = match sent {
        None => SendWaiting::All,
        Some(text) => {
            let chosen: Vec<String> = serde_json::from_str(text).map_err(|_| bad("sent", "is not a list"))?;
            let chosen: Result<BTreeSet<HandleId>, _> = chosen.iter().map(|id| id.parse()).collect();
            SendWaiting::Only(chosen.map_err(|_| bad("sent", "does not read as ids"))?)
        }
    };
    let ended = match (ended, ended_by) {
        (None, _) => None,
        (Some(at), Some(by)) => Some(PauseEnd { at: Timestamp::from_millis(at), by: PersonId::new(by), send }),
        (Some(_), None) => return Err(bad("ended_by", "is missing")),
    };
    Ok(Pause {
        id: id.parse().map_err(|_| bad("id", "does not read as an id"))?,
        subject: read_subject(of).ok_or_else(|| bad("subject", "is not known"))?,
        by: HaltedBy::from_text(by),
        at: Timestamp::from_millis(row.try_get(2).map_err(failed())?),
        reason: row.try_get(4).map_err(failed())?,
        holds_results: row.try_get(5).map_err(failed())?,
        ended,
    })
}

/// Whether the row is of a pause that is over.
pub(crate) fn is_over(base: &StoreContext, row: &SqliteRow) -> Result<bool, RegistryError> {
    let ended: Option<i64> = row.try_get(6).map_err(base.failed("read a pause"))?;
    Ok(ended.is_some())
}
