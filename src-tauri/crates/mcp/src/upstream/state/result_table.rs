//! Which `tasks/result` requests are open, and which results arrived on them and were not read yet.
//!
//! Bounded by bytes. Opening and reading are in `blocking_results.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use tokio::sync::Notify;

use crate::upstream::transport::link::{Answer, RequestTag};

/// The open `tasks/result` requests of one connection, and results that wait to be read.
#[derive(Default)]
pub(crate) struct ResultTable {
    pub(crate) tasks: HashMap<UpstreamTaskId, ResultState>,
    pub(crate) streams: HashMap<RequestTag, UpstreamTaskId>,
    kept_bytes: usize,
}

#[derive(Default)]
pub(crate) struct ResultState {
    /// The open request.
    pub(crate) open: Option<(RequestTag, Arc<Notify>)>,
    /// What it ended with.
    pub(crate) kept: Option<Answer>,
    /// It ended while the task was not over: from then on only regular looks open it again, lest a server that
    /// answers at once be asked in a circle.
    pub(crate) early_ends: u32,
    /// Fetches of a finished task that brought nothing.
    pub(crate) failures: u32,
}

impl ResultTable {
    /// The task whose open result this stream is.
    pub(crate) fn task_of(&self, tag: RequestTag) -> Option<&UpstreamTaskId> {
        self.streams.get(&tag)
    }

    pub(crate) fn take_kept(&mut self, task: &UpstreamTaskId) -> Option<Answer> {
        let kept = self.tasks.get_mut(task)?.kept.take()?;
        self.kept_bytes = self.kept_bytes.saturating_sub(size(&kept));
        Some(kept)
    }

    /// Forgets a task; returns the request to give up.
    pub(crate) fn forget(&mut self, task: &UpstreamTaskId) -> Option<RequestTag> {
        self.take_kept(task);
        let (tag, _) = self.tasks.remove(task)?.open?;
        self.streams.remove(&tag);
        Some(tag)
    }

    pub(crate) fn ended(
        &mut self,
        task: &UpstreamTaskId,
        tag: RequestTag,
        answer: Option<Answer>,
        room: usize,
    ) -> bool {
        self.streams.remove(&tag);
        let Some(state) = self.tasks.get_mut(task) else { return false };
        let Some((_, told)) = state.open.take_if(|(open, _)| *open == tag) else { return false };
        let tell = state.early_ends == 0;
        if let Some(answer) = answer
            && self.kept_bytes.saturating_add(size(&answer)) <= room
        {
            self.kept_bytes = self.kept_bytes.saturating_add(size(&answer));
            state.kept = Some(answer);
        }
        told.notify_waiters();
        tell
    }
}

fn size(answer: &Answer) -> usize {
    match answer {
        Answer::Result(raw) | Answer::Error(raw) => raw.get().len(),
    }
}
