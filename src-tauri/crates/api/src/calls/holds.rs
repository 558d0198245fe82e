//! Holding the result of a task back from its agent, letting it go in some form or not (promise R2), and letting a task
//! go on past its limit of tokens (B4).
//!
//! A hold is a decision of a person or of a limit that a person set, and its end is a person's. What the agent sees
//! meanwhile is `domain::task::agent_view`; in which form it reads a result is `mcp::gateway`'s.

use domain::task::ResultForm;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::OneTask;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{FormDto, TaskDto};
use crate::error::{ApiError, Code};

/// What to do with a held result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseTask {
    /// The task's handle.
    pub id: String,
    /// Whether the agent gets it.
    pub deliver: bool,
    /// In which form it gets it; whole when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub form: Option<FormDto>,
    /// To about how many tokens it is cut, with `trimmed`.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub trim_tokens: Option<u64>,
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
        let id = self.find_task(&input.id).await?.id;
        live.engine.hold(id, caller.person.clone()).await?;
        self.task_show_id(id).await
    }

    /// Lets a held result go to its agent in some form, or withholds it for good.
    ///
    /// # Errors
    /// When the form cannot be, there is no such task, it is not held, or somebody decided before.
    pub async fn task_release(&self, caller: &Caller, input: ReleaseTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        let form = self.form(&input)?;
        live.engine.release(id, caller.person.clone(), form, input.reason).await?;
        self.task_show_id(id).await
    }

    /// Lets a task go on past the limit of tokens that asks about it.
    ///
    /// # Errors
    /// When there is no such task, nobody is asked, or somebody decided before.
    pub async fn task_go_on(&self, caller: &Caller, input: OneTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.let_go_on(id, caller.person.clone()).await?;
        self.task_show_id(id).await
    }

    /// The form that a person wants; `None` withholds.
    fn form(&self, input: &ReleaseTask) -> Result<Option<ResultForm>, ApiError> {
        let usage = |message: &str, hint: &str| ApiError::new(Code::Usage, message, hint);
        match (input.deliver, input.form, input.trim_tokens) {
            (false, None, None) => Ok(None),
            (false, _, _) => {
                Err(usage("what is withheld has no form", "Leave the form and its tokens out, or deliver the result."))
            }
            (true, Some(FormDto::Trimmed), Some(tokens)) => {
                Ok(Some(ResultForm::Trimmed { tokens: self.tokens(tokens, "what a result is trimmed to")? }))
            }
            (true, Some(FormDto::Trimmed), None) => {
                Err(usage("it is not said to how many tokens the result is trimmed", "Give them with `--trim N`."))
            }
            (true, _, Some(_)) => Err(usage(
                "a number of tokens goes with a trimmed result only",
                "Leave it out, or choose the form `trimmed`.",
            )),
            (true, Some(FormDto::Slices), None) => Ok(Some(ResultForm::Slices)),
            (true, Some(FormDto::Whole) | None, None) => Ok(Some(ResultForm::Whole)),
        }
    }
}
