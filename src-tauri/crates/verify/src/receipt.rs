//! Receipts of calls: the hash of one, the root over a batch, and what the row `called` says of a batch.
//!
//! A batch is a tree of RFC 6962 of its own; its leaves are its receipts in the order of their numbers. Nothing is read or
//! stored here.

use sha2::{Digest, Sha256};

use crate::chain::Hash;
use crate::hex;
use crate::tree::{Frontier, LeafRange, inclusion_ranges, leaf_hash};

/// The verb of rows that vouch for a batch.
pub const CALLED: &str = "called";
/// What the hash of a receipt begins with, so that no other text has the same.
const LAYOUT: &str = "taskwarden receipt 1";

/// The fields of a receipt as they are hashed; a text is empty where there is none.
#[derive(Debug, Clone, Copy)]
pub struct ReceiptFields<'a> {
    pub number: u64,
    /// Milliseconds since 1970 UTC.
    pub at: i64,
    pub agent: &'a str,
    pub server: &'a str,
    pub tool: &'a str,
    pub args_mark: &'a [u8],
    pub verdict: &'a str,
    pub outcome: &'a str,
    pub took_ms: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub handle: &'a str,
}

impl ReceiptFields<'_> {
    /// The leaf of this receipt.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        let mut hasher = Sha256::new();
        let mut add = |field: &[u8]| {
            hasher.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(field);
        };
        let number = |number: u64| number.to_string();
        add(LAYOUT.as_bytes());
        add(number(self.number).as_bytes());
        add(self.at.to_string().as_bytes());
        for text in [self.agent, self.server, self.tool] {
            add(text.as_bytes());
        }
        add(self.args_mark);
        add(self.verdict.as_bytes());
        add(self.outcome.as_bytes());
        for size in [self.took_ms, self.bytes_in, self.bytes_out] {
            add(number(size).as_bytes());
        }
        add(self.handle.as_bytes());
        let hash: Hash = hasher.finalize().into();
        leaf_hash(&hash)
    }
}

/// The root over the leaves of a batch.
#[must_use]
pub fn batch_root(leaves: impl IntoIterator<Item = Hash>) -> Hash {
    let mut tree = Frontier::default();
    for leaf in leaves {
        tree.push(leaf, |_, _| {});
    }
    tree.root()
}

/// The inclusion proof of a leaf in its batch, by its place from 0.
#[must_use]
pub fn batch_path(leaves: &[Hash], place: usize) -> Vec<Hash> {
    let short = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let long = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let root_over = |LeafRange { begin, end }| {
        let over = leaves.iter().skip(short(begin)).take(short(end.saturating_sub(begin)));
        batch_root(over.copied())
    };
    inclusion_ranges(long(place), long(leaves.len())).into_iter().map(root_over).collect()
}

/// What a row `called` says: which receipts a batch has, and their root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchClaim {
    pub first: u64,
    pub last: u64,
    pub root: Hash,
}

impl BatchClaim {
    /// How many receipts it has.
    #[must_use]
    pub const fn count(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// The note of its row.
    #[must_use]
    pub fn note(&self) -> String {
        let Self { first, last, root } = self;
        format!("receipts {first} to {last}, {} in all, root {}", self.count(), hex::encode(root))
    }

    /// Reads a note; `None` when it is none of a batch.
    #[must_use]
    pub fn parse(note: &str) -> Option<Self> {
        let (first, rest) = note.strip_prefix("receipts ")?.split_once(" to ")?;
        let (last, rest) = rest.split_once(", ")?;
        let (count, root) = rest.split_once(" in all, root ")?;
        let claim = Self { first: first.parse().ok()?, last: last.parse().ok()?, root: hex::decode_hash(root)? };
        let fits = claim.first > 0 && claim.last >= claim.first && claim.last < u64::MAX;
        (fits && count.parse() == Ok(claim.count())).then_some(claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: ReceiptFields<'static> = ReceiptFields {
        number: 7,
        at: 1_700_000_000_000,
        agent: "agt_1",
        server: "srv_1",
        tool: "search",
        args_mark: &[1, 2],
        verdict: "allowed",
        outcome: "result",
        took_ms: 3,
        bytes_in: 20,
        bytes_out: 300,
        handle: "",
    };

    #[test]
    fn each_field_changes_the_leaf_and_none_runs_into_the_next() {
        let others = [
            ReceiptFields { number: 8, ..FIELDS },
            ReceiptFields { at: 1, ..FIELDS },
            ReceiptFields { agent: "agt_2", ..FIELDS },
            ReceiptFields { server: "srv_2", ..FIELDS },
            ReceiptFields { tool: "searches", ..FIELDS },
            ReceiptFields { args_mark: &[1], ..FIELDS },
            ReceiptFields { verdict: "halted", ..FIELDS },
            ReceiptFields { outcome: "error", ..FIELDS },
            ReceiptFields { took_ms: 4, ..FIELDS },
            ReceiptFields { bytes_in: 2, bytes_out: 300, ..FIELDS },
            ReceiptFields { bytes_in: 203, bytes_out: 0, ..FIELDS },
            ReceiptFields { handle: "hdl_1", ..FIELDS },
            ReceiptFields { server: "", tool: "srv_1search", ..FIELDS },
        ];
        let mut leaves: Vec<Hash> = others.iter().map(ReceiptFields::leaf).collect();
        leaves.push(FIELDS.leaf());
        let all = leaves.len();
        leaves.sort_unstable();
        leaves.dedup();
        assert_eq!(leaves.len(), all);
    }

    #[test]
    fn a_note_reads_back_and_nothing_else_is_one() {
        let claim = BatchClaim { first: 257, last: 512, root: batch_root([FIELDS.leaf()]) };
        assert_eq!(BatchClaim::parse(&claim.note()), Some(claim));
        assert_eq!(claim.count(), 256);
        let root = hex::encode(&claim.root);
        for note in [
            String::new(),
            format!("receipts 257 to 512, 255 in all, root {root}"),
            format!("receipts 0 to 0, 1 in all, root {root}"),
            format!("receipts 2 to 1, 0 in all, root {root}"),
            "receipts 1 to 1, 1 in all, root 00".into(),
        ] {
            assert_eq!(BatchClaim::parse(&note), None, "`{note}`");
        }
    }
}
