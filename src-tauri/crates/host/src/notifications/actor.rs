//! The actor behind notifications: reacts to the engine, to changes of tasks, to presses, and to time.
//!
//! It reads a task when a card is made and again when the task changes, so that no card is out of date. Postponed
//! notifications (quiet hours, a pause, a snooze) are kept by task, read again when their time comes, and shown
//! together. A press opens a place in the window and changes nothing that is stored, because any program of the session
//! can pretend to be the desktop. `card_plan.rs` decides what is shown.

use std::collections::BTreeMap;

use api::dto::alarm::AlarmDto;
use domain::ids::{AgentId, HandleId};
use domain::ports::Notice;
use domain::task::Attention;
use domain::time::Timestamp;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use super::desktop::{CardPress, Desktop};
use super::sources::NotificationSources;
use crate::notifications::alarm_cards::AlarmCards;
use crate::notifications::budget_alerts::BudgetAlerts;
use crate::notifications::card_plan::{CardChange, CardKey, CardPlan};
use crate::notifications::card_text::LocalTime;
use crate::notifications::pause_cards::PauseCards;
use crate::notifications::quiet_hours::NotificationWishes;
use crate::notifications::subject::NotificationSubject;
use crate::window::routes;

/// Runs until the core stops; then withdraws its cards, because nobody would receive presses on them.
pub(crate) async fn run(
    sources: NotificationSources,
    mut incoming: Receiver<Notice>,
    mut desktop: Desktop,
    mut pressed: Receiver<(CardKey, CardPress)>,
) {
    desktop.check().await;
    let stopping = sources.supervisor.stopping();
    let mut desk = sources.api.user_data_changes();
    let mut budgets = sources.engine.budgets_watch();
    let mut alarms = sources.engine.alarms_watch();
    let mut pauses = sources.engine.pauses_watch();
    let told = sources.alarms().await;
    let mut actor = NotificationActor::new(sources, desktop, &told);
    actor.pauses_changed().await;
    loop {
        let next = actor.next();
        // Every arm may be dropped: channels and the feed keep what was not taken.
        tokio::select! {
            () = stopping.cancelled() => break,
            notice = incoming.recv() => match notice {
                Some(notice) => actor.notify(notice).await,
                None => break,
            },
            Some((key, press)) = pressed.recv() => actor.press(key, press).await,
            changed = changes(&mut actor.feed) => actor.changed(changed).await,
            Ok(()) = desk.changed() => actor.user_data_changed().await,
            Ok(()) = budgets.changed() => actor.budgets_changed().await,
            Ok(()) = alarms.changed() => actor.alarms_changed().await,
            Ok(()) = pauses.changed() => actor.pauses_changed().await,
            () = tokio::time::sleep(next) => actor.tick().await,
        }
    }
    actor.withdraw_all().await;
}

/// Which tasks changed.
enum Changed {
    These(Vec<HandleId>),
    Any,
    /// The feed has ended.
    Ended,
}

async fn changes(feed: &mut Option<BoxStream<'static, engine::ChangeFrame>>) -> Changed {
    match feed {
        Some(feed) => match feed.next().await {
            Some(frame) if frame.resync => Changed::Any,
            Some(frame) => Changed::These(frame.handles),
            None => Changed::Ended,
        },
        None => std::future::pending().await,
    }
}

/// A notification whose time has not come.
#[derive(Clone, Copy)]
struct Postponed {
    attention: Attention,
    until: Timestamp,
}

struct NotificationActor {
    sources: NotificationSources,
    desktop: Desktop,
    plan: CardPlan,
    budget_alerts: BudgetAlerts,
    alarm_cards: AlarmCards,
    pause_cards: PauseCards,
    local: LocalTime,
    held: BTreeMap<HandleId, Postponed>,
    /// The preferences by which notifications were postponed.
    wishes: Option<NotificationWishes>,
    /// The clock when it was last read, and when that was.
    clock: (Timestamp, Instant),
    /// The engine's feed; open only while there are cards that could be out of date.
    feed: Option<BoxStream<'static, engine::ChangeFrame>>,
}

impl NotificationActor {
    fn new(sources: NotificationSources, desktop: Desktop, told: &[AlarmDto]) -> Self {
        let local = LocalTime(TimeZone::system());
        let plan = CardPlan::new(&sources.policy.hosting, local.clone());
        let budget_alerts = BudgetAlerts::new(&sources.engine.budgets(), &sources.policy.counting);
        let alarm_cards = AlarmCards::new(told);
        let clock = (sources.now(), Instant::now());
        let held = BTreeMap::new();
        Self {
            sources,
            desktop,
            plan,
            budget_alerts,
            alarm_cards,
            pause_cards: PauseCards::default(),
            local,
            held,
            wishes: None,
            clock,
            feed: None,
        }
    }

    /// The current time. If the clock was set since the last call, pending cards are shifted with it, and postponed
    /// notifications are reconsidered.
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

    /// How long until there is something to do.
    fn next(&mut self) -> std::time::Duration {
        let now = self.now();
        let look = self.sources.policy.hosting.notices_held_look;
        let held = self.held.values().map(|held| held.until).min();
        let due = [self.plan.next(), held, self.sources.next_pause_choice(now)].into_iter().flatten().min();
        // Never longer than one interval: clocks are set, machines sleep, and people change settings.
        due.map_or(look, |due| due.since(now).min(look))
    }

    async fn notify(&mut self, notice: Notice) {
        let together = !notice.also.is_empty();
        let ids = std::iter::once(notice.handle).chain(notice.also);
        let told = ids.map(|id| (id, notice.attention)).collect();
        self.offer(told, together).await;
    }

    /// Shows what may be shown now, and postpones the rest.
    async fn offer(&mut self, told: Vec<(HandleId, Attention)>, together: bool) {
        // Opened before the tasks are read, so that a change in between is not missed.
        let _ = self.feed.get_or_insert_with(|| self.sources.engine.feed(None));
        let wishes = self.sources.wishes().await;
        let snoozed = self.sources.snoozed().await;
        let now = self.now();
        let mut items = Vec::new();
        for (id, attention) in told {
            self.held.remove(&id);
            if !wishes.wants(attention) || self.sources.is_on_screen(id) {
                continue;
            }
            let Some(item) = self.sources.subject(id, attention, &self.local).await else { continue };
            let until = wishes.postponed_until(item.deadline, now, &self.local).max(snoozed.until(&item, now));
            match until {
                Some(until) => self.hold(id, Postponed { attention, until }),
                None => items.push(item),
            }
        }
        self.wishes = Some(wishes);
        if !items.is_empty() {
            let acts = self.plan.offer(items, together, now);
            self.perform(acts).await;
        }
        self.close_idle_feed();
    }

    fn hold(&mut self, id: HandleId, held: Postponed) {
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
        if self.alarm_cards.is_waiting {
            self.alarms_changed().await;
        }
        // Which calls wait changes without a word from the pauses.
        self.pauses_changed().await;
        self.close_idle_feed();
    }

    /// Shows together what was postponed long enough.
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

    /// Something was counted: windows that fill are told, unless the person wants no such thing now; then it is looked
    /// at again with the next count. What is told of a window that was emptied goes at any time.
    async fn budgets_changed(&mut self) {
        let wishes = self.sources.wishes().await;
        let now = self.now();
        let budgets = self.sources.engine.budgets();
        if !wishes.wants(Attention::Problem) || wishes.postponed_until(None, now, &self.local).is_some() {
            let acts = self.budget_alerts.emptied(&budgets, &self.sources.policy.counting);
            self.perform(acts).await;
            return;
        }
        let agents = self.sources.engine.agents();
        let name = |id: AgentId| agents.get(id).map_or_else(|| id.to_string(), |agent| agent.name.clone());
        let acts = self.budget_alerts.update(&budgets, &self.sources.policy.counting, name);
        self.perform(acts).await;
    }

    /// An alarm was raised, ended or dismissed. One that is raised while the person wants no such thing is shown
    /// afterwards if it is still open.
    async fn alarms_changed(&mut self) {
        let wishes = self.sources.wishes().await;
        let now = self.now();
        let may_show = wishes.wants(Attention::Problem) && wishes.postponed_until(None, now, &self.local).is_none();
        let alarms = self.sources.alarms().await;
        let acts = self.alarm_cards.update(&alarms, may_show);
        self.perform(acts).await;
    }

    /// A pause began, ended, or may ask now which calls are sent.
    async fn pauses_changed(&mut self) {
        let pauses = self.sources.pauses().await;
        if pauses.is_empty() && self.pause_cards.shown().next().is_none() {
            return;
        }
        let wishes = self.sources.wishes().await;
        let now = self.now();
        let may_show = wishes.wants(Attention::Waiting) && wishes.postponed_until(None, now, &self.local).is_none();
        let acts = self.pause_cards.update(&pauses, may_show, &self.local, now);
        self.perform(acts).await;
    }

    /// Settings or snoozes changed: withdraws cards of what is snoozed, and reconsiders what was postponed.
    async fn user_data_changed(&mut self) {
        let now = self.now();
        let snoozed = self.sources.snoozed().await;
        let gone: Vec<(HandleId, Postponed)> = self
            .plan
            .items()
            .filter_map(|item| {
                let held = Postponed { attention: item.attention, until: snoozed.until(item, now)? };
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
        self.close_idle_feed();
    }

    async fn changed(&mut self, changed: Changed) {
        let now = self.now();
        let about: Vec<NotificationSubject> = match changed {
            Changed::These(ids) => self.plan.items().filter(|item| ids.contains(&item.handle)).cloned().collect(),
            Changed::Any => self.plan.items().cloned().collect(),
            Changed::Ended => {
                self.feed = None;
                Vec::new()
            }
        };
        for before in about {
            let acts = match self.sources.subject(before.handle, before.attention, &self.local).await {
                None => self.plan.gone(before.handle, now),
                Some(item) => match before.attention {
                    Attention::Waiting if is_same_text(&before, &item) => Vec::new(),
                    Attention::Waiting => self.plan.refresh(item, now),
                    Attention::Problem if before.phase == item.phase => Vec::new(),
                    Attention::Problem => self.plan.gone(before.handle, now),
                    Attention::Finished => Vec::new(),
                },
            };
            self.perform(acts).await;
        }
        self.close_idle_feed();
    }

    async fn press(&mut self, key: CardKey, press: CardPress) {
        let items: Vec<NotificationSubject> = self.plan.behind(key).into_iter().cloned().collect();
        self.plan.closed(key);
        match press {
            CardPress::Closed => self.desktop.forget(key),
            CardPress::Open => {
                // Some desktops keep a card after a press.
                self.desktop.perform(CardChange::Withdraw(key)).await;
                self.sources.open(&route(key, &items));
            }
        }
        self.close_idle_feed();
    }

    async fn perform(&mut self, acts: Vec<CardChange>) {
        for act in acts {
            self.desktop.perform(act).await;
        }
    }

    /// Closes the feed when there is no card that could be out of date.
    fn close_idle_feed(&mut self) {
        if self.plan.items().next().is_none() {
            self.feed = None;
        }
    }

    async fn withdraw_all(&mut self) {
        let mut keys: Vec<CardKey> = self.plan.items().map(|item| CardKey::Task(item.handle)).collect();
        keys.extend([CardKey::Many, CardKey::ManyOver]);
        keys.extend(self.budget_alerts.shown().map(CardKey::Window));
        keys.extend(self.alarm_cards.shown().map(CardKey::Alarm));
        keys.extend(self.pause_cards.shown().map(CardKey::Pause));
        for key in keys {
            self.desktop.perform(CardChange::Withdraw(key)).await;
        }
    }
}

fn is_same_text(before: &NotificationSubject, now: &NotificationSubject) -> bool {
    before.title == now.title && before.body == now.body && before.inbox == now.inbox
}

fn route(key: CardKey, items: &[NotificationSubject]) -> String {
    match (key, items) {
        (CardKey::Task(_) | CardKey::Many, [one]) => one.place.clone(),
        (CardKey::Task(_) | CardKey::Many, _) => "#/inbox".into(),
        (CardKey::ManyOver, _) => "#/tasks".into(),
        (CardKey::Alarm(alarm), _) => routes::inbox_item(&format!("{alarm}/alarm")),
        (CardKey::Pause(pause), _) => routes::inbox_item(&format!("{pause}/pauseChoice")),
        (CardKey::Window(agent), _) => routes::budget(&agent.to_string()),
    }
}
