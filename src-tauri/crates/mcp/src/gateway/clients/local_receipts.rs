//! The receipt of a tool call for which the engine leaves none: one that the gateway refused, or that goes on with a task.
//!
//! It goes with the request and is left with its answer, or when the client goes first. A call that reaches the engine, and
//! one of the gateway's own tools, leaves none here: the first has its receipt from the engine, the second is a look at
//! tasks, and what it changes is in the audit log.

use domain::audit::receipt::{ReceiptOutcome, ReceiptVerdict};
use domain::ids::{HandleId, ServerId};
use domain::task::payload::Payload;
use engine::LocalCall;
use tokio::time::Instant;

use crate::gateway::request_context::RequestContext;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, RequestParams};

/// The receipt of a tool call until somebody else is known to leave it.
pub(crate) struct LocalReceipt<'a> {
    context: &'a RequestContext,
    params: &'a RequestParams,
    began: Instant,
    server: Option<ServerId>,
    /// The task with which it goes on.
    handle: Option<HandleId>,
    /// Why it was refused, where that is known before its error is.
    refused: Option<ReceiptVerdict>,
    answer: Option<(ReceiptVerdict, ReceiptOutcome)>,
    is_due: bool,
}

impl<'a> LocalReceipt<'a> {
    pub(crate) fn of(context: &'a RequestContext, params: &'a RequestParams) -> Self {
        let server = context.server;
        let (handle, refused, answer) = (None, None, None);
        Self { context, params, began: Instant::now(), server, handle, refused, answer, is_due: true }
    }

    /// The engine leaves it, or none is due.
    pub(crate) const fn cancel(&mut self) {
        self.is_due = false;
    }

    /// The tool is none that a server has, whatever the error says.
    pub(crate) const fn set_unknown(&mut self) {
        self.refused = Some(ReceiptVerdict::UnknownTool);
    }

    /// The call is refused for this, and leaves its receipt.
    pub(crate) fn refuse(mut self, kind: RequestErrorKind) {
        self.answer = Some((verdict(kind), ReceiptOutcome::Refused));
    }

    /// The call goes on with a task that is there already.
    pub(crate) const fn set_task(&mut self, server: ServerId, handle: HandleId) {
        (self.server, self.handle) = (Some(server), Some(handle));
    }

    /// The call is answered with this.
    pub(crate) fn answered(&mut self, answer: &Result<RawResult, RequestError>) {
        self.answer = Some(match answer {
            _ if self.handle.is_some() => (ReceiptVerdict::Allowed, ReceiptOutcome::Task),
            Ok(_) => (ReceiptVerdict::Allowed, ReceiptOutcome::Result),
            Err(error) => (self.refused.unwrap_or_else(|| verdict(error.kind)), ReceiptOutcome::Refused),
        });
    }
}

/// Why a call was refused, as its error says it.
const fn verdict(kind: RequestErrorKind) -> ReceiptVerdict {
    match kind {
        RequestErrorKind::Revoked => ReceiptVerdict::NoAccess,
        RequestErrorKind::TooOften | RequestErrorKind::Decided => ReceiptVerdict::OverLimit,
        RequestErrorKind::InvalidRequest
        | RequestErrorKind::MethodNotFound
        | RequestErrorKind::InvalidParams
        | RequestErrorKind::BadMeta
        | RequestErrorKind::Internal
        | RequestErrorKind::HeaderMismatch
        | RequestErrorKind::MissingCapability
        | RequestErrorKind::UnsupportedVersion
        | RequestErrorKind::OfTool(_) => ReceiptVerdict::Invalid,
    }
}

impl Drop for LocalReceipt<'_> {
    fn drop(&mut self) {
        if !self.is_due {
            return;
        }
        // Without an answer the client went first.
        let (verdict, outcome) = self.answer.unwrap_or(match self.handle {
            Some(_) => (ReceiptVerdict::Allowed, ReceiptOutcome::Task),
            None => (ReceiptVerdict::Allowed, ReceiptOutcome::Cancelled),
        });
        let arguments = self.params.get("arguments").filter(|arguments| arguments.starts_with('{'));
        self.context.state.engine.leave_receipt(LocalCall {
            agent: self.context.agent,
            server: self.server,
            tool: &self.params.text("name").unwrap_or_default(),
            arguments: arguments.map(Payload::new),
            verdict,
            outcome,
            took: self.began.elapsed(),
            handle: self.handle,
        });
    }
}
