//! The servers of one feed: what was sent, their inbox rows, and whether their tools are destructive.
//!
//! A server that needs a person has one inbox row in place of those of all its tasks.

use std::collections::HashSet;

use domain::ids::{HandleId, ServerId};
use domain::server::{Server, ServerHealth};
use domain::task::TaskHandle;
use engine::Engine;
use tokio::time::Instant;

use super::WindowFeed;
use crate::api::Api;
use crate::dto::InboxRow;
use crate::dto::server::HealthKind;
use crate::error::ApiError;
use crate::feed::frame::FeedDelta;

impl WindowFeed {
    pub(crate) async fn put_servers(&mut self, ids: Vec<ServerId>, delta: &mut FeedDelta) -> Result<(), ApiError> {
        if ids.is_empty() {
            return Ok(());
        }
        let configured = self.api.registry.servers().await?;
        for id in ids {
            self.put_server(id, &configured, delta).await?;
        }
        Ok(())
    }

    /// A server as it is now.
    pub(crate) async fn put_server(
        &mut self,
        id: ServerId,
        configured: &[Server],
        delta: &mut FeedDelta,
    ) -> Result<(), ApiError> {
        let Some(server) = configured.iter().find(|server| server.id == id) else {
            if let Some(gone) = self.servers.remove(&id) {
                self.inbox.put(&gone.name, Vec::new(), |_| None, Instant::now());
                delta.servers.retain(|told| told.name != gone.name);
                delta.gone_servers.push(gone.name);
            }
            return Ok(());
        };
        let was_blocked = self.servers.get(&id).map(|told| told.health.kind == HealthKind::Blocked);
        let mut dto = self.api.server_dto(server, &self.tallies).await?;
        tail(&mut dto.stderr_tail, self.api.policy.asking.feed_stderr_bytes);
        let health = self.engine.health(id);
        self.learn_tools(id, &health);
        let row = InboxRow::of_server(&server.name, &health);
        self.inbox.put(&server.name, row.into_iter().collect(), |_| None, Instant::now());
        if was_blocked.is_some_and(|was| was != is_blocked(&health)) {
            self.reread_attention(id).await?;
        }
        if self.servers.get(&id) != Some(&dto) {
            delta.servers.retain(|told| told.name != dto.name);
            delta.servers.push(dto.clone());
            self.servers.insert(id, dto);
        }
        Ok(())
    }

    /// Asks a server that is up for its tools, when they are not known in this run of the core.
    fn learn_tools(&mut self, id: ServerId, health: &ServerHealth) {
        let is_up = matches!(health, ServerHealth::Up { .. });
        if is_up && self.engine.known_tools(id).is_none() && self.asked_for_tools.insert(id) {
            // Beside this: it reads the registry, and is not polled while this feed reads.
            let listed = self.engine.tools_beside(id);
            self.unlisted.push(Box::pin(async move {
                // Without them nothing is known to destroy anything.
                let _ = listed.await;
                id
            }));
        }
    }

    /// The tools of a server became known: what waits on it says anew whether it is about something that destroys.
    pub(crate) async fn reread_waiting(&mut self, server: ServerId) -> Result<(), ApiError> {
        for id in self.inbox.tasks() {
            if let Some(task) = self.api.registry.handle(id).await?.filter(|task| task.server == server) {
                self.put_task(&task).await?;
            }
        }
        Ok(())
    }

    /// A server became blocked or is no longer: its one row stands for its tasks, or they stand for themselves.
    async fn reread_attention(&mut self, server: ServerId) -> Result<(), ApiError> {
        for task in self.api.registry.attention(self.api.policy.inbox_rows_max).await? {
            if task.server == server {
                self.put_task(&task).await?;
            }
        }
        Ok(())
    }
}

pub(crate) fn is_blocked(health: &ServerHealth) -> bool {
    match health {
        ServerHealth::Blocked { .. } => true,
        ServerHealth::Unknown
        | ServerHealth::Connecting
        | ServerHealth::Up { .. }
        | ServerHealth::Down { .. }
        | ServerHealth::Ended { .. } => false,
    }
}

/// Whether the tool of this task may destroy something, or that of another call that may be asking its questions.
pub(super) async fn is_destructive(engine: &Engine, api: &Api, task: &TaskHandle) -> Result<bool, ApiError> {
    let says = |task: &TaskHandle| task.tool.as_deref().is_some_and(|tool| engine.says_destructive(task.server, tool));
    if says(task) {
        return Ok(true);
    }
    let others: HashSet<HandleId> = task.shared.stored.values().flatten().copied().collect();
    for other in others {
        if api.registry.handle(other).await?.is_some_and(|other| says(&other)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The end of a text, from a whole character on.
fn tail(text: &mut String, bytes: usize) {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.drain(..from);
}
