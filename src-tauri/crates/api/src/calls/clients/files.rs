//! The files of agent programs as the host reads them: which servers stand in them, and how they are started.
//!
//! Only the seam and its values. Paths and formats are the host's (`host::clients`); what is done with a server
//! that was found is in `clients.rs` and the files beside it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use domain::ports::PortFuture;
use domain::server::ServerAddress;

use super::launch::ClientLaunch;

/// Reads the files of agent programs.
pub trait ClientFiles: Send + Sync + 'static {
    /// Every file of a known program that is there, with what stands in it. `project` adds the files of that folder.
    fn read(&self, project: Option<PathBuf>) -> PortFuture<'_, Vec<ClientFile>>;
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
