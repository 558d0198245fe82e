//! The configuration files of agent programs: found and read.
//!
//! `catalog.rs` says as data which programs there are and what their files look like, `document.rs` reads the
//! formats, `entry.rs` turns an entry into a launch. What is imported or routed is decided in `api::calls::clients`.
//! Nothing here contacts or starts anything.

mod bridge_members;
mod catalog;
mod document;
mod edit;
mod entry;
mod member_edit;
mod places;
mod reader;
mod variables;

use std::path::PathBuf;
use std::sync::Arc;

use api::calls::clients::files::{ClientFile, ClientFiles};
use domain::policy::ClientFilePolicy;
use domain::ports::PortFuture;
use futures::FutureExt as _;

use self::places::Surroundings;

/// The files below the home folder of this process.
pub(crate) struct HomeClientFiles {
    surroundings: Arc<Surroundings>,
    policy: ClientFilePolicy,
}

impl HomeClientFiles {
    pub(crate) fn new(policy: ClientFilePolicy) -> Self {
        Self { surroundings: Arc::new(Surroundings::of_process()), policy }
    }
}

impl ClientFiles for HomeClientFiles {
    fn read(&self, project: Option<PathBuf>) -> PortFuture<'_, Vec<ClientFile>> {
        let (surroundings, policy) = (Arc::clone(&self.surroundings), self.policy.clone());
        // Reading and parsing block, so they have a thread of their own.
        let work = tokio::task::spawn_blocking(move || reader::read_all(&surroundings, project.as_deref(), &policy));
        async move {
            work.await.unwrap_or_else(|error| {
                tracing::error!(%error, "reading the files of agent programs ended early");
                Vec::new()
            })
        }
        .boxed()
    }
}
