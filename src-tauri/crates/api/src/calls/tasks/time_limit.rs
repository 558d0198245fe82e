//! Allows a task more time than its limit, or removes the limit from it.
//!
//! Only a person raises a limit. What happens at one is decided in `domain::task`; rules set them (`calls/rules.rs`).

use std::time::Duration;

use domain::task::MoreTime;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::TaskDto;
use crate::dto::task::run_limit::RunLimitKind;
use crate::error::{ApiError, Code};

/// A person allows more time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowTime {
    /// The task's handle.
    pub id: String,
    /// Of which limit.
    #[ts(inline)]
    pub limit: RunLimitKind,
    /// So much more, counted from now. Null removes the limit from this task.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub more_ms: Option<u64>,
}

impl Api {
    /// Allows a task more time, or removes a limit of time from it.
    ///
    /// # Errors
    /// When there is no such task, it has no such limit, it is over, or the time is zero or too long.
    pub async fn task_allow_time(&self, caller: &Caller, input: AllowTime) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let more = match input.more_ms {
            Some(more_ms) => MoreTime::Allow(self.run_time(Duration::from_millis(more_ms), "the time to allow")?),
            None => MoreTime::Unlimited,
        };
        let id = self.find_task(&input.id).await?.id;
        live.engine.allow_time(id, input.limit.into(), more, caller.person.clone()).await?;
        self.task_show_id(id).await
    }

    /// A time that a task may run, as a person gave it, checked.
    pub(crate) fn run_time(&self, span: Duration, what: &str) -> Result<Duration, ApiError> {
        let (least, most) = (self.policy.run_limit_min, self.policy.run_limit_max);
        if (least..=most).contains(&span) {
            return Ok(span);
        }
        let (least, most) = (crate::format::time::span(least), crate::format::time::span(most));
        Err(ApiError::new(
            Code::Usage,
            format!("{what} must be {least} to {most}, not {}", crate::format::time::span(span)),
            format!("Give a time from {least} to {most}, such as `30min`."),
        ))
    }
}
