//! The tap: what of every answered request stands in its agent's window is told to the engine, once.
//!
//! One [`Tap`] goes with each request. Who makes an answer says what it is ([`Tap::shows`], [`Tap::ended`]); `service.rs`
//! closes the tap with the answer, and only what went to somebody counts. A call counts however it ends: the model wrote
//! it. Texts are handed over by reference, or copied where they are ours or small; nothing is read here and nothing is
//! counted (that is `engine::budget`). Looks are `budget/looks.rs`, lists of tools `budget/shelf.rs`; what hosts show
//! their models at all is decision 0014.

mod looks;
mod shelf;

use std::sync::Arc;

use domain::task::{ResultForm, TaskHandle};
use domain::ids::{HandleId, ServerId};
use domain::task::payload::Payload;
use engine::{AgentCall, AgentTraffic, Passed};
use serde_json::value::RawValue;

pub(crate) use self::looks::Looks;
pub(super) use self::shelf::Page;
use super::Gate;
use super::guest::Guest;
use super::wire::End;
use crate::server::rpc_error::RequestError;
use crate::server::{RawResult, RequestParams};

/// What something is about.
#[derive(Clone, Copy, Default)]
struct About {
    server: Option<ServerId>,
    handle: Option<HandleId>,
}

/// What passes in one request. Dropped before it is closed, only the call counts: its agent hung up.
pub(super) struct Tap<'a> {
    gate: &'a Gate,
    guest: &'a Guest,
    about: About,
    call: Option<(Payload, About)>,
    shown: Vec<Passed>,
    shows_errors: bool,
}

impl<'a> Tap<'a> {
    /// A tap for one request.
    pub(super) const fn new(gate: &'a Gate, guest: &'a Guest) -> Self {
        let about = About { server: None, handle: None };
        Self { gate, guest, about, call: None, shown: Vec::new(), shows_errors: false }
    }

    /// This request is one whose error a model reads.
    pub(super) const fn shows_errors(&mut self) {
        self.shows_errors = true;
    }

    /// It is about this server.
    pub(super) const fn at(&mut self, server: ServerId) {
        self.about.server = Some(server);
    }

    /// A model calls a tool of a server. What goes along with the call are the agent's own params, with its name for it.
    pub(super) fn calls(&mut self, call: &AgentCall) {
        self.about = About { server: Some(call.server), handle: None };
        // A retry with answers is its client's: the model wrote the call once.
        let written = call.agent_params.as_ref().filter(|_| call.continuation.is_none());
        self.call = written.map(|params| (params.clone(), self.about));
    }

    /// A model called something that is no tool of a server: one of ours, or one that nobody knows.
    pub(super) fn called_here(&mut self, params: &RequestParams) {
        let is_retry = params.said("inputResponses").is_some() || params.said("requestState").is_some();
        if let Some(raw) = params.raw().filter(|_| !is_retry && self.call.is_none()) {
            self.call = Some((Payload::new(raw.get()), About::default()));
        }
    }

    /// The call of this request has this task.
    pub(super) fn becomes(&mut self, handle: &TaskHandle) {
        self.about(handle);
        if let Some((_, about)) = &mut self.call {
            about.handle = Some(handle.id);
        }
    }

    /// It is about this task; the call of this request, if there is one, is about none.
    pub(super) fn about(&mut self, handle: &TaskHandle) {
        self.about = About { server: Some(handle.server), handle: Some(handle.id) };
    }

    /// This is in the answer.
    pub(super) fn shows(&mut self, passed: Passed) {
        self.shown.push(passed);
    }

    /// The end of its task is in the answer, or is the answer.
    pub(super) fn ended(&mut self, end: &End) {
        self.shown.push(match end {
            End::Result { text, form: ResultForm::Whole } => Passed::Result(text.clone()),
            End::Result { text, form: ResultForm::Trimmed { .. } } => Passed::Slice(text.clone()),
            End::Result { text, form: ResultForm::Slices } => Passed::Handle(text.clone()),
            End::Note(text) => Passed::Handle(text.clone()),
            End::Error(error) => Passed::Error(Payload::new(error.get())),
        });
    }

    /// A text of ours about a task: its handle, or a note.
    pub(super) fn handle(&mut self, said: &RawValue) {
        self.shown.push(Passed::Handle(Payload::new(said.get())));
    }

    /// The request is answered. What nobody reads does not count.
    pub(super) fn close(mut self, answer: &Result<RawResult, RequestError>, is_gone: bool) {
        let shown = std::mem::take(&mut self.shown);
        self.tell_call();
        if is_gone {
            return;
        }
        match answer {
            Ok(_) => shown.into_iter().for_each(|passed| self.tell(passed)),
            Err(fault) if self.shows_errors => {
                let error = match &fault.raw {
                    Some(raw) => Payload::new(Arc::clone(raw)),
                    None => Payload::new(fault.json().to_string()),
                };
                self.tell(Passed::Error(error));
            }
            Err(_) => {}
        }
    }

    /// What was said without an answer, on a stream.
    pub(super) fn pushed(mut self) {
        for passed in std::mem::take(&mut self.shown) {
            self.tell(passed);
        }
    }

    fn tell_call(&mut self) {
        if let Some((call, about)) = self.call.take() {
            self.gate.engine.saw(self.seen(about, Passed::Call(call)));
        }
    }

    fn tell(&self, passed: Passed) {
        self.gate.engine.saw(self.seen(self.about, passed));
    }

    fn seen(&self, about: About, what: Passed) -> AgentTraffic {
        let About { server, handle } = about;
        let (agent, door, session) = (self.guest.agent, self.guest.server, self.guest.session_name());
        AgentTraffic { agent, door, session, server, handle, what }
    }
}

impl Drop for Tap<'_> {
    fn drop(&mut self) {
        self.tell_call();
    }
}

/// The client said hello: a conversation may begin. What program it is was told with the request (`service.rs`).
pub(super) fn begins(gate: &Gate, guest: &Guest) {
    gate.engine.session_began(guest.agent, guest.server, guest.session_name(), None);
}
