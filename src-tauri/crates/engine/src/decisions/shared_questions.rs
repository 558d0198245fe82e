//! Keeps tasks in step that may all be asking the same question: all of them wait while it is open. What nobody waits for
//! any more is dismissed, so that its server does not wait for ever and no later core asks it of another task.
//!
//! A reconciler: it reads the question where it is stored and marks the other tasks, or removes the marks. A task that
//! ends or is being cancelled is ruled out; when it stores the question, another one takes it over. What makes a question
//! shared is decided in `servers/push.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use domain::ports::AnswerToSend;
use domain::task::input_request::{AnswerAction, AskDoor, LiveQuestion, RequestState};
use domain::task::{LiveOutcome, QuestionRef, TaskHandle};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::core::{EngineCore, then};

/// Tasks that changed and store shared questions, or ended with questions.
#[derive(Default)]
pub(crate) struct SharedQuestionQueue {
    changed: Mutex<BTreeSet<HandleId>>,
    wake: Notify,
}

impl SharedQuestionQueue {
    /// The task changed: what it stores is looked at, and what other tasks store that it may be asking.
    pub(crate) fn changed(&self, handle: &TaskHandle) {
        let has_questions = !handle.shared.stored.is_empty() || handle.left_unanswered().next().is_some();
        let stored = has_questions.then_some(handle.id);
        let elsewhere = handle.shared.elsewhere.iter().map(|question| question.task);
        let mut storing = stored.into_iter().chain(elsewhere).peekable();
        if storing.peek().is_some() {
            self.changed.lock().extend(storing);
            self.wake.notify_one();
        }
    }
}

/// Reconciles for ever, beginning with everything that is open.
pub(crate) async fn run(core: Arc<EngineCore>) {
    for handle in core.ledger.all() {
        core.effects.shared_questions.changed(&handle);
        for question in handle.shared.elsewhere.clone() {
            let is_still_asked =
                core.ledger.held(question.task).is_some_and(|stored| is_stored(&stored, &question.key));
            if !is_still_asked {
                mark(&core, handle.id, &question, false).await;
            }
        }
    }
    loop {
        let changed = std::mem::take(&mut *core.effects.shared_questions.changed.lock());
        if changed.is_empty() {
            core.effects.shared_questions.wake.notified().await;
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

async fn reconcile(core: &Arc<EngineCore>, id: HandleId) {
    let Ok(Some(stored)) = core.ledger.load(id).await else { return };
    for (key, others) in &stored.shared.stored {
        let question = QuestionRef { task: id, key: key.clone() };
        let is_open = is_stored(&stored, key);
        let is_still_asked = is_open && stored.phase(core.time.now()).asks_people();
        let now = core.time.now();
        let may_be_asking = |other: &HandleId| core.ledger.held(*other).is_some_and(|handle| may_ask(&handle, now));
        let (left, gone): (BTreeSet<HandleId>, BTreeSet<HandleId>) =
            others.iter().partition(|other| may_be_asking(other));
        for other in others {
            mark(core, *other, &question, is_still_asked && left.contains(other)).await;
        }
        if is_still_asked && !gone.is_empty() {
            // The inbox and a cancel go by those that are left.
            let ruled_out = core.must_apply(id, |handle, now| handle.rule_out_askers(key, &gone, now)).await;
            if let Err(error) = ruled_out {
                tracing::warn!(handle.id = %id, %error, "calls that cannot be asking any more could not be ruled out");
            }
        }
        // A recorded answer is sent from this task; until it arrives, the task may still end.
        if is_still_asked || is_answered(&stored, key) {
            continue;
        }
        let moves_on = is_open || ended_with(&stored, key);
        let live = stored.live_question(key);
        let handed = core.must_apply(id, |handle, now| handle.hand_over_question(key, now)).await;
        if let (true, Some(live), Ok(_)) = (moves_on, live, handed) {
            ask_another(core, &stored, live, others.clone()).await;
        }
    }
    dismiss_left(core, &stored).await;
}

/// Dismisses the questions that this task alone asked, when it ended before anybody answered them.
async fn dismiss_left(core: &EngineCore, ended: &TaskHandle) {
    for (key, door) in ended.left_unanswered() {
        let AskDoor::Live { connection, token, .. } = door else { continue };
        let tasks = core.ledger.of_server(ended.server);
        let moved_on =
            ended.shared.stored.contains_key(key) || tasks.iter().any(|task| task.asks_live(*connection, token));
        if !moved_on {
            dismiss(core, ended, door.clone()).await;
        }
    }
}

fn is_answered(stored: &TaskHandle, key: &RequestKey) -> bool {
    stored.requests.get(key).is_some_and(|request| matches!(request.state, RequestState::Answered(_)))
}

/// Whether the question was closed only because the task that stores it ended.
fn ended_with(stored: &TaskHandle, key: &RequestKey) -> bool {
    stored.left_unanswered().any(|(left, _)| left == key)
}

/// Marks a task that may be asking, or takes the mark off; nothing is committed when it is as it should be.
async fn mark(core: &EngineCore, id: HandleId, question: &QuestionRef, asked: bool) {
    let Some(handle) = core.ledger.held(id) else { return };
    if handle.shared.elsewhere.contains(question) == asked {
        return;
    }
    let marked = core.ledger.apply(id, |handle, now| handle.asked_elsewhere(question, asked, now)).await;
    if let Err(error) = marked {
        tracing::warn!(handle.id = %id, %error, "that a task may be asking could not be stored");
    }
}

/// Stores the question with the oldest of the calls that are left; dismisses it when there is none.
async fn ask_another(
    core: &Arc<EngineCore>,
    before: &TaskHandle,
    question: LiveQuestion,
    mut others: BTreeSet<HandleId>,
) {
    let now = core.time.now();
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
    let LiveQuestion { connection, token, digest, .. } = question;
    dismiss(core, before, AskDoor::Live { connection, token, digest }).await;
}

/// Answers a question of this task's connection with `cancel`, if it is still asked there.
async fn dismiss(core: &EngineCore, asked: &TaskHandle, door: AskDoor) {
    let AskDoor::Live { connection: asked_on, .. } = &door else { return };
    let connection = core.connections.of(asked);
    let Some(live) = connection.and_then(|connection| connection.live()).filter(|live| live.id == *asked_on) else {
        return;
    };
    let answer = AnswerToSend { door, action: AnswerAction::Dismiss, content: None };
    if let Err(error) = core.ask(live.upstream.answer(None, vec![answer])).await {
        tracing::debug!(%error, "a question of calls that are over could not be dismissed");
    }
}

/// Whether a question that names no call may be this one's: it is open, and nobody has cancelled it.
fn may_ask(handle: &TaskHandle, now: domain::time::Timestamp) -> bool {
    handle.may_ask_live() && handle.phase(now).asks_people()
}

/// The oldest of these that is open and may still be asked for.
fn oldest(core: &EngineCore, ids: &BTreeSet<HandleId>, now: domain::time::Timestamp) -> Option<HandleId> {
    let held = ids.iter().filter_map(|id| core.ledger.held(*id));
    held.filter(|handle| may_ask(handle, now)).min_by_key(|handle| (handle.created, handle.id)).map(|handle| handle.id)
}
