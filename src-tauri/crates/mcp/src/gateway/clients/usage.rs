//! Reports to the engine what each answered request put into its agent's window, once.
//!
//! One [`UsageReport`] goes with each request: whoever makes an answer says what it is, and `service.rs` finishes the
//! report with the answer. Nothing is read or counted here (that is `engine::budget`); which parts of an answer programs
//! show their models is decision 0014.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use domain::ids::{HandleId, ServerId};
use domain::task::payload::Payload;
use domain::task::{AgentView, ResultForm, TaskHandle, agent_task_times, agent_view};
use engine::{AgentCall, AgentTraffic, Passed};
use serde_json::value::RawValue;

use crate::gateway::clients::local_receipts::LocalReceipt;
use crate::gateway::clients::polls::{PollKey, PollVerdict};
use crate::gateway::conversion::modern_task;
use crate::gateway::conversion::modern_task::TaskEnd;
use crate::gateway::request_context::RequestContext;
use crate::server::rpc_error::RequestError;
use crate::server::{RawResult, RequestParams};

/// The server and task that something is about.
#[derive(Clone, Copy, Default)]
struct UsageSubject {
    server: Option<ServerId>,
    handle: Option<HandleId>,
}

/// A page of a list of tools as it goes out.
pub(crate) struct ReportedToolPage<'a> {
    /// The list as JSON text, without the gateway's own tools.
    pub(crate) list: &'a str,
    /// The gateway's own tools, which follow it.
    pub(crate) own: &'a [Box<RawValue>],
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

/// What one request put into its agent's window.
///
/// Dropped before it is finished, it reports the call alone: the client hung up, but its model wrote the call.
pub(crate) struct UsageReport<'a> {
    context: &'a RequestContext,
    subject: UsageSubject,
    call: Option<(Payload, UsageSubject)>,
    /// What is in the answer. Most answers hold one thing.
    passed: Option<Passed>,
    more: Vec<Passed>,
    counts_errors: bool,
    /// The receipt of a tool call, as far as the gateway leaves it.
    receipt: Option<LocalReceipt<'a>>,
}

impl<'a> UsageReport<'a> {
    pub(crate) const fn new(context: &'a RequestContext) -> Self {
        let subject = UsageSubject { server: None, handle: None };
        Self { context, subject, call: None, passed: None, more: Vec::new(), counts_errors: false, receipt: None }
    }

    /// This request is a tool call, which leaves a receipt.
    pub(crate) fn begin_receipt(&mut self, params: &'a RequestParams) {
        self.receipt = Some(LocalReceipt::of(self.context, params));
    }

    /// What is known of the receipt of this call; `None` where the gateway leaves none.
    pub(crate) const fn receipt(&mut self) -> Option<&mut LocalReceipt<'a>> {
        self.receipt.as_mut()
    }

    /// Leaves the receipt of this call with its answer, unless the engine does.
    pub(crate) fn leave_receipt(&mut self, answer: &Result<RawResult, RequestError>) {
        if let Some(mut receipt) = self.receipt.take() {
            receipt.answered(answer);
        }
    }

    /// The gateway leaves no receipt of this call.
    pub(crate) fn cancel_receipt(&mut self) {
        if let Some(mut receipt) = self.receipt.take() {
            receipt.cancel();
        }
    }

    /// A model reads the error of this request, if it ends with one.
    pub(crate) const fn count_errors(&mut self) {
        self.counts_errors = true;
    }

    pub(crate) const fn set_server(&mut self, server: ServerId) {
        self.subject.server = Some(server);
    }

    /// The answer is about this task; the call of this request, if there is one, is about none.
    pub(crate) fn set_task(&mut self, handle: &TaskHandle) {
        self.subject = UsageSubject { server: Some(handle.server), handle: Some(handle.id) };
    }

    /// The call of this request has become this task.
    pub(crate) fn set_call_task(&mut self, handle: &TaskHandle) {
        self.set_task(handle);
        if let Some((_, subject)) = &mut self.call {
            subject.handle = Some(handle.id);
        }
    }

    /// A model calls a server's tool. What counts are the agent's own params, with its name for the tool.
    pub(crate) fn add_call(&mut self, call: &AgentCall) {
        // The engine leaves its receipt.
        self.cancel_receipt();
        self.subject = UsageSubject { server: Some(call.server), handle: None };
        // A retry with answers is written by the client: the model wrote the call once.
        let written = call.agent_params.as_ref().filter(|_| call.continuation.is_none());
        self.call = written.map(|params| (params.clone(), self.subject));
    }

    /// A model called something that is no server's tool: one of the gateway's, or an unknown one.
    pub(crate) fn add_local_call(&mut self, params: &RequestParams) {
        let is_retry = params.said("inputResponses").is_some() || params.said("requestState").is_some();
        if let Some(whole) = params.shared().filter(|_| !is_retry && self.call.is_none()) {
            self.call = Some((Payload::new(whole), UsageSubject::default()));
        }
    }

    /// A model called a tool that no server has.
    pub(crate) fn add_unknown_tool(&mut self, params: &RequestParams) {
        if let Some(receipt) = &mut self.receipt {
            receipt.set_unknown();
        }
        self.add_local_call(params);
    }

    /// This is in the answer.
    pub(crate) fn add(&mut self, passed: Passed) {
        match &self.passed {
            None => self.passed = Some(passed),
            Some(_) => self.more.push(passed),
        }
    }

    /// The end of its task is in the answer, or is the answer.
    pub(crate) fn add_end(&mut self, end: &TaskEnd) {
        self.add(match end {
            TaskEnd::Result { text, form: ResultForm::Whole } => Passed::Result(text.clone()),
            TaskEnd::Result { text, form: ResultForm::Trimmed { .. } } => Passed::Slice(text.clone()),
            TaskEnd::Result { text, form: ResultForm::Slices } => Passed::Handle(text.clone()),
            TaskEnd::Note(text) => Passed::Handle(text.clone()),
            TaskEnd::Error(error) => Passed::Error(Payload::new(error.get())),
        });
    }

    /// A text of the gateway's about a task.
    pub(crate) fn add_note(&mut self, note: &RawValue) {
        self.add(Passed::Handle(Payload::new(note.get())));
    }

    /// The agent is shown its task without asking for it: as the answer to its call, or by a push, which may carry the
    /// result.
    pub(crate) fn add_shown_task(&mut self, handle: &TaskHandle, shown: &RawValue, with_result: bool) {
        self.record_poll(Some(handle.id), self.view_of(handle), Duration::ZERO, with_result);
        self.add_note(shown);
    }

    /// The agent polled its task and is answered this. Returns whether the same result was pushed to it before.
    pub(crate) fn add_poll(&mut self, handle: &TaskHandle, answer: &RawValue) -> bool {
        let hint = agent_task_times(handle, &self.context.state.policy).hint;
        let verdict = self.record_poll(Some(handle.id), self.view_of(handle), hint, false);
        self.add(Passed::Look { said: Payload::new(answer.get()), empty: verdict.is_empty, hasty: verdict.is_hasty });
        verdict.was_pushed
    }

    /// The agent polled the list of its tasks; `shown` stands for what it sees. At the endpoint of all servers such a poll
    /// is charged to no server, because waste is shown by server.
    pub(crate) fn add_list_poll(&mut self, shown: impl Hash, answer: Payload) {
        if let Some(server) = self.context.server {
            self.set_server(server);
        }
        let verdict = self.record_poll(None, hash(shown), self.context.state.policy.gateway.agent_poll, false);
        self.add(Passed::Look { said: answer, empty: verdict.is_empty, hasty: verdict.is_hasty });
    }

    /// One more page of the list of tasks.
    pub(crate) fn add_list_page(&mut self, answer: Payload) {
        if let Some(server) = self.context.server {
            self.set_server(server);
        }
        self.add(Passed::Handle(answer));
    }

    /// A page of a list of tools, as it is added to a report.
    pub(crate) fn tool_page(page: &ReportedToolPage<'_>) -> Passed {
        let tools = |list: &str| Payload::new(format!("{{\"tools\":{list}}}"));
        // A member that is no list has no tools.
        let list = if page.list.trim_start().starts_with('[') { page.list } else { "[]" };
        let own: Vec<&str> = page.own.iter().map(|tool| tool.get()).collect();
        let own = format!("[{}]", own.join(","));
        let ReportedToolPage { is_first, is_last, .. } = *page;
        Passed::Tools { list: tools(list), own: tools(&own), is_first, is_last }
    }

    /// The request is answered. An answer that nobody reads does not count.
    pub(crate) fn finish(mut self, answer: &Result<RawResult, RequestError>, is_gone: bool) {
        self.report_call();
        if is_gone {
            return;
        }
        match answer {
            Ok(_) => self.report_passed(),
            Err(fault) if self.counts_errors => {
                let error = match &fault.raw {
                    Some(raw) => Payload::new(&**raw),
                    None => Payload::new(fault.json().to_string()),
                };
                self.report(self.subject, Passed::Error(error));
            }
            Err(_) => {}
        }
    }

    /// What was sent without a request, on a stream.
    pub(crate) fn finish_push(mut self) {
        self.report_passed();
    }

    /// The interval to tell the agent with its answer: longer than the task's while the task goes on and the agent polls far
    /// more often. An ended task is told as it is, so that every read of it is the same.
    pub(crate) fn poll_interval(&self, handle: &TaskHandle) -> Duration {
        let policy = &self.context.state.policy;
        let hint = agent_task_times(handle, policy).hint;
        if agent_view(handle, self.context.state.clock.now()).is_terminal() {
            return hint;
        }
        self.context.state.polls.interval(&self.poll_key(Some(handle.id)), hint, policy.gateway.agent_poll_max)
    }

    fn record_poll(&self, handle: Option<HandleId>, view: u64, hint: Duration, pushed: bool) -> PollVerdict {
        let most = self.context.state.policy.gateway.polls_per_interval;
        self.context.state.polls.record(self.poll_key(handle), view, hint, most, pushed)
    }

    fn poll_key(&self, handle: Option<HandleId>) -> PollKey {
        (self.context.agent, self.context.session_name.clone(), handle)
    }

    /// A hash of what the agent sees of a task now: status, message, open questions, and the form of the result.
    fn view_of(&self, handle: &TaskHandle) -> u64 {
        let sight = agent_view(handle, self.context.state.clock.now());
        let keys = match &sight {
            AgentView::InputRequired { keys } => keys.as_slice(),
            AgentView::Working { .. }
            | AgentView::Completed
            | AgentView::Failed
            | AgentView::Cancelled
            | AgentView::Gone => &[],
        };
        let form = handle.form().filter(|_| sight == AgentView::Completed);
        hash((modern_task::status(&sight), modern_task::message(handle, &sight), keys, form))
    }

    fn report_passed(&mut self) {
        for passed in self.passed.take().into_iter().chain(std::mem::take(&mut self.more)) {
            self.report(self.subject, passed);
        }
    }

    fn report_call(&mut self) {
        if let Some((call, subject)) = self.call.take() {
            self.report(subject, Passed::Call(call));
        }
    }

    fn report(&self, subject: UsageSubject, what: Passed) {
        let UsageSubject { server, handle } = subject;
        let (agent, door, session) = (self.context.agent, self.context.server, self.context.session_name.clone());
        self.context.state.engine.saw(AgentTraffic { agent, door, session, server, handle, what });
    }
}

impl Drop for UsageReport<'_> {
    fn drop(&mut self) {
        self.report_call();
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
