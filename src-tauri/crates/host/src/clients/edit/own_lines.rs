//! Puts the lines of an entry that is gone into a text again, behind the other entries of its section.
//!
//! It is tried only in formats of lines, and what comes of it is proven by the caller: an indent that is another one now,
//! or a section that became `{}`, gives no text or other values. Edits of members are in the syntax trees (`yaml.rs`).

use std::ops::Range;

use super::{lines, outside};
use crate::clients::document::Format;

/// The text with the lines that the entry has in `before`; `None` where it has none of its own, or no place is found.
pub(super) fn inserted(format: Format, text: &str, place: &[String], before: &str) -> Option<String> {
    match format {
        Format::Json | Format::Jsonc => None,
        // A table says by itself where it belongs.
        Format::Toml => put(text, text.len(), &format!("\n{}", own(format, place, before)?)),
        Format::Yaml => {
            let (_, section) = place.split_last()?;
            let own = own(format, place, before)?;
            match entry_range(format, text, section) {
                Some(range) => put(text, trimmed(text, range)?.end, own),
                None => {
                    let section = entry_range(format, before, section)?;
                    let key = lines(before.get(section)?).first().copied()?;
                    put(text, text.len(), &format!("{key}{own}"))
                }
            }
        }
    }
}

/// The lines of an entry.
fn own<'a>(format: Format, place: &[String], text: &'a str) -> Option<&'a str> {
    text.get(trimmed(text, entry_range(format, text, place)?)?)
}

fn entry_range(format: Format, text: &str, place: &[String]) -> Option<Range<usize>> {
    outside::entry_ranges(format, text, &[place])?.pop()
}

/// The range without the blank lines and comments at its end, which belong to what follows.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let (mut at, mut end) = (range.start, range.start);
    for line in lines(text.get(range.clone())?) {
        at = at.saturating_add(line.len());
        let plain = line.trim_start();
        if !plain.is_empty() && !plain.starts_with('#') {
            end = at;
        }
    }
    Some(range.start..end)
}

/// The text with whole lines at a place between two lines.
fn put(text: &str, at: usize, own: &str) -> Option<String> {
    let mut done = text.get(..at)?.to_owned();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !done.is_empty() && !done.ends_with('\n') {
        done.push_str(end);
    }
    done.push_str(own);
    if !own.ends_with('\n') {
        done.push_str(end);
    }
    done.push_str(text.get(at..)?);
    Some(done)
}
