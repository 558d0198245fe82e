//! The limits of halts.
//!
//! Used by the engine, which obeys a halt, and by the host, which looks for the file `HALT`.

use std::time::Duration;

use crate::policy::SECOND;

/// How halts are kept and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaltPolicy {
    /// A cancel of which nothing is heard for this long is shown as not confirmed. stop.md §2.
    pub confirm_within: Duration,
    /// How often the file `HALT` is looked for where the system does not report new files, and after a look that failed.
    /// stop.md §3.2: it works within a second.
    pub file_look: Duration,
    /// How often it is looked for where the system reports new files, in case one was not reported: a network file system
    /// reports only those of this machine. Judgement.
    pub file_check: Duration,
    /// Characters of a reason at most. The field of the window takes as many.
    pub reason_chars: usize,
    /// Tasks of a halt that one answer lists at most; all of them are counted. Judgement: a few screens.
    pub tasks_listed: u32,
    /// Cancels that are recorded at a time, so that their commits share fsyncs. As for revocations.
    pub cancels_at_once: usize,
    /// How long whoever halts waits until the calls that had left are listed. Judgement: their rows take about 100 ms on
    /// a busy machine, and a person takes a second for an answer at once.
    pub listed_within: Duration,
}

impl Default for HaltPolicy {
    fn default() -> Self {
        Self {
            confirm_within: SECOND * 30,
            file_look: SECOND / 2,
            file_check: SECOND * 30,
            reason_chars: 300,
            tasks_listed: 200,
            cancels_at_once: 64,
            listed_within: SECOND,
        }
    }
}
