//! Sizes of what is stored, as people read them.

use crate::format::tokens::grouped;

/// A number of bytes in the unit that suits it, rounded down: `800 B`, `40 KiB`, `12 MiB`.
#[must_use]
pub fn bytes(of: u64) -> String {
    match (of >> 20, of >> 10) {
        (0, 0) => format!("{of} B"),
        (0, kib) => format!("{kib} KiB"),
        (mib, _) => format!("{} MiB", grouped(mib)),
    }
}
