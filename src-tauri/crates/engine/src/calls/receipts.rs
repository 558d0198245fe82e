//! The receipt of a call while the agent waits for its first answer ([`OpenReceipt`]), and receipts of calls that were
//! refused before they reached the engine.
//!
//! Made with the call and left when it is answered, refused or dropped, so that each call leaves one. Nothing is waited for:
//! receipts wait in `connections/call_log.rs` and are stored by `tasks/audit_log/call_receipts.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::audit::receipt::{ReceiptOutcome, ReceiptVerdict};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{ArgumentsDigest, Receipt, UpstreamError};
use domain::task::payload::Payload;
use domain::time::Timestamp;

use crate::calls::agent_call::{AgentCall, CallOutcome};
use crate::connections::call_log::AgentCalls;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// A call that was answered or refused before it became a call of the engine.
#[derive(Debug)]
pub struct LocalCall<'a> {
    /// The agent that made the call.
    pub agent: AgentId,
    /// `None` when no server has the tool.
    pub server: Option<ServerId>,
    /// The name that the agent used.
    pub tool: &'a str,
    /// `None` when they do not read.
    pub arguments: Option<Payload>,
    /// Whether it was let through.
    pub verdict: ReceiptVerdict,
    /// What the agent got.
    pub outcome: ReceiptOutcome,
    /// From the request to its answer.
    pub took: Duration,
    /// The task that it is about.
    pub handle: Option<HandleId>,
}

impl Engine {
    /// Leaves the receipt of a call that never became a call of the engine.
    pub fn leave_receipt(&self, call: LocalCall<'_>) {
        let LocalCall { agent, server, tool, arguments, verdict, outcome, took, handle } = call;
        let core = &self.core;
        core.calls.loops.log.receipts.call_began();
        let receipt = Receipt {
            at: Timestamp::EPOCH,
            agent,
            server,
            tool: Arc::from(cut(tool, core.policy.audit.receipt_tool_bytes)),
            bytes_in: arguments.as_ref().map_or(0, Payload::bytes),
            arguments: arguments.map(ArgumentsDigest::of),
            verdict,
            outcome,
            took,
            bytes_out: 0,
            handle,
        };
        leave(core, &core.calls.loops.log.of(agent), receipt);
    }
}

/// The receipt of a call that has no answer yet. Dropped, it says that the agent got none.
pub(super) struct OpenReceipt<'a> {
    core: &'a EngineCore,
    /// Taken when the receipt is left.
    call: Option<OpenCall>,
}

struct OpenCall {
    calls: Arc<AgentCalls>,
    agent: AgentId,
    server: ServerId,
    tool: Arc<str>,
    arguments: ArgumentsDigest,
    bytes_in: u64,
    began: Instant,
}

impl<'a> OpenReceipt<'a> {
    pub(super) fn of(core: &'a EngineCore, calls: &Arc<AgentCalls>, call: &AgentCall) -> Self {
        core.calls.loops.log.receipts.call_began();
        let call = OpenCall {
            calls: Arc::clone(calls),
            agent: call.agent,
            server: call.server,
            tool: Arc::clone(&call.tool),
            arguments: call.digest.clone(),
            bytes_in: call.arguments.bytes(),
            began: Instant::now(),
        };
        Self { core, call: Some(call) }
    }

    /// Leaves the receipt with what the agent gets.
    pub(super) fn leave(mut self, answer: &Result<CallOutcome, EngineError>) {
        self.leave_with(answer_of(answer));
    }

    fn leave_with(&mut self, answer: ReceiptAnswer) {
        let Some(OpenCall { calls, agent, server, tool, arguments, bytes_in, began }) = self.call.take() else {
            return;
        };
        let ReceiptAnswer { verdict, outcome, bytes_out, handle } = answer;
        let most = self.core.policy.audit.receipt_tool_bytes;
        let tool = if tool.len() > most { Arc::from(cut(&tool, most)) } else { tool };
        let receipt = Receipt {
            at: Timestamp::EPOCH,
            agent,
            server: Some(server),
            tool,
            bytes_in,
            arguments: Some(arguments),
            verdict,
            outcome,
            took: began.elapsed(),
            bytes_out,
            handle,
        };
        leave(self.core, &calls, receipt);
    }
}

impl Drop for OpenReceipt<'_> {
    fn drop(&mut self) {
        let Some(agent) = self.call.as_ref().map(|call| call.agent) else { return };
        let has_access = self.core.access.has_access(agent);
        let verdict = if has_access { ReceiptVerdict::Allowed } else { ReceiptVerdict::NoAccess };
        self.leave_with(ReceiptAnswer::of(verdict, ReceiptOutcome::Cancelled));
    }
}

fn leave(core: &EngineCore, calls: &AgentCalls, receipt: Receipt) {
    calls.receipts.add(receipt, || core.time.now(), &core.policy.audit);
}

/// The beginning of a name that has at most so many bytes.
fn cut(name: &str, most: usize) -> &str {
    name.get(..name.floor_char_boundary(most)).unwrap_or(name)
}

/// What a receipt says of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReceiptAnswer {
    verdict: ReceiptVerdict,
    outcome: ReceiptOutcome,
    bytes_out: u64,
    handle: Option<HandleId>,
}

impl ReceiptAnswer {
    const fn of(verdict: ReceiptVerdict, outcome: ReceiptOutcome) -> Self {
        Self { verdict, outcome, bytes_out: 0, handle: None }
    }

    const fn sized(outcome: ReceiptOutcome, bytes_out: u64) -> Self {
        Self { bytes_out, ..Self::of(ReceiptVerdict::Allowed, outcome) }
    }

    const fn refused(verdict: ReceiptVerdict) -> Self {
        Self::of(verdict, ReceiptOutcome::Refused)
    }
}

fn answer_of(answer: &Result<CallOutcome, EngineError>) -> ReceiptAnswer {
    let unanswered = |outcome| ReceiptAnswer::of(ReceiptVerdict::Allowed, outcome);
    match answer {
        Ok(CallOutcome::Result { payload, is_error }) => {
            let outcome = if *is_error { ReceiptOutcome::ToolError } else { ReceiptOutcome::Result };
            ReceiptAnswer::sized(outcome, payload.bytes())
        }
        Ok(CallOutcome::Error { payload }) => ReceiptAnswer::sized(ReceiptOutcome::Error, payload.bytes()),
        Ok(CallOutcome::NeedsInput { whole }) => ReceiptAnswer::sized(ReceiptOutcome::Question, whole.bytes()),
        Ok(CallOutcome::Handle(id) | CallOutcome::Joined(id)) => {
            ReceiptAnswer { handle: Some(*id), ..unanswered(ReceiptOutcome::Task) }
        }
        Err(error) => match error {
            EngineError::Halted(_) => ReceiptAnswer::refused(ReceiptVerdict::Halted),
            EngineError::UnknownAgent => ReceiptAnswer::refused(ReceiptVerdict::NoAccess),
            EngineError::OverShare { .. }
            | EngineError::TooManyOpenCalls { .. }
            | EngineError::TooManyConnections { .. }
            | EngineError::TooManyWaiting { .. }
            | EngineError::OverQuota(_) => ReceiptAnswer::refused(ReceiptVerdict::OverLimit),
            EngineError::UnknownServer => ReceiptAnswer::refused(ReceiptVerdict::UnknownTool),
            EngineError::CannotRecord(_) | EngineError::Registry(_) => {
                ReceiptAnswer::refused(ReceiptVerdict::NotRecorded)
            }
            EngineError::Cancelled => unanswered(ReceiptOutcome::Cancelled),
            // The core ends while the call is in flight: what becomes of it nobody here will know.
            EngineError::ReplyLost(_) | EngineError::Stopping => unanswered(ReceiptOutcome::Lost),
            // The server answered, with a refusal and not with a reply.
            EngineError::Upstream(UpstreamError::Unauthorized { .. } | UpstreamError::RateLimited { .. }) => {
                unanswered(ReceiptOutcome::Error)
            }
            EngineError::NotConnected { .. } | EngineError::Upstream(_) => unanswered(ReceiptOutcome::NotSent),
            EngineError::Arguments(_) => ReceiptAnswer::refused(ReceiptVerdict::Invalid),
            // Of what people decide alone; a call of an agent has none of these.
            EngineError::UnknownHandle
            | EngineError::UnknownAlarm
            | EngineError::Refused(_)
            | EngineError::Frozen(_)
            | EngineError::NotHalted
            | EngineError::StageRefused(_)
            | EngineError::NoProcess(_)
            | EngineError::UnknownPlan
            | EngineError::PlanRefused(_)
            | EngineError::ControlNameTaken(_)
            | EngineError::TooManyControlTokens(_)
            | EngineError::UnknownControlToken
            | EngineError::ControlLimit(_)
            | EngineError::NoStandingAnswer(_)
            | EngineError::TooManyStandingAnswers { .. }
            | EngineError::UnknownStandingAnswer
            | EngineError::AnswerNotKept
            | EngineError::NotSigned(_)
            | EngineError::LogBroken { .. }
            | EngineError::NoAnchor(_)
            | EngineError::NoEpoch { .. }
            | EngineError::Sink(_)
            | EngineError::SignIn(_)
            | EngineError::Pause(_)
            | EngineError::Alarm(_)
            | EngineError::ArgumentsNotKept => ReceiptAnswer::refused(ReceiptVerdict::Invalid),
        },
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::RecordingFault;

    use super::*;

    fn said(answer: Result<CallOutcome, EngineError>) -> (&'static str, &'static str) {
        let ReceiptAnswer { verdict, outcome, .. } = answer_of(&answer);
        (verdict.word(), outcome.word())
    }

    #[test]
    fn a_receipt_says_what_the_agent_got_or_why_it_was_refused() {
        let payload = || Payload::new("{}");
        let id = HandleId::from_random(1);
        let gone = || UpstreamError::Unreachable { why: String::new(), hint: String::new() };
        assert_eq!(said(Ok(CallOutcome::Result { payload: payload(), is_error: false })), ("allowed", "result"));
        assert_eq!(said(Ok(CallOutcome::Result { payload: payload(), is_error: true })), ("allowed", "toolError"));
        assert_eq!(said(Ok(CallOutcome::Error { payload: payload() })), ("allowed", "error"));
        assert_eq!(said(Ok(CallOutcome::NeedsInput { whole: payload() })), ("allowed", "question"));
        assert_eq!(said(Ok(CallOutcome::Joined(id))), ("allowed", "task"));
        assert_eq!(answer_of(&Ok(CallOutcome::Handle(id))).handle, Some(id));
        assert_eq!(said(Err(EngineError::UnknownAgent)), ("noAccess", "refused"));
        assert_eq!(said(Err(EngineError::OverShare { most: 1 })), ("overLimit", "refused"));
        assert_eq!(said(Err(EngineError::CannotRecord(RecordingFault::DiskFull))), ("notRecorded", "refused"));
        assert_eq!(said(Err(EngineError::UnknownServer)), ("unknownTool", "refused"));
        assert_eq!(said(Err(EngineError::ReplyLost(gone()))), ("allowed", "lost"));
        assert_eq!(said(Err(EngineError::Upstream(gone()))), ("allowed", "notSent"));
        let refused = UpstreamError::Unauthorized { why: String::new(), hint: String::new() };
        assert_eq!(said(Err(EngineError::Upstream(refused))), ("allowed", "error"), "the server answered the call");
        assert_eq!(said(Err(EngineError::Cancelled)), ("allowed", "cancelled"));
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(cut("aéé", 2), "a");
        assert_eq!(cut("aéé", 3), "aé");
        assert_eq!(cut("short", 100), "short");
    }
}
