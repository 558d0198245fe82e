//! A server and its tools as JSON shows them.
//!
//! Only names of secrets are known here, never their values. What was negotiated is the last known; `health` is current, and
//! `unknown` when no core runs.

pub mod observed;
pub mod sign_in;
pub mod tools;

use std::collections::BTreeMap;

use domain::policy::{TOOL_NAME_CHARS, escaped_text};
use domain::ports::{CancelFacts, ToolFacts};
use domain::server::tool_names::{NotOffered, NotOfferedCounts, not_offered};
use domain::server::{Dialect, Era, Server, ServerAddress, ServerHealth};
use engine::{RefusedQuestions, SignInStatus, UsualResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use self::sign_in::SignInDto;
use super::pause::PauseDto;
use super::words::words;
use super::{TaskFigures, iso};

words! {
    /// Which handshake a server uses.
    EraDto {
        /// None: every request stands alone.
        Modern = "modern",
        /// `initialize` over stdio or Streamable HTTP.
        Legacy = "legacy",
        /// `initialize` over HTTP+SSE of 2024-11-05.
        LegacySse = "legacySse",
    }
    /// Which tasks a server has.
    DialectDto {
        /// The 2026-07-28 extension.
        Extension2026 = "2026-07-28",
        /// The 2025-11-25 experimental tasks.
        Experimental2025 = "2025-11-25",
        /// No tasks: every call is a plain call.
        NoTasks = "none",
    }
    /// Why agents are not offered a tool.
    NotOfferedWhy {
        /// MCP does not allow its name.
        InvalidName = "invalidName",
        /// An earlier tool of the server has the same name.
        Duplicate = "duplicate",
    }
    /// Whether a server can be reached.
    HealthKind {
        /// Not known: no core runs, or nothing needed it yet.
        Unknown = "unknown",
        /// A connection is being opened.
        Connecting = "connecting",
        /// It is connected.
        Up = "up",
        /// It cannot be reached; it is tried again.
        Down = "down",
        /// A person ended its process; the next call starts it.
        Ended = "ended",
        /// A person has to act first.
        Blocked = "blocked",
    }
}

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerDto {
    /// Its name here.
    pub name: String,
    /// Our id of it.
    pub id: String,
    /// How it is reached.
    pub address: AddressDto,
    /// Which handshake it uses; null until it was connected once.
    #[ts(inline)]
    pub era: Option<EraDto>,
    /// Which tasks it has; null until it was connected once.
    #[ts(inline)]
    pub dialect: Option<DialectDto>,
    /// The protocol version as agreed.
    pub protocol_version: Option<String>,
    /// The server's name for itself.
    pub server_name: Option<String>,
    /// Its version of itself.
    pub server_version: Option<String>,
    /// Whether it can list its tasks.
    pub can_list: Option<bool>,
    /// Whether it can cancel tasks.
    pub can_cancel: Option<bool>,
    /// Whether it can be reached now.
    pub health: HealthDto,
    /// Whether a person agreed to contact exactly this address.
    pub agreed: bool,
    pub agreed_by: Option<String>,
    pub agreed_at: Option<String>,
    /// Tasks on it that are not over: `figures.open`.
    pub open_tasks: u64,
    /// How many tasks of which sort are on it.
    #[serde(default)]
    pub figures: TaskFigures,
    /// When it was added.
    pub created_at: String,
    /// The end of its standard error; empty for HTTP and without a core.
    #[serde(default)]
    pub stderr_tail: String,
    /// Whether it pushes changes now.
    #[serde(default)]
    pub pushes: bool,
    /// Tools as last listed; null when they were never listed.
    pub tool_count: Option<u64>,
    /// Tools that differ from what a person last saw, as compared last in this run of the core.
    #[serde(skip_serializing_if = "crate::dto::server::is_none", default)]
    #[ts(optional, as = "Option<u64>")]
    pub changed_tools: u64,
    /// Tools that agents are not offered, as listed last; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub not_offered: Option<NotOfferedToolsDto>,
    /// How its cancels ended.
    #[serde(default)]
    pub cancels: CancelsDto,
    /// Questions of it that nobody saw, because too many were open; null when there were none in this run of the core.
    #[serde(default)]
    pub refused_questions: Option<RefusedQuestionsDto>,
    /// The sign-in to it; null where it asked for none, or has a token of its own in its headers.
    #[serde(default)]
    pub sign_in: Option<SignInDto>,
    /// That its processes are frozen; left out while they are not, and without a core.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub frozen: Option<PauseDto>,
}

/// How many tools of a server are not offered to agents, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotOfferedToolsDto {
    /// MCP does not allow their names.
    pub invalid_names: u64,
    /// An earlier tool has the same name.
    pub duplicates: u64,
}

/// Questions that were refused, because too many of the server's questions are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefusedQuestionsDto {
    pub count: u64,
    /// When the first of them came.
    pub since: String,
}

/// How the cancels of a server ended; what of `asked` is in none of the three is still open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CancelsDto {
    /// Cancels of tasks that were sent to it.
    pub asked: u64,
    /// The server says it stopped.
    pub stopped: u64,
    /// It ended by itself in spite of the wish.
    pub finished_anyway: u64,
    /// The server refused.
    pub refused: u64,
    /// Cancels of calls without a task that were sent to it: MCP has no reply to them, so what became of them is not known.
    pub no_reply: u64,
    /// Half of the stopped ones stopped within this; null when none stopped.
    pub median_ms: Option<u64>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AddressDto {
    /// A child process.
    Stdio {
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        #[ts(type = "Record<string, string>")]
        env: BTreeMap<String, String>,
        /// Names of environment variables whose values are secrets.
        #[serde(default)]
        secret_env: Vec<String>,
        #[serde(default)]
        cwd: Option<String>,
    },
    Http {
        url: String,
        /// Names of headers whose values are secrets.
        #[serde(default)]
        secret_headers: Vec<String>,
    },
}

/// Whether a server can be reached now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HealthDto {
    /// Whether it can.
    #[ts(inline)]
    pub kind: HealthKind,
    pub since: Option<String>,
    pub why: Option<String>,
    /// What a person can do.
    pub hint: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<String>,
}

/// A tool. All text is the server's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolDto {
    pub name: String,
    /// Title for people.
    pub title: Option<String>,
    pub description: Option<String>,
    /// Whether calls of it may or must be tasks.
    pub task_support: String,
    /// The server says that it destroys something.
    pub destructive: Option<bool>,
    /// The server says that it only reads.
    pub read_only: Option<bool>,
    /// The schema of its arguments.
    #[ts(type = "unknown")]
    pub input_schema: Value,
    /// Why agents are not offered it; left out where they are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub not_offered: Option<NotOfferedDto>,
    /// How large its results usually are; left out while too few were counted in this run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub usual_result: Option<UsualResultDto>,
    /// Calls in the last day of this run of the core: its part of the server's calls of the day.
    pub calls_day: u64,
    /// How long its calls usually take; left out while too few were finished.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub usual_time: Option<UsualTimeDto>,
}

/// How long calls of a tool usually take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "UsualTime")]
pub struct UsualTimeDto {
    /// Finished calls, from which it is taken.
    pub samples: u32,
    /// Half of them took at most this.
    pub median_ms: u64,
}

/// A tool that agents are not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotOfferedDto {
    #[ts(inline)]
    pub why: NotOfferedWhy,
    /// Its name with hidden characters spelled out, such as `a\u{202e}b`, and cut.
    pub escaped_name: String,
}

/// How large the results of a tool usually are, in tokens of an agent's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "UsualResult")]
pub struct UsualResultDto {
    /// The last results, from which it is taken.
    pub samples: u32,
    /// Half of them are at most this large.
    pub median: u64,
    pub largest: u64,
}

impl From<UsualResult> for UsualResultDto {
    fn from(usual: UsualResult) -> Self {
        let UsualResult { samples, median, largest } = usual;
        Self { samples, median, largest }
    }
}

/// What is known of a server beyond its configuration.
pub(crate) struct ServerContext {
    pub(crate) health: ServerHealth,
    pub(crate) figures: TaskFigures,
    pub(crate) stderr_tail: String,
    pub(crate) pushes: bool,
    pub(crate) tools: Option<usize>,
    pub(crate) changed_tools: u64,
    pub(crate) not_offered: NotOfferedCounts,
    pub(crate) cancels: CancelFacts,
    pub(crate) refused_questions: Option<RefusedQuestions>,
    pub(crate) sign_in: SignInStatus,
    pub(crate) frozen: Option<PauseDto>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl NotOfferedToolsDto {
    /// `None` where all are offered.
    fn of(counts: NotOfferedCounts) -> Option<Self> {
        let NotOfferedCounts { invalid_names, duplicates } = counts;
        (counts.total() > 0).then_some(Self { invalid_names, duplicates })
    }
}

impl ToolDto {
    /// The tools of a server in its order.
    pub(crate) fn list(tools: Vec<ToolFacts>) -> Vec<Self> {
        let why: Vec<Option<NotOffered>> = not_offered(tools.iter().map(|tool| tool.name.as_str())).collect();
        tools.into_iter().zip(why).map(|(tool, why)| Self::of(tool, why)).collect()
    }

    fn of(tool: ToolFacts, why: Option<NotOffered>) -> Self {
        let not_offered = why.map(|why| NotOfferedDto {
            why: match why {
                NotOffered::InvalidName => NotOfferedWhy::InvalidName,
                NotOffered::Duplicate => NotOfferedWhy::Duplicate,
            },
            escaped_name: escaped_text(&tool.name, TOOL_NAME_CHARS),
        });
        Self {
            not_offered,
            name: tool.name,
            title: tool.title,
            description: tool.description,
            task_support: tool.task_support.into(),
            destructive: tool.destructive_hint,
            read_only: tool.read_only_hint,
            input_schema: tool.input_schema,
            usual_result: None,
            calls_day: 0,
            usual_time: None,
        }
    }
}

impl From<&ServerAddress> for AddressDto {
    fn from(address: &ServerAddress) -> Self {
        match address {
            ServerAddress::Stdio { command, args, env, secret_env, cwd } => Self::Stdio {
                command: command.clone(),
                args: args.clone(),
                env: env.clone(),
                secret_env: secret_env.clone(),
                cwd: cwd.clone(),
            },
            ServerAddress::Http { url, secret_headers } => {
                Self::Http { url: url.clone(), secret_headers: secret_headers.clone() }
            }
        }
    }
}

impl From<AddressDto> for ServerAddress {
    fn from(address: AddressDto) -> Self {
        match address {
            AddressDto::Stdio { command, args, env, secret_env, cwd } => {
                Self::Stdio { command, args, env, secret_env, cwd }
            }
            AddressDto::Http { url, secret_headers } => Self::Http { url, secret_headers },
        }
    }
}

impl HealthKind {
    const fn of(health: &ServerHealth) -> Self {
        match health {
            ServerHealth::Unknown => Self::Unknown,
            ServerHealth::Connecting => Self::Connecting,
            ServerHealth::Up { .. } => Self::Up,
            ServerHealth::Down { .. } => Self::Down,
            ServerHealth::Ended { .. } => Self::Ended,
            ServerHealth::Blocked { .. } => Self::Blocked,
        }
    }
}

impl From<Era> for EraDto {
    fn from(era: Era) -> Self {
        match era {
            Era::Modern => Self::Modern,
            Era::Legacy => Self::Legacy,
            Era::LegacySse => Self::LegacySse,
        }
    }
}

impl From<Dialect> for DialectDto {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Extension2026 => Self::Extension2026,
            Dialect::Experimental2025 => Self::Experimental2025,
            Dialect::NoTasks => Self::NoTasks,
        }
    }
}

impl From<&ServerHealth> for HealthDto {
    fn from(health: &ServerHealth) -> Self {
        let kind = HealthKind::of(health);
        let empty = Self { kind, since: None, why: None, hint: None, retry_at: None };
        match health {
            ServerHealth::Unknown | ServerHealth::Connecting => empty,
            ServerHealth::Up { since } => Self { since: Some(iso(*since)), ..empty },
            ServerHealth::Down { since, why, hint, retry_at } => Self {
                since: Some(iso(*since)),
                why: Some(why.clone()),
                hint: Some(hint.clone()),
                retry_at: retry_at.map(iso),
                ..empty
            },
            ServerHealth::Ended { since, why, hint } | ServerHealth::Blocked { since, why, hint } => {
                Self { since: Some(iso(*since)), why: Some(why.clone()), hint: Some(hint.clone()), ..empty }
            }
        }
    }
}

impl ServerDto {
    pub(crate) fn of(server: &Server, moment: ServerContext) -> Self {
        let ServerContext {
            health,
            figures,
            stderr_tail,
            pushes,
            tools,
            changed_tools,
            not_offered,
            cancels,
            refused_questions,
            sign_in,
            frozen,
        } = moment;
        let known = server.negotiated.as_ref();
        let agreed = server.consent.as_ref().filter(|given| given.fingerprint == server.address.fingerprint());
        Self {
            name: server.name.clone(),
            id: server.id.to_string(),
            address: (&server.address).into(),
            era: known.map(|n| n.era.into()).or_else(|| server.verdict.as_ref().map(|v| v.era.into())),
            dialect: known.map(|n| n.dialect.into()),
            protocol_version: known.map(|n| n.protocol_version.clone()),
            server_name: known.map(|n| n.server_name.clone()),
            server_version: known.map(|n| n.server_version.clone()),
            can_list: known.map(|n| n.can_list),
            can_cancel: known.map(|n| n.can_cancel),
            health: (&health).into(),
            agreed: agreed.is_some(),
            agreed_by: agreed.map(|given| given.by.to_string()),
            agreed_at: agreed.map(|given| iso(given.at)),
            open_tasks: figures.open,
            figures,
            created_at: iso(server.created),
            stderr_tail,
            pushes,
            tool_count: tools.map(|many| u64::try_from(many).unwrap_or(u64::MAX)),
            changed_tools,
            not_offered: NotOfferedToolsDto::of(not_offered),
            cancels: CancelsDto {
                asked: cancels.asked,
                stopped: cancels.stopped,
                finished_anyway: cancels.finished_anyway,
                refused: cancels.refused,
                no_reply: cancels.no_reply,
                median_ms: cancels.median_ms,
            },
            refused_questions: refused_questions
                .map(|refused| RefusedQuestionsDto { count: refused.count, since: iso(refused.since) }),
            sign_in: SignInDto::of(sign_in),
            frozen,
        }
    }
}
