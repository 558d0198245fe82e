//! Alarms of a supervisor program: those that are about nothing but what is in its reach.
//!
//! It reads them and decides nothing: whether calls that wait are sent is for people (`calls/alarms.rs`).

use domain::agent::alarm::{AlarmState, CallAlarm, CalledTool};
use domain::policy::{TOOL_NAME_CHARS, plain_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use crate::api::Api;
use crate::calls::Nothing;
use crate::dto::iso;
use crate::error::ApiError;
use crate::lookup::Names;

/// Alarms in reach that are kept, the newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlAlarmList {
    pub alarms: Vec<ControlAlarm>,
}

/// Something that an agent does again and again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlAlarm {
    /// Our id of it, `alm_…`.
    pub id: String,
    pub agent: String,
    /// `sameCall`, `alternating`, `sameError`, `callRate` or `openCalls`.
    pub kind: String,
    /// What it calls; of many tools, the one that is called most.
    pub called: ControlCalledTool,
    /// The other one of two calls in turn; null elsewhere.
    pub other: Option<ControlCalledTool>,
    /// Calls of it; for `callRate` the most in a minute, for `openCalls` the most at once.
    pub count: u32,
    /// The number at which the alarm was raised.
    pub limit: u32,
    /// When its first call came.
    pub since: String,
    pub raised_at: String,
    /// When the last call came that is counted.
    pub last_at: String,
    /// `open`, `ended` or `dismissed`.
    pub state: String,
    /// When it ended or was dismissed; null while it is open.
    pub over_at: Option<String>,
    /// What is done about it: `warn`, `ask` or `cancel`.
    pub action: String,
    /// Further calls wait until a person decides.
    pub asks: bool,
}

/// A tool of a server, by the server's name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlCalledTool {
    pub server: String,
    pub tool: String,
}

impl Api {
    /// The alarms in reach.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(super) async fn control_alarm_list(
        &self,
        caller: &ControlCaller,
        _input: Nothing,
    ) -> Result<ControlAlarmList, ApiError> {
        let mut names = self.names().await?;
        let mut alarms = Vec::new();
        for alarm in self.kept_alarms().await?.iter().filter(|alarm| caller.token.reaches_alarm(alarm)) {
            alarms.push(self.control_alarm(alarm, &mut names).await?);
        }
        Ok(ControlAlarmList { alarms })
    }

    async fn control_alarm(&self, alarm: &CallAlarm, names: &mut Names) -> Result<ControlAlarm, ApiError> {
        let other = match &alarm.other {
            Some(other) => Some(self.control_called(other, names).await?),
            None => None,
        };
        Ok(ControlAlarm {
            id: alarm.id.to_string(),
            agent: self.agent_name(alarm.agent, names).await?,
            kind: alarm.kind.word().to_owned(),
            called: self.control_called(&alarm.called, names).await?,
            other,
            count: alarm.count,
            limit: alarm.limit,
            since: iso(alarm.since),
            raised_at: iso(alarm.raised),
            last_at: iso(alarm.last),
            state: alarm.state.word().to_owned(),
            over_at: match &alarm.state {
                AlarmState::Open => None,
                AlarmState::Ended { at } | AlarmState::Dismissed { at, .. } => Some(iso(*at)),
            },
            action: alarm.action.word().to_owned(),
            asks: alarm.asks(),
        })
    }

    async fn control_called(&self, called: &CalledTool, names: &mut Names) -> Result<ControlCalledTool, ApiError> {
        let server = self.server_name(called.server, names).await?;
        Ok(ControlCalledTool { server, tool: plain_text(&called.tool, TOOL_NAME_CHARS) })
    }
}
