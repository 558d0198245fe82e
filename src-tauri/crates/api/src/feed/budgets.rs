//! The budgets of one feed: what was sent, and when they are read again.
//!
//! The engine signals that something was counted; budgets are then read at a limited rate and sent only when they differ.
//! They are built in `calls/budgets/agent_budgets.rs`.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::Api;
use crate::dto::BudgetList;
use crate::error::ApiError;
use crate::feed::frame::FeedDelta;
use crate::lookup::Names;

/// Budgets of one feed.
pub(crate) struct FeedBudgets {
    watch: watch::Receiver<()>,
    told: BudgetList,
    is_stale: bool,
    read_at: Instant,
}

impl FeedBudgets {
    /// Nothing is told yet.
    pub(crate) fn new(watch: watch::Receiver<()>, now: Instant) -> Self {
        Self { watch, told: BudgetList::default(), is_stale: false, read_at: now }
    }

    /// Reads everything. What is counted from here on is told later.
    pub(crate) async fn read(&mut self, api: &Api, names: &mut Names) -> Result<BudgetList, ApiError> {
        self.watch.mark_unchanged();
        self.is_stale = false;
        self.read_at = Instant::now();
        self.told = api.budgets(names).await?;
        Ok(self.told.clone())
    }

    /// Waits until something was counted; for ever when the core has ended, which its news tell. Cancel-safe: a watch.
    pub(crate) async fn changed(&mut self) {
        if self.watch.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// They may be others: something was counted, or agents, rules or held results changed.
    pub(crate) fn stale(&mut self) {
        self.is_stale = true;
    }

    /// When they are to be read; `None` while nothing may have changed.
    pub(crate) fn due(&self, api: &Api) -> Option<Instant> {
        self.is_stale.then(|| self.read_at + api.policy.counting.show_every)
    }

    /// Tells them when they are due and others than before.
    pub(crate) async fn listen(&mut self, api: &Api, names: &mut Names, delta: &mut FeedDelta) -> Result<(), ApiError> {
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
