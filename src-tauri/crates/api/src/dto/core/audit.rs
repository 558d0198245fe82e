//! Rows of the audit log in JSON: as they are stored, with names beside the ids.
//!
//! Names never replace what a row has, because the row is what was hashed. Who may read it is in `dispatch.rs`.

use std::collections::BTreeMap;

use domain::ports::{AuditRow, Checkpoint};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::storage::BrokenRowDto;
use crate::dto::iso;

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditRowDto {
    pub number: u64,
    pub at: String,
    /// Who acted, as the row has it: `person:NAME`, `agent:ID`, `server:ID` or `system:PART`.
    pub actor: String,
    /// The name of who acted.
    pub who: String,
    /// What was done, as the row has it: a newer version may have written a word that this one does not know.
    pub verb: String,
    /// To what, as the row has it.
    pub subject: String,
    /// The name of the server that it is about; null where it names none.
    pub server: Option<String>,
    /// The name of the agent that it is about; null where it names none.
    pub agent: Option<String>,
    /// A short sentence; null when it was erased.
    pub note: Option<String>,
    /// What is known beyond the note: the door and the process of a decision, or the rule that decided.
    pub detail: BTreeMap<String, String>,
    pub layout: u8,
    pub hash: String,
    /// Whether its fields give its hash.
    pub fits: bool,
}

/// A page of the audit log, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditListDto {
    pub rows: Vec<AuditRowDto>,
    /// Where the next page begins; null at the end. A page may be short, even empty, and not the last.
    pub next: Option<u64>,
    /// The first row that is still there; 0 without rows.
    pub first: u64,
    /// The last row that was written; 0 without rows.
    pub last: u64,
}

/// A row of the audit log with its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditShownDto {
    pub row: AuditRowDto,
    /// The hash that it has of the row before.
    pub previous: String,
    pub before: Option<AuditRowDto>,
    pub after: Option<AuditRowDto>,
    /// Whether the rows beside it, as far as there are any, link to it and it to them.
    pub is_linked: bool,
    /// What the row does not say or prove, in sentences.
    pub unknown: Vec<String>,
}

/// A signed root of the tree over the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointDto {
    /// The rows that it covers: the first ones, so many.
    pub size: u64,
    pub root: String,
    pub at: String,
    /// The id of the key that signed.
    pub key: String,
    /// The whole signed note.
    pub note: String,
}

impl CheckpointDto {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { size, root, note, at, key } = checkpoint;
        Self { size: *size, root: hex(root), at: iso(*at), key: key.clone(), note: note.clone() }
    }
}

/// How checkpoints compare with the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TreeVerifiedDto {
    /// Checkpoints that were compared now.
    pub compared: u64,
    /// The row up to which the newest checkpoint covers the log; 0 without any.
    pub newest: u64,
    /// The epoch of the log: 1, and one more each time it went on from an older copy of the registry.
    pub epoch: u32,
    /// Rows after it.
    pub unsigned: u64,
    /// When the first of these was written, where that is longer ago than it should be.
    pub late_since: Option<String>,
    /// The first checkpoint that does not hold, by the row up to which it covers the log.
    pub broken: Option<BrokenRowDto>,
    /// Where the comparison goes on; null at the end.
    pub next: Option<String>,
}

/// The bytes of a text of hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// Bytes as lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The detail as names and texts: of layout 2 from its JSON, of layout 1 from its origin.
fn detail(row: &AuditRow) -> BTreeMap<String, String> {
    if let Some(origin) = &row.origin {
        let words = origin.splitn(3, ' ').map(str::to_owned);
        return ["door", "process", "executable"].map(str::to_owned).into_iter().zip(words).collect();
    }
    let members: BTreeMap<String, Value> =
        row.detail.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    members.into_iter().map(|(name, value)| (name, text(value))).collect()
}

/// The names that belong to the ids of a row.
#[derive(Debug, Default)]
pub(crate) struct RowNames {
    pub(crate) who: String,
    pub(crate) server: Option<String>,
    pub(crate) agent: Option<String>,
}

impl AuditRowDto {
    pub(crate) fn of(row: &AuditRow, names: RowNames) -> Self {
        let RowNames { who, server, agent } = names;
        Self {
            number: row.number,
            at: iso(row.at),
            actor: row.actor.clone(),
            who,
            verb: row.verb.clone(),
            subject: row.subject.clone(),
            server,
            agent,
            note: row.note.clone(),
            detail: detail(row),
            layout: row.layout,
            hash: hex(&row.hash),
            fits: row.fits,
        }
    }
}

/// What a row does not say or prove.
pub(crate) fn unknown_of(row: &AuditRow) -> Vec<String> {
    let mut all = Vec::new();
    if !row.fits {
        all.push(
            "Its fields do not give its hash: the row was changed. `taskwarden audit verify` checks the whole log."
                .into(),
        );
    }
    if row.layout == 1 {
        all.push(
            "It was written by an earlier version: server and agent are not part of it, so filters over these do not find it."
                .into(),
        );
    }
    if row.note.is_none() {
        all.push("Its text was erased. The hash still covers it, and nobody can read it.".into());
    }
    if row.actor.starts_with("person:") && !detail(row).contains_key("process") && row.note.is_some() {
        all.push("Which process the decision came from is not known.".into());
    }
    if row.actor.starts_with("server:") {
        all.push("This is what the server said, not what Taskwarden observed.".into());
    }
    all
}
