//! Tells people what needs them: once for each cause, and many at once as one.
//!
//! Transitions pin what to tell; the reconciler takes what is pinned, looks whether it still holds, and tells. What
//! was open already when the core started is told as one line, not one by one. A notice is not a fact: everything it
//! says is in the registry and the inbox. Quiet hours and channels are the notifier's.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::task::{Attention, TaskHandle};
use domain::ids::{HandleId, ServerId};
use domain::ports::Notice;
use domain::task::status::Phase;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::core::Core;

/// Notices of one kind about one server that are told one by one in one round; more become one line. Judgement:
/// three lines are read, thirty are dismissed.
const ONE_BY_ONE: usize = 3;

/// What is pinned to be told. A handle pinned twice is told once, with what matters most.
#[derive(Default)]
pub(crate) struct Board {
    pinned: Mutex<BTreeMap<HandleId, Attention>>,
    wake: Notify,
}

impl Board {
    /// People should be told this about the handle.
    pub(crate) fn pin(&self, id: HandleId, attention: Attention) {
        {
            let mut pinned = self.pinned.lock();
            let before = pinned.get(&id).copied();
            // An end replaces everything before it; a question comes before a problem.
            let matters = match (before, attention) {
                (None, _) | (_, Attention::Finished | Attention::Waiting) => attention,
                (Some(before), Attention::Problem) => before,
            };
            pinned.insert(id, matters);
        }
        self.wake.notify_one();
    }

    fn take(&self) -> BTreeMap<HandleId, Attention> {
        std::mem::take(&mut *self.pinned.lock())
    }
}

/// Tells for ever: the first at once, then at most one round in a sweep's time.
pub(crate) async fn run(core: Arc<Core>) {
    let mut waiting = Reminders::at_start(&core);
    let mut outages = Outages::default();
    loop {
        let next = [waiting.next(), outages.next()].into_iter().flatten().min();
        tokio::select! {
            () = core.board.wake.notified() => {
                let pinned = outages.hold_back(&core, core.board.take());
                let told = round(&core, pinned).await;
                waiting.told(&core, &told);
            }
            () = until(next) => {
                let mut due = waiting.due(&core);
                due.extend(outages.due(&core));
                round(&core, due).await;
            }
        }
        tokio::time::sleep(core.policy.sweep_every).await;
    }
}

/// Tasks of one server that fall silent one after the other have one cause: the first few are told at once, the rest
/// together after a while, if they are silent still.
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

    /// Takes out what has the cause that was told already.
    fn hold_back(&mut self, core: &Core, mut pinned: BTreeMap<HandleId, Attention>) -> BTreeMap<HandleId, Attention> {
        let until = Instant::now() + core.policy.remind_after;
        let mut begun = Vec::new();
        pinned.retain(|id, attention| {
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
        pinned
    }

    /// What was held back for long enough and is silent still.
    fn due(&mut self, core: &Core) -> BTreeMap<HandleId, Attention> {
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
fn unreached(core: &Core, id: HandleId) -> Option<ServerId> {
    let handle = core.ledger.held(id)?;
    matches!(handle.phase(core.now()), Phase::Silent | Phase::Blocked).then_some(handle.server)
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// When open questions are told again.
struct Reminders(HashMap<HandleId, Instant>);

impl Reminders {
    /// What waits already is told as one line for each server, and again like everything else.
    fn at_start(core: &Core) -> Self {
        let again = Instant::now() + core.policy.remind_after;
        let mut open: HashMap<ServerId, Vec<Arc<TaskHandle>>> = HashMap::new();
        for handle in core.ledger.all() {
            if handle.phase(core.now()) == Phase::Waiting {
                open.entry(handle.server).or_default().push(handle);
            }
        }
        let mut reminders = Self(HashMap::new());
        for handles in open.values() {
            for handle in handles {
                reminders.0.insert(handle.id, again);
            }
            tell_together(core, handles, Attention::Waiting);
        }
        reminders
    }

    fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    fn told(&mut self, core: &Core, told: &[(HandleId, Attention)]) {
        for (id, attention) in told {
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

    /// Questions that are still open after the time; each is told again once.
    fn due(&mut self, core: &Core) -> BTreeMap<HandleId, Attention> {
        let now = Instant::now();
        let due: Vec<_> = self.0.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for id in &due {
            self.0.remove(id);
        }
        let open = |id: &HandleId| core.ledger.held(*id).is_some_and(|h| h.phase(core.now()) == Phase::Waiting);
        due.into_iter().filter(open).map(|id| (id, Attention::Waiting)).collect()
    }
}

/// One round of telling; returns what was told.
async fn round(core: &Core, pinned: BTreeMap<HandleId, Attention>) -> Vec<(HandleId, Attention)> {
    let mut groups: BTreeMap<(ServerId, Attention), Vec<Arc<TaskHandle>>> = BTreeMap::new();
    for (id, attention) in pinned {
        let Ok(Some(handle)) = core.ledger.load(id).await else { continue };
        let holds = match attention {
            // Answered or taken back meanwhile: nobody needs to come.
            Attention::Waiting => {
                handle.has_request_for_people(core.now()) || handle.is_held() || handle.asks_to_go_on()
            }
            Attention::Problem | Attention::Finished => true,
        };
        if holds {
            groups.entry((handle.server, attention)).or_default().push(handle);
        }
    }
    let mut told = Vec::new();
    for ((_, attention), handles) in groups {
        if handles.len() > ONE_BY_ONE {
            tell_together(core, &handles, attention);
        } else {
            for handle in &handles {
                tell_together(core, std::slice::from_ref(handle), attention);
            }
        }
        told.extend(handles.iter().map(|handle| (handle.id, attention)));
    }
    told
}

fn tell_together(core: &Core, handles: &[Arc<TaskHandle>], attention: Attention) {
    let Some(oldest) = handles.iter().min_by_key(|handle| (handle.created, handle.id)) else { return };
    let server = core.server_name(oldest.server);
    let line = if handles.len() == 1 {
        let tool = match &oldest.tool {
            _ if !oldest.shared.stored.is_empty() => "one of several calls",
            Some(tool) => tool,
            None => "a task",
        };
        format!("{server}: {tool} {}", sentence(oldest, attention, oldest.phase(core.now())))
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

/// What is told of a task, as the end of a sentence.
fn sentence(handle: &TaskHandle, attention: Attention, phase: Phase) -> &'static str {
    let past_limit = handle.over_limit.is_some();
    match attention {
        Attention::Waiting if handle.asks_to_go_on() && phase != Phase::Waiting => {
            "went past its limit of tokens and waits for you"
        }
        Attention::Waiting if handle.is_held() && phase != Phase::Waiting => "has a result that waits for you",
        // Other trouble is said by its own word.
        Attention::Problem if past_limit && matches!(phase, Phase::Running | Phase::Cancelling | Phase::Done) => {
            "went past its limit of tokens"
        }
        Attention::Waiting | Attention::Problem | Attention::Finished => words(phase),
    }
}

/// A phase as the end of a sentence.
fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Unconfirmed => "was not confirmed by the server",
        Phase::Running => "is working",
        Phase::Waiting => "waits for you",
        Phase::Answering => "is being answered",
        Phase::Cancelling => "was asked to stop and goes on",
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
