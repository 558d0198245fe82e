//! Agent programs on this machine as JSON: their files, the servers in them, and what can be done with each.
//!
//! Values of environments and headers never appear, only their names.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::AddressDto;
use super::words::words;

words! {
    /// Whose servers a file configures.
    FileScopeDto {
        User = "user",
        /// Of one project, and usually committed with it.
        Project = "project",
    }
    /// What became of a server that was to be imported.
    ImportStateDto {
        Added = "added",
        /// Taskwarden had it already.
        Known = "known",
        Refused = "refused",
    }
    /// What became of an edit of a file.
    FileEditStateDto {
        /// It is shown, and nothing was written.
        Shown = "shown",
        Done = "done",
        /// The file is as it was; `problem` says why.
        Refused = "refused",
    }
    /// What can be done with a server in a file.
    EntryStateDto {
        /// It can be imported.
        New = "new",
        /// Taskwarden has this server, and the program still reaches it directly.
        Known = "known",
        /// The program reaches it through Taskwarden.
        Routed = "routed",
        /// It cannot be imported; `why` says why.
        Unresolved = "unresolved",
    }
}

/// An agent program of which at least one file was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "AgentClient")]
pub struct ClientDto {
    /// Its word for the command line, such as `claude-code`.
    pub client: String,
    pub label: String,
    pub files: Vec<ClientFileDto>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ClientFile")]
pub struct ClientFileDto {
    pub path: String,
    #[ts(inline)]
    pub scope: FileScopeDto,
    /// Why nothing of it can be used; null when it was read.
    pub problem: Option<String>,
    /// What does not stand in it as it was routed, as sentences without a full stop.
    pub drift: Vec<String>,
    pub servers: Vec<ClientServerDto>,
}

/// One server in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ClientServer")]
pub struct ClientServerDto {
    /// The name that the program knows it by.
    pub name: String,
    /// The keys that lead to it in the file.
    pub place: Vec<String>,
    /// The folder for which alone it holds; null for every folder.
    pub folder: Option<String>,
    /// Whether the program does not start it now.
    pub disabled: bool,
    #[ts(inline)]
    pub state: EntryStateDto,
    /// Why it cannot be imported, or routed; null otherwise.
    pub why: Option<String>,
    /// Its name in Taskwarden, or the name that an import would give it; null where there is none.
    pub server: Option<String>,
    /// What would run or be contacted, with variables as they stand in the file; null where that is not known.
    pub address: Option<AddressDto>,
    /// What a person agrees to with an import; null where there is nothing to import.
    pub fingerprint: Option<String>,
    /// Values that the file leaves open.
    pub variables: Vec<ClientVariableDto>,
    /// Other programs that have the same server, by their words.
    pub also_in: Vec<String>,
}

/// A value that a file leaves open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ClientVariable")]
pub struct ClientVariableDto {
    pub name: String,
    /// Whether the program would read it from its environment under this name.
    pub environment: bool,
    /// Whether it is never shown and goes into the vault.
    pub secret: bool,
    /// What it is when nobody says otherwise.
    pub default: Option<String>,
}

/// An edit of one file of an agent program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ClientFileEdit")]
pub struct FileEditDto {
    pub path: String,
    /// Null where it is not known any more.
    #[ts(inline)]
    pub scope: Option<FileScopeDto>,
    #[ts(inline)]
    pub state: FileEditStateDto,
    /// Why it is refused, as a sentence without a full stop; null otherwise.
    pub problem: Option<String>,
    /// What a person agrees to; null where there is nothing to agree to.
    pub fingerprint: Option<String>,
    pub lines: Vec<ChangedLinesDto>,
    /// Entries that stay because people changed them since; of an undo.
    pub kept: Vec<String>,
    /// The copy of the file from before; null where none was made.
    pub backup: Option<String>,
    /// The command that brings the file of before back without Taskwarden.
    pub restore: Option<String>,
    /// Whether both files changed places in one step; the file system may only know a rename.
    pub exchanged: bool,
}

/// Lines that are replaced. Values of environments and headers are hidden in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ChangedFileLines")]
pub struct ChangedLinesDto {
    /// The first of them, counted from one.
    pub line: u64,
    pub removed: Vec<String>,
    pub added: Vec<String>,
}

/// A server that was meant and is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "LeftOutServer")]
pub struct LeftOutDto {
    pub name: String,
    /// Why, as a sentence without a full stop.
    pub why: String,
}
