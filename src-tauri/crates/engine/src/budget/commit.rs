//! What each commit of a task means for the budget: output to count, a result that is pending, waste.
//!
//! Runs after every commit, so it only queues; nothing here waits or counts. Waste is read off the change itself, so
//! that it is counted once, whatever restarts in between.

use domain::budget::waste::Waste;
use domain::ids::AgentId;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{Contact, GoneWhy};
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use domain::tokens::Count;

use super::Budget;
use super::limits::IncomingResult;
use crate::budget::counting::queue::{CountingItem, TaskText};
use crate::budget::counting::visible::{self, Counted, MessageKind};
use crate::budget::pending_results::ResultFacts;

impl Budget {
    /// A task was committed as `next`; `before` is `None` at its birth.
    pub(crate) fn committed(
        &self,
        before: Option<&TaskHandle>,
        step: &Transition,
        next: &TaskHandle,
        mut incoming: IncomingResult,
    ) {
        if !self.numbers().on {
            return;
        }
        if let Some(before) = before {
            self.note_waste(before, next);
        }
        let has_result = step.payloads.iter().any(|write| write.kind == PayloadKind::Result);
        self.limits.changed(next, has_result);
        let Some(agent) = next.agent else { return };
        for write in &step.payloads {
            let Some(text) = &write.payload else { continue };
            match &write.kind {
                PayloadKind::Arguments => self.count_later(CountingItem::Arguments(text_of(next, agent, text.clone()))),
                PayloadKind::Result => self.result_arrived(next, agent, text, &mut incoming),
                PayloadKind::Error => self.count_later(CountingItem::Error(text_of(next, agent, text.clone()))),
                PayloadKind::Answer(_)
                | PayloadKind::RequestState
                | PayloadKind::Unreadable
                | PayloadKind::Task
                | PayloadKind::Question(_) => {}
            }
        }
        self.status_changed(before, next, agent);
        if before.is_some_and(|before| before.hold != next.hold || before.intent != next.intent) {
            let (family, now) = (self.measure(agent).family, self.now());
            self.windows.lock().pending(agent, family, now, |pending| pending.settle(next));
        }
    }

    /// What its agent reads of a task when it polls, and what its server says of its progress that no poll shows.
    fn status_changed(&self, before: Option<&TaskHandle>, next: &TaskHandle, agent: AgentId) {
        if before.and_then(status_message) != status_message(next) {
            self.set_status_message(next, agent);
        }
        let progress = |handle: &TaskHandle| handle.progress.as_ref().and_then(|progress| progress.message.clone());
        if let (Some(_), Some(said)) = (next.view.task(), progress(next))
            && before.and_then(progress).as_ref() != Some(&said)
        {
            self.count_later(CountingItem::KeptOut(text_of(next, agent, Payload::new(said))));
        }
    }

    /// Queues the last status message of a task.
    pub(crate) fn set_status_message(&self, handle: &TaskHandle, agent: AgentId) {
        let word = status_message(handle).unwrap_or_default();
        self.count_later(CountingItem::Status(text_of(handle, agent, Payload::new(word))));
    }

    /// A result that was counted for its limit is entered at once; any other is queued.
    fn result_arrived(&self, next: &TaskHandle, agent: AgentId, text: &Payload, incoming: &mut IncomingResult) {
        let (here, facts) = (text_of(next, agent, text.clone()), ResultFacts::of(next));
        match incoming.came(text) {
            Some(weight) => {
                let counted = visible::counted(&self.measure(agent), &weight, text.bytes(), MessageKind::Result);
                self.expects(&here, facts, counted);
            }
            None => self.count_later(CountingItem::Result(here, facts)),
        }
    }

    /// A result of this size is pending.
    pub(crate) fn expects(&self, here: &TaskText, facts: Option<ResultFacts>, result: Counted) {
        let (family, now) = (self.measure(here.agent).family, self.now());
        let mut windows = self.windows.lock();
        windows.sizes().learn(here.server, here.tool.as_ref(), result.intake.window.tokens);
        if let Some(facts) = facts {
            windows.pending(here.agent, family, now, |pending| pending.came(&facts, result));
        }
        windows.release(here.agent, here.handle);
    }

    fn note_waste(&self, before: &TaskHandle, next: &TaskHandle) {
        let now = self.now();
        let waited = self.policy.remind_after;
        let mut wasted = Vec::new();
        if next.finished_in_spite_of_cancel() && !before.finished_in_spite_of_cancel() {
            wasted.push(Waste::DisobeyedCancel);
        }
        if is_lost(next, now) && !is_gone(before) {
            wasted.push(Waste::LostTask);
        }
        if before.requests.len() == next.requests.len() && before.requests == next.requests && wasted.is_empty() {
            return;
        }
        let stalled = before.requests.values().filter(|request| {
            let closed = next.requests.get(&request.key).is_none_or(|later| !later.state.is_open());
            request.state.is_open() && closed && now.since(request.opened) >= waited
        });
        wasted.extend(stalled.map(|_| Waste::StalledQuestion));
        let mut windows = self.windows.lock();
        for waste in wasted {
            windows.wasted(next.agent, next.server, waste, Count::ZERO, now);
        }
    }
}

fn text_of(handle: &TaskHandle, agent: AgentId, text: Payload) -> TaskText {
    TaskText { agent, server: handle.server, tool: handle.tool.clone(), handle: handle.id, text }
}

/// What a poll of a task shows as its status message. A call that is no task on its server has its progress message.
pub(crate) fn status_message(handle: &TaskHandle) -> Option<&str> {
    match handle.view.task() {
        Some(task) => task.message.as_deref(),
        None if handle.view.is_terminal() => None,
        None => handle.progress.as_ref().and_then(|progress| progress.message.as_deref()),
    }
}

fn is_gone(handle: &TaskHandle) -> bool {
    match handle.contact {
        Contact::Gone { .. } => true,
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
    }
}

/// Whether the server lost it before its time was over.
fn is_lost(handle: &TaskHandle, now: Timestamp) -> bool {
    let expired = handle.view.task().and_then(|task| task.expires).is_some_and(|expires| expires <= now);
    match &handle.contact {
        Contact::Gone { why, .. } => match why {
            GoneWhy::Unknown | GoneWhy::ProcessEnded(_) | GoneWhy::Replaced => !expired,
            GoneWhy::Expired | GoneWhy::OutOfReach(_) | GoneWhy::EndedByPerson { .. } | GoneWhy::ServerRemoved => false,
        },
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
    }
}
