//! Finds what a supervisor program names. What is out of its reach is answered exactly like what does not exist: the same
//! words, no similar names, and handles only whole.

use domain::agent::Agent;
use domain::ids::HandleId;
use domain::server::Server;
use domain::task::TaskHandle;

use super::caller::ControlCaller;
use crate::api::Api;
use crate::calls::agents::best;
use crate::error::{ApiError, Code};
use crate::lookup::short;

impl Api {
    pub(super) async fn control_task(&self, caller: &ControlCaller, text: &str) -> Result<TaskHandle, ApiError> {
        let found = match text.parse::<HandleId>() {
            Ok(id) => self.registry.handle(id).await?,
            Err(_) => None,
        };
        found.filter(|task| caller.token.reaches(task)).ok_or_else(|| unknown("task", text))
    }

    pub(super) async fn control_server(&self, caller: &ControlCaller, name: &str) -> Result<Server, ApiError> {
        let servers = self.registry.servers().await?;
        let found = servers.into_iter().find(|server| server.name == name);
        found.filter(|server| caller.token.knows_server(server.id)).ok_or_else(|| unknown("server", name))
    }

    pub(super) async fn control_agent(&self, caller: &ControlCaller, name: &str) -> Result<Agent, ApiError> {
        let mut agents = self.registry.agents().await?;
        agents.retain(|agent| caller.token.knows_agent(agent.id));
        best(&agents, name).cloned().ok_or_else(|| unknown("agent", name))
    }
}

pub(super) fn unknown(what: &str, name: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is no {what} `{}`", short(name)),
        "A control token finds only what a person put into its reach; handles are written whole. Nothing was asked.",
    )
}
