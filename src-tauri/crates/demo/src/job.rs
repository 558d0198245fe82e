//! One job: what it tells, what it asks, how it ends.
//!
//! A job is a level: state behind a lock, and a pulse that grows at each change. The end is final; whatever the work
//! says later is dropped. How the work runs is `bench.rs`, how long a job is kept is `store.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ports::Clock;
use domain::time::Timestamp;
use mcp::serve::desk::{Ask, Job, Owner, Progress, Pulse, Question, Reply, Sheet, Stage};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

/// One call at work.
pub(crate) struct DemoJob {
    id: String,
    pub(crate) owner: Owner,
    clock: Arc<dyn Clock>,
    created: Timestamp,
    pub(crate) ttl: Duration,
    poll_ms: u64,
    state: Mutex<State>,
    pulse: watch::Sender<Pulse>,
    stop: CancellationToken,
}

struct State {
    stage: Stage,
    message: Option<String>,
    progress: Option<Progress>,
    updated: Timestamp,
    asked: u64,
    questions: Vec<Question>,
    replies: HashMap<String, oneshot::Sender<Reply>>,
}

/// What a new job is given.
pub(crate) struct Birth {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ttl: Duration,
    pub(crate) poll: Duration,
}

impl DemoJob {
    pub(crate) fn new(birth: Birth) -> Arc<Self> {
        let created = birth.clock.now();
        Arc::new(Self {
            id: birth.id,
            owner: birth.owner,
            clock: birth.clock,
            created,
            ttl: birth.ttl,
            poll_ms: u64::try_from(birth.poll.as_millis()).unwrap_or(u64::MAX),
            state: Mutex::new(State {
                stage: Stage::Working,
                message: None,
                progress: None,
                updated: created,
                asked: 0,
                questions: Vec::new(),
                replies: HashMap::new(),
            }),
            pulse: watch::Sender::new(Pulse::default()),
            stop: CancellationToken::new(),
        })
    }

    pub(crate) fn expires(&self) -> Timestamp {
        self.created.plus(self.ttl)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().stage.is_over()
    }

    /// Cancelled when the client asked for a stop.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Says how far it is.
    pub(crate) fn report(&self, message: String, progress: Option<Progress>) {
        self.change(|state| {
            state.message = Some(message);
            state.progress = progress;
            false
        });
    }

    /// Opens a question.
    pub(crate) fn open(&self, ask: Ask) -> oneshot::Receiver<Reply> {
        let (to, from) = oneshot::channel();
        self.change(|state| {
            state.asked += 1;
            let key = format!("question-{}", state.asked);
            state.replies.insert(key.clone(), to);
            state.questions.push(Question { key, ask });
            state.stage = Stage::Asking;
            true
        });
        from
    }

    /// Ends it; only the first end counts.
    pub(crate) fn end(&self, stage: Stage) {
        self.change(|state| {
            state.stage = stage;
            state.questions.clear();
            state.replies.clear();
            true
        });
    }

    /// Changes the state unless it is over. `change` says whether it was a turn.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let turn = {
            let mut state = self.state.lock();
            if state.stage.is_over() {
                return;
            }
            let turn = change(&mut state);
            state.updated = self.clock.now();
            turn
        };
        self.pulse.send_modify(|pulse| {
            pulse.ticks += 1;
            pulse.turns += u64::from(turn);
        });
    }
}

impl Job for DemoJob {
    fn id(&self) -> &str {
        &self.id
    }

    fn sheet(&self) -> Sheet {
        let state = self.state.lock();
        Sheet {
            stage: state.stage.clone(),
            message: state.message.clone(),
            progress: state.progress,
            questions: state.questions.clone(),
            created: self.created,
            updated: state.updated,
            ttl_ms: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
            poll_ms: self.poll_ms,
        }
    }

    fn pulse(&self) -> watch::Receiver<Pulse> {
        self.pulse.subscribe()
    }

    fn answer(&self, key: &str, reply: Reply) {
        let mut taken = None;
        if !self.state.lock().replies.contains_key(key) {
            return;
        }
        self.change(|state| {
            taken = state.replies.remove(key);
            state.questions.retain(|question| question.key != key);
            if state.questions.is_empty() {
                state.stage = Stage::Working;
            }
            true
        });
        if let Some(waiting) = taken {
            // Work that ended meanwhile needs no reply.
            drop(waiting.send(reply));
        }
    }

    fn ask_stop(&self) {
        self.stop.cancel();
    }

    fn declare_cancelled(&self) {
        self.stop.cancel();
        self.end(Stage::Cancelled);
    }
}
