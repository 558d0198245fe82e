//! What each change of a task means for the budget: output to be counted, a result that is here, waste.
//!
//! Called after every commit, so it only looks and leaves things to be counted; nothing here waits or counts. What is
//! wasted is read off the change itself, so that it is counted once, whatever restarts in between.

use domain::task::{TaskHandle, Told, Transition};
use domain::ids::AgentId;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{Contact, GoneWhy};
use domain::time::Timestamp;
use domain::tokens::Count;
use domain::budget::waste::Waste;

use super::Budget;
use super::coming::TaskFacts;
use super::limits::Incoming;
use super::shown::{self, Counted, Kind};
use super::tap::{Item, Matter};

impl Budget {
    /// A task was committed as `next`; `before` is `None` at its birth.
    pub(crate) fn committed(
        &self,
        before: Option<&TaskHandle>,
        step: &Transition,
        next: &TaskHandle,
        mut incoming: Incoming,
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
                PayloadKind::Arguments => self.leave(Item::Arguments(matter(next, agent, text.clone()))),
                PayloadKind::Result => self.result_is_here(next, agent, text, &mut incoming),
                PayloadKind::Error => self.leave(Item::Failure(matter(next, agent, text.clone()))),
                PayloadKind::Answer(_)
                | PayloadKind::RequestState
                | PayloadKind::Unreadable
                | PayloadKind::Task
                | PayloadKind::Question(_) => {}
            }
        }
        self.words_change(before, next, agent);
        if before.is_some_and(|before| before.hold != next.hold || before.intent != next.intent) {
            let (family, now) = (self.measure(agent).family, self.now());
            self.books.lock().pending(agent, family, now, |pending| pending.settle(next));
        }
    }

    /// What its agent reads of a task when it looks, and what its server says of its progress that no look shows.
    fn words_change(&self, before: Option<&TaskHandle>, next: &TaskHandle, agent: AgentId) {
        if before.and_then(words) != words(next) {
            self.last_word(next, agent);
        }
        let progress = |handle: &TaskHandle| handle.progress.as_ref().and_then(|progress| progress.message.clone());
        if let (Some(_), Some(said)) = (next.view.task(), progress(next))
            && before.and_then(progress).as_ref() != Some(&said)
        {
            self.leave(Item::Aside(matter(next, agent, Payload::new(said))));
        }
    }

    /// This is the last word of a task from now on.
    pub(super) fn last_word(&self, handle: &TaskHandle, agent: AgentId) {
        let word = words(handle).unwrap_or_default();
        self.leave(Item::Word(matter(handle, agent, Payload::new(word))));
    }

    /// A result that was weighed on its way in is booked at once; any other is counted first.
    fn result_is_here(&self, next: &TaskHandle, agent: AgentId, text: &Payload, incoming: &mut Incoming) {
        let (here, facts) = (matter(next, agent, text.clone()), TaskFacts::of(next));
        match incoming.came(text) {
            Some(weight) => {
                let counted = shown::counted(&self.measure(agent), &weight, text.bytes(), Kind::Result);
                self.expects(&here, facts, counted);
            }
            None => self.leave(Item::Outcome(here, facts)),
        }
    }

    /// A result of this size is about to come in.
    pub(super) fn expects(&self, here: &Matter, facts: Option<TaskFacts>, result: Counted) {
        let (family, now) = (self.measure(here.agent).family, self.now());
        let mut books = self.books.lock();
        books.sizes().learn(here.server, here.tool.as_ref(), result.intake.window.tokens);
        if let Some(facts) = facts {
            books.pending(here.agent, family, now, |pending| pending.came(&facts, result));
        }
        books.takes_back(here.agent, here.handle);
    }

    fn note_waste(&self, before: &TaskHandle, next: &TaskHandle) {
        let now = self.now();
        let waited = self.policy.remind_after;
        let told = |handle: &TaskHandle| handle.told.contains(&Told::Disobeyed);
        let mut wasted = Vec::new();
        if told(next) && !told(before) {
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
        let mut books = self.books.lock();
        for waste in wasted {
            books.wasted(next.agent, next.server, waste, Count::ZERO, now);
        }
    }
}

fn matter(handle: &TaskHandle, agent: AgentId, text: Payload) -> Matter {
    Matter { agent, server: handle.server, tool: handle.tool.clone(), handle: handle.id, text }
}

/// What its server says of a task to whoever looks: a call that is no task there says it with its progress, while it runs.
pub(super) fn words(handle: &TaskHandle) -> Option<&str> {
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
            GoneWhy::Expired | GoneWhy::ServerRemoved => false,
        },
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
    }
}
