//! The lines of an export, each one JSON object with one member that names its kind.
//!
//! Writing and reading use the same types, so the program that exports and the one that verifies cannot drift apart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chain::{ChainRow, Hash, RowText};
use crate::filter::RowFilter;
use crate::hex;
use crate::receipt::ReceiptFields;

/// The format and its version.
pub const FORMAT: &str = "taskwarden audit export 1";
/// Bytes of one line at most. A row has a note and a detail of some kilobytes; a manifest some hundred proofs. Judgement.
pub const LINE_BYTES_MAX: u64 = 4_000_000;

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExportLine<'a> {
    Manifest(Box<Manifest>),
    /// A row that the filter wants.
    #[serde(borrow)]
    Row(Box<RowLine<'a>>),
    /// A row that the filter does not want, without its text; with hashes, one that vouches for receipts that it wants.
    #[serde(borrow)]
    Stub(Box<RowLine<'a>>),
    /// The receipts that the row before vouches for.
    #[serde(borrow)]
    Receipts(Box<ReceiptsLine<'a>>),
    Trailer(Trailer),
}

/// What the file holds of rows that the filter does not want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GapKind {
    /// Their fields without note and detail: completeness is provable.
    Stubs,
    /// Nothing: each row and each receipt proves its own place only.
    Hashes,
}

/// The first line: what the file claims to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    pub format: String,
    /// The name of the log in its epoch, `taskwarden/LOG_ID` or `taskwarden/LOG_ID/2`.
    pub origin: String,
    /// Public keys of the log as `NAME+ID+BASE64`, the newest first.
    pub keys: Vec<String>,
    /// The whole signed note of the checkpoint that covers the rows.
    pub checkpoint: String,
    pub filter: RowFilter,
    pub gaps: GapKind,
    /// The first row of the range.
    pub first: u64,
    /// The last row of the range.
    pub last: u64,
    /// The hash of the row before the first, 64 zeros before row 1.
    pub previous: String,
    /// With stubs: roots of the complete subtrees before the range, from left to right.
    pub before: Vec<String>,
    /// With stubs: roots of the complete subtrees from the end of the range to that of the tree, from left to right.
    pub after: Vec<String>,
    /// Proofs that earlier trees, as anchors have them, are the beginning of this one.
    pub earlier: Vec<EarlierTree>,
}

/// The proof that the tree of `size` rows is the beginning of that of the export's checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlierTree {
    pub size: u64,
    /// The consistency proof of RFC 9162.
    pub proof: Vec<String>,
}

/// A row or a stub.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowLine<'a> {
    pub number: u64,
    pub layout: u8,
    pub at: i64,
    #[serde(borrow)]
    pub actor: Cow<'a, str>,
    #[serde(borrow)]
    pub verb: Cow<'a, str>,
    #[serde(borrow)]
    pub subject: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub server: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub agent: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Cow<'a, str>>,
    /// Layout 1: how a person's decision came in.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Cow<'a, str>>,
    /// Layout 2: the detail as the very text that was hashed.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub hash: Cow<'a, str>,
    /// With hashes: the hash of the row before.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Cow<'a, str>>,
    /// With hashes: the inclusion proof of RFC 9162.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
}

/// The receipts of one batch, in the order of their numbers: all of them, or with hashes those that the filter wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReceiptsLine<'a> {
    /// The row that vouches for them.
    pub row: u64,
    #[serde(borrow)]
    pub calls: Vec<ReceiptLine<'a>>,
}

/// A receipt. Where the whole batch is there, its number follows from its place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReceiptLine<'a> {
    pub at: i64,
    #[serde(borrow)]
    pub agent: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub server: Cow<'a, str>,
    #[serde(borrow)]
    pub tool: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub args_mark: Cow<'a, str>,
    #[serde(borrow)]
    pub verdict: Cow<'a, str>,
    #[serde(borrow)]
    pub outcome: Cow<'a, str>,
    pub took_ms: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub handle: Cow<'a, str>,
    /// The number, where not the whole batch is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The inclusion proof in the batch, where not the whole batch is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
}

impl ReceiptLine<'_> {
    /// The fields as they are hashed, with this number and the mark as it was read.
    #[must_use]
    pub fn fields<'a>(&'a self, number: u64, args_mark: &'a [u8]) -> ReceiptFields<'a> {
        ReceiptFields {
            number,
            at: self.at,
            agent: &self.agent,
            server: &self.server,
            tool: &self.tool,
            args_mark,
            verdict: &self.verdict,
            outcome: &self.outcome,
            took_ms: self.took_ms,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            handle: &self.handle,
        }
    }

    /// The leaf of the receipt with this number; `None` when the mark is not hexadecimal.
    #[must_use]
    pub fn leaf(&self, number: u64) -> Option<Hash> {
        Some(self.fields(number, &hex::decode(&self.args_mark)?).leaf())
    }
}

/// The last line: a file without it was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trailer {
    pub rows: u64,
    pub stubs: u64,
    /// Receipts of calls.
    #[serde(default)]
    pub receipts: u64,
}

/// Hashes from their texts; `None` when one is none.
#[must_use]
pub fn hashes_of(texts: &[String]) -> Option<Vec<Hash>> {
    texts.iter().map(|text| hex::decode_hash(text)).collect()
}

/// Hashes as texts.
#[must_use]
pub fn texts_of(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(|hash| hex::encode(hash)).collect()
}

impl RowLine<'_> {
    /// The fields as they are hashed, with the salt read into `salt`; `None` when a hexadecimal field does not read.
    #[must_use]
    pub fn chain_row<'a>(&'a self, salt: &'a mut Vec<u8>) -> Option<ChainRow<'a>> {
        *salt = self.salt.as_deref().map_or(Some(Vec::new()), hex::decode)?;
        let commitment = match &self.commitment {
            Some(text) => Some(hex::decode_hash(text)?),
            None => None,
        };
        let text = match (self.layout, &self.note, &self.detail, &self.salt) {
            (1, Some(note), None, None) => Some(RowText::Plain { note, origin: self.origin.as_deref() }),
            (2, Some(note), Some(detail), Some(_)) if self.origin.is_none() => {
                Some(RowText::Salted { note, detail, salt })
            }
            (_, None, None, None) if self.origin.is_none() => None,
            _ => return None,
        };
        Some(ChainRow {
            number: self.number,
            layout: self.layout,
            at: self.at,
            actor: &self.actor,
            verb: &self.verb,
            subject: &self.subject,
            server: &self.server,
            agent: &self.agent,
            text,
            commitment,
        })
    }
}
