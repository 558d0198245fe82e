//! The limits of reading the configuration files of agent programs.
//!
//! Used by the host, which reads the files. What is imported from them has the limits of servers.

use std::time::Duration;

/// How much of the files of agent programs is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFilePolicy {
    /// A larger file is not read. setup.md §5 asks for 4 MB; Claude Code's own file grows to several.
    pub file_bytes_max: u64,
    /// Entries of one file that are read at most. Judgement: far more than anybody has.
    pub entries_max: usize,
    /// How long a copy of a file from before it was changed is kept: it may hold secrets (setup.md §3.2).
    pub backups_kept: Duration,
    /// How long until routed files are checked again for changes of others (setup.md §3.1).
    pub drift_check: Duration,
    /// How often a file is read again when somebody wrote it while it was changed (setup.md §3.2).
    pub tries: u32,
}

impl Default for ClientFilePolicy {
    fn default() -> Self {
        Self {
            file_bytes_max: 16 * 1_048_576,
            entries_max: 1_000,
            backups_kept: Duration::from_secs(30 * 86_400),
            drift_check: Duration::from_secs(600),
            tries: 3,
        }
    }
}
