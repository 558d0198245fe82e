//! Tasks in trouble, one item for each cause, and marking what was lost together as resolved.
//!
//! The rows are the window's (`dto/inbox/loss.rs`). To resolve asks nothing of a server; each task is a decision of its own.

use std::collections::BTreeMap;

use domain::task::status::Phase;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneTask;
use crate::dto::InboxRow;
use crate::dto::inbox::loss;
use crate::dto::inbox::row::{InboxKind, RowContext};
use crate::error::ApiError;
use crate::lookup::Names;

/// Tasks that were lost together, by one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveLost {
    /// The handle of one of them.
    pub id: String,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub note: Option<String>,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LostResolved {
    /// Tasks that were marked as resolved.
    pub resolved: u32,
    /// Those that could not be, with the reason.
    pub left: Vec<NotResolved>,
}

/// A task that could not be marked as resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotResolved {
    pub id: String,
    pub why: String,
}

impl Api {
    /// The calls of the cause that this task is of, all of them.
    ///
    /// # Errors
    /// When there is none of this handle.
    pub async fn inbox_lost(&self, _caller: &Caller, input: OneTask) -> Result<Vec<InboxRow>, ApiError> {
        self.lost_with(&input.id).await
    }

    /// Marks what was lost together as resolved, each task for itself.
    ///
    /// # Errors
    /// When there is none of this handle.
    pub async fn resolve_lost(&self, caller: &Caller, input: ResolveLost) -> Result<LostResolved, ApiError> {
        let live = self.live()?;
        let rows = self.lost_with(&input.id).await?;
        let mut told = LostResolved { resolved: 0, left: Vec::new() };
        for id in rows.into_iter().filter_map(|row| row.task) {
            let Ok(handle) = id.parse() else { continue };
            match live.engine.unwatch(handle, caller.person.clone(), input.note.clone()).await {
                Ok(()) => told.resolved = told.resolved.saturating_add(1),
                Err(why) => told.left.push(NotResolved { id, why: why.to_string() }),
            }
        }
        Ok(told)
    }

    async fn lost_with(&self, id: &str) -> Result<Vec<InboxRow>, ApiError> {
        let task = self.find_task(id).await?.id.to_string();
        let rows = self.trouble_rows(&mut Names::default()).await?;
        Ok(loss::lost_with(&rows, &task, &self.policy).into_iter().cloned().collect())
    }

    /// One item for each cause of trouble: lost and unconfirmed tasks, late ones, servers that need a person, and
    /// alarms that nobody has dismissed.
    pub(crate) async fn trouble(&self, names: &mut Names) -> Result<Vec<InboxRow>, ApiError> {
        let mut blocked = BTreeMap::new();
        let mut others = Vec::new();
        for row in self.trouble_rows(names).await? {
            if row.kind == InboxKind::Blocked {
                // One row for the server stands for all of its tasks.
                let id = format!("{}/{}", row.server, row.kind);
                blocked.entry(row.server.clone()).or_insert(InboxRow {
                    id,
                    task: None,
                    tool: None,
                    agent: None,
                    ..row
                });
            } else {
                others.push(row);
            }
        }
        let mut items = loss::items(&others, &self.policy);
        items.extend(blocked.into_values());
        for alarm in self.kept_alarms().await?.iter().filter(|alarm| alarm.needs_look()) {
            items.push(InboxRow::of_alarm(self.alarm_dto(alarm, names).await?));
        }
        items.sort_by(InboxRow::before);
        Ok(items)
    }

    async fn trouble_rows(&self, names: &mut Names) -> Result<Vec<InboxRow>, ApiError> {
        let now = self.now();
        let mut rows = Vec::new();
        for task in self.registry.attention(self.policy.inbox_rows_max).await? {
            if task.phase(now) == Phase::Waiting {
                continue;
            }
            let server = self.server_name(task.server, names).await?;
            let agent = match task.agent {
                Some(agent) => Some(self.agent_name(agent, names).await?),
                None => None,
            };
            let destructive = task
                .tool
                .as_deref()
                .is_some_and(|tool| self.engine().is_some_and(|engine| engine.says_destructive(task.server, tool)));
            let asked = RowContext { server: &server, agent: agent.as_deref(), destructive, now, policy: &self.policy };
            rows.extend(InboxRow::of_task(&task, asked).into_iter().filter(InboxRow::is_trouble));
        }
        Ok(rows)
    }
}
