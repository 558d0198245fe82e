//! Limits how many more questions a task may open, by number and by bytes.
//!
//! A server chooses how much it asks, so what is kept of it is bounded: for each task here, over all tasks of a server
//! by the `room` that the engine counts. Questions beyond the limit are counted by the caller and open as others close.

use crate::policy::Policy;
use crate::task::TaskHandle;
use crate::task::input_request::Ask;

/// The space that is left; taken question by question.
pub(crate) struct QuestionSpace {
    open: usize,
    count: usize,
    bytes: usize,
    room: usize,
}

impl QuestionSpace {
    /// What the open questions of this task leave, where its server may open `room` more.
    pub(crate) fn of(task: &TaskHandle, room: usize, policy: &Policy) -> Self {
        let open = || task.requests.values().filter(|request| request.state.is_open());
        let taken: usize = open().map(|request| request.ask.bytes()).sum();
        Self {
            open: open().count(),
            count: policy.open_questions_per_task.saturating_sub(open().count()),
            bytes: policy.open_question_bytes_per_task.saturating_sub(taken),
            room,
        }
    }

    /// Whether this question fits. The first one always does: its size is capped where it is read.
    pub(crate) fn has_room_for(&self, ask: &Ask) -> bool {
        self.open == 0 || (self.count > 0 && self.room > 0 && ask.bytes() <= self.bytes)
    }

    /// The question takes its space.
    pub(crate) fn take(&mut self, ask: &Ask) {
        self.open = self.open.saturating_add(1);
        self.count = self.count.saturating_sub(1);
        self.room = self.room.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(ask.bytes());
    }
}

impl TaskHandle {
    /// Questions of this task that are open.
    #[must_use]
    pub fn open_questions(&self) -> usize {
        self.requests.values().filter(|request| request.state.is_open()).count()
    }

    /// Whether a live question could be opened now, where the server may open `room` more over all its tasks.
    #[must_use]
    pub fn has_room_for(&self, ask: &Ask, room: usize, policy: &Policy) -> bool {
        QuestionSpace::of(self, room, policy).has_room_for(ask)
    }

    /// So many live questions of this task wait until others close.
    #[must_use]
    pub fn questions_wait(&self, more: u32, now: crate::time::Timestamp) -> crate::task::Transition {
        let mut step = crate::task::Transition::none(self);
        if !self.is_over() {
            step.next.more_questions = more;
        }
        step.settle(self, now)
    }
}
