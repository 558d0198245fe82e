//! Facts that must never be lost or changed afterwards.
//!
//! An event says who did what to which subject, when and why, without content: no arguments, answers, results,
//! secrets or upstream ids. The registry links each row to the one before by hash (ruling 8).

pub mod decision_origin;
pub mod log_sink;
pub mod receipt;
pub mod report;
mod unknown_word;

use std::fmt;

use crate::audit::decision_origin::DecisionOrigin;
use crate::ids::{AgentId, ControlTokenId, HandleId, PersonId, RequestKey, ServerId, StandingAnswerId};
use crate::time::Timestamp;

/// A standing answer that decided, in the version that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecidingRule {
    pub id: StandingAnswerId,
    /// The first one is 1.
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person of this machine.
    Person(PersonId),
    /// An agent through the gateway.
    Agent(AgentId),
    /// The server, by what it said.
    Server(ServerId),
    /// A part of Taskwarden, by module name.
    System(&'static str),
    /// What a person decided to answer whenever it is asked.
    Rule(DecidingRule),
    /// A supervisor program, by its control token.
    Control(ControlTokenId),
    /// A kind of actor that a newer version wrote, as it stands in the row. Only read, never written.
    Unknown(String),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => write!(f, "person:{id}"),
            Self::Agent(id) => write!(f, "agent:{id}"),
            Self::Server(id) => write!(f, "server:{id}"),
            Self::System(part) => write!(f, "system:{part}"),
            // Which rule it was is in the detail of the row.
            Self::Rule(_) => f.write_str("system:rule"),
            Self::Control(id) => write!(f, "control:{id}"),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

/// What was done. Closed; the words are part of the export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A call was admitted, before anything left the machine.
    Admitted,
    /// The server accepted it as a task.
    Accepted,
    /// A task was found in the server's list.
    Discovered,
    /// A person gave a task's id.
    Adopted,
    /// The reply can no longer arrive, or came and cannot be read.
    Unconfirmed,
    /// It ended, with the word in the note.
    Ended,
    /// The server contradicted its own terminal status.
    Contradiction,
    /// A question was opened.
    Asked,
    /// A question was withdrawn.
    Withdrawn,
    /// An answer was recorded; its delivery has begun.
    AnswerBegun,
    /// An answer reached the server, or was refused.
    AnswerEnded,
    /// A recorded answer was taken back before it left.
    AnswerUndone,
    /// A cancel was recorded; its delivery has begun.
    CancelBegun,
    /// A cancel was acknowledged or refused.
    CancelEnded,
    /// A handle was taken from its agent.
    Revoked,
    /// A task is no longer polled.
    Unwatched,
    /// A task became unreachable for good.
    Lost,
    /// A server was added.
    ServerAdded,
    /// A person agreed to contact it.
    ServerAllowed,
    /// A server was removed.
    ServerRemoved,
    /// A child process was started.
    ProcessStarted,
    /// A leftover process of an earlier run was ended, or a person ends the process of a server.
    ProcessEnded,
    /// An agent was added.
    AgentAdded,
    /// An agent lost its access.
    AgentRevoked,
    /// A rule was put or taken away.
    RuleChanged,
    /// A handle was released to its agent.
    Given,
    /// The agent of a task is gone.
    Orphaned,
    /// A result is held back from its agent until a person decides.
    ResultHeld,
    /// A person let a held result go to its agent.
    ResultReleased,
    /// A person withheld a result from its agent.
    ResultWithheld,
    /// A task or a window went past a limit of tokens, or a task reached a limit of time.
    OverLimit,
    /// A person let a task continue past its limit of tokens, or allowed it more time.
    LimitLifted,
    /// How an agent's tokens are counted was changed, or its window was declared empty.
    BudgetChanged,
    /// Retention removed payloads or tasks.
    StorageCleaned,
    /// How long what is stored is kept was changed.
    StorageChanged,
    /// Old audit rows were removed; the note is their tombstone.
    SegmentRemoved,
    /// The session of a browser was ended by a person.
    SessionRevoked,
    /// How a server is reached was changed by a person.
    ServerChanged,
    /// A person closes the connection to a server, or restarts its process, to open it anew.
    ServerRestarted,
    /// An agent was given a new token; the one before opens nothing any more.
    AgentTokenReplaced,
    /// Work was stopped in chosen places, by a person or by the file `HALT`.
    Halted,
    /// A person let halted work begin again, up to the stage in the note.
    Resumed,
    /// A person took a step to end a task that reaches beyond it; the note says which.
    Escalated,
    /// A plan was run: each of its tasks is asked to end.
    BulkBegun,
    /// The run of a plan ended; the note says how many tasks were asked.
    BulkEnded,
    /// A person made a control token; the note names it.
    ControlTokenAdded,
    /// A person revoked a control token.
    ControlTokenRevoked,
    /// A control token asked for more tasks than it may end, and nothing was asked.
    ControlLimited,
    /// Servers in a file of an agent program were routed through Taskwarden, or taken back; the note says which.
    ClientFileChanged,
    /// A person asked for a checkpoint of the audit log.
    Checkpointed,
    /// A person exported rows of the audit log; the note says which, and how.
    Exported,
    /// A new key signs the audit log, because the one before was not there any more; the note names both.
    SigningKeyReplaced,
    /// A person named a place to which checkpoints are copied; the note names it.
    AnchorAdded,
    /// A person ended the copies to a place; what lies there stays.
    AnchorRemoved,
    /// A person began to sign in to a server.
    SignInBegun,
    /// A person is signed in to a server; the note names the issuer and the permissions.
    SignedIn,
    /// A person signed out of a server.
    SignedOut,
    /// An agent did something again and again, and people were told; the note says what.
    AlarmRaised,
    /// The agent stopped doing it by itself.
    AlarmEnded,
    /// A person dismissed an alarm.
    AlarmDismissed,
    /// Agents made calls; the note names their receipts and the root over them.
    Called,
    /// Calls of this time may have left no receipt; the note says when and why.
    ReceiptsMissing,
    /// New calls of an agent wait from here on, or the processes of a server are frozen; the note says which.
    PauseBegun,
    /// A person ended a pause; the note says which of the waiting calls are sent.
    PauseEnded,
    /// A person named a collector that rows of the audit log are sent to; the note says which, and from which row on.
    SinkAdded,
    /// A person ended sending to a collector.
    SinkRemoved,
    /// A person resumed a collector that was paused, perhaps with new headers; the note says which.
    SinkResumed,
    /// A server lists other tools than a person last saw, or defines them otherwise; the note names them.
    ToolsChanged,
    /// A person marked the tools of a server as seen; the note names those that were new to people.
    ToolsSeen,
    /// A person began a new epoch of the log, because an older copy of the registry was put back; the note says where and
    /// why.
    EpochBegun,
    /// A sign-in to a server failed; the note says why.
    SignInFailed,
    /// What came of a person's end or restart of a server; the note says what was seen of its processes.
    ServerActEnded,
    /// A word that a newer version wrote, as it stands in the row. Only read, never written.
    Unknown(&'static str),
}

impl Verb {
    pub const ALL: [Self; 72] = [
        Self::Admitted,
        Self::Accepted,
        Self::Discovered,
        Self::Adopted,
        Self::Unconfirmed,
        Self::Ended,
        Self::Contradiction,
        Self::Asked,
        Self::Withdrawn,
        Self::AnswerBegun,
        Self::AnswerEnded,
        Self::AnswerUndone,
        Self::CancelBegun,
        Self::CancelEnded,
        Self::Revoked,
        Self::Unwatched,
        Self::Lost,
        Self::ServerAdded,
        Self::ServerAllowed,
        Self::ServerRemoved,
        Self::ProcessStarted,
        Self::ProcessEnded,
        Self::AgentAdded,
        Self::AgentRevoked,
        Self::RuleChanged,
        Self::Given,
        Self::Orphaned,
        Self::ResultHeld,
        Self::ResultReleased,
        Self::ResultWithheld,
        Self::OverLimit,
        Self::LimitLifted,
        Self::BudgetChanged,
        Self::StorageCleaned,
        Self::StorageChanged,
        Self::SegmentRemoved,
        Self::SessionRevoked,
        Self::ServerChanged,
        Self::ServerRestarted,
        Self::AgentTokenReplaced,
        Self::Halted,
        Self::Resumed,
        Self::Escalated,
        Self::BulkBegun,
        Self::BulkEnded,
        Self::ControlTokenAdded,
        Self::ControlTokenRevoked,
        Self::ControlLimited,
        Self::ClientFileChanged,
        Self::Checkpointed,
        Self::Exported,
        Self::SigningKeyReplaced,
        Self::AnchorAdded,
        Self::AnchorRemoved,
        Self::SignInBegun,
        Self::SignedIn,
        Self::SignedOut,
        Self::AlarmRaised,
        Self::AlarmEnded,
        Self::AlarmDismissed,
        Self::Called,
        Self::ReceiptsMissing,
        Self::PauseBegun,
        Self::PauseEnded,
        Self::SinkAdded,
        Self::SinkRemoved,
        Self::SinkResumed,
        Self::ToolsChanged,
        Self::ToolsSeen,
        Self::EpochBegun,
        Self::SignInFailed,
        Self::ServerActEnded,
    ];

    /// The word of the export format.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Accepted => "accepted",
            Self::Discovered => "discovered",
            Self::Adopted => "adopted",
            Self::Unconfirmed => "unconfirmed",
            Self::Ended => "ended",
            Self::Contradiction => "contradiction",
            Self::Asked => "asked",
            Self::Withdrawn => "withdrawn",
            Self::AnswerBegun => "answerBegun",
            Self::AnswerEnded => "answerEnded",
            Self::AnswerUndone => "answerUndone",
            Self::CancelBegun => "stopBegun",
            Self::CancelEnded => "stopEnded",
            Self::Revoked => "revoked",
            Self::Unwatched => "unwatched",
            Self::Lost => "lost",
            Self::ServerAdded => "serverAdded",
            Self::ServerAllowed => "serverAllowed",
            Self::ServerRemoved => "serverRemoved",
            Self::ProcessStarted => "processStarted",
            Self::ProcessEnded => "processEnded",
            Self::AgentAdded => "agentAdded",
            Self::AgentRevoked => "agentRevoked",
            Self::RuleChanged => "ruleChanged",
            Self::Given => "given",
            Self::Orphaned => "orphaned",
            Self::ResultHeld => "resultHeld",
            Self::ResultReleased => "resultReleased",
            Self::ResultWithheld => "resultWithheld",
            Self::OverLimit => "overLimit",
            Self::LimitLifted => "limitLifted",
            Self::BudgetChanged => "budgetChanged",
            Self::StorageCleaned => "storageCleaned",
            Self::StorageChanged => "storageChanged",
            Self::SegmentRemoved => "segmentRemoved",
            Self::SessionRevoked => "sessionRevoked",
            Self::ServerChanged => "serverChanged",
            Self::ServerRestarted => "serverRestarted",
            Self::AgentTokenReplaced => "agentTokenReplaced",
            Self::Halted => "halted",
            Self::Resumed => "resumed",
            Self::Escalated => "escalated",
            Self::BulkBegun => "bulkBegun",
            Self::BulkEnded => "bulkEnded",
            Self::ControlTokenAdded => "controlTokenAdded",
            Self::ControlTokenRevoked => "controlTokenRevoked",
            Self::ControlLimited => "controlLimited",
            Self::ClientFileChanged => "clientFileChanged",
            Self::Checkpointed => "checkpointed",
            Self::Exported => "exported",
            Self::SigningKeyReplaced => "signingKeyReplaced",
            Self::AnchorAdded => "anchorAdded",
            Self::AnchorRemoved => "anchorRemoved",
            Self::SignInBegun => "signInBegun",
            Self::SignedIn => "signedIn",
            Self::SignedOut => "signedOut",
            Self::AlarmRaised => "alarmRaised",
            Self::AlarmEnded => "alarmEnded",
            Self::AlarmDismissed => "alarmDismissed",
            Self::Called => "called",
            Self::ReceiptsMissing => "receiptsMissing",
            Self::PauseBegun => "pauseBegun",
            Self::PauseEnded => "pauseEnded",
            Self::SinkAdded => "sinkAdded",
            Self::SinkRemoved => "sinkRemoved",
            Self::SinkResumed => "sinkResumed",
            Self::ToolsChanged => "toolsChanged",
            Self::ToolsSeen => "toolsSeen",
            Self::EpochBegun => "epochBegun",
            Self::SignInFailed => "signInFailed",
            Self::ServerActEnded => "serverActEnded",
            Self::Unknown(word) => word,
        }
    }

    /// The verb with this word; one that this version does not know is kept as it is.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        let known = Self::ALL.into_iter().find(|verb| verb.word() == word);
        known.unwrap_or_else(|| Self::Unknown(unknown_word::kept(word)))
    }
}

/// To what it was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Handle(HandleId),
    /// One question of a task.
    Request(HandleId, RequestKey),
    Server(ServerId),
    Agent(AgentId),
    /// The registry itself, or the core where a fact has no other subject.
    Store,
    /// A kind of subject that a newer version wrote, as it stands in the row. Only read, never written.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// When, by our clock.
    pub at: Timestamp,
    pub actor: Actor,
    pub verb: Verb,
    pub subject: Subject,
    /// A short sentence without content, such as `working -> completed` or a person's reason.
    pub note: String,
}

impl AuditEvent {
    /// How it came in, when a person decided it.
    #[must_use]
    pub fn origin(&self) -> Option<&DecisionOrigin> {
        match &self.actor {
            Actor::Person(person) => person.origin(),
            Actor::Agent(_)
            | Actor::Server(_)
            | Actor::System(_)
            | Actor::Rule(_)
            | Actor::Control(_)
            | Actor::Unknown(_) => None,
        }
    }

    /// The rule that decided, when one did.
    #[must_use]
    pub const fn rule(&self) -> Option<DecidingRule> {
        match &self.actor {
            Actor::Rule(rule) => Some(*rule),
            Actor::Person(_)
            | Actor::Agent(_)
            | Actor::Server(_)
            | Actor::System(_)
            | Actor::Control(_)
            | Actor::Unknown(_) => None,
        }
    }
}
