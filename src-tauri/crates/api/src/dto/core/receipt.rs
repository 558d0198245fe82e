//! Receipts of calls in JSON: as they are stored, with names beside the ids.
//!
//! Words are those of the registry: a newer version may have written one that this one does not know. Who may read them is
//! in `dispatch.rs`.

use domain::ports::{ReceiptCheck, ReceiptRow};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::audit::hex;
use super::storage::BrokenRowDto;
use crate::dto::iso;

/// What one call of an agent left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptDto {
    pub number: u64,
    /// When the agent got its first answer, or was refused.
    pub at: String,
    /// The name of the agent.
    pub agent: String,
    pub agent_id: String,
    /// The name of the server; null where no server has the tool.
    pub server: Option<String>,
    pub server_id: Option<String>,
    /// The server's name for the tool, or the one that the agent used where no server has it.
    pub tool: String,
    /// Equal arguments have equal marks; null where too many arguments waited for theirs, or the call had none that read.
    pub args_mark: Option<String>,
    /// `allowed`, or why it was refused.
    pub verdict: String,
    /// What the agent got first.
    pub outcome: String,
    /// From the call to the first answer.
    pub took_ms: u64,
    /// Size of the arguments.
    pub bytes_in: u64,
    /// Size of the first answer; zero where it was no answer of a server.
    pub bytes_out: u64,
    /// The task that the call has or joined.
    pub handle: Option<String>,
    /// Whether its fields are those of its hash, as far as one receipt shows that.
    pub fits: bool,
}

impl ReceiptDto {
    pub(crate) fn of(row: &ReceiptRow, agent: String, server: Option<String>) -> Self {
        let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self {
            number: row.number,
            at: iso(row.at),
            agent,
            agent_id: row.agent.clone(),
            server,
            server_id: named(&row.server),
            tool: row.tool.clone(),
            args_mark: row.args_mark.as_deref().map(hex),
            verdict: row.verdict.clone(),
            outcome: row.outcome.clone(),
            took_ms: row.took_ms,
            bytes_in: row.bytes_in,
            bytes_out: row.bytes_out,
            handle: named(&row.handle),
            fits: row.fits,
        }
    }
}

/// A page of receipts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptListDto {
    pub rows: Vec<ReceiptDto>,
    /// Where the next page begins; null at the end. A page may be short, even empty, and not the last.
    pub next: Option<u64>,
    /// The first receipt that is still there; 0 without any.
    pub first: u64,
    /// The last receipt that was stored; 0 without any.
    pub last: u64,
}

/// How receipts compare with the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptsVerifiedDto {
    /// Batches that were checked now.
    pub batches: u64,
    /// Receipts that were checked now.
    pub receipts: u64,
    /// Receipts of these batches that retention removed.
    pub removed: u64,
    /// The first receipt that does not hold.
    pub broken: Option<BrokenRowDto>,
    /// Where the check goes on; null at the end.
    pub next: Option<u64>,
}

impl ReceiptsVerifiedDto {
    /// Adds what the next read found.
    pub(crate) fn add(&mut self, check: &ReceiptCheck) {
        self.batches = self.batches.saturating_add(check.batches);
        self.receipts = self.receipts.saturating_add(check.receipts);
        self.removed = self.removed.saturating_add(check.removed);
        self.broken =
            check.broken.as_ref().map(|broken| BrokenRowDto { number: broken.number, why: broken.why.clone() });
        self.next = check.next.filter(|_| self.broken.is_none());
    }
}
