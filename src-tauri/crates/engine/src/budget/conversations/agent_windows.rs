//! The windows of one agent: open ones, quiet ones that may go on, and the results it has not read.
//!
//! Finds the window of a conversation and reopens a quiet one. Opening, ending and summing up is `windows.rs`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::budget::window::{ToolListScope, Window};
use domain::client::profile::ToolListCost;
use domain::ids::HandleId;
use domain::time::Timestamp;
use domain::tokens::{Exactness, Family};

use crate::budget::conversations::conversation::Conversation;
use crate::budget::conversations::tool_paging::ToolPaging;
use crate::budget::pending_results::PendingResults;

/// An open window.
pub(crate) struct OpenWindow {
    pub(crate) window: Arc<Window>,
    pub(crate) paging: ToolPaging,
    /// It changed since it was stored.
    pub(crate) stale: bool,
}

/// The windows of one agent.
#[derive(Default)]
pub(crate) struct AgentWindows {
    /// The last is the one that was used last.
    pub(crate) open: Vec<OpenWindow>,
    /// Ended because they were quiet for long; a conversation that continues reopens its window.
    pub(crate) quiet_windows: VecDeque<Arc<Window>>,
    /// Sessions that were active in this run of the core.
    active_sessions: HashSet<(ToolListScope, Arc<str>)>,
    pub(crate) pending: PendingResults,
    /// Tokens reserved for results that are not pending yet.
    pub(crate) reserved: HashMap<HandleId, u64>,
}

impl OpenWindow {
    pub(crate) fn new(window: Arc<Window>, stale: bool) -> Self {
        Self { window, paging: ToolPaging::default(), stale }
    }

    /// Counts in another family from now on. Earlier counts become estimates in it.
    pub(crate) fn in_family(&mut self, family: Family) {
        if self.window.family == family {
            return;
        }
        let window = Arc::make_mut(&mut self.window);
        let marked = if window.family == Family::Unknown { Exactness::AtMost } else { Exactness::About };
        window.family = family;
        let shelves = window.shelves.values_mut();
        let tools = shelves.flat_map(|shelf| {
            let carried = shelf.carried.tools.values_mut().chain(std::iter::once(&mut shelf.carried.own));
            shelf.tools.values_mut().chain(std::iter::once(&mut shelf.own)).chain(carried)
        });
        let all = tools
            .chain(window.sums.values_mut())
            .chain(window.passed.values_mut())
            .chain(std::iter::once(&mut window.kept_out));
        for count in all.filter(|count| count.tokens > 0) {
            count.exactness = count.exactness.max(marked);
        }
        self.stale = true;
    }

    /// From now on its program charges tool definitions like this.
    pub(crate) fn lists_tools(&mut self, tool_list: ToolListCost) {
        if self.window.tool_list != tool_list {
            Arc::make_mut(&mut self.window).tool_list = tool_list;
            self.stale = true;
        }
    }
}

impl AgentWindows {
    /// The window of a conversation: the one that knows its session, or the newest.
    pub(crate) fn of(&self, conversation: &Conversation) -> Option<&Arc<Window>> {
        let known = self.with_session(conversation).and_then(|at| self.open.get(at)).map(|open| &open.window);
        let dozes =
            || self.quiet_windows.iter().rfind(|window| conversation.session.is_some() && knows(window, conversation));
        known.or_else(dozes).or_else(|| self.open.last().map(|open| &open.window))
    }

    /// The window that knows this session at this door, the newest first.
    pub(crate) fn with_session(&self, conversation: &Conversation) -> Option<usize> {
        self.open.iter().rposition(|open| knows(&open.window, conversation))
    }

    /// The newest window whose session at this door was not active since the start.
    pub(crate) fn left_by_another(&self, door: &ToolListScope) -> Option<usize> {
        self.open.iter().rposition(|open| {
            let session = open.window.shelves.get(door).and_then(|shelf| shelf.session.clone());
            session.is_some_and(|session| !self.active_sessions.contains(&(*door, session)))
        })
    }

    pub(crate) fn has_no(&self, at: usize, door: &ToolListScope) -> bool {
        let shelf = self.open.get(at).and_then(|open| open.window.shelves.get(door));
        shelf.is_none_or(|shelf| shelf.session.is_none())
    }

    pub(crate) fn quiet(&self, at: usize, now: Timestamp) -> Duration {
        self.open.get(at).map(|open| now.since(open.window.last)).unwrap_or_default()
    }

    /// Remembers that this session is active, and forgets sessions without a window.
    pub(crate) fn note_session(&mut self, conversation: &Conversation) {
        let Some(session) = &conversation.session else { return };
        let claimed = (conversation.door, Arc::clone(session));
        if self.active_sessions.contains(&claimed) {
            return;
        }
        let windows = || self.open.iter().map(|open| &open.window).chain(&self.quiet_windows);
        self.active_sessions.retain(|(door, session)| {
            windows().any(|window| window.shelves.get(door).and_then(|shelf| shelf.session.as_ref()) == Some(session))
        });
        self.active_sessions.insert(claimed);
    }

    pub(crate) fn move_last(&mut self, at: usize) -> Option<&mut OpenWindow> {
        if let Some(tail) = self.open.get_mut(at..) {
            tail.rotate_left(1.min(tail.len()));
        }
        self.open.last_mut()
    }

    /// Closes a window that was quiet for long, and remembers it.
    pub(crate) fn close_quiet(&mut self, at: usize, most: usize) -> Arc<Window> {
        let window = self.open.remove(at).window;
        if self.quiet_windows.len() >= most {
            self.quiet_windows.pop_front();
        }
        self.quiet_windows.push_back(Arc::clone(&window));
        window
    }

    /// Reopens the quiet window of a session that continues.
    pub(crate) fn reopen(&mut self, conversation: &Conversation) -> Option<usize> {
        conversation.session.as_ref()?;
        let at = self.quiet_windows.iter().rposition(|window| knows(window, conversation))?;
        let window = self.quiet_windows.remove(at)?;
        self.open.push(OpenWindow::new(window, true));
        self.open.len().checked_sub(1)
    }
}

fn knows(window: &Window, conversation: &Conversation) -> bool {
    window.shelves.get(&conversation.door).is_some_and(|shelf| shelf.session == conversation.session)
}
