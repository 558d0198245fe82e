//! `tidy_downloads`: proposes to move the files of a folder into sub-folders by kind, and asks before it touches any.
//!
//! `sample.rs` makes a folder when none is named, `plan.rs` says what would be moved, `form.rs` asks and reads the
//! answer, `shift.rs` moves. A dry run is the default in the argument and in the form; the person's answer decides.
//! Nothing is ever overwritten or moved elsewhere, and what was done is told file by file.

mod form;
mod plan;
mod sample;
mod shift;

use std::path::PathBuf;

use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use mcp::serve::desk::{Ask, Length, Needs, Reply, ToolCard};
use serde_json::json;

use self::form::Choice;
use self::plan::{Item, Plan};
use self::shift::{Moved, Shift};
use super::{folder_schema, schema};
use crate::bench::{Bench, Finish};
use crate::folder::existing;

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
        length: Length::Long,
        needs: Needs::Forms,
    }
}

pub(super) async fn run(bench: Bench) -> Finish {
    let named = match bench.path("folder") {
        Some(folder) => existing(Some(folder)).await,
        None => sample::make().await,
    };
    let folder = match named {
        Ok(folder) => folder,
        Err(why) => return Finish::ToolError(why),
    };
    let stop = bench.stopping();
    let planned = tokio::select! {
        planned = Plan::of(&folder, &bench.limits) => planned,
        () = stop.cancelled() => return Finish::Stopped,
    };
    let plan = match planned {
        Ok(plan) => plan,
        Err(why) => return Finish::ToolError(why),
    };
    if plan.items.is_empty() {
        return Finish::Text(format!("Nothing to tidy in `{}`: no file of a known kind.", folder.display()), None);
    }
    bench.say(format!("waiting for a decision about {} files", grouped(plan.items.len() as u64)));
    let ask =
        Ask::Form { message: form::message(&folder, &plan), schema: form::schema(&plan, bench.yes("dry_run", true)) };
    let reply = tokio::select! {
        reply = bench.ask(ask) => reply,
        () = stop.cancelled() => return Finish::Stopped,
    };
    let content = match reply {
        Reply::Accept(content) => content,
        Reply::Decline => return Finish::Text("Nothing was touched: the person declined.".to_owned(), None),
        Reply::Dismiss => return Finish::Text("Nothing was touched: the person did not decide.".to_owned(), None),
    };
    let choice = match Choice::read(&content, &plan) {
        Ok(choice) => choice,
        Err(why) => return Finish::ToolError(format!("Nothing was touched: {why}.")),
    };
    if !choice.go {
        return Finish::Text("Nothing was touched: the answer was not to go ahead.".to_owned(), None);
    }
    let items: Vec<Item> = plan.items.into_iter().filter(|item| choice.takes(item)).take(choice.at_most).collect();
    if choice.dry_run {
        return Finish::Text(proposal(&items, &choice), None);
    }
    carry_out(&bench, folder, items, choice).await
}

fn noted(choice: &Choice) -> String {
    choice.note.as_ref().map_or_else(String::new, |note| format!("Note: {note}\n"))
}

fn proposal(items: &[Item], choice: &Choice) -> String {
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

async fn carry_out(bench: &Bench, folder: PathBuf, items: Vec<Item>, choice: Choice) -> Finish {
    let shift = match Shift::open(&folder) {
        Ok(shift) => std::sync::Arc::new(shift),
        Err(why) => {
            return Finish::ToolError(format!("Nothing was touched: `{}` cannot be opened: {why}.", folder.display()));
        }
    };
    let stop = bench.stopping();
    let total = items.len() as u64;
    let (mut moved, mut left) = (0_u64, 0_u64);
    let mut lines = String::new();
    for (at, item) in items.into_iter().enumerate() {
        if stop.is_cancelled() {
            bench.say(format!("stopped: {} of {} files moved", grouped(moved), grouped(total)));
            return Finish::Stopped;
        }
        let (name, kind, clash, shift) = (item.name.clone(), item.kind, choice.clash, shift.clone());
        // One file at a time on the thread for blocking work: it is not dropped half way.
        let outcome = tokio::task::spawn_blocking(move || shift.one(&name, kind, clash)).await;
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
        bench.report(format!("{} of {} files moved", grouped(moved), grouped(total)), at as u64 + 1, Some(total));
    }
    cut(&mut lines, usize::try_from(total).unwrap_or(usize::MAX));
    let summary = format!("{} files moved, {} left where they were.\n", grouped(moved), grouped(left));
    Finish::Text(format!("{summary}{}{lines}", noted(&choice)), None)
}
