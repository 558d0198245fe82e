//! A vocabulary as it lies in the program: which bytes are a token.
//!
//! Made by the build script and never copied: reading costs no memory but the pages that are looked at.

use super::slots;

/// The tables of one vocabulary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// The tokens one after the other.
    bytes: &'static [u8],
    /// Where each token starts, and where the last ends.
    starts: &'static [[u8; 4]],
    slots: &'static [[u8; 4]],
}

macro_rules! table {
    ($name:literal) => {
        Table {
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes")),
            starts: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".starts")).as_chunks().0,
            slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots")).as_chunks().0,
        }
    };
}

pub(super) static O200K: Table = table!("o200k");
pub(super) static CL100K: Table = table!("cl100k");

impl Table {
    /// The token that is exactly these bytes. Of two tokens, the smaller one was made first.
    pub(super) fn token(&self, piece: &[u8]) -> Option<u32> {
        let hash = slots::hash(piece);
        for place in slots::places(hash, self.slots.len()) {
            let slot = u32::from_le_bytes(*self.slots.get(place)?);
            if slot == slots::EMPTY {
                return None;
            }
            // With another mark above it, the number is that of no token.
            let token = (slot ^ slots::mark(hash)).wrapping_sub(1);
            if self.bytes(token) == Some(piece) {
                return Some(token);
            }
        }
        None
    }

    fn bytes(&self, token: u32) -> Option<&'static [u8]> {
        let token = usize::try_from(token).ok()?;
        self.bytes.get(self.start(token)?..self.start(token + 1)?)
    }

    fn start(&self, token: usize) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(*self.starts.get(token)?)).ok()
    }
}
