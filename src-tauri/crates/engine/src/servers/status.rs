//! What is known of a server at this moment, for people and the gateway: health, tools, stderr, refused questions.
//!
//! Nothing is decided by it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::ServerId;
use domain::ports::ToolFacts;
use domain::server::ServerHealth;
use domain::server::tool_memory::ToolMemory;
use domain::server::tool_names::NotOfferedCounts;
use tokio::sync::{oneshot, watch};

use crate::connections::connection::RefusedQuestions;
use crate::connections::observed::request_times::RequestHistory;
use crate::connections::observed::server_log::LogPage;
use crate::connections::observed::tool_use::ToolUse;
use crate::connections::wait::await_health;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::{open_connection, tool_memory};

impl Engine {
    /// Health of the moment.
    #[must_use]
    pub fn health(&self, id: ServerId) -> ServerHealth {
        self.core.connections.shared(id).map_or(ServerHealth::Unknown, |connection| connection.health())
    }

    /// Waits until the server is up, down or blocked, at most `limit`, and says which.
    pub async fn settled(&self, id: ServerId, limit: Duration) -> ServerHealth {
        match self.core.connections.shared(id) {
            Some(connection) => await_health(&connection, limit).await,
            None => ServerHealth::Unknown,
        }
    }

    /// The server's tools.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn tools(&self, id: ServerId) -> Result<Vec<ToolFacts>, EngineError> {
        Ok(self.compared_tools(id).await?.0)
    }

    /// Lists the tools of a server beside the caller, who may wait for the end with the receiver and holds nothing of the
    /// registry meanwhile. Whether that went well shows in the server's health.
    #[must_use]
    pub fn tools_beside(&self, id: ServerId) -> oneshot::Receiver<()> {
        let (tell, listed) = oneshot::channel();
        let engine = self.clone();
        self.core.supervisor.spawn("tools", async move {
            // What went wrong was noted at its connection.
            let _ = engine.tools(id).await;
            let _ = tell.send(());
        });
        listed
    }

    /// The server's tools, and how they differ from what a person last saw; `None` where that cannot be read.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn compared_tools(&self, id: ServerId) -> Result<(Vec<ToolFacts>, Option<ToolMemory>), EngineError> {
        let (connection, live) = open_connection::shared(&self.core, id).await?;
        let asked = self.core.time.now();
        let tools = live.upstream.tools().await;
        match &tools {
            Ok(tools) => connection.tools_listed(tools, asked),
            Err(error) => connection.request_failed(error),
        }
        let tools = tools?;
        let memory = tool_memory::remember(&self.core, &connection.observed, id, &tools).await;
        let memory = memory.inspect_err(|error| tracing::warn!(%error, "earlier tools could not be read"));
        Ok((tools, memory.ok()))
    }

    /// How many tools the server had when they were listed last in this run of the core; `None` when never.
    #[must_use]
    pub fn known_tools(&self, id: ServerId) -> Option<usize> {
        self.core.connections.shared(id).and_then(|connection| connection.known_tools())
    }

    /// How many of the server's tools agents were not offered when its tools were listed last in this run of the core.
    #[must_use]
    pub fn tools_not_offered(&self, id: ServerId) -> NotOfferedCounts {
        self.core.connections.shared(id).map(|connection| connection.tools_not_offered()).unwrap_or_default()
    }

    /// Whether the server said that this tool destroys something, when its tools were listed last in this run.
    #[must_use]
    pub fn says_destructive(&self, id: ServerId, tool: &str) -> bool {
        self.core.connections.shared(id).is_some_and(|connection| connection.says_destructive(tool))
    }

    /// Whether the server tells us of changes by itself at this moment.
    #[must_use]
    pub fn pushes(&self, id: ServerId) -> bool {
        self.core.connections.shared(id).is_some_and(|connection| connection.pushes())
    }

    /// The end of a child's stderr.
    #[must_use]
    pub fn stderr_tail(&self, id: ServerId) -> String {
        let live = self.core.connections.shared(id).and_then(|connection| connection.live());
        live.map(|live| live.upstream.stderr_tail()).unwrap_or_default()
    }

    /// At most a page of the log of a server: what came after a line, or the newest.
    #[must_use]
    pub fn server_log(&self, id: ServerId, after: Option<u64>, most: usize) -> LogPage {
        let core = &self.core;
        core.connections.observed(id, &core.policy).log.page(after, most.min(core.policy.observed.log_page_lines))
    }

    /// How the requests to a server went in this run of the core.
    #[must_use]
    pub fn request_history(&self, id: ServerId) -> RequestHistory {
        let core = &self.core;
        core.connections.observed(id, &core.policy).times.history(core.time.now())
    }

    /// How its tools were called in this run of the core, by name; one that was not called is left out.
    #[must_use]
    pub fn tool_use(&self, id: ServerId) -> BTreeMap<Arc<str>, ToolUse> {
        let core = &self.core;
        let observed = core.connections.observed(id, &core.policy);
        observed.calls.of_tools(core.policy.usual_samples_min, core.time.now())
    }

    /// Questions of the server that were refused in this run of the core, because too many are open.
    #[must_use]
    pub fn refused_questions(&self, id: ServerId) -> Option<RefusedQuestions> {
        self.core.connections.shared(id).and_then(|connection| connection.refused_questions())
    }

    /// The followed servers, sorted by name.
    #[must_use]
    pub fn servers(&self) -> Vec<(ServerId, Arc<str>)> {
        self.core.connections.names().sorted().to_vec()
    }

    /// Wakes when a server was added, renamed or removed.
    #[must_use]
    pub fn servers_watch(&self) -> watch::Receiver<()> {
        self.core.connections.servers_changed.subscribe()
    }

    /// The followed server with this name.
    #[must_use]
    pub fn server_by_name(&self, name: &str) -> Option<ServerId> {
        self.core.connections.names().id(name)
    }

    /// The name of a followed server.
    #[must_use]
    pub fn server_name(&self, server: ServerId) -> Option<Arc<str>> {
        self.core.connections.names().name(server)
    }
}
