//! Keeps tasks in step that may all be asking the same question: they wait as long as it is open.
//!
//! A reconciler: it is told which task stores such a question, reads it as it is, and marks the others, or takes the
//! marks off. When the storing task ends or is being cancelled, the question goes on with another call, because it may
//! be that one's. Whether a question is shared is decided where it arrives (`follow/event.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::task::{LiveOutcome, QuestionRef, TaskHandle};
use domain::ids::{HandleId, RequestKey};
use domain::ports::AnswerToSend;
use domain::task::input_request::{AnswerAction, AskDoor, LiveQuestion, RequestState};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::core::{Core, then};

/// Tasks that store shared questions and changed.
#[derive(Default)]
pub(crate) struct SharedBoard {
    changed: Mutex<BTreeSet<HandleId>>,
    wake: Notify,
}

impl SharedBoard {
    /// The task changed.
    pub(crate) fn changed(&self, handle: &TaskHandle) {
        if !handle.shared.stored.is_empty() {
            self.changed.lock().insert(handle.id);
            self.wake.notify_one();
        }
    }
}

/// Reconciles for ever; at the start, everything that is open.
pub(crate) async fn run(core: Arc<Core>) {
    for handle in core.ledger.all() {
        core.shared.changed(&handle);
        for question in handle.shared.elsewhere.clone() {
            let stands = core.ledger.held(question.task).is_some_and(|stored| is_stored(&stored, &question.key));
            if !stands {
                mark(&core, handle.id, &question, false).await;
            }
        }
    }
    loop {
        let changed = std::mem::take(&mut *core.shared.changed.lock());
        if changed.is_empty() {
            core.shared.wake.notified().await;
        }
        for id in changed {
            reconcile(&core, id).await;
        }
    }
}

fn is_stored(stored: &TaskHandle, key: &RequestKey) -> bool {
    let open = stored.requests.get(key).is_some_and(|request| request.state.is_open());
    open && stored.shared.stored.contains_key(key)
}

async fn reconcile(core: &Arc<Core>, id: HandleId) {
    let Ok(Some(stored)) = core.ledger.load(id).await else { return };
    for (key, others) in &stored.shared.stored {
        let question = QuestionRef { task: id, key: key.clone() };
        let is_open = is_stored(&stored, key);
        let stands = is_open && stored.phase(core.now()).asks_people();
        for other in others {
            mark(core, *other, &question, stands).await;
        }
        // An answer that is on its way goes from here; until it is there, the task may still end.
        if stands || is_answered(&stored, key) {
            continue;
        }
        let goes_on = is_open || ended_with(&stored, key);
        let live = stored.live_question(key);
        let handed = core.must_apply(id, |handle, now| handle.hand_over_question(key, now)).await;
        if let (true, Some(live), Ok(_)) = (goes_on, live, handed) {
            ask_another(core, &stored, live, others.clone()).await;
        }
    }
}

fn is_answered(stored: &TaskHandle, key: &RequestKey) -> bool {
    stored.requests.get(key).is_some_and(|request| matches!(request.state, RequestState::Answered(_)))
}

/// Whether the question was closed only because the task that stores it ended.
fn ended_with(stored: &TaskHandle, key: &RequestKey) -> bool {
    stored.requests.get(key).is_some_and(|request| match &request.state {
        RequestState::Withdrawn { at, .. } => stored.ended_at() == Some(*at),
        RequestState::Open | RequestState::Answered(_) | RequestState::Confirmed(_) => false,
    })
}

/// Marks a task that may be asking, or takes the mark off; nothing is committed when it is as it should be.
async fn mark(core: &Core, id: HandleId, question: &QuestionRef, asked: bool) {
    let Some(handle) = core.ledger.held(id) else { return };
    if handle.shared.elsewhere.contains(question) == asked {
        return;
    }
    let marked = core.ledger.apply(id, |handle, now| handle.asked_elsewhere(question, asked, now)).await;
    if let Err(error) = marked {
        tracing::warn!(handle.id = %id, %error, "that a task may be asking could not be stored");
    }
}

/// Stores the question with the oldest of the calls that are left; the server is told when there is none.
async fn ask_another(core: &Arc<Core>, before: &TaskHandle, question: LiveQuestion, mut others: BTreeSet<HandleId>) {
    let now = core.now();
    while let Some(next) = oldest(core, &others, now) {
        others.remove(&next);
        let left = others.clone();
        let mut opened = false;
        let asked = core.must_apply(next, |handle, now| {
            let (step, outcome) = handle.asked(&question, now, &core.policy);
            match outcome {
                LiveOutcome::Opened(key) | LiveOutcome::Same(key) => {
                    opened = true;
                    then(step, |next| next.shares_question(&key, &left, now))
                }
                LiveOutcome::AnsweredBefore(_) => {
                    opened = true;
                    step
                }
                LiveOutcome::NoSpace | LiveOutcome::Rejected(_) => step,
            }
        });
        if asked.await.is_ok() && opened {
            return;
        }
    }
    let post = core.posts.of(before);
    let Some(live) = post.and_then(|post| post.live()).filter(|live| live.id == question.connection) else { return };
    let LiveQuestion { connection, token, digest, .. } = question;
    let door = AskDoor::Live { connection, token, digest };
    let answer = AnswerToSend { door, action: AnswerAction::Dismiss, content: None };
    if let Err(error) = core.ask(live.upstream.answer(None, vec![answer])).await {
        tracing::debug!(%error, "a question of calls that are over could not be dismissed");
    }
}

/// The oldest of these that is open and may still be asked for.
fn oldest(core: &Core, ids: &BTreeSet<HandleId>, now: domain::time::Timestamp) -> Option<HandleId> {
    let held = ids.iter().filter_map(|id| core.ledger.held(*id));
    held.filter(|handle| handle.ended_at().is_none() && handle.phase(now).asks_people())
        .min_by_key(|handle| (handle.created, handle.id))
        .map(|handle| handle.id)
}
