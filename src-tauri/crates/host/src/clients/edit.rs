//! Changes members of entries in the text of a file, on its syntax tree, and proves that nothing else changed.
//!
//! The proof has two halves: all values but those of the edit are equal, and all bytes outside of the edited entries are
//! equal (`outside.rs`), line ends, indents, comments and a byte-order mark among them. Where it fails, the edit is
//! refused. Nothing is written here; which members change is `bridge_members.rs`.

mod json;
mod json_places;
mod outside;
mod own_lines;
mod toml;
mod yaml;

use std::ops::Range;

use api::calls::clients::files::ChangedLines;
use serde_json::{Map, Value};

use super::document::{self, Format, ParsedText};
use super::member_edit::{EntryEdit, MemberEdit};

/// Why a file cannot be edited. It never quotes the text of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("the entry is not in the file any more, or is not an object")]
    NoEntry,
    #[error("the edit could not be proven to change nothing else")]
    NotProven,
}

/// The text with these entries changed.
pub(super) fn apply(format: Format, before: &ParsedText, edits: &[EntryEdit]) -> Result<ParsedText, EditError> {
    let expected = changed(&before.values, edits)?;
    if expected == before.values {
        return Ok(before.clone());
    }
    let (mark, plain) = split_mark(&before.text);
    // An empty file is an object without members to all programs that have JSON.
    let is_json = matches!(format, Format::Json | Format::Jsonc);
    let plain = if is_json && plain.trim().is_empty() { "{}\n" } else { plain };
    let in_outline = if is_json { edit_in_outline(format, plain, edits) } else { None };
    let edited = in_outline.or_else(|| edit_all(format, plain, edits)).ok_or(EditError::NoEntry)?;
    let values = proven(format, plain, &edited, expected, edits).ok_or(EditError::NotProven)?;
    Ok(ParsedText { text: format!("{mark}{edited}"), values })
}

/// The text with an earlier edit of these entries taken back. An entry that stands as that edit left it gets the bytes
/// that it had before, so that its own formatting returns; the members of another one are set.
///
/// `before` and `after` are the whole file around that edit.
pub(super) fn take_back(
    format: Format,
    now: &ParsedText,
    edits: &[EntryEdit],
    before: &str,
    after: &str,
) -> Result<ParsedText, EditError> {
    let expected = changed(&now.values, edits)?;
    let (mark, plain) = split_mark(&now.text);
    let own = with_own_bytes(format, plain, edits, split_mark(before).1, split_mark(after).1);
    let done = own.and_then(|done| Some((proven(format, plain, &done, expected, edits)?, done)));
    match done {
        Some((values, done)) => Ok(ParsedText { text: format!("{mark}{done}"), values }),
        None => apply(format, now, edits),
    }
}

/// The text with an entry that is gone put back: with the lines that it had, where the format has lines, otherwise with
/// its values. `before` is the whole file as it was with the entry.
pub(super) fn put_back(
    format: Format,
    now: &ParsedText,
    place: &[String],
    values: &EntryEdit,
    before: &str,
) -> Result<ParsedText, EditError> {
    let edits = std::slice::from_ref(values);
    let expected = changed(&now.values, edits)?;
    let (mark, plain) = split_mark(&now.text);
    let own = own_lines::inserted(format, plain, place, split_mark(before).1);
    let done = own.and_then(|done| Some((proven(format, plain, &done, expected, edits)?, done)));
    match done {
        Some((values, done)) => Ok(ParsedText { text: format!("{mark}{done}"), values }),
        None => apply(format, now, edits),
    }
}

fn with_own_bytes(format: Format, text: &str, edits: &[EntryEdit], before: &str, after: &str) -> Option<String> {
    let places = places(edits);
    let now = outside::entry_ranges(format, text, &places)?;
    let old = outside::entry_ranges(format, before, &places)?;
    let left = outside::entry_ranges(format, after, &places)?;
    let mut own: Vec<(Range<usize>, &str)> = Vec::new();
    let mut others = Vec::new();
    for (((edit, now), old), left) in edits.iter().zip(now).zip(old).zip(left) {
        if text.get(now.clone())? == after.get(left)? {
            own.push((now, before.get(old)?));
        } else {
            others.push(edit);
        }
    }
    // From the last to the first, so that the places of the others stay.
    own.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut done = text.to_owned();
    for (range, bytes) in own {
        done.replace_range(range, bytes);
    }
    for edit in others {
        done = edit_one(format, &done, edit)?;
    }
    Some(done)
}

/// The values of a text, if they are the expected ones and it has every byte outside of the edited entries.
fn proven(format: Format, old: &str, new: &str, expected: Value, edits: &[EntryEdit]) -> Option<Value> {
    let places = places(edits);
    let outside = |text: &str| outside::of_entries(format, text, &places);
    let is_proven = document::parse(format, new).is_ok_and(|after| after == expected)
        && outside(old).is_some_and(|old| outside(new) == Some(old));
    is_proven.then_some(expected)
}

fn places(edits: &[EntryEdit]) -> Vec<&[String]> {
    edits.iter().map(|edit| edit.place.as_slice()).collect()
}

/// A byte-order mark, and the text behind it.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(text.len().saturating_sub(document::without_mark(text).len()))
}

/// The values after some edits.
fn changed(values: &Value, edits: &[EntryEdit]) -> Result<Value, EditError> {
    let mut expected = values.clone();
    for edit in edits {
        change(entry_mut(&mut expected, &edit.place).ok_or(EditError::NoEntry)?, &edit.members);
    }
    Ok(expected)
}

/// Edits the outline of a text of JSON, and puts the entries of that into the text; `None` where that cannot be done.
/// The proof is made on the whole text all the same.
fn edit_in_outline(format: Format, text: &str, edits: &[EntryEdit]) -> Option<String> {
    let places = places(edits);
    let found = json_places::locate(text, &places)?;
    let edited = edit_all(format, &found.outline(text)?, edits)?;
    let entries = json_places::locate(&edited, &places)?.entries;
    let mut pairs: Vec<(Range<usize>, Range<usize>)> = found.entries.into_iter().zip(entries).collect();
    pairs.sort_by_key(|(old, _)| old.start);
    let mut done = String::with_capacity(text.len().saturating_add(edited.len()));
    let mut from = 0;
    for (old, new) in pairs {
        // An entry within another one ends before it begins here.
        done.push_str(text.get(from..old.start)?);
        done.push_str(edited.get(new)?);
        from = old.end;
    }
    done.push_str(text.get(from..)?);
    Some(done)
}

fn edit_all(format: Format, text: &str, edits: &[EntryEdit]) -> Option<String> {
    let mut edited = text.to_owned();
    for edit in edits {
        edited = edit_one(format, &edited, edit)?;
    }
    Some(edited)
}

fn edit_one(format: Format, text: &str, edit: &EntryEdit) -> Option<String> {
    // Editors of syntax trees know one kind of line end.
    let unix = text.replace("\r\n", "\n");
    let edited = match format {
        Format::Json => json::edit(&unix, document::STRICT_JSON, edit),
        Format::Jsonc => json::edit(&unix, document::JSON_WITH_COMMENTS, edit),
        Format::Toml => toml::edit(&unix, edit),
        Format::Yaml => yaml::edit(&unix, edit),
    };
    edited.map(|edited| spliced(text, &unix, &edited))
}

fn entry_mut<'a>(root: &'a mut Value, place: &[String]) -> Option<&'a mut Map<String, Value>> {
    let mut value = root;
    for key in place {
        value = value.as_object_mut()?.get_mut(key)?;
    }
    value.as_object_mut()
}

fn change(entry: &mut Map<String, Value>, members: &[MemberEdit]) {
    for member in members {
        match &member.value {
            Some(value) => entry.insert(member.name.clone(), value.clone()),
            None => entry.remove(&member.name),
        };
    }
}

/// The original text with only those lines replaced that the edit changed, in the line ends of the original.
fn spliced(original: &str, unix: &str, edited: &str) -> String {
    let (original, old, new) = (lines(original), lines(unix), lines(edited));
    let (head, tail) = common_lines(&old, &new);
    let windows = original.iter().filter(|line| line.ends_with("\r\n")).count();
    let is_windows = windows.saturating_mul(2) > original.len();
    let replaced = original.get(head..original.len().saturating_sub(tail)).unwrap_or_default();
    let between = new.get(head..new.len().saturating_sub(tail)).unwrap_or_default();
    let mut done = original.get(..head).unwrap_or_default().concat();
    for (index, line) in between.iter().enumerate() {
        // The end of the last line is outside of the edit.
        let is_last = index.saturating_add(1) == between.len();
        let ends_so = match replaced.last().filter(|_| is_last) {
            Some(last) => last.ends_with("\r\n"),
            None => is_windows,
        };
        match line.strip_suffix('\n').filter(|_| ends_so) {
            Some(line) => {
                done.push_str(line);
                done.push_str("\r\n");
            }
            None => done.push_str(line),
        }
    }
    done.push_str(&original.get(original.len().saturating_sub(tail)..).unwrap_or_default().concat());
    done
}

/// The lines in which two texts differ, in one piece for each stretch of them.
pub(super) fn changed_lines(old: &str, new: &str) -> Vec<ChangedLines> {
    let (mut old, mut new) = (lines(old), lines(new));
    let (head, tail) = common_lines(&old, &new);
    old.truncate(old.len().saturating_sub(tail));
    new.truncate(new.len().saturating_sub(tail));
    let (mut from, mut to) = (head, head);
    let mut pieces = Vec::new();
    while from < old.len() || to < new.len() {
        let (removed, added) = next_piece(old.get(from..).unwrap_or_default(), new.get(to..).unwrap_or_default());
        let plain = |lines: &[&str]| lines.iter().map(|line| line.trim_end_matches(['\n', '\r']).to_owned()).collect();
        pieces.push(ChangedLines {
            line: u64::try_from(from).unwrap_or(u64::MAX).saturating_add(1),
            removed: plain(old.get(from..from.saturating_add(removed)).unwrap_or_default()),
            added: plain(new.get(to..to.saturating_add(added)).unwrap_or_default()),
        });
        from = from.saturating_add(removed);
        to = to.saturating_add(added);
        let rest = old.get(from..).unwrap_or_default().iter().zip(new.get(to..).unwrap_or_default());
        let same = rest.take_while(|(old, new)| old == new).count();
        from = from.saturating_add(same);
        to = to.saturating_add(same);
    }
    pieces
}

/// How many lines are removed and added until both texts have a few lines in common again.
fn next_piece(old: &[&str], new: &[&str]) -> (usize, usize) {
    /// Fewer may be alike by accident, such as a line with one brace.
    const ALIKE: usize = 3;
    /// Further apart, the rest is shown as one piece.
    const FAR: usize = 200;
    for distance in 1..FAR.min(old.len().saturating_add(new.len())) {
        for removed in 0..=distance.min(old.len()) {
            let added = distance.saturating_sub(removed);
            let meets = |lines: usize| {
                old.get(removed..removed.saturating_add(lines))
                    .is_some_and(|old| Some(old) == new.get(added..added.saturating_add(lines)))
            };
            if added <= new.len() && meets(ALIKE) {
                return (removed, added);
            }
        }
    }
    (old.len(), new.len())
}

/// How many lines two texts have in common at the beginning and, apart from those, at the end.
pub(super) fn common_lines(old: &[&str], new: &[&str]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()).saturating_sub(head);
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    (head, tail)
}

/// The lines of a text with their ends.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests;
