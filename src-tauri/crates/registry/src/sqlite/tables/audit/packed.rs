//! Many rows of the audit log as one row of a statement: a JSON array of arrays in one column.
//!
//! The driver copies each column of each row for itself, which costs more than reading and hashing the row. Rows that JSON
//! cannot hold, or that have a column of another type, are not packed: whoever reads them takes them one by one.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::sqlite::batch::StatementBatch;

/// The beginning of a statement that packs rows; what follows is a condition. SQLite goes through a range of numbers in their
/// order, but promises none.
pub(crate) const PACK_ROWS: &str = "SELECT json_group_array(json_array(number, at, actor, verb, subject, note, \
     hex(previous), hex(hash), origin, layout, server, agent, detail, iif(salt IS NULL, NULL, hex(salt)), \
     iif(commitment IS NULL, NULL, hex(commitment)), handle)) FROM audit WHERE ";

/// A text that stays where it was read, unless it has escapes.
#[derive(Debug, Deserialize)]
pub(crate) struct PackedText<'r>(#[serde(borrow)] pub(crate) Cow<'r, str>);

/// Bytes that are written as hexadecimal digits of either case.
#[derive(Debug)]
pub(crate) struct PackedBytes(pub(crate) Vec<u8>);

struct Digits;

impl Visitor<'_> for Digits {
    type Value = PackedBytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let read = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        let bytes = if rest.is_empty() { pairs.iter().map(read).collect::<Option<Vec<u8>>>() } else { None };
        bytes.map(PackedBytes).ok_or_else(|| E::custom("a digit is not hexadecimal"))
    }
}

impl<'de> Deserialize<'de> for PackedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// One row, with every column of the type that it must have.
#[derive(Debug, Deserialize)]
pub(crate) struct PackedRow<'r> {
    pub(crate) number: u64,
    pub(crate) at: i64,
    #[serde(borrow)]
    pub(crate) actor: PackedText<'r>,
    #[serde(borrow)]
    pub(crate) verb: PackedText<'r>,
    #[serde(borrow)]
    pub(crate) subject: PackedText<'r>,
    #[serde(borrow)]
    pub(crate) note: PackedText<'r>,
    pub(crate) previous: PackedBytes,
    pub(crate) hash: PackedBytes,
    #[serde(borrow)]
    pub(crate) origin: Option<PackedText<'r>>,
    pub(crate) layout: i64,
    #[serde(borrow)]
    pub(crate) server: Option<PackedText<'r>>,
    #[serde(borrow)]
    pub(crate) agent: Option<PackedText<'r>>,
    #[serde(borrow)]
    pub(crate) detail: Option<PackedText<'r>>,
    pub(crate) salt: Option<PackedBytes>,
    pub(crate) commitment: Option<PackedBytes>,
    #[serde(borrow)]
    pub(crate) handle: Option<PackedText<'r>>,
}

/// Rows as they were read.
pub(crate) struct PackedRows(SqliteRow);

impl PackedRows {
    /// Reads rows by a statement that begins with [`PACK_ROWS`]; `None` where they cannot be packed, or not read.
    pub(crate) async fn read(connection: &mut SqliteConnection, find: StatementBatch) -> Option<Self> {
        match find.rows(connection).await {
            Ok(found) => found.into_iter().next().map(Self),
            Err(error) => {
                // Read one by one they say what is wrong.
                tracing::debug!(%error, "rows of the audit log are read one by one");
                None
            }
        }
    }

    /// The rows in the order in which they were found; `None` where a column has a value of another type.
    pub(crate) fn rows(&self) -> Option<Vec<PackedRow<'_>>> {
        serde_json::from_str(self.0.try_get::<&str, _>(0).ok()?).ok()
    }
}
