//! Holds a result back from its agent, releases it in some form or withholds it (promise R2), and lets a task continue past
//! its token limit (B4).
//!
//! A person or a limit that a person set holds a result; only a person releases it. What the agent sees until then is
//! decided in `domain`, the form in which it reads a result in `mcp::gateway`.

use domain::task::ResultForm;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneTask;
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
    /// When the form cannot be, the reason is too long, there is no such task, it is not held, or somebody decided
    /// before.
    pub async fn task_release(&self, caller: &Caller, input: ReleaseTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        let form = self.form(&input)?;
        let reason = self.bounded_reason(input.reason.as_deref())?;
        live.engine.release(id, caller.person.clone(), form, reason).await?;
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
                Err(usage("a withheld result has no form", "Leave the form and its tokens out, or deliver the result."))
            }
            (true, Some(FormDto::Trimmed), Some(tokens)) => {
                Ok(Some(ResultForm::Trimmed { tokens: self.tokens(tokens, "what a result is trimmed to")? }))
            }
            (true, Some(FormDto::Trimmed), None) => {
                Err(usage("a trimmed result needs a number of tokens", "Give it with `--trim N`."))
            }
            (true, _, Some(_)) => {
                Err(usage("a number of tokens needs the form `trimmed`", "Leave it out, or choose the form `trimmed`."))
            }
            (true, Some(FormDto::Slices), None) => Ok(Some(ResultForm::Slices)),
            (true, Some(FormDto::Whole) | None, None) => Ok(Some(ResultForm::Whole)),
        }
    }
}
