//! `taskwarden audit`: rows of the audit log, receipts of agents' calls, whether all of them still fit, checkpoints, anchors,
//! sinks and reports.
//!
//! With a core, a long log is verified in several calls; without one, in this process. What is checked, and what cannot
//! be proven, is described in `docs/audit.md`.

mod anchors;
mod calls;
mod checkpoint;
mod export;
mod export_file;
pub(crate) mod list;
mod report;
mod sinks;
mod verified_export;
mod verify;

use clap::Subcommand;

use crate::cli::output::exit_code::CommandResult;
use crate::cli::output::screen::Screen;
use crate::config::Config;

/// Commands about the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List rows of the audit log, newest first.
    List(Box<list::AuditListArgs>),
    /// List agents' calls, newest first: each leaves a receipt, also one that was quick or refused.
    Calls(Box<calls::CallsArgs>),
    /// Show one row with its neighbours, and what it does not prove.
    Show(list::ShowArgs),
    /// Recompute the hash of every row and receipt, compare every checkpoint with the rows, and report the first that does
    /// not match.
    /// With a file, check that export instead. Exits with 1 if something does not match.
    Verify(verify::VerifyArgs),
    /// Sign the log as it is now, and print the signed note. Keep it where nobody else can change it.
    Checkpoint(checkpoint::CheckpointArgs),
    /// Copies of checkpoints outside the registry, which a rewritten log contradicts.
    #[command(subcommand)]
    Anchors(anchors::AnchorCommand),
    /// Collectors elsewhere that get each row as an OpenTelemetry log record, and tasks as spans.
    #[command(subcommand)]
    Sinks(sinks::SinkCommand),
    /// Export rows with a proof that `taskwarden-verify` checks. Records the export and signs the log first.
    Export(Box<export::ExportArgs>),
    /// Report on a month: who decided what, how long questions waited, which servers did not stop when asked.
    Report(report::ReportArgs),
}

pub(crate) async fn run(command: AuditCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        AuditCommand::List(command) => list::list(*command, config, screen).await,
        AuditCommand::Calls(command) => calls::list(*command, config, screen).await,
        AuditCommand::Show(command) => list::show(command, config, screen).await,
        AuditCommand::Verify(command) => verify::run(command, config, screen).await,
        AuditCommand::Checkpoint(command) => checkpoint::make(command, config, screen).await,
        AuditCommand::Anchors(command) => anchors::run(command, config, screen).await,
        AuditCommand::Sinks(command) => sinks::run(command, config, screen).await,
        AuditCommand::Export(command) => export::export(*command, config, screen).await,
        AuditCommand::Report(command) => report::report(command, config, screen).await,
    }
}
