//! Finds tasks by what they say: messages, arguments, results and errors, in memory only (ruling 49, decision 0037).
//!
//! Nothing is read before somebody searches or opens a list. Then the tasks are read newest first in small steps with
//! rests between them, and what changes is read again; while nothing changes, nothing runs. What is found by name or id
//! is the registry's. The texts are in `text_index/store.rs`, what of a payload is searched in `text_index/words.rs`.

mod store;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{RegistryError, TaskCursor, TaskQuery};
use domain::task::TaskHandle;
use domain::task::payload::PayloadKind;
use domain::task::status::{Outcome, ServerView, TaskStatus};
use domain::time::Timestamp;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::core::EngineCore;
use crate::engine::Engine;
use store::{SearchedText, TextMatches, TextStore};

/// Bytes that are searched at a time before others have their turn. Judgement: a millisecond.
const SEARCHED_AT_ONCE: usize = 2 * 1_048_576;

/// How far the search in what tasks say reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextReach {
    /// Older tasks are not searched; `None` when all are.
    pub back_to: Option<Timestamp>,
    /// Whether more is being read.
    pub is_reading: bool,
    /// Tasks that are searched.
    pub tasks: usize,
    /// Bytes they take in memory.
    pub bytes: usize,
}

/// The index and what its worker waits for.
#[derive(Default)]
pub(crate) struct TextIndex {
    store: Mutex<TextStore>,
    state: Mutex<BuildState>,
    /// First lines of results that lists showed, `None` for a result without one.
    lines: Mutex<HashMap<HandleId, Option<Arc<str>>>>,
    wanted: Notify,
}

#[derive(Default)]
struct BuildState {
    /// Somebody searched, or opened a list.
    is_wanted: bool,
    /// Every task was read, or there is no room for more.
    is_built: bool,
    /// Something was removed, so that everything is read again.
    is_outdated: bool,
}

impl TextIndex {
    /// Begins to read, if it did not yet.
    fn want(&self) {
        let mut state = self.state.lock();
        if !state.is_wanted {
            state.is_wanted = true;
            self.wanted.notify_one();
        }
    }

    /// Tasks were removed: what they said must not stay.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock();
        if state.is_wanted {
            state.is_outdated = true;
            state.is_built = false;
            self.wanted.notify_one();
        }
        drop(state);
        self.store.lock().clear();
        self.lines.lock().clear();
    }

    fn reach(&self) -> TextReach {
        let (store, is_built) = (self.store.lock(), self.state.lock().is_built);
        let back_to = if is_built && !store.is_cut() { None } else { store.oldest() };
        TextReach { back_to, is_reading: !is_built, tasks: store.len(), bytes: store.bytes() }
    }
}

impl Engine {
    /// Somebody looks at lists, so that a search may follow: the index begins to be built.
    pub fn prepare_text_search(&self) {
        self.core.text.want();
    }

    /// The first line of a task's result as it was remembered; `None` when it must be read.
    #[must_use]
    pub fn remembered_line(&self, id: HandleId) -> Option<Option<Arc<str>>> {
        self.core.text.lines.lock().get(&id).cloned()
    }

    /// Remembers the first line of a result, which never changes.
    pub fn remember_line(&self, id: HandleId, line: Option<Arc<str>>) {
        let mut lines = self.core.text.lines.lock();
        if lines.len() >= self.core.policy.search.lines_kept {
            lines.clear();
        }
        lines.insert(id, line);
    }

    /// The newest tasks that say a text, in any case, and how far back was searched.
    pub async fn tasks_saying(&self, text: &str) -> (Arc<[HandleId]>, TextReach) {
        let index = &self.core.text;
        index.want();
        let needle = text.trim().to_lowercase();
        if needle.is_empty() {
            return (Arc::default(), index.reach());
        }
        let (known, version) = {
            let store = index.store.lock();
            (store.remembered(&needle), store.version())
        };
        if let Some(known) = known {
            return (known.ids, index.reach());
        }
        let (mut ids, mut place) = (Vec::new(), None);
        loop {
            let most = self.core.policy.search.found_max;
            place = index.store.lock().search(&needle, place, SEARCHED_AT_ONCE, &mut ids, most);
            if place.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let found = TextMatches { ids: ids.into() };
        index.store.lock().remember(version, needle, found.clone());
        (found.ids, index.reach())
    }
}

/// Waits until the index is wanted, builds it and keeps it current, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    while !core.text.state.lock().is_wanted {
        core.text.wanted.notified().await;
    }
    loop {
        match read_and_follow(&core).await {
            Ok(()) => {}
            Err(RegistryError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "what tasks say cannot be read for the search, trying again");
                core.pause(1).await;
            }
        }
    }
}

/// Reads everything once and then what changes, until all is to be read again.
async fn read_and_follow(core: &Arc<EngineCore>) -> Result<(), RegistryError> {
    {
        let mut state = core.text.state.lock();
        (state.is_built, state.is_outdated) = (false, false);
    }
    core.text.store.lock().clear();
    // From now on, so that nothing falls between the reading and the following.
    let mut changes = Engine { core: Arc::clone(core) }.feed(None);
    let mut changed = BTreeSet::new();
    build(core).await?;
    core.text.state.lock().is_built = true;
    let policy = &core.policy.search;
    loop {
        tokio::select! {
            frame = changes.next() => match frame {
                None => return Err(RegistryError::Closed),
                Some(frame) if frame.resync => return Ok(()),
                Some(frame) => changed.extend(frame.handles),
            },
            () = core.text.wanted.notified() => {
                if core.text.state.lock().is_outdated {
                    return Ok(());
                }
            }
        }
        if changed.is_empty() {
            continue;
        }
        // What changes many times in this while is read once.
        tokio::time::sleep(policy.follow_rest).await;
        while let Some(Some(frame)) = futures::FutureExt::now_or_never(changes.next()) {
            if frame.resync {
                return Ok(());
            }
            changed.extend(frame.handles);
        }
        let mut begun = Instant::now();
        for (count, id) in std::mem::take(&mut changed).into_iter().enumerate() {
            match core.registry.handle(id).await? {
                Some(task) => drop(take(core, &task).await?),
                None => core.text.store.lock().remove(id),
            }
            if (count + 1) % usize::try_from(policy.step_rows).unwrap_or(1).max(1) == 0 {
                tokio::time::sleep(begun.elapsed() * policy.rest_times).await;
                begun = Instant::now();
            }
        }
    }
}

/// Reads all tasks, newest first, until there is no more room.
async fn build(core: &EngineCore) -> Result<(), RegistryError> {
    let policy = &core.policy.search;
    let mut before: Option<TaskCursor> = None;
    let (mut tasks, began) = (0_usize, Instant::now());
    loop {
        let begun = Instant::now();
        let page = core.registry.list(TaskQuery { limit: policy.step_rows, before, ..TaskQuery::default() }).await?;
        for (task, _) in &page.rows {
            if !take(core, task).await? {
                return Ok(());
            }
            tasks += 1;
        }
        if core.text.state.lock().is_outdated {
            return Ok(());
        }
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
        tokio::time::sleep(begun.elapsed() * policy.rest_times).await;
    }
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(tasks, duration_ms = millis, "what tasks say can be searched");
    Ok(())
}

/// Takes what a task says. Returns whether there was room.
async fn take(core: &EngineCore, task: &TaskHandle) -> Result<bool, RegistryError> {
    let policy = &core.policy.search;
    let is_over = task.view.is_terminal() && !matches!(task.view.outcome(), Some(Outcome::NotFetched));
    // Arguments never change, and a result comes once.
    let known = core
        .text
        .store
        .lock()
        .get(task.id)
        .filter(|text| text.is_whole || !is_over)
        .map(|text| (text.payloads.clone(), text.is_whole));
    let (payloads, is_whole) = match known {
        Some(known) => known,
        None => {
            let mut texts = Vec::new();
            let mut kinds = vec![PayloadKind::Arguments];
            if is_over && result_bytes(task).is_some_and(|bytes| bytes <= policy.payload_bytes_max) {
                kinds.push(PayloadKind::Result);
            }
            for kind in kinds {
                if let Some(payload) = core.registry.payload(task.id, kind).await? {
                    texts.push(words::of_json(payload.as_str(), policy.text_bytes));
                }
            }
            texts.extend(error_of(task).map(|message| words::of_sentence(message, policy.text_bytes)));
            (texts.join(" ").into_boxed_str(), is_over)
        }
    };
    let said = [
        task.view.task().and_then(|known| known.message.as_deref()),
        task.progress.as_ref().and_then(|progress| progress.message.as_deref()),
    ];
    let said: Vec<String> =
        said.into_iter().flatten().map(|text| words::of_sentence(text, policy.text_bytes)).collect();
    let text = SearchedText { message: said.join(" ").into_boxed_str(), payloads, is_whole };
    Ok(core.text.store.lock().put(task.id, task.created, text, policy.index_bytes))
}

/// The size of its stored result.
fn result_bytes(task: &TaskHandle) -> Option<u64> {
    match task.view.outcome()? {
        Outcome::Ok(stored) | Outcome::ToolError(stored) | Outcome::FailedWithResult(stored) => Some(stored.bytes),
        Outcome::Error(_) | Outcome::NotFetched | Outcome::Unavailable => None,
    }
}

/// The server's words about the error it ended with.
fn error_of(task: &TaskHandle) -> Option<&str> {
    let error = match &task.view {
        ServerView::Refused(error) | ServerView::Direct(Outcome::Error(error)) => Some(error),
        ServerView::Task(known) => match &known.status {
            TaskStatus::Failed(error) => error.as_ref(),
            TaskStatus::Completed(Outcome::Error(error)) => Some(error),
            TaskStatus::Completed(_)
            | TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => None,
        },
        ServerView::Direct(_)
        | ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. } => None,
    };
    error.map(|error| error.message.as_str())
}
