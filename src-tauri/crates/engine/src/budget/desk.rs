//! What is known of one agent: the windows that fill, those that doze, and what it has not read.
//!
//! Finds the window of a place, and wakes one that was taken for over. It opens and ends none and adds nothing up: that
//! is `books.rs`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::client::profile::ToolListCost;
use domain::ids::HandleId;
use domain::time::Timestamp;
use domain::tokens::{Exactness, Family};
use domain::budget::window::{ToolListScope, Window};

use super::coming::Pending;
use super::place::Place;
use super::shelf::Paging;

/// A window that fills.
pub(super) struct Open {
    pub(super) window: Arc<Window>,
    pub(super) paging: Paging,
    /// It is not stored as it is.
    pub(super) stale: bool,
}

/// What is known of one agent.
#[derive(Default)]
pub(super) struct Desk {
    /// The one that something last came into is the last.
    pub(super) open: Vec<Open>,
    /// Ended because nothing came in for long: whoever still talks in one goes on with it.
    pub(super) dozing: VecDeque<Arc<Window>>,
    /// Sessions that were heard of in this run of the core.
    heard: HashSet<(ToolListScope, Arc<str>)>,
    pub(super) pending: Pending,
    /// Tokens of results that are on their way in and are not expected yet.
    pub(super) promised: HashMap<HandleId, u64>,
}

impl Open {
    pub(super) fn new(window: Arc<Window>, stale: bool) -> Self {
        Self { window, paging: Paging::default(), stale }
    }

    /// Counts in another family from now on. What was counted before is about as much in it.
    pub(super) fn in_family(&mut self, family: Family) {
        if self.window.family == family {
            return;
        }
        let window = Arc::make_mut(&mut self.window);
        let marked = if window.family == Family::Unknown { Exactness::AtMost } else { Exactness::About };
        window.family = family;
        let shelves = window.shelves.values_mut();
        let tools = shelves.flat_map(|shelf| shelf.tools.values_mut().chain(std::iter::once(&mut shelf.own)));
        let all = tools
            .chain(window.sums.values_mut())
            .chain(window.passed.values_mut())
            .chain(std::iter::once(&mut window.kept_out));
        for count in all.filter(|count| count.tokens > 0) {
            count.exactness = count.exactness.max(marked);
        }
        self.stale = true;
    }

    /// Its program makes this of the definitions of tools from now on.
    pub(super) fn lists_tools(&mut self, tool_list: ToolListCost) {
        if self.window.tool_list != tool_list {
            Arc::make_mut(&mut self.window).tool_list = tool_list;
            self.stale = true;
        }
    }
}

impl Desk {
    /// The window that what passes here comes into: the one that knows the session, or the newest.
    pub(super) fn of(&self, place: &Place) -> Option<&Arc<Window>> {
        let known = self.knowing(place).and_then(|at| self.open.get(at)).map(|open| &open.window);
        let dozes = || self.dozing.iter().rfind(|window| place.session.is_some() && knows(window, place));
        known.or_else(dozes).or_else(|| self.open.last().map(|open| &open.window))
    }

    /// The window that knows this session at this door, the newest first.
    pub(super) fn knowing(&self, place: &Place) -> Option<usize> {
        self.open.iter().rposition(|open| knows(&open.window, place))
    }

    /// The window whose session at this door nobody was heard of since the start, the newest first.
    pub(super) fn left_by_another(&self, door: &ToolListScope) -> Option<usize> {
        self.open.iter().rposition(|open| {
            let session = open.window.shelves.get(door).and_then(|shelf| shelf.session.clone());
            session.is_some_and(|session| !self.heard.contains(&(*door, session)))
        })
    }

    pub(super) fn has_no(&self, at: usize, door: &ToolListScope) -> bool {
        let shelf = self.open.get(at).and_then(|open| open.window.shelves.get(door));
        shelf.is_none_or(|shelf| shelf.session.is_none())
    }

    pub(super) fn quiet(&self, at: usize, now: Timestamp) -> Duration {
        self.open.get(at).map(|open| now.since(open.window.last)).unwrap_or_default()
    }

    /// Remembers that this session was heard of; those of windows that are gone are forgotten.
    pub(super) fn claim(&mut self, place: &Place) {
        let Some(session) = &place.session else { return };
        let claimed = (place.door, Arc::clone(session));
        if self.heard.contains(&claimed) {
            return;
        }
        let windows = || self.open.iter().map(|open| &open.window).chain(&self.dozing);
        self.heard.retain(|(door, session)| {
            windows().any(|window| window.shelves.get(door).and_then(|shelf| shelf.session.as_ref()) == Some(session))
        });
        self.heard.insert(claimed);
    }

    pub(super) fn move_last(&mut self, at: usize) -> Option<&mut Open> {
        if let Some(tail) = self.open.get_mut(at..) {
            tail.rotate_left(1.min(tail.len()));
        }
        self.open.last_mut()
    }

    /// Takes a window out because it was quiet for long, and remembers it.
    pub(super) fn doze(&mut self, at: usize, most: usize) -> Arc<Window> {
        let window = self.open.remove(at).window;
        if self.dozing.len() >= most {
            self.dozing.pop_front();
        }
        self.dozing.push_back(Arc::clone(&window));
        window
    }

    /// A session talks whose window was taken for over: it goes on.
    pub(super) fn wake(&mut self, place: &Place) -> Option<usize> {
        place.session.as_ref()?;
        let at = self.dozing.iter().rposition(|window| knows(window, place))?;
        let window = self.dozing.remove(at)?;
        self.open.push(Open::new(window, true));
        self.open.len().checked_sub(1)
    }
}

fn knows(window: &Window, place: &Place) -> bool {
    window.shelves.get(&place.door).is_some_and(|shelf| shelf.session == place.session)
}
