//! What became of the cancels of a month, task by task.
//!
//! A cancel can be asked again, and its server then answers again: a task counts once, with the last answer and the last end.
//! Who decided it, and how often, is counted in `report.rs`.

use std::collections::HashMap;

use super::ServerFigures;

/// What the server said to the cancel of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelAnswer {
    Acknowledged,
    Refused,
    /// It could not be sent.
    Unsent,
}

/// How a task ended that was to be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelledEnd {
    Stopped,
    FinishedAnyway,
    /// The call never left: its server was asked nothing.
    NeverSent,
}

/// The cancel of one task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TaskCancel {
    /// Whether it was asked in this month.
    pub(super) is_asked: bool,
    pub(super) answer: Option<CancelAnswer>,
    pub(super) end: Option<CancelledEnd>,
}

impl TaskCancel {
    fn is_counted(self) -> bool {
        self.is_asked && self.end != Some(CancelledEnd::NeverSent)
    }

    /// The figures of its server that it counts in.
    fn figures(self, server: &mut ServerFigures) -> impl Iterator<Item = &mut u64> {
        let ServerFigures { cancels, acknowledged, refused, unsent, stopped, finished_anyway, .. } = server;
        let asked = self.is_counted().then_some(cancels);
        let answered = match self.answer {
            Some(CancelAnswer::Acknowledged) => Some(acknowledged),
            Some(CancelAnswer::Refused) => Some(refused),
            Some(CancelAnswer::Unsent) => Some(unsent),
            None => None,
        };
        let ended = match self.end.filter(|_| self.is_asked) {
            Some(CancelledEnd::Stopped) => Some(stopped),
            Some(CancelledEnd::FinishedAnyway) => Some(finished_anyway),
            Some(CancelledEnd::NeverSent) | None => None,
        };
        asked.into_iter().chain(answered).chain(ended)
    }
}

/// Cancels of a month by their task, each with its server.
#[derive(Debug, Default)]
pub(super) struct CancelTally(HashMap<String, (String, TaskCancel)>);

impl CancelTally {
    /// Changes what is known of the cancel of a task, and the figures of its server with it.
    pub(super) fn change(
        &mut self,
        task: &str,
        server: &str,
        figures: &mut ServerFigures,
        change: impl FnOnce(&mut TaskCancel),
    ) {
        let (_, cancel) = self.0.entry(task.to_owned()).or_insert_with(|| (server.to_owned(), TaskCancel::default()));
        cancel.figures(figures).for_each(|figure| *figure = figure.saturating_sub(1));
        change(cancel);
        cancel.figures(figures).for_each(|figure| *figure += 1);
    }

    /// Whether this task was asked to cancel in this month.
    pub(super) fn is_asked(&self, task: &str) -> bool {
        self.0.get(task).is_some_and(|(_, cancel)| cancel.is_asked)
    }

    /// Cancels that reached this server and whose task did not end.
    pub(super) fn unfinished(&self, server: &str) -> usize {
        let open = |(at, cancel): &&(String, TaskCancel)| at == server && cancel.is_asked && cancel.end.is_none();
        self.0.values().filter(open).count()
    }
}
