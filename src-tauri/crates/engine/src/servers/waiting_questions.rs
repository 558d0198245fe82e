//! Live questions for which there is no room: they wait in memory until others close.
//!
//! A 2025 question is sent once, so unlike a listed one it cannot be read again. How many wait is noted on the task,
//! their bytes are bounded, and they end with their connection. Whether there is room is the domain's to say.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::ids::HandleId;
use domain::task::input_request::LiveQuestion;

use crate::servers::actor::ServerActor;
use crate::servers::state::question_buffer::WaitingQuestion;
use crate::servers::state::task_lane::LaneUpdate;

impl ServerActor {
    /// Lets a question wait until there is space; without memory for it, it is dismissed.
    pub(crate) fn park_question(&mut self, id: HandleId, question: LiveQuestion, others: BTreeSet<HandleId>) {
        let most = self.core.policy.waiting_question_bytes;
        if let Err(question) = self.waiting_questions.keep(id, WaitingQuestion { question, others }, most) {
            self.questions_refused(1);
            let task = self.core.ledger.held(id).and_then(|handle| handle.view.task().map(|task| task.id.clone()));
            self.dismiss(task, &question);
        }
    }

    /// Questions that nobody will see; the page of the server shows how many.
    pub(crate) fn questions_refused(&self, count: u64) {
        tracing::warn!(server.name = %self.server.name, count, "the server asks more than can be kept; questions are refused");
        // An agent's own connection ends with its agent, so the shared one keeps the count.
        let shown = self.core.connections.shared(self.server.id);
        shown.as_ref().unwrap_or(&self.connection).questions_refused(count, self.core.time.now());
    }

    /// Opens questions for which there is space now, one at a time for each task, and notes how many still wait.
    pub(crate) fn bring_up_questions(&mut self) {
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
        let room = self.core.ledger.question_room(&handle);
        let has_space = |waiting: &WaitingQuestion| handle.has_room_for(&waiting.question.ask, room, &self.core.policy);
        if queue.questions.front().is_some_and(has_space) {
            if let Some(WaitingQuestion { question, others }) = self.waiting_questions.take(id) {
                self.apply(id, LaneUpdate::Asked(Box::new(question), others));
            }
            return;
        }
        let count = queue.count.load(Ordering::Relaxed);
        if queue.noted != count {
            queue.noted = count;
            let count = Arc::clone(&queue.count);
            self.apply(id, LaneUpdate::QuestionsWait(count));
        } else if count == 0 {
            self.waiting_questions.tasks.remove(&id);
        }
    }
}
