//! The limits that a result meets on its way in, before the commit that would let its agent have it.
//!
//! Every result of an agent's task comes through the ledger, by whichever path; there it is weighed when a rule limits it
//! and it may be over, and held in the same commit when it is. So no result over its limit is ever shown unheld, also when
//! the core dies around the commit. One that fits has its room promised until it is booked, so that two do not fit into
//! the room of one. The error in the place of a result is weighed and held in the same way; its room is promised until its
//! commit alone, because nothing expects that an error is read. Without a limit this is one look at the rules. Limits of
//! tasks are in `figures.rs`.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use domain::task::{HoldReason, TaskHandle, Transition};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::budget::models::CountingMethod;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::ports::{MessagePart, PartCount};
use domain::rule::{LimitAction, TokenLimit};
use domain::task::status::{Outcome, TaskStatus};
use domain::time::Timestamp;
use domain::tokens::Family;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::books::Books;
use super::place::Place;
use super::seen::Passed;
use super::shown::{self, Kind};
use super::tap::Item;
use super::{Budget, count, figures};
use crate::agent_call::AgentCall;
use crate::core::then;

/// Results that are weighed at a time. Judgement: two cores' worth; more would only slow each other down.
const WEIGHED_AT_ONCE: usize = 2;

/// Bytes of a result that are counted on its way, where its program may cut it. Judgement: less than a millisecond, and
/// what is longer is mostly above the caps in the table.
const COUNTED_AT_ONCE: u64 = 32 * 1_024;

/// Calls whose place is remembered; beyond it all are forgotten, and the fullest window counts. Judgement: more than
/// agents have open at a time.
const PLACES_MAX: usize = 16_384;

/// What limits know besides the books.
pub(super) struct Limits {
    slots: Semaphore,
    /// Bytes of what passed outside of tasks and is not counted yet.
    uncounted: Mutex<HashMap<AgentId, u64>>,
    /// Where calls that became tasks were made, until their result is here.
    places: Mutex<HashMap<HandleId, Place>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { slots: Semaphore::new(WEIGHED_AT_ONCE), uncounted: Mutex::default(), places: Mutex::default() }
    }
}

impl Limits {
    /// It waits to be counted.
    pub(super) fn waits(&self, item: &Item) {
        if let Some((agent, bytes)) = outside_of_tasks(item) {
            let mut uncounted = self.uncounted.lock();
            let sum = uncounted.entry(agent).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    /// It stands in the books.
    pub(super) fn is_booked(&self, item: &Item) {
        if let Some((agent, bytes)) = outside_of_tasks(item) {
            let mut uncounted = self.uncounted.lock();
            let left = uncounted.get(&agent).map_or(0, |sum| sum.saturating_sub(bytes));
            if left > 0 {
                uncounted.insert(agent, left)
            } else {
                uncounted.remove(&agent)
            };
        }
    }

    fn uncounted(&self, agent: AgentId) -> u64 {
        self.uncounted.lock().get(&agent).copied().unwrap_or(0)
    }

    fn place(&self, id: HandleId) -> Option<Place> {
        self.places.lock().get(&id).cloned()
    }

    /// A task changed: where it was called from is forgotten when no result will come.
    pub(super) fn changed(&self, next: &TaskHandle, has_result: bool) {
        let fetched = next.view.task().is_none_or(|task| task.status != TaskStatus::Completed(Outcome::NotFetched));
        if has_result || (fetched && next.ended_at().is_some()) {
            self.places.lock().remove(&next.id);
        }
    }
}

/// What came into a window without a task, whose results are expected from their commit on. Lists of tools stand there
/// already, mostly.
fn outside_of_tasks(item: &Item) -> Option<(AgentId, u64)> {
    let seen = match item {
        Item::Saw(seen) => seen,
        Item::Arguments(_) | Item::Outcome(..) | Item::Failure(_) | Item::Aside(_) | Item::Word(_) | Item::Mark(_) => {
            return None;
        }
    };
    let is_list = matches!(seen.what, Passed::Tools { .. });
    (seen.handle.is_none() && !is_list).then(|| (seen.agent, seen.what.bytes()))
}

/// What is known of a result between the look at its limits and the commit that brings it. Dropped without one, it did
/// not come.
#[derive(Default)]
pub(crate) struct Incoming {
    weighed: Option<(Payload, Family, PartCount)>,
    promise: Option<Promise>,
}

impl Incoming {
    /// It came: takes its weight, if this is what was weighed. Its room stays promised until it is booked.
    pub(super) fn came(&mut self, result: &Payload) -> Option<PartCount> {
        if let Some(mut promise) = self.promise.take() {
            promise.is_kept = true;
        }
        self.weighed.take().filter(|(weighed, ..)| weighed == result).map(|(.., weight)| weight)
    }
}

/// Room in the window of an agent, for the result of a task.
struct Promise {
    budget: Arc<Budget>,
    agent: AgentId,
    handle: HandleId,
    is_kept: bool,
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.is_kept {
            self.budget.books.lock().takes_back(self.agent, self.handle);
        }
    }
}

/// A result that may be over a limit.
struct Case {
    agent: AgentId,
    handle: HandleId,
    place: Option<Place>,
    result: Payload,
    /// It is the error in place of a result.
    is_error: bool,
    /// The limit of one result, where it may be over it.
    one: Option<TokenLimit>,
    /// The agent's program may cut it, and nobody wants that.
    cut: bool,
    /// The limit of the window, where it holds results.
    window: Option<TokenLimit>,
}

impl Case {
    const fn brought(&self) -> (&Payload, bool) {
        (&self.result, self.is_error)
    }
}

/// What may hold a result.
#[derive(Default)]
struct Bounds {
    /// The limit of one result, where this may be over it.
    one: Option<TokenLimit>,
    /// The agent's program may cut it.
    cut: bool,
    /// The limit of the window, where it holds results.
    window: Option<TokenLimit>,
}

/// The size of a result: as it was counted, and with the error of an estimate on top. It is held by the latter, and told
/// as it was counted where that is over already.
#[derive(Clone, Copy)]
struct Size {
    counted: u64,
    most: u64,
}

impl Size {
    const fn told(self, limit: u64) -> u64 {
        if self.counted > limit { self.counted } else { self.most }
    }
}

/// Whether a result may have more tokens than bytes: a byte of text is never more than one token, but media are counted
/// by their size. The error in its place has none.
fn has_media((result, is_error): (&Payload, bool)) -> bool {
    const MEDIA: [&str; 4] = ["image", "audio", "blob", "\\u"];
    !is_error && MEDIA.iter().any(|word| result.as_str().contains(word))
}

/// Whether a result, or the error in its place, may have more tokens than this.
fn may_exceed(brought: (&Payload, bool), tokens: u64) -> bool {
    brought.0.bytes() > tokens || has_media(brought)
}

impl Budget {
    /// Whether a plain result, or the error in its place, must be remembered, because it may be over a limit and wait here
    /// for somebody.
    pub(crate) fn may_hold(&self, call: &AgentCall, brought: (&Payload, bool)) -> bool {
        let Bounds { one, cut, window } = self.limits_of(call.agent, call.server, &call.tool, brought);
        let full = |limit: TokenLimit| {
            let (_, free) = self.free(&self.books.lock(), call.agent, call.place.as_ref(), limit);
            may_exceed(brought, free.max(self.numbers().short_tokens))
        };
        one.is_some() || (cut && self.would_be_cut(call.agent, brought)) || window.is_some_and(full)
    }

    /// Whether the program of an agent may cut this. A short one is counted here: that costs less than the row that it
    /// would get for nothing.
    fn would_be_cut(&self, agent: AgentId, (text, is_error): (&Payload, bool)) -> bool {
        if text.bytes() > COUNTED_AT_ONCE {
            return true;
        }
        let measure = self.measure(agent);
        let error = self.scale.error_percent(measure.family);
        let (load, kind) = match is_error {
            true => (MessagePart::Error(text.as_str()), Kind::Error),
            false => (MessagePart::Result(text.as_str()), Kind::Result),
        };
        // A scale that fails costs a row, not the call.
        let weight = catch_unwind(AssertUnwindSafe(|| self.scale.count_part(measure.family, load)));
        weight.map_or(true, |weight| shown::would_be_cut(&measure, &weight, (kind, error)).is_some())
    }

    /// A call became a task: its result will come where it was made.
    pub(crate) fn becomes(&self, id: HandleId, call: &AgentCall) {
        let Some(place) = call.place.as_ref().filter(|_| self.numbers().on) else { return };
        let mut places = self.limits.places.lock();
        if places.len() >= PLACES_MAX {
            places.clear();
        }
        places.insert(id, place.clone());
    }

    /// Everything that passed before this is counted, or it took too long.
    pub(super) async fn counted_so_far(&self) {
        let (told, counted) = oneshot::channel();
        if self.tap.leave(Item::Mark(Mutex::new(Some(told)))).is_none() {
            // Late is no error: what is counted later is stored later.
            let _ = timeout(self.numbers().flush_every, counted).await;
        }
    }

    /// What may hold this result.
    fn limits_of(&self, agent: AgentId, server: ServerId, tool: &str, brought: (&Payload, bool)) -> Bounds {
        if !self.numbers().on {
            return Bounds::default();
        }
        let rules = self.roster().resolve(agent, server, tool);
        // Where a person limits results, that alone counts.
        let cap = if rules.hold_cut && rules.result_limit.is_none() {
            self.measure(agent).profile.long_result.cap()
        } else {
            None
        };
        Bounds {
            one: rules.result_limit.filter(|limit| may_exceed(brought, limit.tokens)),
            cut: cap.is_some_and(|cap| may_exceed(brought, cap)),
            window: rules.window_limit.filter(|limit| match limit.at {
                // That a window is full is told as such, not as news of a result.
                LimitAction::Warn | LimitAction::Stop => false,
                LimitAction::Ask | LimitAction::Hold => true,
            }),
        }
    }

    /// What is free below the limit of a window: as it was counted, and at least.
    fn free(&self, books: &Books, agent: AgentId, place: Option<&Place>, limit: TokenLimit) -> (u64, u64) {
        let measure = self.measure(agent);
        let error = self.scale.error_percent(measure.family);
        let waits = self.limits.uncounted(agent);
        let stands = |error| books.occupied(agent, place, (measure.is_confirmed(), error));
        let free = |error| limit.tokens.saturating_sub(stands(error).saturating_add(waits));
        (free(0), free(error))
    }

    /// Promises room for so many tokens, if there is room. A result that is no larger than what would stand in its place
    /// is never kept out.
    fn promise(self: &Arc<Self>, case: &Case, limit: TokenLimit, size: Size) -> Result<Promise, HoldReason> {
        let (agent, handle) = (case.agent, case.handle);
        // Looked at and promised under one lock: two results do not see the same room.
        let mut books = self.books.lock();
        let (counted, least) = self.free(&books, agent, case.place.as_ref(), limit);
        if size.most > least.max(self.numbers().short_tokens) {
            return Err(if size.counted > counted {
                HoldReason::DoesNotFit { tokens: size.counted, free: counted }
            } else {
                HoldReason::DoesNotFit { tokens: size.most, free: least }
            });
        }
        books.promises(agent, handle, size.most);
        drop(books);
        Ok(Promise { budget: Arc::clone(self), agent, handle, is_kept: false })
    }

    /// What a commit must be looked at for.
    fn case(&self, step: &Transition) -> Option<Case> {
        let (next, agent) = (&step.next, step.next.agent?);
        let ends = |write: &&PayloadWrite| matches!(write.kind, PayloadKind::Result | PayloadKind::Error);
        let write = step.payloads.iter().find(ends)?;
        let (result, is_error) = (write.payload.as_ref()?, write.kind == PayloadKind::Error);
        if !next.may_be_held_at_limit() {
            return None;
        }
        let tool = next.tool.as_deref().unwrap_or_default();
        let Bounds { one, cut, window } = self.limits_of(agent, next.server, tool, (result, is_error));
        (one.is_some() || cut || window.is_some()).then(|| Case {
            agent,
            handle: next.id,
            place: self.limits.place(next.id),
            result: result.clone(),
            is_error,
            one,
            cut,
            window,
        })
    }

    /// A transition, with the hold that a limit puts on the result that it brings. Waits only while such a result is
    /// weighed. What is learnt of it stays in `incoming`, for another attempt and for its commit.
    pub(crate) async fn within_limits(
        self: &Arc<Self>,
        step: Transition,
        incoming: &mut Incoming,
        now: Timestamp,
    ) -> Transition {
        incoming.promise = None;
        let Some(case) = self.case(&step) else { return step };
        if let (None, false, Some(limit)) = (case.one, case.cut, case.window)
            && !has_media(case.brought())
        {
            let bytes = case.result.bytes();
            if let Ok(promise) = self.promise(&case, limit, Size { counted: bytes, most: bytes }) {
                incoming.promise = Some(promise);
                return step;
            }
        }
        Box::pin(self.judged(step, case, incoming, now)).await
    }

    async fn judged(
        self: &Arc<Self>,
        step: Transition,
        case: Case,
        incoming: &mut Incoming,
        now: Timestamp,
    ) -> Transition {
        let measure = self.measure(case.agent);
        let family = step.next.tokens.map_or(measure.family, |tokens| tokens.family);
        let measure = CountingMethod { family, ..measure };
        let weight = self.count_part(incoming, family, &case).await;
        if case.window.is_some() {
            // What passed before this takes one token a byte until it is counted.
            self.counted_so_far().await;
        }
        let (bytes, error) = (case.result.bytes(), self.scale.error_percent(family));
        let kind = if case.is_error { Kind::Error } else { Kind::Result };
        let limited = |error| shown::limited(&measure, &weight, bytes, (kind, error));
        let size = Size { counted: limited(0), most: limited(error) };
        let counted = shown::counted(&measure, &weight, bytes, kind);
        let step = then(step, |next| figures::weighed(next, family, counted));
        let large = case.one.filter(|limit| size.most > limit.tokens);
        let too_large =
            large.map(|limit| (limit.at, HoldReason::TooLarge { tokens: size.told(limit.tokens), limit: limit.tokens }));
        let full = case.window.and_then(|limit| match self.promise(&case, limit, size) {
            Ok(promise) => {
                incoming.promise = Some(promise);
                None
            }
            Err(why) => Some((limit.at, why)),
        });
        let holds = [too_large, full];
        let of = |wanted: LimitAction| holds.iter().flatten().find(|(at, _)| *at == wanted).map(|(_, why)| *why);
        let held = match (of(LimitAction::Ask), of(LimitAction::Hold)) {
            (Some(why), _) => Some((why, false)),
            // What slices cannot give, only a person can.
            (None, Some(why)) => Some((why, weight.is_mostly_text())),
            // What slices cannot give is better cut than kept back.
            (None, None) if case.cut && weight.is_mostly_text() => {
                let cut = shown::would_be_cut(&measure, &weight, (kind, error));
                let program = measure.profile;
                cut.map(|(tokens, shown)| (HoldReason::WouldBeCut { tokens, shown, program }, true))
            }
            (None, None) => None,
        };
        match (held, large) {
            (Some((why, in_slices)), _) => {
                // What is held takes no room yet.
                incoming.promise = None;
                then(step, |next| next.hold_at_limit(why, in_slices, now))
            }
            (None, Some(limit)) => then(step, |next| next.exceed_limit(size.told(limit.tokens), limit, now)),
            (None, None) => step,
        }
    }

    /// Weighs a result, unless this one was weighed for an earlier attempt.
    async fn count_part(&self, incoming: &mut Incoming, family: Family, case: &Case) -> PartCount {
        let result = &case.result;
        if let Some((weighed, by, weight)) = &incoming.weighed
            && *by == family
            && weighed == result
        {
            return *weight;
        }
        // Never closed; without a slot it would only be weighed beside others.
        let _slot = self.limits.slots.acquire().await;
        let weight = count::weigh_result(&self.scale, family, case.brought()).await;
        incoming.weighed = Some((result.clone(), family, weight));
        weight
    }
}
