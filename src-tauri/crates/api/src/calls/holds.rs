//! Holding the result of a task back from its agent, and letting it go or not (promise R2).
//!
//! A hold is a decision of a person, and so is its end. What the agent sees meanwhile is `domain::handle::agent_sight`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::OneTask;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::TaskDto;
use crate::error::ApiError;

/// What to do with a held result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseTask {
    /// The task's handle.
    pub id: String,
    /// Whether the agent gets it.
    pub deliver: bool,
    /// Why not, in the person's words; told to the agent.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
}

impl Api {
    /// Holds the result of a task back from its agent until a person decides.
    ///
    /// # Errors
    /// When there is no such task, no agent waits for it, it is held already, or it may have seen the result.
    pub async fn task_hold(&self, caller: &Caller, input: OneTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        caller.may_decide()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.hold(id, caller.person.clone()).await?;
        self.task_show_id(id).await
    }

    /// Lets a held result go to its agent, or withholds it for good.
    ///
    /// # Errors
    /// When there is no such task, it is not held, or somebody decided before.
    pub async fn task_release(&self, caller: &Caller, input: ReleaseTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        caller.may_decide()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.release(id, caller.person.clone(), input.deliver, input.reason).await?;
        self.task_show_id(id).await
    }
}
