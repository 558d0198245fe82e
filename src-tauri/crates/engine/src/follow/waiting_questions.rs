//! Live questions of one connection for which there is no space: they wait in memory until others close.
//!
//! A question of the 2025 dialect is sent once, so unlike a listed one it cannot be read again later. Their number is
//! noted on the task, their bytes are bounded, and they end with their connection. Whether there is space is decided in
//! `domain::task`; questions that have it go on in `event.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::ids::HandleId;
use domain::task::input_request::LiveQuestion;

use super::Follower;
use super::step::Step;

/// A question that waits, and the other calls that may be asking it.
struct Waiting {
    question: LiveQuestion,
    others: BTreeSet<HandleId>,
}

/// Questions that wait, by task.
#[derive(Default)]
pub(crate) struct WaitingQuestions {
    tasks: BTreeMap<HandleId, Queue>,
    bytes: usize,
}

#[derive(Default)]
struct Queue {
    questions: VecDeque<Waiting>,
    /// How many wait, for the step that notes it.
    count: Arc<AtomicU32>,
    /// What was noted last.
    noted: u32,
}

impl WaitingQuestions {
    /// Keeps a question; gives it back when all that wait would be larger than `most` bytes.
    fn keep(&mut self, id: HandleId, waiting: Waiting, most: usize) -> Result<(), Box<LiveQuestion>> {
        let bytes = bytes(&waiting);
        if self.bytes.saturating_add(bytes) > most {
            return Err(Box::new(waiting.question));
        }
        self.bytes += bytes;
        let queue = self.tasks.entry(id).or_default();
        queue.questions.push_back(waiting);
        queue.recount();
        Ok(())
    }

    fn take(&mut self, id: HandleId) -> Option<Waiting> {
        let queue = self.tasks.get_mut(&id)?;
        let waiting = queue.questions.pop_front()?;
        queue.recount();
        self.bytes = self.bytes.saturating_sub(bytes(&waiting));
        Some(waiting)
    }

    /// The server took a question back.
    pub(super) fn forget(&mut self, token: &str) {
        for queue in self.tasks.values_mut() {
            queue.questions.retain(|waiting| waiting.question.token != token);
            queue.recount();
        }
        self.bytes = self.tasks.values().flat_map(|queue| &queue.questions).map(bytes).sum();
    }

    /// The connection is gone, and with it whoever waits for an answer.
    pub(super) fn forget_all(&mut self) {
        for queue in self.tasks.values_mut() {
            queue.questions.clear();
            queue.recount();
        }
        self.bytes = 0;
    }
}

impl Queue {
    fn recount(&self) {
        self.count.store(u32::try_from(self.questions.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}

/// About how much memory a question takes: what is asked, and the message as received.
fn bytes(waiting: &Waiting) -> usize {
    let question = &waiting.question;
    let received = question.whole.as_ref().map_or(0, |whole| whole.as_str().len());
    question.ask.bytes().saturating_add(received.saturating_mul(2)).saturating_add(size_of::<LiveQuestion>())
}

impl Follower {
    /// Lets a question wait until there is space; without memory for it the server is told that nobody answers.
    pub(super) fn park_question(&mut self, id: HandleId, question: LiveQuestion, others: BTreeSet<HandleId>) {
        let most = self.core.policy.waiting_question_bytes;
        if let Err(question) = self.waiting_questions.keep(id, Waiting { question, others }, most) {
            self.questions_refused(1);
            let task = self.core.ledger.held(id).and_then(|handle| handle.view.task().map(|task| task.id.clone()));
            self.dismiss(task, &question);
        }
    }

    /// Questions that nobody will see: people are told how many on the page of the server.
    pub(super) fn questions_refused(&self, count: u64) {
        tracing::warn!(server.name = %self.server.name, count, "the server asks more than can be kept; questions are refused");
        // An agent's own line ends with its agent; what was refused on it stays with the line that people share.
        let shown = self.core.posts.shared(self.server.id);
        shown.as_ref().unwrap_or(&self.post).questions_refused(count, self.core.now());
    }

    /// Opens questions for which there is space now, one at a time for each task, and notes how many still wait.
    pub(super) fn bring_up_questions(&mut self) {
        let idle: Vec<HandleId> =
            self.waiting_questions.tasks.keys().copied().filter(|id| !self.lanes.is_busy(*id)).collect();
        for id in idle {
            self.bring_up_questions_of(id);
        }
    }

    fn bring_up_questions_of(&mut self, id: HandleId) {
        let Some(queue) = self.waiting_questions.tasks.get_mut(&id) else { return };
        let Some(handle) = self.core.ledger.held(id) else {
            // The task is over: nobody will answer.
            while let Some(waiting) = self.waiting_questions.take(id) {
                self.dismiss(None, &waiting.question);
            }
            self.waiting_questions.tasks.remove(&id);
            return;
        };
        let room = self.core.ledger.question_room(handle.server);
        let has_space = |waiting: &Waiting| handle.has_room_for(&waiting.question.ask, room, &self.core.policy);
        if queue.questions.front().is_some_and(has_space) {
            if let Some(Waiting { question, others }) = self.waiting_questions.take(id) {
                self.step(id, Step::Asked(Box::new(question), others));
            }
            return;
        }
        let count = queue.count.load(Ordering::Relaxed);
        if queue.noted != count {
            queue.noted = count;
            let count = Arc::clone(&queue.count);
            self.step(id, Step::QuestionsWait(count));
        } else if count == 0 {
            self.waiting_questions.tasks.remove(&id);
        }
    }
}
