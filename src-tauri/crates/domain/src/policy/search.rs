//! The limits of the search in what tasks say, which is held in memory only (ruling 49).
//!
//! Used by the engine's text index and by the first lines of results in lists. What is found by name or id is the
//! registry's and has no limit here.

use std::time::Duration;

use super::{KIB, MIB, SECOND};

/// What the text index holds and how fast it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPolicy {
    /// What the index holds at most, the newest tasks first. Judgement: 100,000 tasks of 600 bytes.
    pub index_bytes: usize,
    /// What of one task's arguments is searched, and what of its result. Judgement: what a person remembers of a
    /// result is near its beginning.
    pub text_bytes: usize,
    /// A larger payload is not read for the index. Judgement: unsealing it takes a millisecond.
    pub payload_bytes_max: u64,
    /// Tasks that one search finds by what they say, the newest. Judgement: nobody reads further.
    pub found_max: usize,
    /// Tasks that are read in one step of building. Judgement: a few milliseconds.
    pub step_rows: u32,
    /// How many times as long as a step the building rests after it. Judgement: a fifth of one processor.
    pub rest_times: u32,
    /// Changed tasks enter the index no sooner than this after the last ones. Judgement: faster than people type.
    pub follow_rest: Duration,
    /// Characters of the first line of a result in a list. Judgement: two columns of a wide window.
    pub line_chars: usize,
    /// A larger result has no first line in a list. Judgement: a page of them is read within 20 ms.
    pub line_bytes_max: u64,
    /// First lines of results that are remembered. Judgement: a few screens of every list that is open.
    pub lines_kept: usize,
}

impl Default for SearchPolicy {
    fn default() -> Self {
        Self {
            index_bytes: 64 * MIB,
            text_bytes: 8 * KIB,
            payload_bytes_max: 1_048_576,
            found_max: 5_000,
            step_rows: 20,
            rest_times: 4,
            follow_rest: SECOND,
            line_chars: 160,
            line_bytes_max: 65_536,
            lines_kept: 4_096,
        }
    }
}
