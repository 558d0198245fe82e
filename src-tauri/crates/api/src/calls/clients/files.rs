//! The files of agent programs as the host reads them: which servers stand in them, and how they are started.
//!
//! Only the seam and its values. Paths and formats are the host's (`host::clients`); what is done with a server
//! that was found is in `clients.rs` and the files beside it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use domain::ports::{PortFuture, Secret};
use domain::server::ServerAddress;

use super::launch::ClientLaunch;

/// Reads the files of agent programs.
pub trait ClientFiles: Send + Sync + 'static {
    /// Every file of a known program that is there, with what stands in it. `project` adds the files of that folder.
    fn read(&self, project: Option<PathBuf>) -> PortFuture<'_, Vec<ClientFile>>;
    /// The file that a program has at this path, whether or not it is there, without what stands in it; `None` where the
    /// program has none of this name.
    fn known_file(&self, client: &str, path: &Path) -> Option<ClientFile>;
    /// How a file would look with these entries reached through Taskwarden. Nothing is written. The error is a sentence
    /// without a full stop.
    fn plan_route(&self, edit: BridgeEdit) -> PortFuture<'_, Result<PlannedEdit, String>>;
    /// How a file would look with these routes taken back. Nothing is written.
    fn plan_undo(&self, edit: UndoEdit) -> PortFuture<'_, Result<PlannedEdit, String>>;
    /// Writes an edit if it is still the one that was agreed to, by its fingerprint.
    fn write_edit(&self, edit: EditToWrite, agreed: PlannedEdit) -> PortFuture<'_, Result<WrittenEdit, ReplaceError>>;
    /// Hex SHA-256 of a file; `None` when there is none. Also removes what an earlier run left beside it.
    fn settled_digest(&self, path: PathBuf) -> PortFuture<'_, Option<String>>;
    /// What does not stand in a file as a route wrote it, a sentence without a full stop for each entry. The error says
    /// why the file cannot be read.
    fn drift(&self, client: String, path: PathBuf, changes: Secret) -> PortFuture<'_, Result<Vec<String>, String>>;
    /// Where a copy of a file of this program goes.
    fn backup_path(&self, client: &str, at_millis: i64) -> PathBuf;
    /// Removes copies of files that are older than people were told.
    fn remove_old_backups(&self) -> PortFuture<'_, ()>;
    /// Whether the token of an agent is in its file.
    fn has_token(&self, agent: &str) -> bool;
}

/// Entries of a file that are to be bridges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeEdit {
    /// The program's word.
    pub client: String,
    pub path: PathBuf,
    /// The place of each entry, and the server that it is to reach.
    pub entries: Vec<(Vec<String>, String)>,
    /// The agent that the bridge is for.
    pub agent: String,
    /// How this program is started as a bridge.
    pub connect: Vec<String>,
    /// The data folder, where that command must be told of it.
    pub home: Option<String>,
}

/// Routes of a file that are to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoEdit {
    /// The program's word.
    pub client: String,
    pub path: PathBuf,
    /// The newest first.
    pub steps: Vec<UndoStep>,
}

/// One route that is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoStep {
    pub before: Secret,
    /// Hex SHA-256 of the file as the route wrote it.
    pub after_digest: String,
    /// As [`PlannedEdit::changes`] had them.
    pub changes: Secret,
}

/// An edit that is proven to change nothing but its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEdit {
    /// The text that was read; `None` when there is no file.
    pub before: Option<Secret>,
    pub after: Secret,
    pub lines: Vec<ChangedLines>,
    /// What a person agrees to: the same edit of a file that changed elsewhere has the same.
    pub fingerprint: String,
    /// The entries before and what is written, for an undo and for the check that they still stand.
    pub changes: Secret,
    /// Entries that people changed since, and why they stay, as sentences without a full stop. Only of an undo.
    pub kept: Vec<String>,
}

/// Lines of a file that an edit replaces. Values of environments and headers are hidden in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The first of them, counted from one.
    pub line: u64,
    pub removed: Vec<String>,
    pub added: Vec<String>,
}

/// An edit that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditToWrite {
    /// `backup` is where a copy of the text before goes.
    Route {
        edit: BridgeEdit,
        backup: PathBuf,
    },
    Undo(UndoEdit),
}

/// An edit that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenEdit {
    /// As it was made in the end.
    pub plan: PlannedEdit,
    /// Whether both files changed places in one step. Otherwise the new one was renamed over the old one, and a change
    /// in that moment could have been lost.
    pub is_exchange: bool,
}

/// Why a text was not replaced. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    /// Somebody wrote the file each time meanwhile.
    Changed,
    /// Why it cannot be written, as a sentence without a full stop.
    Refused(String),
}

/// Whose servers a file configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileScope {
    /// The user's, in every project.
    User,
    /// Those of one project, and of everybody who works on it.
    Project,
}

/// A file of an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// The program's word, such as `claude-code`.
    pub client: &'static str,
    pub label: &'static str,
    pub path: PathBuf,
    pub scope: FileScope,
    /// Why nothing of it can be used, as a sentence without a full stop.
    pub problem: Option<String>,
    pub entries: Vec<ClientEntry>,
}

/// One server in such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientEntry {
    /// The name that the program knows it by.
    pub name: String,
    /// The keys that lead to it in the file.
    pub place: Vec<String>,
    /// The folder for which alone it holds.
    pub folder: Option<String>,
    /// Whether the program does not start it now.
    pub disabled: bool,
    pub reading: EntryReading,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryReading {
    /// The program starts or contacts the server itself.
    Direct(Box<ClientLaunch>),
    /// The program starts `taskwarden connect`; `None` is all servers.
    Routed { server: Option<String>, agent: String },
    /// It cannot be used, and why, as a sentence without a full stop.
    Unresolved(String),
}

/// Values that are never shown, by the name of their variable or header.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HiddenValues(pub BTreeMap<String, String>);

impl fmt::Debug for HiddenValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Names under which an address has values in the vault.
pub(super) fn secret_names(address: &ServerAddress) -> &[String] {
    match address {
        ServerAddress::Stdio { secret_env, .. } => secret_env,
        ServerAddress::Http { secret_headers, .. } => secret_headers,
    }
}
