//! Reads the files of all known programs into their entries.
//!
//! A file that cannot be used is listed with its reason; one that is not there is left out. Nothing is written.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use api::calls::clients::files::{ClientEntry, ClientFile};
use domain::policy::ClientFilePolicy;
use serde_json::Value;

use super::catalog::{CLIENTS, ClientFileKind, ClientKind, EntryShape, FilePlace};
use super::document;
use super::entry;
use super::places::Surroundings;

/// Every file that is there, in the order of the catalog.
pub(super) fn read_all(around: &Surroundings, project: Option<&Path>, policy: &ClientFilePolicy) -> Vec<ClientFile> {
    let files = CLIENTS.iter().flat_map(|client| client.files.iter().map(move |file| (client, file)));
    let known = files.filter_map(|(client, file)| Some((client, file, around.path(file.place, project)?)));
    let mut found: Vec<ClientFile> = Vec::new();
    for (client, file, path) in known {
        // A project in the home folder has the user's files as its own.
        if found.iter().any(|known| known.path == path) {
            continue;
        }
        found.extend(read_one(client, file, &path, policy));
    }
    found
}

/// A file of which nothing was read.
pub(super) fn without_entries(client: &ClientKind, file: &ClientFileKind, path: &Path) -> ClientFile {
    ClientFile {
        client: client.word,
        label: client.label,
        path: path.to_owned(),
        scope: file.scope,
        problem: None,
        entries: Vec::new(),
    }
}

fn read_one(client: &ClientKind, file: &ClientFileKind, path: &Path, policy: &ClientFilePolicy) -> Option<ClientFile> {
    let empty = without_entries(client, file, path);
    let text = match read_text(path, policy.file_bytes_max) {
        Ok(Some(text)) => text,
        Ok(None) => return None,
        Err(why) => return Some(ClientFile { problem: Some(why), ..empty }),
    };
    Some(match document::parse(file.format, &text) {
        Ok(value) => ClientFile { entries: entries(client, file, path, &value, policy.entries_max), ..empty },
        Err(why) => ClientFile { problem: Some(why), ..empty },
    })
}

/// The text of a file; `None` when there is none.
pub(super) fn read_text(path: &Path, most_bytes: u64) -> Result<Option<String>, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err("it is not a file".into());
    }
    if facts.len() > most_bytes {
        return Err(format!("it has {} bytes; at most {most_bytes} are read", facts.len()));
    }
    let mut bytes = Vec::new();
    file.take(most_bytes).read_to_end(&mut bytes).map_err(unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".into())
}

fn entries(client: &ClientKind, file: &ClientFileKind, path: &Path, root: &Value, most: usize) -> Vec<ClientEntry> {
    let project = project_of(file, path);
    let mut found = Vec::new();
    for section in file.sections {
        for (place, folder, servers) in sections(root, section) {
            let folder = folder.or_else(|| project.clone());
            for (name, place, value) in named(client.shape, &place, servers) {
                if found.len() >= most {
                    return found;
                }
                found.push(ClientEntry {
                    disabled: entry::is_disabled(value),
                    reading: entry::read(client.shape, client.variables, value, folder.as_deref()),
                    name,
                    place,
                    folder: folder.clone(),
                });
            }
        }
    }
    found
}

/// The folder of the project that a file belongs to.
fn project_of(file: &ClientFileKind, path: &Path) -> Option<String> {
    let FilePlace::Project(below) = file.place else { return None };
    let depth = Path::new(below).components().count();
    path.ancestors().nth(depth).map(|folder| folder.display().to_string())
}

/// The objects that a path of keys leads to, each with its keys and the folder that stood for `*`.
fn sections<'a>(root: &'a Value, keys: &[&str]) -> Vec<(Vec<String>, Option<String>, &'a Value)> {
    let mut found = vec![(Vec::new(), None, root)];
    for key in keys {
        let mut next = Vec::new();
        for (place, folder, value) in found {
            let Some(object) = value.as_object() else { continue };
            let members = object.iter().filter(|(name, _)| *key == "*" || name.as_str() == *key);
            next.extend(members.map(|(name, value)| {
                let mut place: Vec<String> = place.clone();
                place.push(name.clone());
                let folder = if *key == "*" { Some(name.clone()) } else { folder.clone() };
                (place, folder, value)
            }));
        }
        found = next;
    }
    found
}

/// The entries of a section with their names and places.
fn named<'a>(shape: EntryShape, place: &[String], servers: &'a Value) -> Vec<(String, Vec<String>, &'a Value)> {
    let below = |key: &str| place.iter().cloned().chain([key.to_owned()]).collect();
    match (shape, servers) {
        (EntryShape::Continue, Value::Array(items)) => items
            .iter()
            .filter_map(|item| {
                let name = item.get("name").and_then(Value::as_str)?;
                Some((name.to_owned(), below(name), item))
            })
            .collect(),
        (_, Value::Object(members)) => members.iter().map(|(name, value)| (name.clone(), below(name), value)).collect(),
        _ => Vec::new(),
    }
}
