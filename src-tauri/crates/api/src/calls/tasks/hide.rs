//! Hides tasks from the lists and figures of the window, and shows them again (decision 0047).
//!
//! Only tasks that are over and need nobody are hidden. Nothing about the task changes: agents, the command line, retention and
//! the audit log know nothing of it.

use domain::ids::HandleId;
use domain::ports::{HiddenTasks, HideUnit, TaskListQuery};
use domain::task::figures::CountedState;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::ListQuery;
use crate::error::ApiError;

/// Tasks to hide, or to show again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HideTasks {
    #[serde(default)]
    pub ids: Vec<String>,
    /// Also every task that matches.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub query: Option<ListQuery>,
}

/// Which tasks were hidden or shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HiddenList {
    pub ids: Vec<String>,
    /// Tasks that stay in the list: they are not over, or need somebody.
    pub kept: u64,
}

impl Api {
    /// Hides tasks from lists.
    ///
    /// # Errors
    /// When an id names no task, or it cannot be written: then nothing is hidden.
    pub async fn tasks_hide(&self, _caller: &Caller, input: HideTasks) -> Result<HiddenList, ApiError> {
        self.live()?;
        let (mut ids, mut kept) = (Vec::new(), 0);
        for text in &input.ids {
            let task = self.find_task(text).await?;
            let now = self.now();
            if CountedState::of(&task, task.phase(now), now).may_be_hidden() {
                ids.push(task.id);
            } else {
                kept += 1;
            }
        }
        if let Some(query) = &input.query
            && let Some(query) = self.page_query(query).await?
        {
            let may = TaskListQuery { may_be_hidden: true, ..query.clone() };
            kept += self.registry.view(query).await?.total.saturating_sub(self.registry.view(may.clone()).await?.total);
            ids.extend(self.registry.matching_ids(may, self.policy.asking.stops_max).await?);
        }
        self.put_hidden(ids, true).await.map(|ids| HiddenList { ids, kept })
    }

    /// Shows hidden tasks again.
    ///
    /// # Errors
    /// When an id names no task, or it cannot be written.
    pub async fn tasks_unhide(&self, _caller: &Caller, input: HideTasks) -> Result<HiddenList, ApiError> {
        self.live()?;
        let mut ids = Vec::new();
        for text in &input.ids {
            ids.push(self.find_task(text).await?.id);
        }
        if let Some(query) = &input.query
            && let Some(query) = self.page_query(query).await?
        {
            let hidden = TaskListQuery { hidden: HiddenTasks::Only, ..query };
            ids.extend(self.registry.matching_ids(hidden, self.policy.asking.stops_max).await?);
        }
        self.put_hidden(ids, false).await.map(|ids| HiddenList { ids, kept: 0 })
    }

    async fn put_hidden(&self, mut tasks: Vec<HandleId>, is_hidden: bool) -> Result<Vec<String>, ApiError> {
        tasks.sort_unstable();
        tasks.dedup();
        let ids = tasks.iter().map(ToString::to_string).collect();
        if !tasks.is_empty() {
            self.registry.hide(HideUnit { tasks, is_hidden, at: self.now() }).await?;
            self.feeds.hidden_changed();
        }
        Ok(ids)
    }
}
