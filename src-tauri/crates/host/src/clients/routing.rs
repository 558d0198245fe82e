//! Plans how a file looks with entries routed through Taskwarden, and with routes taken back.
//!
//! A plan is text and its proof; writing it is `exchange.rs`. What is shown of it is `preview.rs`.

use std::path::Path;

use api::calls::clients::files::{BridgeEdit, EditToWrite, PlannedEdit, ReplaceError, UndoEdit, UndoStep, WrittenEdit};
use domain::digest::sha256_hex;
use domain::policy::ClientFilePolicy;
use domain::ports::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::bridge_members::{BridgeCommand, members};
use super::catalog::{CLIENTS, ClientFileKind, ClientKind, EntryShape, FilePlace};
use super::document::{Format, ParsedText};
use super::edit::EditError;
use super::member_edit::{EntryEdit, MemberEdit};
use super::{edit, exchange, preview, reader};

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

    /// The edit that routed it.
    fn forward(&self) -> EntryEdit {
        self.edit(|member| member.value.clone())
    }

    /// The edit that takes the route back.
    fn reverse(&self) -> EntryEdit {
        self.edit(|member| self.before.get(&member.name).cloned())
    }

    fn edit(&self, value: impl Fn(&WrittenMember) -> Option<Value>) -> EntryEdit {
        let member = |member: &WrittenMember| MemberEdit { name: member.name.clone(), value: value(member) };
        EntryEdit { place: self.place.clone(), members: self.written.iter().map(member).collect() }
    }
}

/// The row of the catalog for a path.
pub(super) fn kind_of(word: &str, path: &Path) -> Result<(&'static ClientKind, &'static ClientFileKind), String> {
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

/// Writes an edit. When somebody wrote the file since it was planned, or does so meanwhile, it is planned anew.
pub(super) fn write_edit(
    asked: &EditToWrite,
    agreed: &PlannedEdit,
    policy: &ClientFilePolicy,
) -> Result<WrittenEdit, ReplaceError> {
    let (path, backup) = match asked {
        EditToWrite::Route { edit, backup } => (&edit.path, Some(backup.as_path())),
        EditToWrite::Undo(edit) => (&edit.path, None),
    };
    for _ in 0..policy.tries {
        let text = reader::read_text(path, policy.file_bytes_max).map_err(ReplaceError::Refused)?;
        // A plan and its proof are of one text: for the same bytes, both are still good.
        let plan = if text.as_deref() == agreed.before.as_ref().map(Secret::reveal) {
            Ok(agreed.clone())
        } else {
            match asked {
                EditToWrite::Route { edit, .. } => plan_route(edit, policy),
                EditToWrite::Undo(edit) => plan_undo(edit, policy),
            }
        };
        let plan = plan.map_err(ReplaceError::Refused)?;
        if plan.fingerprint != agreed.fingerprint {
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
    if let Some(why) = exchange::refusal(&asked.path) {
        return Err(why);
    }
    let before = ParsedText::of(file.format, text)?;
    let root = &before.values;
    let (program, words) = asked.connect.split_first().ok_or("this program cannot be started as a bridge")?;
    let (mut edits, mut changes) = (Vec::new(), Vec::new());
    for (place, server) in &asked.entries {
        let entry = at(root, place).ok_or("an entry is not in the file any more")?;
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
    let after =
        edit::apply(file.format, &before, &edits).map_err(|error| not_changed(file.format, &before, &edits, &error))?;
    let changes = serde_json::to_string(&changes).map_err(|error| error.to_string())?;
    Ok(planned(before, true, after, &changes, Vec::new()))
}

pub(super) fn plan_undo(asked: &UndoEdit, policy: &ClientFilePolicy) -> Result<PlannedEdit, String> {
    let (client, file) = kind_of(&asked.client, &asked.path)?;
    let text = reader::read_text(&asked.path, policy.file_bytes_max)?;
    if let Some(why) = exchange::refusal(&asked.path) {
        return Err(why);
    }
    let is_there = text.is_some();
    let before = ParsedText::of(file.format, text.unwrap_or_default())?;
    let mut current = before.clone();
    let mut kept = Vec::new();
    for step in &asked.steps {
        if is_there && sha256_hex(&current.text) == step.after_digest {
            current = ParsedText::of(file.format, step.before.reveal().to_owned())?;
            continue;
        }
        current = undo_entries(client, file.format, current, step, &mut kept)?;
    }
    let plan = asked.steps.iter().map(|step| step.after_digest.as_str()).collect::<Vec<_>>().join(" ");
    Ok(planned(before, is_there, current, &plan, kept))
}

/// Takes the entries back that still stand as they were written, and puts those back that are gone. What people changed
/// since stays.
fn undo_entries(
    client: &ClientKind,
    format: Format,
    now: ParsedText,
    step: &UndoStep,
    kept: &mut Vec<String>,
) -> Result<ParsedText, String> {
    let changes = read_changes(&step.changes)?;
    let mut edits = Vec::new();
    let mut missing = Vec::new();
    for change in &changes {
        match at(&now.values, &change.place) {
            Some(entry) if change.stands_in(entry) => {
                edits.push(change.reverse());
            }
            Some(entry) if change.is_undone_in(entry) => {}
            Some(_) => kept.push(format!("`{}` was changed since, and stays as it is", change.name())),
            None => missing.push(change),
        }
    }
    // The file as the route left it is not stored, but the same edits make it again.
    let forward: Vec<EntryEdit> = changes.iter().map(EntryChange::forward).collect();
    let before = ParsedText::of(format, step.before.reveal().to_owned()).ok();
    let routed = before.as_ref().and_then(|before| Some((before, edit::apply(format, before, &forward).ok()?)));
    let undone = match routed.filter(|(_, routed)| sha256_hex(&routed.text) == step.after_digest) {
        Some((before, routed)) => edit::take_back(format, &now, &edits, &before.text, &routed.text),
        None => edit::apply(format, &now, &edits),
    };
    let mut done = undone.map_err(|error| not_changed(format, &now, &edits, &error))?;
    for change in missing {
        let values = put_back(&done.values, change);
        match edit::put_back(format, &done, &change.place, &values, step.before.reveal()) {
            Ok(put) => done = put,
            Err(_) => kept.push(format!(
                "`{}` was removed since, and cannot be put back without changing other text; the servers of {} do not \
                 have it any more",
                change.name(),
                client.label
            )),
        }
    }
    Ok(done)
}

/// Why a file cannot be changed, with the entries that are the reason.
fn not_changed(format: Format, before: &ParsedText, edits: &[EntryEdit], error: &EditError) -> String {
    let is_reason = |edit: &&EntryEdit| edit::apply(format, before, std::slice::from_ref(*edit)).is_err();
    let names = edits.iter().filter(is_reason).filter_map(|edit| edit.place.last());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return error.to_string();
    }
    format!(
        "{} cannot be changed without changing other text, such as a comment, an anchor or an alias; leave it out, or \
         change it by hand",
        names.join(", ")
    )
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
    let now = ParsedText::of(file.format, text)?;
    let changes = read_changes(changes)?;
    let said = changes.iter().filter_map(|change| match at(&now.values, &change.place) {
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

fn planned(before: ParsedText, is_there: bool, after: ParsedText, changes: &str, kept: Vec<String>) -> PlannedEdit {
    PlannedEdit {
        lines: preview::lines(&before, &after),
        fingerprint: sha256_hex(json!([changes, kept]).to_string()),
        before: is_there.then(|| Secret::new(before.text)),
        after: Secret::new(after.text),
        changes: Secret::new(changes),
        kept,
    }
}

#[cfg(test)]
mod tests;
