//! What this run of the core saw of a server as JSON shows it: its log, how its requests went, and what of it runs.
//!
//! Only the text of a log line and the reason of a failed request are the server's. Nothing is counted here; the figures are
//! the engine's (decision 0038).

use domain::ports::{LogLevel, LogMessage};
use domain::server::ServerAct;
use engine::{FailedRequest, LogEntry, LogEvent, RequestFigures, RequestHistory, RequestKind, SpanFigures};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::super::words::words;
use super::super::{iso, millis};

words! {
    /// What a person did to a server.
    ServerActDto {
        /// Its process was restarted, or the connection opened anew.
        Restart = "restart",
        /// Its process was ended.
        End = "end",
        /// It is reached in another way.
        Change = "change",
    }
    /// How urgent a server calls a message of its log, in the words of MCP.
    LogLevelDto {
        Debug = "debug",
        Info = "info",
        Notice = "notice",
        Warning = "warning",
        Error = "error",
        Critical = "critical",
        Alert = "alert",
        Emergency = "emergency",
    }
    /// What was asked of a server.
    RequestKindDto {
        /// A tool was called.
        Call = "call",
        /// A task was polled.
        Poll = "poll",
    }
}

/// The log of a server in this run of the core, oldest line first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerLogDto {
    pub lines: Vec<ServerLogLine>,
    /// Number of the oldest line that is kept; lines count from 1.
    pub first: u64,
    /// Number that the next line gets.
    pub next: u64,
    /// Bytes of text that are kept at most.
    pub kept_bytes: u64,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerLogLine {
    pub number: u64,
    /// When it came; null when it was written before this core found the process.
    pub at: Option<String>,
    /// The agent whose own process it is about; null for the one that is shared.
    pub agent: Option<String>,
    pub event: ServerLogEvent,
}

/// What a line says. Only the text of `line` and `message` is the server's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerLogEvent {
    /// The server wrote it to its standard error.
    Line {
        text: String,
    },
    /// The server sent it as a log message of MCP.
    Message {
        /// Null for a level that MCP does not know.
        #[ts(inline)]
        level: Option<LogLevelDto>,
        /// Which part of the server says it.
        logger: Option<String>,
        text: String,
    },
    /// So many lines came faster than they are taken.
    Skipped {
        count: u64,
    },
    Started {
        pid: u32,
    },
    /// The process ran on while there was no core.
    Resumed {
        pid: u32,
    },
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        /// Taskwarden ended it.
        by_us: bool,
    },
    Connected,
    Disconnected,
    /// A person asked for it.
    Asked {
        by: String,
        #[ts(inline)]
        act: ServerActDto,
    },
    /// A question of the server was refused, because it named a task that is not open here.
    QuestionRefused,
}

/// How the requests to a server went in this run of the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerTimesDto {
    /// When measuring began: the start of the core.
    pub since: String,
    pub hour: SpanTimes,
    pub day: SpanTimes,
    /// Steps of equal length, oldest first; empty ones are there, too.
    pub steps: Vec<SpanTimes>,
    /// The last request that failed.
    pub last_failure: Option<FailedRequestDto>,
}

/// Calls and polls in a span of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpanTimes {
    /// Where the span begins.
    pub from: String,
    pub calls: RequestTimesDto,
    pub polls: RequestTimesDto,
}

/// How requests of one kind went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestTimesDto {
    /// Requests that are over.
    pub count: u64,
    /// Those without an answer, or with an error for one.
    pub failed: u64,
    /// Half of the answers came within this; null without an answer.
    pub median_ms: Option<u64>,
    /// 95 % of the answers came within this.
    pub p95_ms: Option<u64>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FailedRequestDto {
    pub at: String,
    #[ts(inline)]
    pub request: RequestKindDto,
    /// Why; may quote the server.
    pub why: String,
}

/// What of a server runs now, and so what ends with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerRunning {
    /// Its processes on this machine; none for a server that is reached by a URL.
    pub processes: Vec<ServerProcessDto>,
    /// Its open tasks.
    pub open_tasks: u64,
    /// The agents of these tasks and of calls in flight that are not tasks yet.
    pub agents: Vec<AgentOnServer>,
}

/// A process of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerProcessDto {
    pub pid: u32,
    /// The agent whose own it is; null for the one that is shared.
    pub agent: Option<String>,
    /// Since when this core has it.
    pub since: String,
    /// The names of all processes of its group, its own first; empty where the system does not tell.
    pub group: Vec<ProcessName>,
}

/// A process as the system names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessName {
    pub pid: u32,
    pub name: String,
}

/// What an agent, or people, have on a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentOnServer {
    /// Null for people.
    pub agent: Option<String>,
    pub open_tasks: u64,
    /// Calls in flight that are not shown as tasks yet.
    pub calls: u64,
}

impl ServerLogLine {
    /// The line, with the name of the agent it is about.
    pub(crate) fn of(entry: LogEntry, agent: Option<String>) -> Self {
        Self { number: entry.number, at: entry.at.map(iso), agent, event: entry.what.into() }
    }
}

impl From<LogEvent> for ServerLogEvent {
    fn from(event: LogEvent) -> Self {
        match event {
            LogEvent::Line(text) => Self::Line { text },
            LogEvent::Message(LogMessage { level, logger, text }) => {
                Self::Message { level: level.map(LogLevelDto::from), logger, text }
            }
            LogEvent::Skipped(count) => Self::Skipped { count },
            LogEvent::Started { pid } => Self::Started { pid },
            LogEvent::Resumed { pid } => Self::Resumed { pid },
            LogEvent::Ended(exit) => Self::Ended { code: exit.code, signal: exit.signal, by_us: exit.is_ours },
            LogEvent::Connected => Self::Connected,
            LogEvent::Disconnected => Self::Disconnected,
            LogEvent::Asked(by, act) => Self::Asked { by: by.to_string(), act: act.into() },
            LogEvent::QuestionRefused => Self::QuestionRefused,
        }
    }
}

impl From<LogLevel> for LogLevelDto {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Debug => Self::Debug,
            LogLevel::Info => Self::Info,
            LogLevel::Notice => Self::Notice,
            LogLevel::Warning => Self::Warning,
            LogLevel::Error => Self::Error,
            LogLevel::Critical => Self::Critical,
            LogLevel::Alert => Self::Alert,
            LogLevel::Emergency => Self::Emergency,
        }
    }
}

impl From<ServerAct> for ServerActDto {
    fn from(act: ServerAct) -> Self {
        match act {
            ServerAct::Restart => Self::Restart,
            ServerAct::End => Self::End,
            ServerAct::Change => Self::Change,
        }
    }
}

impl ServerTimesDto {
    pub(crate) fn of(history: RequestHistory, since: String) -> Self {
        Self {
            since,
            hour: history.recent.into(),
            day: history.day.into(),
            steps: history.steps.into_iter().map(SpanTimes::from).collect(),
            last_failure: history.last_failure.map(FailedRequestDto::from),
        }
    }
}

impl From<SpanFigures> for SpanTimes {
    fn from(span: SpanFigures) -> Self {
        Self { from: iso(span.from), calls: span.calls.into(), polls: span.polls.into() }
    }
}

impl From<RequestFigures> for RequestTimesDto {
    fn from(figures: RequestFigures) -> Self {
        let RequestFigures { count, failed, median, p95 } = figures;
        Self { count, failed, median_ms: median.map(millis), p95_ms: p95.map(millis) }
    }
}

impl From<FailedRequest> for FailedRequestDto {
    fn from(failed: FailedRequest) -> Self {
        let request = match failed.kind {
            RequestKind::Call => RequestKindDto::Call,
            RequestKind::Poll => RequestKindDto::Poll,
        };
        Self { at: iso(failed.at), request, why: failed.why }
    }
}
