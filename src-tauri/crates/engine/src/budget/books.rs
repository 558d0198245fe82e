//! The windows of agents in memory: which session fills which, what came into them, and when they are emptied.
//!
//! Whatever enters a window is added to the series in the same breath, so the sums of both are equal. It counts nothing,
//! stores nothing and reads no clock: counts and moments come in, and `flush.rs` takes out what is to be stored.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId, WindowId};
use domain::budget::models::CountingMethod;
use domain::policy::CountingPolicy;
use domain::ports::{BudgetNote, with_error};
use domain::time::Timestamp;
use domain::tokens::{Count, Family, Intake};
use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, TokenSource, Window};

use super::coming::{Coming, Pending, Sizes, Unread};
use super::desk::{Desk, Open};
use super::place::Place;
use super::series::Series;
use super::shelf::Page;
use super::shown::Counted;

/// All windows, and what flowed.
pub(super) struct Books {
    desks: HashMap<AgentId, Desk>,
    /// Ended windows that are not stored yet.
    ended: Vec<Arc<Window>>,
    series: Series,
    sizes: Sizes,
    started: Timestamp,
    numbers: CountingPolicy,
    draw: Box<dyn Fn() -> WindowId + Send>,
    changed: bool,
}

/// The windows of an agent, and what it has not read.
pub(super) struct Standing {
    pub(super) now: Option<Arc<Window>>,
    pub(super) beside: Vec<Arc<Window>>,
    pub(super) coming: Vec<Coming>,
}

impl Books {
    pub(super) fn new(numbers: CountingPolicy, started: Timestamp, draw: Box<dyn Fn() -> WindowId + Send>) -> Self {
        Self {
            desks: HashMap::new(),
            ended: Vec::new(),
            series: Series::default(),
            sizes: Sizes::default(),
            started,
            numbers,
            draw,
            changed: false,
        }
    }

    /// Takes up a window of an earlier run that was not emptied.
    pub(super) fn take_up(&mut self, window: Window) {
        let desk = self.desks.entry(window.agent).or_default();
        desk.open.push(Open::new(Arc::new(window), false));
        desk.open.sort_by_key(|open| (open.window.last, open.window.began));
    }

    /// A client began to talk at a door.
    pub(super) fn began(&mut self, place: &Place, family: Family, now: Timestamp) {
        let coming_back = now.since(self.started) <= self.numbers.comes_back_within;
        let quiet = self.numbers.quiet_is_new;
        let desk = self.desks.entry(place.agent).or_default();
        let newest = desk.open.len().checked_sub(1);
        let goes_on = match &place.session {
            Some(_) => desk
                .knowing(place)
                .or_else(|| if coming_back { desk.left_by_another(&place.door) } else { None })
                .or_else(|| newest.filter(|at| desk.has_no(*at, &place.door))),
            None => newest.filter(|at| coming_back || desk.quiet(*at, now) < quiet),
        };
        let at = match goes_on {
            Some(at) => at,
            None => self.open(place.agent, Window::new((self.draw)(), place.agent, family, now), now),
        };
        let Some(desk) = self.desks.get_mut(&place.agent) else { return };
        desk.claim(place);
        let Some(open) = desk.move_last(at) else { return };
        let shelf = Arc::make_mut(&mut open.window).shelves.entry(place.door).or_default();
        if place.session.is_some() {
            shelf.session.clone_from(&place.session);
        }
        open.stale = true;
        self.changed = true;
    }

    /// Something came into the window of this place. Returns which.
    pub(super) fn came_in(
        &mut self,
        place: &Place,
        server: Option<ServerId>,
        source: TokenSource,
        counted: Counted,
        family: Family,
        now: Timestamp,
    ) -> Option<WindowId> {
        let span = self.numbers.burn_over;
        let open = self.window(place, family, now)?;
        let window = Arc::make_mut(&mut open.window);
        window.take_in(source, counted.intake, now, span);
        window.unsaid = window.unsaid.saturating_add(counted.beyond);
        let id = window.id;
        self.series.flowed(now, (place.agent, server, family), TokenFlow::In(source), counted.intake, 1);
        Some(id)
    }

    /// A page of the tools behind a door came in. What is new of it is spent.
    pub(super) fn has_tools(
        &mut self,
        place: &Place,
        server: Option<ServerId>,
        page: Page,
        measure: &CountingMethod,
        now: Timestamp,
    ) {
        let (family, tool_list) = (measure.family, measure.profile.tool_list);
        let Some(open) = self.window(place, family, now) else { return };
        let before = open.window.shelves.get(&place.door).cloned().unwrap_or_default();
        let own = if page.is_last { page.own } else { before.own };
        let (tools, new) = open.paging.turn(place.door, page, before.tools);
        let window = Arc::make_mut(&mut open.window);
        window.tool_list = tool_list;
        window.put_tools(place.door, tools, own, now);
        if let (Some(session), Some(shelf)) = (&place.session, window.shelves.get_mut(&place.door)) {
            shelf.session.get_or_insert_with(|| Arc::clone(session));
        }
        let (agent, server) = (place.agent, server.or(place.door));
        let both = |passed| Intake { passed, window: tool_list.of(passed) };
        if new.tokens > 0 {
            self.series.flowed(now, (agent, server, family), TokenFlow::In(TokenSource::Tools), both(new), 1);
        }
        if own.tokens != before.own.tokens && own.tokens > 0 {
            self.series.flowed(now, (agent, None, family), TokenFlow::In(TokenSource::OwnTools), both(own), 1);
        }
    }

    /// Tasks kept this out of the agent's newest window.
    pub(super) fn kept_out(&mut self, agent: AgentId, server: ServerId, count: Count, family: Family, now: Timestamp) {
        let place = Place { agent, door: None, session: None };
        let newest = self.desks.get(&agent).and_then(|desk| desk.open.last()).map(|open| open.window.id);
        let id = newest.or_else(|| self.window(&place, family, now).map(|open| open.window.id));
        if let Some(id) = id {
            self.keep_out(agent, id, server, count, family, now);
        }
    }

    /// Declares the agent's newest window empty. The tools behind its doors stand in the next one again.
    pub(super) fn empty(&mut self, agent: AgentId, now: Timestamp) {
        let Some(emptied) = self.desks.get_mut(&agent).and_then(|desk| desk.open.pop()) else { return };
        let (family, shelves) = (emptied.window.family, emptied.window.shelves.clone());
        let tool_list = emptied.window.tool_list;
        let next = Window { shelves, tool_list, ..Window::new((self.draw)(), agent, family, now) };
        for (door, shelf) in &next.shelves {
            let tools: Count = shelf.tools.values().copied().sum();
            for (server, source, count) in [(*door, TokenSource::Tools, tools), (None, TokenSource::OwnTools, shelf.own)] {
                if count.tokens > 0 {
                    let both = Intake { passed: count, window: tool_list.of(count) };
                    self.series.flowed(now, (agent, server, family), TokenFlow::In(source), both, 1);
                }
            }
        }
        self.end(emptied.window, true, now);
        self.open(agent, next, now);
    }

    /// Ends windows beside the newest into which nothing came for long.
    pub(super) fn end_quiet(&mut self, now: Timestamp) {
        let (quiet, most) = (self.numbers.quiet_is_new, self.numbers.windows_max);
        let mut ended = Vec::new();
        for desk in self.desks.values_mut() {
            let beside = desk.open.len().saturating_sub(1);
            let over: Vec<usize> = (0..beside).filter(|at| desk.quiet(*at, now) >= quiet).collect();
            for at in over.into_iter().rev() {
                ended.push(desk.doze(at, most));
            }
        }
        for window in ended {
            self.end(window, false, now);
        }
    }

    /// Counts waste.
    pub(super) fn wasted(
        &mut self,
        agent: Option<AgentId>,
        server: ServerId,
        waste: Waste,
        count: Count,
        now: Timestamp,
    ) {
        self.series.wasted(now, (agent, server), waste, count);
    }

    /// What the agent has not read, to be changed; what it lost by that is booked.
    pub(super) fn pending(
        &mut self,
        agent: AgentId,
        family: Family,
        now: Timestamp,
        change: impl FnOnce(&mut Pending) -> Option<Unread>,
    ) {
        let gone = change(&mut self.desks.entry(agent).or_default().pending);
        self.changed = true;
        if let Some(gone) = gone {
            self.lost(agent, None, gone, family, now);
        }
    }

    /// What results of tools are like.
    pub(super) fn sizes(&mut self) -> &mut Sizes {
        &mut self.sizes
    }

    /// What stands for limits in the window that belongs to this place, or in the fullest where that is not known, with
    /// what comes in whatever the agent does; estimates with so much error on top.
    pub(super) fn occupied(
        &self,
        agent: AgentId,
        place: Option<&Place>,
        (is_confirmed, error_percent): (bool, u8),
    ) -> u64 {
        let Some(desk) = self.desks.get(&agent) else { return 0 };
        let stands = |window: &Arc<Window>| window.limited(is_confirmed);
        let window = match place {
            Some(place) => desk.of(place),
            None => desk.open.iter().map(|open| &open.window).max_by_key(|window| stands(window)),
        };
        let comes = desk.pending.ready(window.map(|window| window.id));
        let promised = desk.promised.values().copied().fold(0, u64::saturating_add);
        with_error(window.map_or(0, stands).saturating_add(comes), error_percent).saturating_add(promised)
    }

    /// The result of a task is on its way into the agent's window.
    pub(super) fn promises(&mut self, agent: AgentId, handle: HandleId, tokens: u64) {
        self.desks.entry(agent).or_default().promised.insert(handle, tokens);
    }

    /// It is expected from now on, or it did not come.
    pub(super) fn takes_back(&mut self, agent: AgentId, handle: HandleId) {
        if let Some(desk) = self.desks.get_mut(&agent) {
            desk.promised.remove(&handle);
        }
    }

    /// The windows of an agent at this moment, as it is measured now.
    pub(super) fn standing(&mut self, agent: AgentId, measure: &CountingMethod) -> Option<Standing> {
        let desk = self.desks.get_mut(&agent)?;
        for open in &mut desk.open {
            open.in_family(measure.family);
            open.lists_tools(measure.profile.tool_list);
        }
        let mut windows = desk.open.iter().rev().map(|open| Arc::clone(&open.window));
        Some(Standing { now: windows.next(), beside: windows.collect(), coming: desk.pending.all().collect() })
    }

    /// When the agent's oldest open window began.
    pub(super) fn oldest(&self, agent: AgentId) -> Option<Timestamp> {
        self.desks.get(&agent)?.open.iter().map(|open| open.window.began).min()
    }

    /// When what comes in began to be seen: the start of the core.
    pub(super) const fn started(&self) -> Timestamp {
        self.started
    }

    /// Whether anything changed since this was asked last.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Takes what is not stored.
    pub(super) fn take(&mut self) -> BudgetNote {
        let stale = self.desks.values_mut().flat_map(|desk| desk.open.iter_mut()).filter(|open| open.stale);
        let stale = stale.map(|open| {
            open.stale = false;
            Arc::clone(&open.window)
        });
        let open: Vec<Window> = stale.map(|window| Window::clone(&window)).collect();
        // One that was ended and goes on again is open.
        let ended = std::mem::take(&mut self.ended).into_iter();
        let ended = ended.filter(|window| !self.is_open(window.agent, window.id));
        let windows = ended.map(|window| Window::clone(&window)).chain(open).collect();
        let (spend, waste) = self.series.take();
        BudgetNote { windows, spend, waste }
    }

    /// Puts back what could not be stored.
    pub(super) fn put_back(&mut self, note: BudgetNote) {
        self.series.put_back(note.spend, note.waste);
        for window in note.windows {
            let desk = self.desks.get_mut(&window.agent);
            match desk.and_then(|desk| desk.open.iter_mut().find(|open| open.window.id == window.id)) {
                Some(open) => open.stale = true,
                // It went on and ended again meanwhile: what is there is newer.
                None if self.ended.iter().any(|ended| ended.id == window.id) => {}
                None => self.ended.push(Arc::new(window)),
            }
        }
    }

    fn is_open(&self, agent: AgentId, id: WindowId) -> bool {
        self.desks.get(&agent).is_some_and(|desk| desk.open.iter().any(|open| open.window.id == id))
    }

    /// The window of a place: the one that knows its session, one that dozed, the newest, or a new one.
    fn window(&mut self, place: &Place, family: Family, now: Timestamp) -> Option<&mut Open> {
        let desk = self.desks.entry(place.agent).or_default();
        desk.claim(place);
        let known = desk.knowing(place).or_else(|| desk.wake(place)).or(desk.open.len().checked_sub(1));
        let at = match known {
            Some(at) => at,
            None => {
                let mut window = Window::new((self.draw)(), place.agent, family, now);
                window.shelves.entry(place.door).or_default().session.clone_from(&place.session);
                self.open(place.agent, window, now)
            }
        };
        self.changed = true;
        let open = self.desks.get_mut(&place.agent)?.move_last(at)?;
        open.in_family(family);
        open.stale = true;
        Some(open)
    }

    /// Opens a window; beyond the most, the one that was quiet for longest ends.
    fn open(&mut self, agent: AgentId, window: Window, now: Timestamp) -> usize {
        let most = self.numbers.windows_max;
        let desk = self.desks.entry(agent).or_default();
        let ended = (desk.open.len() >= most).then(|| desk.doze(0, most));
        desk.open.push(Open::new(Arc::new(window), true));
        let at = desk.open.len().saturating_sub(1);
        if let Some(ended) = ended {
            self.end(ended, false, now);
        }
        self.changed = true;
        at
    }

    /// A window is over: what of its results was not read is kept out of it.
    fn end(&mut self, window: Arc<Window>, newest: bool, now: Timestamp) {
        let (agent, id, family) = (window.agent, window.id, window.family);
        self.ended.retain(|before| before.id != id);
        self.ended.push(Arc::new(Window { ended: Some(now), ..Window::clone(&window) }));
        let unread = self.desks.get_mut(&agent).map(|desk| desk.pending.close(id, newest)).unwrap_or_default();
        for gone in unread {
            self.lost(agent, Some(id), gone, family, now);
        }
        self.changed = true;
    }

    /// A result is not read any more.
    fn lost(&mut self, agent: AgentId, window: Option<WindowId>, gone: Unread, family: Family, now: Timestamp) {
        let Unread { server, left, wasted } = gone;
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
        let Some(desk) = self.desks.get_mut(&agent) else { return };
        let open = desk.open.iter_mut().filter(|open| open.window.id == id).map(|open| {
            open.stale = true;
            &mut open.window
        });
        // One that dozes may go on: it is the same window then.
        let over = desk.dozing.iter_mut().chain(&mut self.ended).filter(|window| window.id == id);
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
