//! `taskwarden audit checkpoint`, and the comparison of checkpoints with the rows for `audit verify`.
//!
//! Only prints; the core signs and compares.

use api::ApiError;
use api::calls::Nothing;
use api::calls::core::checkpoints::VerifyTree;
use api::dto::core::audit::{CheckpointDto, TreeVerifiedDto};
use api::format::time::count;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

pub(crate) async fn make(config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let made: CheckpointDto = core.request("audit.checkpoint", &Nothing {}).await?;
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
                screen.note(&format!("Compared {} …", count(compared, "checkpoint")));
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
            "The checkpoint of row {} does not hold: {}. Somebody changed the rows or the checkpoint; compare an export \
             with an anchor that is kept elsewhere.",
            broken.number,
            one_line(&broken.why)
        ),
        None if found.newest == 0 => "There is no checkpoint yet; a running core makes them.".into(),
        None => format!(
            "{} compared, and the rows agree; the newest covers row {}.{unsigned}",
            count(found.compared, "checkpoint"),
            found.newest
        ),
    }
}
