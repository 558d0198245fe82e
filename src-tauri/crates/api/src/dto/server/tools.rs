//! How the tools of a server differ from what a person last saw, as JSON shows it.
//!
//! All names and lines are the server's text: cut, and without control characters. The comparison of two definitions is
//! bounded by `Policy::tool_memory`.

use domain::policy::{ToolMemoryPolicy, plain_text};
use domain::server::tool_memory::{RememberedTool, ToolChange, ToolMemory, ToolVersion};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::words::words;
use crate::format::line_diff::{LineChange, line_diff};
use crate::format::pretty_json::pretty;

/// Lines around a change that stay in sight. Judgement: as `diff` does.
const CONTEXT: usize = 3;

words! {
    /// How a tool differs.
    ToolChangeKind {
        /// The server did not have it.
        Added = "added",
        /// The server does not list it any more.
        Removed = "removed",
        /// Its definition is another.
        Changed = "changed",
    }
    /// What a line of a comparison is.
    DiffLineKind {
        /// In both.
        Same = "same",
        /// Only in what was seen.
        Removed = "removed",
        /// Only in what is listed now.
        Added = "added",
        /// Lines that are the same and left out; the text is their number.
        Skipped = "skipped",
    }
}

/// How the tools differ from what a person last saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolChangesDto {
    /// Names what is listed now; handed back with `servers.toolsSeen`.
    pub digest: String,
    /// When a person last looked, or when the tools were first listed.
    pub seen_at: String,
    /// Who looked; null when nobody has.
    pub seen_by: Option<String>,
    /// The tools that differ, by name.
    pub tools: Vec<ChangedTool>,
    /// Listed tools beyond the limit, which are not compared.
    pub left_out: u64,
}

/// A tool that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangedTool {
    pub name: String,
    #[ts(inline)]
    pub change: ToolChangeKind,
}

/// A changed tool, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolDiff {
    pub name: String,
    /// How it differs; null when it does not.
    #[ts(inline)]
    pub change: Option<ToolChangeKind>,
    pub lines: Vec<DiffLine>,
    /// How many lines were added and removed.
    pub added: u64,
    pub removed: u64,
    /// A definition is too long to be kept, so that there are no lines.
    pub is_too_long: bool,
}

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    #[ts(inline)]
    pub kind: DiffLineKind,
    pub text: String,
}

impl From<ToolChange> for ToolChangeKind {
    fn from(change: ToolChange) -> Self {
        match change {
            ToolChange::Added => Self::Added,
            ToolChange::Removed => Self::Removed,
            ToolChange::Changed => Self::Changed,
        }
    }
}

impl From<&ToolMemory> for ToolChangesDto {
    fn from(memory: &ToolMemory) -> Self {
        let tools = memory.changes();
        Self {
            digest: memory.digest(),
            seen_at: iso(memory.seen.at),
            seen_by: memory.seen.by.as_ref().map(ToString::to_string),
            tools: tools
                .map(|(tool, change)| ChangedTool { name: tool.name.to_string(), change: change.into() })
                .collect(),
            left_out: memory.left_out,
        }
    }
}

impl ToolDiff {
    /// What differs in this tool.
    pub(crate) fn of(tool: &RememberedTool, limits: &ToolMemoryPolicy) -> Self {
        let is_too_long = [&tool.seen, &tool.listed].into_iter().flatten().any(|version| version.text.is_none());
        let (old, new) = (definition(tool.seen.as_ref()), definition(tool.listed.as_ref()));
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let lines = if is_too_long { Vec::new() } else { line_diff(&old, &new, limits.compared_lines) };
        let count =
            |wanted| u64::try_from(lines.iter().filter(|(change, _)| *change == wanted).count()).unwrap_or(u64::MAX);
        Self {
            name: tool.name.to_string(),
            change: tool.change().map(Into::into),
            added: count(LineChange::Added),
            removed: count(LineChange::Removed),
            is_too_long,
            lines: in_context(&lines, limits.line_chars),
        }
    }
}

/// A definition laid out for reading; empty for a version that is not there.
fn definition(version: Option<&ToolVersion>) -> String {
    let text = version.and_then(|version| version.text.as_deref()).unwrap_or_default();
    let mut laid_out = String::new();
    for line in pretty(text).lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        // A description is one line of JSON, however many it has: each of them is compared.
        for (place, part) in line.split("\\n").enumerate() {
            if place > 0 {
                laid_out.push_str(&indent);
                laid_out.push_str("  ");
            }
            laid_out.push_str(part);
            laid_out.push('\n');
        }
    }
    laid_out
}

/// The changed lines with some around them; the rest is counted.
fn in_context(lines: &[(LineChange, &str)], chars: usize) -> Vec<DiffLine> {
    let is_near = |place: usize| {
        let near = lines.get(place.saturating_sub(CONTEXT)..lines.len().min(place + CONTEXT + 1)).unwrap_or_default();
        near.iter().any(|(change, _)| *change != LineChange::Same)
    };
    let mut shown = Vec::new();
    let mut skipped = 0_usize;
    for (place, (change, text)) in lines.iter().enumerate() {
        if !is_near(place) {
            skipped += 1;
            continue;
        }
        flush(&mut shown, &mut skipped);
        let kind = match change {
            LineChange::Same => DiffLineKind::Same,
            LineChange::Removed => DiffLineKind::Removed,
            LineChange::Added => DiffLineKind::Added,
        };
        shown.push(DiffLine { kind, text: plain_text(text, chars) });
    }
    flush(&mut shown, &mut skipped);
    shown
}

fn flush(shown: &mut Vec<DiffLine>, skipped: &mut usize) {
    if *skipped > 0 {
        shown.push(DiffLine { kind: DiffLineKind::Skipped, text: std::mem::take(skipped).to_string() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn version(text: &str) -> Option<ToolVersion> {
        Some(ToolVersion { digest: Arc::from(text), text: Some(Arc::from(text)) })
    }

    #[test]
    fn a_changed_line_of_a_long_description_is_shown_with_what_is_around_it() {
        let words = |last: &str| {
            let lines: Vec<String> = (0..20).map(|n| format!("line {n}")).chain([last.to_owned()]).collect();
            format!(r#"{{"description":"{}","name":"index"}}"#, lines.join("\\n"))
        };
        let tool = RememberedTool {
            name: Arc::from("index"),
            seen: version(&words("of one folder")),
            listed: version(&words("of all")),
        };
        let diff = ToolDiff::of(&tool, &ToolMemoryPolicy::default());
        assert_eq!((diff.added, diff.removed), (1, 1));
        let signs: String = diff
            .lines
            .iter()
            .map(|line| match line.kind {
                DiffLineKind::Same => ' ',
                DiffLineKind::Removed => '-',
                DiffLineKind::Added => '+',
                DiffLineKind::Skipped => '~',
            })
            .collect();
        assert_eq!(signs, "~   -+  ", "{:#?}", diff.lines);
        assert!(diff.lines.iter().any(|line| line.text.contains("of all")), "{:#?}", diff.lines);
    }
}
