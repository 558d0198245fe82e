//! The limits of what is kept in memory of each server: the log of its process and how its requests went.
//!
//! None of it is stored. What of a server is durable is in the registry.

use std::time::Duration;

use super::super::{HOUR, KIB, MINUTE, SECOND};

/// What is kept of one server in one run of the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedServerPolicy {
    /// Text of the log of a server; the oldest lines go first. Judgement: some thousand lines, and 1,000 servers that all
    /// write without end stay below 300 MB.
    pub log_bytes: usize,
    /// Lines of the log of a server. Judgement: as above, for short lines.
    pub log_lines_max: usize,
    /// Longest line of a log; the rest of it is cut. Judgement: a stack frame or a JSON record, not a dump.
    pub log_line_chars: usize,
    /// Characters of the name of the part of a server that logs. Judgement: longer than any name of a module.
    pub logger_chars: usize,
    /// Standard error that is taken into the log in a second; lines beyond are counted. Judgement: far more than a
    /// person reads, and little for the machine.
    pub log_bytes_per_second: usize,
    /// The span over which the bytes of a second are counted.
    pub log_rate_span: Duration,
    /// How often a log that is followed in a terminal is read. Judgement: a person reads no faster.
    pub log_follow_every: Duration,
    /// Lines of a log in one reply. Judgement: drawn at once.
    pub log_page_lines: usize,
    /// Requests are counted in steps of this length. Judgement: a point of a chart over six hours.
    pub times_step: Duration,
    /// How long steps are kept. Window: error rate over a day.
    pub times_kept: Duration,
    /// The span of the figures "in the last hour". Window: error rate over an hour.
    pub times_recent: Duration,
    /// The span of the chart of reply times. Design: six hours.
    pub times_charted: Duration,
}

/// What is remembered of the tools of a server, across runs of the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMemoryPolicy {
    /// Tools of one server that are compared with what a person last saw. Judgement: ten times the largest known
    /// catalogue.
    pub tools_per_server: usize,
    /// Longest definition that is kept to be shown; a longer one is compared by its digest. Judgement: the longest seen
    /// has 9 KiB.
    pub definition_bytes: usize,
    /// Definitions that are kept of one listing of a server. Judgement: a thousand long ones; twice that is stored.
    pub bytes_per_server: usize,
    /// How often tools are listed because a server says that they changed. Judgement: a person looks no more often, and
    /// a server that changes its tools each second costs no more than one that does so each minute.
    pub check_every: Duration,
    /// Lines of a changed definition that are compared line by line. Judgement: the longest seen has 400.
    pub compared_lines: usize,
    /// Longest line of a comparison; the rest of it is cut. Judgement: a long sentence.
    pub line_chars: usize,
    /// Changed tools that a terminal shows line by line; the rest is named. Judgement: more is not read.
    pub changes_shown: usize,
    /// Tools of each kind of change that a row of the audit log names; the rest is counted. Judgement: one line.
    pub named: usize,
    /// Characters of a tool's name in that row. Judgement: the longest seen has 60.
    pub named_chars: usize,
}

impl Default for ToolMemoryPolicy {
    fn default() -> Self {
        Self {
            tools_per_server: 2_000,
            definition_bytes: 32 * KIB,
            bytes_per_server: 4 * 1_024 * KIB,
            check_every: MINUTE,
            compared_lines: 1_000,
            line_chars: 500,
            changes_shown: 20,
            named: 8,
            named_chars: 64,
        }
    }
}

impl Default for ObservedServerPolicy {
    fn default() -> Self {
        Self {
            log_bytes: 256 * KIB,
            log_lines_max: 4_000,
            log_line_chars: 2_000,
            logger_chars: 80,
            log_bytes_per_second: 1_024 * KIB,
            log_rate_span: SECOND,
            log_follow_every: SECOND / 2,
            log_page_lines: 1_000,
            times_step: 10 * MINUTE,
            times_kept: 24 * HOUR,
            times_recent: HOUR,
            times_charted: 6 * HOUR,
        }
    }
}
