//! A call of an agent that is in the air: how it gets its row, and how it goes on when its caller is gone.
//!
//! Until it needs a row it lives in the future of its caller, without a task of its own; then it becomes a job of the
//! supervisor, which records it, tells the caller, and flies on like a person's call (`admission.rs`). Dropped before
//! that, it is left alone: cancelled, or kept with a row for a repeated call. Nothing is sent twice.

use std::sync::Arc;

use domain::audit::Actor;
use domain::task::{Home, NewCall, TaskHandle, Transition};
use domain::ids::{HandleId, JobKey, PersonId};
use domain::ports::{CallError, CallIntent, CallReply, CallRequest, CommitError, RegistryError, UpstreamError};
use domain::rule::{AudienceRule, ResolvedRule};
use domain::time::Timestamp;
use futures::future::{BoxFuture, Either, select};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::admission::{self, Landing};
use crate::agent_call::{AgentCall, HangUp};
use crate::company::Company;
use crate::core::{Core, then};
use crate::flight::Flight;
use crate::lines::{LineHold, Way};
use crate::post::Post;
use crate::unrecorded::{News, PendingCall, UnrecordedCall};
use crate::{given, kin, recording};

/// The call itself, until its reply.
pub(crate) type Flying = BoxFuture<'static, Result<CallReply, CallError>>;

/// Who hears that there is a row.
pub(crate) enum Told {
    /// The caller, who may hang up meanwhile.
    Caller(oneshot::Sender<News>),
    /// Nobody: the caller hung up before.
    Nobody,
}

/// Everything that is known of an agent's call in the air.
pub(crate) struct Errand {
    core: Arc<Core>,
    post: Arc<Post>,
    flight: Arc<Flight>,
    /// Keeps the agent's line while the call is in the air.
    _hold: LineHold,
    id: HandleId,
    call: AgentCall,
    rules: ResolvedRule,
    digest: Arc<str>,
    begun: Timestamp,
    took_off: Instant,
}

impl Errand {
    pub(crate) fn new(
        core: &Arc<Core>,
        way: Way,
        flight: Arc<Flight>,
        id: HandleId,
        call: AgentCall,
        rules: ResolvedRule,
        digest: Arc<str>,
    ) -> Self {
        let Way { post, live: _, hold } = way;
        let (begun, took_off) = (core.now(), Instant::now());
        Self { core: Arc::clone(core), post, flight, _hold: hold, id, call, rules, digest, begun, took_off }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn post(&self) -> &Post {
        &self.post
    }

    /// Writes the intent, without waiting (ruling 21).
    pub(crate) fn begin(&self) {
        self.core.intents.begin(CallIntent {
            id: self.id,
            server: self.call.server,
            seat: self.post.line.seat,
            agent: self.call.agent,
            tool: Arc::clone(&self.call.tool),
            arguments_digest: Arc::clone(&self.digest),
            at: self.begun,
            host: self.core.host,
        });
    }

    /// It is over without a row.
    fn end(&self) {
        self.flight.is_over();
        self.post.landed(self.id);
        let _ = self.post.take_progress(self.id);
        self.core.intents.end(self.id);
        self.flight.live.upstream.taken(self.id);
    }

    /// Whether this reply must be remembered: a task, a question that is asked here, a result that a person looks at
    /// first or that may be larger than allowed, or anything when the agent wants a task.
    pub(crate) fn needs_row(&self, reply: &CallReply) -> bool {
        match reply {
            CallReply::Task { .. } => true,
            CallReply::Result { .. } | CallReply::Error { .. } if self.call.own_task || self.rules.hold_results => true,
            CallReply::Result { payload, .. } => self.core.budget.may_hold(&self.call, (payload, false)),
            CallReply::Error { payload, .. } => self.core.budget.may_hold(&self.call, (payload, true)),
            CallReply::NeedsInput { questions, .. } => {
                // One question for people keeps the round here: the agent is asked for the rest alone.
                let agents = !questions.is_empty() && questions.values().all(|ask| !ask.is_for_people());
                let relayed = self.call.relay_rounds && (agents || self.rules.asked == AudienceRule::Agent);
                !relayed
            }
        }
    }

    /// The row as it is born. Its reply counts as undelivered until somebody says otherwise: then a repeated call joins
    /// it even when the core ends in this moment.
    fn born(&self, kin: kin::Kin, reply: Option<&Result<CallReply, CallError>>, home: &Home) -> Transition {
        let (core, call, now) = (&self.core, &self.call, self.core.now());
        let new = NewCall {
            id: self.id,
            server: call.server,
            agent: Some(call.agent),
            by: Actor::Agent(call.agent),
            tool: Arc::clone(&call.tool),
            arguments: call.arguments.clone(),
            arguments_digest: Arc::clone(&self.digest),
            usual: kin.usual,
            usual_late_min: self.core.policy.usual_late_min,
            limit: call.limit,
            host: core.host,
            home: self.flight.live.home.clone(),
            seat: self.post.line.seat,
            audience: self.rules.asked.audience(self.begun),
            parent: kin.parent,
            trace: call.trace.clone(),
            job: Some(self.job()),
            attempt: kin.attempt,
            hold: self.rules.hold_results,
            agent_ttl: call.agent_ttl,
        };
        let admitted = TaskHandle::admit(new, self.begun);
        let replied = match reply {
            None => admitted,
            Some(Ok(reply)) => {
                let reply = admission::without_bare_failure(reply);
                then(admitted, |next| next.replied(&reply, home, now, &core.policy))
            }
            Some(Err(error)) => then(admitted, |next| next.reply_lost(&error.to_string(), now)),
        };
        let given = match reply {
            Some(Ok(CallReply::Task { .. })) => true,
            Some(_) | None => self.call.own_task,
        };
        if given { admission::released(replied, now) } else { then(replied, |next| next.undeliver(now)) }
    }

    fn job(&self) -> JobKey {
        JobKey::of(self.call.server, &self.call.tool, &self.digest)
    }

    /// Whether a reply may go to its agent without a row when there can be none.
    fn may_go_unrecorded(&self, reply: &Result<CallReply, CallError>) -> bool {
        match reply {
            Ok(reply) => !self.needs_row(reply),
            Err(_) => true,
        }
    }

    /// The call as it is known while it has no row.
    fn pending(&self, told: Told) -> Arc<PendingCall> {
        let facts = UnrecordedCall {
            id: self.id,
            server: self.call.server,
            agent: self.call.agent,
            tool: Arc::clone(&self.call.tool),
            since: self.begun,
        };
        let recipient = match told {
            Told::Caller(caller) => Some(caller),
            Told::Nobody => None,
        };
        Arc::new(PendingCall::new(facts, self.job(), recipient))
    }

    /// Records it, however long the registry takes; false when the registry is closed.
    async fn record(&self, reply: Option<&Result<CallReply, CallError>>, pending: &Arc<PendingCall>) -> bool {
        let kin = kin::of(&self.core, &self.call, &self.job()).await;
        let (core, mut home, mut failures) = (&self.core, self.flight.live.home.clone(), 0);
        loop {
            match core.ledger.admit(self.born(kin, reply, &home)).await {
                Ok(_) => break,
                // The server's own list was faster, or it uses an id again: as in `admission.rs`.
                Err(CommitError::Exists(other)) if other != self.id => {
                    admission::replaced(core, &self.post, self.id, other).await;
                    let Some(next) = home.generation.checked_add(1) else { return false };
                    home.generation = next;
                }
                // It was recorded by an attempt whose outcome was not heard.
                Err(CommitError::Exists(_) | CommitError::Conflict) => break,
                Err(CommitError::Registry(RegistryError::Closed)) => return false,
                Err(CommitError::Registry(error)) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::error!(handle.id = %self.id, %error, "a call of an agent cannot be stored, trying again");
                        core.unrecorded.add(pending);
                        recording::look(core);
                    }
                    pending.set_waiting(true);
                    core.pause(failures).await;
                    pending.set_waiting(false);
                }
            }
        }
        core.intents.end(self.id);
        self.flight.is_recorded();
        if failures > 0 {
            core.unrecorded.remove(self.id);
            recording::look(core);
        }
        true
    }

    /// It is over, and its reply went back without a row.
    fn end_unrecorded(&self) {
        self.core.companies.came_in(self.id, None);
        self.core.unrecorded.remove(self.id);
        self.end();
        recording::look(&self.core);
    }
}

/// A call in the future of its caller. Dropped, it is left alone.
pub(crate) struct Aloft {
    parts: Option<(Errand, Flying)>,
}

impl Aloft {
    /// Sends the call, at the first look at it.
    pub(crate) fn new(errand: Errand, request: CallRequest) -> Self {
        let live = Arc::clone(&errand.flight.live);
        let call: Flying = Box::pin(async move { live.upstream.call(request).await });
        Self { parts: Some((errand, call)) }
    }

    /// Waits for the reply; `None` when the call must have a row before it comes.
    pub(crate) async fn first_news(&mut self) -> Option<Result<CallReply, CallError>> {
        let (errand, call) = self.parts.as_mut()?;
        let row = errand.flight.row_wanted();
        let shown = async {
            let policy = &errand.core.policy;
            tokio::time::sleep_until(errand.took_off + policy.gateway.shown_after).await;
            if errand.post().unrecorded() > policy.gateway.shown_at_once {
                tokio::time::sleep_until(errand.took_off + policy.promote_after).await;
            }
        };
        tokio::select! {
            biased;
            reply = call => Some(reply),
            () = row => None,
            () = shown => None,
        }
    }

    pub(crate) fn errand(&self) -> Option<&Errand> {
        self.parts.as_ref().map(|(errand, _)| errand)
    }

    /// It is over, and nothing is remembered of it.
    pub(crate) fn over(mut self) -> Option<Errand> {
        let (errand, _) = self.parts.take()?;
        errand.end();
        Some(errand)
    }

    /// Takes the call out of the future of its caller.
    pub(crate) fn detach(mut self) -> Option<(Errand, Flying)> {
        self.parts.take()
    }
}

impl Drop for Aloft {
    fn drop(&mut self) {
        let Some((errand, call)) = self.parts.take() else { return };
        // Outside of the runtime nothing can go on; the intent says so at the next start.
        if tokio::runtime::Handle::try_current().is_ok() {
            let core = Arc::clone(&errand.core);
            core.scope.spawn("call", left_alone(errand, call));
        }
    }
}

/// The agent hung up before there was a row.
async fn left_alone(errand: Errand, call: Flying) {
    match errand.call.hang_up {
        HangUp::Keep => go_on(errand, call, None, Told::Nobody).await,
        HangUp::Cancel => {
            let mut call = call;
            match stopped(&errand, &mut call, Some("the agent hung up".to_owned())).await {
                // There is a task all the same, and it lives on (statement 65).
                Some(Ok(reply @ CallReply::Task { .. })) => go_on(errand, call, Some(Ok(reply)), Told::Nobody).await,
                Some(_) | None => errand.end(),
            }
        }
    }
}

/// Asks the server to stop a call without a row; returns the reply, should one come all the same.
async fn stopped(errand: &Errand, call: &mut Flying, reason: Option<String>) -> Option<Result<CallReply, CallError>> {
    let cancel = errand.core.ask(errand.flight.live.upstream.cancel_call(errand.id, reason));
    // A stopped request gets no reply by the protocol.
    let stop = std::pin::pin!(async {
        if let Err(error) = cancel.await {
            tracing::debug!(handle.id = %errand.id, %error, "a call whose agent hung up could not be stopped");
        }
        tokio::time::sleep(errand.core.policy.cancel_grace).await;
    });
    match select(call, stop).await {
        Either::Left((reply, _)) => Some(reply),
        Either::Right(_) => None,
    }
}

/// Records the call, tells that it is, and takes in its reply however late. While it cannot be recorded, its reply goes
/// back without a row, and a person can cancel it.
pub(crate) async fn go_on(errand: Errand, mut call: Flying, reply: Option<Result<CallReply, CallError>>, told: Told) {
    errand.core.companies.keep(errand.id, Company::of(&errand.call), &errand.core.ledger);
    errand.core.budget.becomes(errand.id, &errand.call);
    let pending = errand.pending(told);
    // What came before the row was begun is part of it; what comes while it is written is taken in afterwards.
    let mut early: Option<Result<CallReply, CallError>> = None;
    {
        let mut recording = std::pin::pin!(errand.record(reply.as_ref(), &pending));
        loop {
            let here = early.as_ref().or(reply.as_ref());
            let (is_in, may_go) = (here.is_some(), here.is_some_and(|reply| errand.may_go_unrecorded(reply)));
            tokio::select! {
                biased;
                is_open = &mut recording => {
                    if !is_open {
                        return;
                    }
                    break;
                }
                // The call goes on while the row is stored.
                came = &mut call, if !is_in => early = Some(came),
                () = pending.may_answer(), if may_go => {
                    let Some(given) = early.clone().or_else(|| reply.clone()) else { continue };
                    if pending.tell(News::Reply(Box::new(given))) {
                        return errand.end_unrecorded();
                    }
                }
                by = pending.cancelled(), if !is_in => {
                    early = Some(cancelled(&errand, &mut call, by).await);
                    pending.tell(News::Cancelled);
                }
            }
        }
    }
    let heard = pending.tell(News::Row(errand.id));
    let is_in = reply.is_some();
    let Errand { core, post, flight, id, call: asked, rules, took_off, .. } = &errand;
    if !heard {
        given::hung_up(core, *id, if is_in { HangUp::Keep } else { asked.hang_up }).await;
    }
    if let Some(Err(CallError::ReplyLost(error) | CallError::NotSent(error))) = &reply {
        post.ended(error);
    }
    if is_in {
        admission::came_in(core, post, flight, *id);
        return;
    }
    let promote_at = *took_off + rules.promote_after.unwrap_or(core.policy.promote_after);
    let landing = match early {
        Some(reply) => Landing::from(reply),
        None => admission::race(core, flight, *id, call, promote_at).await,
    };
    admission::land(core, post, flight, *id, landing).await;
}

/// Cancels a call that has no row, in the name of a person; its row will say so.
async fn cancelled(errand: &Errand, call: &mut Flying, by: Option<PersonId>) -> Result<CallReply, CallError> {
    let who = by.map_or_else(|| "a person".into(), |person| person.to_string());
    tracing::warn!(handle.id = %errand.id, "a call that cannot be recorded is cancelled from memory");
    let reason = Some(format!("cancelled by {who}"));
    match stopped(errand, call, reason).await {
        Some(reply) => reply,
        None => Err(CallError::ReplyLost(UpstreamError::Unreachable {
            why: format!("{who} cancelled it while the registry could not record, and the server sent no reply"),
            hint: "Nothing needs doing.".into(),
        })),
    }
}
