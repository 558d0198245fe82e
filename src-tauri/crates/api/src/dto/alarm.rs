//! An alarm about what an agent calls, as JSON shows it.
//!
//! It says how often and since when, and never with which arguments.

use domain::agent::alarm::{AlarmDecision, AlarmKind, AlarmState, CallAlarm};
use domain::policy::{TOOL_NAME_CHARS, plain_text};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::task::run_limit::AtRunLimit;
use crate::dto::words::words;

words! {
    /// What an agent does.
    AlarmKindDto {
        /// It makes the same call again and again.
        SameCall = "sameCall",
        /// It makes two calls in turn.
        Alternating = "alternating",
        /// A tool answers its different calls with the same error.
        SameError = "sameError",
        /// It makes many calls in a minute.
        CallRate = "callRate",
        /// It has many calls in flight at once.
        OpenCalls = "openCalls",
    }
    /// Whether an alarm still needs anybody.
    AlarmStateDto {
        /// It goes on, as far as is known.
        Open = "open",
        /// The agent stopped by itself.
        Ended = "ended",
        /// A person has seen it.
        Dismissed = "dismissed",
    }
    /// What a person decides about the calls that wait because of an alarm.
    AlarmDecisionDto {
        /// They are sent.
        Send = "send",
        /// They are cancelled.
        Cancel = "cancel",
    }
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CalledToolDto {
    /// The server's name.
    pub server: String,
    pub tool: String,
}

/// Something that an agent does again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmDto {
    /// Our id of it, `alm_…`.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    #[ts(inline)]
    pub kind: AlarmKindDto,
    /// The server's name; of many tools, that of the one that is called most.
    pub server: String,
    pub tool: String,
    /// The other one of two calls in turn; null elsewhere.
    pub other: Option<CalledToolDto>,
    /// Calls of it; for `callRate` the most in a minute, for `openCalls` the most at once.
    pub count: u32,
    /// The number at which the alarm was raised.
    pub limit: u32,
    /// When its first call came.
    pub since: String,
    pub raised_at: String,
    /// When the last call came that is counted.
    pub last_at: String,
    /// What is done about it, as a rule says.
    #[ts(inline)]
    pub action: AtRunLimit,
    /// Further calls wait until a person decides.
    pub asks: bool,
    /// What a person decided about the calls that waited; null where none waited, or nobody has decided.
    #[ts(inline)]
    pub decision: Option<AlarmDecisionDto>,
    #[ts(inline)]
    pub state: AlarmStateDto,
    /// When it ended or was dismissed; null while it is open.
    pub over_at: Option<String>,
    /// Who dismissed it.
    pub dismissed_by: Option<String>,
}

impl From<AlarmKind> for AlarmKindDto {
    fn from(kind: AlarmKind) -> Self {
        match kind {
            AlarmKind::SameCall => Self::SameCall,
            AlarmKind::Alternating => Self::Alternating,
            AlarmKind::SameError => Self::SameError,
            AlarmKind::CallRate => Self::CallRate,
            AlarmKind::OpenCalls => Self::OpenCalls,
        }
    }
}

impl From<AlarmDecision> for AlarmDecisionDto {
    fn from(decision: AlarmDecision) -> Self {
        match decision {
            AlarmDecision::Send => Self::Send,
            AlarmDecision::Cancel => Self::Cancel,
        }
    }
}

impl From<AlarmDecisionDto> for AlarmDecision {
    fn from(decision: AlarmDecisionDto) -> Self {
        match decision {
            AlarmDecisionDto::Send => Self::Send,
            AlarmDecisionDto::Cancel => Self::Cancel,
        }
    }
}

impl AlarmDto {
    /// The alarm with the names of its agent and servers.
    pub(crate) fn of(alarm: &CallAlarm, agent: String, server: String, other: Option<String>) -> Self {
        let tool = |tool: &str| plain_text(tool, TOOL_NAME_CHARS);
        let (state, over_at, dismissed_by) = match &alarm.state {
            AlarmState::Open => (AlarmStateDto::Open, None, None),
            AlarmState::Ended { at } => (AlarmStateDto::Ended, Some(iso(*at)), None),
            AlarmState::Dismissed { at, by } => {
                (AlarmStateDto::Dismissed, Some(iso(*at)), Some(by.as_str().to_owned()))
            }
        };
        Self {
            id: alarm.id.to_string(),
            agent,
            kind: alarm.kind.into(),
            server,
            tool: tool(&alarm.called.tool),
            other: alarm
                .other
                .as_ref()
                .zip(other)
                .map(|(called, server)| CalledToolDto { server, tool: tool(&called.tool) }),
            count: alarm.count,
            limit: alarm.limit,
            since: iso(alarm.since),
            raised_at: iso(alarm.raised),
            last_at: iso(alarm.last),
            action: alarm.action.into(),
            asks: alarm.asks(),
            decision: alarm.decision.map(AlarmDecisionDto::from),
            state,
            over_at,
            dismissed_by,
        }
    }
}
