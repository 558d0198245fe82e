//! What of a text is outside of some entries: the bytes that an edit must keep.
//!
//! JSON is exact to the byte. TOML and YAML are exact to the line, because an entry there has no two ends; blank lines
//! are left out of the comparison, because they separate tables that an edit may remove.

use std::collections::BTreeSet;
use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};
use toml_edit::{Document, Item, TableLike};

use super::{json_places, lines};
use crate::clients::document::{self, Format};

/// The text without these entries; `None` where one of them cannot be located.
pub(super) fn of_entries(format: Format, text: &str, places: &[&[String]]) -> Option<String> {
    match format {
        Format::Json | Format::Jsonc => of_json(text, places),
        Format::Toml => {
            let document: Document<&str> = Document::parse(text).ok()?;
            let mut spans = Vec::new();
            for place in places {
                toml_spans(document.as_table(), place, &mut spans)?;
            }
            Some(without_lines(text, &spans))
        }
        Format::Yaml => {
            let spans = places.iter().map(|place| yaml_span(text, place)).collect::<Option<Vec<_>>>()?;
            Some(without_lines(text, &spans))
        }
    }
}

/// The bytes of each of these entries, in their order; `None` where one of them cannot be located.
///
/// In JSON these are the braces and what is between them, otherwise whole lines.
pub(super) fn entry_ranges(format: Format, text: &str, places: &[&[String]]) -> Option<Vec<Range<usize>>> {
    match format {
        Format::Json | Format::Jsonc => json_ranges(text, places),
        Format::Toml => {
            let document: Document<&str> = Document::parse(text).ok()?;
            places.iter().map(|place| toml_range(text, document.as_table(), place)).collect()
        }
        Format::Yaml => places.iter().map(|place| yaml_span(text, place)).collect(),
    }
}

/// The lines from the first to the last of an entry. Where its tables stand apart, those between belong to others, which
/// whoever replaces the lines has to notice.
fn toml_range(text: &str, root: &dyn TableLike, place: &[String]) -> Option<Range<usize>> {
    let mut spans = Vec::new();
    toml_spans(root, place, &mut spans)?;
    let first = spans.iter().map(|span| span.start).min()?;
    let last = spans.iter().map(|span| span.end).max()?;
    let start = text.get(..first)?.rfind('\n').map_or(0, |at| at.saturating_add(1));
    let end = text.get(last..)?.find('\n').map_or(text.len(), |at| last.saturating_add(at).saturating_add(1));
    Some(start..end)
}

/// The syntax tree is for what is not strict JSON.
fn json_ranges(text: &str, places: &[&[String]]) -> Option<Vec<Range<usize>>> {
    if let Some(found) = json_places::locate(text, places) {
        return Some(found.entries);
    }
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed = parse_to_ast(text, &collect, &document::JSON_WITH_COMMENTS).ok()?;
    let Some(Node::Object(root)) = parsed.value else { return None };
    places.iter().map(|place| json_range(&root, place)).collect()
}

fn of_json(text: &str, places: &[&[String]]) -> Option<String> {
    if text.trim().is_empty() {
        return Some(String::new());
    }
    let mut ranges = json_ranges(text, places)?;
    ranges.sort_by_key(|range| range.start);
    let mut outside = String::new();
    let mut from = 0;
    for range in ranges {
        outside.push_str(text.get(from..range.start)?);
        from = from.max(range.end);
    }
    outside.push_str(text.get(from..)?);
    Some(outside)
}

fn json_range(root: &Object<'_>, place: &[String]) -> Option<Range<usize>> {
    let mut object = root;
    for key in place {
        object = object.get_object(key)?;
    }
    Some(object.start()..object.end())
}

/// The byte ranges of an entry: a table and its inner tables may stand apart.
fn toml_spans(root: &dyn TableLike, place: &[String], spans: &mut Vec<Range<usize>>) -> Option<()> {
    let Some((last, parents)) = place.split_last() else {
        spans.push(0..usize::MAX);
        return Some(());
    };
    let mut table = root;
    for key in parents {
        table = table.get(key)?.as_table_like()?;
    }
    let (key, item) = table.get_key_value(last)?;
    spans.extend(key.span());
    item_spans(item, spans);
    Some(())
}

fn item_spans(item: &Item, spans: &mut Vec<Range<usize>>) {
    spans.extend(item.span());
    let Item::Table(inner) = item else { return };
    for (name, item) in inner {
        spans.extend(inner.key(name).and_then(toml_edit::Key::span));
        item_spans(item, spans);
    }
}

/// The bytes of an entry of a block mapping, found by its indents.
fn yaml_span(text: &str, place: &[String]) -> Option<Range<usize>> {
    let mut starts = Vec::new();
    let mut at = 0_usize;
    for line in lines(text) {
        starts.push((at, line));
        at = at.saturating_add(line.len());
    }
    let mut within = 0..starts.len();
    // The line of the last key belongs to the entry, those of its parents do not.
    let mut begin = 0;
    for key in place {
        let is_text = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let inner = starts.get(within.clone())?;
        let indent = inner.iter().filter(|(_, line)| is_text(line)).map(|(_, line)| indent_of(line)).min()?;
        let found = inner.iter().position(|(_, line)| indent_of(line) == indent && names(line, key))?;
        let first = within.start.saturating_add(found);
        let after = starts.get(first.saturating_add(1)..within.end)?;
        let length = after.iter().position(|(_, line)| is_text(line) && indent_of(line) <= indent);
        let end = length.map_or(within.end, |length| first.saturating_add(1).saturating_add(length));
        begin = first;
        within = first.saturating_add(1)..end;
    }
    let offset = |line: usize| starts.get(line).map_or(text.len(), |(at, _)| *at);
    Some(offset(begin)..offset(within.end))
}

fn indent_of(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start_matches(' ').len())
}

/// Whether a line begins with this key.
fn names(line: &str, key: &str) -> bool {
    let line = line.trim_start();
    [key.to_owned(), format!("\"{key}\""), format!("'{key}'")].iter().any(|key| {
        let rest = line.strip_prefix(key.as_str()).and_then(|rest| rest.strip_prefix(':'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
    })
}

/// The lines of a text that none of the spans touches, without blank ones.
fn without_lines(text: &str, spans: &[Range<usize>]) -> String {
    let mut inside = BTreeSet::new();
    let mut at = 0_usize;
    let all = lines(text);
    for (index, line) in all.iter().enumerate() {
        let end = at.saturating_add(line.len());
        if spans.iter().any(|span| span.start < end && span.end > at) {
            inside.insert(index);
        }
        at = end;
    }
    let kept = all.iter().enumerate().filter(|(index, line)| !inside.contains(index) && !line.trim().is_empty());
    // A last line without an end may get one when an edit adds lines behind it.
    kept.map(|(_, line)| line.trim_end_matches('\n')).collect::<Vec<_>>().join("\n")
}
