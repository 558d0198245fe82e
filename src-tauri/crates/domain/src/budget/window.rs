//! The context window of an agent, as far as the gateway sees it: what came in, by source, since it was last empty.
//!
//! Occupancy (now) and spend (ever) are different figures: a window is emptied, spend only grows. Each source has two
//! (decision 0022): what was passed to the program, and what of that is in the window. What else a program puts into
//! its window (its own instructions, the conversation, other tools), or removes from it, is not seen here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::client::profile::ToolListCost;
use crate::ids::{AgentId, ServerId, WindowId};
use crate::policy::{CountingPolicy, MINUTE};
use crate::time::Timestamp;
use crate::tokens::{Count, Exactness, Family, Intake};

/// What a token in a window came from. The order is that of every list and bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenSource {
    /// Definitions of servers' tools: the set, once.
    Tools,
    /// Definitions of the gateway's own tools.
    OwnTools,
    /// Names and arguments of calls.
    Arguments,
    /// Results and errors of calls, whole or in slices.
    Results,
    /// Handles, polls of tasks, and their messages.
    Handles,
    /// Prompts and resources.
    Prompts,
}

impl TokenSource {
    /// All, in order.
    pub const ALL: [Self; 6] =
        [Self::Tools, Self::OwnTools, Self::Arguments, Self::Results, Self::Handles, Self::Prompts];

    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::OwnTools => "ownTools",
            Self::Arguments => "arguments",
            Self::Results => "results",
            Self::Handles => "handles",
            Self::Prompts => "prompts",
        }
    }

    /// Reads [`TokenSource::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.word() == word)
    }
}

/// What is counted over time: what came in by source, and what tasks kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenFlow {
    /// It entered a window.
    In(TokenSource),
    /// Tasks kept it out.
    KeptOut,
}

impl TokenFlow {
    /// Word for JSON and the registry: that of the source, or `keptOut`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::In(source) => source.word(),
            Self::KeptOut => "keptOut",
        }
    }

    /// Reads [`TokenFlow::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        if word == "keptOut" { Some(Self::KeptOut) } else { TokenSource::from_word(word).map(Self::In) }
    }
}

/// A door by which definitions of tools come in: one server's, or that of all (`None`).
pub type ToolListScope = Option<ServerId>;

/// The tools of one list, as they are in the window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedTools {
    /// The session that this window knows at this door; `None` where requests stand alone.
    pub session: Option<Arc<str>>,
    /// Definitions of servers' tools as they were passed, by tool.
    pub tools: BTreeMap<Arc<str>, Count>,
    /// Definitions of ours.
    pub own: Count,
    /// What stands in the window since the one before it was emptied, and was not passed again.
    pub carried: CarriedTools,
}

/// Tool definitions that stand in a window and were passed in an earlier one: emptying a window takes the conversation
/// out of it, and its program goes on sending the definitions that it has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CarriedTools {
    /// Definitions of servers' tools, by tool.
    pub tools: BTreeMap<Arc<str>, Count>,
    /// Definitions of ours.
    pub own: Count,
}

impl ListedTools {
    /// The same list in the window that follows: all of it stands there, and nothing of it was passed.
    #[must_use]
    pub fn carried_over(&self) -> Self {
        let Self { session, tools, own, carried } = self;
        let mut all = carried.tools.clone();
        all.extend(tools.iter().map(|(name, count)| (Arc::clone(name), *count)));
        let own = if own.tokens > 0 { *own } else { carried.own };
        let carried = CarriedTools { tools: all, own };
        Self { session: session.clone(), tools: BTreeMap::new(), own: Count::ZERO, carried }
    }
}

/// One window: from when it was empty to when it was emptied.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub id: WindowId,
    pub agent: AgentId,
    /// In whose tokens it is counted.
    pub family: Family,
    pub began: Timestamp,
    /// When something last came in.
    pub last: Timestamp,
    /// When it was emptied.
    pub ended: Option<Timestamp>,
    /// Definitions of tools, by door.
    pub shelves: BTreeMap<ToolListScope, ListedTools>,
    /// What its program makes of these definitions.
    pub tool_list: ToolListCost,
    /// Everything else, by source; `Tools` and `OwnTools` are never in here.
    pub sums: BTreeMap<TokenSource, Count>,
    /// What was passed to the program, by source; likewise.
    pub passed: BTreeMap<TokenSource, Count>,
    /// What tasks kept out of it.
    pub kept_out: Count,
    /// Tokens beyond what is in it that limits count: what makers of results do not say of them, and what only a
    /// program that nobody confirmed would cut. Nothing shows them.
    pub unsaid: u64,
    /// What came in lately, by minute, oldest first; for the burn. Not kept over a restart.
    pub lately: VecDeque<MinuteSum>,
}

/// What came into a window in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteSum {
    /// The beginning of the minute.
    pub minute: Timestamp,
    /// Tokens, in the window.
    pub tokens: u64,
    /// How many times something came in.
    pub times: u32,
}

/// How fast a window fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Burn {
    /// Nothing came in lately.
    #[default]
    Quiet,
    /// Something did, but too little was seen for a rate.
    TooEarly,
    /// Tokens a minute.
    PerMinute(u64),
}

impl Burn {
    /// Tokens a minute; 0 while no rate is known.
    #[must_use]
    pub const fn per_minute(self) -> u64 {
        match self {
            Self::PerMinute(tokens) => tokens,
            Self::Quiet | Self::TooEarly => 0,
        }
    }
}

impl Window {
    /// An empty window.
    #[must_use]
    pub fn new(id: WindowId, agent: AgentId, family: Family, now: Timestamp) -> Self {
        Self {
            id,
            agent,
            family,
            began: now,
            last: now,
            ended: None,
            shelves: BTreeMap::new(),
            tool_list: ToolListCost::STATED,
            sums: BTreeMap::new(),
            passed: BTreeMap::new(),
            kept_out: Count::ZERO,
            unsaid: 0,
            lately: VecDeque::new(),
        }
    }

    /// Something came in.
    pub fn take_in(&mut self, source: TokenSource, intake: impl Into<Intake>, now: Timestamp, span: Duration) {
        let intake = intake.into();
        let (sum, passed) = (self.sums.entry(source).or_default(), self.passed.entry(source).or_default());
        *sum = *sum + intake.window;
        *passed = *passed + intake.passed;
        self.last = self.last.max(now);
        self.burns(intake.window.tokens, now, span);
    }

    /// The tools behind a door are these now, as far as they were passed in this window. Their list is in the window once,
    /// however often it is read.
    pub fn put_tools(&mut self, door: ToolListScope, tools: BTreeMap<Arc<str>, Count>, own: Count, now: Timestamp) {
        let shelf = self.shelves.entry(door).or_default();
        shelf.carried.tools.retain(|name, _| !tools.contains_key(name));
        if own.tokens > 0 {
            shelf.carried.own = Count::ZERO;
        }
        shelf.tools = tools;
        shelf.own = own;
        self.last = self.last.max(now);
    }

    /// The whole list behind a door was passed in this window: nothing of an earlier one stands beside it.
    pub fn drop_carried_tools(&mut self, door: ToolListScope) {
        if let Some(shelf) = self.shelves.get_mut(&door) {
            shelf.carried = CarriedTools::default();
        }
    }

    /// What stands in the window from this source since the one before it was emptied, as it was passed then.
    #[must_use]
    pub fn carried_of(&self, source: TokenSource) -> Count {
        let carried = self.shelves.values().map(|shelf| &shelf.carried);
        match source {
            TokenSource::Tools => carried.flat_map(|carried| carried.tools.values().copied()).sum(),
            TokenSource::OwnTools => carried.map(|carried| carried.own).sum(),
            TokenSource::Arguments | TokenSource::Results | TokenSource::Handles | TokenSource::Prompts => Count::ZERO,
        }
    }

    /// What is in the window from this source.
    #[must_use]
    pub fn of(&self, source: TokenSource) -> Count {
        match source {
            TokenSource::Tools | TokenSource::OwnTools => {
                self.tool_list.of(self.passed_of(source) + self.carried_of(source))
            }
            TokenSource::Arguments | TokenSource::Results | TokenSource::Handles | TokenSource::Prompts => {
                self.sums.get(&source).copied().unwrap_or_default()
            }
        }
    }

    /// What was passed to the program from this source.
    #[must_use]
    pub fn passed_of(&self, source: TokenSource) -> Count {
        let shelves = self.shelves.values();
        match source {
            TokenSource::Tools => shelves.flat_map(|shelf| shelf.tools.values().copied()).sum(),
            TokenSource::OwnTools => {
                // The same four behind every door; a client shows them once for each.
                shelves.map(|shelf| shelf.own).sum()
            }
            TokenSource::Arguments | TokenSource::Results | TokenSource::Handles | TokenSource::Prompts => {
                self.passed.get(&source).copied().unwrap_or_default()
            }
        }
    }

    /// What was passed to the program since the window began.
    #[must_use]
    pub fn passed_in_all(&self) -> Count {
        TokenSource::ALL.into_iter().map(|source| self.passed_of(source)).sum()
    }

    /// What limits are held against: with all that was passed of tool definitions, unless a person confirmed the
    /// program.
    #[must_use]
    pub fn limited(&self, is_confirmed: bool) -> u64 {
        let uncut = |source| match is_confirmed {
            true => 0,
            false => {
                let stated = self.passed_of(source) + self.carried_of(source);
                stated.tokens.saturating_sub(self.of(source).tokens)
            }
        };
        let more =
            [TokenSource::Tools, TokenSource::OwnTools].into_iter().map(uncut).fold(self.unsaid, u64::saturating_add);
        self.occupancy().tokens.saturating_add(more)
    }

    /// How often a window of this size was full since it began, at least; 0 while it never was. It cannot hold more
    /// than its size: past that its program compacted it, or it is another conversation.
    #[must_use]
    pub fn full_times(&self, size: u64) -> u64 {
        self.occupancy().tokens.checked_div(size).unwrap_or(0)
    }

    /// What is in the window now, as far as it is seen here, if nothing was taken out of it since it began.
    #[must_use]
    pub fn occupancy(&self) -> Count {
        TokenSource::ALL.into_iter().map(|source| self.of(source)).sum()
    }

    /// How exact its least exact figure is.
    #[must_use]
    pub fn exactness(&self) -> Exactness {
        self.occupancy().exactness
    }

    fn burns(&mut self, tokens: u64, now: Timestamp, span: Duration) {
        const MINUTE_MS: i64 = 60_000;
        let minute = Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(MINUTE_MS));
        match self.lately.back_mut() {
            Some(last) if last.minute == minute => {
                last.tokens = last.tokens.saturating_add(tokens);
                last.times = last.times.saturating_add(1);
            }
            _ => self.lately.push_back(MinuteSum { minute, tokens, times: 1 }),
        }
        while self.lately.front().is_some_and(|first| now.since(first.minute) > span) {
            self.lately.pop_front();
        }
    }

    /// How fast it filled over the last `burn_over`, or since it began or the core did (`since`) where that is shorter:
    /// what came in before is not known any more. A rate of a moment or of a single call is none.
    #[must_use]
    pub fn burn(&self, now: Timestamp, numbers: &CountingPolicy, since: Timestamp) -> Burn {
        let span = numbers.burn_over;
        let recent = || self.lately.iter().filter(|one| now.since(one.minute) <= span);
        let tokens = recent().map(|one| one.tokens).fold(0, u64::saturating_add);
        if tokens == 0 {
            return Burn::Quiet;
        }
        let seen = now.since(self.began.max(since));
        let times = recent().map(|one| one.times).fold(0, u32::saturating_add);
        if seen < numbers.burn_least || times < numbers.burn_times {
            return Burn::TooEarly;
        }
        let minutes = seen.min(span.max(MINUTE)).as_secs_f64() / 60.0;
        Burn::PerMinute((tokens as f64 / minutes).round() as u64)
    }
}

/// How long until a window of this size is full at this burn; `None` when it never will be, or in no time that counts.
#[must_use]
pub fn time_to_limit(occupied: u64, size: u64, burn_per_minute: u64) -> Option<Duration> {
    if burn_per_minute == 0 {
        return None;
    }
    let free = size.saturating_sub(occupied);
    Duration::try_from_secs_f64(free as f64 / burn_per_minute as f64 * 60.0).ok()
}

/// What a person set for counting an agent's tokens; `None` leaves it to what is known of its client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountingSettings {
    /// The model, by a name of [`crate::budget::models`].
    pub model: Option<Arc<str>>,
    /// The tokenizer family.
    pub family: Option<Family>,
    /// The size of its window, in tokens.
    pub window: Option<u64>,
    /// The program that the agent is, by a word of [`crate::client::profile`]. Said by a person, it counts more than
    /// the name that the program gives itself.
    pub program: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(600);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn exact(tokens: u64) -> Count {
        Count { tokens, exactness: Exactness::Exact }
    }

    fn window() -> Window {
        Window::new(WindowId::from_random(1), AgentId::from_random(2), Family::O200k, at(0))
    }

    #[test]
    fn a_list_of_tools_is_in_the_window_once_however_often_it_is_read() {
        let mut window = window();
        let tools = BTreeMap::from([(Arc::from("a"), exact(100)), (Arc::from("b"), exact(50))]);
        window.put_tools(None, tools.clone(), exact(900), at(1));
        window.put_tools(None, tools, exact(900), at(2));
        assert_eq!((window.of(TokenSource::Tools).tokens, window.of(TokenSource::OwnTools).tokens), (150, 900));
        window.take_in(TokenSource::Results, exact(7), at(3), SPAN);
        assert_eq!(window.occupancy(), exact(1_057));
    }

    #[test]
    fn the_burn_is_what_came_in_lately_and_says_when_the_window_is_full() {
        let (mut window, numbers) = (window(), CountingPolicy::default());
        for minute in 0..10 {
            window.take_in(TokenSource::Results, exact(600), at(minute * 60_000), SPAN);
        }
        assert_eq!(window.burn(at(600_000), &numbers, at(0)), Burn::PerMinute(600));
        assert_eq!(window.burn(at(6_000_000), &numbers, at(0)), Burn::Quiet, "long ago");
        assert_eq!(time_to_limit(6_000, 12_000, 600), Some(Duration::from_secs(600)));
        assert_eq!(time_to_limit(6_000, 12_000, 0), None);
        assert_eq!(time_to_limit(20_000, 12_000, 5), Some(Duration::ZERO), "it is full");
        assert_eq!(time_to_limit(0, u64::MAX, 1), None, "longer than a time can be");
    }

    #[test]
    fn the_burn_after_a_restart_is_that_of_the_time_since() {
        let (mut window, numbers) = (window(), CountingPolicy::default());
        for second in 0..6 {
            window.take_in(TokenSource::Results, exact(200), at(6_000_000 + second * 1_000), SPAN);
        }
        let now = at(6_240_000);
        assert_eq!(window.burn(now, &numbers, at(0)), Burn::PerMinute(120), "1,200 in ten minutes");
        assert_eq!(window.burn(now, &numbers, at(6_000_000)), Burn::PerMinute(300), "in the four that are known");
    }

    #[test]
    fn there_is_no_burn_from_less_than_three_minutes_or_from_fewer_than_five_events() {
        let (mut window, numbers) = (window(), CountingPolicy::default());
        window.take_in(TokenSource::Results, exact(60_000), at(0), SPAN);
        assert_eq!(window.burn(at(40_000), &numbers, at(0)), Burn::TooEarly, "a single call 40 s ago is no rate");
        assert_eq!(window.burn(at(300_000), &numbers, at(0)), Burn::TooEarly, "nor is it later");
        for _ in 0..4 {
            window.take_in(TokenSource::Results, exact(60_000), at(120_000), SPAN);
        }
        assert_eq!(window.burn(at(179_000), &numbers, at(0)), Burn::TooEarly, "five calls, but too soon");
        assert_eq!(window.burn(at(180_000), &numbers, at(0)), Burn::PerMinute(100_000));
    }

    #[test]
    fn what_was_passed_and_what_stands_in_the_window_are_two_figures() {
        let mut window = window();
        window.tool_list = ToolListCost { percent: 180, searched: false };
        window.put_tools(None, BTreeMap::from([(Arc::from("a"), exact(101))]), exact(50), at(1));
        let cut = Intake { passed: exact(69_387), window: Count { tokens: 5_000, exactness: Exactness::About } };
        window.take_in(TokenSource::Results, cut, at(2), SPAN);
        assert_eq!(
            (window.of(TokenSource::Tools).tokens, window.passed_of(TokenSource::Tools).tokens),
            (182, 101),
            "rounded up"
        );
        assert_eq!(window.occupancy(), Count { tokens: 182 + 90 + 5_000, exactness: Exactness::About });
        assert_eq!(window.passed_in_all(), exact(101 + 50 + 69_387));
        window.tool_list = ToolListCost { percent: 50, searched: true };
        window.unsaid = 64_387;
        assert_eq!(window.limited(false), 101 + 50 + 69_387, "a name nobody confirmed gets past no limit");
        window.unsaid = 0;
        assert_eq!(window.limited(true), 51 + 25 + 5_000);
    }

    #[test]
    fn a_window_that_took_in_more_than_it_holds_was_full_several_times() {
        let mut window = window();
        window.take_in(TokenSource::Results, exact(881_000), at(0), SPAN);
        assert_eq!((window.full_times(200_000), window.full_times(1_000_000), window.full_times(0)), (4, 0, 0));
    }

    #[test]
    fn words_are_read_back() {
        assert!(
            TokenSource::ALL
                .into_iter()
                .all(|source| TokenFlow::from_word(source.word()) == Some(TokenFlow::In(source)))
        );
        assert_eq!(TokenFlow::from_word("keptOut"), Some(TokenFlow::KeptOut));
    }
}
