//! Which notices stand on the screen: one for each task, many at once as one, and none that is out of date.
//!
//! Pure: items and moments go in, cards to show or take away come out. The first item is shown at once; what follows
//! within a short window is counted, and more than a few become one card that replaces them. Nothing here reads the
//! registry or the desktop; `run.rs` does both.

use std::collections::BTreeMap;

use domain::task::Attention;
use domain::ids::{AgentId, HandleId};
use domain::policy::HostPolicy;
use domain::time::Timestamp;

use super::item::Item;
use super::words::{self, Local};

/// Which card. One of each stands on the screen at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// About one task.
    Task(HandleId),
    /// About many that need a person.
    Many,
    /// About many that are over.
    ManyOver,
    /// About the window of an agent; `fill.rs` keeps these.
    Window(AgentId),
}

/// What the desktop does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Show this card, or put it in the place of the one with its key.
    Show(Box<Card>),
    /// Take the card away.
    Withdraw(Key),
}

/// One card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) key: Key,
    pub(crate) attention: Attention,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) with_sound: bool,
}

/// What stands on the screen and what is about to.
pub(crate) struct Plan {
    hosting: HostPolicy,
    local: Local,
    shown: BTreeMap<HandleId, Item>,
    many: BTreeMap<HandleId, Item>,
    many_over: BTreeMap<HandleId, Item>,
    window: Option<Window>,
    /// A card of many whose count went down, and when it is drawn anew.
    redraw: Option<Timestamp>,
    last_sound: Option<Timestamp>,
}

struct Window {
    until: Timestamp,
    /// Shown in it already.
    begun: Vec<HandleId>,
    waiting: BTreeMap<HandleId, Item>,
}

impl Plan {
    /// An empty screen.
    pub(crate) fn new(hosting: &HostPolicy, local: Local) -> Self {
        Self {
            hosting: hosting.clone(),
            local,
            shown: BTreeMap::new(),
            many: BTreeMap::new(),
            many_over: BTreeMap::new(),
            window: None,
            redraw: None,
            last_sound: None,
        }
    }

    /// When [`Plan::tick`] has something to do.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        [self.window.as_ref().map(|window| window.until), self.redraw].into_iter().flatten().min()
    }

    /// Tasks that a card, or one that is about to be shown, speaks of, with what it says.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        let about_to = self.window.iter().flat_map(|window| window.waiting.values());
        self.shown.values().chain(self.many.values()).chain(self.many_over.values()).chain(about_to)
    }

    /// The items behind a card.
    pub(crate) fn behind(&self, key: Key) -> Vec<&Item> {
        match key {
            Key::Task(id) => self.shown.get(&id).into_iter().collect(),
            Key::Many => self.many.values().collect(),
            Key::ManyOver => self.many_over.values().collect(),
            Key::Window(_) => Vec::new(),
        }
    }

    /// Something to tell. `together`: these were held back, or were there before the core started; they are one line.
    pub(crate) fn offer(&mut self, items: Vec<Item>, together: bool, now: Timestamp) -> Vec<Act> {
        let mut acts = Vec::new();
        if together && items.len() > 1 {
            let mut all = items;
            if let Some(window) = self.window.take_if(|window| window.until > now) {
                all.extend(window.waiting.into_values());
                all.extend(window.begun.iter().filter_map(|id| self.shown.remove(id)));
                acts.extend(window.begun.into_iter().map(|id| Act::Withdraw(Key::Task(id))));
            }
            self.fold(all, now, true, &mut acts);
            self.begin_window(now, Vec::new());
            return acts;
        }
        for item in items {
            let id = item.handle;
            if self.shown.contains_key(&id) {
                self.show(item, now, true, &mut acts);
                continue;
            }
            match &mut self.window {
                Some(window) if window.until > now => {
                    window.waiting.insert(id, item);
                }
                Some(_) | None => {
                    acts.extend(self.tick(now));
                    self.begin_window(now, vec![id]);
                    self.place(vec![item], now, &mut acts);
                }
            }
        }
        acts
    }

    /// The task is another now than a card says: the same card with other words, without a sound.
    pub(crate) fn refresh(&mut self, item: Item, now: Timestamp) -> Vec<Act> {
        let id = item.handle;
        let mut acts = Vec::new();
        if let Some(waiting) = self.window.as_mut().and_then(|window| window.waiting.get_mut(&id)) {
            *waiting = item;
        } else if self.shown.contains_key(&id) {
            self.show(item, now, false, &mut acts);
        } else if let Some(place) = self.many.get_mut(&id).or_else(|| self.many_over.get_mut(&id)) {
            *place = item;
        }
        acts
    }

    /// Nothing is to be told about this task any more.
    pub(crate) fn gone(&mut self, id: HandleId, now: Timestamp) -> Vec<Act> {
        if let Some(window) = &mut self.window {
            window.waiting.remove(&id);
        }
        let mut acts = Vec::new();
        if self.shown.remove(&id).is_some() {
            acts.push(Act::Withdraw(Key::Task(id)));
        }
        for (key, many) in [(Key::Many, &mut self.many), (Key::ManyOver, &mut self.many_over)] {
            if many.remove(&id).is_none() {
                continue;
            }
            if many.is_empty() {
                acts.push(Act::Withdraw(key));
            } else {
                self.redraw = self.redraw.or(Some(now.plus(self.hosting.notice_window)));
            }
        }
        acts
    }

    /// The person took the card away, or used it.
    pub(crate) fn closed(&mut self, key: Key) {
        match key {
            Key::Task(id) => {
                self.shown.remove(&id);
            }
            Key::Many => self.many.clear(),
            Key::ManyOver => self.many_over.clear(),
            Key::Window(_) => {}
        }
    }

    /// The moment has come: a window is over, or a count is drawn anew.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.redraw.is_some_and(|at| at <= now) {
            self.redraw = None;
            for key in [Key::Many, Key::ManyOver] {
                self.draw_many(key, now, false, &mut acts);
            }
        }
        let Some(window) = self.window.take_if(|window| window.until <= now) else { return acts };
        if window.waiting.is_empty() {
            return acts;
        }
        let waiting: Vec<Item> = window.waiting.into_values().collect();
        let begun: Vec<HandleId> = window.begun.into_iter().filter(|id| self.shown.contains_key(id)).collect();
        if waiting.len() + begun.len() > self.hosting.notices_one_by_one {
            let mut all = waiting;
            all.extend(begun.iter().filter_map(|id| self.shown.remove(id)));
            acts.extend(begun.into_iter().map(|id| Act::Withdraw(Key::Task(id))));
            self.fold(all, now, true, &mut acts);
        } else {
            self.place(waiting, now, &mut acts);
        }
        // What comes right behind a burst belongs to it.
        self.begin_window(now, Vec::new());
        acts
    }

    /// The clock was set forward by `millis`, or back when it is negative: what is about to be shown keeps its time.
    pub(crate) fn clock_stepped(&mut self, millis: i64) {
        let window = self.window.iter_mut().map(|window| &mut window.until);
        for at in window.chain(&mut self.redraw).chain(&mut self.last_sound) {
            *at = at.shifted(millis);
        }
    }

    fn begin_window(&mut self, now: Timestamp, begun: Vec<HandleId>) {
        let until = now.plus(self.hosting.notice_window);
        self.window = Some(Window { until, begun, waiting: BTreeMap::new() });
    }

    /// Shows items one by one as long as there is room on the screen.
    fn place(&mut self, items: Vec<Item>, now: Timestamp, acts: &mut Vec<Act>) {
        let room = self.hosting.notices_shown_max.saturating_sub(self.shown.len());
        let mut items = items.into_iter();
        for item in items.by_ref().take(room) {
            self.show(item, now, true, acts);
        }
        let rest: Vec<Item> = items.collect();
        if !rest.is_empty() {
            self.fold(rest, now, true, acts);
        }
    }

    fn show(&mut self, item: Item, now: Timestamp, is_news: bool, acts: &mut Vec<Act>) {
        // A card of its own says more than a count.
        self.many.remove(&item.handle);
        self.many_over.remove(&item.handle);
        let with_sound = is_news && self.may_sound(now);
        acts.push(Act::Show(Box::new(Card {
            key: Key::Task(item.handle),
            attention: item.attention,
            title: item.title.clone(),
            body: item.body.clone(),
            with_sound,
        })));
        self.shown.insert(item.handle, item);
    }

    fn fold(&mut self, items: Vec<Item>, now: Timestamp, is_news: bool, acts: &mut Vec<Act>) {
        let (over, needed): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| item.attention == Attention::Finished);
        for (key, items) in [(Key::Many, needed), (Key::ManyOver, over)] {
            if items.is_empty() {
                continue;
            }
            for item in items {
                if self.shown.remove(&item.handle).is_some() {
                    acts.push(Act::Withdraw(Key::Task(item.handle)));
                }
                self.of(key).insert(item.handle, item);
            }
            self.draw_many(key, now, is_news, acts);
        }
    }

    fn of(&mut self, key: Key) -> &mut BTreeMap<HandleId, Item> {
        match key {
            Key::Many | Key::Task(_) | Key::Window(_) => &mut self.many,
            Key::ManyOver => &mut self.many_over,
        }
    }

    fn draw_many(&mut self, key: Key, now: Timestamp, is_news: bool, acts: &mut Vec<Act>) {
        let items = self.of(key);
        let Some(oldest) = items.values().map(|item| item.since).min() else { return };
        let kinds: Vec<Attention> = items.values().map(|item| item.attention).collect();
        let (title, body) = words::together(&kinds, &self.local.clock(oldest, now));
        let attention = kinds.into_iter().min().unwrap_or(Attention::Waiting);
        let with_sound = is_news && self.may_sound(now);
        acts.push(Act::Show(Box::new(Card { key, attention, title, body, with_sound })));
    }

    /// At most one sound in its time.
    fn may_sound(&mut self, now: Timestamp) -> bool {
        let may = self.last_sound.is_none_or(|last| now.since(last) >= self.hosting.notice_sound_every || now < last);
        if may {
            self.last_sound = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests;
