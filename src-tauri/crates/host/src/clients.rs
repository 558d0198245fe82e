//! The configuration files of agent programs: found, read and, when a person asks for it, changed.
//!
//! `catalog.rs` says as data which programs there are and what their files look like, `document.rs` reads the
//! formats, `entry.rs` turns an entry into a launch. `routing.rs` plans how a file looks with its servers routed through
//! Taskwarden, `edit.rs` changes the text, `exchange.rs` puts it in its place. What is imported or routed is decided in
//! `api::calls::clients`. Nothing here contacts or starts anything.

mod bridge_members;
mod catalog;
mod document;
mod edit;
mod entry;
mod exchange;
mod member_edit;
mod places;
mod preview;
mod reader;
mod routing;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use api::Api;
use api::calls::clients::files::{
    BridgeEdit, ClientFile, ClientFiles, EditToWrite, PlannedEdit, ReplaceError, UndoEdit, WrittenEdit,
};
use domain::digest::sha256_hex;
use domain::policy::ClientFilePolicy;
use domain::ports::{PortFuture, Secret};
use futures::FutureExt as _;

use self::places::Surroundings;
use crate::config::paths::Paths;

/// The files below the home folder of this process.
pub(crate) struct HomeClientFiles {
    surroundings: Arc<Surroundings>,
    paths: Paths,
    policy: ClientFilePolicy,
}

impl HomeClientFiles {
    pub(crate) fn new(policy: ClientFilePolicy, paths: Paths) -> Self {
        Self { surroundings: Arc::new(Surroundings::of_process()), paths, policy }
    }

    /// Does work that reads, parses or writes, on a thread of its own. `ended_early` is the answer when that broke off.
    fn blocking<T: Send + 'static>(
        &self,
        ended_early: impl FnOnce() -> T + Send + 'static,
        act: impl FnOnce(&ClientFilePolicy) -> T + Send + 'static,
    ) -> PortFuture<'static, T> {
        let policy = self.policy.clone();
        let work = tokio::task::spawn_blocking(move || act(&policy));
        async move {
            work.await.unwrap_or_else(|error| {
                tracing::error!(%error, "work on the files of agent programs ended early");
                ended_early()
            })
        }
        .boxed()
    }
}

/// Checks routed files at once and then at intervals, for as long as the core runs. What is found is shown by
/// `clients list` and `doctor`; nothing is written into a file.
pub(crate) async fn check_routes(api: Api, every: Duration) {
    loop {
        match api.check_routes().await {
            Ok(drifted) if drifted.is_empty() => {}
            Ok(drifted) => {
                tracing::warn!(files = drifted.len(), "files of agent programs changed since they were routed")
            }
            Err(error) => tracing::warn!(why = error.message, "the files of agent programs could not be checked"),
        }
        tokio::time::sleep(every).await;
    }
}

/// What is said of work that broke off.
fn ended_early() -> String {
    "the work on it ended early; the log of the core has the reason".into()
}

impl ClientFiles for HomeClientFiles {
    fn read(&self, project: Option<PathBuf>) -> PortFuture<'_, Vec<ClientFile>> {
        let surroundings = Arc::clone(&self.surroundings);
        self.blocking(Vec::new, move |policy| reader::read_all(&surroundings, project.as_deref(), policy))
    }

    fn known_file(&self, client: &str, path: &Path) -> Option<ClientFile> {
        let (client, file) = routing::kind_of(client, path).ok()?;
        Some(reader::without_entries(client, file, path))
    }

    fn plan_route(&self, edit: BridgeEdit) -> PortFuture<'_, Result<PlannedEdit, String>> {
        self.blocking(|| Err(ended_early()), move |policy| routing::plan_route(&edit, policy))
    }

    fn plan_undo(&self, edit: UndoEdit) -> PortFuture<'_, Result<PlannedEdit, String>> {
        self.blocking(|| Err(ended_early()), move |policy| routing::plan_undo(&edit, policy))
    }

    fn write_edit(&self, edit: EditToWrite, agreed: PlannedEdit) -> PortFuture<'_, Result<WrittenEdit, ReplaceError>> {
        self.blocking(
            || Err(ReplaceError::Refused(ended_early())),
            move |policy| routing::write_edit(&edit, &agreed, policy),
        )
    }

    fn settled_digest(&self, path: PathBuf) -> PortFuture<'_, Option<String>> {
        self.blocking(
            || None,
            move |_| {
                exchange::remove_unfinished(&path);
                std::fs::read(&path).ok().map(sha256_hex)
            },
        )
    }

    fn drift(&self, client: String, path: PathBuf, changes: Secret) -> PortFuture<'_, Result<Vec<String>, String>> {
        self.blocking(|| Err(ended_early()), move |policy| routing::drift(&client, &path, &changes, policy))
    }

    fn backup_path(&self, client: &str, at_millis: i64) -> PathBuf {
        self.paths.client_backups().join(format!("{client}-{at_millis}"))
    }

    fn remove_old_backups(&self) -> PortFuture<'_, ()> {
        let folder = self.paths.client_backups();
        self.blocking(|| (), move |policy| remove_old(&folder, policy))
    }

    fn has_token(&self, agent: &str) -> bool {
        self.paths.agent_token(agent).exists()
    }
}

/// Removes backups that are older than people were told, by the time of the file.
fn remove_old(folder: &Path, policy: &ClientFilePolicy) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|facts| facts.modified());
        let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > policy.backups_kept));
        if is_old && let Err(error) = std::fs::remove_file(entry.path()) {
            tracing::warn!(%error, "an old backup of a file of an agent program could not be removed");
        }
    }
}
