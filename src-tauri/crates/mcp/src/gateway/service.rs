//! Takes requests in: lets the agent in, finds who answers, and ends everything of an agent whose access is gone.
//!
//! The door has checked the token; here the agent is looked up again for every request, because a session may be
//! older than a decision. Who answers what is `route.rs`; what of it an agent's window holds is told by the tap that goes
//! with each request (`budget.rs`). It looks into no result, and into params for the name of a called tool alone.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{PortFuture, RegistryError, UpstreamError};
use engine::{EngineError, Passed};
use serde_json::value::RawValue;

use super::budget::Tap;
use super::guest::Guest;
use super::model_text::{access, ended, refused};
use super::route::{Route, TaskVerb, route};
use super::{
    Gate, Gateway, call, era, forward, legacy, legacy_tasks, merge, modern, outcome, resume, slices, subscribe,
};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Client, Principal, RawResult, Request, ResponseStream, ResumeRequest, Service, Session};

impl Service for Gateway {
    fn request(&self, client: Client, request: Request, seat: ResponseStream) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(self.answer(client, request, None, seat))
    }

    fn resume(&self, client: Client, resumed: ResumeRequest, seat: ResponseStream) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(async move {
            let (request, row) = resume::read(resumed)?;
            self.answer(client, request, row, seat).await
        })
    }

    fn session_taken_up(&self, session: &Arc<Session>) {
        if let Some(principal) = session.principal() {
            self.gate.limits.session_began(principal.agent, session);
        }
        subscribe::session_began(&self.gate, session);
    }

    fn expelled(&self, principal: Principal) -> PortFuture<'_, RequestError> {
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let mut changes = gate.engine.agents_watch();
            while gate.engine.agents().has_access(principal.agent) {
                if changes.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
            RequestError::revoked(access::of_revoked(&gate.engine, principal.agent))
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
                subscribe::session_began(&self.gate, session);
            }
            forward::notification(&self.gate, session, method, params).await;
        })
    }

    fn is_busy(&self, session: &Session) -> bool {
        legacy::is_busy(&self.gate, session)
    }

    fn session_over(&self, session: &Session) {
        subscribe::session_over(&self.gate, session);
        legacy::session_over(&self.gate, session);
        if let Some(principal) = session.principal() {
            self.gate.limits.session_over(&self.gate.engine, principal.agent, session.id());
        }
    }
}

impl Gateway {
    /// Answers a request, or goes on with the call that has this row.
    async fn answer(
        &self,
        client: Client,
        request: Request,
        row: Option<HandleId>,
        seat: ResponseStream,
    ) -> Result<RawResult, RequestError> {
        let gate = &self.gate;
        let guest = gate.guest(client, &request)?;
        let pass = gate.limits.enter(&gate.engine, guest.agent)?;
        let mut tap = Tap::new(gate, &guest);
        let call = plain_call(&guest, &request);
        let answering = async {
            match row {
                Some(row) => {
                    tap.shows_errors();
                    resume::call(gate, &guest, row, &seat, &mut tap).await
                }
                None => answer(gate, &guest, request, &seat, &mut tap).await,
            }
        };
        // Everything of an agent ends with its access: open streams and held calls too.
        let answered = if gate.engine.agents().has_access(guest.agent) {
            tokio::select! {
                biased;
                () = pass.out.cancelled() => None,
                answered = answering => Some(answered),
            }
        } else {
            drop(answering);
            None
        };
        // What was revoked meanwhile has one answer, whatever ended first.
        let answered = match answered {
            Some(answered) if gate.engine.agents().has_access(guest.agent) => answered,
            Some(_) | None => Err(RequestError::revoked(access::of_revoked(&gate.engine, guest.agent))),
        };
        let answered = match (answered, call) {
            (Err(fault), Some(tool)) if matches!(fault.kind, RequestErrorKind::Decided | RequestErrorKind::Revoked) => {
                let tool = guest.server.map(|server| (server, tool.as_str()));
                let words = outcome::note(gate, &guest, tool, &fault.message);
                tap.shows(Passed::Handle(words.clone()));
                Ok(RawResult::Text(era::result(&guest, words)))
            }
            (answered, _) => answered,
        };
        tap.close(&answered, seat.is_gone());
        answered
    }
}

impl Gate {
    /// Who asks.
    ///
    /// # Errors
    /// When nobody was let in, or there is no such agent.
    fn guest(&self, client: Client, request: &Request) -> Result<Guest, RequestError> {
        let agent = request.principal.and_then(|principal| Some((principal, self.engine.agents().get(principal.agent)?)));
        let (principal, agent) = agent.ok_or_else(|| RequestError::revoked(access::revoked(None, None)))?;
        if agent.revoked.is_some() {
            return Ok(Guest { agent: agent.id, server: principal.server, task_tools: false, client });
        }
        let program = client.program().map(|program| format!("{} {}", program.name, program.version));
        self.engine.agent_seen(agent.id, program.as_deref().map(str::trim));
        Ok(Guest { agent: agent.id, server: principal.server, task_tools: agent.task_tools, client })
    }

    /// Ends what is open of agents as soon as their access is gone.
    pub(super) async fn expel(&self) {
        let mut changes = self.engine.agents_watch();
        while changes.changed().await.is_ok() {
            for session in self.limits.expel(&self.engine) {
                let grace = self.policy.serving.end_grace;
                self.scope.spawn("session of an agent without access", async move {
                    // The calls that are held are told first: a session that is left answers nothing.
                    drop(tokio::time::timeout(grace, session.in_flight().emptied()).await);
                    session.leave();
                });
            }
        }
    }
}

/// The tool that is called, where the answer is a tool result, so that it can be told anything in words.
fn plain_call(guest: &Guest, request: &Request) -> Option<String> {
    let wants_task = || match guest.session() {
        Some(session) => session.has_tasks() && request.params.said("task").is_some(),
        None => false,
    };
    let is_plain = request.method == "tools/call" && !wants_task();
    is_plain.then(|| request.params.text("name").unwrap_or_default())
}

async fn answer(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let route = route(&guest.client, &request.method)?;
    if !matches!(route, Route::Initialize | Route::Call) {
        resume::at_request(gate, seat, &request);
    }
    let answered = match route {
        Route::Initialize => {
            if let Some(session) = guest.session() {
                gate.limits.session_began(guest.agent, session);
            }
            legacy::initialize(gate, guest, &request).await
        }
        Route::Discover => modern::discover(gate, guest).await,
        Route::Ping => result(&serde_json::json!({})),
        Route::Call => {
            tap.shows_errors();
            return match guest.session() {
                Some(session) if session.has_tasks() && request.params.said("task").is_some() => {
                    legacy::call(gate, guest, request, seat, tap).await
                }
                Some(_) | None => call::call(gate, guest, request, seat, tap).await,
            };
        }
        Route::Task(verb) => {
            tap.shows_errors();
            return task(gate, guest, verb, request, seat, tap).await;
        }
        Route::List(kind) => merge::list(gate, guest, kind, request, seat, tap).await,
        Route::Listen => {
            let tasks = modern::task_part(gate, guest, &request).await?;
            subscribe::listen(gate, guest, request, tasks, seat).await
        }
        Route::Subscribe(on) => subscribe::resource(gate, guest, request, on).await,
        Route::SetLevel => merge::set_level(gate, guest, request).await,
        Route::Forward => match slices::asked(&request) {
            Some(uri) => slices::read(gate, guest, &uri, &request.params, tap).await,
            None => return forward::shown(gate, guest, request, seat, tap).await,
        },
    };
    answered.map(RawResult::Raw)
}

async fn task(
    gate: &Arc<Gate>,
    guest: &Guest,
    verb: TaskVerb,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let params = &request.params;
    let raw = match (verb, guest.session()) {
        (TaskVerb::Get, None) => modern::get(gate, guest, params, tap).await,
        (TaskVerb::Update, None) => modern::update(gate, guest, params).await,
        (TaskVerb::Cancel, None) => modern::cancel(gate, guest, params).await,
        (TaskVerb::Get, Some(_)) => legacy_tasks::get(gate, guest, params, tap).await,
        (TaskVerb::Cancel, Some(_)) => legacy_tasks::cancel(gate, guest, params, tap).await,
        (TaskVerb::Result, Some(session)) => {
            let ended = legacy_tasks::result(gate, guest, session, params, seat, tap).await;
            return ended.map(RawResult::Text);
        }
        (TaskVerb::List, Some(_)) => legacy_tasks::list(gate, guest, params, tap).await,
        (TaskVerb::Result | TaskVerb::List, None) | (TaskVerb::Update, Some(_)) => Err(RequestError::no_method()),
    };
    raw.map(RawResult::Raw)
}

/// An object as a result.
pub(super) fn result<T: serde::Serialize>(result: &T) -> Result<Box<RawValue>, RequestError> {
    serde_json::value::to_raw_value(result)
        .map_err(|_| RequestError::new(RequestErrorKind::Internal, "the result could not be written"))
}

/// What the engine did not do, for an agent: never the words of a server's process or of the registry.
pub(super) fn fault(error: &EngineError) -> RequestError {
    let failed = |words: &str| RequestError::new(RequestErrorKind::OfTool(-32_000), words);
    let decided = |words: String| RequestError::new(RequestErrorKind::Decided, words);
    match error {
        EngineError::UnknownServer => RequestError::params(access::unknown_server()),
        EngineError::UnknownAgent => RequestError::revoked(access::revoked(None, None)),
        EngineError::TooManyConnections { most } => decided(refused::too_many_connections(*most)),
        EngineError::UnknownHandle => RequestError::unknown_task(),
        EngineError::NotConnected { .. } => failed(refused::not_connected()),
        EngineError::Arguments(error) => RequestError::params(error.to_string()),
        EngineError::Refused(refusal) => RequestError::params(refusal.to_string()),
        EngineError::OverShare { most } => decided(refused::over_share(*most)),
        EngineError::TooManyOpenCalls { most } => decided(refused::over_budget(*most)),
        EngineError::Upstream(error) => upstream(error),
        EngineError::ReplyLost(_) => failed(&ended::reply_lost()),
        EngineError::Registry(error) => unreadable(error),
        EngineError::CannotRecord(fault) => failed(&refused::cannot_record(*fault)),
        EngineError::OverQuota(quota) => decided(refused::over_quota(*quota)),
        EngineError::Cancelled => decided(refused::cancelled_unrecorded().to_owned()),
        EngineError::Stopping => failed(refused::stopping()),
    }
}

fn upstream(error: &UpstreamError) -> RequestError {
    let failed = |words: &str| RequestError::new(RequestErrorKind::OfTool(-32_000), words);
    match error {
        UpstreamError::Refused(error) => RequestError::new(RequestErrorKind::OfTool(error.code), error.message.clone()),
        UpstreamError::RateLimited { after } => failed(&refused::rate_limited(*after)),
        UpstreamError::Unauthorized { .. } => failed(refused::needs_sign_in()),
        UpstreamError::MissingCapability(_) => failed(refused::needs_capability()),
        UpstreamError::Unsupported(what) => failed(&refused::unsupported(what)),
        UpstreamError::Unreachable { .. } | UpstreamError::ChannelGone => failed(refused::unreachable()),
        UpstreamError::UnknownTask => RequestError::unknown_task(),
        UpstreamError::Unreadable { .. } => failed(refused::unreadable()),
    }
}

/// The registry could not; the details are for people.
pub(super) fn unreadable(error: &RegistryError) -> RequestError {
    tracing::warn!(%error, "the registry could not serve an agent");
    RequestError::new(RequestErrorKind::Internal, refused::no_registry())
}
