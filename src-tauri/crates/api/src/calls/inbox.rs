//! The inbox: everything that waits for a person, oldest first.
//!
//! Questions with their forms, and what people decide about tasks that ask nothing. What is wrong with tasks is told by
//! the feed of the window (`subscription/inbox.rs`) alone.

use std::collections::BTreeMap;

use domain::handle::TaskHandle;
use domain::ids::HandleId;
use domain::ports::{Flag, PageQuery};
use domain::request::RequestState;

use super::Nothing;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::waiting::Asked;
use crate::dto::{InboxDto, InboxRow, RequestDto, WaitingRow};
use crate::error::ApiError;
use crate::lookup::Names;

impl Api {
    /// All open questions, and all decisions that wait.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn inbox(&self, _caller: &Caller, _input: Nothing) -> Result<InboxDto, ApiError> {
        let now = self.now();
        let mut names = self.names().await?;
        let mut items = Vec::new();
        for item in self.registry.inbox(self.policy.page_rows_max).await? {
            if item.request.state != RequestState::Open {
                continue;
            }
            items.push(InboxRow {
                task: item.handle.id.to_string(),
                server: self.server_name(item.handle.server, &mut names).await?,
                tool: item.handle.tool.as_deref().map(str::to_owned),
                agent: match item.handle.agent {
                    Some(agent) => Some(self.agent_name(agent, &mut names).await?),
                    None => None,
                },
                waiting_ms: crate::dto::millis(now.since(item.request.opened)),
                request: RequestDto::of(&item.request),
            });
        }
        Ok(InboxDto { items, decisions: self.decisions(&mut names).await? })
    }

    /// Held results, and tasks past a limit that asks.
    async fn decisions(&self, names: &mut Names) -> Result<Vec<WaitingRow>, ApiError> {
        let mut tasks: BTreeMap<HandleId, TaskHandle> = BTreeMap::new();
        for flag in [Flag::Held, Flag::OverLimit] {
            let query = PageQuery { flags: vec![flag], ..PageQuery::default() };
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
            let asked = Asked { server: &server, agent, destructive: false, now, policy: &self.policy };
            rows.extend(WaitingRow::of_task(task, asked).into_iter().filter(WaitingRow::is_decision));
        }
        rows.sort_by(WaitingRow::before);
        Ok(rows)
    }
}
