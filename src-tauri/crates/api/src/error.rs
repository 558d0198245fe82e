//! The one error type at the edge: a code that callers branch on, a message, and what to do next (style 29-31).
//!
//! Codes are the exit codes of the command line (product.md); the list is closed. Errors of the layers below are converted
//! here; those layers know no codes, and nobody matches on text.

use std::time::Duration;

use domain::agent::alarm::AlarmRefused;
use domain::audit::log_sink::{CollectorHeaderError, SinkRefused};
use domain::ports::{ArgumentError, RegistryError, UpstreamError};
use domain::server::pause::PauseRefused;
use domain::task::Refusal;
use domain::task::cancel::plan::PlanRefused;
use engine::{ControlLimit, EngineError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::suggestion::did_you_mean;

/// What a caller can branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum Code {
    /// It was tried and did not work, or the task failed, was cancelled or is gone.
    Failed,
    /// What was asked makes no sense as it is written.
    Usage,
    /// No core is running.
    NoCore,
    /// There is no such thing.
    NotFound,
    /// Understood and declined.
    Refused,
    /// More than a control token may do at a time, or within an hour.
    OverLimit,
    /// A person must answer first.
    NeedsInput,
    /// It took longer than the caller wanted to wait.
    TimedOut,
}

impl Code {
    /// The exit code of the command line.
    #[must_use]
    pub const fn exit(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoCore => 3,
            Self::NotFound => 4,
            Self::Refused | Self::OverLimit => 5,
            Self::NeedsInput => 6,
            Self::TimedOut => 7,
        }
    }
}

/// Why a call was not done: the JSON object of the control API, and of commands with `--json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema, TS)]
#[error("{message}")]
pub struct ApiError {
    /// What to branch on.
    pub code: Code,
    /// What could not be done, to what; lower case, no final stop.
    pub message: String,
    /// What the person can do next, as a sentence.
    pub hint: String,
    /// When the same call may fit a limit again; said in a header.
    #[serde(skip)]
    #[ts(skip)]
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// Puts one together.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into(), retry_after: None }
    }

    /// No core runs for this data directory.
    #[must_use]
    pub fn no_core() -> Self {
        Self::new(
            Code::NoCore,
            "no core is running for this data folder",
            "Start one with `taskwarden serve` in another terminal.",
        )
    }

    /// Input that cannot be read.
    #[must_use]
    pub fn bad_input(why: &serde_json::Error) -> Self {
        Self::new(
            Code::Usage,
            format!("the input of the call cannot be read: {why}"),
            "The command line and the core may be of different versions; restart the core with `taskwarden serve`.",
        )
    }

    fn of_sink(refused: &SinkRefused, message: String) -> Self {
        let (code, hint) = match refused {
            SinkRefused::Unknown(_) => {
                (Code::NotFound, "`taskwarden audit sinks list` shows each sink with its number.")
            }
            SinkRefused::SameAddress { .. } => (
                Code::Refused,
                "`taskwarden audit sinks list` shows how far it came. Remove that sink first to begin with another row or \
                 with other headers.",
            ),
            SinkRefused::NoSignals => (Code::Usage, "Give `logs`, `traces` or both."),
            SinkRefused::TooMany { .. } => (
                Code::Refused,
                "End one with `taskwarden audit sinks remove`, or send to one collector that sends on to the others.",
            ),
            SinkRefused::FirstIsZero | SinkRefused::NotWritten { .. } => (
                Code::Usage,
                "1 sends every row that is kept. Without a first row, sending begins with the row that records the sink.",
            ),
            SinkRefused::TooManyHeaders { .. } => (Code::Usage, "Collectors need one or two, such as `Authorization`."),
            SinkRefused::Headers(CollectorHeaderError::Unusable(_)) => {
                (Code::Usage, "Give each header once, with a name such as `Authorization` and a value on one line.")
            }
            SinkRefused::Headers(CollectorHeaderError::NotStored(_)) => (
                Code::Failed,
                "Nothing was changed. `taskwarden doctor` says where secrets are kept and whether they can be written.",
            ),
            SinkRefused::NoCollectors => (Code::Failed, "Restart the core with `taskwarden serve`."),
        };
        Self::new(code, message, hint)
    }

    fn of_pause(refused: PauseRefused, message: String) -> Self {
        match refused {
            PauseRefused::AlreadyPaused(_) => Self::new(
                Code::Refused,
                message,
                "`taskwarden pauses list` shows what waits, `taskwarden unpause` ends it.",
            ),
            PauseRefused::NotPaused => {
                Self::new(Code::Refused, message, "`taskwarden pauses list` shows what is paused.")
            }
            PauseRefused::MustChoose { .. } => Self::new(
                Code::Refused,
                message,
                "`taskwarden pauses list` shows the calls. `taskwarden unpause NAME --all` sends all of them, `--send ID` \
                 chosen ones; the others are cancelled.",
            ),
            PauseRefused::NotWaiting(_) => Self::new(
                Code::NotFound,
                message,
                "Nothing was sent. `taskwarden pauses list` shows the calls that wait.",
            ),
            PauseRefused::AgentRevoked => {
                Self::new(Code::Refused, message, "`taskwarden agents list` shows which agents have access.")
            }
            PauseRefused::RunsElsewhere => Self::new(
                Code::Refused,
                message,
                "Only its operator can stop it there. `taskwarden pause AGENT` keeps new calls of an agent from it.",
            ),
            PauseRefused::CannotFreeze => Self::new(
                Code::Refused,
                message,
                "Processes that an earlier version of Taskwarden started cannot be frozen: `taskwarden servers restart` \
                 starts them anew.",
            ),
        }
    }

    fn over_limit(limit: ControlLimit, message: String) -> Self {
        match limit {
            ControlLimit::PerCall { .. } => {
                Self::new(Code::OverLimit, message, "Nothing was asked. Choose fewer tasks for one call.")
            }
            ControlLimit::PerHour { retry_after, .. } => {
                let hint = format!(
                    "Nothing was done. It fits again in {} s; a person can do it at once.",
                    retry_after.as_secs().max(1)
                );
                Self { retry_after: Some(retry_after), ..Self::new(Code::OverLimit, message, hint) }
            }
        }
    }

    /// An answer of ours that could not be written as JSON.
    #[must_use]
    pub fn unwritable(why: &serde_json::Error) -> Self {
        Self::new(
            Code::Failed,
            format!("the answer could not be written as JSON: {why}"),
            "Report this message; run `taskwarden doctor` for more.",
        )
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let code = match &error {
            RegistryError::Missing { .. } => Code::NoCore,
            RegistryError::Locked { .. }
            | RegistryError::Busy { .. }
            | RegistryError::ReadOnly { .. }
            | RegistryError::Full { .. }
            | RegistryError::Damaged { .. }
            | RegistryError::Gone { .. }
            | RegistryError::Newer { .. }
            | RegistryError::WrongKey
            | RegistryError::Closed
            | RegistryError::Uncertain { .. }
            | RegistryError::Other { .. } => Code::Failed,
        };
        Self::new(code, error.to_string(), error.hint())
    }
}

impl From<ArgumentError> for ApiError {
    fn from(error: ArgumentError) -> Self {
        let message = error.to_string();
        match error {
            ArgumentError::UnknownTool { tool, known } => {
                let hint = did_you_mean(&tool, known.iter().map(String::as_str))
                    .unwrap_or_else(|| "`taskwarden servers tools NAME` lists the tools of a server.".into());
                Self::new(Code::NotFound, message, hint)
            }
            ArgumentError::NotAnObject(_) => Self::new(
                Code::Usage,
                message,
                "Give one JSON object, such as `--args '{\"path\": \"/tmp\"}'`, or `--args @file.json`.",
            ),
            ArgumentError::BreaksSchema { .. } => Self::new(
                Code::Usage,
                message,
                "`taskwarden servers tools NAME --json` shows the schema of each tool; nothing was sent.",
            ),
            ArgumentError::TooLarge { .. } => {
                Self::new(Code::Usage, message, "Pass a path or an address instead of the content itself.")
            }
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let (code, hint) = match refusal {
            Refusal::UnknownKey(_) => {
                (Code::NotFound, "`taskwarden tasks show ID` lists the requests with their keys.")
            }
            Refusal::AmbiguousKey(_) => {
                (Code::Usage, "Name one with `--key=KEY`; `taskwarden inbox` lists the open ones.")
            }
            Refusal::NothingAsked => (Code::Refused, "`taskwarden inbox` lists everything that waits for an answer."),
            Refusal::AlreadyAnswered { .. } => {
                (Code::Refused, "The first answer counts. `taskwarden tasks show ID` shows what was decided and how.")
            }
            Refusal::Withdrawn => (Code::Refused, "Nothing is left to answer; the task continues."),
            Refusal::EndedBeforeAnswer => (Code::Refused, "`taskwarden tasks show ID` shows how it ended."),
            Refusal::NotForPeople(_) => (
                Code::Refused,
                "People cannot answer this; the server has to continue without it, or you cancel the task.",
            ),
            Refusal::NotForAgent(_) => (Code::Refused, "A person has to answer it; the task then continues."),
            Refusal::AlreadyHeld => (Code::Refused, "Decide about the result with `taskwarden tasks release ID`."),
            Refusal::NotHeld => (Code::Refused, "Only a result that an agent waits for can be held or released."),
            Refusal::NoSuchLimit(_) => {
                (Code::Refused, "A rule sets limits for tasks that begin after it: `taskwarden rules set --help`.")
            }
            Refusal::NotAskedToGoOn => (Code::Refused, "`taskwarden tasks show ID` shows whether it exceeded a limit."),
            Refusal::AlreadyDecided { .. } => (Code::Refused, "The first decision counts; it cannot be taken back."),
            Refusal::AlreadyOver(_) => (Code::Refused, "`taskwarden tasks result ID` shows what it left."),
            Refusal::AlreadyAsked { .. } => (Code::Refused, "`taskwarden tasks watch ID` shows what the server does."),
            Refusal::NeedsContent(_) => (
                Code::Usage,
                "Give the fields with `--accept '{\"field\": \"value\"}'`; `taskwarden inbox --json` shows them.",
            ),
            Refusal::DoesNotFit { .. } => {
                (Code::Refused, "`taskwarden inbox --json` shows the form. Nothing was sent.")
            }
            Refusal::NoContent(_) => (Code::Usage, "Leave the content out."),
            Refusal::HigherStepTaken { .. } => {
                (Code::Refused, "`taskwarden tasks show ID` shows the steps so far and the next one.")
            }
            Refusal::NoAgent => (
                Code::Refused,
                "A person started it or it was found on its server: cancel it, or shut down its server with step 5.",
            ),
            Refusal::NotByPerson => (Code::Refused, "A person has to do it."),
            Refusal::AlreadySent => (Code::Refused, "The answer is on its way and can no longer be changed."),
        };
        Self::new(code, message, hint)
    }
}

impl From<UpstreamError> for ApiError {
    fn from(error: UpstreamError) -> Self {
        let message = error.to_string();
        match error {
            UpstreamError::Unreachable { hint, .. } => Self::new(Code::Failed, message, hint),
            UpstreamError::Unauthorized { hint, .. } => Self::new(Code::Refused, message, hint),
            UpstreamError::RateLimited { .. } => Self::new(Code::Failed, message, "Try again after that time."),
            UpstreamError::UnknownTask => Self::new(
                Code::NotFound,
                message,
                "The task may be missing, expired or not permitted: check its id and the session it belongs to.",
            ),
            UpstreamError::Refused(_) => {
                Self::new(Code::Refused, message, "This is the server's own error; see the server's documentation.")
            }
            UpstreamError::MissingCapability(_) | UpstreamError::Unsupported(_) => {
                Self::new(Code::Refused, message, "The server does not support this; ask its maker.")
            }
            UpstreamError::Unreadable { .. } => {
                Self::new(Code::Failed, message, "Report this to the server's maker; its other tasks are not affected.")
            }
            UpstreamError::GivenUp => Self::new(Code::Failed, message, "Start it again if it is still wanted."),
            UpstreamError::ChannelGone => {
                Self::new(Code::Refused, message, "If the server asks again, `taskwarden inbox` shows it.")
            }
        }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::UnknownServer => {
                Self::new(Code::NotFound, message, "`taskwarden servers list` lists the servers.")
            }
            EngineError::UnknownAgent => {
                Self::new(Code::NotFound, message, "`taskwarden agents list` shows the agents with access.")
            }
            EngineError::TooManyConnections { .. } => Self::new(
                Code::Refused,
                message,
                "Wait until some of them are idle, or raise `policy.gateway.lines_max`.",
            ),
            EngineError::UnknownHandle => {
                Self::new(Code::NotFound, message, "`taskwarden tasks list` lists the tasks.")
            }
            EngineError::UnknownAlarm => {
                Self::new(Code::NotFound, message, "`taskwarden alarms list` shows the alarms with their ids.")
            }
            EngineError::NotConnected { hint, .. } => Self::new(Code::Failed, message, hint),
            EngineError::SignIn(fault) => Self::new(Code::Refused, message, fault.hint),
            EngineError::Arguments(inner) => inner.into(),
            EngineError::Refused(inner) => inner.into(),
            EngineError::TooManyOpenCalls { .. } | EngineError::OverShare { .. } => {
                Self::new(Code::Refused, message, "Wait until one ends, or cancel one with `taskwarden tasks cancel`.")
            }
            EngineError::CannotRecord(fault) => Self::new(Code::Failed, message, fault.cure()),
            EngineError::OverQuota(quota) => Self::new(
                Code::Refused,
                message,
                format!(
                    "Answer, release or cancel what is open (`taskwarden tasks list --open`), or raise the limit with \
                     `taskwarden storage set {}`.",
                    quota.option()
                ),
            ),
            EngineError::Halted(_) => Self::new(
                Code::Refused,
                message,
                "Nothing was sent. `taskwarden halt` shows what is halted, `taskwarden resume` lets it go on.",
            ),
            EngineError::TooManyWaiting { .. } => Self::new(
                Code::Refused,
                message,
                "Nothing was sent. `taskwarden pauses list` shows what is paused, `taskwarden unpause` ends a pause.",
            ),
            EngineError::ArgumentsNotKept => {
                Self::new(Code::Refused, message, "Nothing was sent. Call the tool again with its arguments.")
            }
            EngineError::Pause(refused) => Self::of_pause(refused, message),
            EngineError::Alarm(AlarmRefused::MustDecide) => Self::new(
                Code::Refused,
                message,
                "Send them with `taskwarden alarms send ID`, or cancel them with `taskwarden alarms cancel ID`.",
            ),
            EngineError::Alarm(AlarmRefused::NothingWaits) => {
                Self::new(Code::Refused, message, "Dismiss it with `taskwarden alarms dismiss ID`.")
            }
            EngineError::Frozen(_) => Self::new(
                Code::Refused,
                message,
                "Nothing was recorded. `taskwarden resume requests` lets questions be answered again.",
            ),
            EngineError::NoProcess(_) => Self::new(
                Code::Refused,
                message,
                "Nothing was done. `taskwarden tasks show ID` shows which steps are left.",
            ),
            EngineError::UnknownPlan => Self::new(
                Code::NotFound,
                message,
                "A plan that is not run is forgotten when it expires. Make a new one.",
            ),
            EngineError::PlanRefused(why) => {
                let hint = match why {
                    PlanRefused::Run(_) => "`plans.show` tells what became of its tasks; a plan is run once.",
                    PlanRefused::Expired | PlanRefused::NothingLeft => "Nothing was asked. Make a new plan.",
                };
                Self::new(Code::Refused, message, hint)
            }
            EngineError::ControlNameTaken(_) => Self::new(
                Code::Refused,
                message,
                "Choose another name, or revoke that one with `taskwarden control revoke`.",
            ),
            EngineError::TooManyControlTokens(_) => {
                Self::new(Code::Refused, message, "Revoke one with `taskwarden control revoke`.")
            }
            EngineError::UnknownControlToken => {
                Self::new(Code::NotFound, message, "`taskwarden control list` lists the control tokens.")
            }
            EngineError::ControlLimit(limit) => Self::over_limit(limit, message),
            EngineError::NotHalted => Self::new(Code::Refused, message, "Nothing is left to do."),
            EngineError::StageRefused(_) => {
                Self::new(Code::Refused, message, "`taskwarden halt` shows which stage is next.")
            }
            EngineError::Cancelled => {
                Self::new(Code::Refused, message, "The call was cancelled; nothing is left to do.")
            }
            EngineError::ReplyLost(_) => {
                Self::new(Code::Failed, message, "Check on the server what the call did before you call again.")
            }
            EngineError::Upstream(inner) => inner.into(),
            EngineError::Registry(inner) => inner.into(),
            EngineError::NoStandingAnswer(_) => {
                Self::new(Code::Refused, message, "Answer it each time it is asked; nothing was changed.")
            }
            EngineError::TooManyStandingAnswers { .. } => Self::new(
                Code::Refused,
                message,
                "End one that is no longer needed: `taskwarden inbox rules` lists them.",
            ),
            EngineError::UnknownStandingAnswer => {
                Self::new(Code::NotFound, message, "`taskwarden inbox rules` lists the rules that answer.")
            }
            EngineError::AnswerNotKept => {
                Self::new(Code::Refused, message, "Remember the answer when the question is asked again.")
            }
            EngineError::NotSigned(_) => Self::new(
                Code::Failed,
                message,
                "Rows are recorded and are signed later. `taskwarden doctor` says where the key is kept and whether it can \
                 be read.",
            ),
            EngineError::LogBroken { .. } => Self::new(
                Code::Failed,
                message,
                "Rows are recorded all the same. Keep a copy of the data folder as evidence; `taskwarden audit verify --anchor \
                 PLACE` compares the rows with kept checkpoints. Then put a backup back, or go on from the rows that are \
                 there with `taskwarden audit checkpoint --new-epoch`, which is recorded.",
            ),
            EngineError::NoAnchor(_) => Self::new(
                Code::Refused,
                message,
                "`taskwarden audit anchors list` shows where checkpoints are copied to.",
            ),
            EngineError::NoEpoch { .. } => Self::new(
                Code::Refused,
                message,
                "A new epoch is for a log that goes on from an older copy of the registry. Pass `--force` if a checkpoint that \
                 lies elsewhere contradicts it.",
            ),
            EngineError::Sink(refused) => Self::of_sink(&refused, message),
            EngineError::Stopping => Self::new(Code::NoCore, message, "Start it again with `taskwarden serve`."),
        }
    }
}
