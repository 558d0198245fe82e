//! The tools of a server, and how they differ from what a person last saw.
//!
//! What changed is shown and marked as seen; nothing is blocked by it. The comparison is `domain::server::tool_memory`.

use domain::ids::ServerId;
use engine::ToolUse;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::{Done, OneServer};
use crate::dto::server::tools::{ToolChangesDto, ToolDiff};
use crate::dto::server::{UsualResultDto, UsualTimeDto};
use crate::dto::{ToolDto, iso, millis};
use crate::error::{ApiError, Code};
use crate::format::tool_diff::tool_diff;
use crate::suggestion::did_you_mean;

/// Tools of a server whose finished tasks are read for their usual time: one question to the registry each. Beyond them the
/// replies of this run count. Judgement: no person reads so many lines.
const TASKS_TIMED: usize = 500;

/// A server's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ToolList")]
pub struct ServerTools {
    /// The tools in the server's order.
    pub tools: Vec<ToolDto>,
    /// From when on their calls are counted: a day ago, or the start of the core.
    pub calls_since: String,
    /// What changed since a person last looked; left out where that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub changes: Option<ToolChangesDto>,
}

/// One tool of a server, whose change is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneChangedTool {
    pub name: String,
    pub tool: String,
}

/// What of a server's tools a person has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeeTools {
    pub name: String,
    /// The digest of the list that was shown.
    pub digest: String,
}

impl Api {
    /// A server's tools, as it says now.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn server_tools(&self, caller: &Caller, input: OneServer) -> Result<ServerTools, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let (tools, memory) = live.engine.compared_tools(server.id).await?;
        let (usual, calls) = (live.engine.usual_results(server.id), live.engine.tool_use(server.id));
        let mut tools = ToolDto::list(tools);
        for (at, tool) in tools.iter_mut().enumerate() {
            tool.usual_result = usual.get(tool.name.as_str()).copied().map(UsualResultDto::from);
            let seen = calls.get(tool.name.as_str()).copied().unwrap_or_default();
            tool.calls_day = seen.calls;
            tool.usual_time = self.usual_time(server.id, &tool.name, seen, at < TASKS_TIMED).await?;
        }
        let day = iso(live.engine.request_history(server.id).day.from);
        // Both are of equal length and in UTC, so that text orders them.
        let calls_since = self.core(&caller.person)?.started_at.max(day);
        Ok(ServerTools { tools, calls_since, changes: memory.as_ref().map(ToolChangesDto::from) })
    }

    /// As long as its finished tasks took, which is what late tasks are compared with; without enough of those, as long as its
    /// plain replies took in this run.
    async fn usual_time(
        &self,
        server: ServerId,
        tool: &str,
        seen: ToolUse,
        is_read: bool,
    ) -> Result<Option<UsualTimeDto>, ApiError> {
        let finished = match is_read {
            true => self.registry.usual(server, tool, self.policy.usual_samples_min).await?,
            false => None,
        };
        let tasks = finished.map(|usual| UsualTimeDto { samples: usual.samples, median_ms: usual.median_ms });
        let replies = seen.median.map(|median| UsualTimeDto { samples: seen.samples, median_ms: millis(median) });
        Ok(tasks.or(replies))
    }

    /// What changed in one tool, line by line, as it was last listed.
    ///
    /// # Errors
    /// When nothing is remembered of such a tool.
    pub async fn server_tool_diff(&self, _caller: &Caller, input: OneChangedTool) -> Result<ToolDiff, ApiError> {
        let server = self.find_server(&input.name).await?;
        let memory = self.registry.tool_memory(server.id).await?;
        let known = memory.iter().flat_map(|memory| memory.tools.keys().map(|name| &**name));
        match memory.as_ref().and_then(|memory| memory.tools.get(input.tool.as_str())) {
            Some(tool) => Ok(tool_diff(tool, &self.policy.tool_memory)),
            None => Err(ApiError::new(
                Code::NotFound,
                format!("nothing is known of a tool `{}` of server `{}`", input.tool, server.name),
                did_you_mean(&input.tool, known)
                    .unwrap_or_else(|| "`taskwarden servers tools NAME` lists the tools of a server.".into()),
            )),
        }
    }

    /// A person has seen the tools as they were listed.
    ///
    /// # Errors
    /// When they changed since they were listed for this person, or it cannot be recorded.
    pub async fn server_tools_seen(&self, caller: &Caller, input: SeeTools) -> Result<Done, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        if live.engine.see_tools(server.id, &input.digest, caller.person.clone()).await? {
            return Ok(Done {});
        }
        Err(ApiError::new(
            Code::Refused,
            format!("the tools of `{}` changed again", server.name),
            "Look at them once more; what you have not seen stays marked as changed.",
        ))
    }
}
