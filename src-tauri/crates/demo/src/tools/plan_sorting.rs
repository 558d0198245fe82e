//! `plan_sorting`: asks how the files of a folder should be sorted, and writes down where each would go.
//!
//! It moves nothing: the question is safe to answer, which is why the first run asks it. Without a folder it makes a
//! sample and removes it again. Moving is `tidy_downloads.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::script_server::script::{Elicitation, ElicitationReply, ToolCard, ToolLength, ToolNeeds};
use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::known_files::{KnownFile, KnownFiles};
use super::sample;
use super::schemas::{folder_schema, reads_only, schema};
use crate::folder_walk::existing;
use crate::tool_context::{ToolContext, ToolOutcome};

/// File names of a result; the rest is counted. Judgement: nobody reads more.
const NAMES_TOLD: usize = 500;
/// Where a file goes whose time of change cannot be read.
const NO_MONTH: &str = "Unknown month";

/// How files are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortBy {
    Kind,
    Month,
    Nothing,
}

impl SortBy {
    const fn word(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Month => "month",
            Self::Nothing => "none",
        }
    }

    fn read(content: &Map<String, Value>) -> Result<Self, &'static str> {
        let all = [Self::Kind, Self::Month, Self::Nothing];
        let chosen = content.get("by").and_then(Value::as_str);
        all.into_iter().find(|by| Some(by.word()) == chosen).ok_or("`by` must be `kind`, `month` or `none`")
    }

    /// The sub-folders with their files, in the order of their names.
    fn folders(self, files: &KnownFiles) -> BTreeMap<String, Vec<&KnownFile>> {
        let mut folders: BTreeMap<String, Vec<&KnownFile>> = BTreeMap::new();
        for file in &files.items {
            let folder = match self {
                Self::Kind => file.kind.folder().to_owned(),
                Self::Month => month(file),
                Self::Nothing => continue,
            };
            folders.entry(folder).or_default().push(file);
        }
        folders
    }
}

pub(super) fn card(limits: &ServingPolicy) -> ToolCard {
    ToolCard {
        name: "plan_sorting",
        title: "Plan how to sort a folder",
        description: "Asks a person how the files that lie directly in a folder should be sorted (by kind or by month), \
                      and says which file would go where. Moves nothing. Without a folder it looks at a sample that it \
                      makes and removes again.",
        input_schema: schema(json!({ "folder": folder_schema("The folder to look at.", limits) }), &[]),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Forms,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let (folder, sample) = match context.path("folder") {
        Some(folder) => (existing(Some(folder)).await, None),
        None => {
            let made = sample::make().await;
            (made.clone(), made.ok().map(SampleFolder))
        }
    };
    let found = match folder {
        Ok(folder) => KnownFiles::of(&folder, &context.limits).await,
        Err(why) => Err(why),
    };
    let files = match found {
        Ok(files) => files,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    if files.items.is_empty() {
        return ToolOutcome::Text("There is nothing to sort: no file of a known kind.".to_owned(), None);
    }
    let total = files.items.len() as u64;
    context.report(format!("found {} files", grouped(total)), total, Some(total));
    let ask = Elicitation::Form { message: question(&files, sample.is_some()), schema: form(&files) };
    let choice = match context.ask(ask).await {
        ElicitationReply::Accept(content) => SortBy::read(&content),
        ElicitationReply::Decline => return nothing_planned("the person declined"),
        ElicitationReply::Dismiss => return nothing_planned("the person did not decide"),
    };
    match choice {
        Ok(by) => plan(&files, by),
        Err(why) => ToolOutcome::ToolError(format!("Nothing was planned: {why}.")),
    }
}

fn nothing_planned(why: &str) -> ToolOutcome {
    ToolOutcome::Text(format!("Nothing was planned: {why}. No file was touched."), None)
}

/// The words above the form. The first sentence is its title, so it names no path.
fn question(files: &KnownFiles, is_sample: bool) -> String {
    let sample = if is_sample { "sample " } else { "" };
    let kinds: Vec<String> = files
        .kinds()
        .into_iter()
        .map(|(kind, count)| {
            let (one, several) = kind.words();
            format!("{} {}", grouped(count as u64), if count == 1 { one } else { several })
        })
        .collect();
    let kinds = match kinds.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    };
    format!(
        "How should {} be sorted? I found {kinds}. I only write down where each file would go.",
        counted(files.items.len(), &format!("{sample}file"))
    )
}

/// The `requestedSchema` of the form.
fn form(files: &KnownFiles) -> Value {
    let into = |by: SortBy| counted(by.folders(files).len(), "folder");
    json!({
        "type": "object",
        "properties": {
            "by": {"type": "string", "title": "Sort them", "default": SortBy::Kind.word(), "oneOf": [
                {"const": SortBy::Kind.word(), "title": format!("By kind, into {}", into(SortBy::Kind))},
                {"const": SortBy::Month.word(), "title": format!("By month, into {}", into(SortBy::Month))},
                {"const": SortBy::Nothing.word(), "title": "Not at all"},
            ]},
        },
        "required": ["by"],
    })
}

fn plan(files: &KnownFiles, by: SortBy) -> ToolOutcome {
    let folders = by.folders(files);
    let moved: usize = folders.values().map(Vec::len).sum();
    let mut text = match by {
        SortBy::Kind | SortBy::Month => {
            format!("{} would be moved into {}.", counted(moved, "file"), counted(folders.len(), "folder"))
        }
        SortBy::Nothing => "Every file would stay where it is.".to_owned(),
    };
    text.push_str(" No file was touched.\n");
    let mut room = NAMES_TOLD;
    let mut rows = Vec::new();
    for (folder, all) in &folders {
        let told = all.len().min(room);
        room -= told;
        let names: Vec<String> = all.iter().take(told).map(|file| file.name.to_string_lossy().into_owned()).collect();
        let more =
            if told < all.len() { format!(" and {} more", grouped((all.len() - told) as u64)) } else { String::new() };
        text.push_str(&format!("{folder} ({}): {}{more}\n", grouped(all.len() as u64), names.join(", ")));
        rows.push(json!({ "folder": folder, "count": all.len(), "files": names }));
    }
    let data = json!({ "sortedBy": by.word(), "wouldMove": moved, "touched": 0, "folders": rows });
    ToolOutcome::Text(text, Some(data))
}

fn counted(count: usize, one: &str) -> String {
    format!("{} {one}{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

/// Such as `2026-11`, in UTC.
fn month(file: &KnownFile) -> String {
    let changed = file.changed.map(|at| at.to_zoned(TimeZone::UTC).date());
    changed.map_or_else(|| NO_MONTH.to_owned(), |day| format!("{:04}-{:02}", day.year(), day.month()))
}

/// A sample folder of ours, removed when the run ends in whatever way.
struct SampleFolder(PathBuf);

impl Drop for SampleFolder {
    fn drop(&mut self) {
        // What cannot be removed is a few bytes in the temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
