//! Results that are about to enter a window: those their agent has not read, and what open tasks will bring.
//!
//! A result is pending until its agent read it, or will not: then what was left was kept out. Nothing is stored; after
//! a start it is found again from the tasks (`restore.rs`). Which window it will enter is decided in `conversations`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::ids::{HandleId, ServerId, WindowId};
use domain::task::status::{Intent, Phase};
use domain::task::{ResultForm, TaskHandle};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Intake};

use crate::budget::counting::visible::Counted;

/// Pending results of one agent; beyond this the oldest count as not read. Judgement: more than an agent starts in a
/// day.
const EXPECTED_MAX: usize = 1_024;

/// Something that is about to come into a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingResult {
    /// The task that brings it.
    pub handle: HandleId,
    /// The server of the task.
    pub server: ServerId,
    /// The tool of the task, where known.
    pub tool: Option<Arc<str>>,
    /// Tokens; `None` while nothing is known.
    pub tokens: Option<Count>,
    /// Why it is not in the window yet.
    pub state: PendingResultState,
    /// The phase of a task that is open, as lists of tasks show it.
    pub phase: Option<Phase>,
    /// How far the task is, in percent, while it works and says so.
    pub percent: Option<u8>,
}

/// Why something is not in the window yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingResultState {
    /// A person decides.
    Held,
    /// The agent reads it page by page.
    Slices,
    /// The task is open; the tokens are what its tool usually brings, at most.
    Working,
    /// It enters with the agent's next poll.
    Ready,
}

/// A result that was not read, or not to its end.
#[derive(Debug, Clone)]
struct ExpectedResult {
    server: ServerId,
    tool: Option<Arc<str>>,
    state: PendingResultState,
    trimmed: bool,
    /// `None` while it was read before it was counted.
    result: Option<Counted>,
    /// Tokens of it that were passed, and how many of them are in the window.
    delivered: (u64, u64),
    /// The window in which its agent last read of it.
    window: Option<WindowId>,
    /// What its handle cost that window.
    cost: Count,
    /// Its place in the order of arrival.
    since: u64,
}

impl ExpectedResult {
    /// What would still enter the window if all of it were read.
    fn left(&self) -> Count {
        let window = self.result.unwrap_or_default().intake.window;
        Count { tokens: window.tokens.saturating_sub(self.delivered.1), exactness: window.exactness }
    }

    /// What may enter, at most. A held result, and one in pages, counts by our own count, which can be far above the figure
    /// to show (structured content beside short texts, a count that the server reports, a cut by the program).
    fn comes(&self) -> Count {
        let Counted { intake, unsaid, .. } = self.result.unwrap_or_default();
        match self.state {
            PendingResultState::Held | PendingResultState::Slices => {
                let own = intake.passed.tokens.saturating_add(unsaid);
                let exactness = if unsaid > 0 { Exactness::AtMost } else { intake.passed.exactness };
                Count { tokens: own.saturating_sub(self.delivered.0), exactness }
            }
            PendingResultState::Working | PendingResultState::Ready => self.left(),
        }
    }

    fn is_read(&self, short: u64) -> bool {
        is_read(self.result.unwrap_or_default().intake.passed.tokens, self.delivered.0, short)
    }
}

/// Whether a result of so many tokens was read to its end, by how much of it was delivered. Its first lines came with the
/// preview (up to `short` tokens, never counted as delivered), and pages have a few tokens more or less than the whole,
/// because words are cut at their ends.
pub(crate) fn is_read(result: u64, delivered: u64, short: u64) -> bool {
    /// How far pages may be off: a 64th. Judgement: a token for each end of a page is far less.
    const SLACK: u64 = 64;
    delivered > 0 && result.saturating_sub(delivered) <= short.max(result / SLACK)
}

/// A result that its agent will not read.
#[derive(Debug)]
pub(crate) struct UnreadResult {
    pub(crate) server: ServerId,
    /// How much of it was kept out.
    pub(crate) left: Count,
    /// The cost of its handle, when nothing of the result was read.
    pub(crate) wasted: Option<Count>,
}

/// How much of a result the agent read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadExtent {
    /// Only the handle, or a poll.
    Handle,
    /// A part of the result.
    Part,
    /// All that it will ever get.
    Whole,
}

/// An agent saw something of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadEvent {
    pub(super) handle: HandleId,
    pub(super) server: Option<ServerId>,
    pub(super) extent: ReadExtent,
    pub(super) intake: Intake,
    pub(super) window: WindowId,
    /// Tokens that a short result has at most.
    pub(super) short_tokens: u64,
}

/// The results that one agent has not read.
#[derive(Debug, Default)]
pub(crate) struct PendingResults {
    expected: BTreeMap<HandleId, ExpectedResult>,
    /// Results that are no longer pending, the oldest first, so that reading one again changes nothing.
    done: VecDeque<HandleId>,
    came: u64,
}

impl PendingResults {
    /// The result of a task arrived. Returns what was dropped for it.
    pub(crate) fn came(&mut self, handle: &ResultFacts, result: Counted) -> Option<UnreadResult> {
        if let Some(known) = self.expected.get_mut(&handle.id) {
            match known.result {
                // It was read before it was counted.
                None => {
                    self.take(handle.id);
                }
                Some(_) => known.result = Some(result),
            }
            return None;
        }
        if self.done.contains(&handle.id) {
            return None;
        }
        let gone = self.make_room();
        let expected = ExpectedResult {
            server: handle.server,
            tool: handle.tool.clone(),
            state: handle.state,
            trimmed: handle.trimmed,
            result: Some(result),
            delivered: handle.delivered,
            window: None,
            cost: Count::ZERO,
            since: self.turn(),
        };
        self.expected.insert(handle.id, expected);
        gone
    }

    /// The result of a task is not pending any more, regardless of what its agent reads of it.
    pub(crate) fn settled(&mut self, id: HandleId) {
        if self.done.contains(&id) {
            return;
        }
        if self.done.len() >= EXPECTED_MAX {
            self.done.pop_front();
        }
        self.done.push_back(id);
    }

    /// The agent saw something of a task. Returns what was kept out for good.
    pub(crate) fn read(&mut self, event: ReadEvent) -> Option<UnreadResult> {
        let ReadEvent { handle: id, server, extent: read, intake, window, short_tokens: short } = event;
        let Some(known) = self.expected.get_mut(&id) else {
            if let (ReadExtent::Whole, Some(server)) = (read, server)
                && !self.done.contains(&id)
            {
                let early = ExpectedResult {
                    server,
                    tool: None,
                    state: PendingResultState::Ready,
                    trimmed: false,
                    result: None,
                    delivered: (intake.passed.tokens, intake.window.tokens),
                    window: Some(window),
                    cost: Count::ZERO,
                    since: self.turn(),
                };
                let gone = self.make_room();
                self.expected.insert(id, early);
                return gone;
            }
            return None;
        };
        known.window = Some(window);
        match read {
            ReadExtent::Handle => known.cost = known.cost + intake.window,
            ReadExtent::Part | ReadExtent::Whole => {
                let (passed, stands) = known.delivered;
                let (more, more_stands) = (intake.passed.tokens, intake.window.tokens);
                known.delivered = (passed.saturating_add(more), stands.saturating_add(more_stands));
            }
        }
        // A trimmed result is read in one piece, no matter how much was cut.
        let whole = read == ReadExtent::Whole || (read == ReadExtent::Part && known.trimmed);
        let over = known.result.is_some() && (whole || known.is_read(short));
        if !over {
            return None;
        }
        let known = self.take(id)?;
        let kept = if known.trimmed { known.left() } else { Count::ZERO };
        (kept.tokens > 0).then_some(UnreadResult { server: known.server, left: kept, wasted: None })
    }

    /// The task changed: whether its result is held, and in which form it goes.
    pub(crate) fn settle(&mut self, handle: &TaskHandle) -> Option<UnreadResult> {
        let known = self.expected.get_mut(&handle.id)?;
        match state(handle) {
            Some(state) => {
                known.state = state;
                known.trimmed = is_trimmed(handle);
                None
            }
            // Withheld, or taken from its agent: nobody is to blame that it was not read.
            None => {
                let gone = self.take(handle.id)?;
                Some(UnreadResult { server: gone.server, left: gone.left(), wasted: None })
            }
        }
    }

    /// The window ended: its results will not be read. Those that a person holds wait for the window that their agent has
    /// then.
    pub(crate) fn close(&mut self, window: WindowId, newest: bool) -> Vec<UnreadResult> {
        let mut gone = Vec::new();
        for (id, known) in &mut self.expected {
            if !known.window.map_or(newest, |of| of == window) {
                continue;
            }
            match known.state {
                PendingResultState::Held => known.window = None,
                PendingResultState::Slices | PendingResultState::Working | PendingResultState::Ready => gone.push(*id),
            }
        }
        gone.into_iter().filter_map(|id| self.take(id)).filter_map(unread).collect()
    }

    /// Tokens that enter this window with the agent's next polls, or any window when there is none.
    pub(crate) fn ready(&self, window: Option<WindowId>) -> u64 {
        let ready = self.expected.values().filter(|known| known.state == PendingResultState::Ready && !known.trimmed);
        let ready = ready.filter(|known| known.window.is_none_or(|of| window.is_none_or(|window| window == of)));
        let limited = |known: &ExpectedResult| known.result.map_or(0, |result| result.beyond);
        ready.map(|known| known.left().tokens.saturating_add(limited(known))).fold(0, u64::saturating_add)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = PendingResult> + '_ {
        let known = self.expected.iter().filter(|(_, known)| known.result.is_some());
        known.map(|(id, known)| PendingResult {
            handle: *id,
            server: known.server,
            tool: known.tool.clone(),
            tokens: Some(known.comes()),
            state: known.state,
            phase: None,
            percent: None,
        })
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// Drops the oldest when there is no room for one more.
    fn make_room(&mut self) -> Option<UnreadResult> {
        if self.expected.len() < EXPECTED_MAX {
            return None;
        }
        let oldest = self.expected.iter().min_by_key(|(_, known)| known.since).map(|(id, _)| *id)?;
        self.take(oldest).and_then(unread)
    }

    fn take(&mut self, id: HandleId) -> Option<ExpectedResult> {
        let known = self.expected.remove(&id)?;
        self.settled(id);
        Some(known)
    }

    fn turn(&mut self) -> u64 {
        self.came += 1;
        self.came
    }
}

fn unread(known: ExpectedResult) -> Option<UnreadResult> {
    known.result?;
    let wasted = (known.delivered.0 == 0).then_some(known.cost);
    Some(UnreadResult { server: known.server, left: known.left(), wasted })
}

/// A task whose result arrived, as far as the budget cares.
#[derive(Debug, Clone)]
pub(crate) struct ResultFacts {
    pub(crate) id: HandleId,
    pub(crate) server: ServerId,
    pub(crate) tool: Option<Arc<str>>,
    pub(crate) state: PendingResultState,
    pub(crate) trimmed: bool,
    /// Tokens of it that were passed, and how many of them are in the window.
    pub(crate) delivered: (u64, u64),
}

impl ResultFacts {
    /// `None` when the agent will not get the result.
    pub(crate) fn of(handle: &TaskHandle) -> Option<Self> {
        Some(Self {
            id: handle.id,
            server: handle.server,
            tool: handle.tool.clone(),
            state: state(handle)?,
            trimmed: is_trimmed(handle),
            delivered: handle.tokens.map_or((0, 0), |tokens| (tokens.delivered, tokens.delivered_in_window)),
        })
    }

    /// Whether its agent has all that it will get: a trimmed result is read in one piece.
    pub(crate) fn is_done(&self) -> bool {
        self.trimmed && self.delivered.0 > 0
    }
}

/// What keeps a result from its agent; `None` when it will not get it.
fn state(handle: &TaskHandle) -> Option<PendingResultState> {
    match handle.intent {
        Intent::Revoked(_) => return None,
        Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => {}
    }
    if handle.cancelled_for_agent.is_some() || handle.failed_for_agent.is_some() {
        return None;
    }
    if handle.is_held() {
        return Some(PendingResultState::Held);
    }
    match handle.form() {
        Some(ResultForm::Slices) => Some(PendingResultState::Slices),
        Some(ResultForm::Whole | ResultForm::Trimmed { .. }) => Some(PendingResultState::Ready),
        None => None,
    }
}

fn is_trimmed(handle: &TaskHandle) -> bool {
    match handle.form() {
        Some(ResultForm::Trimmed { .. }) => true,
        Some(ResultForm::Whole | ResultForm::Slices) | None => false,
    }
}

/// A task that is open, with what its tool usually brings.
pub(crate) fn working(handle: &TaskHandle, usual: Option<u64>, now: Timestamp) -> PendingResult {
    let percent = handle.progress.as_ref().and_then(|progress| {
        let share = progress.done? / progress.total.filter(|total| *total > 0.0)?;
        // In range by the clamp; NaN becomes 0.
        Some((share * 100.0).clamp(0.0, 100.0) as u8)
    });
    PendingResult {
        handle: handle.id,
        server: handle.server,
        tool: handle.tool.clone(),
        tokens: usual.map(|tokens| Count { tokens, exactness: Exactness::AtMost }),
        state: PendingResultState::Working,
        phase: Some(handle.phase(now)),
        percent,
    }
}
