//! Entries in the files of agent programs that lead to an agent or a server which is gone.
//!
//! They are only named, with whether an undo takes them back; files are changed in `calls/clients/` alone.

use std::path::Path;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::clients::files::EntryReading;
use crate::api::Api;
use crate::error::ApiError;

/// Entries of one file that lead to what is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LeftEntries {
    /// The program's word, such as `claude-code`.
    pub client: String,
    pub path: String,
    /// Their names in the file.
    pub entries: Vec<String>,
    /// Whether `clients undo` takes them back; others were written by somebody else.
    pub undo: bool,
}

/// What is gone, by its name.
#[derive(Debug, Clone, Copy)]
pub(super) enum GoneName<'a> {
    Agent(&'a str),
    Server(&'a str),
}

impl Api {
    /// The entries that lead to what is gone. It is gone by now whatever stands in files, so none are named where these
    /// cannot be read.
    pub(super) async fn left_entries(&self, gone: GoneName<'_>) -> Vec<LeftEntries> {
        self.find_left_entries(gone).await.unwrap_or_default()
    }

    async fn find_left_entries(&self, gone: GoneName<'_>) -> Result<Vec<LeftEntries>, ApiError> {
        let routes = self.registry.open_routes().await?;
        let files = self.client_files(None).await?;
        let mut left = Vec::new();
        for file in &files {
            let entries = file.entries.iter().filter(|entry| leads_to(&entry.reading, gone));
            left.push(LeftEntries {
                client: file.client.to_owned(),
                path: file.path.display().to_string(),
                entries: entries.map(|entry| entry.name.clone()).collect(),
                undo: routes.iter().any(|route| Path::new(&route.path) == file.path),
            });
        }
        // Files of a project are read for its folder alone; what was routed in them is on record.
        let is_unread = |path: &str| files.iter().all(|file| file.path != Path::new(path));
        for route in routes.iter().filter(|route| is_unread(&route.path)) {
            let entries = match gone {
                GoneName::Agent(name) if route.agent == name => route.entries.clone(),
                GoneName::Agent(_) => Vec::new(),
                GoneName::Server(name) => route.entries.iter().filter(|entry| *entry == name).cloned().collect(),
            };
            left.push(LeftEntries { client: route.client.clone(), path: route.path.clone(), entries, undo: true });
        }
        left.retain(|file| !file.entries.is_empty());
        Ok(left)
    }
}

/// Whether an entry that reads like this leads there.
fn leads_to(reading: &EntryReading, gone: GoneName<'_>) -> bool {
    match (reading, gone) {
        (EntryReading::Routed { agent, .. }, GoneName::Agent(name)) => agent == name,
        (EntryReading::Routed { server, .. }, GoneName::Server(name)) => server.as_deref() == Some(name),
        (EntryReading::Direct(_) | EntryReading::Unresolved(_), _) => false,
    }
}
