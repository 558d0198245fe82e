//! The gate that every call passes before it leaves: closed where people halted work.
//!
//! While nothing is halted a call costs one atomic read here. A call in flight is registered before it reads the gate, and
//! a halt closes the gate before it reads the calls in flight, so one of the two sees the other; what was registered
//! before is refused at the wire unless it has begun to leave (`connections/in_flight_call.rs`). Halts are recorded in
//! `decisions/halt.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::ports::Registry;
use domain::server::halt::{ConfirmedTool, Halt, HaltEffect, HaltOrder, HaltedBy, HaltedWork};
use domain::task::TaskHandle;
use domain::task::decider::Decider;
use domain::time::Timestamp;
use parking_lot::RwLock;
use tokio::sync::{Mutex, watch};

/// Why work is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HaltReason {
    /// By this order.
    Ordered {
        /// When it was given.
        at: Timestamp,
        /// `None` for the file `HALT`.
        by: Option<HaltedBy>,
        /// In the person's words.
        reason: String,
    },
    /// The halts on record cannot be read, so that nobody knows what is halted.
    Unreadable,
}

impl HaltReason {
    fn of(order: &HaltOrder) -> Self {
        Self::Ordered { at: order.at, by: order.by.clone(), reason: order.reason.clone() }
    }

    /// Who halted it and when, as a part of a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Ordered { at, by: Some(by), reason } if reason.is_empty() => format!("{by} halted it at {at}"),
            Self::Ordered { at, by: Some(by), reason } => format!("{by} halted it at {at} ({reason})"),
            Self::Ordered { at, by: None, .. } => format!("the file `HALT` halted it at {at}"),
            Self::Unreadable => "the halts on record cannot be read".into(),
        }
    }
}

/// What is halted now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HaltState {
    /// The halt in force.
    pub current: Option<Arc<Halt>>,
    /// Why the halts on record cannot be read; everything is halted then.
    pub unreadable: Option<String>,
    /// The last halt that is over.
    last: Option<Arc<Halt>>,
}

impl HaltState {
    fn is_open(&self) -> bool {
        self.current.is_none() && self.unreadable.is_none()
    }

    fn covering(&self, effect: HaltEffect, work: HaltedWork<'_>) -> Option<HaltReason> {
        if self.unreadable.is_some() {
            return Some(HaltReason::Unreadable);
        }
        let current = self.current.as_ref()?;
        let order = match effect {
            HaltEffect::Calls => current.refusing(work),
            HaltEffect::Running | HaltEffect::Requests => current.covering(effect, work),
        };
        order.map(HaltReason::of)
    }
}

/// The gate, and what it is closed for.
pub(crate) struct HaltGate {
    /// All that a call reads while nothing is halted.
    is_closed: AtomicBool,
    state: RwLock<HaltState>,
    /// Held while a halt is changed.
    pub(crate) turn: Mutex<()>,
    changed: watch::Sender<()>,
}

/// A task, as orders look at it.
pub(crate) fn work_of(handle: &TaskHandle) -> HaltedWork<'_> {
    HaltedWork { server: handle.server, agent: handle.agent, tool: handle.tool.as_deref() }
}

impl HaltGate {
    /// As the registry says. Halts that cannot be read halt everything.
    pub(crate) async fn read(registry: &dyn Registry) -> Self {
        let mut state = HaltState::default();
        match registry.halts(1).await {
            Ok(halts) => {
                let newest = halts.into_iter().next().map(Arc::new);
                (state.last, state.current) = match newest {
                    Some(newest) if newest.is_over() => (Some(newest), None),
                    other => (None, other),
                };
            }
            Err(error) => {
                tracing::error!(%error, "the halts on record cannot be read: no call is sent");
                state.unreadable = Some(error.to_string());
            }
        }
        if let Some(current) = &state.current {
            tracing::warn!(halt.id = %current.id, "this core starts halted");
        }
        let is_closed = AtomicBool::new(!state.is_open());
        Self { is_closed, state: RwLock::new(state), turn: Mutex::new(()), changed: watch::Sender::new(()) }
    }

    /// Whether anything is halted.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Why a call may not be sent.
    pub(crate) fn refuses(&self, call: HaltedWork<'_>) -> Option<HaltReason> {
        if self.is_closed() { self.covering(HaltEffect::Calls, call) } else { None }
    }

    /// Why the questions of this task stand still.
    pub(crate) fn freezes(&self, handle: &TaskHandle) -> Option<HaltReason> {
        if self.is_closed() { self.covering(HaltEffect::Requests, work_of(handle)) } else { None }
    }

    fn covering(&self, effect: HaltEffect, work: HaltedWork<'_>) -> Option<HaltReason> {
        self.state.read().covering(effect, work)
    }

    /// Who halted this task and why, when it is to be cancelled.
    pub(crate) fn cancels(&self, handle: &TaskHandle) -> Option<(Decider, String)> {
        let state = self.state.read();
        let order = state.current.as_ref()?.covering(HaltEffect::Running, work_of(handle))?;
        Some((order.by.as_ref()?.into(), order.reason.clone()))
    }

    /// The halt in force, or the last one.
    pub(crate) fn newest(&self) -> Option<Arc<Halt>> {
        let state = self.state.read();
        state.current.clone().or_else(|| state.last.clone())
    }

    /// Drops confirmed tools for which this does not hold.
    pub(crate) fn retain_confirmed(&self, holds: impl Fn(&ConfirmedTool) -> bool) {
        if !self.is_closed() {
            return;
        }
        let mut state = self.state.write();
        if let Some(current) = &mut state.current
            && !current.confirmed.iter().all(&holds)
        {
            Arc::make_mut(current).confirmed.retain(holds);
        }
    }

    pub(crate) fn state(&self) -> HaltState {
        self.state.read().clone()
    }

    /// Wakes at every change.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Takes over what was recorded.
    pub(crate) fn set(&self, halt: Halt) {
        {
            let mut state = self.state.write();
            state.unreadable = None;
            let halt = Arc::new(halt);
            if halt.is_over() {
                state.current = None;
                state.last = Some(halt);
            } else {
                state.current = Some(halt);
            }
            self.is_closed.store(!state.is_open(), Ordering::Release);
        }
        self.changed.send_replace(());
    }
}
