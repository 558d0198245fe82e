//! The limits of reading the configuration files of agent programs.
//!
//! Used by the host, which reads the files. What is imported from them has the limits of servers.

/// How much of the files of agent programs is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFilePolicy {
    /// A larger file is not read. setup.md §5 asks for 4 MB; Claude Code's own file grows to several.
    pub file_bytes_max: u64,
    /// Entries of one file that are read at most. Judgement: far more than anybody has.
    pub entries_max: usize,
}

impl Default for ClientFilePolicy {
    fn default() -> Self {
        Self { file_bytes_max: 16 * 1_048_576, entries_max: 1_000 }
    }
}
