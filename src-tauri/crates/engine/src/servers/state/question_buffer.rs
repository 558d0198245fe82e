//! Live questions without room, by task, bounded by their bytes.
//!
//! When there is room is decided in `servers/waiting_questions.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::ids::HandleId;
use domain::task::input_request::LiveQuestion;

/// A question that waits, and the other calls that may be asking it.
pub(crate) struct WaitingQuestion {
    pub(crate) question: LiveQuestion,
    pub(crate) others: BTreeSet<HandleId>,
}

/// Questions that wait, by task.
#[derive(Default)]
pub(crate) struct WaitingQuestions {
    pub(crate) tasks: BTreeMap<HandleId, TaskQuestions>,
    bytes: usize,
}

#[derive(Default)]
pub(crate) struct TaskQuestions {
    pub(crate) questions: VecDeque<WaitingQuestion>,
    /// How many wait, for the step that notes it.
    pub(crate) count: Arc<AtomicU32>,
    /// What was noted last.
    pub(crate) noted: u32,
}

impl WaitingQuestions {
    /// Keeps a question; gives it back when all that wait would be larger than `most` bytes.
    pub(crate) fn keep(
        &mut self,
        id: HandleId,
        waiting: WaitingQuestion,
        most: usize,
    ) -> Result<(), Box<LiveQuestion>> {
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

    pub(crate) fn take(&mut self, id: HandleId) -> Option<WaitingQuestion> {
        let queue = self.tasks.get_mut(&id)?;
        let waiting = queue.questions.pop_front()?;
        queue.recount();
        self.bytes = self.bytes.saturating_sub(bytes(&waiting));
        Some(waiting)
    }

    /// The server took a question back.
    pub(crate) fn forget(&mut self, token: &str) {
        for queue in self.tasks.values_mut() {
            queue.questions.retain(|waiting| waiting.question.token != token);
            queue.recount();
        }
        self.bytes = self.tasks.values().flat_map(|queue| &queue.questions).map(bytes).sum();
    }

    /// The connection is gone, so nobody waits for these answers.
    pub(crate) fn forget_all(&mut self) {
        for queue in self.tasks.values_mut() {
            queue.questions.clear();
            queue.recount();
        }
        self.bytes = 0;
    }
}

impl TaskQuestions {
    pub(crate) fn recount(&self) {
        self.count.store(u32::try_from(self.questions.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}

/// About how much memory a question takes: what is asked, and the message as received.
fn bytes(waiting: &WaitingQuestion) -> usize {
    let question = &waiting.question;
    let received = question.whole.as_ref().map_or(0, |whole| whole.as_str().len());
    question.ask.bytes().saturating_add(received.saturating_mul(2)).saturating_add(size_of::<LiveQuestion>())
}
