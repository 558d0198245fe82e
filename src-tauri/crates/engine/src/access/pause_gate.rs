//! The gate at which calls wait: closed for paused agents, for frozen servers, and for calls about which an alarm asks.
//!
//! While nothing waits a call costs one atomic read here. Pauses are recorded in `decisions/pause.rs`, alarms in
//! `calls/loop_detector.rs`; a call that waits is a row (`calls/gated.rs`), and leaves in its order
//! (`decisions/pause/release.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::agent::alarm::{AlarmDecision, CallAlarm};
use domain::ids::{AgentId, ServerId};
use domain::ports::{Registry, RegistryError};
use domain::server::halt::HaltedWork;
use domain::server::pause::{self, GateVerdict, Pause, PauseSubject};
use domain::task::TaskHandle;
use domain::task::status::GateReason;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::access::halt_gate::work_of;
use crate::connections::freeze::FrozenProcesses;

/// Calls of one agent to one server, which leave in their order; `None` for those of people.
pub(crate) type GateLane = (ServerId, Option<AgentId>);

/// What is paused, and who lets calls through.
pub(crate) struct PauseGate {
    /// All that a call reads while nothing is paused.
    is_closed: AtomicBool,
    /// In force or over, the newest first.
    pauses: RwLock<Arc<[Pause]>>,
    /// Alarms that ask, and those whose waiting calls a person cancelled; the newest first.
    alarms: RwLock<Arc<[CallAlarm]>>,
    /// Notified when a pause began or ended.
    changed: watch::Sender<()>,
    /// What was found of frozen processes.
    frozen: RwLock<HashMap<ServerId, FrozenProcesses>>,
    /// Held while a pause begins or ends.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Held while processes are stopped or continued.
    pub(crate) freezing: tokio::sync::Mutex<()>,
    /// Lanes in which calls leave now.
    pub(crate) leaving: Mutex<HashSet<GateLane>>,
}

/// Whether new calls wait, or calls that waited are not wanted, because of this alarm.
fn bears_on_calls(alarm: &CallAlarm) -> bool {
    alarm.asks() || alarm.decision == Some(AlarmDecision::Cancel)
}

fn is_any_in_force(pauses: &[Pause], alarms: &[CallAlarm]) -> bool {
    pauses.iter().any(Pause::is_in_force) || alarms.iter().any(CallAlarm::asks)
}

impl PauseGate {
    /// As the registry says.
    pub(crate) async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        let pauses: Arc<[Pause]> = registry.pauses().await?.into();
        for pause in pauses.iter().filter(|pause| pause.is_in_force()) {
            tracing::warn!(pause.id = %pause.id, "a pause of an earlier run is still in force");
        }
        let alarms: Arc<[CallAlarm]> = registry.alarms(u32::MAX).await?.into_iter().filter(bears_on_calls).collect();
        Ok(Self {
            is_closed: AtomicBool::new(is_any_in_force(&pauses, &alarms)),
            pauses: RwLock::new(pauses),
            alarms: RwLock::new(alarms),
            changed: watch::Sender::new(()),
            frozen: RwLock::default(),
            turn: tokio::sync::Mutex::default(),
            freezing: tokio::sync::Mutex::default(),
            leaving: Mutex::default(),
        })
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Pauses in force or over, the newest first.
    pub(crate) fn all(&self) -> Arc<[Pause]> {
        Arc::clone(&self.pauses.read())
    }

    /// The pause of this agent or server that is in force.
    pub(crate) fn of(&self, subject: PauseSubject) -> Option<Pause> {
        if !self.is_closed() {
            return None;
        }
        self.pauses.read().iter().find(|pause| pause.is_in_force() && pause.subject == subject).cloned()
    }

    /// Why a call waits.
    pub(crate) fn holds(&self, call: HaltedWork<'_>) -> Option<GateReason> {
        if !self.is_closed() {
            return None;
        }
        let pauses = self.pauses.read();
        let covers = |pause: &&Pause| pause.is_in_force() && pause.subject.covers(call);
        let paused = pauses.iter().find(covers).map(|pause| pause.subject.into());
        paused.or_else(|| self.asks_about(call).then_some(GateReason::Alarm))
    }

    /// Whether an alarm asks about calls like this.
    pub(crate) fn asks_about(&self, call: HaltedWork<'_>) -> bool {
        self.alarms.read().iter().any(|alarm| alarm.asks() && alarm.covers(call))
    }

    /// Whether the processes of this server are to stand still.
    pub(crate) fn is_frozen(&self, server: ServerId) -> bool {
        self.is_closed() && self.of(PauseSubject::Server(server)).is_some()
    }

    /// Whether this server was ever frozen, as far as is kept: its processes may stand still though they should not.
    pub(crate) fn may_stand_still(&self, server: ServerId) -> bool {
        self.pauses.read().iter().any(|pause| pause.subject == PauseSubject::Server(server))
    }

    /// What happens to this call; `None` when it does not wait at the gate.
    pub(crate) fn verdict(&self, handle: &TaskHandle) -> Option<GateVerdict> {
        self.verdict_with(self.all().iter(), handle)
    }

    /// What would happen to it if these were the pauses.
    pub(crate) fn verdict_with<'a>(
        &self,
        pauses: impl IntoIterator<Item = &'a Pause>,
        handle: &TaskHandle,
    ) -> Option<GateVerdict> {
        let (since, _) = handle.gated().filter(|_| handle.may_leave_gate())?;
        let work = work_of(handle);
        let paused = pause::verdict(pauses, handle.id, work, since);
        let alarms = self.alarms.read();
        // A choice stands even where something else holds the call.
        let said = alarms.iter().map(|alarm| alarm.verdict(work, since)).chain([paused]);
        said.max_by_key(|verdict| match verdict {
            GateVerdict::Leaves => 0,
            GateVerdict::Waits => 1,
            GateVerdict::LeftOut(_) => 2,
        })
    }

    /// What was decided about when a person left this call out: an alarm, or else the pause that it waited for.
    pub(crate) fn left_out_at(&self, handle: &TaskHandle) -> GateReason {
        let Some((since, reason)) = handle.gated() else { return GateReason::Paused };
        let work = work_of(handle);
        let is_left_out = |alarm: &CallAlarm| matches!(alarm.verdict(work, since), GateVerdict::LeftOut(_));
        match (self.alarms.read().iter().any(is_left_out), reason) {
            (true, _) => GateReason::Alarm,
            (false, GateReason::Alarm) => GateReason::Paused,
            (false, GateReason::Paused | GateReason::Frozen) => reason,
        }
    }

    /// Takes over what was recorded.
    pub(crate) fn set(&self, pause: Pause, kept: usize) {
        let mut pauses = self.pauses.write();
        let mut next: Vec<Pause> = pauses.iter().filter(|known| known.id != pause.id).cloned().collect();
        next.push(pause);
        next.sort_by_key(|pause| std::cmp::Reverse((pause.at, pause.id)));
        let mut over = 0;
        next.retain(|pause| {
            over += usize::from(!pause.is_in_force());
            pause.is_in_force() || over <= kept
        });
        self.is_closed.store(is_any_in_force(&next, &self.alarms.read()), Ordering::Release);
        *pauses = next.into();
        drop(pauses);
        self.changed.send_replace(());
    }

    /// Takes over an alarm that was recorded. Of those that were decided, the newest are kept.
    pub(crate) fn set_alarm(&self, alarm: &CallAlarm, kept: usize) {
        // In the order in which `set` takes the two.
        let pauses = self.pauses.read();
        let mut alarms = self.alarms.write();
        if !bears_on_calls(alarm) && alarms.iter().all(|known| known.id != alarm.id) {
            return;
        }
        let others = alarms.iter().filter(|known| known.id != alarm.id).cloned();
        let mut next: Vec<CallAlarm> = others.chain([alarm.clone()]).filter(bears_on_calls).collect();
        next.sort_by_key(|alarm| std::cmp::Reverse((alarm.raised, alarm.id)));
        let mut over = 0;
        next.retain(|alarm| {
            over += usize::from(!alarm.asks());
            alarm.asks() || over <= kept
        });
        self.is_closed.store(is_any_in_force(&pauses, &next), Ordering::Release);
        *alarms = next.into();
    }

    /// Told when a pause begins or ends.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Servers whose processes are to stand still.
    pub(crate) fn frozen_servers(&self) -> Vec<ServerId> {
        if !self.is_closed() {
            return Vec::new();
        }
        let server = |pause: &Pause| match pause.subject {
            PauseSubject::Server(server) if pause.is_in_force() => Some(server),
            PauseSubject::Server(_) | PauseSubject::Agent(_) => None,
        };
        self.pauses.read().iter().filter_map(server).collect()
    }

    /// What was found last of the processes of a frozen server; nothing while none runs.
    pub(crate) fn processes(&self, server: ServerId) -> FrozenProcesses {
        self.frozen.read().get(&server).copied().unwrap_or_default()
    }

    pub(crate) fn set_processes(&self, server: ServerId, processes: Option<FrozenProcesses>) {
        let mut frozen = self.frozen.write();
        match processes {
            Some(processes) => frozen.insert(server, processes),
            None => frozen.remove(&server),
        };
    }
}
