//! Pushed events that wait: those of tasks not known yet, and progress that was committed a moment ago.
//!
//! What becomes of them is decided in `servers/push.rs`.

use std::collections::{HashMap, VecDeque};

use domain::ids::{HandleId, UpstreamTaskId};
use domain::ports::UpstreamEvent;
use tokio::time::Instant;

/// Words about unknown tasks that wait at most; a server that talks of tasks we shall never know costs no more.
const EARLY_EVENTS_MAX: usize = 64;

/// Words about tasks that are not known (yet).
#[derive(Default)]
pub(crate) struct EarlyEvents(VecDeque<(Instant, UpstreamTaskId, UpstreamEvent)>);

impl EarlyEvents {
    /// Keeps an event until then; returns the oldest one where there is no room for both.
    pub(crate) fn keep(&mut self, until: Instant, task: UpstreamTaskId, event: UpstreamEvent) -> Option<UpstreamEvent> {
        let oldest = if self.0.len() >= EARLY_EVENTS_MAX { self.0.pop_front() } else { None };
        self.0.push_back((until, task, event));
        oldest.map(|(_, _, event)| event)
    }

    /// Takes what was said about a task that is known now.
    pub(crate) fn claim(&mut self, task: &UpstreamTaskId) -> Vec<UpstreamEvent> {
        let (mine, others): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|(_, about, _)| about == task);
        self.0 = others;
        mine.into_iter().map(|(_, _, event)| event).collect()
    }

    /// Takes what waited long enough, in the order of arrival.
    pub(crate) fn end(&mut self, now: Instant) -> Vec<UpstreamEvent> {
        let (over, others): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|(until, _, _)| *until <= now);
        self.0 = others;
        over.into_iter().map(|(_, _, event)| event).collect()
    }

    /// The server took a question back.
    pub(crate) fn forget_question(&mut self, token: &str) {
        self.0.retain(|(_, _, event)| !matches!(event, UpstreamEvent::Question(_, asked) if asked.token == token));
    }

    /// When the next one has waited long enough.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(until, _, _)| *until).min()
    }
}

/// Tasks whose progress was committed a moment ago: the next commit is no earlier than this.
#[derive(Default)]
pub(crate) struct ProgressThrottle(pub(crate) HashMap<HandleId, Instant>);

impl ProgressThrottle {
    /// When the next kept progress may be committed.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// Takes the tasks whose progress may be committed now.
    pub(crate) fn ready(&mut self, now: Instant) -> Vec<HandleId> {
        let ready: Vec<_> = self.0.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for id in &ready {
            self.0.remove(id);
        }
        ready
    }
}
