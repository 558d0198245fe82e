//! The halt of one feed: what is halted, and what became of each of its tasks, as last told.
//!
//! A task is read again when it changes, all of them only when the halt does. The list is built in `calls/halts.rs`.

use std::collections::BTreeMap;

use domain::ids::HandleId;
use domain::time::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::Api;
use crate::calls::halts::HaltedTask;
use crate::dto::halt::HaltShown;
use crate::error::ApiError;
use crate::feed::frame::FeedDelta;
use crate::lookup::Names;

/// What is halted, for one feed.
pub(crate) struct FeedHalt {
    watch: watch::Receiver<()>,
    told: HaltShown,
    told_at: Instant,
    /// The tasks of the halt in force.
    tasks: BTreeMap<HandleId, HaltedTask>,
    /// The halt changed, or which tasks it has.
    is_stale: bool,
    /// One of its tasks changed.
    is_moved: bool,
}

impl FeedHalt {
    /// Nothing is told yet.
    pub(crate) fn new(watch: watch::Receiver<()>, now: Instant) -> Self {
        Self {
            watch,
            told: HaltShown::default(),
            told_at: now,
            tasks: BTreeMap::new(),
            is_stale: false,
            is_moved: false,
        }
    }

    /// Reads everything. What changes from here on is told later.
    pub(crate) async fn read(&mut self, api: &Api, names: &mut Names) -> Result<HaltShown, ApiError> {
        self.watch.mark_unchanged();
        self.is_stale = false;
        let (current, _) = api.halt_in_force().await;
        self.tasks = match &current {
            Some(halt) => api.halted_tasks(halt, names).await?,
            None => BTreeMap::new(),
        };
        self.build(api, names).await
    }

    async fn build(&mut self, api: &Api, names: &mut Names) -> Result<HaltShown, ApiError> {
        self.is_moved = false;
        self.told_at = Instant::now();
        let (current, unreadable) = api.halt_in_force().await;
        let halt = match current {
            Some(halt) => Some(api.halt_dto(&halt, self.tasks.values(), names).await?),
            None => None,
        };
        self.told = HaltShown { halt, unreadable };
        Ok(self.told.clone())
    }

    /// Waits until what is halted changes; for ever when the core has ended, which its news tell. Cancel-safe: a watch.
    pub(crate) async fn changed(&mut self) {
        if self.watch.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The halt changed, or which tasks it has.
    pub(crate) fn stale(&mut self) {
        self.is_stale = true;
    }

    /// A task changed.
    pub(crate) async fn task_changed(&mut self, id: HandleId, api: &Api, names: &mut Names) -> Result<(), ApiError> {
        if !self.tasks.contains_key(&id) {
            return Ok(());
        }
        self.is_moved = true;
        match api.halted_task(id, names).await? {
            Some(task) => self.tasks.insert(id, task),
            None => self.tasks.remove(&id),
        };
        Ok(())
    }

    /// When it is to be told again; `None` while nothing may have changed.
    pub(crate) fn due(&self, api: &Api) -> Option<Instant> {
        if self.is_stale || self.is_moved {
            return Some(self.told_at + api.policy.asking.counts_rest);
        }
        let now = api.now();
        self.tasks.values().filter_map(|task| task.until).min().map(|until| Instant::now() + until.since(now))
    }

    /// Tells it when it is due and other than before.
    pub(crate) async fn listen(&mut self, api: &Api, names: &mut Names, delta: &mut FeedDelta) -> Result<(), ApiError> {
        if self.due(api).is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        let before = self.told.clone();
        let shown = if self.is_stale {
            self.read(api, names).await?
        } else {
            for id in self.overdue(api.now()) {
                self.task_changed(id, api, names).await?;
            }
            self.build(api, names).await?
        };
        if shown != before {
            delta.halt = Some(shown);
        }
        Ok(())
    }

    /// Tasks that were not heard of in time.
    fn overdue(&self, now: Timestamp) -> Vec<HandleId> {
        let is_overdue = |task: &HaltedTask| task.until.is_some_and(|until| until <= now);
        self.tasks.iter().filter(|(_, task)| is_overdue(task)).map(|(id, _)| *id).collect()
    }
}
