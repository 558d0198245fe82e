//! What a task list on a screen asks for: conditions, groups, order, and positions.
//!
//! Which tasks a query matches is decided here, once for every registry. Server, agent, tool and phase have few values,
//! so a registry counts [`AlikeTasks`] and never reads all tasks. The older list by cursor is `TaskQuery` in
//! `registry.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{AgentId, HandleId, ServerId};
use crate::task::TaskHandle;
use crate::task::figures::{CountedState, Figure};
use crate::task::status::Phase;
use crate::time::Timestamp;

/// Characters of an id behind its prefix from which a text is taken for the beginning of one. Judgement: two
/// characters leave one task in a thousand.
const ID_BEGINNING_MIN: usize = 2;

/// By what a list is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupBy {
    /// By who has to act: [`crate::task::status::PhaseGroup`].
    #[default]
    Need,
    Server,
    /// By agent; tasks of nobody are a group of their own.
    Agent,
    /// Not at all.
    None,
}

/// Which tasks come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TaskOrder {
    #[default]
    Newest,
    Oldest,
    Changed,
    /// By a column; tasks that are equal in it come newest first, those without a value last.
    By {
        column: SortColumn,
        is_descending: bool,
    },
}

/// A column with few values, by which a list is sorted without reading its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortColumn {
    /// By who has to act, then as in [`Phase::ALL`].
    Phase,
    Tool,
    Server,
    Agent,
}

impl SortColumn {
    /// What tasks like these are sorted by; `None` when they have nothing in this column.
    #[must_use]
    pub fn key(self, alike: &AlikeTasks, server_name: Option<&str>, agent_name: Option<&str>) -> Option<String> {
        match self {
            Self::Phase => {
                let place = Phase::ALL.iter().position(|phase| *phase == alike.phase).unwrap_or(Phase::ALL.len());
                Some(format!("{}{place:03}", alike.state().group().rank()))
            }
            Self::Tool => alike.tool.as_deref().map(str::to_lowercase),
            Self::Server => Some(server_name.map_or_else(|| alike.server.to_string(), str::to_lowercase)),
            Self::Agent => alike.agent.map(|agent| agent_name.map_or_else(|| agent.to_string(), str::to_lowercase)),
        }
    }
}

/// What is said of a task beside its phase (ruling 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskFlag {
    /// Its agent is gone, and it is not over.
    Orphaned,
    /// Its result is there and waits for a person.
    Held,
    /// It is past a limit, and a person is asked whether it may continue.
    OverLimit,
    /// A person has to act on it ([`CountedState::needs_you`]).
    NeedsYou,
}

impl TaskFlag {
    /// Whether it is said of this task, in this state.
    #[must_use]
    pub fn is_on(self, handle: &TaskHandle, state: CountedState) -> bool {
        match self {
            Self::Orphaned => handle.is_orphaned(),
            Self::Held => Figure::Held.counts(state),
            Self::OverLimit => handle.asks_at_limit(),
            Self::NeedsYou => state.needs_you(),
        }
    }
}

/// Whether a list has the tasks that a person hid from view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HiddenTasks {
    /// Like all others.
    #[default]
    Included,
    LeftOut,
    /// And no others.
    Only,
}

/// Tasks that a person hides from lists, or shows again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HideUnit {
    pub tasks: Vec<HandleId>,
    pub is_hidden: bool,
    pub at: Timestamp,
}

/// Which tasks a screen shows. All conditions must hold; an empty list is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TaskListQuery {
    /// Any of these phases.
    pub phases: Vec<Phase>,
    /// On any of these servers.
    pub servers: Vec<ServerId>,
    /// Of any of these agents.
    pub agents: Vec<AgentId>,
    /// With all of these flags.
    pub flags: Vec<TaskFlag>,
    /// Any of these tools.
    pub tools: Vec<String>,
    /// In the name of the tool, the server or the agent, or the beginning of the id; case does not matter.
    pub text: Option<String>,
    /// Tasks that the text finds by what they say, besides; nothing without a text.
    pub found: Vec<HandleId>,
    /// Changed at this moment or later.
    pub changed_after: Option<Timestamp>,
    /// Created at this moment or earlier.
    pub created_before: Option<Timestamp>,
    /// Only tasks that are not over, or only those that are.
    pub open: Option<bool>,
    /// Only tasks that a person may hide ([`CountedState::may_be_hidden`]).
    pub may_be_hidden: bool,
    /// Whether hidden tasks are in it.
    pub hidden: HiddenTasks,
    /// By what it is divided.
    pub group_by: GroupBy,
    /// Only this group: its text as in [`TaskGroups::groups`].
    pub within: Option<String>,
    /// Which come first.
    pub order: TaskOrder,
}

/// Tasks that are alike in all that has few values, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlikeTasks {
    pub server: ServerId,
    pub agent: Option<AgentId>,
    pub tool: Option<Arc<str>>,
    pub phase: Phase,
    /// Whether their phase says otherwise whether a person has to act ([`CountedState::is_exception`]).
    pub is_exception: bool,
    /// How many they are.
    pub tasks: u64,
}

/// A stretch of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRows {
    /// The tasks with the time of their next poll.
    pub rows: Vec<(TaskHandle, Option<Timestamp>)>,
}

/// How a list is divided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskGroups {
    /// Tasks in all groups together.
    pub total: u64,
    /// Tasks that there are, whatever the query; hidden ones are not counted where the query leaves them out.
    pub all: u64,
    /// Tasks that match and are left out because a person hid them.
    pub hidden: u64,
    /// Groups that are not empty, each with its number of tasks: words of [`crate::task::status::PhaseGroup`] in its
    /// order, or ids of servers or agents (empty for nobody) by text. None when the list is not divided.
    pub groups: Vec<(String, u64)>,
}

impl AlikeTasks {
    /// What their figures follow from, as far as they are alike in it: gone agents are not distinguished.
    #[must_use]
    pub const fn state(&self) -> CountedState {
        CountedState { phase: self.phase, is_exception: self.is_exception, is_orphaned: false }
    }
}

impl TaskListQuery {
    /// The text to look for; `None` when there is none, or when it says no more than that ids are meant.
    #[must_use]
    pub fn needle(&self) -> Option<String> {
        let text = self.text.as_deref()?.trim().to_lowercase();
        (!text.is_empty() && text != HandleId::PREFIX).then_some(text)
    }

    /// What ids begin with that the text may mean; `None` when it cannot be the beginning of one.
    #[must_use]
    pub fn id_beginning(&self) -> Option<String> {
        let text = self.needle()?;
        let digits = text.strip_prefix(HandleId::PREFIX).unwrap_or(&text);
        let fits = digits.len() >= ID_BEGINNING_MIN && digits.bytes().all(crate::ids::is_digit);
        fits.then(|| format!("{}{digits}", HandleId::PREFIX))
    }

    /// Tasks that the text finds by what they say.
    #[must_use]
    pub fn found_by_text(&self) -> &[HandleId] {
        if self.needle().is_some() { &self.found } else { &[] }
    }

    /// Whether tasks like these are taken by all conditions but those of text, time and id.
    #[must_use]
    pub fn takes_but_text(&self, alike: &AlikeTasks) -> bool {
        let any = |none: bool, found: bool| none || found;
        any(self.phases.is_empty(), self.phases.contains(&alike.phase))
            && any(self.servers.is_empty(), self.servers.contains(&alike.server))
            && any(self.agents.is_empty(), alike.agent.is_some_and(|agent| self.agents.contains(&agent)))
            && any(self.tools.is_empty(), self.tools.iter().any(|tool| alike.tool.as_deref() == Some(tool)))
            && self.open.is_none_or(|open| open != alike.phase.is_over())
            && (!self.may_be_hidden || alike.state().may_be_hidden())
            && (!self.flags.contains(&TaskFlag::NeedsYou) || alike.state().needs_you())
            && (!self.flags.contains(&TaskFlag::Held) || Figure::Held.counts(alike.state()))
            && self.within.as_deref().is_none_or(|within| self.group_of(alike) == within)
    }

    /// Whether the text is in the name of the tool, the server or the agent of tasks like these, or in the agent's id.
    #[must_use]
    pub fn text_names(&self, alike: &AlikeTasks, server_name: Option<&str>, agent_name: Option<&str>) -> bool {
        let Some(needle) = self.needle() else { return true };
        let holds = |text: &str| text.to_lowercase().contains(&needle);
        alike.tool.as_deref().is_some_and(holds)
            || server_name.is_some_and(holds)
            || agent_name.is_some_and(holds)
            || alike.agent.is_some_and(|agent| holds(&agent.to_string()))
    }

    /// The group of tasks like these; empty when the list is not divided, and for tasks of nobody.
    #[must_use]
    pub fn group_of(&self, alike: &AlikeTasks) -> String {
        match self.group_by {
            GroupBy::Need => alike.state().group().word().to_owned(),
            GroupBy::Server => alike.server.to_string(),
            GroupBy::Agent => alike.agent.map(|agent| agent.to_string()).unwrap_or_default(),
            GroupBy::None => String::new(),
        }
    }

    /// The view of these counts, of all these tasks.
    #[must_use]
    pub fn view<'a>(&self, all: u64, counts: impl IntoIterator<Item = &'a AlikeTasks>) -> TaskGroups {
        let mut total: u64 = 0;
        // The rank first: the groups of `Need` have an order of their own.
        let mut groups: BTreeMap<(usize, String), u64> = BTreeMap::new();
        for alike in counts {
            total = total.saturating_add(alike.tasks);
            let rank = match self.group_by {
                GroupBy::Need => alike.state().group().rank(),
                GroupBy::Server | GroupBy::Agent => 0,
                GroupBy::None => continue,
            };
            let count = groups.entry((rank, self.group_of(alike))).or_default();
            *count = count.saturating_add(alike.tasks);
        }
        let groups = groups.into_iter().filter(|(_, count)| *count > 0).map(|((_, group), count)| (group, count));
        TaskGroups { total, all, hidden: 0, groups: groups.collect() }
    }
}

/// How the cancels that were sent to a server ended, over all its tasks that are kept. What is neither is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CancelFacts {
    /// Cancels of tasks that were sent to it.
    pub asked: u64,
    /// The server says it cancelled.
    pub stopped: u64,
    /// It ended by itself in spite of the cancel request.
    pub finished_anyway: u64,
    /// The server refused.
    pub refused: u64,
    /// Cancels of calls without a task that were sent to it: MCP has no reply to them.
    pub no_reply: u64,
    /// Half of those cancelled ended within this, in milliseconds; `None` when none did.
    pub median_ms: Option<u64>,
}

/// Something a person keeps at their desk: a saved view, a draft, a snooze, a setting. Sealed at rest.
#[derive(Clone, PartialEq, Eq)]
pub struct UserDataItem {
    /// Names it among those of its kind.
    pub key: String,
    pub value: String,
    /// When it was put there.
    pub changed: Timestamp,
}

impl std::fmt::Debug for UserDataItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeskItem({}, {} bytes)", self.key, self.value.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(phase: Phase, tasks: u64) -> AlikeTasks {
        let (server, agent) = (ServerId::from_random(1), Some(AgentId::from_random(2)));
        AlikeTasks { server, agent, tool: Some("Index_Folder".into()), phase, is_exception: false, tasks }
    }

    #[test]
    fn a_text_finds_tools_servers_and_beginnings_of_ids_in_any_case() {
        let asks = |text: &str| TaskListQuery { text: Some(text.into()), ..TaskListQuery::default() };
        let one = alike(Phase::Running, 1);
        assert!(asks(" FOLDER ").text_names(&one, None, None), "a part of the tool's name");
        assert!(asks("demo").text_names(&one, Some("My Demo"), None), "a part of the server's name");
        assert!(asks("agt_00").text_names(&one, None, None), "the agent");
        assert!(asks("claude").text_names(&one, None, Some("Claude-Code")), "a part of the agent's name");
        assert!(!asks("other").text_names(&one, Some("demo"), None), "and nothing else");
        assert!(asks("hdl_").text_names(&one, None, None), "the prefix of all ids is no condition");
        assert_eq!(asks("HDL_7ZZ").id_beginning().as_deref(), Some("hdl_7zz"), "ids are found in any case");
        assert_eq!(asks("7zz").id_beginning().as_deref(), Some("hdl_7zz"), "and without their prefix");
        assert_eq!(asks("hdl_7").id_beginning(), None, "one character finds too many");
        assert_eq!(asks("index").id_beginning(), None, "no id has the letter i");
    }

    #[test]
    fn groups_by_need_come_in_their_order_and_count_every_task_once() {
        let counts = [alike(Phase::Done, 5), alike(Phase::Running, 2), alike(Phase::Lost, 1), alike(Phase::Failed, 1)];
        let view = TaskListQuery::default().view(11, &counts);
        let groups = vec![("needsYou".to_owned(), 1), ("moving".to_owned(), 2), ("finished".to_owned(), 6)];
        assert_eq!(view, TaskGroups { total: 9, all: 11, hidden: 0, groups }, "empty groups are left out");
        let none = TaskListQuery { group_by: GroupBy::None, ..TaskListQuery::default() };
        assert_eq!(
            none.view(11, &counts),
            TaskGroups { total: 9, all: 11, hidden: 0, groups: Vec::new() },
            "an undivided list has no groups"
        );
    }
}
