//! The gateway: agents reach their servers through this [`Service`](crate::server::Service), on both eras of the serving
//! face.
//!
//! It stands in the path so that every long call becomes a handle that cannot be lost. `service.rs` takes requests in
//! and says who answers them (`route.rs`); `guest.rs` is who asks. Calls are `call.rs` and `hold.rs`; tasks are
//! `modern.rs` and `legacy_tasks.rs`; everything else is forwarded raw (`forward.rs`, `merge.rs`, `subscribe.rs`). What
//! stands in an agent's window is told to the engine (`budget.rs`), and results that are too large for it are given in
//! slices (`short.rs`, `slices.rs`).
//! It stores nothing and decides nothing about tasks: rows are the engine's, and what an agent sees of one is
//! `domain::task::agent_view`. No method of an agent reaches the configuration of servers or agents.

mod additions;
mod asking;
mod bridge;
mod budget;
mod call;
mod clients;
mod courier;
mod era;
mod find;
mod following;
mod forward;
mod guest;
mod hold;
mod legacy;
mod legacy_tasks;
mod limits;
mod lists;
mod merge;
mod mirrored;
pub mod model_text;
mod modern;
mod names;
mod outcome;
mod own_tools;
mod questions;
mod reach;
mod resume;
mod route;
mod scale;
mod service;
mod short;
mod short_error;
mod slices;
mod standing;
mod subscribe;
mod tell;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, Gauge};
use tokio::sync::Semaphore;

use self::limits::Limits;
use crate::upstream::Forwarder;

/// What the gateway is made of.
pub struct GatewayParts {
    /// Calls, tasks and decisions.
    pub engine: Engine,
    /// Finds the connections of the engine, for everything that is forwarded.
    pub forwarder: Forwarder,
    /// For reading tasks and payloads.
    pub registry: Arc<dyn Registry>,
    /// Numbers.
    pub policy: Policy,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Random bits.
    pub draw: Draw,
    /// The scope everything of the gateway runs in.
    pub supervisor: Supervisor,
}

/// The gateway, a [`Service`](crate::server::Service) for the serving faces.
pub struct Gateway {
    gate: Arc<Gate>,
}

/// What the parts of the gateway share.
pub(crate) struct Gate {
    pub(crate) engine: Engine,
    pub(crate) forwarder: Forwarder,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) draw: Draw,
    pub(crate) scope: Supervisor,
    pub(crate) limits: Limits,
    /// What servers listed.
    pub(crate) lists: lists::Lists,
    /// What sessions of the older eras stand for.
    pub(crate) standing: standing::Standing,
    /// Room for open subscriptions.
    pub(crate) listens: Arc<Semaphore>,
    /// Which questions are being asked of agents.
    pub(crate) claims: asking::Claims,
    /// Which sessions are told about which tasks.
    pub(crate) couriers: courier::Couriers,
    /// The last looks of agents at their tasks.
    pub(crate) looks: budget::Looks,
    /// Room for cutting results.
    pub(crate) scaling: Arc<Semaphore>,
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl Gateway {
    /// The policy for the faces in front of the gateway: many agents come through one door.
    #[must_use]
    pub fn faces(policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        policy.serving.sessions_max = policy.gateway.sessions_max;
        policy.serving.requests_in_work_max = policy.gateway.requests_in_work_max;
        policy
    }

    /// A gateway over a running engine.
    #[must_use]
    pub fn new(parts: GatewayParts) -> Arc<Self> {
        let GatewayParts { engine, forwarder, registry, policy, clock, draw, supervisor } = parts;
        let scope = supervisor.scope();
        let limits = Limits::new(&policy);
        let listens = Arc::new(Semaphore::new(policy.serving.subscriptions_max));
        let gate = Arc::new(Gate {
            engine,
            forwarder,
            registry,
            policy: Arc::new(policy),
            clock,
            draw,
            scope,
            limits,
            lists: lists::Lists::default(),
            standing: standing::Standing::default(),
            listens,
            claims: asking::Claims::default(),
            couriers: courier::Couriers::default(),
            looks: budget::Looks::default(),
            scaling: Arc::new(Semaphore::new(scale::AT_ONCE)),
        });
        let counted = Arc::downgrade(&gate);
        gate.engine.gauges().add(move |rows| {
            if let Some(gate) = counted.upgrade() {
                gate.limits.gauge(&gate.engine, &gate.policy, rows);
                let most = gate.policy.serving.subscriptions_max;
                let used = most.saturating_sub(gate.listens.available_permits());
                rows.push(Gauge::count("open subscriptions", "agents", wide(used), wide(most)));
            }
        });
        let streams = Arc::downgrade(&gate);
        gate.engine.set_agent_streams(move |agent| streams.upgrade().is_some_and(|gate| gate.limits.has_stream(agent)));
        let watched = Arc::clone(&gate);
        gate.scope.spawn("agents without access", async move { watched.expel().await });
        Arc::new(Self { gate })
    }
}
