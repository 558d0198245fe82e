//! Takes the routes of an agent program back: byte for byte where nobody changed the file since, entry by entry otherwise.
//!
//! What people changed since stays, and is named. The agent and its token stay as well: `agents revoke` takes its access.

use std::path::PathBuf;

use domain::ports::RouteUnit;
use domain::server::route::{ClientRoute, RouteState};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::files::{EditToWrite, PlannedEdit, UndoEdit, UndoStep};
use super::route::{file_edit, refused, secret, why_not};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::client::{FileEditDto, FileEditStateDto};
use crate::error::{ApiError, Code};
use crate::lookup::short;
use crate::suggestion::did_you_mean;

/// The program whose routes are taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoClient {
    /// The program's word, such as `claude-code`.
    pub client: String,
    /// Fingerprints of the edits that the person was shown and agreed to; others are shown and not made.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agreed: Vec<String>,
}

/// What is taken back, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientUndone {
    pub client: String,
    pub files: Vec<FileEditDto>,
}

impl Api {
    /// Shows how the files of a program would look without their routes, and changes those that were agreed to.
    ///
    /// # Errors
    /// When nothing of it is routed, or it cannot be recorded. A file that cannot be changed is a state, not an error.
    pub async fn client_undo(&self, caller: &Caller, input: UndoClient) -> Result<ClientUndone, ApiError> {
        let live = self.live()?;
        let _one = self.changing_files.lock().await;
        let mut routes = self.settle_routes().await?;
        let words: Vec<String> = routes.iter().map(|route| route.client.clone()).collect();
        routes.retain(|route| route.client == input.client);
        if routes.is_empty() {
            return Err(ApiError::new(
                Code::NotFound,
                format!("no file of `{}` was routed by Taskwarden", short(&input.client)),
                did_you_mean(&input.client, words.iter().map(String::as_str))
                    .unwrap_or_else(|| "`taskwarden clients list` shows what is routed.".into()),
            ));
        }
        let mut paths: Vec<String> = Vec::new();
        for route in &routes {
            if !paths.contains(&route.path) {
                paths.push(route.path.clone());
            }
        }
        let mut undone = ClientUndone { client: input.client.clone(), files: Vec::new() };
        for path in paths {
            let of_path: Vec<ClientRoute> = routes.iter().filter(|route| route.path == path).cloned().collect();
            let edit = undo_edit(&input.client, &path, &of_path);
            let path = PathBuf::from(path);
            let file = match live.client_files.plan_undo(edit.clone()).await {
                Err(why) => refused(&path, None, why),
                Ok(plan) if input.agreed.contains(&plan.fingerprint) => {
                    self.undo_file(caller, of_path, edit, plan).await?
                }
                Ok(plan) => file_edit(&path, None, &plan, FileEditStateDto::Shown),
            };
            undone.files.push(file);
        }
        Ok(undone)
    }

    async fn undo_file(
        &self,
        caller: &Caller,
        mut routes: Vec<ClientRoute>,
        edit: UndoEdit,
        agreed: PlannedEdit,
    ) -> Result<FileEditDto, ApiError> {
        let live = self.live()?;
        self.put_routes(&mut routes, RouteState::Undoing, None).await?;
        let path = edit.path.clone();
        Ok(match live.client_files.write_edit(EditToWrite::Undo(edit), agreed).await {
            Ok(written) => {
                self.put_routes(&mut routes, RouteState::Undone, Some(caller)).await?;
                let mut shown = file_edit(&path, None, &written.plan, FileEditStateDto::Done);
                shown.exchanged = written.is_exchange;
                shown
            }
            Err(error) => {
                self.put_routes(&mut routes, RouteState::Applied, None).await?;
                refused(&path, None, why_not(error))
            }
        })
    }

    async fn put_routes(
        &self,
        routes: &mut [ClientRoute],
        state: RouteState,
        undone_by: Option<&Caller>,
    ) -> Result<(), ApiError> {
        for route in routes {
            route.state = state;
            let audit = undone_by.map(|caller| self.file_fact(caller, route, "took back"));
            let unit = RouteUnit { route: route.clone(), audit: audit.into_iter().collect() };
            self.registry.put_route(unit).await?;
        }
        Ok(())
    }
}

/// The newest route first: each was written into what the one before left.
fn undo_edit(client: &str, path: &str, routes: &[ClientRoute]) -> UndoEdit {
    let step = |route: &ClientRoute| UndoStep {
        before: secret(&route.before),
        after_digest: route.after_digest.clone(),
        changes: secret(&route.changes),
    };
    UndoEdit { client: client.to_owned(), path: PathBuf::from(path), steps: routes.iter().map(step).collect() }
}
