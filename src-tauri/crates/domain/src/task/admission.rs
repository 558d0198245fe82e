//! How a handle begins: a call that is about to leave, or a task that was found on a server (promise T3).
//!
//! A handle is recorded before anything leaves the machine (promise T1). What becomes of a call is in `call.rs`, what
//! a server says of a task in `observation/observe.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Attention, Audience, Effect, Escalation, HoldReason, Home, InputRequests, Origin, Parent, ResultHold, TaskHandle,
    TaskRunLimits, Transition, UsualDuration,
};
use crate::audit::{Actor, Verb};
use crate::ids::{AgentId, HandleId, HostId, JobKey, ServerId, UpstreamTaskId};
use crate::policy::Policy;
use crate::task::observation::Observation;
use crate::task::observation::observe::Sighting;
use crate::task::payload::{Payload, PayloadKind};
use crate::task::status::{Contact, Due, DueWhy, Intent, ServerView};
use crate::time::Timestamp;

/// A call about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    pub id: HandleId,
    /// Where it goes.
    pub server: ServerId,
    /// Whose it is, when an agent's.
    pub agent: Option<AgentId>,
    /// Who started it.
    pub by: Actor,
    pub tool: Arc<str>,
    pub arguments: Payload,
    /// Hex SHA-256 of the canonical arguments.
    pub arguments_digest: Arc<str>,
    /// What it usually takes.
    pub usual: Option<UsualDuration>,
    /// It is not later than usual before it lasted this long.
    pub usual_late_min: Duration,
    /// Time agreed for it.
    pub limit: Option<Duration>,
    /// The run of the core that makes the call.
    pub host: HostId,
    /// Where its task will live.
    pub home: Home,
    /// On whose own connection it leaves.
    pub seat: Option<AgentId>,
    /// Who is asked.
    pub audience: Audience,
    /// The task during which it was called.
    pub parent: Option<Parent>,
    /// Its trace id.
    pub trace: Option<Arc<str>>,
    pub job: Option<JobKey>,
    /// Which attempt of its job it is, from 1.
    pub attempt: u32,
    /// Whether a rule holds its result back until a person decides.
    pub hold: bool,
    /// How long rules let it run.
    pub run_limits: TaskRunLimits,
    /// The `ttl` a 2025 agent asked for.
    pub agent_ttl: Option<Duration>,
}

/// A task that was found on a server.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTask {
    pub id: HandleId,
    pub server: ServerId,
    /// `Discovered` or `Adopted`.
    pub origin: Origin,
    /// Who found it.
    pub by: Actor,
    /// Where it lives.
    pub home: Home,
    /// The agent on whose own connection it was found; it is taken for that agent's.
    pub seat: Option<AgentId>,
    /// The server's id.
    pub task: UpstreamTaskId,
}

impl TaskHandle {
    /// A new handle for a call that has not left yet, with audit *admitted* and its arguments as payload.
    #[must_use]
    pub fn admit(call: NewCall, now: Timestamp) -> Transition {
        let agreed = call.limit.map(|limit| Due { at: now.plus(limit), why: DueWhy::Agreed });
        let late_after = |usual: UsualDuration| Duration::from_millis(usual.p95_ms).max(call.usual_late_min);
        let usual = call.usual.map(|usual| Due { at: now.plus(late_after(usual)), why: DueWhy::Usual });
        let handle = Self {
            origin: if call.agent.is_some() { Origin::Agent } else { Origin::Started },
            agent: call.agent,
            seat: call.seat,
            audience: call.audience,
            parent: call.parent,
            trace: call.trace,
            job: call.job,
            attempt: call.attempt.max(1),
            hold: (call.hold && call.agent.is_some()).then_some(ResultHold {
                by: None,
                at: now,
                why: HoldReason::Review,
                verdict: None,
            }),
            run_limits: call.run_limits,
            agent_ttl: call.agent_ttl,
            tool: Some(call.tool),
            arguments_digest: Some(call.arguments_digest),
            usual: call.usual,
            due: agreed.or(usual),
            ..Self::blank(
                call.id,
                call.server,
                call.home,
                now,
                ServerView::Awaiting { since: now, host: call.host, round: 0 },
            )
        };
        let mut step = Transition::none(&handle);
        step.changed = true;
        step.fact(now, call.by, Verb::Admitted, "");
        step.keep(PayloadKind::Arguments, Some(call.arguments));
        step
    }

    /// A new handle for a task that exists already, with what was seen of it.
    #[must_use]
    pub fn found(task: FoundTask, seen: &Observation, policy: &Policy) -> Transition {
        let now = seen.seen;
        // The blank view is replaced before anybody sees it.
        let blank = Self::blank(task.id, task.server, task.home, now, ServerView::NotSent { why: String::new() });
        let handle = Self { origin: task.origin, agent: task.seat, seat: task.seat, ..blank };
        let mut step = Transition::none(&handle);
        let verb = match task.origin {
            Origin::Adopted => Verb::Adopted,
            Origin::Discovered | Origin::Started | Origin::Agent => Verb::Discovered,
        };
        step.fact(now, task.by, verb, "");
        step.apply(None, &task.task, Sighting::first(seen), policy);
        if seen.status.is_terminal() {
            // It ended before we knew of it: that is not news, and nothing was reserved for it.
            step.effects.retain(|effect| !matches!(effect, Effect::Tell(Attention::Finished) | Effect::Release));
        } else {
            step.effect(Effect::PollAt(now));
        }
        step.settle(&handle, now)
    }

    fn blank(id: HandleId, server: ServerId, home: Home, now: Timestamp, view: ServerView) -> Self {
        Self {
            id,
            server,
            agent: None,
            origin: Origin::Started,
            tool: None,
            arguments_digest: None,
            home,
            seat: None,
            view,
            contact: Contact::Fresh { seen: now },
            intent: Intent::None,
            audience: Audience::People,
            requests: InputRequests::default(),
            shared: super::SharedQuestions::default(),
            more_questions: 0,
            progress: None,
            usual: None,
            due: None,
            paused_since: None,
            paused_ms: 0,
            stepped_ms: 0,
            frozen_since: None,
            contradicted: false,
            told: BTreeSet::new(),
            given: None,
            undelivered: None,
            orphaned: None,
            hold: None,
            tokens: None,
            over_limit: None,
            run_limits: TaskRunLimits::default(),
            cancelled_for_agent: None,
            failed_for_agent: None,
            end_shown: None,
            escalation: Escalation::default(),
            loss_cause: None,
            parent: None,
            trace: None,
            job: None,
            attempt: 1,
            agent_ttl: None,
            version: 0,
            created: now,
            changed: now,
            ended: None,
        }
    }
}
