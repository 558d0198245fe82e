//! Agent calls that left before the registry stopped recording: shown, joined and cancelled from memory.
//!
//! A call is listed when its row could not be written for the first time, until it is written or the reply went back
//! without one. New calls are refused in that time, so the list only shrinks. The call itself goes on in
//! `pending_call.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::ids::{AgentId, HandleId, JobKey, PersonId, ServerId};
use domain::ports::{CallError, CallReply};
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

/// A call in flight that could not be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrecordedCall {
    /// The handle it will have.
    pub id: HandleId,
    /// The server that the call was sent to.
    pub server: ServerId,
    /// The agent that made the call.
    pub agent: AgentId,
    /// The tool, by the server's name for it.
    pub tool: Arc<str>,
    /// When the call was sent.
    pub since: Timestamp,
}

/// What the caller of a detached call receives.
pub(crate) enum CallerReply {
    /// There is a row: watch it.
    Row(HandleId),
    /// The reply, without a row.
    Reply(Box<Result<CallReply, CallError>>),
    /// A person cancelled it.
    Cancelled,
}

/// The caller of a call that has no row yet.
pub(crate) struct WaitingCaller {
    pub(crate) facts: UnrecordedCall,
    job: JobKey,
    /// Empty or closed when nobody waits.
    recipient: Mutex<Option<oneshot::Sender<CallerReply>>>,
    /// Its row could not be written, and is not being written at this moment.
    is_waiting: AtomicBool,
    /// Somebody came to wait, or the row has to wait.
    changed: Notify,
    cancelled_by: Mutex<Option<PersonId>>,
    cancel_wanted: Notify,
}

impl WaitingCaller {
    pub(crate) fn new(facts: UnrecordedCall, job: JobKey, recipient: Option<oneshot::Sender<CallerReply>>) -> Self {
        Self {
            facts,
            job,
            recipient: Mutex::new(recipient),
            is_waiting: AtomicBool::new(false),
            changed: Notify::new(),
            cancelled_by: Mutex::new(None),
            cancel_wanted: Notify::new(),
        }
    }

    /// Tells the caller; false when nobody waits.
    pub(crate) fn tell(&self, news: CallerReply) -> bool {
        self.recipient.lock().take().is_some_and(|recipient| recipient.send(news).is_ok())
    }

    /// Whether nobody waits for it.
    fn is_alone(&self) -> bool {
        self.recipient.lock().as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// The row has to wait, or is tried again.
    pub(crate) fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Release);
        self.changed.notify_one();
    }

    /// Waits until a reply could be given without a row: somebody is there, and no row is being written.
    pub(crate) async fn until_answerable(&self) {
        while !self.is_waiting.load(Ordering::Acquire) || self.is_alone() {
            self.changed.notified().await;
        }
    }

    /// Waits until a person cancels it; says who.
    pub(crate) async fn cancelled(&self) -> Option<PersonId> {
        self.cancel_wanted.notified().await;
        self.cancelled_by.lock().clone()
    }
}

/// All calls that could not be recorded.
#[derive(Default)]
pub(crate) struct UnrecordedCalls(Mutex<HashMap<HandleId, Arc<WaitingCaller>>>);

impl UnrecordedCalls {
    pub(crate) fn add(&self, call: &Arc<WaitingCaller>) {
        self.0.lock().insert(call.facts.id, Arc::clone(call));
    }

    /// It has a row, or its reply was given back.
    pub(crate) fn remove(&self, id: HandleId) {
        self.0.lock().remove(&id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// What is listed, the oldest first.
    pub(crate) fn calls(&self) -> Vec<UnrecordedCall> {
        let mut calls: Vec<_> = self.0.lock().values().map(|call| call.facts.clone()).collect();
        calls.sort_by_key(|call| (call.since, call.id));
        calls
    }

    /// Takes the place of a caller that is gone, for the call with this job.
    pub(crate) fn join(&self, agent: AgentId, job: impl FnOnce() -> JobKey) -> Option<oneshot::Receiver<CallerReply>> {
        let calls = self.0.lock();
        if calls.is_empty() {
            return None;
        }
        let job = job();
        let call = calls.values().find(|call| call.facts.agent == agent && call.job == job && call.is_alone())?;
        let (tell, told) = oneshot::channel();
        *call.recipient.lock() = Some(tell);
        call.changed.notify_one();
        Some(told)
    }

    /// Cancels one; false when it is not listed.
    pub(crate) fn cancel(&self, id: HandleId, by: &PersonId) -> bool {
        let Some(call) = self.0.lock().get(&id).cloned() else { return false };
        *call.cancelled_by.lock() = Some(by.clone());
        call.cancel_wanted.notify_one();
        true
    }
}
