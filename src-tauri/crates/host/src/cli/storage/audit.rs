//! `taskwarden audit`: rows of the audit log, whether every one still fits the row before it, and checkpoints.
//!
//! With a core, a long log is verified in several calls; without one, in this process. What is checked is described in
//! the registry's audit rows, what it cannot prove in ruling 29.

mod checkpoint;
mod export;
mod export_file;
pub(crate) mod list;

use api::calls::core::storage::VerifyAudit;
use api::dto::AuditVerifiedDto;
use api::dto::core::audit::TreeVerifiedDto;
use api::format::time::count;
use clap::Subcommand;
use serde::Serialize;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

/// Commands about the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List rows of the audit log, newest first.
    List(Box<list::AuditListArgs>),
    /// Show one row with its neighbours, and what it does not prove.
    Show(list::ShowArgs),
    /// Recompute the hash of every row, compare every checkpoint with the rows, and report the first that does not match.
    /// Exits with 1 if one does not match.
    Verify,
    /// Sign the log as it is now, and print the signed note. Keep it where nobody else can change it.
    Checkpoint,
    /// Export rows with a proof that `taskwarden-verify` checks. Records the export and signs the log first.
    Export(Box<export::ExportArgs>),
}

/// What `audit verify --json` prints.
#[derive(Debug, Serialize)]
struct AuditVerified {
    #[serde(flatten)]
    rows: AuditVerifiedDto,
    checkpoints: TreeVerifiedDto,
}

pub(crate) async fn run(command: AuditCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        AuditCommand::List(command) => list::list(*command, config, screen).await,
        AuditCommand::Show(command) => list::show(command, config, screen).await,
        AuditCommand::Verify => verify(config, screen).await,
        AuditCommand::Checkpoint => checkpoint::make(config, screen).await,
        AuditCommand::Export(command) => export::export(*command, config, screen).await,
    }
}

async fn verify(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let mut checked = 0_u64;
    let mut whole = true;
    let found: AuditVerifiedDto = loop {
        let found: AuditVerifiedDto = core.request("audit.verify", &VerifyAudit { whole }).await?;
        whole = false;
        checked = checked.saturating_add(found.checked);
        if found.complete || found.broken.is_some() {
            break AuditVerifiedDto { checked, ..found };
        }
        screen.note(&format!("Verified up to row {} of {} …", found.verified_to, found.last));
    };
    let checkpoints = checkpoint::compare(&core, screen).await?;
    let is_whole = found.broken.is_none() && checkpoints.broken.is_none();
    if screen.is_json() {
        screen.json(&AuditVerified { rows: found, checkpoints })?;
    } else {
        screen.line(&report(&found));
        screen.line(&checkpoint::report(&checkpoints));
    }
    Ok(if is_whole { DONE } else { FAILED })
}

fn report(found: &AuditVerifiedDto) -> String {
    let rows = count(found.checked, "row");
    match &found.broken {
        Some(broken) => format!(
            "The audit log is broken at row {}: {}. Rows up to {} are verified. Keep a copy of the data directory as \
             evidence; its `backups` folder may have the row as it was.",
            broken.number,
            one_line(&broken.why),
            found.verified_to
        ),
        None if found.last == 0 => "The audit log is empty.".into(),
        None if found.first > 1 => format!(
            "The audit log is intact: {rows} verified, up to row {}. Rows before {} were removed by retention; their \
             tombstones are verified.",
            found.last, found.first
        ),
        None => format!("The audit log is intact: {rows} verified, up to row {}.", found.last),
    }
}
