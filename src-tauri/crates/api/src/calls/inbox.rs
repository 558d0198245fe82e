//! The inbox: everything that waits for a person, oldest first.
//!
//! Lists questions with their forms, decisions about tasks that ask nothing, and tasks in trouble, one item for each cause.

pub mod answer;
pub mod answer_many;
pub mod answer_rules;
pub mod answered;
pub mod lost;
mod pause_choices;

use std::collections::{BTreeMap, HashMap};

use domain::ids::HandleId;
use domain::ports::{TaskFlag, TaskListQuery};
use domain::task::TaskHandle;
use domain::task::input_request::RequestState;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::inbox::row::RowContext;
use crate::dto::{InboxDto, InboxQuestion, InboxRow, RequestDto};
use crate::error::ApiError;
use crate::lookup::Names;

/// Which page of the inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadInbox {
    /// Questions before the page; none when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub offset: Option<u64>,
    /// Questions on the page at most; a page of `asking.inbox_page_rows` when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub limit: Option<u32>,
}

impl Api {
    /// A page of the open questions, all decisions that wait, and all tasks in trouble.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn inbox(&self, _caller: &Caller, input: ReadInbox) -> Result<InboxDto, ApiError> {
        let now = self.now();
        let mut names = self.names().await?;
        let mut items = Vec::new();
        let offset = input.offset.unwrap_or(0);
        let limit = input.limit.unwrap_or(self.policy.asking.inbox_page_rows).min(self.policy.page_rows_max);
        let page = self.registry.inbox(offset, limit).await?;
        let mut last_rows = HashMap::new();
        for item in page.items {
            if item.request.state != RequestState::Open {
                continue;
            }
            let is_shared = item.handle.shared.stored.contains_key(&item.request.key);
            last_rows.insert(item.handle.id, (items.len(), item.handle.more_questions));
            items.push(InboxQuestion {
                task: item.handle.id.to_string(),
                server: self.server_name(item.handle.server, &mut names).await?,
                // Which of several calls asks is not known: none of them is named.
                tool: item.handle.tool.as_deref().filter(|_| !is_shared).map(str::to_owned),
                agent: match item.handle.agent {
                    Some(_) if is_shared => None,
                    Some(agent) => Some(self.agent_name(agent, &mut names).await?),
                    None => None,
                },
                waiting_ms: crate::dto::millis(now.since(item.request.opened)),
                request: RequestDto::of_task(&item.handle, &item.request),
                more_questions: 0,
            });
        }
        for (last, more) in last_rows.into_values() {
            if let Some(row) = items.get_mut(last) {
                row.more_questions = more;
            }
        }
        let decisions = self.decisions(&mut names).await?;
        Ok(InboxDto { items, total: page.total, offset, decisions, trouble: self.trouble(&mut names).await? })
    }

    /// Held results, tasks past a limit that asks, and pauses that ask which calls are sent.
    async fn decisions(&self, names: &mut Names) -> Result<Vec<InboxRow>, ApiError> {
        let mut tasks: BTreeMap<HandleId, TaskHandle> = BTreeMap::new();
        for flag in [TaskFlag::Held, TaskFlag::OverLimit] {
            let query = TaskListQuery { flags: vec![flag], ..TaskListQuery::default() };
            let page = self.registry.page(query, 0, self.policy.page_rows_max).await?;
            tasks.extend(page.rows.into_iter().map(|(task, _)| (task.id, task)));
        }
        let mut rows = Vec::new();
        for task in tasks.values() {
            let server = self.server_name(task.server, names).await?;
            let agent = match task.agent {
                Some(agent) => Some(self.agent_name(agent, names).await?),
                None => None,
            };
            let (agent, now) = (agent.as_deref(), self.now());
            let asked = RowContext { server: &server, agent, destructive: false, now, policy: &self.policy };
            rows.extend(InboxRow::of_task(task, asked).into_iter().filter(InboxRow::is_decision));
        }
        rows.extend(self.pause_choices(names).await?);
        rows.sort_by(InboxRow::before);
        Ok(rows)
    }
}
