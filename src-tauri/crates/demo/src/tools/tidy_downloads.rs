//! `tidy_downloads`: proposes to move the files of a folder into sub-folders by kind, and asks before it moves any.
//!
//! A sample folder is made when none is given; `form.rs` asks and reads the answer,
//! `file_mover.rs` moves. A dry run is the default; the person's answer decides. Nothing is overwritten or leaves the
//! folder.

mod file_mover;
mod form;

use std::path::PathBuf;

use crate::script_server::script::{Elicitation, ElicitationReply, ToolCard, ToolLength, ToolNeeds};
use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use serde_json::json;

use super::schemas::{folder_schema, schema};
use crate::folder_walk::existing;
use crate::tool_context::{ToolContext, ToolOutcome};
use crate::tools::known_files::{KnownFile, KnownFiles};
use crate::tools::sample;
use crate::tools::tidy_downloads::file_mover::{FileMover, Moved};
use crate::tools::tidy_downloads::form::TidyChoice;

/// Lines of a result; the rest is counted. Judgement: nobody reads more.
const LINES_TOLD: usize = 500;

pub(super) fn card(limits: &ServingPolicy) -> ToolCard {
    ToolCard {
        name: "tidy_downloads",
        title: "Tidy a folder",
        description: "Proposes to move the files that lie directly in a folder into sub-folders by kind (Images, \
                      Documents, …). Asks a person before it touches anything; a dry run by default. Never \
                      overwrites, never leaves the folder. Without a folder it makes a small one to try it on.",
        input_schema: schema(
            json!({
                "folder": folder_schema("The folder to tidy.", limits),
                "dry_run": {"type": "boolean", "default": true,
                            "description": "What the form proposes: only say what would be moved."},
            }),
            &[],
        ),
        output_schema: None,
        annotations: json!({
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false,
        }),
        length: ToolLength::Long,
        needs: ToolNeeds::Forms,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let named = match context.path("folder") {
        Some(folder) => existing(Some(folder)).await,
        None => sample::make().await,
    };
    let folder = match named {
        Ok(folder) => folder,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let stop = context.stopping();
    let planned = tokio::select! {
        planned = KnownFiles::of(&folder, &context.limits) => planned,
        () = stop.cancelled() => return ToolOutcome::Stopped,
    };
    let plan = match planned {
        Ok(plan) => plan,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    if plan.items.is_empty() {
        return ToolOutcome::Text(format!("Nothing to tidy in `{}`: no file of a known kind.", folder.display()), None);
    }
    context.say(format!("waiting for a decision about {} files", grouped(plan.items.len() as u64)));
    let ask = Elicitation::Form {
        message: form::message(&folder, &plan),
        schema: form::schema(&plan, context.yes("dry_run", true)),
    };
    let reply = tokio::select! {
        reply = context.ask(ask) => reply,
        () = stop.cancelled() => return ToolOutcome::Stopped,
    };
    let content = match reply {
        ElicitationReply::Accept(content) => content,
        ElicitationReply::Decline => {
            return ToolOutcome::Text("Nothing was touched: the person declined.".to_owned(), None);
        }
        ElicitationReply::Dismiss => {
            return ToolOutcome::Text("Nothing was touched: the person did not decide.".to_owned(), None);
        }
    };
    let choice = match TidyChoice::read(&content, &plan) {
        Ok(choice) => choice,
        Err(why) => return ToolOutcome::ToolError(format!("Nothing was touched: {why}.")),
    };
    if !choice.go {
        return ToolOutcome::Text("Nothing was touched: the answer was not to go ahead.".to_owned(), None);
    }
    let items: Vec<KnownFile> = plan.items.into_iter().filter(|item| choice.takes(item)).take(choice.at_most).collect();
    if choice.dry_run {
        return ToolOutcome::Text(proposal(&items, &choice), None);
    }
    carry_out(&context, folder, items, choice).await
}

fn noted(choice: &TidyChoice) -> String {
    choice.note.as_ref().map_or_else(String::new, |note| format!("Note: {note}\n"))
}

fn proposal(items: &[KnownFile], choice: &TidyChoice) -> String {
    let mut text = format!("Dry run: {} files would be moved, nothing was touched.\n", grouped(items.len() as u64));
    text.push_str(&noted(choice));
    for item in items.iter().take(LINES_TOLD) {
        text.push_str(&format!("{} -> {}/\n", item.name.display(), item.kind.folder()));
    }
    cut(&mut text, items.len());
    text
}

fn cut(text: &mut String, lines: usize) {
    if lines > LINES_TOLD {
        text.push_str(&format!("… and {} more\n", grouped((lines - LINES_TOLD) as u64)));
    }
}

async fn carry_out(context: &ToolContext, folder: PathBuf, items: Vec<KnownFile>, choice: TidyChoice) -> ToolOutcome {
    let mover = match FileMover::open(&folder) {
        Ok(mover) => std::sync::Arc::new(mover),
        Err(why) => {
            return ToolOutcome::ToolError(format!(
                "Nothing was touched: `{}` cannot be opened: {why}.",
                folder.display()
            ));
        }
    };
    let stop = context.stopping();
    let total = items.len() as u64;
    let (mut moved, mut left) = (0_u64, 0_u64);
    let mut lines = String::new();
    for (at, item) in items.into_iter().enumerate() {
        if stop.is_cancelled() {
            context.say(format!("stopped: {} of {} files moved", grouped(moved), grouped(total)));
            return ToolOutcome::Stopped;
        }
        let (name, kind, clash, mover) = (item.name.clone(), item.kind, choice.clash, mover.clone());
        // One file at a time on the thread for blocking work: it is not dropped half way.
        let outcome = tokio::task::spawn_blocking(move || mover.move_one(&name, kind, clash)).await;
        let line = match outcome {
            Ok(Moved::To(place)) => {
                moved += 1;
                format!("{} -> {place}\n", item.name.display())
            }
            Ok(Moved::Left(why)) => {
                left += 1;
                format!("{} stays: {why}\n", item.name.display())
            }
            Err(_) => {
                left += 1;
                format!("{} stays: moving it broke off\n", item.name.display())
            }
        };
        if at < LINES_TOLD {
            lines.push_str(&line);
        }
        context.report(format!("{} of {} files moved", grouped(moved), grouped(total)), at as u64 + 1, Some(total));
    }
    cut(&mut lines, usize::try_from(total).unwrap_or(usize::MAX));
    let summary = format!("{} files moved, {} left where they were.\n", grouped(moved), grouped(left));
    ToolOutcome::Text(format!("{summary}{}{lines}", noted(&choice)), None)
}
