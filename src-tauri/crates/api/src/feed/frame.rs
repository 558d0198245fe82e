//! The frames of a window's feed: one snapshot, then changes in absolute terms.
//!
//! A delta applies when its `after` equals what the reader has; rows may repeat and never need counting. When a frame is
//! sent is decided in `window_feed.rs`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::halt::HaltShown;
use crate::dto::{
    AgentFacts, BudgetList, CoreDto, InboxRow, ListQuery, ListView, RecordingDto, RuleDto, ServerDto, SettingsDto,
    TaskDto, TaskRow, Totals, UserDataDto,
};

/// What a window watches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubscribeInput {
    /// The list on screen, for its counts.
    pub query: Option<ListQuery>,
    /// The rows on screen.
    pub ids: Vec<String>,
    /// The task on screen, or the one whose question is.
    pub task: Option<String>,
    /// Whether the window is shown and has the focus.
    pub visible: bool,
}

/// What a window watches from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FocusInput {
    /// The feed, as its snapshot names it.
    pub feed: String,
    /// The list on screen, for its counts.
    pub query: Option<ListQuery>,
    /// The rows on screen.
    pub ids: Vec<String>,
    /// The task on screen, or the one whose question is.
    pub task: Option<String>,
    /// Whether the window is shown and has the focus.
    pub visible: bool,
}

/// A piece of news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(rename = "Frame")]
pub enum FeedFrame {
    /// Everything, as it is.
    Snapshot(Box<FeedSnapshot>),
    /// What changed since.
    Delta(Box<FeedDelta>),
    /// The reader fell behind: subscribe anew. Nothing follows.
    Resync { why: String },
}

/// Everything, as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Snapshot")]
pub struct FeedSnapshot {
    /// Names the feed, for `feed.focus`.
    pub feed: String,
    /// Everything up to here is covered.
    pub upto: u64,
    pub core: CoreDto,
    /// Whether it records changes.
    pub recording: RecordingDto,
    /// What is halted, with what became of its tasks.
    pub halt: HaltShown,
    /// How the window behaves.
    pub settings: SettingsDto,
    pub servers: Vec<ServerDto>,
    pub agents: Vec<AgentFacts>,
    pub rules: Vec<RuleDto>,
    /// What stands in the windows of agents.
    pub budgets: BudgetList,
    /// How many tasks there are.
    pub totals: Totals,
    /// All that waits for a person.
    pub inbox: Vec<InboxRow>,
    pub views: Vec<UserDataDto>,
    /// Counts of the list on screen.
    pub view: Option<ListView>,
    /// The task on screen.
    pub task: Option<TaskDto>,
}

/// What changed. Null and empty mean unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Delta")]
pub struct FeedDelta {
    /// What the reader must hold.
    pub after: u64,
    /// Everything up to here is covered.
    pub upto: u64,
    /// Tasks that changed, on screen or not.
    pub changes: u64,
    /// Servers that changed.
    pub servers: Vec<ServerDto>,
    /// Names of servers that are gone.
    pub gone_servers: Vec<String>,
    /// Agents that changed or are new.
    pub agents: Vec<AgentFacts>,
    pub rules: Option<Vec<RuleDto>>,
    /// What stands in the windows of agents, all of it; told once a second at most.
    pub budgets: Option<BudgetList>,
    /// How many tasks there are.
    pub totals: Option<Totals>,
    /// Inbox rows that changed or are new.
    pub inbox: Vec<InboxRow>,
    /// Ids of inbox rows that are gone.
    pub gone_inbox: Vec<String>,
    /// Rows on screen that changed.
    pub rows: Vec<TaskRow>,
    /// Counts of the list on screen.
    pub view: Option<ListView>,
    /// The task on screen.
    pub task: Option<TaskDto>,
    /// How the window behaves.
    pub settings: Option<SettingsDto>,
    /// Saved views, all of them.
    pub views: Option<Vec<UserDataDto>>,
    /// Whether the core records changes.
    pub recording: Option<RecordingDto>,
    /// What is halted, all of it.
    pub halt: Option<HaltShown>,
}

impl FeedDelta {
    /// Whether there is nothing in it to tell.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            after,
            upto,
            changes,
            servers,
            gone_servers,
            agents,
            rules,
            budgets,
            totals,
            inbox,
            gone_inbox,
            rows,
            view,
            task,
            settings,
            views,
            recording,
            halt,
        } = self;
        after == upto
            && *changes == 0
            && servers.is_empty()
            && gone_servers.is_empty()
            && agents.is_empty()
            && rules.is_none()
            && budgets.is_none()
            && totals.is_none()
            && inbox.is_empty()
            && gone_inbox.is_empty()
            && rows.is_empty()
            && view.is_none()
            && task.is_none()
            && settings.is_none()
            && views.is_none()
            && recording.is_none()
            && halt.is_none()
    }
}
