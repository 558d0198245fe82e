//! The one actor behind notices: what the engine tells, what changes, what people press, and what time brings.
//!
//! It reads tasks when a card is made and again when they change, so that no card says what is no longer so. Held
//! notices (quiet hours, a pause, a snooze) are kept by task and read anew when their time comes; they are told
//! together. A press opens a place of the window and changes nothing that is stored, because any program of the session
//! can pretend to be the desktop. `plan.rs` decides what is shown.

use std::collections::BTreeMap;

use domain::task::Attention;
use domain::ids::{AgentId, HandleId};
use domain::ports::Notice;
use domain::time::Timestamp;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use super::desktop::{Desktop, Press};
use super::fill::Fill;
use super::hours::Wishes;
use super::item::Item;
use super::plan::{Act, Key, Plan};
use super::sources::Sources;
use super::words::Local;
use crate::places;

/// Runs until the core stops; then takes its cards from the screen, because nobody would hear what is pressed on them.
pub(crate) async fn run(
    sources: Sources,
    mut incoming: Receiver<Notice>,
    mut desktop: Desktop,
    mut pressed: Receiver<(Key, Press)>,
) {
    desktop.look().await;
    let stopping = sources.supervisor.stopping();
    let mut desk = sources.api.user_data_changes();
    let mut budgets = sources.engine.budgets_watch();
    let mut teller = Teller::new(sources, desktop);
    loop {
        let next = teller.next();
        // Every arm may be dropped: channels and the feed keep what was not taken.
        tokio::select! {
            () = stopping.cancelled() => break,
            notice = incoming.recv() => match notice {
                Some(notice) => teller.tell(notice).await,
                None => break,
            },
            Some((key, press)) = pressed.recv() => teller.press(key, press).await,
            changed = changes(&mut teller.news) => teller.changed(changed).await,
            Ok(()) = desk.changed() => teller.desk_moved().await,
            Ok(()) = budgets.changed() => teller.windows().await,
            () = tokio::time::sleep(next) => teller.tick().await,
        }
    }
    teller.leave().await;
}

/// What changed: some tasks, or nobody knows which.
enum Changed {
    These(Vec<HandleId>),
    Any,
    /// There will be no more news.
    Over,
}

async fn changes(news: &mut Option<BoxStream<'static, engine::FeedFrame>>) -> Changed {
    match news {
        Some(feed) => match feed.next().await {
            Some(frame) if frame.resync => Changed::Any,
            Some(frame) => Changed::These(frame.handles),
            None => Changed::Over,
        },
        None => std::future::pending().await,
    }
}

/// A notice whose time has not come.
#[derive(Clone, Copy)]
struct Held {
    attention: Attention,
    until: Timestamp,
}

struct Teller {
    sources: Sources,
    desktop: Desktop,
    plan: Plan,
    fill: Fill,
    local: Local,
    held: BTreeMap<HandleId, Held>,
    /// With which the held ones were held.
    wishes: Option<Wishes>,
    /// The clock at the last look at it, and when that was.
    clock: (Timestamp, Instant),
    /// Open only while there are cards that could be out of date.
    news: Option<BoxStream<'static, engine::FeedFrame>>,
}

impl Teller {
    fn new(sources: Sources, desktop: Desktop) -> Self {
        let local = Local(TimeZone::system());
        let plan = Plan::new(&sources.policy.hosting, local.clone());
        let fill = Fill::new(&sources.engine.budgets(), &sources.policy.counting);
        let clock = (sources.now(), Instant::now());
        Self { sources, desktop, plan, fill, local, held: BTreeMap::new(), wishes: None, clock, news: None }
    }

    /// The moment it is. When the clock was set since the last look, what stands on the screen keeps its times, and the
    /// hours for which something is held are worked out anew.
    fn now(&mut self) -> Timestamp {
        let (now, looked) = (self.sources.now(), Instant::now());
        let (before, then) = self.clock;
        let due = before.plus(looked.duration_since(then));
        if now.since(due).max(due.since(now)) >= self.sources.policy.clock_step {
            self.plan.clock_stepped(now.as_millis().saturating_sub(due.as_millis()));
            self.wishes = None;
        }
        self.clock = (now, looked);
        now
    }

    /// How long until there is something to do by itself.
    fn next(&mut self) -> std::time::Duration {
        let now = self.now();
        let look = self.sources.policy.hosting.notices_held_look;
        let held = self.held.values().map(|held| held.until).min();
        let due = [self.plan.next(), held].into_iter().flatten().min();
        // Never longer than a look: clocks are set, machines sleep, and people change their mind.
        due.map_or(look, |due| due.since(now).min(look))
    }

    async fn tell(&mut self, notice: Notice) {
        let together = !notice.also.is_empty();
        let ids = std::iter::once(notice.handle).chain(notice.also);
        let told = ids.map(|id| (id, notice.attention)).collect();
        self.offer(told, together).await;
    }

    /// Shows what may be shown now, and keeps the rest for its time.
    async fn offer(&mut self, told: Vec<(HandleId, Attention)>, together: bool) {
        // Opened before the tasks are read: a change in between is then news.
        let _ = self.news.get_or_insert_with(|| self.sources.engine.feed(None));
        let wishes = self.sources.wishes().await;
        let snoozed = self.sources.snoozed().await;
        let now = self.now();
        let mut items = Vec::new();
        for (id, attention) in told {
            self.held.remove(&id);
            if !wishes.wants(attention) || self.sources.is_on_screen(id) {
                continue;
            }
            let Some(item) = self.sources.item(id, attention, &self.local).await else { continue };
            let until = wishes.held_until(item.deadline, now, &self.local).max(snoozed.until(&item, now));
            match until {
                Some(until) => self.hold(id, Held { attention, until }),
                None => items.push(item),
            }
        }
        self.wishes = Some(wishes);
        if !items.is_empty() {
            let acts = self.plan.offer(items, together, now);
            self.perform(acts).await;
        }
        self.rest();
    }

    fn hold(&mut self, id: HandleId, held: Held) {
        self.held.insert(id, held);
        while self.held.len() > self.sources.policy.hosting.notices_held_max {
            self.held.pop_first();
        }
    }

    async fn tick(&mut self) {
        let now = self.now();
        if self.plan.next().is_some_and(|at| at <= now) {
            let acts = self.plan.tick(now);
            self.perform(acts).await;
        }
        self.release(now).await;
        self.rest();
    }

    /// Tells what was held for long enough, as one.
    async fn release(&mut self, now: Timestamp) {
        if self.held.is_empty() {
            return;
        }
        let changed = self.wishes != Some(self.sources.wishes().await);
        let due: Vec<(HandleId, Attention)> = self
            .held
            .iter()
            .filter(|(_, held)| changed || held.until <= now)
            .map(|(id, held)| (*id, held.attention))
            .collect();
        if !due.is_empty() {
            self.offer(due, true).await;
        }
    }

    /// Something was counted: windows that fill are told, unless the person wants no such thing now; then it is looked at
    /// again with the next count. What is told of a window that was emptied goes at any time.
    async fn windows(&mut self) {
        let wishes = self.sources.wishes().await;
        let now = self.now();
        let budgets = self.sources.engine.budgets();
        if !wishes.wants(Attention::Problem) || wishes.held_until(None, now, &self.local).is_some() {
            let acts = self.fill.emptied(&budgets, &self.sources.policy.counting);
            self.perform(acts).await;
            return;
        }
        let agents = self.sources.engine.agents();
        let name = |id: AgentId| agents.get(id).map_or_else(|| id.to_string(), |agent| agent.name.clone());
        let acts = self.fill.news(&budgets, &self.sources.policy.counting, name);
        self.perform(acts).await;
    }

    /// Settings or snoozes changed: cards of what is snoozed now go, and what was held may be told.
    async fn desk_moved(&mut self) {
        let now = self.now();
        let snoozed = self.sources.snoozed().await;
        let gone: Vec<(HandleId, Held)> = self
            .plan
            .items()
            .filter_map(|item| {
                let held = Held { attention: item.attention, until: snoozed.until(item, now)? };
                Some((item.handle, held))
            })
            .collect();
        for (id, held) in gone {
            let acts = self.plan.gone(id, now);
            self.perform(acts).await;
            self.hold(id, held);
        }
        let held: Vec<(HandleId, Attention)> = self.held.iter().map(|(id, held)| (*id, held.attention)).collect();
        if !held.is_empty() {
            self.offer(held, true).await;
        }
        self.rest();
    }

    async fn changed(&mut self, changed: Changed) {
        let now = self.now();
        let about: Vec<Item> = match changed {
            Changed::These(ids) => self.plan.items().filter(|item| ids.contains(&item.handle)).cloned().collect(),
            Changed::Any => self.plan.items().cloned().collect(),
            Changed::Over => {
                self.news = None;
                Vec::new()
            }
        };
        for before in about {
            let acts = match self.sources.item(before.handle, before.attention, &self.local).await {
                None => self.plan.gone(before.handle, now),
                Some(item) => match before.attention {
                    Attention::Waiting if says_the_same(&before, &item) => Vec::new(),
                    Attention::Waiting => self.plan.refresh(item, now),
                    Attention::Problem if before.phase == item.phase => Vec::new(),
                    Attention::Problem => self.plan.gone(before.handle, now),
                    Attention::Finished => Vec::new(),
                },
            };
            self.perform(acts).await;
        }
        self.rest();
    }

    async fn press(&mut self, key: Key, press: Press) {
        let items: Vec<Item> = self.plan.behind(key).into_iter().cloned().collect();
        self.plan.closed(key);
        match press {
            Press::Closed => self.desktop.forget(key),
            Press::Open => {
                // Some desktops leave a card standing after a press.
                self.desktop.perform(Act::Withdraw(key)).await;
                self.sources.open(&place(key, &items));
            }
        }
        self.rest();
    }

    async fn perform(&mut self, acts: Vec<Act>) {
        for act in acts {
            self.desktop.perform(act).await;
        }
    }

    /// Without cards there is nothing that could be out of date.
    fn rest(&mut self) {
        if self.plan.items().next().is_none() {
            self.news = None;
        }
    }

    async fn leave(&mut self) {
        let mut keys: Vec<Key> = self.plan.items().map(|item| Key::Task(item.handle)).collect();
        keys.extend([Key::Many, Key::ManyOver]);
        keys.extend(self.fill.shown().map(Key::Window));
        for key in keys {
            self.desktop.perform(Act::Withdraw(key)).await;
        }
    }
}

fn says_the_same(before: &Item, now: &Item) -> bool {
    before.title == now.title && before.body == now.body && before.inbox == now.inbox
}

fn place(key: Key, items: &[Item]) -> String {
    match (key, items) {
        (Key::Task(_) | Key::Many, [one]) => one.place.clone(),
        (Key::Task(_) | Key::Many, _) => "#/inbox".into(),
        (Key::ManyOver, _) => "#/tasks".into(),
        (Key::Window(agent), _) => places::budget(&agent.to_string()),
    }
}
