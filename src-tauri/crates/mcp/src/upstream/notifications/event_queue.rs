//! Events on their way to the engine.
//!
//! A push never waits, because the link must be drained. When the queue is full, observations and progress are dropped
//! and every watched task is polled once instead; questions are never dropped, and bounded by how many may be open.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::ids::UpstreamTaskId;
use domain::ports::{Closure, UpstreamEvent};
use futures_core::Stream;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Droppable events held for a slow reader. The engine takes thousands a second; this is a burst of one server whose
/// tasks all change at once, a few hundred KiB at most words.
const CAPACITY: usize = 1_024;

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct EventQueue {
    queue: Mutex<Queue>,
    wake: Notify,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<UpstreamEvent>,
    /// Tasks that make up for what was dropped.
    watched: Arc<[UpstreamTaskId]>,
    /// Something about tasks was dropped.
    missed: bool,
    /// A change of the tools was dropped.
    missed_tools: bool,
    /// `Closed` is in, nothing may follow.
    closed: bool,
    /// No reader is left.
    abandoned: bool,
}

impl EventQueue {
    /// Puts an event in. Never waits; after the end, or without a reader, it does nothing.
    pub(crate) fn push(&self, event: UpstreamEvent) {
        let mut queue = self.queue.lock();
        if queue.closed || queue.abandoned {
            return;
        }
        let full = queue.events.len() >= CAPACITY;
        match &event {
            UpstreamEvent::Seen(..)
            | UpstreamEvent::Progress(..)
            | UpstreamEvent::PollSoon(_)
            | UpstreamEvent::VisitDone { .. }
                if full =>
            {
                queue.missed = true;
                return;
            }
            UpstreamEvent::QuestionsRefused(more) => {
                if let Some(UpstreamEvent::QuestionsRefused(count)) = queue.events.back_mut() {
                    *count = count.saturating_add(*more);
                    return;
                }
            }
            UpstreamEvent::ToolsChanged | UpstreamEvent::StreamLost if queue.events.back() == Some(&event) => return,
            // The next attempt to open it says so again.
            UpstreamEvent::StreamLost if full => return,
            UpstreamEvent::ToolsChanged if full => {
                queue.missed_tools = true;
                return;
            }
            UpstreamEvent::QuestionWithdrawn { token } => {
                let unread = queue
                    .events
                    .iter()
                    .position(|held| matches!(held, UpstreamEvent::Question(_, asked) if asked.token == *token));
                if let Some(unread) = unread {
                    queue.events.remove(unread);
                    return;
                }
            }
            UpstreamEvent::Subscribed(_) => queue.events.retain(|held| !matches!(held, UpstreamEvent::Subscribed(_))),
            UpstreamEvent::Seen(..)
            | UpstreamEvent::Progress(..)
            | UpstreamEvent::PollSoon(_)
            | UpstreamEvent::VisitDone { .. }
            | UpstreamEvent::ToolsChanged
            | UpstreamEvent::StreamLost
            | UpstreamEvent::Question(..)
            | UpstreamEvent::Closed(_) => {}
        }
        queue.events.push_back(event);
        drop(queue);
        self.wake.notify_one();
    }

    /// Puts the last event in.
    pub(crate) fn close(&self, closure: Closure) {
        let mut queue = self.queue.lock();
        if queue.closed || queue.abandoned {
            return;
        }
        queue.closed = true;
        queue.missed = false;
        queue.missed_tools = false;
        queue.events.push_back(UpstreamEvent::Closed(closure));
        drop(queue);
        self.wake.notify_one();
    }

    /// Which tasks to look at when something was dropped, and when a stream came back.
    pub(crate) fn set_watched(&self, tasks: Arc<[UpstreamTaskId]>) {
        self.queue.lock().watched = tasks;
    }

    /// The same set.
    pub(crate) fn watched(&self) -> Arc<[UpstreamTaskId]> {
        Arc::clone(&self.queue.lock().watched)
    }

    /// The reader's end. There is one.
    pub(crate) fn stream(self: &Arc<Self>) -> impl Stream<Item = UpstreamEvent> + Send + 'static {
        let reader = Reader(Arc::clone(self));
        futures::stream::unfold(reader, |reader| async move { reader.0.next().await.map(|event| (event, reader)) })
    }

    async fn next(&self) -> Option<UpstreamEvent> {
        loop {
            {
                let mut queue = self.queue.lock();
                if queue.events.is_empty() {
                    queue.make_up();
                }
                if let Some(event) = queue.events.pop_front() {
                    return Some(event);
                }
                if queue.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

impl Queue {
    fn make_up(&mut self) {
        if std::mem::take(&mut self.missed_tools) {
            self.events.push_back(UpstreamEvent::ToolsChanged);
        }
        if std::mem::take(&mut self.missed) {
            let looks = self.watched.iter().cloned().map(UpstreamEvent::PollSoon);
            self.events.extend(looks);
        }
    }
}

struct Reader(Arc<EventQueue>);

impl Drop for Reader {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.abandoned = true;
        queue.events.clear();
    }
}
