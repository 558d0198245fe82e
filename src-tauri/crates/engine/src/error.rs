//! Why the engine did not do what was asked ([`EngineError`]), and why a handle did not change ([`LedgerError`]).
//!
//! Hints for people are added at the edge (`api`). Refusals are the domain's.

use domain::agent::alarm::AlarmRefused;
use domain::audit::log_sink::SinkRefused;
use domain::ids::HandleId;
use domain::ports::{ArgumentError, RecordingFault, RegistryError, SignInFault, UpstreamError};
use domain::server::halt::StageRefused;
use domain::server::pause::PauseRefused;
use domain::task::Refusal;
use domain::task::cancel::plan::PlanRefused;
use domain::task::input_request::standing_answer::NoStandingAnswer;

use crate::access::control::ControlLimit;
use crate::access::halt_gate::HaltReason;
use crate::tasks::stored_shares::Quota;

/// Why the engine did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No such server.
    #[error("there is no such server")]
    UnknownServer,
    /// No such agent, or it lost its access.
    #[error("this agent has no access")]
    UnknownAgent,
    /// Agents have too many connections of their own.
    #[error("too many agents have connections of their own to servers ({most})")]
    TooManyConnections {
        /// The most that may be open.
        most: usize,
    },
    /// No such task.
    #[error("there is no such task")]
    UnknownHandle,
    /// No such alarm, or it is forgotten.
    #[error("there is no such alarm")]
    UnknownAlarm,
    /// The server cannot be reached now.
    #[error("the server is not connected: {why}")]
    NotConnected {
        /// The reason, in one line.
        why: String,
        /// What a person can do.
        hint: String,
        /// Whether it stays so until a person does that; else it may pass by itself.
        waits_for_person: bool,
    },
    /// The arguments do not fit the tool.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The task's state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The agent uses its share of a server.
    #[error("this agent has as many calls open on this server as one agent may ({most})")]
    OverShare {
        /// The most that may be open.
        most: u64,
    },
    /// The server has as many calls open as it may.
    #[error("too many calls are open on this server ({most})")]
    TooManyOpenCalls {
        /// The most that may be open.
        most: u64,
    },
    /// The registry cannot record it, so it was not sent.
    #[error("the call was not sent, because {}", .0.reason())]
    CannotRecord(RecordingFault),
    /// A share of what is stored is used up, so it was not sent.
    #[error("the call was not sent: {}", .0.words())]
    OverQuota(Quota),
    /// A halt covers the call, so it was not sent.
    #[error("the call was not sent: {}", .0.words())]
    Halted(HaltReason),
    /// As many calls wait at the gate as may, so this one was not recorded and not sent.
    #[error("the call was not sent: {most} calls wait already until a person decides")]
    TooManyWaiting {
        /// The most that may wait.
        most: usize,
    },
    /// What the call was made with is gone.
    #[error("the arguments of the call are no longer kept")]
    ArgumentsNotKept,
    /// An alarm was not dismissed, or nothing was decided about its calls.
    #[error(transparent)]
    Alarm(#[from] AlarmRefused),
    /// A pause was not begun or ended.
    #[error(transparent)]
    Pause(#[from] PauseRefused),
    /// A halt covers the task, so its questions are not answered now.
    #[error("questions of this task are frozen: {}", .0.words())]
    Frozen(HaltReason),
    /// Nothing is halted.
    #[error("nothing is halted")]
    NotHalted,
    /// The way back from a halt goes stage by stage.
    #[error(transparent)]
    StageRefused(#[from] StageRefused),
    /// There is no process to end.
    #[error(transparent)]
    NoProcess(#[from] NoProcess),
    /// No such plan, or it is forgotten.
    #[error("there is no such plan")]
    UnknownPlan,
    /// The plan does not fit any more.
    #[error(transparent)]
    PlanRefused(#[from] PlanRefused),
    /// Names of control tokens in force differ.
    #[error("there is a control token `{0}` already")]
    ControlNameTaken(String),
    /// No more are added.
    #[error("there are {0} control tokens in force already")]
    TooManyControlTokens(usize),
    /// It is not known, or was never made.
    #[error("there is no such control token")]
    UnknownControlToken,
    /// A control token may not end as many tasks; nothing was asked.
    #[error(transparent)]
    ControlLimit(#[from] ControlLimit),
    /// A person cancelled the call before it had a row.
    #[error("a person cancelled the call")]
    Cancelled,
    /// The call was sent, and its reply can no longer arrive.
    #[error("the reply was lost: {0}")]
    ReplyLost(UpstreamError),
    /// The server refused, or answered something unreadable.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The registry could not read or write.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// This question cannot be answered automatically.
    #[error("this answer cannot become a rule: {0}")]
    NoStandingAnswer(NoStandingAnswer),
    /// As many rules answer as may.
    #[error("{most} rules answer automatically already")]
    TooManyStandingAnswers {
        /// The most that may stand.
        most: usize,
    },
    /// No rule of this id answers, or it was ended before.
    #[error("no rule of this id answers")]
    UnknownStandingAnswer,
    /// The content of the answer is not kept any more.
    #[error("the content of this answer is no longer kept")]
    AnswerNotKept,
    /// No checkpoint of the audit log can be made.
    #[error("the audit log cannot be signed: {0}")]
    NotSigned(String),
    /// The rows of the audit log do not lead from what was signed last to what would be signed.
    #[error("the audit log is not signed, because the checkpoint of row {row} does not hold: {why}")]
    LogBroken {
        /// The rows that the checkpoint covers.
        row: u64,
        /// What was found, in a sentence.
        why: String,
    },
    /// A place is not taken for copies of checkpoints, or is not one.
    #[error("{0}")]
    NoAnchor(String),
    /// Nothing contradicts the audit log, so that it needs no new epoch.
    #[error("the audit log is in epoch {epoch}, and no anchor contradicts it")]
    NoEpoch {
        /// The epoch that the log is in.
        epoch: u32,
    },
    /// A sink of the audit log is not added, changed or found.
    #[error(transparent)]
    Sink(#[from] SinkRefused),
    /// Nobody is signed in to a server, or out of it.
    #[error("{0}")]
    SignIn(SignInFault),
    /// The engine is shutting down.
    #[error("the core is stopping")]
    Stopping,
}

/// Why the process behind a task cannot be ended here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProcess {
    /// The server runs on another machine.
    #[error("its server does not run on this machine")]
    RunsElsewhere {
        /// Where it is reached; may hold secrets.
        url: String,
    },
    /// The process that ran it is gone, or was never started.
    #[error("the process that ran it is not running")]
    NotRunning,
}

/// Why a handle did not change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError<E> {
    /// There is no such handle.
    #[error("there is no such task")]
    Unknown,
    /// The decision was no.
    #[error("declined")]
    Declined(E),
    /// Another handle has this upstream task already.
    #[error("the task is here already")]
    Exists(HandleId),
    /// The registry could not.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl<E> From<LedgerError<E>> for EngineError
where
    EngineError: From<E>,
{
    fn from(error: LedgerError<E>) -> Self {
        match error {
            // A decision never moves a task to another id.
            LedgerError::Unknown | LedgerError::Exists(_) => Self::UnknownHandle,
            LedgerError::Declined(reason) => reason.into(),
            LedgerError::Registry(error) => Self::Registry(error),
        }
    }
}

impl From<std::convert::Infallible> for EngineError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
