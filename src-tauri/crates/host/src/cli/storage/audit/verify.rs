//! `taskwarden audit verify`: the rows and checkpoints of the registry, or an export, and anchors for either.
//!
//! An export needs no core; `verified_export.rs` checks it.

use std::path::{Path, PathBuf};

use api::calls::core::anchors::CompareNotes;
use api::calls::core::receipts::VerifyReceipts;
use api::calls::core::storage::VerifyAudit;
use api::dto::AuditVerifiedDto;
use api::dto::core::anchor::NotesCompared;
use api::dto::core::audit::TreeVerifiedDto;
use api::dto::core::receipt::ReceiptsVerifiedDto;
use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;
use serde::Serialize;
use verify::anchor::{Anchor, parse_anchors};
use verify::export::Trust;

use super::{checkpoint, verified_export};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;
use crate::os::anchors::notes_of_repository;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// An export to check in place of the log itself.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Compare with the checkpoints of this file, or of this git repository; may be given more than once.
    #[arg(long, value_name = "PLACE")]
    anchor: Vec<PathBuf>,
    /// You know that the log went on from an older copy of the registry: checkpoints from before that fork from it are
    /// counted, and are no fault. NUMBER is that of its epoch: 2 after the first time, and one more after each further
    /// time; rows `epochBegun` say when.
    #[arg(long, value_name = "NUMBER", requires = "anchor", value_parser = clap::value_parser!(u32).range(2..))]
    epoch: Option<u32>,
}

/// What `audit verify --json` prints.
#[derive(Debug, Serialize)]
struct AuditVerified {
    #[serde(flatten)]
    rows: AuditVerifiedDto,
    receipts: ReceiptsVerifiedDto,
    checkpoints: TreeVerifiedDto,
    anchors: Vec<AnchorCompared>,
}

/// How a file of anchors compares with the log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AnchorCompared {
    file: String,
    /// Checkpoints in it.
    compared: u64,
    /// Of these, checkpoints of an earlier epoch that fork from the log, as the person knows.
    forked: u64,
    /// The rows that its newest one covers.
    newest: u64,
    /// Rows of the log after it, up to the log's newest checkpoint, which this file does not prove.
    after: u64,
    /// Why it and the log cannot both be right.
    fault: Option<String>,
}

pub(super) async fn run(args: VerifyArgs, config: &Config, screen: &Screen) -> CommandResult {
    let anchors = args.anchor.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    match &args.file {
        Some(file) => {
            let anchors = anchors.into_iter().flatten().collect();
            verified_export::check(file, &Trust { anchors, epoch: args.epoch, ..Trust::default() }, screen)
        }
        None => log(anchors, &args, config, screen).await,
    }
}

fn unread(path: &Path, why: impl std::fmt::Display) -> ApiError {
    let message = format!("`{}` cannot be read: {why}", path.display());
    ApiError::new(Code::Usage, message, "Give a file of checkpoints, such as those that an anchor holds.")
}

fn read(path: &Path) -> Result<Vec<Anchor>, ApiError> {
    let text = if path.is_dir() {
        notes_of_repository(path).map_err(|why| unread(path, why))?
    } else {
        std::fs::read_to_string(path).map_err(|error| unread(path, error))?
    };
    let anchors = parse_anchors(&path.display().to_string(), &text).map_err(|fault| unread(path, fault))?;
    if anchors.is_empty() { Err(unread(path, "no checkpoint is in it")) } else { Ok(anchors) }
}

async fn log(anchors: Vec<Vec<Anchor>>, args: &VerifyArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let (mut checked, mut erased, mut first_erased) = (0_u64, 0_u64, None);
    let mut whole = true;
    let found: AuditVerifiedDto = loop {
        let found: AuditVerifiedDto = core.request("audit.verify", &VerifyAudit { whole }).await?;
        whole = false;
        checked = checked.saturating_add(found.checked);
        erased = erased.saturating_add(found.erased);
        first_erased = first_erased.or(found.first_erased);
        if found.complete || found.broken.is_some() {
            break AuditVerifiedDto { checked, erased, first_erased, ..found };
        }
        screen.note_to_people(&format!("Verified up to row {} of {} …", found.verified_to, found.last));
    };
    let receipts = receipts(&core, screen).await?;
    let checkpoints = checkpoint::compare(&core, screen).await?;
    let mut compared = Vec::with_capacity(anchors.len());
    for (file, anchors) in args.anchor.iter().zip(&anchors) {
        compared.push(compare(&core, config, (file, anchors), args.epoch).await?);
    }
    let is_whole = found.broken.is_none()
        && receipts.broken.is_none()
        && checkpoints.broken.is_none()
        && compared.iter().all(|anchor| anchor.fault.is_none());
    if screen.is_json() {
        screen.json(&AuditVerified { rows: found, receipts, checkpoints, anchors: compared })?;
    } else {
        let mut lines = vec![
            (found.broken.is_some(), report(&found, is_whole)),
            (receipts.broken.is_some(), report_receipts(&receipts)),
            (checkpoints.broken.is_some(), checkpoint::report(&checkpoints)),
        ];
        lines.extend(found.first_erased.map(|first| (false, report_erased(found.erased, first))));
        lines.extend(compared.iter().map(|anchor| (anchor.fault.is_some(), anchor.sentence())));
        // What is broken comes first; the sort keeps the order of the others.
        lines.sort_by_key(|(is_broken, _)| !is_broken);
        lines.iter().for_each(|(_, line)| screen.line(line));
    }
    Ok(if is_whole { DONE } else { FAILED })
}

/// Checks all receipts.
async fn receipts(core: &CoreClient, screen: &Screen) -> Result<ReceiptsVerifiedDto, ApiError> {
    let mut all = ReceiptsVerifiedDto::default();
    let mut after = 0;
    loop {
        let found: ReceiptsVerifiedDto = core.request("audit.verifyReceipts", &VerifyReceipts { after }).await?;
        all = ReceiptsVerifiedDto {
            batches: all.batches.saturating_add(found.batches),
            receipts: all.receipts.saturating_add(found.receipts),
            removed: all.removed.saturating_add(found.removed),
            ..found
        };
        match all.next {
            Some(next) => {
                after = next;
                screen.note_to_people(&format!("Verified {} …", count(all.receipts, "receipt")));
            }
            None => return Ok(all),
        }
    }
}

fn report_receipts(found: &ReceiptsVerifiedDto) -> String {
    let receipts = count(found.receipts, "receipt");
    match (&found.broken, found.removed) {
        (Some(broken), _) => format!(
            "Receipt {} does not hold: {}. Keep a copy of the data folder as evidence; its `backups` folder may have the \
             receipt as it was.",
            broken.number,
            one_line(&broken.why)
        ),
        (None, 0) if found.receipts == 0 => "There is no receipt of a call.".into(),
        (None, 0) => format!("The receipts of calls are intact: {receipts} verified."),
        (None, removed) => format!(
            "The receipts of calls are intact: {receipts} verified; {} removed by retention.",
            count(removed, "other")
        ),
    }
}

/// Texts that are gone. The hashes hold without them, so this breaks nothing; Taskwarden erases none by itself.
fn report_erased(erased: u64, first: u64) -> String {
    let texts = if erased == 1 {
        format!("The text of row {first} was erased.")
    } else {
        format!("The text of {} was erased; the first is row {first}.", count(erased, "row"))
    };
    format!("{texts} It is missing, and no row of the log says who erased it.")
}

async fn compare(
    core: &CoreClient,
    config: &Config,
    place: (&Path, &[Anchor]),
    epoch: Option<u32>,
) -> Result<AnchorCompared, ApiError> {
    let (file, anchors) = place;
    let file = file.display().to_string();
    let mut told = AnchorCompared { file, compared: 0, forked: 0, newest: 0, after: 0, fault: None };
    for part in anchors.chunks(config.policy.audit.compared_at_once) {
        let notes = part.iter().map(|anchor| anchor.note.to_string()).collect();
        let compared: NotesCompared = core.request("audit.compareNotes", &CompareNotes { notes, epoch }).await?;
        for note in compared.notes {
            told.compared += 1;
            if note.is_known_fork {
                told.forked += 1;
            } else {
                told.newest = told.newest.max(note.size);
            }
            told.fault = told.fault.or(note.fault);
        }
        told.after = compared.newest.saturating_sub(told.newest);
    }
    Ok(told)
}

impl AnchorCompared {
    fn sentence(&self) -> String {
        let file = one_line(&self.file);
        if let Some(fault) = &self.fault {
            return format!("The anchor `{file}` {}. Keep a copy of both as evidence.", one_line(fault));
        }
        let forked = match self.forked {
            0 => String::new(),
            many if many == self.compared => {
                return format!(
                    "The anchor `{file}` has only checkpoints from before the log went on from an older copy, and of rows \
                     that are not those of the log, as you know."
                );
            }
            many => format!(
                " The log forked from {}, made before it went on from an older copy, as you know.",
                count(many, "checkpoint")
            ),
        };
        let checkpoints = count(self.compared - self.forked, "checkpoint");
        let after = match self.after {
            0 => String::new(),
            rows => format!(
                " The {} after it {} not proven by this file.",
                count(rows, "row"),
                if rows == 1 { "is" } else { "are" }
            ),
        };
        format!("The anchor `{file}` agrees: {checkpoints}, the newest of row {}.{after}{forked}", self.newest)
    }
}

/// What the rows show by themselves. Only when everything else holds as well is the log called intact.
fn report(found: &AuditVerifiedDto, is_whole: bool) -> String {
    let rows = count(found.checked, "row");
    let holds = if is_whole { "The audit log is intact" } else { "The hashes of the rows fit each other" };
    match &found.broken {
        Some(broken) => format!(
            "The audit log is broken at row {}: {}. Rows up to {} are verified. Keep a copy of the data folder as \
             evidence; its `backups` folder may have the row as it was.",
            broken.number,
            one_line(&broken.why),
            found.verified_to
        ),
        None if found.last == 0 => "The audit log is empty.".into(),
        None if found.first > 1 => format!(
            "{holds}: {rows} verified, up to row {}. Rows before {} were removed by retention; their \
             tombstones are verified.",
            found.last, found.first
        ),
        None => format!("{holds}: {rows} verified, up to row {}.", found.last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_called_intact_only_when_all_of_it_holds() {
        let found = AuditVerifiedDto {
            checked: 485,
            verified_to: 485,
            last: 485,
            first: 1,
            complete: true,
            ..AuditVerifiedDto::default()
        };
        assert_eq!(report(&found, true), "The audit log is intact: 485 rows verified, up to row 485.");
        assert_eq!(report(&found, false), "The hashes of the rows fit each other: 485 rows verified, up to row 485.");
    }

    #[test]
    fn erased_texts_are_told_in_the_words_of_the_window() {
        let missing = "It is missing, and no row of the log says who erased it.";
        assert_eq!(report_erased(1, 7), format!("The text of row 7 was erased. {missing}"));
        assert_eq!(report_erased(12, 7), format!("The text of 12 rows was erased; the first is row 7. {missing}"));
    }
}
