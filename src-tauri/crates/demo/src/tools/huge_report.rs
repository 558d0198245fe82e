//! `huge_report`: a result of about as many tokens as requested, made of facts about files.
//!
//! One line per file: path, size, day of the last change. When the folder has too few files, a table of Collatz paths
//! fills the rest, and the report says where it begins. Nothing is written.

use std::path::{Path, PathBuf};

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use serde_json::json;

use super::schemas::{folder_schema, reads_only, schema};
use crate::folder_walk::existing;
use crate::tool_context::{ToolContext, ToolOutcome};

/// Characters of such lines for one token. Judgement: paths, sizes and days split finer than prose, whose rule of thumb
/// is four.
const CHARS_PER_TOKEN: usize = 3;

/// What is reported without an argument: the programs of the system, which say nothing about their user.
#[cfg(unix)]
const DEFAULT_FOLDER: &str = "/usr";
/// Not run here.
#[cfg(not(unix))]
const DEFAULT_FOLDER: &str = "C:\\Windows";

pub(super) fn card(limits: &ServingPolicy) -> ToolCard {
    ToolCard {
        name: "huge_report",
        title: "Write a huge report",
        description: "Reports about the files of a folder in about as many tokens as asked for, to see what a large \
                      result does to a context window. Without `path` it reports about the system's programs.",
        input_schema: schema(
            json!({
                "tokens": {"type": "integer", "minimum": 100, "maximum": 1_000_000, "default": 50_000,
                           "description": "About how many tokens the result should have."},
                "path": folder_schema("The folder to report about.", limits),
            }),
            &[],
        ),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let root = context.path("path").unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
    let root = match existing(Some(root)).await {
        Ok(root) => root,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let tokens = context.whole("tokens", 50_000);
    let chars = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let goal = chars.min(context.limits.result_cap_bytes / 2);
    let mut report = format!("Files below `{}`\n", root.display());
    let tell = |length: usize| {
        let written = (length.min(goal) / CHARS_PER_TOKEN) as u64;
        context.report(format!("about {} of {} tokens", grouped(written), grouped(tokens)), written, Some(tokens));
    };
    list(&root, goal, context.limits.folder_depth_max, &mut report, &tell).await;
    if report.len() < goal {
        report.push_str("\nThe folder has no more files. Collatz paths follow: start, steps to 1, highest number.\n");
        for start in 1_u64.. {
            if report.len() >= goal {
                break;
            }
            let (steps, highest) = collatz(start);
            report.push_str(&format!("{start}: {} steps, highest {}\n", grouped(steps), grouped(highest)));
        }
    }
    tell(report.len());
    ToolOutcome::Text(report, None)
}

/// Appends a line for each file until the report is long enough. Folders come in the order of their names.
async fn list(root: &Path, goal: usize, deepest: usize, report: &mut String, tell: &impl Fn(usize)) {
    let mut open = vec![(PathBuf::new(), 0_usize)];
    while let Some((folder, depth)) = open.pop() {
        let Ok(mut entries) = tokio::fs::read_dir(root.join(&folder)).await else { continue };
        let (mut names, mut below) = (Vec::new(), Vec::new());
        while let Ok(Some(entry)) = entries.next_entry().await {
            let Ok(kind) = entry.file_type().await else { continue };
            if kind.is_dir() && depth < deepest {
                below.push((folder.join(entry.file_name()), depth + 1));
            } else if kind.is_file() {
                names.push(entry.file_name());
            }
        }
        names.sort_unstable();
        below.sort_unstable_by(|a, b| b.cmp(a));
        for name in names {
            if report.len() >= goal {
                return;
            }
            let path = folder.join(name);
            let Ok(facts) = tokio::fs::symlink_metadata(root.join(&path)).await else { continue };
            let changed = facts.modified().ok().and_then(|at| jiff::Timestamp::try_from(at).ok());
            let changed = changed.map_or_else(|| "an unknown day".to_owned(), |at| at.strftime("%Y-%m-%d").to_string());
            let line = format!("{}: {} bytes, last changed {changed}\n", path.display(), grouped(facts.len()));
            report.push_str(&line);
        }
        tell(report.len());
        open.extend(below);
    }
}

/// Steps to 1 and the highest number on the way.
fn collatz(start: u64) -> (u64, u64) {
    let (mut number, mut steps, mut highest) = (start, 0, start);
    while number > 1 {
        number = if number.is_multiple_of(2) { number / 2 } else { number.saturating_mul(3).saturating_add(1) };
        steps += 1;
        highest = highest.max(number);
    }
    (steps, highest)
}

#[cfg(test)]
mod tests {
    use super::collatz;

    #[test]
    fn collatz_paths_are_the_known_ones() {
        assert_eq!(collatz(1), (0, 1));
        assert_eq!(collatz(27), (111, 9_232), "27 is famous for its path");
    }
}
