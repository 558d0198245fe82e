//! Plans how a file looks with entries routed through Taskwarden, and with routes taken back.
//!
//! A plan is text and its proof; writing it is `exchange.rs`. What is shown of it hides values of environments and headers.

use std::collections::BTreeSet;
use std::path::Path;

use api::calls::clients::files::{
    BridgeEdit, ChangedLines, EditToWrite, PlannedEdit, ReplaceError, UndoEdit, WrittenEdit,
};
use domain::digest::sha256_hex;
use domain::policy::ClientFilePolicy;
use domain::ports::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::bridge_members::{BridgeCommand, members};
use super::catalog::{CLIENTS, ClientFileKind, ClientKind, EntryShape, FilePlace};
use super::document::Format;
use super::member_edit::{EntryEdit, MemberEdit};
use super::{document, edit, exchange, reader};

/// What stands for a value that is not shown.
const HIDDEN: &str = "(hidden)";
/// A shorter value stands in too many other places to be hidden there, and is too short for a secret.
const SHORTEST_HIDDEN: usize = 4;
/// Members whose texts are hidden, in all shapes of entries.
const HIDING: [&str; 5] = ["env", "environment", "envs", "headers", "http_headers"];
/// A longer line is not shown: the file is not meant for reading.
const LINE_CHARS: usize = 400;

/// An entry before it was routed, and what was written into it.
#[derive(Debug, Serialize, Deserialize)]
struct EntryChange {
    place: Vec<String>,
    before: Value,
    written: Vec<WrittenMember>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenMember {
    name: String,
    /// `None` when the member was removed.
    value: Option<Value>,
}

impl EntryChange {
    fn name(&self) -> &str {
        self.place.last().map_or("", String::as_str)
    }

    /// Whether an entry is as the route wrote it, as far as that wrote anything.
    fn stands_in(&self, entry: &Value) -> bool {
        self.written.iter().all(|member| entry.get(&member.name) == member.value.as_ref())
    }

    /// Whether an entry is as it was before.
    fn is_undone_in(&self, entry: &Value) -> bool {
        self.written.iter().all(|member| entry.get(&member.name) == self.before.get(&member.name))
    }

    fn reverse(&self) -> Vec<MemberEdit> {
        let before = |name: &str| self.before.get(name).cloned();
        let edit = |member: &WrittenMember| MemberEdit { name: member.name.clone(), value: before(&member.name) };
        self.written.iter().map(edit).collect()
    }
}

/// The row of the catalog for a path.
fn kind_of(word: &str, path: &Path) -> Result<(&'static ClientKind, &'static ClientFileKind), String> {
    let ends = |file: &&ClientFileKind| {
        path.ends_with(match file.place {
            FilePlace::Home(file) | FilePlace::Config(file) | FilePlace::Project(file) => file,
            FilePlace::Named { file, .. } => file,
        })
    };
    let client = CLIENTS.iter().find(|client| client.word == word);
    let found = client.and_then(|client| client.files.iter().find(ends).map(|file| (client, file)));
    found.ok_or_else(|| "Taskwarden does not know this file".into())
}

/// Plans an edit and writes it at once. When somebody writes the file meanwhile, it is planned anew.
pub(super) fn write_edit(
    asked: &EditToWrite,
    agreed: &str,
    policy: &ClientFilePolicy,
) -> Result<WrittenEdit, ReplaceError> {
    for _ in 0..policy.tries {
        let (plan, path, backup) = match asked {
            EditToWrite::Route { edit, backup } => (plan_route(edit, policy), &edit.path, Some(backup.as_path())),
            EditToWrite::Undo(edit) => (plan_undo(edit, policy), &edit.path, None),
        };
        let plan = plan.map_err(ReplaceError::Refused)?;
        if plan.fingerprint != agreed {
            return Err(ReplaceError::Refused("its entries changed since you agreed; look at them again".into()));
        }
        if plan.before.as_ref() == Some(&plan.after) {
            return Ok(WrittenEdit { plan, is_exchange: true });
        }
        match exchange::replace(path, plan.before.as_ref(), &plan.after, backup) {
            Err(ReplaceError::Changed) => {}
            Err(refused) => return Err(refused),
            Ok(is_exchange) => return Ok(WrittenEdit { plan, is_exchange }),
        }
    }
    Err(ReplaceError::Changed)
}

pub(super) fn plan_route(asked: &BridgeEdit, policy: &ClientFilePolicy) -> Result<PlannedEdit, String> {
    let (client, file) = kind_of(&asked.client, &asked.path)?;
    if client.shape == EntryShape::Continue {
        return Err(format!("the servers of {} are a list, which Taskwarden does not edit", client.label));
    }
    let text = reader::read_text(&asked.path, policy.file_bytes_max)?.ok_or("it is not there any more")?;
    let root = document::parse(file.format, &text)?;
    let (program, words) = asked.connect.split_first().ok_or("this program cannot be started as a bridge")?;
    let (mut edits, mut changes) = (Vec::new(), Vec::new());
    for (place, server) in &asked.entries {
        let entry = at(&root, place).ok_or("an entry is not in the file any more")?;
        let own = [server.clone(), "--agent".to_owned(), asked.agent.clone()];
        let bridge = BridgeCommand {
            program: program.clone(),
            args: words.iter().cloned().chain(own).collect(),
            home: asked.home.clone(),
        };
        let members = members(client.shape, entry, &bridge);
        let written = members.iter().map(|edit| WrittenMember { name: edit.name.clone(), value: edit.value.clone() });
        changes.push(EntryChange { place: place.clone(), before: entry.clone(), written: written.collect() });
        edits.push(EntryEdit { place: place.clone(), members });
    }
    let after = edit::apply(file.format, &text, &edits).map_err(|error| error.to_string())?;
    let changes = serde_json::to_string(&changes).map_err(|error| error.to_string())?;
    Ok(planned(file.format, Some(text), after, changes, Vec::new()))
}

pub(super) fn plan_undo(asked: &UndoEdit, policy: &ClientFilePolicy) -> Result<PlannedEdit, String> {
    let (client, file) = kind_of(&asked.client, &asked.path)?;
    let text = reader::read_text(&asked.path, policy.file_bytes_max)?;
    let mut current = text.clone().unwrap_or_default();
    let mut kept = Vec::new();
    for step in &asked.steps {
        if text.is_some() && sha256_hex(&current) == step.after_digest {
            step.before.reveal().clone_into(&mut current);
            continue;
        }
        let changes: Vec<EntryChange> = read_changes(&step.changes)?;
        let undone = undo_entries(client, file.format, &current, &changes, &mut kept)?;
        current = undone;
    }
    let plan = asked.steps.iter().map(|step| step.after_digest.as_str()).collect::<Vec<_>>().join(" ");
    Ok(planned(file.format, text, current, plan, kept))
}

/// Takes the entries back that still stand as they were written, and puts those back that are gone. What people changed
/// since stays.
fn undo_entries(
    client: &ClientKind,
    format: Format,
    text: &str,
    changes: &[EntryChange],
    kept: &mut Vec<String>,
) -> Result<String, String> {
    let root = document::parse(format, text)?;
    let mut edits = Vec::new();
    let mut missing = Vec::new();
    for change in changes {
        match at(&root, &change.place) {
            Some(entry) if change.stands_in(entry) => {
                edits.push(EntryEdit { place: change.place.clone(), members: change.reverse() });
            }
            Some(entry) if change.is_undone_in(entry) => {}
            Some(_) => kept.push(format!("`{}` was changed since, and stays as it is", change.name())),
            None => missing.push(change),
        }
    }
    let failed = |error: edit::EditError| format!("{error}; {} stays as it is", client.label);
    let mut done = edit::apply(format, text, &edits).map_err(failed)?;
    for change in missing {
        let root = document::parse(format, &done)?;
        done = edit::apply(format, &done, &[put_back(&root, change)]).map_err(failed)?;
    }
    Ok(done)
}

/// The edit that puts an entry back, with the objects above it that are gone as well.
fn put_back(root: &Value, change: &EntryChange) -> EntryEdit {
    let (mut above, mut value) = (change.place.clone(), change.before.clone());
    let mut name = above.pop().unwrap_or_default();
    while !at(root, &above).is_some_and(Value::is_object)
        && let Some(parent) = above.pop()
    {
        value = Value::Object(Map::from_iter([(name, value)]));
        name = parent;
    }
    EntryEdit { place: above, members: vec![MemberEdit { name, value: Some(value) }] }
}

/// What of a route does not stand in its file any more.
pub(super) fn drift(
    word: &str,
    path: &Path,
    changes: &Secret,
    policy: &ClientFilePolicy,
) -> Result<Vec<String>, String> {
    let (_, file) = kind_of(word, path)?;
    let text = reader::read_text(path, policy.file_bytes_max)?.ok_or("the file is gone")?;
    let root = document::parse(file.format, &text)?;
    let changes = read_changes(changes)?;
    let said = changes.iter().filter_map(|change| match at(&root, &change.place) {
        None => Some(format!("`{}` was removed from the file", change.name())),
        Some(entry) if !change.stands_in(entry) => {
            Some(format!("`{}` does not lead through Taskwarden any more", change.name()))
        }
        Some(_) => None,
    });
    Ok(said.collect())
}

fn read_changes(changes: &Secret) -> Result<Vec<EntryChange>, String> {
    serde_json::from_str(changes.reveal()).map_err(|_| "what is known of its entries cannot be read".into())
}

fn at<'a>(root: &'a Value, place: &[String]) -> Option<&'a Value> {
    place.iter().try_fold(root, |value, key| value.get(key))
}

fn planned(format: Format, before: Option<String>, after: String, changes: String, kept: Vec<String>) -> PlannedEdit {
    let old = before.clone().unwrap_or_default();
    let mut hidden = BTreeSet::new();
    for text in [&old, &after] {
        if let Ok(root) = document::parse(format, text) {
            collect_hidden(&root, false, &mut hidden);
        }
    }
    PlannedEdit {
        lines: edit::changed_lines(&old, &after).into_iter().map(|lines| shown(lines, &hidden)).collect(),
        fingerprint: sha256_hex(json!([changes, kept]).to_string()),
        before: before.map(Secret::new),
        after: Secret::new(after),
        changes: Secret::new(changes),
        kept,
    }
}

/// The texts below members that may hold secrets, anywhere in the file: a line may hold more than one entry.
fn collect_hidden(value: &Value, is_hidden: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_hidden && text.chars().count() >= SHORTEST_HIDDEN => {
            found.insert(text.clone());
            // As it stands in JSON, without its quotes.
            let escaped = Value::from(text.as_str()).to_string();
            found.insert(escaped.trim_matches('"').to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_hidden(item, is_hidden, found)),
        Value::Object(pairs) => {
            for (name, value) in pairs {
                collect_hidden(value, is_hidden || HIDING.contains(&name.as_str()), found);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shown(lines: ChangedLines, hidden: &BTreeSet<String>) -> ChangedLines {
    // The longest first: a value may be a part of another.
    let mut values: Vec<&String> = hidden.iter().collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let show = |line: String| {
        let plain = values.iter().fold(line, |line, value| line.replace(value.as_str(), HIDDEN));
        match plain.chars().count() {
            long if long > LINE_CHARS => format!("(a line of {long} characters)"),
            _ => plain,
        }
    };
    let all = |lines: Vec<String>| lines.into_iter().map(show).collect();
    ChangedLines { line: lines.line, removed: all(lines.removed), added: all(lines.added) }
}
