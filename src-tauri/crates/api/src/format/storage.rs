//! Sizes of what is stored as people read them, and what exceeds a limit and cannot be removed.
//!
//! One sentence for `storage show` and `doctor`. Nothing is measured or removed here: that is the registry's.

use crate::dto::StorageDto;
use crate::format::tokens::grouped;

/// A number of bytes in the unit that suits it, rounded down: `800 B`, `40 KiB`, `1,300 MiB`, and `2 GiB` where that is
/// all of it. The one form of everything that the core and its command line say; the window has its own.
#[must_use]
pub fn bytes(of: u64) -> String {
    let (gib, mib, kib) = (of >> 30, of >> 20, of >> 10);
    match (mib, kib) {
        (0, 0) => format!("{of} B"),
        (0, kib) => format!("{kib} KiB"),
        _ if gib > 0 && of.trailing_zeros() >= 30 => format!("{} GiB", grouped(gib)),
        (mib, _) => format!("{} MiB", grouped(mib)),
    }
}

/// What exceeds a limit and stays, because no limit removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckStorage {
    /// What it is and why it stays, as a sentence without its full stop.
    pub message: String,
    /// What a person can do.
    pub cure: String,
}

impl StuckStorage {
    /// What of the tasks that no limit removes is beyond a limit by itself; clean-up can do nothing about it.
    #[must_use]
    pub fn of(storage: &StorageDto) -> Option<Self> {
        let (kept, limits) = (storage.stored.kept_tasks, &storage.limits);
        let kept_bytes = kept.bytes.unwrap_or_default();
        let (what, option) = if kept_bytes > limits.payload_bytes {
            let (of, most) = (bytes(kept_bytes), bytes(limits.payload_bytes));
            (format!("{of} of contents of tasks, of at most {most},"), "--payload-size")
        } else if kept.rows > limits.tasks {
            (format!("{} tasks of at most {}", grouped(kept.rows), grouped(limits.tasks)), "--tasks")
        } else {
            return None;
        };
        Some(Self {
            message: format!("{what} cannot be removed while the tasks are open, held, unanswered or undelivered"),
            cure: format!(
                "Answer, release or cancel what is open (`taskwarden tasks list --open`), or raise the limit with \
                 `taskwarden storage set {option}`."
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_unit_that_suits_them() {
        let sizes = [0, 800, 40 << 10, (12 << 20) + 5, 1_300 << 20, 2 << 30].map(bytes);
        assert_eq!(sizes, ["0 B", "800 B", "40 KiB", "12 MiB", "1,300 MiB", "2 GiB"]);
    }
}
