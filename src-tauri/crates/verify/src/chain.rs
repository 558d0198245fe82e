//! The hash of one audit row, in both layouts, and the chain that they make.
//!
//! Every field is hashed behind its length as eight big-endian bytes. Layout 1 hashes the note itself; layout 2 hashes a
//! salted commitment in its place, so that a note can be erased later and the chain still holds.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::hex;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// What stands in the place of the row before the first one.
pub const START: Hash = [0; 32];
/// The tag of a row; no row of layout 1 begins with it, because those begin with a decimal number.
const ROW_TAG: &str = "taskwarden audit 2";
/// The tag of a commitment.
const NOTE_TAG: &[u8] = b"taskwarden note 2";

/// The fields of one row as they are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainRow<'a> {
    /// Position in the log, from 1 without gaps.
    pub number: u64,
    /// Which fields are hashed, and how: 1 or 2.
    pub layout: u8,
    /// Milliseconds since 1970 UTC, by the clock of the machine.
    pub at: i64,
    pub actor: &'a str,
    pub verb: &'a str,
    pub subject: &'a str,
    /// The server it is about; empty where none is, and in layout 1.
    pub server: &'a str,
    /// The agent it is about; empty where none is, and in layout 1.
    pub agent: &'a str,
    /// The text of the row; `None` when it was erased or left out.
    pub text: Option<RowText<'a>>,
    /// What stands in the hash for the text; layout 2 only.
    pub commitment: Option<Hash>,
}

/// The part of a row that can be erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowText<'a> {
    /// Layout 1: the note, and the origin of a person's decision where one is known.
    Plain { note: &'a str, origin: Option<&'a str> },
    /// Layout 2: the note and the detail, with the salt that protects them from guessing.
    Salted { note: &'a str, detail: &'a str, salt: &'a [u8] },
}

/// Why a row has no valid hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFault {
    /// The layout is neither 1 nor 2.
    UnknownLayout(u8),
    /// A field is present that this layout does not have, or one is missing that it needs.
    WrongFields,
    /// Note, detail and salt do not give the commitment.
    WrongCommitment { expected: Hash, found: Hash },
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLayout(layout) => write!(f, "its layout {layout} is unknown; a newer verifier may know it"),
            Self::WrongFields => {
                f.write_str("it has fields that its layout does not have, or lacks some that it needs")
            }
            Self::WrongCommitment { expected, found } => write!(
                f,
                "its note, detail and salt do not fit its commitment (expected {}, found {})",
                hex::encode(expected),
                hex::encode(found)
            ),
        }
    }
}

fn add(digest: &mut Sha256, field: &[u8]) {
    digest.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
    digest.update(field);
}

/// The commitment to the text of a row of layout 2.
#[must_use]
pub fn commitment(salt: &[u8], note: &str, detail: &str) -> Hash {
    let mut digest = Sha256::new();
    digest.update(NOTE_TAG);
    [salt, note.as_bytes(), detail.as_bytes()].into_iter().for_each(|field| add(&mut digest, field));
    digest.finalize().into()
}

impl ChainRow<'_> {
    /// The hash of this row behind the row with the hash `previous`.
    ///
    /// # Errors
    /// When the fields do not fit the layout, or the text does not fit the commitment.
    pub fn hash(&self, previous: &Hash) -> Result<Hash, RowFault> {
        let (number, at) = (self.number.to_string(), self.at.to_string());
        let mut digest = Sha256::new();
        digest.update(previous);
        match (self.layout, self.text, self.commitment) {
            (1, Some(RowText::Plain { note, origin }), None) => {
                if !self.server.is_empty() || !self.agent.is_empty() {
                    return Err(RowFault::WrongFields);
                }
                let fields = [&number, &at, self.actor, self.verb, self.subject, note];
                fields.into_iter().chain(origin).for_each(|field| add(&mut digest, field.as_bytes()));
            }
            (2, text, Some(found)) => {
                match text {
                    Some(RowText::Salted { note, detail, salt }) => {
                        let expected = commitment(salt, note, detail);
                        if expected != found {
                            return Err(RowFault::WrongCommitment { expected, found });
                        }
                    }
                    Some(RowText::Plain { .. }) => return Err(RowFault::WrongFields),
                    None => {}
                }
                return Ok(self.salted_hash(previous, &found));
            }
            (1 | 2, _, _) => return Err(RowFault::WrongFields),
            (layout, _, _) => return Err(RowFault::UnknownLayout(layout)),
        }
        Ok(digest.finalize().into())
    }

    /// The hash of a row of layout 2 with this commitment, which is not compared with the text.
    #[must_use]
    pub fn salted_hash(&self, previous: &Hash, commitment: &Hash) -> Hash {
        let (number, at) = (self.number.to_string(), self.at.to_string());
        let fields = [ROW_TAG, &number, &at, self.actor, self.verb, self.subject, self.server, self.agent];
        let mut digest = Sha256::new();
        digest.update(previous);
        fields.into_iter().for_each(|field| add(&mut digest, field.as_bytes()));
        add(&mut digest, commitment);
        digest.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ChainRow<'static> {
        ChainRow {
            number: 1,
            layout: 1,
            at: 1_700_000_000_000,
            actor: "person:ada",
            verb: "admitted",
            subject: "handle:hdl_1",
            server: "",
            agent: "",
            text: Some(RowText::Plain { note: "hello", origin: None }),
            commitment: None,
        }
    }

    fn salted() -> ChainRow<'static> {
        ChainRow {
            layout: 2,
            server: "srv_1",
            agent: "agt_1",
            text: Some(RowText::Salted { note: "hello", detail: "{}", salt: &[7; 16] }),
            commitment: Some(commitment(&[7; 16], "hello", "{}")),
            ..row()
        }
    }

    #[test]
    fn the_hashes_are_those_of_an_independent_program() {
        // Computed once with Python's hashlib from the description in `docs/audit.md`.
        let of = |row: ChainRow<'_>| hex::encode(&row.hash(&START).expect("hashes"));
        assert_eq!(of(row()), "95fc2c163c509fcfc1505feb7b06ff85e955b03ef8a75235fe737f8ced85f2ea");
        assert_eq!(
            hex::encode(&commitment(&[7; 16], "hello", "{}")),
            "d64e2c08883cd06dacc5fa37b783ea4acd8cfe70b42c879e937ade3b03474a90"
        );
        assert_eq!(of(salted()), "581eab4226dcd08c1e364ddac6fc58c7a06019ea61f1092840d57e81e44b8c3b");
    }

    #[test]
    fn an_erased_text_keeps_the_hash_and_a_changed_one_does_not_verify() {
        let whole = salted().hash(&START).expect("hashes");
        assert_eq!(ChainRow { text: None, ..salted() }.hash(&START), Ok(whole), "the commitment stands for the text");
        for text in [
            RowText::Salted { note: "hullo", detail: "{}", salt: &[7; 16] },
            RowText::Salted { note: "hello", detail: "[]", salt: &[7; 16] },
            RowText::Salted { note: "hello", detail: "{}", salt: &[8; 16] },
            RowText::Salted { note: "hello{", detail: "}", salt: &[7; 16] },
        ] {
            let changed = ChainRow { text: Some(text), ..salted() }.hash(&START);
            assert!(matches!(changed, Err(RowFault::WrongCommitment { .. })), "{text:?}");
        }
    }

    #[test]
    fn each_field_is_hashed_and_no_layout_takes_fields_of_the_other() {
        let whole = salted().hash(&START);
        let others = [
            ChainRow { number: 2, ..salted() },
            ChainRow { at: 1, ..salted() },
            ChainRow { actor: "person:adb", ..salted() },
            ChainRow { verb: "ended", ..salted() },
            ChainRow { subject: "store", ..salted() },
            ChainRow { server: "", ..salted() },
            ChainRow { agent: "", ..salted() },
            ChainRow { server: "srv_1agt", agent: "_1", ..salted() },
        ];
        for other in others {
            assert_ne!(other.hash(&START), whole, "{other:?}");
        }
        for mixed in [
            ChainRow { server: "srv_1", ..row() },
            ChainRow { commitment: Some(START), ..row() },
            ChainRow { text: None, ..row() },
            ChainRow { layout: 2, ..row() },
            ChainRow { layout: 1, ..salted() },
            ChainRow { commitment: None, ..salted() },
        ] {
            assert_eq!(mixed.hash(&START), Err(RowFault::WrongFields), "{mixed:?}");
        }
        assert_eq!(ChainRow { layout: 3, ..row() }.hash(&START), Err(RowFault::UnknownLayout(3)));
    }
}
