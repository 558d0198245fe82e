//! Compares the two versions of a tool's definition that are remembered, laid out for reading.
//!
//! Lines are cut and without control characters, and only those near a change are shown. The work is bounded by
//! `Policy::tool_memory`.

use domain::policy::{ToolMemoryPolicy, plain_text};
use domain::server::tool_memory::{RememberedTool, ToolVersion};

use super::line_diff::{LineChange, line_diff};
use super::pretty_json::pretty;
use crate::dto::server::tools::{DiffLine, DiffLineKind, ToolDiff};

/// Lines around a change that stay in sight. Judgement: as `diff` does.
const CONTEXT: usize = 3;

/// What differs in this tool.
pub(crate) fn tool_diff(tool: &RememberedTool, limits: &ToolMemoryPolicy) -> ToolDiff {
    let is_too_long = [&tool.seen, &tool.listed].into_iter().flatten().any(|version| version.text.is_none());
    let (old, new) = (definition(tool.seen.as_ref()), definition(tool.listed.as_ref()));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let lines = if is_too_long { Vec::new() } else { line_diff(&old, &new, limits.compared_lines) };
    let count =
        |wanted| u64::try_from(lines.iter().filter(|(change, _)| *change == wanted).count()).unwrap_or(u64::MAX);
    ToolDiff {
        name: tool.name.to_string(),
        change: tool.change().map(Into::into),
        added: count(LineChange::Added),
        removed: count(LineChange::Removed),
        is_too_long,
        lines: in_context(&lines, limits.line_chars),
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
        let diff = tool_diff(&tool, &ToolMemoryPolicy::default());
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
