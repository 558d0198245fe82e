//! `index_folder`: reads every file and counts files, bytes and words by extension.
//!
//! Takes minutes on a large tree; `pause_ms` makes a small one slow for demonstrations. Words are runs of non-blank
//! characters in files without a zero byte. Nothing is written.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use serde_json::{Value, json};

use super::schemas::{folder_schema, reads_only, schema};
use crate::folder_walk::{existing, read_all, walk};
use crate::tool_context::{ToolContext, ToolOutcome};

/// Extensions in the result; the rest is summed up. Judgement: more is noise.
const EXTENSIONS_TOLD: usize = 100;

pub(super) fn card(limits: &ServingPolicy) -> ToolCard {
    ToolCard {
        name: "index_folder",
        title: "Index a folder",
        description: "Reads every file below a folder and counts files, bytes and words by extension. Takes minutes \
                      on a large tree and reports every file. Changes nothing.",
        input_schema: schema(
            json!({
                "path": folder_schema("The folder to index.", limits),
                "pause_ms": {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0,
                             "description": "Milliseconds to rest after each file, to watch it work."},
            }),
            &["path"],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "files": {"type": "integer"}, "folders": {"type": "integer"}, "bytes": {"type": "integer"},
                "words": {"type": "integer"}, "unreadable": {"type": "integer"},
                "byExtension": {"type": "array", "items": {"type": "object"}},
                "otherExtensions": {"type": "object"},
            },
            "required": ["files", "folders", "bytes", "words", "unreadable", "byExtension", "otherExtensions"],
        })),
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Nobody,
    }
}

#[derive(Default, Clone, Copy)]
struct Count {
    files: u64,
    bytes: u64,
    words: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.words += other.words;
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let root = match existing(context.path("path")).await {
        Ok(root) => root,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let pause = Duration::from_millis(context.whole("pause_ms", 0));
    let tell = |found: usize| context.say(format!("{} files found so far", grouped(found as u64)));
    let found = match walk(&root, &context.limits, tell).await {
        Ok(found) => found,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let total = found.files.len() as u64;
    let mut unreadable = found.unreadable;
    let mut by_extension: BTreeMap<String, Count> = BTreeMap::new();
    context.report(format!("0 of {} files", grouped(total)), 0, Some(total));
    for (at, path) in found.files.iter().enumerate() {
        match count(&root.join(path)).await {
            Ok(count) => by_extension.entry(extension(path)).or_default().add(count),
            Err(_) => unreadable += 1,
        }
        let done = at as u64 + 1;
        context.report(format!("{} of {} files", grouped(done), grouped(total)), done, Some(total));
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    finish(&root, found.folders, unreadable, by_extension)
}

fn extension(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
}

async fn count(path: &Path) -> std::io::Result<Count> {
    let (mut bytes, mut words, mut in_word, mut is_text) = (0_u64, 0_u64, false, true);
    read_all(path, |piece| {
        bytes += piece.len() as u64;
        is_text &= !piece.contains(&0);
        for byte in piece {
            // White space as `wc` has it: also the vertical tab.
            let blank = byte.is_ascii_whitespace() || *byte == 0x0b;
            words += u64::from(!blank && !in_word);
            in_word = !blank;
        }
    })
    .await?;
    Ok(Count { files: 1, bytes, words: if is_text { words } else { 0 } })
}

fn finish(root: &Path, folders: u64, unreadable: u64, by_extension: BTreeMap<String, Count>) -> ToolOutcome {
    let mut sum = Count::default();
    by_extension.values().for_each(|count| sum.add(*count));
    let mut ranked: Vec<(String, Count)> = by_extension.into_iter().collect();
    ranked.sort_by(|a, b| b.1.bytes.cmp(&a.1.bytes).then_with(|| a.0.cmp(&b.0)));
    let mut rest = Count::default();
    ranked.iter().skip(EXTENSIONS_TOLD).for_each(|(_, count)| rest.add(*count));
    ranked.truncate(EXTENSIONS_TOLD);
    let place = match folders {
        0 => String::new(),
        many => format!(" in {}", counted(many, "folder")),
    };
    let root = root.display();
    let mut text = if sum.files == 0 {
        format!("`{root}`: no file was read{place}.\n")
    } else {
        format!(
            "`{root}`: {}{place}, {} bytes, {} words in text files.\n",
            counted(sum.files, "file"),
            grouped(sum.bytes),
            grouped(sum.words)
        )
    };
    let mut rows: Vec<Value> = Vec::new();
    for (extension, count) in &ranked {
        let shown = if extension.is_empty() { "(no extension)" } else { extension };
        text.push_str(&format!("{shown}: {} files, {} bytes", grouped(count.files), grouped(count.bytes)));
        text.push_str(&format!(", {} words\n", grouped(count.words)));
        rows.push(json!({
            "extension": extension, "files": count.files, "bytes": count.bytes, "words": count.words,
        }));
    }
    if rest.files > 0 {
        text.push_str(&format!("other extensions: {} files, {} bytes", grouped(rest.files), grouped(rest.bytes)));
        text.push_str(&format!(", {} words\n", grouped(rest.words)));
    }
    if unreadable > 0 {
        text.push_str(&format!("{} files or folders could not be read.\n", grouped(unreadable)));
    }
    let data = json!({
        "files": sum.files, "folders": folders, "bytes": sum.bytes, "words": sum.words, "unreadable": unreadable,
        "byExtension": rows,
        "otherExtensions": {"files": rest.files, "bytes": rest.bytes, "words": rest.words},
    });
    ToolOutcome::Text(text, Some(data))
}

fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}
