//! The context windows of all agents: which conversation fills which window, with what, and when a window ends.
//!
//! Whatever enters a window is added to the series in the same call, so the sums of both are equal. It counts nothing,
//! stores nothing and reads no clock; `flush.rs` takes out what is to be stored.

use std::collections::HashMap;
use std::sync::Arc;

use domain::budget::models::CountingMethod;
use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, TokenSource, Window};
use domain::ids::{AgentId, HandleId, ServerId, WindowId};
use domain::policy::CountingPolicy;
use domain::ports::{BudgetNote, with_error};
use domain::time::Timestamp;
use domain::tokens::{Count, Family, Intake};

use crate::budget::conversations::agent_windows::{AgentWindows, OpenWindow};
use crate::budget::conversations::conversation::Conversation;
use crate::budget::conversations::spend_series::SpendSeries;
use crate::budget::conversations::tool_paging::{ListTurn, ToolPage};
use crate::budget::counting::visible::Counted;
use crate::budget::pending_results::{PendingResult, PendingResults, UnreadResult};
use crate::budget::usual_results::UsualSizes;

/// All windows, and the series of what entered them.
pub(crate) struct ConversationWindows {
    agents: HashMap<AgentId, AgentWindows>,
    /// Ended windows that are not stored yet.
    ended: Vec<Arc<Window>>,
    series: SpendSeries,
    sizes: UsualSizes,
    started: Timestamp,
    numbers: CountingPolicy,
    draw: Box<dyn Fn() -> WindowId + Send>,
    changed: bool,
}

/// The windows of an agent, and what it has not read.
pub(crate) struct AgentWindowsView {
    pub(crate) now: Option<Arc<Window>>,
    pub(crate) beside: Vec<Arc<Window>>,
    pub(crate) coming: Vec<PendingResult>,
}

impl ConversationWindows {
    pub(crate) fn new(numbers: CountingPolicy, started: Timestamp, draw: Box<dyn Fn() -> WindowId + Send>) -> Self {
        Self {
            agents: HashMap::new(),
            ended: Vec::new(),
            series: SpendSeries::default(),
            sizes: UsualSizes::default(),
            started,
            numbers,
            draw,
            changed: false,
        }
    }

    /// Restores a window of an earlier run that was not emptied.
    pub(crate) fn take_up(&mut self, window: Window) {
        let agent_windows = self.agents.entry(window.agent).or_default();
        agent_windows.open.push(OpenWindow::new(Arc::new(window), false));
        agent_windows.open.sort_by_key(|open| (open.window.last, open.window.began));
    }

    /// A client started a conversation.
    pub(crate) fn began(&mut self, conversation: &Conversation, family: Family, now: Timestamp) {
        let coming_back = now.since(self.started) <= self.numbers.comes_back_within;
        let quiet = self.numbers.quiet_is_new;
        let agent_windows = self.agents.entry(conversation.agent).or_default();
        let newest = agent_windows.open.len().checked_sub(1);
        let goes_on = match &conversation.session {
            Some(_) => agent_windows
                .with_session(conversation)
                .or_else(|| if coming_back { agent_windows.left_by_another(&conversation.door) } else { None })
                .or_else(|| newest.filter(|at| agent_windows.has_no(*at, &conversation.door))),
            None => newest.filter(|at| coming_back || agent_windows.quiet(*at, now) < quiet),
        };
        let at = match goes_on {
            Some(at) => at,
            None => self.open(conversation.agent, Window::new((self.draw)(), conversation.agent, family, now), now),
        };
        let Some(agent_windows) = self.agents.get_mut(&conversation.agent) else { return };
        agent_windows.note_session(conversation);
        let Some(open) = agent_windows.move_last(at) else { return };
        let shelf = Arc::make_mut(&mut open.window).shelves.entry(conversation.door).or_default();
        if conversation.session.is_some() {
            shelf.session.clone_from(&conversation.session);
        }
        open.stale = true;
        self.changed = true;
    }

    /// Something entered the window of this conversation. Returns which.
    pub(crate) fn enter(
        &mut self,
        conversation: &Conversation,
        server: Option<ServerId>,
        source: TokenSource,
        counted: Counted,
        family: Family,
        now: Timestamp,
    ) -> Option<WindowId> {
        let span = self.numbers.burn_over;
        let open = self.window(conversation, family, now)?;
        let window = Arc::make_mut(&mut open.window);
        window.take_in(source, counted.intake, now, span);
        window.unsaid = window.unsaid.saturating_add(counted.beyond);
        let id = window.id;
        self.series.flowed(now, (conversation.agent, server, family), TokenFlow::In(source), counted.intake, 1);
        Some(id)
    }

    /// A page of the tools behind a door entered. Only what is new in this window is spent.
    pub(crate) fn enter_tools(
        &mut self,
        conversation: &Conversation,
        server: Option<ServerId>,
        page: ToolPage,
        measure: &CountingMethod,
        now: Timestamp,
    ) {
        let (family, tool_list) = (measure.family, measure.profile.tool_list);
        let Some(open) = self.window(conversation, family, now) else { return };
        let before = open.window.shelves.get(&conversation.door).cloned().unwrap_or_default();
        let own = if page.is_last { page.own } else { before.own };
        let ListTurn { tools, new, is_whole } = open.paging.turn(conversation.door, page, before.tools);
        let window = Arc::make_mut(&mut open.window);
        window.tool_list = tool_list;
        window.put_tools(conversation.door, tools, own, now);
        if is_whole {
            window.drop_carried_tools(conversation.door);
        }
        if let (Some(session), Some(shelf)) = (&conversation.session, window.shelves.get_mut(&conversation.door)) {
            shelf.session.get_or_insert_with(|| Arc::clone(session));
        }
        let (agent, server) = (conversation.agent, server.or(conversation.door));
        let both = |passed| Intake { passed, window: tool_list.of(passed) };
        if new.tokens > 0 {
            self.series.flowed(now, (agent, server, family), TokenFlow::In(TokenSource::Tools), both(new), 1);
        }
        if own.tokens != before.own.tokens && own.tokens > 0 {
            self.series.flowed(now, (agent, None, family), TokenFlow::In(TokenSource::OwnTools), both(own), 1);
        }
    }

    /// Tasks kept this out of the agent's newest window.
    pub(crate) fn kept_out(&mut self, agent: AgentId, server: ServerId, count: Count, family: Family, now: Timestamp) {
        let conversation = Conversation { agent, door: None, session: None };
        let newest =
            self.agents.get(&agent).and_then(|agent_windows| agent_windows.open.last()).map(|open| open.window.id);
        let id = newest.or_else(|| self.window(&conversation, family, now).map(|open| open.window.id));
        if let Some(id) = id {
            self.keep_out(agent, id, server, count, family, now);
        }
    }

    /// Declares the agent's newest window empty. The tools behind its doors stand in the next one as well, because its
    /// program still has them; they were not passed again, so nothing came in.
    pub(crate) fn empty(&mut self, agent: AgentId, now: Timestamp) {
        let Some(emptied) = self.agents.get_mut(&agent).and_then(|agent_windows| agent_windows.open.pop()) else {
            return;
        };
        let (family, tool_list) = (emptied.window.family, emptied.window.tool_list);
        let shelves = emptied.window.shelves.iter().map(|(door, shelf)| (*door, shelf.carried_over())).collect();
        let next = Window { shelves, tool_list, ..Window::new((self.draw)(), agent, family, now) };
        self.end(emptied.window, true, now);
        self.open(agent, next, now);
    }

    /// Ends windows, except the newest, that were quiet for long.
    pub(crate) fn end_quiet(&mut self, now: Timestamp) {
        let (quiet, most) = (self.numbers.quiet_is_new, self.numbers.windows_max);
        let mut ended = Vec::new();
        for agent_windows in self.agents.values_mut() {
            let beside = agent_windows.open.len().saturating_sub(1);
            let over: Vec<usize> = (0..beside).filter(|at| agent_windows.quiet(*at, now) >= quiet).collect();
            for at in over.into_iter().rev() {
                ended.push(agent_windows.close_quiet(at, most));
            }
        }
        for window in ended {
            self.end(window, false, now);
        }
    }

    pub(crate) fn wasted(
        &mut self,
        agent: Option<AgentId>,
        server: ServerId,
        waste: Waste,
        count: Count,
        now: Timestamp,
    ) {
        self.series.wasted(now, (agent, server), waste, count);
    }

    /// Changes an agent's pending results; what is dropped by that is kept out.
    pub(crate) fn pending(
        &mut self,
        agent: AgentId,
        family: Family,
        now: Timestamp,
        change: impl FnOnce(&mut PendingResults) -> Option<UnreadResult>,
    ) {
        let gone = change(&mut self.agents.entry(agent).or_default().pending);
        self.changed = true;
        if let Some(gone) = gone {
            self.lost(agent, None, gone, family, now);
        }
    }

    pub(crate) fn sizes(&mut self) -> &mut UsualSizes {
        &mut self.sizes
    }

    /// Tokens that limits count in the window of this conversation, or in the fullest where that is not known, with pending
    /// and reserved results; estimates get this error on top.
    pub(crate) fn occupied(
        &self,
        agent: AgentId,
        conversation: Option<&Conversation>,
        is_confirmed: bool,
        error_percent: u8,
    ) -> u64 {
        let Some(agent_windows) = self.agents.get(&agent) else { return 0 };
        let stands = |window: &Arc<Window>| window.limited(is_confirmed);
        let window = match conversation {
            Some(conversation) => agent_windows.of(conversation),
            None => agent_windows.open.iter().map(|open| &open.window).max_by_key(|window| stands(window)),
        };
        let comes = agent_windows.pending.ready(window.map(|window| window.id));
        let reserved = agent_windows.reserved.values().copied().fold(0, u64::saturating_add);
        with_error(window.map_or(0, stands).saturating_add(comes), error_percent).saturating_add(reserved)
    }

    /// Reserves room for the result of a task.
    pub(crate) fn reserve(&mut self, agent: AgentId, handle: HandleId, tokens: u64) {
        self.agents.entry(agent).or_default().reserved.insert(handle, tokens);
    }

    /// The result is pending from now on, or it did not come.
    pub(crate) fn release(&mut self, agent: AgentId, handle: HandleId) {
        if let Some(agent_windows) = self.agents.get_mut(&agent) {
            agent_windows.reserved.remove(&handle);
        }
    }

    /// The windows of an agent at this moment, as it is measured now.
    pub(crate) fn view(&mut self, agent: AgentId, measure: &CountingMethod) -> Option<AgentWindowsView> {
        let agent_windows = self.agents.get_mut(&agent)?;
        for open in &mut agent_windows.open {
            open.in_family(measure.family);
            open.lists_tools(measure.profile.tool_list);
        }
        let mut windows = agent_windows.open.iter().rev().map(|open| Arc::clone(&open.window));
        Some(AgentWindowsView {
            now: windows.next(),
            beside: windows.collect(),
            coming: agent_windows.pending.all().collect(),
        })
    }

    /// When the agent's oldest open window began.
    pub(crate) fn oldest(&self, agent: AgentId) -> Option<Timestamp> {
        self.agents.get(&agent)?.open.iter().map(|open| open.window.began).min()
    }

    /// The start of the core, since when traffic is seen.
    pub(crate) const fn started(&self) -> Timestamp {
        self.started
    }

    /// Whether anything changed since this was asked last.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Takes what changed since it was last stored.
    pub(crate) fn take(&mut self) -> BudgetNote {
        let stale =
            self.agents.values_mut().flat_map(|agent_windows| agent_windows.open.iter_mut()).filter(|open| open.stale);
        let stale = stale.map(|open| {
            open.stale = false;
            Arc::clone(&open.window)
        });
        let open: Vec<Window> = stale.map(|window| Window::clone(&window)).collect();
        // One that was ended and reopened is among the open ones.
        let ended = std::mem::take(&mut self.ended).into_iter();
        let ended = ended.filter(|window| !self.is_open(window.agent, window.id));
        let windows = ended.map(|window| Window::clone(&window)).chain(open).collect();
        let (spend, waste) = self.series.take();
        BudgetNote { windows, spend, waste, hours: Vec::new() }
    }

    /// Takes the hour that runs, when it is not noted as counted yet.
    pub(crate) fn take_hour(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.series.take_hour(now)
    }

    /// Puts back what could not be stored.
    pub(crate) fn put_back(&mut self, note: BudgetNote) {
        self.series.put_back(note.spend, note.waste);
        for window in note.windows {
            let agent_windows = self.agents.get_mut(&window.agent);
            match agent_windows
                .and_then(|agent_windows| agent_windows.open.iter_mut().find(|open| open.window.id == window.id))
            {
                Some(open) => open.stale = true,
                // It was reopened and ended again since: what is there is newer.
                None if self.ended.iter().any(|ended| ended.id == window.id) => {}
                None => self.ended.push(Arc::new(window)),
            }
        }
    }

    fn is_open(&self, agent: AgentId, id: WindowId) -> bool {
        self.agents.get(&agent).is_some_and(|agent_windows| agent_windows.open.iter().any(|open| open.window.id == id))
    }

    /// The window of a conversation: the one that knows its session, a quiet one, the newest, or a new one.
    fn window(&mut self, conversation: &Conversation, family: Family, now: Timestamp) -> Option<&mut OpenWindow> {
        let agent_windows = self.agents.entry(conversation.agent).or_default();
        agent_windows.note_session(conversation);
        let known = agent_windows
            .with_session(conversation)
            .or_else(|| agent_windows.reopen(conversation))
            .or(agent_windows.open.len().checked_sub(1));
        let at = match known {
            Some(at) => at,
            None => {
                let mut window = Window::new((self.draw)(), conversation.agent, family, now);
                window.shelves.entry(conversation.door).or_default().session.clone_from(&conversation.session);
                self.open(conversation.agent, window, now)
            }
        };
        self.changed = true;
        let open = self.agents.get_mut(&conversation.agent)?.move_last(at)?;
        open.in_family(family);
        open.stale = true;
        Some(open)
    }

    /// Opens a window. When there are too many, the one that was quiet for longest ends.
    fn open(&mut self, agent: AgentId, window: Window, now: Timestamp) -> usize {
        let most = self.numbers.windows_max;
        let agent_windows = self.agents.entry(agent).or_default();
        let ended = (agent_windows.open.len() >= most).then(|| agent_windows.close_quiet(0, most));
        agent_windows.open.push(OpenWindow::new(Arc::new(window), true));
        let at = agent_windows.open.len().saturating_sub(1);
        if let Some(ended) = ended {
            self.end(ended, false, now);
        }
        self.changed = true;
        at
    }

    /// Ends a window: what was not read of its results is kept out of it.
    fn end(&mut self, window: Arc<Window>, newest: bool, now: Timestamp) {
        let (agent, id, family) = (window.agent, window.id, window.family);
        self.ended.retain(|before| before.id != id);
        self.ended.push(Arc::new(Window { ended: Some(now), ..Window::clone(&window) }));
        let unread = self
            .agents
            .get_mut(&agent)
            .map(|agent_windows| agent_windows.pending.close(id, newest))
            .unwrap_or_default();
        for gone in unread {
            self.lost(agent, Some(id), gone, family, now);
        }
        self.changed = true;
    }

    /// A result will not be read.
    fn lost(&mut self, agent: AgentId, window: Option<WindowId>, gone: UnreadResult, family: Family, now: Timestamp) {
        let UnreadResult { server, left, wasted } = gone;
        if let Some(cost) = wasted {
            self.series.wasted(now, (Some(agent), server), Waste::UnreadResult, cost);
        }
        match window {
            _ if left.tokens == 0 => {}
            Some(id) => self.keep_out(agent, id, server, left, family, now),
            None => self.kept_out(agent, server, left, family, now),
        }
    }

    fn keep_out(
        &mut self,
        agent: AgentId,
        id: WindowId,
        server: ServerId,
        count: Count,
        family: Family,
        now: Timestamp,
    ) {
        let Some(agent_windows) = self.agents.get_mut(&agent) else { return };
        let open = agent_windows.open.iter_mut().filter(|open| open.window.id == id).map(|open| {
            open.stale = true;
            &mut open.window
        });
        // A quiet window may be reopened; it is the same window then.
        let over = agent_windows.quiet_windows.iter_mut().chain(&mut self.ended).filter(|window| window.id == id);
        let mut is_known = false;
        for window in open.chain(over) {
            let window = Arc::make_mut(window);
            window.kept_out = window.kept_out + count;
            is_known = true;
        }
        if !is_known {
            return;
        }
        self.series.flowed(now, (agent, Some(server), family), TokenFlow::KeptOut, count.into(), 1);
        self.changed = true;
    }
}
