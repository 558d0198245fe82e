//! A reader of a feed that does what the window does: takes a snapshot, applies deltas, checks that none is missing.

use std::collections::BTreeMap;

use api::ApiError;
use api::dto::halt::HaltShown;
use api::dto::{AgentFacts, BudgetList, InboxRow, ListView, RuleDto, ServerDto, SettingsDto, TaskDto, TaskRow, Totals};
use api::feed::frame::{FeedFrame, SubscribeInput};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::time::Instant;

use crate::world::World;

/// What a window would hold.
pub(crate) struct Reader {
    frames: BoxStream<'static, Result<FeedFrame, ApiError>>,
    pub(crate) feed: String,
    pub(crate) upto: u64,
    pub(crate) servers: BTreeMap<String, ServerDto>,
    pub(crate) agents: BTreeMap<String, AgentFacts>,
    pub(crate) rules: Vec<RuleDto>,
    pub(crate) budgets: BudgetList,
    pub(crate) totals: Totals,
    pub(crate) inbox: BTreeMap<String, InboxRow>,
    pub(crate) rows: BTreeMap<String, TaskRow>,
    pub(crate) task: Option<TaskDto>,
    pub(crate) view: Option<ListView>,
    pub(crate) settings: SettingsDto,
    pub(crate) views: usize,
    pub(crate) halt: HaltShown,
    pub(crate) changes: u64,
    /// When each delta came.
    pub(crate) came: Vec<Instant>,
}

impl Reader {
    /// Opens a feed and takes its snapshot.
    pub(crate) async fn open(world: &World, input: SubscribeInput) -> Self {
        let mut frames = world.api.open_feed(&world.caller, input).await.expect("the feed opens");
        let Some(Ok(FeedFrame::Snapshot(first))) = frames.next().await else { panic!("a snapshot comes first") };
        Self {
            frames,
            feed: first.feed,
            upto: first.upto,
            servers: first.servers.into_iter().map(|server| (server.name.clone(), server)).collect(),
            agents: first.agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect(),
            rules: first.rules,
            budgets: first.budgets,
            totals: first.totals,
            inbox: first.inbox.into_iter().map(|row| (row.id.clone(), row)).collect(),
            rows: BTreeMap::new(),
            task: first.task,
            view: first.view,
            settings: first.settings,
            views: first.views.len(),
            halt: first.halt,
            changes: 0,
            came: Vec::new(),
        }
    }

    /// The next frame, applied; `None` when it is no delta or the feed ended.
    pub(crate) async fn take(&mut self) -> Option<FeedFrame> {
        let frame = self.frames.next().await?.expect("the rows can be read");
        let FeedFrame::Delta(delta) = &frame else { return Some(frame) };
        assert_eq!(delta.after, self.upto, "no delta is missing");
        assert!(delta.upto >= delta.after, "places only rise");
        self.came.push(Instant::now());
        self.upto = delta.upto;
        self.changes += delta.changes;
        for gone in &delta.gone_servers {
            self.servers.remove(gone);
        }
        for gone in &delta.gone_inbox {
            assert!(self.inbox.remove(gone).is_some(), "only what was told is taken back: `{gone}`");
        }
        self.servers.extend(delta.servers.iter().map(|server| (server.name.clone(), server.clone())));
        self.agents.extend(delta.agents.iter().map(|agent| (agent.name.clone(), agent.clone())));
        self.rules = delta.rules.clone().unwrap_or_else(|| std::mem::take(&mut self.rules));
        self.budgets = delta.budgets.clone().unwrap_or_else(|| self.budgets.clone());
        self.inbox.extend(delta.inbox.iter().map(|row| (row.id.clone(), row.clone())));
        self.rows.extend(delta.rows.iter().map(|row| (row.id.clone(), row.clone())));
        self.totals = delta.totals.clone().unwrap_or_else(|| self.totals.clone());
        self.task = delta.task.clone().or_else(|| self.task.take());
        self.view = delta.view.clone().or_else(|| self.view.take());
        self.settings = delta.settings.clone().unwrap_or_else(|| self.settings.clone());
        self.views = delta.views.as_ref().map_or(self.views, Vec::len);
        self.halt = delta.halt.clone().unwrap_or_else(|| self.halt.clone());
        Some(frame)
    }

    /// Reads until this holds.
    pub(crate) async fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        for _ in 0..2_000 {
            if holds(self) {
                return;
            }
            match self.take().await {
                Some(FeedFrame::Delta(_)) => {}
                Some(other) => panic!("waiting for {what}, but there came {other:?}"),
                None => panic!("waiting for {what}, but the feed ended"),
            }
        }
        panic!("never {what}; the inbox is {:?}, totals are {:?}", self.inbox, self.totals);
    }
}
