//! The window's task list: pages by offset, with the counts of their groups.
//!
//! The list of the command line, newest first and by cursor, is `tasks.rs`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{ListQuery, ListView, TaskRow};
use crate::error::{ApiError, Code};

/// A stretch of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageTasks {
    pub query: ListQuery,
    /// Only this group, as the view names it.
    pub group: Option<String>,
    /// Rows before the first one.
    pub offset: u64,
    /// Rows at most.
    pub limit: u32,
}

/// A stretch of a list with the counts of the whole of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskPageDto {
    pub rows: Vec<TaskRow>,
    /// How the list is divided.
    pub view: ListView,
}

/// Lists to count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CountTasks {
    /// Which tasks of each.
    pub queries: Vec<ListQuery>,
}

/// How many tasks lists have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskCounts {
    /// One number for each query, in their order.
    pub counts: Vec<u64>,
}

impl Api {
    /// How many tasks each of these lists has, for the saved views.
    ///
    /// # Errors
    /// When there are too many, or one cannot be read.
    pub async fn task_counts(&self, _caller: &Caller, input: CountTasks) -> Result<TaskCounts, ApiError> {
        let most = self.policy.asking.counted_lists_max;
        if input.queries.len() > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("{} lists were asked for; too many to count at once", input.queries.len()),
                format!("Ask for at most {most} lists."),
            ));
        }
        let mut counts = Vec::with_capacity(input.queries.len());
        for query in &input.queries {
            counts.push(match self.page_query(query).await? {
                Some(query) => self.registry.view(query).await?.total,
                None => 0,
            });
        }
        Ok(TaskCounts { counts })
    }

    /// A stretch of a list.
    ///
    /// # Errors
    /// When a phase is unknown.
    pub async fn task_page(&self, _caller: &Caller, input: PageTasks) -> Result<TaskPageDto, ApiError> {
        let mut names = self.names().await?;
        if let Some(engine) = self.engine() {
            engine.prepare_text_search();
        }
        let Some((mut query, text)) = self.page_query_and_reach(&input.query).await? else {
            return Ok(TaskPageDto { rows: Vec::new(), view: ListView::default() });
        };
        let view = self.registry.view(query.clone()).await?;
        if let Some(group) = &input.group {
            query.within = Some(self.group_text(&view, query.group_by, group, &mut names).await?);
        }
        let by = query.group_by;
        let limit = input.limit.clamp(1, self.policy.page_rows_max);
        let page = self.registry.page(query, input.offset, limit).await?;
        let mut rows = Vec::with_capacity(page.rows.len());
        for (task, next_poll) in &page.rows {
            rows.push(self.row_at(task, *next_poll, &mut names).await?);
        }
        Ok(TaskPageDto { rows, view: ListView { text, ..self.named(view, by, &mut names).await? } })
    }
}
