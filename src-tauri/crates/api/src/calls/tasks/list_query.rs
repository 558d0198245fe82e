//! Translates the window's list query into the registry's: names of servers and agents become ids, and back.
//!
//! A name that no longer exists is no error: such a list is empty, because saved views outlive servers. Counting and
//! sorting are the registry's.

use std::time::Duration;

use domain::agent::Agent;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{GroupBy, SortColumn, TaskGroups, TaskListQuery, TaskOrder};
use domain::time::Timestamp;

use crate::api::Api;
use crate::dto::task::list::{Grouping, Sorting};
use crate::dto::{ListGroup, ListQuery, ListView, TextReachDto, iso};
use crate::error::ApiError;
use crate::lookup::{Names, phase};

impl Api {
    /// The query as the registry knows it; `None` when no task can match.
    pub(crate) async fn page_query(&self, query: &ListQuery) -> Result<Option<TaskListQuery>, ApiError> {
        Ok(self.page_query_and_reach(query).await?.map(|(query, _)| query))
    }

    /// The same, with how far its text was searched in what tasks say.
    pub(crate) async fn page_query_and_reach(
        &self,
        query: &ListQuery,
    ) -> Result<Option<(TaskListQuery, Option<TextReachDto>)>, ApiError> {
        let now = self.now();
        let phases = query.phases.iter().map(|word| phase(word)).collect::<Result<Vec<_>, _>>()?;
        let servers = self.server_ids(&query.servers).await?;
        let agents = self.agent_ids(&query.agents).await?;
        if servers.is_empty() && !query.servers.is_empty() || agents.is_empty() && !query.agents.is_empty() {
            return Ok(None);
        }
        let (found, reach) = self.tasks_saying(query.text.as_deref()).await;
        let by = |column| TaskOrder::By { column, is_descending: query.reversed };
        let resolved = TaskListQuery {
            phases,
            servers,
            agents,
            flags: query.flags.iter().filter_map(|flag| flag.flag()).collect(),
            tools: query.tools.clone(),
            text: query.text.clone(),
            found,
            changed_after: query.changed_within_ms.map(|span| before(now, span)),
            created_before: query.older_than_ms.map(|span| before(now, span)),
            open: None,
            may_be_hidden: false,
            hidden: query.hidden(),
            group_by: match query.group_by {
                Grouping::Need => GroupBy::Need,
                Grouping::Server => GroupBy::Server,
                Grouping::Agent => GroupBy::Agent,
                Grouping::None => GroupBy::None,
            },
            within: None,
            order: match query.sort {
                Sorting::Newest => TaskOrder::Newest,
                Sorting::Oldest => TaskOrder::Oldest,
                Sorting::Changed => TaskOrder::Changed,
                Sorting::Phase => by(SortColumn::Phase),
                Sorting::Task => by(SortColumn::Tool),
                Sorting::Server => by(SortColumn::Server),
                Sorting::Agent => by(SortColumn::Agent),
            },
        };
        Ok(Some((resolved, reach)))
    }

    /// Tasks that say a text, where a core runs.
    async fn tasks_saying(&self, text: Option<&str>) -> (Vec<HandleId>, Option<TextReachDto>) {
        let (Some(engine), Some(text)) = (self.engine(), text) else { return (Vec::new(), None) };
        let (found, reach) = engine.tasks_saying(text).await;
        let reach = TextReachDto {
            back_to: reach.back_to.map(iso),
            reading: reach.is_reading,
            more: found.len() >= self.policy.search.found_max,
        };
        (found.to_vec(), Some(reach))
    }

    /// How a list is divided, with its groups named.
    pub(crate) async fn list_view(&self, query: &ListQuery, names: &mut Names) -> Result<ListView, ApiError> {
        match self.page_query_and_reach(query).await? {
            Some((page, text)) => {
                let view = self.registry.view(page.clone()).await?;
                Ok(ListView { text, ..self.named(view, page.group_by, names).await? })
            }
            None => Ok(ListView::default()),
        }
    }

    /// The view with names in the place of server ids.
    pub(crate) async fn named(&self, view: TaskGroups, by: GroupBy, names: &mut Names) -> Result<ListView, ApiError> {
        let mut groups = Vec::with_capacity(view.groups.len());
        for (group, count) in view.groups {
            let group = self.group_name(group, by, names).await?;
            groups.push(ListGroup { group, count });
        }
        Ok(ListView { total: view.total, all: view.all, hidden: view.hidden, groups, text: None })
    }

    /// The registry's text of a group, by the name the window has for it.
    pub(crate) async fn group_text(
        &self,
        view: &TaskGroups,
        by: GroupBy,
        wanted: &str,
        names: &mut Names,
    ) -> Result<String, ApiError> {
        for (group, _) in &view.groups {
            if self.group_name(group.clone(), by, names).await? == wanted {
                return Ok(group.clone());
            }
        }
        Ok(wanted.to_owned())
    }

    async fn group_name(&self, group: String, by: GroupBy, names: &mut Names) -> Result<String, ApiError> {
        match by {
            GroupBy::Server => match group.parse::<ServerId>() {
                Ok(id) => self.server_name(id, names).await,
                Err(_) => Ok(group),
            },
            GroupBy::Agent => match group.parse::<AgentId>() {
                Ok(id) => self.agent_name(id, names).await,
                Err(_) => Ok(group),
            },
            GroupBy::Need | GroupBy::None => Ok(group),
        }
    }

    /// Ids of agents by name, also of those that lost their access, or by id; unknown ones are left out.
    async fn agent_ids(&self, names: &[String]) -> Result<Vec<AgentId>, ApiError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let agents = self.registry.agents().await?;
        let is_meant = |agent: &&Agent| names.iter().any(|name| agent.name == *name || agent.id.to_string() == *name);
        let mut ids: Vec<AgentId> = agents.iter().filter(is_meant).map(|agent| agent.id).collect();
        // An id that is on no list still has its tasks.
        ids.extend(names.iter().filter_map(|name| name.parse::<AgentId>().ok()));
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Ids of servers by name, or by id as a removed server is known; unknown ones are left out.
    async fn server_ids(&self, names: &[String]) -> Result<Vec<ServerId>, ApiError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let servers = self.registry.servers().await?;
        let by_name = |name: &String| servers.iter().find(|server| server.name == *name).map(|server| server.id);
        Ok(names.iter().filter_map(|name| by_name(name).or_else(|| name.parse().ok())).collect())
    }
}

fn before(now: Timestamp, span_ms: u64) -> Timestamp {
    let span = i64::try_from(Duration::from_millis(span_ms).as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(span))
}
