//! The context window of an agent, as far as the gateway sees it: what came in, by source, since it was last empty.
//!
//! Occupancy (now) and spend (ever) are different figures: a window is emptied, spend only grows. What an agent's program
//! puts into its window besides (its own instructions, the conversation, other tools) is not seen here. Pure: moments and
//! counts come in as values; who counts is the engine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::ids::{AgentId, ServerId, WindowId};
use crate::policy::MINUTE;
use crate::time::Timestamp;
use crate::tokens::{Count, Exactness, Family};

/// What a token in a window came from. The order is that of every list and bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Definitions of servers' tools: the set, once.
    Tools,
    /// Definitions of the gateway's own tools.
    OwnTools,
    /// Names and arguments of calls.
    Arguments,
    /// Results and errors of calls, whole or in slices.
    Results,
    /// Handles, looks at tasks, and their messages.
    Handles,
    /// Prompts and resources.
    Prompts,
}

impl Source {
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

    /// Reads [`Source::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.word() == word)
    }
}

/// What is counted over time: what came in by source, and what tasks kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    /// It entered a window.
    In(Source),
    /// Tasks kept it out.
    KeptOut,
}

impl Flow {
    /// Word for JSON and the registry: that of the source, or `keptOut`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::In(source) => source.word(),
            Self::KeptOut => "keptOut",
        }
    }

    /// Reads [`Flow::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        if word == "keptOut" { Some(Self::KeptOut) } else { Source::from_word(word).map(Self::In) }
    }
}

/// A door by which definitions of tools come in: one server's, or that of all (`None`).
pub type Door = Option<ServerId>;

/// The tools behind one door, as they stand in the window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shelf {
    /// The session that this window knows at this door; `None` where requests stand alone.
    pub session: Option<Arc<str>>,
    /// Definitions of servers' tools, by tool.
    pub tools: BTreeMap<Arc<str>, Count>,
    /// Definitions of ours.
    pub own: Count,
}

/// One window: from when it was empty to when it was emptied.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Our id.
    pub id: WindowId,
    /// Whose.
    pub agent: AgentId,
    /// In whose tokens it is counted.
    pub family: Family,
    /// Since when.
    pub began: Timestamp,
    /// When something last came in.
    pub last: Timestamp,
    /// When it was emptied.
    pub ended: Option<Timestamp>,
    /// Definitions of tools, by door.
    pub shelves: BTreeMap<Door, Shelf>,
    /// Everything else, by source; `Tools` and `OwnTools` are never in here.
    pub sums: BTreeMap<Source, Count>,
    /// What tasks kept out of it.
    pub kept_out: Count,
    /// Tokens of results in it, by our own count, beyond what their makers say: limits count them, nothing shows them.
    pub unsaid: u64,
    /// What came in lately, by minute, oldest first; for the burn. Not kept over a restart.
    pub lately: VecDeque<(Timestamp, u64)>,
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
            sums: BTreeMap::new(),
            kept_out: Count::ZERO,
            unsaid: 0,
            lately: VecDeque::new(),
        }
    }

    /// Something came in.
    pub fn take_in(&mut self, source: Source, count: Count, now: Timestamp, span: Duration) {
        let sum = self.sums.entry(source).or_default();
        *sum = *sum + count;
        self.last = self.last.max(now);
        self.burns(count.tokens, now, span);
    }

    /// The tools behind a door are these now. Their list is in the window once, however often it is read.
    pub fn put_tools(&mut self, door: Door, tools: BTreeMap<Arc<str>, Count>, own: Count, now: Timestamp) {
        let shelf = self.shelves.entry(door).or_default();
        shelf.tools = tools;
        shelf.own = own;
        self.last = self.last.max(now);
    }

    /// What came from this source.
    #[must_use]
    pub fn of(&self, source: Source) -> Count {
        let shelves = self.shelves.values();
        match source {
            Source::Tools => shelves.flat_map(|shelf| shelf.tools.values().copied()).sum(),
            Source::OwnTools => {
                // The same four behind every door; a client shows them once for each.
                shelves.map(|shelf| shelf.own).sum()
            }
            Source::Arguments | Source::Results | Source::Handles | Source::Prompts => {
                self.sums.get(&source).copied().unwrap_or_default()
            }
        }
    }

    /// What stands in the window now, as far as it is seen here.
    #[must_use]
    pub fn occupancy(&self) -> Count {
        Source::ALL.into_iter().map(|source| self.of(source)).sum()
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
            Some((at, sum)) if *at == minute => *sum = sum.saturating_add(tokens),
            _ => self.lately.push_back((minute, tokens)),
        }
        while self.lately.front().is_some_and(|(at, _)| now.since(*at) > span) {
            self.lately.pop_front();
        }
    }

    /// Tokens a minute that came in over the last `span`, or since it began or the core did (`since`) where that is
    /// shorter: what came in before is not known any more. 0 when nothing did.
    #[must_use]
    pub fn burn(&self, now: Timestamp, span: Duration, since: Timestamp) -> u64 {
        let recent = self.lately.iter().filter(|(at, _)| now.since(*at) <= span);
        let tokens: u64 = recent.map(|(_, tokens)| *tokens).fold(0, u64::saturating_add);
        // The burn is by the minute: a window that has just begun did not fill at a thousand times its speed.
        let lived = now.since(self.began.max(since)).clamp(MINUTE, span.max(MINUTE));
        let minutes = lived.as_secs_f64() / 60.0;
        (tokens as f64 / minutes).round() as u64
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
pub struct Meter {
    /// The model, by a name of [`crate::models`].
    pub model: Option<Arc<str>>,
    /// The tokenizer family.
    pub family: Option<Family>,
    /// The size of its window, in tokens.
    pub window: Option<u64>,
    /// The program that the agent is, by a word of [`crate::client_profile`]. Said by a person, it counts more than the
    /// name that the program gives itself.
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
        assert_eq!((window.of(Source::Tools).tokens, window.of(Source::OwnTools).tokens), (150, 900));
        window.take_in(Source::Results, exact(7), at(3), SPAN);
        assert_eq!(window.occupancy(), exact(1_057));
    }

    #[test]
    fn the_burn_is_what_came_in_lately_and_says_when_the_window_is_full() {
        let mut window = window();
        for minute in 0..10 {
            window.take_in(Source::Results, exact(600), at(minute * 60_000), SPAN);
        }
        assert_eq!(window.burn(at(600_000), SPAN, at(0)), 600);
        assert_eq!(window.burn(at(6_000_000), SPAN, at(0)), 0, "long ago");
        assert_eq!(time_to_limit(6_000, 12_000, 600), Some(Duration::from_secs(600)));
        assert_eq!(time_to_limit(6_000, 12_000, 0), None);
        assert_eq!(time_to_limit(20_000, 12_000, 5), Some(Duration::ZERO), "it is full");
        assert_eq!(time_to_limit(0, u64::MAX, 1), None, "longer than a time can be");
    }

    #[test]
    fn the_burn_after_a_restart_is_that_of_the_time_since() {
        let mut window = window();
        window.take_in(Source::Results, exact(1_200), at(6_000_000), SPAN);
        assert_eq!(window.burn(at(6_120_000), SPAN, at(0)), 120, "1,200 in ten minutes");
        assert_eq!(window.burn(at(6_120_000), SPAN, at(6_000_000)), 600, "1,200 in the two minutes that are known");
    }

    #[test]
    fn words_are_read_back() {
        assert!(Source::ALL.into_iter().all(|source| Flow::from_word(source.word()) == Some(Flow::In(source))));
        assert_eq!(Flow::from_word("keptOut"), Some(Flow::KeptOut));
    }
}
