//! The budgets of one feed: as told, and when they are looked at again.
//!
//! The engine says that something was counted, as a level; what is told is read then, once in a while at most, and only
//! when it differs. What a budget is made of is `crate::budgets`.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::Api;
use crate::dto::BudgetList;
use crate::error::ApiError;
use crate::frame::Delta;
use crate::lookup::Names;

/// Budgets of one feed.
pub(super) struct Budgets {
    watch: watch::Receiver<()>,
    told: BudgetList,
    is_stale: bool,
    read_at: Instant,
}

impl Budgets {
    /// Nothing is told yet.
    pub(super) fn new(watch: watch::Receiver<()>, now: Instant) -> Self {
        Self { watch, told: BudgetList::default(), is_stale: false, read_at: now }
    }

    /// Reads everything. What is counted from here on is told later.
    pub(super) async fn read(&mut self, api: &Api, names: &mut Names) -> Result<BudgetList, ApiError> {
        self.watch.mark_unchanged();
        self.is_stale = false;
        self.read_at = Instant::now();
        self.told = api.budgets(names).await?;
        Ok(self.told.clone())
    }

    /// Waits until something was counted; for ever when the core has ended, which its news tell. Cancel-safe: a watch.
    pub(super) async fn changed(&mut self) {
        if self.watch.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// They may be others: something was counted, or agents, rules or held results changed.
    pub(super) fn stale(&mut self) {
        self.is_stale = true;
    }

    /// When they are to be read; `None` while nothing may have changed.
    pub(super) fn due(&self, api: &Api) -> Option<Instant> {
        self.is_stale.then(|| self.read_at + api.policy.counting.show_every)
    }

    /// Tells them when they are due and others than before.
    pub(super) async fn listen(&mut self, api: &Api, names: &mut Names, delta: &mut Delta) -> Result<(), ApiError> {
        if self.due(api).is_some_and(|due| due <= Instant::now()) {
            let before = self.told.clone();
            let now = self.read(api, names).await?;
            if now != before {
                delta.budgets = Some(now);
            }
        }
        Ok(())
    }
}
