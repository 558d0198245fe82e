//! One open feed: what it watches, what it has sent, and how the next frame is built.
//!
//! Reads rows from memory where the engine has the task, else from the registry. A frame costs in proportion to what changed
//! and is on screen. Counts are the registry's. Alarms, servers and what is on screen are in `window_feed/`.

mod alarms;
mod on_screen;
mod servers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use domain::ids::{HandleId, PersonId, ServerId};
use domain::ports::{TaskFlag, TaskListQuery};
use domain::task::TaskHandle;
use domain::task::figures::TaskTally;
use engine::{ChangeFrame, Engine, LiveFacts, RecordingState};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use tokio::sync::watch;
use tokio::time::Instant;

use super::agents::FeedAgents;
use super::budgets::FeedBudgets;
use super::halt::FeedHalt;
use super::inbox::FeedInbox;
use super::pauses::FeedPauses;
use crate::api::Api;
use crate::dto::inbox::row::{self, InboxKind, RowContext};
use crate::dto::user_data::UserDataKind;
use crate::dto::{InboxRow, RecordingDto, ServerDto, SettingsDto, Totals, UserDataDto};
use crate::error::ApiError;
use crate::feed::frame::{FeedDelta, FeedFrame, FeedSnapshot};
use crate::feed::open_feeds::{FeedFocus, FeedRegistration};
use crate::lookup::Names;

/// One open feed.
pub(crate) struct WindowFeed {
    api: Api,
    person: PersonId,
    engine: Engine,
    seat: FeedRegistration,
    news: BoxStream<'static, ChangeFrame>,
    /// What the reader holds.
    upto: u64,
    interest: FeedFocus,
    /// The rows on screen.
    rows: HashSet<HandleId>,
    names: Names,
    inbox: FeedInbox,
    /// Servers as told, by id.
    servers: BTreeMap<ServerId, ServerDto>,
    /// Servers whose counts may have moved.
    stale_servers: BTreeSet<ServerId>,
    agents: FeedAgents,
    budgets: FeedBudgets,
    halt: FeedHalt,
    /// Ids of the alarms that have a row in the inbox.
    alarms: BTreeSet<String>,
    pauses: FeedPauses,
    totals: Totals,
    /// All tasks as they were counted last: totals, agents and servers are told from them, so that they agree.
    tallies: Vec<TaskTally>,
    settings: SettingsDto,
    views: Vec<UserDataDto>,
    recording: RecordingDto,
    recording_moves: watch::Receiver<RecordingState>,
    /// Something changed since the counts were read.
    stale_counts: bool,
    counts_at: Instant,
    /// When what is on screen was last heard of, as told.
    heard: HashMap<HandleId, LiveFacts>,
    heard_at: Instant,
    agents_heard_at: Instant,
    deadlines_at: Instant,
    /// Servers whose tools are not known yet are asked for them once: whether a question is about something that
    /// destroys is said by the tool. One a server at most.
    unlisted: FuturesUnordered<BoxFuture<'static, ServerId>>,
    asked_for_tools: HashSet<ServerId>,
    /// No frame before this.
    rest_until: Instant,
}

/// Why a frame may be due.
enum WakeReason {
    News(ChangeFrame),
    Focus,
    Desk,
    Hidden,
    Listed(ServerId),
    Counted,
    Recording,
    Halted,
    Clock,
    End,
}

impl WindowFeed {
    pub(crate) fn new(api: Api, person: PersonId, engine: Engine, mut seat: FeedRegistration) -> Self {
        let now = Instant::now();
        let interest = seat.interest.borrow_and_update().clone();
        seat.desk.mark_unchanged();
        seat.hidden.mark_unchanged();
        Self {
            person,
            news: futures::stream::empty().boxed(),
            upto: 0,
            rows: interest.ids.iter().copied().collect(),
            interest,
            names: Names::default(),
            inbox: FeedInbox::new(&api.policy),
            servers: BTreeMap::new(),
            stale_servers: BTreeSet::new(),
            agents: FeedAgents::default(),
            budgets: FeedBudgets::new(engine.budgets_watch(), now),
            halt: FeedHalt::new(engine.halt_watch(), now),
            alarms: BTreeSet::new(),
            pauses: FeedPauses::default(),
            totals: Totals::default(),
            tallies: Vec::new(),
            settings: SettingsDto::default(),
            views: Vec::new(),
            recording: RecordingDto::Ok,
            recording_moves: engine.recording_watch(),
            stale_counts: false,
            counts_at: now,
            heard: HashMap::new(),
            heard_at: now,
            agents_heard_at: now,
            deadlines_at: now,
            unlisted: FuturesUnordered::new(),
            asked_for_tools: HashSet::new(),
            rest_until: now,
            seat,
            engine,
            api,
        }
    }

    /// Everything, as it is. The place in the change log is taken first, so that nothing falls between.
    pub(crate) async fn snapshot(&mut self) -> Result<FeedFrame, ApiError> {
        let start = self.api.registry.newest_seq().await?;
        self.news = self.engine.feed(Some(start));
        self.upto = start.0;
        self.names = self.api.names().await?;
        let limit = self.api.policy.inbox_rows_max;
        let mut waiting: BTreeMap<HandleId, Arc<TaskHandle>> = BTreeMap::new();
        for item in self.api.registry.inbox(0, limit).await?.items {
            waiting.entry(item.handle.id).or_insert(item.handle);
        }
        for task in self.api.registry.attention(limit).await? {
            waiting.entry(task.id).or_insert_with(|| Arc::new(task));
        }
        let held = TaskListQuery { flags: vec![TaskFlag::Held], ..TaskListQuery::default() };
        for (task, _) in self.api.registry.page(held, 0, limit).await?.rows {
            waiting.entry(task.id).or_insert_with(|| Arc::new(task));
        }
        self.inbox.snooze(self.api.snoozes().await?);
        for task in waiting.values() {
            self.put_task(task).await?;
        }
        self.put_alarms().await?;
        self.put_pauses().await?;
        self.tallies = self.api.registry.tallies().await?;
        let configured = self.api.registry.servers().await?;
        for server in &configured {
            // All of them are told by the snapshot itself.
            self.put_server(server.id, &configured, &mut FeedDelta::default()).await?;
        }
        self.agents.read(&self.api, &self.tallies).await?;
        let budgets = self.budgets.read(&self.api, &mut self.names).await?;
        let halt = self.halt.read(&self.api, &mut self.names).await?;
        self.totals = Totals::of(&self.tallies, self.inbox.figures(self.api.now()));
        self.counts_at = Instant::now();
        self.settings = self.api.settings().await?;
        self.views = self.api.desk_items(UserDataKind::View).await?;
        self.read_recording(&mut FeedDelta::default()).await?;
        let task = self.task_on_screen().await?;
        Ok(FeedFrame::Snapshot(Box::new(FeedSnapshot {
            feed: self.seat.name.clone(),
            upto: self.upto,
            core: self.api.core(&self.person)?,
            recording: self.recording.clone(),
            halt,
            settings: self.settings.clone(),
            servers: self.servers.values().cloned().collect(),
            agents: self.agents.all(),
            rules: self.agents.rules(),
            budgets,
            totals: self.totals.clone(),
            inbox: self.inbox.all(),
            views: self.views.clone(),
            view: self.view().await?,
            task,
        })))
    }

    /// The next frame that says something; `None` when the core has ended. Cancel-safe: what was heard and not told is
    /// kept.
    pub(crate) async fn next(&mut self) -> Result<Option<FeedFrame>, ApiError> {
        loop {
            tokio::time::sleep_until(self.rest_until).await;
            let mut delta = FeedDelta { after: self.upto, ..FeedDelta::default() };
            match self.woken().await {
                WakeReason::End => return Ok(None),
                WakeReason::News(changes) if changes.resync => {
                    return Ok(Some(FeedFrame::Resync {
                        why: "more changed than is kept; everything is read again".into(),
                    }));
                }
                WakeReason::News(changes) => self.news(changes, &mut delta).await?,
                WakeReason::Focus => self.refocus(&mut delta).await?,
                WakeReason::Desk => self.read_desk(&mut delta).await?,
                WakeReason::Hidden => self.recount(),
                WakeReason::Listed(server) => self.reread_waiting(server).await?,
                WakeReason::Counted => self.budgets.stale(),
                WakeReason::Halted => self.halt.stale(),
                WakeReason::Recording => self.read_recording(&mut delta).await?,
                WakeReason::Clock => {}
            }
            self.clocks(&mut delta).await?;
            delta.upto = self.upto;
            if !delta.is_empty() {
                self.rest_until = Instant::now() + self.api.policy.feed_frame;
                return Ok(Some(FeedFrame::Delta(Box::new(delta))));
            }
        }
    }

    async fn woken(&mut self) -> WakeReason {
        let clock = self.next_clock();
        let Self {
            seat: FeedRegistration { interest, desk, hidden, .. },
            news,
            unlisted,
            budgets,
            halt,
            recording_moves,
            ..
        } = self;
        // Each arm may be dropped: watches keep their mark, the streams keep their place.
        tokio::select! {
            changed = interest.changed() => if changed.is_ok() { WakeReason::Focus } else { WakeReason::End },
            changed = desk.changed() => if changed.is_ok() { WakeReason::Desk } else { WakeReason::End },
            changed = hidden.changed() => if changed.is_ok() { WakeReason::Hidden } else { WakeReason::End },
            changes = news.next() => changes.map_or(WakeReason::End, WakeReason::News),
            Some(server) = unlisted.next() => WakeReason::Listed(server),
            () = budgets.changed() => WakeReason::Counted,
            () = halt.changed() => WakeReason::Halted,
            changed = recording_moves.changed() => if changed.is_ok() { WakeReason::Recording } else { WakeReason::End },
            () = tokio::time::sleep_until(clock) => WakeReason::Clock,
        }
    }

    fn next_clock(&mut self) -> Instant {
        let asking = &self.api.policy.asking;
        let is_stale = self.stale_counts || !self.stale_servers.is_empty() || self.agents.is_stale();
        let counts = is_stale.then(|| self.counts_at + asking.counts_rest);
        let now = self.api.now();
        let wakes = self.inbox.next_wake(now).map(|at| Instant::now() + at.since(now));
        let heard = self.watches_contact().then(|| self.heard_at + asking.heard_tick);
        let deadlines = self.deadlines_at + asking.deadline_tick;
        let agents = self.interest.visible.then(|| self.agents_heard_at + asking.agents_tick);
        let (budgets, halt, pauses) = (self.budgets.due(&self.api), self.halt.due(&self.api), self.pauses.due(now));
        [counts, heard, agents, budgets, halt, pauses, wakes, self.inbox.next_sweep()]
            .into_iter()
            .flatten()
            .fold(deadlines, Instant::min)
    }

    async fn news(&mut self, changes: ChangeFrame, delta: &mut FeedDelta) -> Result<(), ApiError> {
        self.upto = changes.upto.0;
        delta.changes = u64::try_from(changes.handles.len()).unwrap_or(u64::MAX);
        self.stale_counts |= !changes.handles.is_empty();
        for id in changes.handles {
            let task = match self.engine.task(id) {
                Some(task) => Some(task),
                None => self.api.registry.handle(id).await?.map(Arc::new),
            };
            let Some(task) = task else { continue };
            self.stale_servers.insert(task.server);
            self.agents.task_changed(task.agent);
            if task.agent.is_some() {
                // What is about to come in may have changed.
                self.budgets.stale();
            }
            self.put_task(&task).await?;
            self.pauses.task_changed(&task);
            self.halt.task_changed(id, &self.api, &mut self.names).await?;
            if self.interest.task == Some(id) {
                delta.task = self.task_on_screen().await?;
            }
            if self.rows.contains(&id) {
                delta.rows.push(self.api.row(&task, &mut self.names).await?);
            }
        }
        if changes.alarms {
            self.put_alarms().await?;
        }
        if changes.halts {
            self.halt.stale();
        }
        if !changes.agents.is_empty() || !changes.servers.is_empty() {
            self.pauses.stale();
        }
        if !changes.agents.is_empty() {
            self.names.forget_agents();
            self.budgets.stale();
            self.agents.changed(&self.api, changes.agents, &self.tallies, delta).await?;
        }
        let is_of_servers = !changes.servers.is_empty();
        self.put_servers(changes.servers, delta).await?;
        if is_of_servers {
            // A rule of a server is a change of the server.
            self.agents.reread_rules(&self.api, delta).await?;
        }
        Ok(())
    }

    /// The rows of a task in the inbox, as it is now.
    async fn put_task(&mut self, task: &TaskHandle) -> Result<(), ApiError> {
        let about = task.id.to_string();
        let now = self.api.now();
        // Most changes are of tasks that nobody has to look at: they cost a look at two words.
        let phase = task.phase(now);
        let matters = (phase.needs_attention() && !task.is_settled_loss(phase))
            || task.is_held()
            || task.asks_at_limit()
            || task.requests.values().any(|request| request.state.is_open());
        if !matters && !self.inbox.knows(&about) {
            return Ok(());
        }
        let server = self.api.server_name(task.server, &mut self.names).await?;
        let agent = match task.agent {
            Some(agent) => Some(self.api.agent_name(agent, &mut self.names).await?),
            None => None,
        };
        let destructive = servers::is_destructive(&self.engine, &self.api, task).await?;
        let asked = RowContext { server: &server, agent: agent.as_deref(), destructive, now, policy: &self.api.policy };
        let mut rows = InboxRow::of_task(task, asked);
        if servers::is_blocked(&self.engine.health(task.server)) {
            // One row for the server stands for all of them.
            rows.retain(|row| row.kind != InboxKind::Blocked);
        }
        self.inbox.put(&about, rows, |row| row::answered_by(task, row), Instant::now());
        Ok(())
    }

    /// The rows of pauses in the inbox, as they are now.
    async fn put_pauses(&mut self) -> Result<(), ApiError> {
        for (id, rows) in self.pauses.read(&self.api, &self.engine, &mut self.names).await? {
            self.inbox.put(&id, rows, |_| None, Instant::now());
        }
        Ok(())
    }

    /// Whether changes are recorded, where that is news.
    async fn read_recording(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        let state = self.recording_moves.borrow_and_update().clone();
        let recording = self.api.recording_dto(&state, &mut self.names).await?;
        if recording != self.recording {
            self.recording = recording.clone();
            delta.recording = Some(recording);
        }
        Ok(())
    }

    async fn read_desk(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        self.seat.desk.mark_unchanged();
        let settings = self.api.settings().await?;
        if settings != self.settings {
            self.settings = settings.clone();
            delta.settings = Some(settings);
        }
        let views = self.api.desk_items(UserDataKind::View).await?;
        if views != self.views {
            self.views = views.clone();
            delta.views = Some(views);
        }
        self.inbox.snooze(self.api.snoozes().await?);
        Ok(())
    }

    /// People hid tasks or showed them again: every figure may have changed.
    fn recount(&mut self) {
        self.stale_counts = true;
        self.stale_servers.extend(self.servers.keys());
        self.agents.all_changed();
    }

    /// What is due by the clock, and what the inbox has to tell.
    async fn clocks(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        let now = Instant::now();
        let asking = self.api.policy.asking.clone();
        if now >= self.counts_at + asking.counts_rest {
            self.read_counts(delta).await?;
        }
        if self.watches_contact() && now >= self.heard_at + asking.heard_tick {
            self.heard_at = now;
            self.read_heard(delta).await?;
        }
        if now >= self.agents_heard_at + asking.agents_tick {
            self.agents_heard_at = now;
            self.agents.listen(&self.api, delta);
        }
        if now >= self.deadlines_at + asking.deadline_tick {
            self.deadlines_at = now;
            self.inbox.approach(self.api.now(), &self.api.policy);
        }
        self.budgets.listen(&self.api, &mut self.names, delta).await?;
        self.halt.listen(&self.api, &mut self.names, delta).await?;
        if self.pauses.is_due(self.api.now()) {
            self.put_pauses().await?;
        }
        self.inbox.sweep(now);
        let told = self.inbox.take();
        delta.inbox = told.rows.into_values().collect();
        delta.gone_inbox = told.gone.into_iter().collect();
        self.tell_totals(delta);
        Ok(())
    }

    /// Tells what is counted, where it may have moved: all of it as of one moment.
    async fn read_counts(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        if !self.stale_counts && self.stale_servers.is_empty() && !self.agents.is_stale() {
            return Ok(());
        }
        self.counts_at = Instant::now();
        if self.stale_counts {
            self.stale_counts = false;
            self.tallies = self.api.registry.tallies().await?;
            if delta.view.is_none() {
                delta.view = self.view().await?;
            }
        }
        let stale = std::mem::take(&mut self.stale_servers).into_iter().collect();
        self.put_servers(stale, delta).await?;
        self.agents.count(&self.api, &self.tallies, delta).await
    }

    /// Tells the totals, where they are others: those of tasks as counted last, the inbox's as it is now.
    fn tell_totals(&mut self, delta: &mut FeedDelta) {
        let totals = Totals::of(&self.tallies, self.inbox.figures(self.api.now()));
        if totals != self.totals {
            self.totals = totals.clone();
            delta.totals = Some(totals);
        }
    }
}
