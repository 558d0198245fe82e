//! The engine: the only place that awaits on behalf of the product.
//!
//! Loads a handle, asks `domain` for a transition, commits it, then performs its effects. Knows no MCP, no SQL and no
//! window: the outside comes in through the ports of `domain`. Start with `engine.rs`, then `tasks/ledger.rs`.

mod access;
mod attention;
mod budget;
mod calls;
mod connections;
mod core;
mod decisions;
mod engine;
mod error;
mod recovery;
pub mod runtime;
mod servers;
mod shutdown;
mod tasks;

pub use access::control::{ControlClaim, ControlLimit, ControlTokenRefused};
pub use access::halt_gate::{HaltReason, HaltState};
pub use access::presence::{AgentBridge, Presence};
pub use access::sessions::{AgentDoor, AgentSession};
pub use access::snapshot::AccessSnapshot;
pub use attention::standing_answers::RememberAnswer;
pub use budget::{AgentBudget, AgentTraffic, Conversation, Passed, PendingResult, PendingResultState, UsualResult};
pub use calls::admission::StartCall;
pub use calls::agent_call::{AgentCall, CallOutcome, HangUp};
pub use calls::receipts::LocalCall;
pub use calls::recording::RecordingState;
pub use calls::unrecorded::UnrecordedCall;
pub use connections::connection::RefusedQuestions;
pub use connections::freeze::FrozenProcesses;
pub use connections::lease::ConnectionLease;
pub use connections::observed::request_times::{
    FailedRequest, RequestFigures, RequestHistory, RequestKind, SpanFigures,
};
pub use connections::observed::server_log::{LogEntry, LogEvent, LogPage};
pub use connections::observed::tool_use::ToolUse;
pub use decisions::bulk::{NewPlan, RunPlan};
pub use decisions::escalate::ShutdownReach;
pub use decisions::halt::StartHalt;
pub use decisions::pause::{EndedPause, StartPause};
pub use domain::ports::arguments_digest;
pub use engine::{Draw, Engine, EngineParts};
pub use error::{EngineError, NoProcess};
pub use runtime::clock::SystemClock;
pub use runtime::gauges::{Gauge, GaugeUnit, Gauges};
pub use runtime::thread_activity::{ThreadActivity, activities};
pub use servers::open_connection::OpenConnection;
pub use servers::person_acts::process::ServerProcess;
pub use servers::person_acts::sign_in::{SignInStarted, SignInStatus};
pub use tasks::audit_log::anchors::{AnchorStatus, AnchorTrouble};
pub use tasks::audit_log::log_records::otlp_lines;
pub use tasks::audit_log::sinks::NewSink;
pub use tasks::feed::ChangeFrame;
pub use tasks::handle_watch::HandleWatch;
pub use tasks::ledger::LiveFacts;
pub use tasks::open_handles::FailingPolls;
pub use tasks::storage_limits::StorageLimits;
pub use tasks::stored_shares::{Quota, QuotaOwner, QuotaUnit};
pub use tasks::text_index::TextReach;
