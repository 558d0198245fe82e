//! Which cards are on the screen: one per task, many at once as one, and none that is out of date.
//!
//! Pure: subjects and times go in, cards to show or withdraw come out. The first subject is shown at once; what follows
//! within a short window is collected, and more than a few become one card that replaces them. `actor.rs` reads the
//! tasks and talks to the desktop.

use std::collections::BTreeMap;

use domain::ids::{AgentId, AlarmId, HandleId, PauseId};
use domain::policy::HostPolicy;
use domain::task::Attention;
use domain::time::Timestamp;

use crate::notifications::card_text::{self, LocalTime};
use crate::notifications::subject::NotificationSubject;

/// Identifies a card. At most one of each is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CardKey {
    /// About one task.
    Task(HandleId),
    /// About many that need a person.
    Many,
    /// About many that have ended.
    ManyOver,
    /// About the window of an agent; `budget_alerts.rs` keeps these.
    Window(AgentId),
    /// About what an agent does again and again; `alarm_cards.rs` keeps these.
    Alarm(AlarmId),
    /// About a pause that asks which calls are sent; `pause_cards.rs` keeps these.
    Pause(PauseId),
}

/// What the desktop should do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CardChange {
    /// Show this card, or put it in the place of the one with its key.
    Show(Box<NotificationCard>),
    /// Take the card away.
    Withdraw(CardKey),
}

/// A card for the desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotificationCard {
    pub(crate) key: CardKey,
    pub(crate) attention: Attention,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) with_sound: bool,
}

/// The cards on the screen, and those about to be shown.
pub(crate) struct CardPlan {
    hosting: HostPolicy,
    local: LocalTime,
    shown: BTreeMap<HandleId, NotificationSubject>,
    many: BTreeMap<HandleId, NotificationSubject>,
    many_over: BTreeMap<HandleId, NotificationSubject>,
    window: Option<Window>,
    /// When to redraw a collective card whose count went down.
    redraw: Option<Timestamp>,
    last_sound: Option<Timestamp>,
}

struct Window {
    until: Timestamp,
    /// Shown in it already.
    begun: Vec<HandleId>,
    waiting: BTreeMap<HandleId, NotificationSubject>,
}

impl CardPlan {
    /// An empty screen.
    pub(crate) fn new(hosting: &HostPolicy, local: LocalTime) -> Self {
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

    /// When [`CardPlan::tick`] has something to do.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        [self.window.as_ref().map(|window| window.until), self.redraw].into_iter().flatten().min()
    }

    /// Tasks that a card, or one that is about to be shown, speaks of, with what it says.
    pub(crate) fn items(&self) -> impl Iterator<Item = &NotificationSubject> {
        let about_to = self.window.iter().flat_map(|window| window.waiting.values());
        self.shown.values().chain(self.many.values()).chain(self.many_over.values()).chain(about_to)
    }

    /// The items behind a card.
    pub(crate) fn behind(&self, key: CardKey) -> Vec<&NotificationSubject> {
        match key {
            CardKey::Task(id) => self.shown.get(&id).into_iter().collect(),
            CardKey::Many => self.many.values().collect(),
            CardKey::ManyOver => self.many_over.values().collect(),
            CardKey::Window(_) | CardKey::Alarm(_) | CardKey::Pause(_) => Vec::new(),
        }
    }

    /// Offers subjects to show. `together`: they were postponed, or existed before the core started, and become one
    /// card.
    pub(crate) fn offer(&mut self, items: Vec<NotificationSubject>, together: bool, now: Timestamp) -> Vec<CardChange> {
        let mut acts = Vec::new();
        if together && items.len() > 1 {
            let mut all = items;
            if let Some(window) = self.window.take_if(|window| window.until > now) {
                all.extend(window.waiting.into_values());
                all.extend(window.begun.iter().filter_map(|id| self.shown.remove(id)));
                acts.extend(window.begun.into_iter().map(|id| CardChange::Withdraw(CardKey::Task(id))));
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

    /// Updates the text of a card whose task changed, without a sound.
    pub(crate) fn refresh(&mut self, item: NotificationSubject, now: Timestamp) -> Vec<CardChange> {
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

    /// Withdraws what is shown about a task.
    pub(crate) fn gone(&mut self, id: HandleId, now: Timestamp) -> Vec<CardChange> {
        if let Some(window) = &mut self.window {
            window.waiting.remove(&id);
        }
        let mut acts = Vec::new();
        if self.shown.remove(&id).is_some() {
            acts.push(CardChange::Withdraw(CardKey::Task(id)));
        }
        for (key, many) in [(CardKey::Many, &mut self.many), (CardKey::ManyOver, &mut self.many_over)] {
            if many.remove(&id).is_none() {
                continue;
            }
            if many.is_empty() {
                acts.push(CardChange::Withdraw(key));
            } else {
                self.redraw = self.redraw.or(Some(now.plus(self.hosting.notice_window)));
            }
        }
        acts
    }

    /// The person closed the card, or used it.
    pub(crate) fn closed(&mut self, key: CardKey) {
        match key {
            CardKey::Task(id) => {
                self.shown.remove(&id);
            }
            CardKey::Many => self.many.clear(),
            CardKey::ManyOver => self.many_over.clear(),
            CardKey::Window(_) | CardKey::Alarm(_) | CardKey::Pause(_) => {}
        }
    }

    /// Handles what is due: the end of a window, or a redraw.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Vec<CardChange> {
        let mut acts = Vec::new();
        if self.redraw.is_some_and(|at| at <= now) {
            self.redraw = None;
            for key in [CardKey::Many, CardKey::ManyOver] {
                self.draw_many(key, now, false, &mut acts);
            }
        }
        let Some(window) = self.window.take_if(|window| window.until <= now) else { return acts };
        if window.waiting.is_empty() {
            return acts;
        }
        let waiting: Vec<NotificationSubject> = window.waiting.into_values().collect();
        let begun: Vec<HandleId> = window.begun.into_iter().filter(|id| self.shown.contains_key(id)).collect();
        if waiting.len() + begun.len() > self.hosting.notices_one_by_one {
            let mut all = waiting;
            all.extend(begun.iter().filter_map(|id| self.shown.remove(id)));
            acts.extend(begun.into_iter().map(|id| CardChange::Withdraw(CardKey::Task(id))));
            self.fold(all, now, true, &mut acts);
        } else {
            self.place(waiting, now, &mut acts);
        }
        // What follows directly after a burst belongs to it.
        self.begin_window(now, Vec::new());
        acts
    }

    /// Shifts pending times after the clock was set by `millis`.
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

    /// Shows items one by one while there is room on the screen.
    fn place(&mut self, items: Vec<NotificationSubject>, now: Timestamp, acts: &mut Vec<CardChange>) {
        let room = self.hosting.notices_shown_max.saturating_sub(self.shown.len());
        let mut items = items.into_iter();
        for item in items.by_ref().take(room) {
            self.show(item, now, true, acts);
        }
        let rest: Vec<NotificationSubject> = items.collect();
        if !rest.is_empty() {
            self.fold(rest, now, true, acts);
        }
    }

    fn show(&mut self, item: NotificationSubject, now: Timestamp, is_news: bool, acts: &mut Vec<CardChange>) {
        // A card of its own replaces its part of a count.
        self.many.remove(&item.handle);
        self.many_over.remove(&item.handle);
        let with_sound = is_news && self.take_sound(now);
        acts.push(CardChange::Show(Box::new(NotificationCard {
            key: CardKey::Task(item.handle),
            attention: item.attention,
            title: item.title.clone(),
            body: item.body.clone(),
            with_sound,
        })));
        self.shown.insert(item.handle, item);
    }

    fn fold(&mut self, items: Vec<NotificationSubject>, now: Timestamp, is_news: bool, acts: &mut Vec<CardChange>) {
        let (over, needed): (Vec<NotificationSubject>, Vec<NotificationSubject>) =
            items.into_iter().partition(|item| item.attention == Attention::Finished);
        for (key, items) in [(CardKey::Many, needed), (CardKey::ManyOver, over)] {
            if items.is_empty() {
                continue;
            }
            for item in items {
                if self.shown.remove(&item.handle).is_some() {
                    acts.push(CardChange::Withdraw(CardKey::Task(item.handle)));
                }
                self.of(key).insert(item.handle, item);
            }
            self.draw_many(key, now, is_news, acts);
        }
    }

    fn of(&mut self, key: CardKey) -> &mut BTreeMap<HandleId, NotificationSubject> {
        match key {
            CardKey::Many | CardKey::Task(_) | CardKey::Window(_) | CardKey::Alarm(_) | CardKey::Pause(_) => {
                &mut self.many
            }
            CardKey::ManyOver => &mut self.many_over,
        }
    }

    fn draw_many(&mut self, key: CardKey, now: Timestamp, is_news: bool, acts: &mut Vec<CardChange>) {
        let items = self.of(key);
        let Some(oldest) = items.values().map(|item| item.since).min() else { return };
        let kinds: Vec<Attention> = items.values().map(|item| item.attention).collect();
        let (title, body) = card_text::together(&kinds, &self.local.clock(oldest, now));
        let attention = kinds.into_iter().min().unwrap_or(Attention::Waiting);
        let with_sound = is_news && self.take_sound(now);
        acts.push(CardChange::Show(Box::new(NotificationCard { key, attention, title, body, with_sound })));
    }

    /// Allows at most one sound per interval, and starts the interval.
    fn take_sound(&mut self, now: Timestamp) -> bool {
        let is_allowed =
            self.last_sound.is_none_or(|last| now.since(last) >= self.hosting.notice_sound_every || now < last);
        if is_allowed {
            self.last_sound = Some(now);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests;
