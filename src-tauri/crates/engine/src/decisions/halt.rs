//! Halts work in chosen places, and lets it begin again in stages.
//!
//! A halt is recorded first; then the gate closes, calls that have not begun to leave are refused, and open tasks are asked
//! to cancel. A stage is recorded before it takes effect. After a restart the gate is closed before any connection is
//! opened, and cancels go on from the registry. Nothing that was cancelled begins again.

pub(crate) mod cancels;
pub(crate) mod thaw;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HaltId, HandleId, PersonId};
use domain::ports::HaltUnit;
use domain::server::halt::{
    Halt, HaltEffect, HaltOrder, HaltSubject, HaltedBy, HaltedWork, RecoveryStage, StageRefused,
};
use domain::task::decider::Decider;
use tokio::sync::watch;

use crate::access::halt_gate::{HaltReason, HaltState};
use crate::connections::in_flight_call::InFlightCall;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::tool_memory::confirmed;

/// What somebody wants to halt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartHalt {
    /// Each becomes an order.
    pub subjects: Vec<HaltSubject>,
    /// What is stopped there.
    pub effects: BTreeSet<HaltEffect>,
    /// In the person's words; empty for the file.
    pub reason: String,
    /// `None` for the file `HALT`.
    pub by: Option<HaltedBy>,
}

impl Engine {
    /// Halts work. When this returns, the halt is durable and no call that it covers begins to leave any more. Calls that
    /// had left are listed by then, unless that takes longer than `HaltPolicy::listed_within`.
    ///
    /// # Errors
    /// When it cannot be recorded: then nothing is halted.
    pub async fn halt(&self, start: StartHalt) -> Result<Arc<Halt>, EngineError> {
        let core = &self.core;
        let turn = core.gate.turn.lock().await;
        let now = core.time.now();
        let StartHalt { subjects, effects, reason, by } = start;
        let order = |subject: &HaltSubject| HaltOrder {
            subject: subject.clone(),
            effects: effects.clone(),
            at: now,
            by: by.clone(),
            reason: reason.clone(),
            lifted: BTreeMap::new(),
        };
        let orders: Vec<HaltOrder> = subjects.iter().map(order).collect();
        let audit = orders.iter().map(fact).collect();
        let is_new =
            |work: HaltedWork<'_>| orders.iter().any(|order| order.has(HaltEffect::Running) && order.covers(work));
        let targets = cancels::targets(core, is_new);
        let mut halt = match core.gate.state().current {
            Some(current) => current.widened(orders),
            None => Halt::begun(HaltId::from_random(core.time.random.bits()), orders),
        };
        record(core, HaltUnit { halt: halt.clone(), targets, audit }).await?;
        core.gate.set(halt.clone());
        let sent = refuse_unsent(core, &halt);
        halt.closed_at = Some(core.time.now());
        tracing::warn!(halt.id = %halt.id, calls.in_flight = sent.len(), "work is halted");
        // The gate is closed whether or not this is recorded; without it the page does not say when.
        if let Err(error) = record(core, HaltUnit { halt: halt.clone(), targets: Vec::new(), audit: Vec::new() }).await
        {
            tracing::warn!(%error, "when the gate closed could not be recorded");
        }
        core.gate.set(halt.clone());
        let listed = cancels::begin(core, halt.id, sent);
        // Listing them takes the turn.
        drop(turn);
        // Without them a person would read that nothing may still run, and go on.
        if tokio::time::timeout(core.policy.halt.listed_within, listed).await.is_err() {
            tracing::warn!(halt.id = %halt.id, "calls that had left before the halt are not listed yet");
        }
        Ok(Arc::new(halt))
    }

    /// Asks the tasks of the halt in force again whose cancels nobody confirmed; returns how many were asked.
    ///
    /// # Errors
    /// When nothing is halted, or the registry cannot be read or written: some may be asked then.
    pub async fn retry_halt(&self, by: PersonId) -> Result<u64, EngineError> {
        let core = &self.core;
        let halt = core.gate.state().current.ok_or(EngineError::NotHalted)?;
        Ok(cancels::ask_again(core, halt.id, &by).await?)
    }

    /// Takes the next stage of the way back. It is recorded before it takes effect.
    ///
    /// # Errors
    /// When nothing is halted, the stage before was not reached, or it cannot be recorded.
    pub async fn resume(&self, stage: RecoveryStage, by: PersonId) -> Result<Arc<Halt>, EngineError> {
        let core = &self.core;
        let _turn = core.gate.turn.lock().await;
        let now = core.time.now();
        let state = core.gate.state();
        let (mut next, note) = match (state.current, state.unreadable) {
            (Some(current), _) => {
                let next = current.stepped(stage, by.clone(), now)?;
                (next, stage.word().to_owned())
            }
            (None, Some(_)) if stage != RecoveryStage::Calls => return Err(StageRefused::Unreadable.into()),
            (None, Some(_)) => (replaces_unreadable(core, &by)?, "halts that could not be read".to_owned()),
            (None, None) => return Err(EngineError::NotHalted),
        };
        if stage == RecoveryStage::ReadOnly {
            next.confirmed = confirmed::of_all(core).await?;
        }
        let fact = AuditEvent { at: now, actor: Actor::Person(by), verb: Verb::Resumed, subject: Subject::Store, note };
        record(core, HaltUnit { halt: next.clone(), targets: Vec::new(), audit: vec![fact] }).await?;
        core.gate.set(next.clone());
        match stage {
            RecoveryStage::Requests => thaw::thaw(core, &next, now).await,
            // A further round of a call is a call: it waited as well.
            RecoveryStage::ReadOnly | RecoveryStage::Calls => thaw::wake(core),
            RecoveryStage::Acknowledged => {}
        }
        tracing::warn!(halt.id = %next.id, stage = stage.word(), "halted work may begin again");
        Ok(Arc::new(next))
    }

    /// What is halted now.
    #[must_use]
    pub fn halt_state(&self) -> HaltState {
        self.core.gate.state()
    }

    /// Wakes when that changes.
    #[must_use]
    pub fn halt_watch(&self) -> watch::Receiver<()> {
        self.core.gate.watch()
    }

    /// Why a call would be refused now.
    #[must_use]
    pub fn halts_call(&self, call: HaltedWork<'_>) -> Option<HaltReason> {
        self.core.gate.refuses(call)
    }
}

/// A halt that is over takes the place of those that cannot be read.
fn replaces_unreadable(core: &EngineCore, by: &PersonId) -> Result<Halt, EngineError> {
    let now = core.time.now();
    let order = HaltOrder {
        subject: HaltSubject::Everything,
        effects: BTreeSet::from([HaltEffect::Calls]),
        at: now,
        by: Some(by.clone().into()),
        reason: "the halts on record could not be read".into(),
        lifted: BTreeMap::new(),
    };
    let mut over = Halt::begun(HaltId::from_random(core.time.random.bits()), vec![order]);
    for stage in RecoveryStage::ALL {
        over = over.stepped(stage, by.clone(), now)?;
    }
    Ok(over)
}

fn fact(order: &HaltOrder) -> AuditEvent {
    let effects: Vec<&str> = order.effects.iter().map(|effect| effect.word()).collect();
    let (subject, of_tool) = match &order.subject {
        HaltSubject::Everything => (Subject::Store, String::new()),
        HaltSubject::Server(id) => (Subject::Server(*id), String::new()),
        HaltSubject::Agent(id) => (Subject::Agent(*id), String::new()),
        HaltSubject::Tool(id, tool) => (Subject::Server(*id), format!(" of the tool {tool}")),
    };
    let reason = if order.reason.is_empty() { String::new() } else { format!(": {}", order.reason) };
    let actor = order.by.as_ref().map_or(Actor::System("halt_file"), |by| Decider::from(by).actor());
    let note = format!("{}{of_tool}{reason}", effects.join(", "));
    AuditEvent { at: order.at, actor, verb: Verb::Halted, subject, note }
}

async fn record(core: &EngineCore, unit: HaltUnit) -> Result<(), EngineError> {
    let seq = core.registry.put_halt(unit).await?;
    core.effects.commits.committed(seq);
    Ok(())
}

/// Refuses the calls that were let through and have not begun to leave; returns the others that the halt covers.
fn refuse_unsent(core: &EngineCore, halt: &Halt) -> Vec<(HandleId, Arc<InFlightCall>)> {
    let mut sent = Vec::new();
    for connection in core.connections.all() {
        for (id, call) in connection.in_flight_calls() {
            let work = HaltedWork { server: connection.server, agent: call.agent, tool: call.tool.as_deref() };
            if halt.refusing(work).is_some() && !call.refuse_unsent() {
                sent.push((id, call));
            }
        }
    }
    sent
}
