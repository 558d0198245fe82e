//! Receives requests: looks the agent up, has the right part answer, and ends everything of an agent without access.
//!
//! The listener checked the token; the agent is looked up again for every request, because a session may be older than a
//! revocation. Which part answers is `route.rs`. It looks into no result, and into params for the called tool's name
//! alone.

use std::pin::pin;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::PortFuture;
use engine::Passed;
use serde_json::value::RawValue;

use crate::gateway::Gateway;
use crate::gateway::calls::{call, forward, resumption, task_call};
use crate::gateway::clients::local_receipts::LocalReceipt;
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::{raw_json, result_dialect, result_uri};
use crate::gateway::listings::{discovery, merged};
use crate::gateway::model_text::access;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome;
use crate::gateway::route::{Route, TaskVerb, route};
use crate::gateway::subscriptions::{listen, log_level, session_listener};
use crate::gateway::tasks::{legacy_tasks, modern_tasks, result_resource, task_subscription};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Client, Principal, RawResult, Request, ResponseStream, ResumeRequest, Service, Session};

impl Service for Gateway {
    fn request(
        &self,
        client: Client,
        request: Request,
        stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(self.answer(client, request, None, stream))
    }

    fn resume(
        &self,
        client: Client,
        resumed: ResumeRequest,
        stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(async move {
            let (request, call) = resumption::read(resumed)?;
            self.answer(client, request, call, stream).await
        })
    }

    fn refused(&self, client: Client, request: Request, fault: &RequestError) {
        if request.method != CALL {
            return;
        }
        if let Ok(context) = self.state.context(client, &request) {
            // What a transport refuses as a fault of ours is over its limit of requests in work.
            let kind = if fault.kind == RequestErrorKind::Internal { RequestErrorKind::TooOften } else { fault.kind };
            LocalReceipt::of(&context, &request.params).refuse(kind);
        }
    }

    fn session_taken_up(&self, session: &Arc<Session>) {
        if let Some(principal) = session.principal().and_then(Principal::agent) {
            self.state.limits.add_session(principal.agent, session);
        }
        session_listener::start(&self.state, session);
    }

    fn expelled(&self, principal: Principal) -> PortFuture<'_, RequestError> {
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            let Some(principal) = principal.agent() else { return std::future::pending().await };
            let mut changes = state.engine.agents_watch();
            let token_made = || state.engine.agents().get(principal.agent).map(|agent| agent.token_made);
            let connected_with = token_made();
            while state.engine.agents().has_access(principal.agent) && token_made() == connected_with {
                if changes.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
            RequestError::revoked(access::of_ended(&state.engine, principal.agent))
        })
    }

    fn notification<'a>(
        &'a self,
        session: &'a Arc<Session>,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> PortFuture<'a, ()> {
        Box::pin(async move {
            if method == "notifications/initialized" {
                session_listener::start(&self.state, session);
            }
            forward::notification(&self.state, session, method, params).await;
        })
    }

    fn is_busy(&self, session: &Session) -> bool {
        self.state.notified_tasks.has_open(session)
    }

    /// The tasks of the session belong to its agent and stay.
    fn session_over(&self, session: &Session) {
        self.state.sessions.remove(session);
        self.state.notified_tasks.remove_session(session);
        if let Some(principal) = session.principal().and_then(Principal::agent) {
            self.state.limits.remove_session(&self.state.engine, principal.agent, session.id());
        }
    }
}

impl Gateway {
    /// Answers a request, or resumes `resumed`, which a client came back for.
    pub(super) async fn answer(
        &self,
        client: Client,
        request: Request,
        resumed: Option<HandleId>,
        stream: ResponseStream,
    ) -> Result<RawResult, RequestError> {
        let context = self.state.context(client, &request)?;
        let mut usage = UsageReport::new(&context);
        let is_call = resumed.is_none() && request.method == CALL;
        let admitted = self.state.limits.admit(&self.state.engine, context.agent, &context.meter);
        let _permit = match admitted {
            Ok(permit) => permit,
            Err(refused) => return Err(too_often(&context, &request, is_call, refused)),
        };
        // Everything but a call is boxed apart: every call would carry what it holds. Each is pinned here, because a
        // future that is passed by value is held twice.
        let answered = match resumed {
            None if is_call => {
                usage.begin_receipt(&request.params);
                let answered = {
                    let answering = pin!(call(&context, &request, &stream, &mut usage));
                    while_it_has_access(&context, answering).await
                };
                usage.leave_receipt(&answered);
                refusal_as_result(&context, &request, answered, &mut usage)
            }
            None => {
                let answering = Box::pin(other(&context, request, &stream, &mut usage));
                while_it_has_access(&context, answering).await
            }
            Some(id) => {
                usage.count_errors();
                let answering = Box::pin(resumption::call(&context, id, &stream, &mut usage));
                let answered = while_it_has_access(&context, answering).await;
                refusal_as_result(&context, &request, answered, &mut usage)
            }
        };
        usage.finish(&answered, stream.is_gone());
        answered
    }
}

/// The method of calls.
const CALL: &str = "tools/call";

/// The answer, or the one for agents without access: everything of an agent ends with it, open streams and held calls
/// too. A new token ends what was opened with the one before in the same way; the tasks go on.
async fn while_it_has_access(
    context: &RequestContext,
    answering: impl Future<Output = Result<RawResult, RequestError>> + Unpin,
) -> Result<RawResult, RequestError> {
    let engine = &context.state.engine;
    let answered = if context.has_access { context.meter.while_it_has_access(answering).await } else { None };
    // Access may have ended during the answer: then there is one answer, whatever came first.
    match answered {
        Some(answered) if engine.agents().has_access(context.agent) => answered,
        Some(_) | None => Err(RequestError::revoked(access::of_ended(engine, context.agent))),
    }
}

/// A refusal of ours as a result, where a call is answered with a tool result: a model reads results.
fn refusal_as_result(
    context: &RequestContext,
    request: &Request,
    answered: Result<RawResult, RequestError>,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    match answered {
        Err(fault)
            if matches!(fault.kind, RequestErrorKind::Decided | RequestErrorKind::Revoked)
                && request.method == CALL
                && !asks_for_task(context, request) =>
        {
            let tool = request.params.text("name").unwrap_or_default();
            let tool = context.server.map(|server| (server, tool.as_str()));
            let note = outcome::note(context, tool, &fault.message);
            usage.add(Passed::Handle(note.clone()));
            Ok(RawResult::Text(result_dialect::for_client(context, note)))
        }
        answered => answered,
    }
}

/// The refusal of a request that is over a limit; one of a call leaves a receipt.
fn too_often(context: &RequestContext, request: &Request, is_call: bool, refused: RequestError) -> RequestError {
    if is_call {
        LocalReceipt::of(context, &request.params).refuse(refused.kind);
    }
    refused
}

/// Whether a call asks for a task of 2025-11-25.
fn asks_for_task(context: &RequestContext, request: &Request) -> bool {
    context.session().is_some_and(|session| session.has_tasks()) && request.params.said("task").is_some()
}

async fn call(
    context: &RequestContext,
    request: &Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    usage.count_errors();
    request.params.check_unambiguous().inspect_err(|_| usage.add_local_call(&request.params))?;
    if asks_for_task(context, request) {
        return Box::pin(task_call::call(context, request, stream, usage)).await;
    }
    call::call(context, request, stream, usage).await
}

/// Answers everything but calls.
async fn other(
    context: &RequestContext,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    request.params.check_unambiguous()?;
    let route = route(&context.client, &request.method)?;
    if route != Route::Initialize {
        resumption::offer_request(&context.state, stream, &request);
    }
    let answered = match route {
        Route::Initialize => {
            if let Some(session) = context.session() {
                context.state.limits.add_session(context.agent, session);
            }
            discovery::initialize(context).await
        }
        Route::Discover => discovery::discover(context).await,
        Route::Ping => raw_json::serialize(&serde_json::json!({})),
        Route::Call => return call(context, &request, stream, usage).await,
        Route::Task(verb) => {
            usage.count_errors();
            return task(context, verb, request, stream, usage).await;
        }
        Route::List(kind) => merged::list(context, kind, request, stream, usage).await,
        Route::Listen => {
            let tasks = task_subscription::subscribe(context, &request).await?;
            listen::listen(context, request, tasks, stream).await
        }
        Route::Subscribe(on) => session_listener::subscribe(context, request, on).await,
        Route::SetLevel => log_level::set_level(context, request).await,
        Route::Forward => match result_uri::requested(&request) {
            Some(uri) => result_resource::read(context, &uri, &request.params, usage).await,
            None => return forward::readable(context, request, stream, usage).await,
        },
    };
    answered.map(RawResult::Raw)
}

async fn task(
    context: &RequestContext,
    verb: TaskVerb,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let params = &request.params;
    let raw = match (verb, context.session()) {
        (TaskVerb::Get, None) => modern_tasks::get(context, params, usage).await,
        (TaskVerb::Update, None) => modern_tasks::update(context, params).await,
        (TaskVerb::Cancel, None) => modern_tasks::cancel(context, params).await,
        (TaskVerb::Get, Some(_)) => legacy_tasks::get(context, params, usage).await,
        (TaskVerb::Cancel, Some(_)) => legacy_tasks::cancel(context, params, usage).await,
        (TaskVerb::Result, Some(session)) => {
            let ended = legacy_tasks::result(context, session, params, stream, usage).await;
            return ended.map(RawResult::Text);
        }
        (TaskVerb::List, Some(_)) => legacy_tasks::list(context, params, usage).await,
        (TaskVerb::Result | TaskVerb::List, None) | (TaskVerb::Update, Some(_)) => Err(RequestError::no_method()),
    };
    raw.map(RawResult::Raw)
}
