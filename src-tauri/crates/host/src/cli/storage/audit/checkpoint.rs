//! `taskwarden audit checkpoint`, and the comparison of checkpoints with the rows for `audit verify`.
//!
//! Only prints; the core signs and compares.

use api::ApiError;
use api::calls::core::checkpoints::{MakeCheckpoint, NewEpoch, VerifyTree};
use api::dto::core::audit::{CheckpointDto, TreeVerifiedDto};
use api::format::time::count;
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

/// What is asked before a new epoch.
const EPOCH: &str = "This puts on record that the log goes on from an older copy of the registry, as a new epoch. Rows that \
                     were lost stay lost: kept checkpoints that cover them name the fork, and the places that get copies \
                     take new checkpoints again. Let the log go on?";

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Put on record that the log goes on from the rows that are there, because an older copy of the registry was put
    /// back and kept checkpoints contradict the log, or because the rows are not those that were signed last. Each time
    /// it goes on so, the log is in a new epoch: a row says who let it and why, and checkpoints have another name from
    /// then on.
    #[arg(long)]
    new_epoch: bool,
    /// Why, in words that the row keeps.
    #[arg(long, value_name = "TEXT", requires = "new_epoch")]
    reason: Option<String>,
    /// Let the log go on although no anchor contradicts it.
    #[arg(long, requires = "new_epoch")]
    force: bool,
    /// Let it go on without asking.
    #[arg(long, short, requires = "new_epoch")]
    yes: bool,
}

pub(crate) async fn make(args: CheckpointArgs, config: &Config, screen: &Screen) -> CommandResult {
    let CheckpointArgs { new_epoch, reason, force, yes } = args;
    let core = CoreClient::attach(config)?;
    if new_epoch && !yes {
        prompt::confirm(EPOCH, "no epoch was begun", screen).await?;
    }
    let new_epoch = new_epoch.then_some(NewEpoch { reason, force });
    let made: CheckpointDto = core.request("audit.checkpoint", &MakeCheckpoint { new_epoch }).await?;
    if screen.is_json() {
        return screen.json(&made);
    }
    // The note alone, so that the output can be kept as it is.
    screen.line(made.note.trim_end_matches('\n'));
    Ok(DONE)
}

/// Compares all checkpoints.
pub(super) async fn compare(core: &CoreClient, screen: &Screen) -> Result<TreeVerifiedDto, ApiError> {
    let mut input = VerifyTree { whole: true, after: None };
    let mut compared = 0_u64;
    loop {
        let found: TreeVerifiedDto = core.request("audit.verifyTree", &input).await?;
        compared = compared.saturating_add(found.compared);
        match &found.next {
            Some(next) => {
                input.after = Some(next.clone());
                screen.note_to_people(&format!("Compared {} …", count(compared, "checkpoint")));
            }
            None => return Ok(TreeVerifiedDto { compared, ..found }),
        }
    }
}

/// What the comparison found, in a sentence.
pub(super) fn report(found: &TreeVerifiedDto) -> String {
    let unsigned = match found.unsigned {
        0 => String::new(),
        rows => format!(" {} after it {} not signed yet.", count(rows, "row"), if rows == 1 { "is" } else { "are" }),
    };
    match &found.broken {
        Some(broken) => format!(
            "The checkpoint of row {} does not hold: {}. Somebody changed or removed rows or checkpoints; keep a copy of the \
             data folder as evidence. `taskwarden audit verify --anchor PLACE` compares the rows with kept checkpoints. Put \
             a backup back, or go on from the rows that are there with `taskwarden audit checkpoint --new-epoch`, which is \
             recorded.",
            broken.number,
            one_line(&broken.why)
        ),
        None if found.newest == 0 => "There is no checkpoint yet; a running core makes them.".into(),
        None => format!(
            "{} compared with the hashes of the rows, and all agree; the newest covers row {}.{unsigned}{}",
            count(found.compared, "checkpoint"),
            found.newest,
            later_epoch(found.epoch)
        ),
    }
}

/// That the log went on from an older copy, as a sentence behind another one; empty where it never did.
fn later_epoch(epoch: u32) -> String {
    match epoch {
        0 | 1 => String::new(),
        later => format!(
            " The log went on from an older copy of the registry: its rows `epochBegun` say when, and `--epoch {later}` that \
             you know of it."
        ),
    }
}
