//! One run of a tool: its stage, progress and open questions.
//!
//! Readers watch a revision number that grows with each change and then take a snapshot. The first end is final; later
//! changes are dropped. How the tool runs is `tool_context.rs`; how long a job is kept is `job_store.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::script_server::script::{
    Elicitation, ElicitationReply, JobOwner, JobProgress, JobRevision, JobSnapshot, JobStage, Question, ScriptJob,
};
use domain::ports::Clock;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

/// One call at work.
pub(crate) struct DemoJob {
    id: String,
    pub(crate) owner: JobOwner,
    clock: Arc<dyn Clock>,
    created: Timestamp,
    pub(crate) ttl: Duration,
    poll_ms: u64,
    state: Mutex<State>,
    revision: watch::Sender<JobRevision>,
    stop: CancellationToken,
}

struct State {
    stage: JobStage,
    message: Option<String>,
    progress: Option<JobProgress>,
    updated: Timestamp,
    asked: u64,
    questions: Vec<Question>,
    replies: HashMap<String, oneshot::Sender<ElicitationReply>>,
}

/// What a new job is given.
pub(crate) struct NewJob {
    pub(crate) id: String,
    pub(crate) owner: JobOwner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ttl: Duration,
    pub(crate) poll: Duration,
}

impl DemoJob {
    pub(crate) fn new(birth: NewJob) -> Arc<Self> {
        let created = birth.clock.now();
        Arc::new(Self {
            id: birth.id,
            owner: birth.owner,
            clock: birth.clock,
            created,
            ttl: birth.ttl,
            poll_ms: u64::try_from(birth.poll.as_millis()).unwrap_or(u64::MAX),
            state: Mutex::new(State {
                stage: JobStage::Working,
                message: None,
                progress: None,
                updated: created,
                asked: 0,
                questions: Vec::new(),
                replies: HashMap::new(),
            }),
            revision: watch::Sender::new(JobRevision::default()),
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
    pub(crate) fn report(&self, message: String, progress: Option<JobProgress>) {
        self.change(|state| {
            state.message = Some(message);
            state.progress = progress;
            false
        });
    }

    /// Opens a question.
    pub(crate) fn open(&self, ask: Elicitation) -> oneshot::Receiver<ElicitationReply> {
        let (to, from) = oneshot::channel();
        self.change(|state| {
            state.asked += 1;
            let key = format!("question-{}", state.asked);
            state.replies.insert(key.clone(), to);
            state.questions.push(Question { key, ask });
            state.stage = JobStage::Asking;
            true
        });
        from
    }

    /// Ends it; only the first end counts.
    pub(crate) fn end(&self, stage: JobStage) {
        self.change(|state| {
            state.stage = stage;
            state.questions.clear();
            state.replies.clear();
            true
        });
    }

    /// Changes the state unless the job has ended. `change` returns whether stage or questions changed.
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
        self.revision.send_modify(|revision| {
            revision.ticks += 1;
            revision.turns += u64::from(turn);
        });
    }
}

impl ScriptJob for DemoJob {
    fn id(&self) -> &str {
        &self.id
    }

    fn snapshot(&self) -> JobSnapshot {
        let state = self.state.lock();
        JobSnapshot {
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

    fn revision(&self) -> watch::Receiver<JobRevision> {
        self.revision.subscribe()
    }

    fn answer(&self, key: &str, reply: ElicitationReply) {
        let mut taken = None;
        if !self.state.lock().replies.contains_key(key) {
            return;
        }
        self.change(|state| {
            taken = state.replies.remove(key);
            state.questions.retain(|question| question.key != key);
            if state.questions.is_empty() {
                state.stage = JobStage::Working;
            }
            true
        });
        if let Some(waiting) = taken {
            // A tool that has ended needs no reply.
            drop(waiting.send(reply));
        }
    }

    fn request_cancel(&self) {
        self.stop.cancel();
    }

    fn declare_cancelled(&self) {
        self.stop.cancel();
        self.end(JobStage::Cancelled);
    }
}
