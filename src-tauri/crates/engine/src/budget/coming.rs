//! What is about to come in: results that their agent has not read, and what tools usually bring.
//!
//! A result is expected from the moment it is here until its agent read it, or will not: then what was left of it was
//! kept out. One that waits for a person is expected whatever its agent does. Nothing is stored; after a start it is
//! found again from the tasks (`comeback.rs`). Which window it will enter is `books.rs`'s to say.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use domain::task::{ResultForm, TaskHandle};
use domain::ids::{HandleId, ServerId, WindowId};
use domain::task::status::{Intent, Phase};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Intake};

use super::shown::Counted;

/// Results of one agent that are expected at most; the oldest count as not read. Judgement: more than an agent starts
/// in a day.
const EXPECTED_MAX: usize = 1_024;

/// Tools whose usual results are remembered. Judgement: a machine has a few dozen servers of a few dozen tools.
const TOOLS_MAX: usize = 4_096;

/// Results of a tool from which its usual size is taken. Judgement: enough to have seen a large one.
const SIZES_KEPT: usize = 10;

/// Something that is about to come into a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coming {
    /// The task.
    pub handle: HandleId,
    /// Its server.
    pub server: ServerId,
    /// Its tool, where known.
    pub tool: Option<Arc<str>>,
    /// Tokens; `None` while nothing is known.
    pub tokens: Option<Count>,
    /// What keeps it.
    pub state: ComingState,
    /// The phase of a task that is open, as lists of tasks show it.
    pub phase: Option<Phase>,
    /// How far the task is, in percent, while it works and says so.
    pub percent: Option<u8>,
}

/// Why something is not in the window yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComingState {
    /// A person decides.
    Held,
    /// The agent reads it in slices.
    Slices,
    /// The task is open; the tokens are what its tool usually brings, at most.
    Working,
    /// It comes with the agent's next look.
    Ready,
}

/// A result that was not read, or not whole.
#[derive(Debug, Clone)]
struct Expected {
    server: ServerId,
    tool: Option<Arc<str>>,
    state: ComingState,
    trimmed: bool,
    /// `None` while it was read before it was counted.
    result: Option<Counted>,
    /// What of it was passed, and what of that stands in the window.
    delivered: (u64, u64),
    /// The window in which its agent dealt with it last.
    window: Option<WindowId>,
    /// What its handle cost that window.
    cost: Count,
    /// Its place in the order of arrival.
    since: u64,
}

impl Expected {
    /// What of it would still come into the window, if it were read whole.
    fn left(&self) -> Count {
        let window = self.result.unwrap_or_default().intake.window;
        Count { tokens: window.tokens.saturating_sub(self.delivered.1), exactness: window.exactness }
    }

    /// What may come in, at most: what is held, and what slices bring, is its content by our own count, which the figure
    /// to show may be far below (structured content beside short texts, what its maker says, what its program cuts).
    fn comes(&self) -> Count {
        let Counted { intake, unsaid, .. } = self.result.unwrap_or_default();
        match self.state {
            ComingState::Held | ComingState::Slices => {
                let own = intake.passed.tokens.saturating_add(unsaid);
                let exactness = if unsaid > 0 { Exactness::AtMost } else { intake.passed.exactness };
                Count { tokens: own.saturating_sub(self.delivered.0), exactness }
            }
            ComingState::Working | ComingState::Ready => self.left(),
        }
    }

    fn is_read(&self, short: u64) -> bool {
        is_read(self.result.unwrap_or_default().intake.passed.tokens, self.delivered.0, short)
    }
}

/// Whether a result of so many tokens was read to its end, by what of it was delivered. Its first lines came with the
/// short result (up to `short` tokens, never counted as delivered), and slices have a few tokens more or less than the
/// whole, because words are cut at their ends.
pub(super) fn is_read(result: u64, delivered: u64, short: u64) -> bool {
    /// What slices may be off by: a 64th. Judgement: a token for each end of a slice is far less.
    const SLACK: u64 = 64;
    delivered > 0 && result.saturating_sub(delivered) <= short.max(result / SLACK)
}

/// A result that its agent does not read any more.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) server: ServerId,
    /// What of it was kept out.
    pub(super) left: Count,
    /// What its handle cost, when nothing of the result was read.
    pub(super) wasted: Option<Count>,
}

/// What the agent's own words about a task mean for its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// It saw the handle, or looked.
    Handle,
    /// It got a part.
    Part,
    /// It got it as it will ever get it.
    Whole,
}

/// The results that one agent has not read.
#[derive(Debug, Default)]
pub(super) struct Pending {
    expected: BTreeMap<HandleId, Expected>,
    /// Results that are not expected any more, the oldest first: reading one again means nothing for the next.
    done: VecDeque<HandleId>,
    came: u64,
}

impl Pending {
    /// The result of a task is here. Returns what had to go for it.
    pub(super) fn came(&mut self, handle: &TaskFacts, result: Counted) -> Option<Unread> {
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
        let expected = Expected {
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

    /// The result of a task is not expected (any more), whatever its agent reads of it.
    pub(super) fn settled(&mut self, id: HandleId) {
        if self.done.contains(&id) {
            return;
        }
        if self.done.len() >= EXPECTED_MAX {
            self.done.pop_front();
        }
        self.done.push_back(id);
    }

    /// The agent saw something of a task in this window; short results have up to `short` tokens. Returns what was kept
    /// out for good.
    pub(super) fn read(
        &mut self,
        seen: (HandleId, Option<ServerId>),
        read: Read,
        intake: Intake,
        (window, short): (WindowId, u64),
    ) -> Option<Unread> {
        let (id, server) = seen;
        let Some(known) = self.expected.get_mut(&id) else {
            if let (Read::Whole, Some(server)) = (read, server)
                && !self.done.contains(&id)
            {
                let early = Expected {
                    server,
                    tool: None,
                    state: ComingState::Ready,
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
            Read::Handle => known.cost = known.cost + intake.window,
            Read::Part | Read::Whole => {
                let (passed, stands) = known.delivered;
                let (more, more_stands) = (intake.passed.tokens, intake.window.tokens);
                known.delivered = (passed.saturating_add(more), stands.saturating_add(more_stands));
            }
        }
        // A trimmed result is read in one piece, whatever is left of it.
        let whole = read == Read::Whole || (read == Read::Part && known.trimmed);
        let over = known.result.is_some() && (whole || known.is_read(short));
        if !over {
            return None;
        }
        let known = self.take(id)?;
        let kept = if known.trimmed { known.left() } else { Count::ZERO };
        (kept.tokens > 0).then_some(Unread { server: known.server, left: kept, wasted: None })
    }

    /// The task changed: whether its result is held, and in which form it goes.
    pub(super) fn settle(&mut self, handle: &TaskHandle) -> Option<Unread> {
        let known = self.expected.get_mut(&handle.id)?;
        match state(handle) {
            Some(state) => {
                known.state = state;
                known.trimmed = is_trimmed(handle);
                None
            }
            // Withheld, or taken from its agent: nobody is to blame for not reading it.
            None => {
                let gone = self.take(handle.id)?;
                Some(Unread { server: gone.server, left: gone.left(), wasted: None })
            }
        }
    }

    /// The window is over: its results are not read any more. Those that a person keeps back wait for whichever window
    /// their agent has then.
    pub(super) fn close(&mut self, window: WindowId, newest: bool) -> Vec<Unread> {
        let mut gone = Vec::new();
        for (id, known) in &mut self.expected {
            if !known.window.map_or(newest, |of| of == window) {
                continue;
            }
            match known.state {
                ComingState::Held => known.window = None,
                ComingState::Slices | ComingState::Working | ComingState::Ready => gone.push(*id),
            }
        }
        gone.into_iter().filter_map(|id| self.take(id)).filter_map(unread).collect()
    }

    /// Tokens that come into this window with the agent's next looks, whatever it does, and into any when there is none.
    pub(super) fn ready(&self, window: Option<WindowId>) -> u64 {
        let ready = self.expected.values().filter(|known| known.state == ComingState::Ready && !known.trimmed);
        let ready = ready.filter(|known| known.window.is_none_or(|of| window.is_none_or(|window| window == of)));
        let limited = |known: &Expected| known.result.map_or(0, |result| result.beyond);
        ready.map(|known| known.left().tokens.saturating_add(limited(known))).fold(0, u64::saturating_add)
    }

    /// All, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Coming> + '_ {
        let known = self.expected.iter().filter(|(_, known)| known.result.is_some());
        known.map(|(id, known)| Coming {
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
    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// Makes room for one more: the oldest goes.
    fn make_room(&mut self) -> Option<Unread> {
        if self.expected.len() < EXPECTED_MAX {
            return None;
        }
        let oldest = self.expected.iter().min_by_key(|(_, known)| known.since).map(|(id, _)| *id)?;
        self.take(oldest).and_then(unread)
    }

    /// Expects it no more.
    fn take(&mut self, id: HandleId) -> Option<Expected> {
        let known = self.expected.remove(&id)?;
        self.settled(id);
        Some(known)
    }

    fn turn(&mut self) -> u64 {
        self.came += 1;
        self.came
    }
}

fn unread(known: Expected) -> Option<Unread> {
    known.result?;
    let wasted = (known.delivered.0 == 0).then_some(known.cost);
    Some(Unread { server: known.server, left: known.left(), wasted })
}

/// What matters of a task whose result is here.
#[derive(Debug, Clone)]
pub(super) struct TaskFacts {
    pub(super) id: HandleId,
    pub(super) server: ServerId,
    pub(super) tool: Option<Arc<str>>,
    pub(super) state: ComingState,
    pub(super) trimmed: bool,
    /// What of it was passed, and what of that stands in the window.
    pub(super) delivered: (u64, u64),
}

impl TaskFacts {
    /// Of a task as it is; `None` when its agent will not get the result.
    pub(super) fn of(handle: &TaskHandle) -> Option<Self> {
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
    pub(super) fn is_done(&self) -> bool {
        self.trimmed && self.delivered.0 > 0
    }
}

/// What keeps a result from its agent; `None` when it will not get it.
fn state(handle: &TaskHandle) -> Option<ComingState> {
    match handle.intent {
        Intent::Revoked(_) => return None,
        Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => {}
    }
    if handle.cancelled_for_agent.is_some() || handle.failed_for_agent.is_some() {
        return None;
    }
    if handle.is_held() {
        return Some(ComingState::Held);
    }
    match handle.form() {
        Some(ResultForm::Slices) => Some(ComingState::Slices),
        Some(ResultForm::Whole | ResultForm::Trimmed { .. }) => Some(ComingState::Ready),
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
pub(super) fn working(handle: &TaskHandle, usual: Option<u64>, now: Timestamp) -> Coming {
    let percent = handle.progress.as_ref().and_then(|progress| {
        let share = progress.done? / progress.total.filter(|total| *total > 0.0)?;
        // In range by the clamp; a number that is none becomes 0.
        Some((share * 100.0).clamp(0.0, 100.0) as u8)
    });
    Coming {
        handle: handle.id,
        server: handle.server,
        tool: handle.tool.clone(),
        tokens: usual.map(|tokens| Count { tokens, exactness: Exactness::AtMost }),
        state: ComingState::Working,
        phase: Some(handle.phase(now)),
        percent,
    }
}

/// What tools brought lately.
#[derive(Debug, Default)]
pub(super) struct Sizes(HashMap<(ServerId, Arc<str>), VecDeque<u64>>);

impl Sizes {
    /// A result came.
    pub(super) fn learn(&mut self, server: ServerId, tool: Option<&Arc<str>>, tokens: u64) {
        let Some(tool) = tool else { return };
        let key = (server, Arc::clone(tool));
        if self.0.len() >= TOOLS_MAX && !self.0.contains_key(&key) {
            return;
        }
        let sizes = self.0.entry(key).or_default();
        if sizes.len() >= SIZES_KEPT {
            sizes.pop_front();
        }
        sizes.push_back(tokens);
    }

    /// The largest of the last results of a tool; `None` when none was seen.
    pub(super) fn usual(&self, server: ServerId, tool: Option<&Arc<str>>) -> Option<u64> {
        self.0.get(&(server, Arc::clone(tool?)))?.iter().max().copied()
    }
}
