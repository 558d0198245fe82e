//! Applies what a server says (rules 1 to 4, 6, 10; ruling 1).
//!
//! An observation is put in order, compared with what is known, and becomes the view. It never touches what people
//! want. How tasks begin is in `admission.rs` and `call.rs`, failures to see in `missed_polls.rs`.

use std::collections::BTreeMap;

use crate::audit::Verb;
use crate::ids::{RequestKey, UpstreamTaskId};
use crate::policy::{Policy, plain_text};
use crate::raw_message::{Direction, RawText};
use crate::task::input_request::open_limit::QuestionSpace;
use crate::task::input_request::{Ask, AskDoor, InputRequest, RequestState};
use crate::task::observation::{LogLine, Observation, ObservationDoor, Progress};
use crate::task::payload::{Payload, PayloadKind};
use crate::task::status::{Contact, GoneWhy, Outcome, ServerView, TaskStatus, TaskView, Ttl};
use crate::task::{Effect, TaskHandle, Transition};
use crate::time::Timestamp;

/// An observation, and how many more questions its server may open over all its tasks.
#[derive(Clone, Copy)]
pub(crate) struct Sighting<'a> {
    pub(crate) seen: &'a Observation,
    pub(crate) room: usize,
}

impl<'a> Sighting<'a> {
    /// The first sighting of a task.
    pub(crate) const fn first(seen: &'a Observation) -> Self {
        Self { seen, room: usize::MAX }
    }
}

impl TaskHandle {
    /// Applies a sighting of the task behind this handle. A handle without a task is left alone: a task begins by
    /// [`TaskHandle::replied`] or [`TaskHandle::found`].
    #[must_use]
    pub fn observe(&self, seen: &Observation, policy: &Policy) -> Transition {
        self.observe_within(seen, usize::MAX, policy)
    }

    /// As [`TaskHandle::observe`], where the server may open only `room` more questions over all its tasks. The first
    /// open question of a task needs no room: a task that waits is never hidden by the others of its server.
    #[must_use]
    pub fn observe_within(&self, seen: &Observation, room: usize, policy: &Policy) -> Transition {
        let ServerView::Task(known) = &self.view else { return Transition::none(self) };
        if is_another_task(known, seen, policy) {
            return self.gone(&GoneWhy::Replaced, seen.seen);
        }
        if known.status.is_terminal() {
            return self.seen_after_end(known, seen, policy);
        }
        if !self.is_listening(seen) || !self.is_newer(known, seen) {
            return Transition::none(self);
        }
        let mut step = Transition::none(self);
        let known = known.clone();
        step.apply(Some(&known), &known.id, Sighting { seen, room }, policy);
        step.settle(self, seen.seen)
    }

    /// Whether anything the server says still matters: a task that is gone for good stays gone, and of one that
    /// nobody watches only the end counts.
    fn is_listening(&self, seen: &Observation) -> bool {
        let gone_for_good = match &self.contact {
            Contact::Gone { why, .. } => match why {
                GoneWhy::Unknown | GoneWhy::Expired | GoneWhy::OutOfReach(_) => false,
                GoneWhy::ProcessEnded(_)
                | GoneWhy::EndedByPerson { .. }
                | GoneWhy::Replaced
                | GoneWhy::ServerRemoved => true,
            },
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
        };
        !gone_for_good && (!self.is_unwatched() || seen.status.is_terminal())
    }

    /// Rules 3 and 4: a read begun after the newest applied one counts; overlapping ones are ordered by the server's
    /// own clock, and an end always counts.
    fn is_newer(&self, known: &TaskView, seen: &Observation) -> bool {
        let last = self.contact.seen();
        if seen.status.is_terminal() || seen.begun > last {
            return true;
        }
        match (seen.updated, known.updated) {
            (Some(new), Some(old)) if new != old => new > old,
            (Some(_) | None, Some(_) | None) => seen.begun == last || seen.seen > last,
        }
    }

    /// Rule 1: an end never changes; only a payload that was missing may still come.
    fn seen_after_end(&self, known: &TaskView, seen: &Observation, policy: &Policy) -> Transition {
        let mut step = Transition::none(self);
        if let Some(status) = filled_in(&known.status, seen) {
            if let ServerView::Task(task) = &mut step.next.view {
                task.status = status;
            }
            step.keep_result(seen, policy);
            step.effect(Effect::StopPolling);
        } else if contradicts(&known.status, &seen.status) {
            if !self.contradicted {
                step.next.contradicted = true;
                let server = step.by_server();
                let note = format!("{}, then {}", plain_word(&known.status), plain_word(&seen.status));
                step.fact(seen.seen, server, Verb::Contradiction, note);
            }
        } else {
            step.want_payload(seen, policy);
        }
        match &mut step.next.contact {
            Contact::Fresh { seen: last } => *last = seen.seen.max(*last),
            Contact::Silent { .. } | Contact::Gone { .. } | Contact::Blocked { .. } => {}
        }
        step.settle(self, seen.seen)
    }

    /// Progress of the call or task; equal progress changes nothing, none is accepted after the end.
    #[must_use]
    pub fn progressed(&self, progress: &Progress, now: Timestamp, policy: &Policy) -> Transition {
        let mut step = Transition::none(self);
        if self.is_over() {
            return step;
        }
        step.next.progress = Some(Progress {
            done: progress.done.filter(|number| number.is_finite()),
            total: progress.total.filter(|number| number.is_finite()),
            message: progress.message.as_deref().map(|text| plain_text(text, policy.server_text_cap_chars)),
        });
        // A sign of life. For a task, only polls say when it was last seen: they are ordered by it (rule 3).
        match &self.contact {
            Contact::Silent { .. } => step.next.contact = Contact::Fresh { seen: now },
            Contact::Fresh { seen } if self.view.task().is_none() => {
                step.next.contact = Contact::Fresh { seen: now.max(*seen) };
            }
            Contact::Fresh { .. } | Contact::Gone { .. } | Contact::Blocked { .. } => {}
        }
        step.settle(self, now)
    }
}

impl Transition {
    /// The view becomes what was seen; everything that follows from it is noted. `known` is `None` for a new task.
    pub(crate) fn apply(
        &mut self,
        known: Option<&TaskView>,
        id: &UpstreamTaskId,
        sighting: Sighting<'_>,
        policy: &Policy,
    ) {
        let seen = sighting.seen;
        let now = seen.seen;
        self.log_words(known, seen);
        self.heard(now);
        let view = merged(known, id, seen);
        self.keep_task(known, &view, seen, policy);
        self.next.view = ServerView::Task(view);
        if seen.status.is_terminal() {
            let from = known.map_or("call", |task| plain_word(&task.status));
            self.end(now, from, plain_word(&seen.status));
            self.keep_result(seen, policy);
            self.want_payload(seen, policy);
            match seen.status {
                TaskStatus::Completed(Outcome::Error(_))
                | TaskStatus::Failed(_)
                | TaskStatus::Cancelled
                | TaskStatus::Working
                | TaskStatus::InputRequired
                | TaskStatus::Other(_) => {}
                TaskStatus::Completed(_) => self.learn(now),
            }
        } else {
            self.apply_outstanding(known, sighting, policy);
        }
    }

    /// Keeps the task object for its agent, together with what changed; never for its own sake (rule 2).
    fn keep_task(&mut self, known: Option<&TaskView>, view: &TaskView, seen: &Observation, policy: &Policy) {
        let same = known.is_some_and(|old| *old == TaskView { updated: old.updated, ..view.clone() });
        let fits = |raw: &&Payload| raw.as_str().len() <= policy.gateway.task_raw_cap_bytes;
        if let Some(raw) = seen.task_raw.as_ref().filter(|_| self.next.agent.is_some() && !same).filter(fits) {
            self.keep(PayloadKind::Task, Some(raw.clone()));
        }
    }

    /// The server answered or pushed something.
    pub(crate) fn heard(&mut self, now: Timestamp) {
        let last = self.next.contact.seen();
        match self.next.contact {
            Contact::Gone { .. } => {
                let server = self.by_server();
                self.fact(now, server, Verb::Discovered, "heard of again after it was lost");
                self.effect(Effect::PollAt(now));
            }
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => {}
        }
        self.next.contact = Contact::Fresh { seen: now.max(last) };
    }

    /// One line for each new pair of word and message.
    fn log_words(&mut self, known: Option<&TaskView>, seen: &Observation) {
        let same = known.is_some_and(|task| task.status.word() == seen.status.word() && task.message == seen.message);
        if !same {
            let text = seen.message.clone().unwrap_or_default();
            self.log.push(LogLine { at: seen.seen, status: seen.status.word().to_owned(), text });
        }
    }

    /// What the server says is outstanding opens, and what it no longer says closes (rule 6, ruling 1).
    /// Closing comes first, because it makes room.
    fn apply_outstanding(&mut self, known: Option<&TaskView>, sighting: Sighting<'_>, policy: &Policy) {
        let seen = sighting.seen;
        let Some(outstanding) = &seen.outstanding else { return };
        let now = seen.seen;
        let missing = self.missing(known, seen, outstanding);
        let closes = !missing.is_empty() && seen.door == ObservationDoor::Poll;
        if closes {
            let server = self.by_server();
            for key in &missing {
                self.close_request(key, now, &server, "the server no longer asks this");
            }
        } else if !missing.is_empty() {
            // Only a poll may close (ruling 1): what a push leaves out is polled.
            self.effect(Effect::PollAt(now));
        }
        let known_before = self.next.requests.len();
        let mut space = QuestionSpace::of(&self.next, sighting.room, policy);
        let mut more: u32 = 0;
        for (key, ask) in outstanding {
            if self.next.requests.contains_key(key) {
                continue;
            }
            let for_somebody = ask.is_for_people() || self.next.may_ask_agent(ask);
            if for_somebody && !space.has_room_for(ask) {
                more = more.saturating_add(1);
                continue;
            }
            if !self.accepts_request(key, ask, now, policy) {
                continue;
            }
            let state = if for_somebody {
                space.take(ask);
                RequestState::Open
            } else {
                RequestState::Withdrawn { at: now, why: "not answered by people in Taskwarden".to_owned() }
            };
            let door = AskDoor::Listed { key: key.as_str().to_owned() };
            self.open(InputRequest { key: key.clone(), ask: ask.clone(), door, opened: now, state }, now);
            self.keep_question(key, seen.asks_raw.get(key), policy);
        }
        self.next.more_questions = more;
        let opened = self.next.requests.len() > known_before;
        if let Some(raw) = seen.raw.as_ref().filter(|_| opened || closes) {
            self.said(now, Direction::FromServer, seen.door.method(), raw);
        }
    }

    /// The questions that the server listed before and does not list any more.
    fn missing(
        &self,
        known: Option<&TaskView>,
        seen: &Observation,
        outstanding: &BTreeMap<RequestKey, Ask>,
    ) -> Vec<RequestKey> {
        // A read that began before a question opened says nothing about it, unless the server's clock says it is newer.
        let surely_newer = match (known.and_then(|task| task.updated), seen.updated) {
            (Some(old), Some(new)) => new > old,
            (None | Some(_), None | Some(_)) => false,
        };
        let listed = self.next.requests.values().filter(|request| match request.door {
            AskDoor::Listed { .. } => surely_newer || request.opened <= seen.begun,
            AskDoor::Round { .. } | AskDoor::Live { .. } => false,
        });
        listed.filter(|request| !outstanding.contains_key(&request.key)).map(|request| request.key.clone()).collect()
    }

    /// Stores the terminal payload that came with the word.
    fn keep_result(&mut self, seen: &Observation, policy: &Policy) {
        let Some(payload) = &seen.payload else { return };
        let kind = match &seen.status {
            TaskStatus::Completed(Outcome::Error(_)) | TaskStatus::Failed(_) => {
                let text = RawText::of(payload.as_str(), policy);
                self.said(seen.seen, Direction::FromServer, seen.door.method(), &text);
                PayloadKind::Error
            }
            TaskStatus::Completed(_) => PayloadKind::Result,
            TaskStatus::Cancelled | TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => return,
        };
        self.keep(kind, Some(payload.clone()));
    }

    /// A task that ended without its payload is polled once more: at once when the word was pushed or listed,
    /// later when a poll brought the word alone.
    fn want_payload(&mut self, seen: &Observation, policy: &Policy) {
        let again = match (&seen.status, seen.door) {
            (TaskStatus::Completed(Outcome::NotFetched), ObservationDoor::Poll) => seen.seen.plus(policy.poll_first),
            (
                TaskStatus::Completed(Outcome::NotFetched) | TaskStatus::Failed(None),
                ObservationDoor::Push | ObservationDoor::List | ObservationDoor::Create,
            ) => seen.seen,
            (
                TaskStatus::Completed(_)
                | TaskStatus::Failed(_)
                | TaskStatus::Cancelled
                | TaskStatus::Working
                | TaskStatus::InputRequired
                | TaskStatus::Other(_),
                ObservationDoor::Poll | ObservationDoor::Push | ObservationDoor::List | ObservationDoor::Create,
            ) => return,
        };
        self.effects.retain(|effect| *effect != Effect::StopPolling);
        self.effect(Effect::PollAt(again));
    }
}

/// The view after an observation: what it leaves out stays as it was known.
fn merged(known: Option<&TaskView>, id: &UpstreamTaskId, seen: &Observation) -> TaskView {
    let first_seen = known.map_or(seen.seen, |task| task.first_seen);
    let (ttl, expires) = match (seen.ttl, known) {
        (Ttl::Unsaid, Some(task)) => (task.ttl, task.expires),
        (Ttl::Unsaid | Ttl::Unlimited, _) => (seen.ttl, None),
        (Ttl::For(span), _) => (seen.ttl, Some(first_seen.plus(span))),
    };
    TaskView {
        id: id.clone(),
        status: seen.status.clone(),
        message: seen.message.clone(),
        created: seen.created.or(known.and_then(|task| task.created)),
        updated: seen.updated.or(known.and_then(|task| task.updated)),
        first_seen,
        ttl,
        expires,
        hint: seen.hint.or(known.and_then(|task| task.hint)),
    }
}

/// Whether the server shows another task under the id that we know.
fn is_another_task(known: &TaskView, seen: &Observation, policy: &Policy) -> bool {
    let (Some(ours), Some(theirs)) = (known.created, seen.created) else { return false };
    ours.since(theirs).max(theirs.since(ours)) > policy.created_slack
}

/// What an ended task's status becomes by a payload that was missing; `None` when nothing is added.
fn filled_in(known: &TaskStatus, seen: &Observation) -> Option<TaskStatus> {
    use Outcome::{Error, FailedWithResult, NotFetched, Ok, ToolError, Unavailable};
    use TaskStatus::{Cancelled, Completed, Failed, InputRequired, Other, Working};
    let later = &seen.status;
    match (known, later) {
        // The first word stays, whatever word the result came with; that the tool reported an error stays, too.
        (Completed(NotFetched | Unavailable), Completed(FailedWithResult(stored))) => {
            return Some(Completed(ToolError(*stored)));
        }
        (Failed(None), Completed(Error(error))) => return Some(Failed(Some(error.clone()))),
        (Failed(None), Completed(ToolError(stored))) => return Some(Completed(FailedWithResult(*stored))),
        (Completed(_) | Failed(_) | Cancelled | Working | InputRequired | Other(_), _) => {}
    }
    let fills = match known {
        Completed(NotFetched) => matches!(later, Completed(Ok(_) | ToolError(_) | Error(_) | Unavailable)),
        Completed(Unavailable) => matches!(later, Completed(Ok(_) | ToolError(_) | Error(_))),
        Failed(None) => matches!(later, Failed(Some(_)) | Completed(FailedWithResult(_))),
        Completed(Ok(_) | ToolError(_) | FailedWithResult(_) | Error(_))
        | Failed(Some(_))
        | Cancelled
        | Working
        | InputRequired
        | Other(_) => false,
    };
    fills.then(|| later.clone())
}

/// Whether a later word contradicts an end. A 2025 server keeps saying `failed` of a task whose payload showed
/// a tool error.
fn contradicts(known: &TaskStatus, later: &TaskStatus) -> bool {
    use TaskStatus::{Cancelled, Completed, Failed, InputRequired, Other, Working};
    match known {
        Completed(ours) => match later {
            Completed(Outcome::NotFetched | Outcome::Unavailable) => false,
            Completed(theirs) => ending(ours) != ending(theirs),
            Failed(None) => ending(ours) != Ending::ToolError,
            Failed(Some(_)) | Cancelled | Working | InputRequired | Other(_) => true,
        },
        // The payload of a failed task may be read as an error in place of a result.
        Failed(_) => !matches!(later, Failed(_) | Completed(Outcome::Error(_))),
        Cancelled => *later != Cancelled,
        Working | InputRequired | Other(_) => false,
    }
}

/// What an outcome says of the call, whatever is stored of it.
#[derive(PartialEq, Eq)]
enum Ending {
    Success,
    ToolError,
    Error,
}

fn ending(outcome: &Outcome) -> Ending {
    match outcome {
        Outcome::ToolError(_) | Outcome::FailedWithResult(_) => Ending::ToolError,
        Outcome::Error(_) => Ending::Error,
        Outcome::Ok(_) | Outcome::NotFetched | Outcome::Unavailable => Ending::Success,
    }
}

/// The word for the audit log, which keeps nothing of a server's making.
fn plain_word(status: &TaskStatus) -> &str {
    match status {
        TaskStatus::Other(_) => "another word",
        TaskStatus::Working
        | TaskStatus::InputRequired
        | TaskStatus::Completed(_)
        | TaskStatus::Failed(_)
        | TaskStatus::Cancelled => status.word(),
    }
}
