//! A call that waits at the gate, and a task whose processes are frozen: both stand still until a person ends the pause.
//!
//! A gated call was recorded and never sent, so cancelling it needs no server. Which pauses are in force is in
//! `server/pause.rs`; letting calls through in their order is the engine's.

use crate::ids::{AgentId, HostId};
use crate::task::decider::Decider;
use crate::task::status::{GateReason, Intent, ServerView};
use crate::task::{Home, NewCall, TaskHandle, Transition};
use crate::time::Timestamp;

/// How a call leaves that waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetThrough {
    /// The run of the core that sends it.
    pub host: HostId,
    /// Where its task will live.
    pub home: Home,
    /// On whose own connection it leaves.
    pub seat: Option<AgentId>,
}

impl TaskHandle {
    /// A new handle for a call that waits at the gate.
    #[must_use]
    pub fn admit_gated(call: NewCall, reason: GateReason, now: Timestamp) -> Transition {
        let mut step = Self::admit(call, now);
        step.next.view = ServerView::Gated { since: now, reason };
        // Its time stands still from the beginning.
        step.next.paused_since = Some(now);
        for fact in &mut step.audit {
            fact.note = format!("waits, {}", reason.word());
        }
        step
    }

    /// Since when the call waits at the gate, and why.
    #[must_use]
    pub const fn gated(&self) -> Option<(Timestamp, GateReason)> {
        match self.view {
            ServerView::Gated { since, reason } => Some((since, reason)),
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::NotSent { .. }
            | ServerView::Unanswered { .. }
            | ServerView::Direct(_)
            | ServerView::Refused(_)
            | ServerView::Task(_) => None,
        }
    }

    /// Whether the call waits at the gate and may still leave: nobody asked it to end.
    #[must_use]
    pub fn may_leave_gate(&self) -> bool {
        self.view.is_gated() && !self.is_over() && self.intent == Intent::None
    }

    /// The call leaves now. Committed before its first byte does, so that no restart sends it again.
    #[must_use]
    pub fn let_through(&self, through: LetThrough, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if self.may_leave_gate() {
            step.next.view = ServerView::Awaiting { since: now, host: through.host, round: 0 };
            step.next.home = through.home;
            step.next.seat = through.seat;
        }
        step.settle(self, now)
    }

    /// What held the call is over, and it waits for this as well.
    #[must_use]
    pub fn held_further(&self, by: GateReason, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        if let ServerView::Gated { reason, .. } = &mut step.next.view
            && self.may_leave_gate()
        {
            *reason = by;
        }
        step.settle(self, now)
    }

    /// The person who decided about the calls that waited for this did not choose this one: it is cancelled, and its server
    /// never heard of it. Why is ours to say: it is on record, and is no reason that the person gave.
    #[must_use]
    pub fn left_out(&self, by: &Decider, gate: GateReason, now: Timestamp) -> Transition {
        let unchanged = || Transition::none(self);
        if !self.may_leave_gate() {
            return unchanged();
        }
        let why = match gate {
            GateReason::Alarm => "it waited because of an alarm, and was not wanted",
            GateReason::Paused | GateReason::Frozen => "left out when the pause ended",
        };
        let Ok(mut both) = self.cancel(by, Some(why), now) else { return unchanged() };
        if let Some(request) = both.next.cancel_request_mut() {
            request.reason = None;
        }
        let ended = both.next.call_cancelled(now);
        both.next = ended.next;
        both.audit.extend(ended.audit);
        both.payloads.extend(ended.payloads);
        both.effects.extend(ended.effects);
        both
    }

    /// The processes of its server are frozen, or continue (`false`). Frozen, its time stands still.
    #[must_use]
    pub fn processes_frozen(&self, is_frozen: bool, now: Timestamp) -> Transition {
        let mut step = Transition::none(self);
        let may_stand_still = is_frozen && self.view.holds_server() && !self.is_over();
        match (may_stand_still, self.frozen_since) {
            (true, None) => step.next.frozen_since = Some(now),
            (false, Some(_)) if !is_frozen => step.next.frozen_since = None,
            (true, Some(_)) | (false, _) => return step,
        }
        step.settle(self, now)
    }

    /// Whether nothing of it may move on until a person ends a pause.
    #[must_use]
    pub const fn stands_still(&self) -> bool {
        self.view.is_gated() || self.frozen_since.is_some()
    }
}
