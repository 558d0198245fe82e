//! Tells people what needs them, once for each cause, and bundles many notices into one.
//!
//! A reconciler: it takes what transitions queued, checks that it still holds, and tells. What was open already when
//! the core started is one notice for each server. Quiet hours and channels are the notifier's.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::ids::{HandleId, ServerId};
use domain::ports::Notice;
use domain::task::status::Phase;
use domain::task::{Attention, TaskHandle};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::attention::standing_answers;
use crate::core::EngineCore;
use crate::runtime::time::sleep_until;

/// Notices of one kind about one server that are shown separately in one round; more become one. Judgement: three
/// lines are read, thirty are dismissed.
const ONE_BY_ONE: usize = 3;

/// Notices to give. A handle that is queued twice is one notice, with what matters most.
#[derive(Default)]
pub(crate) struct AttentionQueue {
    queued: Mutex<BTreeMap<HandleId, Attention>>,
    wake: Notify,
}

impl AttentionQueue {
    pub(crate) fn push(&self, id: HandleId, attention: Attention) {
        {
            let mut queued = self.queued.lock();
            let before = queued.get(&id).copied();
            // An end replaces everything before it; a question comes before a problem.
            let matters = match (before, attention) {
                (None, _) | (_, Attention::Finished | Attention::Waiting) => attention,
                (Some(before), Attention::Problem) => before,
            };
            queued.insert(id, matters);
        }
        self.wake.notify_one();
    }

    fn take(&self) -> BTreeMap<HandleId, Attention> {
        std::mem::take(&mut *self.queued.lock())
    }
}

/// Runs for ever: the first notice at once, then at most one round per sweep interval.
pub(crate) async fn run(core: Arc<EngineCore>) {
    for handle in core.ledger.all() {
        if handle.has_request_for_people(core.time.now()) {
            standing_answers::answer(&core, handle.id).await;
        }
    }
    let mut waiting = Reminders::at_start(&core);
    let mut outages = Outages::default();
    loop {
        let next = [waiting.next(), outages.next()].into_iter().flatten().min();
        tokio::select! {
            () = core.effects.attention.wake.notified() => {
                let queued = outages.hold_back(&core, core.effects.attention.take());
                let notified = round(&core, queued).await;
                waiting.notified(&core, &notified);
            }
            () = sleep_until(next) => {
                let mut due = waiting.due(&core);
                due.extend(outages.due(&core));
                round(&core, due).await;
            }
        }
        tokio::time::sleep(core.policy.sweep_every).await;
    }
}

/// Tasks of one server that fall silent one after the other have one cause: the first few get a notice at once, the
/// rest one together after a while, if they are still silent.
#[derive(Default)]
struct Outages(HashMap<ServerId, Outage>);

struct Outage {
    until: Instant,
    held: Vec<HandleId>,
}

impl Outages {
    fn next(&self) -> Option<Instant> {
        self.0.values().map(|outage| outage.until).min()
    }

    /// Holds back what has a cause that people were told of already.
    fn hold_back(
        &mut self,
        core: &EngineCore,
        mut queued: BTreeMap<HandleId, Attention>,
    ) -> BTreeMap<HandleId, Attention> {
        let until = Instant::now() + core.policy.remind_after;
        let mut begun = Vec::new();
        queued.retain(|id, attention| {
            let Some(server) = unreached(core, *id).filter(|_| *attention == Attention::Problem) else { return true };
            match self.0.get_mut(&server) {
                Some(outage) => {
                    outage.held.push(*id);
                    false
                }
                None => {
                    begun.push(server);
                    true
                }
            }
        });
        for server in begun {
            self.0.entry(server).or_insert_with(|| Outage { until, held: Vec::new() });
        }
        queued
    }

    /// What was held back for long enough and is still silent.
    fn due(&mut self, core: &EngineCore) -> BTreeMap<HandleId, Attention> {
        let now = Instant::now();
        let mut due = BTreeMap::new();
        self.0.retain(|_, outage| {
            if outage.until > now {
                return true;
            }
            due.extend(outage.held.drain(..).map(|id| (id, Attention::Problem)));
            false
        });
        due.retain(|id, _| unreached(core, *id).is_some());
        due
    }
}

/// The server of a task that is silent or blocked.
fn unreached(core: &EngineCore, id: HandleId) -> Option<ServerId> {
    let handle = core.ledger.held(id)?;
    matches!(handle.phase(core.time.now()), Phase::Silent | Phase::Blocked).then_some(handle.server)
}

/// When people are reminded of open questions.
struct Reminders(HashMap<HandleId, Instant>);

impl Reminders {
    /// What is open already gets one notice for each server, and a reminder like everything else.
    fn at_start(core: &EngineCore) -> Self {
        let again = Instant::now() + core.policy.remind_after;
        let mut open: HashMap<ServerId, Vec<Arc<TaskHandle>>> = HashMap::new();
        for handle in core.ledger.all() {
            if handle.phase(core.time.now()) == Phase::Waiting {
                open.entry(handle.server).or_default().push(handle);
            }
        }
        let mut reminders = Self(HashMap::new());
        for handles in open.values() {
            for handle in handles {
                reminders.0.insert(handle.id, again);
            }
            notify(core, handles, Attention::Waiting);
        }
        reminders
    }

    fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    fn notified(&mut self, core: &EngineCore, notified: &[(HandleId, Attention)]) {
        for (id, attention) in notified {
            match attention {
                Attention::Waiting => {
                    self.0.insert(*id, Instant::now() + core.policy.remind_after);
                }
                Attention::Finished => {
                    self.0.remove(id);
                }
                Attention::Problem => {}
            }
        }
    }

    /// Questions that are still open; each has one reminder.
    fn due(&mut self, core: &EngineCore) -> BTreeMap<HandleId, Attention> {
        let now = Instant::now();
        let due: Vec<_> = self.0.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for id in &due {
            self.0.remove(id);
        }
        let open = |id: &HandleId| core.ledger.held(*id).is_some_and(|h| h.phase(core.time.now()) == Phase::Waiting);
        due.into_iter().filter(open).map(|id| (id, Attention::Waiting)).collect()
    }
}

/// One round of notices; returns what was told.
async fn round(core: &Arc<EngineCore>, queued: BTreeMap<HandleId, Attention>) -> Vec<(HandleId, Attention)> {
    let mut groups: BTreeMap<(ServerId, Attention), Vec<Arc<TaskHandle>>> = BTreeMap::new();
    for (id, attention) in queued {
        // What a person answered in advance is answered before anybody is called.
        if attention == Attention::Waiting && !standing_answers::answer(core, id).await {
            continue;
        }
        let Ok(Some(handle)) = core.ledger.load(id).await else { continue };
        let holds = match attention {
            // Answered or withdrawn since: nobody needs to come.
            Attention::Waiting => {
                handle.has_request_for_people(core.time.now()) || handle.is_held() || handle.asks_at_limit()
            }
            // What a person ended with its server is no problem, whatever was known of it a moment before.
            Attention::Problem => !handle.is_settled_loss(handle.phase(core.time.now())),
            Attention::Finished => true,
        };
        if holds {
            groups.entry((handle.server, attention)).or_default().push(handle);
        }
    }
    let mut notified = Vec::new();
    for ((_, attention), handles) in groups {
        if handles.len() > ONE_BY_ONE {
            notify(core, &handles, attention);
        } else {
            for handle in &handles {
                notify(core, std::slice::from_ref(handle), attention);
            }
        }
        notified.extend(handles.iter().map(|handle| (handle.id, attention)));
    }
    notified
}

fn notify(core: &EngineCore, handles: &[Arc<TaskHandle>], attention: Attention) {
    let Some(oldest) = handles.iter().min_by_key(|handle| (handle.created, handle.id)) else { return };
    let server = core.server_name(oldest.server);
    let line = if handles.len() == 1 {
        let tool = match &oldest.tool {
            _ if !oldest.shared.stored.is_empty() => "one of several calls",
            Some(tool) => tool,
            None => "a task",
        };
        format!("{server}: {tool} {}", sentence(oldest, attention, oldest.phase(core.time.now())))
    } else {
        let what = match attention {
            Attention::Waiting => "wait for you",
            Attention::Problem => "need a look",
            Attention::Finished => "are over",
        };
        format!("{server}: {} tasks {what}", handles.len())
    };
    let also = handles.iter().map(|handle| handle.id).filter(|id| *id != oldest.id).collect();
    core.notifier.tell(Notice { attention, handle: oldest.id, also, line });
}

/// The end of the sentence about a task.
fn sentence(handle: &TaskHandle, attention: Attention, phase: Phase) -> &'static str {
    let past_limit = handle.over_limit.is_some();
    let reached = handle.run_limits.is_reached();
    match attention {
        Attention::Waiting if handle.asks_to_go_on() && phase != Phase::Waiting => {
            "went past its limit of tokens and waits for you"
        }
        Attention::Waiting if handle.asks_for_time().is_some() && phase != Phase::Waiting => {
            "reached its time limit and waits for you"
        }
        Attention::Waiting if handle.is_held() && phase != Phase::Waiting => "has a result that waits for you",
        // Other trouble is named by its phase.
        Attention::Problem if past_limit && matches!(phase, Phase::Running | Phase::Cancelling | Phase::Done) => {
            "went past its limit of tokens"
        }
        Attention::Problem if reached && matches!(phase, Phase::Running | Phase::Cancelling) => {
            "reached its time limit"
        }
        Attention::Finished if handle.is_settled_loss(phase) => "was lost when a person ended its server",
        Attention::Waiting | Attention::Problem | Attention::Finished => phase_ending(phase),
    }
}

/// A phase as the end of a sentence.
fn phase_ending(phase: Phase) -> &'static str {
    match phase {
        Phase::Unconfirmed => "was not confirmed by the server",
        Phase::Running => "is working",
        Phase::Waiting => "waits for you",
        Phase::Answering => "is being answered",
        Phase::Cancelling => "was asked to cancel and is still running",
        Phase::Silent => "has gone silent",
        Phase::Blocked => "needs a sign-in or an upgrade",
        Phase::Overdue => "is later than agreed",
        Phase::Done => "is done",
        Phase::DoneWithError => "finished with an error",
        Phase::Failed => "failed",
        Phase::Cancelled => "was cancelled",
        Phase::Revoked => "was revoked",
        Phase::Unwatched => "is no longer watched",
        Phase::Lost => "was lost by the server",
        Phase::Expired => "expired on the server",
    }
}
