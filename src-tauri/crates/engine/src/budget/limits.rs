//! The limits that a result meets before the commit that would let its agent have it.
//!
//! Every result of an agent's task passes here, by whichever path. It is counted when a rule limits it and it may be
//! over, and held in the same commit when it is, so no result over its limit is ever visible unheld, not even if the
//! core dies around the commit. A result that fits reserves its room until it is entered, so that two do not fit into
//! the room of one. An error reserves room until its commit only, because nobody waits to read it. Limits of tasks are
//! in `task_costs.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use domain::budget::models::CountingMethod;
use domain::client::profile::PROFILES;
use domain::ids::{AgentId, HandleId};
use domain::ports::PartCount;
use domain::rule::{LimitAction, TokenLimit};
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::{Outcome, TaskStatus};
use domain::task::{HoldReason, TaskHandle, Transition};
use domain::time::Timestamp;
use domain::tokens::Family;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::conversations::calling_conversations::CallingConversations;
use super::conversations::conversation::Conversation;
use super::conversations::windows::ConversationWindows;
use super::counting::count;
use super::counting::queue::CountingItem;
use super::counting::result_slots::ResultSlots;
use super::counting::visible;
use super::result_text::{CallOrigin, ResultText};
use super::{Budget, task_costs};
use crate::core::then;

/// Bytes of a result that are counted at once, where its program may cut it. Judgement: less than a millisecond, and
/// longer results are mostly above the caps in the table.
const COUNTED_AT_ONCE: u64 = 32 * 1_024;

/// Tokens up to which no known program cuts a result: for most, nobody needs to look up which program reads them.
static NEVER_CUT: LazyLock<u64> =
    LazyLock::new(|| PROFILES.iter().filter_map(|profile| profile.long_result.cap()).min().unwrap_or(u64::MAX));

/// What limits need beside the windows.
#[derive(Default)]
pub(super) struct ResultLimits {
    slots: ResultSlots,
    conversations: Mutex<CallingConversations>,
}

impl ResultLimits {
    fn conversation(&self, id: HandleId) -> Option<Conversation> {
        self.conversations.lock().get(id).cloned()
    }

    /// A task changed: its conversation is forgotten when no result will come.
    pub(super) fn changed(&self, next: &TaskHandle, has_result: bool) {
        let fetched = next.view.task().is_none_or(|task| task.status != TaskStatus::Completed(Outcome::NotFetched));
        if has_result || (fetched && next.ended_at().is_some()) {
            self.conversations.lock().remove(next.id);
        }
    }
}

/// What is known of a result between the check of its limits and its commit. Dropped without a commit, its reservation
/// ends.
#[derive(Default)]
pub(crate) struct IncomingResult {
    weighed: Option<(Payload, Family, PartCount)>,
    /// It could not be counted, or not in time.
    is_uncounted: bool,
    reservation: Option<WindowReservation>,
}

impl IncomingResult {
    /// It was committed: takes its count, if this is what was counted. Its room stays reserved until it is entered.
    pub(super) fn came(&mut self, result: &Payload) -> Option<PartCount> {
        if let Some(mut reservation) = self.reservation.take() {
            reservation.is_kept = true;
        }
        self.weighed.take().filter(|(weighed, ..)| weighed == result).map(|(.., weight)| weight)
    }
}

/// Room in an agent's window, reserved for the result of a task.
struct WindowReservation {
    budget: Arc<Budget>,
    agent: AgentId,
    handle: HandleId,
    is_kept: bool,
}

impl Drop for WindowReservation {
    fn drop(&mut self) {
        if !self.is_kept {
            self.budget.windows.lock().release(self.agent, self.handle);
        }
    }
}

/// A result that may be over a limit.
struct LimitCheck {
    agent: AgentId,
    handle: HandleId,
    conversation: Option<Conversation>,
    result: Payload,
    /// It is the error in place of a result.
    is_error: bool,
    bounds: ResultBounds,
}

impl LimitCheck {
    const fn text(&self) -> ResultText<'_> {
        ResultText { payload: &self.result, is_error: self.is_error }
    }
}

/// What may hold a result.
#[derive(Clone, Copy, Default)]
struct ResultBounds {
    /// The limit of one result, where this may be over it.
    one: Option<TokenLimit>,
    /// The agent's program may cut it.
    cut: bool,
    /// The limit of the window, where it holds results.
    window: Option<TokenLimit>,
}

/// The size of a result: as it was counted, and with the error of an estimate on top. It is held by the latter, and shown
/// as it was counted where that is over already.
#[derive(Clone, Copy)]
struct ResultSize {
    counted: u64,
    most: u64,
}

impl ResultSize {
    const fn shown(self, limit: u64) -> u64 {
        if self.counted > limit { self.counted } else { self.most }
    }
}

impl Budget {
    /// Whether a plain result, or the error in its place, must be remembered, because it may be over a limit and have to
    /// wait for somebody.
    pub(crate) fn may_hold(&self, call: &CallOrigin<'_>, text: ResultText<'_>) -> bool {
        let ResultBounds { one, cut, window } = self.limits_of(call, text);
        let full = |limit: TokenLimit| {
            let (_, free) = self.free(&self.windows.lock(), call.agent, call.conversation, limit);
            text.may_exceed(free.max(self.numbers().short_tokens))
        };
        one.is_some() || (cut && self.would_be_cut(call.agent, text)) || window.is_some_and(full)
    }

    /// Whether the program of an agent may cut this. A short one is counted here: that costs less than the row that it
    /// would get for nothing.
    fn would_be_cut(&self, agent: AgentId, text: ResultText<'_>) -> bool {
        if text.payload.bytes() > COUNTED_AT_ONCE {
            return true;
        }
        let measure = self.measure(agent);
        let error = self.scale.error_percent(measure.family);
        // A tokeniser that panics costs a row, not the call.
        let weight = catch_unwind(AssertUnwindSafe(|| self.scale.count_part(measure.family, text.load())));
        weight.map_or(true, |weight| visible::would_be_cut(&measure, &weight, text.kind(), error).is_some())
    }

    /// A call became a task: its result will enter the conversation that made it.
    pub(crate) fn call_became_task(&self, id: HandleId, made_from: Option<&Conversation>) {
        let Some(conversation) = made_from.filter(|_| self.numbers().on) else { return };
        self.limits.conversations.lock().insert(id, conversation.clone());
    }

    /// Waits until everything of these agents that was queued before this is counted, but not too long.
    pub(super) async fn counted_so_far(&self, agents: Vec<AgentId>) {
        let marked = agents.into_iter().filter_map(|agent| {
            let (told, counted) = oneshot::channel();
            self.queue.push(CountingItem::Marker(agent, Mutex::new(Some(told)))).is_none().then_some(counted)
        });
        // Late is no error: what is counted later is stored later.
        let _ = timeout(self.numbers().flush_every, join_all(marked)).await;
    }

    /// What may hold this result.
    fn limits_of(&self, call: &CallOrigin<'_>, text: ResultText<'_>) -> ResultBounds {
        if !self.numbers().on {
            return ResultBounds::default();
        }
        let rules = self.access.resolve(call.agent, call.server, call.tool);
        // Where a person limits results, that alone counts.
        let cap = if rules.hold_cut && rules.result_limit.is_none() && text.may_exceed(*NEVER_CUT) {
            self.measure(call.agent).profile.long_result.cap()
        } else {
            None
        };
        ResultBounds {
            one: rules.result_limit.filter(|limit| text.may_exceed(limit.tokens)),
            cut: cap.is_some_and(|cap| text.may_exceed(cap)),
            window: rules.window_limit.filter(|limit| match limit.at {
                // A full window has a notice of its own, which is no news of a result.
                LimitAction::Warn | LimitAction::Stop => false,
                LimitAction::Ask | LimitAction::Hold => true,
            }),
        }
    }

    /// Tokens that are free below the limit of a window: as counted, and at least.
    fn free(
        &self,
        windows: &ConversationWindows,
        agent: AgentId,
        conversation: Option<&Conversation>,
        limit: TokenLimit,
    ) -> (u64, u64) {
        let measure = self.measure(agent);
        let error = self.scale.error_percent(measure.family);
        let waits = self.queue.uncounted(agent);
        let stands = |error| windows.occupied(agent, conversation, measure.is_confirmed(), error);
        let free = |error| limit.tokens.saturating_sub(stands(error).saturating_add(waits));
        (free(0), free(error))
    }

    /// Reserves room for so many tokens, if there is room. A result that is no larger than its preview is never kept out.
    fn reservation(
        self: &Arc<Self>,
        case: &LimitCheck,
        limit: TokenLimit,
        size: ResultSize,
    ) -> Result<WindowReservation, HoldReason> {
        let (agent, handle) = (case.agent, case.handle);
        // Checked and reserved under one lock, so that two results do not get the same room.
        let mut windows = self.windows.lock();
        let (counted, least) = self.free(&windows, agent, case.conversation.as_ref(), limit);
        if size.most > least.max(self.numbers().short_tokens) {
            return Err(if size.counted > counted {
                HoldReason::DoesNotFit { tokens: size.counted, free: counted }
            } else {
                HoldReason::DoesNotFit { tokens: size.most, free: least }
            });
        }
        windows.reserve(agent, handle, size.most);
        drop(windows);
        Ok(WindowReservation { budget: Arc::clone(self), agent, handle, is_kept: false })
    }

    /// The result that a commit brings and that some limit may concern.
    fn case(&self, step: &Transition) -> Option<LimitCheck> {
        let (next, agent) = (&step.next, step.next.agent?);
        let ends = |write: &&PayloadWrite| matches!(write.kind, PayloadKind::Result | PayloadKind::Error);
        let write = step.payloads.iter().find(ends)?;
        let (result, is_error) = (write.payload.as_ref()?, write.kind == PayloadKind::Error);
        if !next.may_be_held_at_limit() {
            return None;
        }
        let tool = next.tool.as_deref().unwrap_or_default();
        let call = CallOrigin { agent, server: next.server, tool, conversation: None };
        let bounds = self.limits_of(&call, ResultText { payload: result, is_error });
        if bounds.one.is_none() && !bounds.cut && bounds.window.is_none() {
            return None;
        }
        let (conversation, result) = (self.limits.conversation(next.id), result.clone());
        Some(LimitCheck { agent, handle: next.id, conversation, result, is_error, bounds })
    }

    /// The transition, with the hold that a limit puts on the result that it brings. Waits only while such a result is
    /// counted. What is learnt of it stays in `incoming`, for another attempt and for its commit.
    pub(crate) async fn within_limits(
        self: &Arc<Self>,
        step: Transition,
        incoming: &mut IncomingResult,
        now: Timestamp,
    ) -> Transition {
        incoming.reservation = None;
        let Some(case) = self.case(&step) else { return step };
        if let (None, false, Some(limit)) = (case.bounds.one, case.bounds.cut, case.bounds.window)
            && !case.text().has_media()
        {
            let bytes = case.result.bytes();
            if let Ok(reservation) = self.reservation(&case, limit, ResultSize { counted: bytes, most: bytes }) {
                incoming.reservation = Some(reservation);
                return step;
            }
        }
        Box::pin(self.apply_limits(step, case, incoming, now)).await
    }

    async fn apply_limits(
        self: &Arc<Self>,
        step: Transition,
        case: LimitCheck,
        incoming: &mut IncomingResult,
        now: Timestamp,
    ) -> Transition {
        let measure = self.measure(case.agent);
        let family = step.next.tokens.map_or(measure.family, |tokens| tokens.family);
        let measure = CountingMethod { family, ..measure };
        let counted = self.count_result(incoming, family, &case).await;
        let is_counted = counted.is_some();
        // More than any limit that can be set: what was not counted is held.
        let any_limit = self.numbers().tokens_settable_max.saturating_add(1);
        let weight = counted.unwrap_or_else(|| count::result_at_most(case.text(), any_limit));
        if case.bounds.window.is_some() {
            // What passed before this takes one token a byte until it is counted.
            self.counted_so_far(vec![case.agent]).await;
        }
        let (bytes, error) = (case.result.bytes(), self.scale.error_percent(family));
        let kind = case.text().kind();
        let limited = |error| visible::limited(&measure, &weight, bytes, kind, error);
        let size = ResultSize { counted: limited(0), most: limited(error) };
        let counted = visible::counted(&measure, &weight, bytes, kind);
        // What could not be counted in time is counted after its commit.
        let step =
            if is_counted { then(step, |next| task_costs::with_result_cost(next, family, counted)) } else { step };
        let large = case.bounds.one.filter(|limit| size.most > limit.tokens);
        let too_large = large
            .map(|limit| (limit.at, HoldReason::TooLarge { tokens: size.shown(limit.tokens), limit: limit.tokens }));
        let full = case.bounds.window.and_then(|limit| match self.reservation(&case, limit, size) {
            Ok(reservation) => {
                incoming.reservation = Some(reservation);
                None
            }
            Err(why) => Some((limit.at, why)),
        });
        let holds = [too_large, full];
        let of = |wanted: LimitAction| holds.iter().flatten().find(|(at, _)| *at == wanted).map(|(_, why)| *why);
        let held = match (of(LimitAction::Ask), of(LimitAction::Hold)) {
            (Some(why), _) => Some((why, false)),
            // What cannot be read in pages, only a person can release.
            (None, Some(why)) => Some((why, weight.is_mostly_text())),
            // What cannot be read in pages is better cut than held.
            (None, None) if case.bounds.cut && weight.is_mostly_text() => {
                let cut = visible::would_be_cut(&measure, &weight, kind, error);
                let program = measure.profile;
                cut.map(|(tokens, shown)| (HoldReason::WouldBeCut { tokens, shown, program }, true))
            }
            (None, None) => None,
        };
        match (held, large) {
            (Some((why, in_slices)), _) => {
                // A held result takes no room yet.
                incoming.reservation = None;
                then(step, |next| next.hold_at_limit(why, in_slices, now))
            }
            (None, Some(limit)) => then(step, |next| next.exceed_limit(size.shown(limit.tokens), limit, now)),
            (None, None) => step,
        }
    }

    /// Counts a result, unless it was counted for an earlier attempt; `None` where it cannot be counted, or not in time.
    async fn count_result(
        &self,
        incoming: &mut IncomingResult,
        family: Family,
        case: &LimitCheck,
    ) -> Option<PartCount> {
        let result = &case.result;
        if let Some((weighed, by, weight)) = &incoming.weighed
            && *by == family
            && weighed == result
        {
            return Some(*weight);
        }
        // Another attempt does not wait anew.
        if incoming.is_uncounted {
            return None;
        }
        let slot = self.limits.slots.acquire(case.agent, self.numbers().result_wait).await;
        let weight = match slot {
            Some(_slot) => count::count_result(&self.scale, family, case.text()).await,
            None => {
                tracing::warn!(handle.id = %case.handle, "a result waited too long to be counted; limits take its upper bound");
                None
            }
        };
        incoming.is_uncounted = weight.is_none();
        incoming.weighed = weight.map(|weight| (result.clone(), family, weight));
        weight
    }
}
