//! The inbox: everything that waits for a person, oldest first.

use domain::request::RequestState;

use super::Nothing;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{InboxDto, InboxRow, RequestDto};
use crate::error::ApiError;

impl Api {
    /// All open questions.
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
        Ok(InboxDto { items })
    }
}
