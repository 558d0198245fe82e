//! Anchors: copies of checkpoints that were kept where the owner of the log could not change them alone.
//!
//! A file of anchors is signed notes one after the other; empty lines between them are allowed.

use std::fmt;

use crate::note::{NoteFault, NoteKey, SignedNote, TreeHead};

/// One checkpoint of an anchor file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Where it was read, such as the path of the file.
    pub place: String,
    pub head: TreeHead,
    pub note: SignedNote,
}

/// A part of an anchor file that does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorFault {
    /// The line at which the note begins, from 1.
    pub line: usize,
    pub why: NoteFault,
}

impl fmt::Display for AnchorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Reads all notes of a file.
///
/// # Errors
/// At the first note that does not read; the last one may be cut off where a copy was interrupted, which is an error, too.
pub fn parse_anchors(place: &str, text: &str) -> Result<Vec<Anchor>, AnchorFault> {
    let mut found = Vec::new();
    let mut note = String::new();
    let (mut begins, mut is_signed) = (0, false);
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        if note.is_empty() {
            if line.is_empty() {
                continue;
            }
            begins = index + 1;
        }
        note.push_str(line);
        note.push('\n');
        is_signed |= line.starts_with('\u{2014}');
        let ends = lines.peek().is_none_or(|(_, next)| is_signed && !next.starts_with('\u{2014}'));
        if ends {
            let fault = |why| AnchorFault { line: begins, why };
            let signed = SignedNote::parse(&std::mem::take(&mut note)).map_err(fault)?;
            let head = TreeHead::parse(signed.text()).map_err(fault)?;
            found.push(Anchor { place: place.into(), head, note: signed });
            is_signed = false;
        }
    }
    Ok(found)
}

/// The last note of a text that may begin within another one, such as the end of a long file; `None` when it is empty.
///
/// # Errors
/// When the text does not end with a whole note.
pub fn newest_anchor(place: &str, end: &str) -> Result<Option<Anchor>, NoteFault> {
    if end.trim_matches('\n').is_empty() {
        return Ok(None);
    }
    let is_signature = |line: &str| line.starts_with('\u{2014}');
    let lines: Vec<&str> = end.trim_end_matches('\n').lines().collect();
    let signatures = lines.iter().rev().take_while(|line| is_signature(line)).count();
    let before = lines.len() - signatures;
    let text = lines.iter().take(before.saturating_sub(1)).rev();
    let text = text.take_while(|line| !line.is_empty() && !is_signature(line)).count();
    let begins = before.saturating_sub(1).saturating_sub(text);
    let mut note = lines.get(begins..).unwrap_or_default().join("\n");
    if end.ends_with('\n') {
        note.push('\n');
    }
    let note = SignedNote::parse(&note)?;
    let head = TreeHead::parse(note.text())?;
    Ok(Some(Anchor { place: place.into(), head, note }))
}

impl Anchor {
    /// Whether a key of the log signed it.
    ///
    /// # Errors
    /// When none of these keys did.
    pub fn check_signature(&self, keys: &[NoteKey]) -> Result<(), NoteFault> {
        self.note.signer(keys).map(|_| ())
    }
}
