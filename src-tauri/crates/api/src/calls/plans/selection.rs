//! Which open tasks a plan has: those that were named, or those that match now.
//!
//! A choice that matches nothing is refused, and the refusal names the condition that hides the tasks. Nothing is stored
//! here.

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::TaskHandle;
use domain::task::status::{Delivery, Intent};

use super::{MakePlan, PlanFilter, count_of};
use crate::api::Api;
use crate::dto::ListQuery;
use crate::dto::plan::{BulkActDto, ExcludedTasks, ExcludedWhy};
use crate::error::{ApiError, Code};
use crate::format::time::count;
use crate::format::tokens::grouped;
use crate::lookup::short;

/// What was chosen.
pub(super) struct ChosenTasks {
    pub(super) tasks: Vec<HandleId>,
    pub(super) excluded: Vec<ExcludedTasks>,
    /// How, in words; no text that was searched for.
    pub(super) words: String,
}

impl Api {
    pub(super) async fn choose(&self, input: &MakePlan) -> Result<ChosenTasks, ApiError> {
        let (candidates, words, over_before) = match (&input.ids[..], &input.filter, &input.query) {
            ([], Some(filter), None) => {
                let query = self.filter_query(filter).await?;
                let (ids, over) = self.matching(&query, &condition_words(filter)).await?;
                (ids, filter_words(filter), over)
            }
            ([], None, Some(query)) => {
                let (ids, over) = self.matching(query, &[]).await?;
                (ids, "a list".to_owned(), over)
            }
            (ids @ [_, ..], None, None) => {
                self.refuse_too_many(count_of(ids.len()))?;
                let mut found = Vec::with_capacity(ids.len());
                for text in ids {
                    found.push(match text.parse::<HandleId>() {
                        Ok(id) => id,
                        Err(_) => self.find_id(text).await?,
                    });
                }
                (found, "by handle".to_owned(), 0)
            }
            _ => {
                return Err(ApiError::new(
                    Code::Usage,
                    "a plan needs exactly one of `ids`, `filter` and `query`",
                    "Name the tasks by their handles, or say which match; `\"filter\": {}` is every open task.",
                ));
            }
        };
        let (mut tasks, mut seen) = (Vec::with_capacity(candidates.len()), HashSet::with_capacity(candidates.len()));
        let (mut over, mut asked) = (over_before, 0);
        for id in candidates.into_iter().filter(|id| seen.insert(*id)) {
            let task = self.task_of(id).await?;
            if task.is_over() {
                over += 1;
            } else if is_asked(&task, input.kind) {
                asked += 1;
            } else {
                tasks.push(id);
            }
        }
        let counted = [(ExcludedWhy::AlreadyOver, over), (ExcludedWhy::AlreadyAsked, asked)];
        let excluded: Vec<ExcludedTasks> = counted
            .into_iter()
            .filter(|(_, many)| *many > 0)
            .map(|(why, count)| ExcludedTasks { why, count })
            .collect();
        if tasks.is_empty() {
            return Err(none_left(&words, over, asked));
        }
        Ok(ChosenTasks { tasks, excluded, words })
    }

    async fn task_of(&self, id: HandleId) -> Result<Arc<TaskHandle>, ApiError> {
        if let Some(task) = self.engine().and_then(|engine| engine.task(id)) {
            return Ok(task);
        }
        self.find_task(&id.to_string()).await.map(Arc::new)
    }

    /// A filter as the query of a list; its names must exist.
    async fn filter_query(&self, filter: &PlanFilter) -> Result<ListQuery, ApiError> {
        let mut query = ListQuery { phases: filter.phases.clone(), ..ListQuery::default() };
        if let Some(name) = &filter.server {
            query.servers.push(self.find_server(name).await?.id.to_string());
        }
        if let Some(name) = &filter.agent {
            query.agents.push(self.find_agent(name).await?.id.to_string());
        }
        query.tools.extend(filter.tool.clone());
        Ok(query)
    }

    /// Open tasks that match, and how many that match are over.
    async fn matching(&self, query: &ListQuery, conditions: &[Condition]) -> Result<(Vec<HandleId>, u64), ApiError> {
        let (open, over) = self.open_and_over(query).await?;
        self.refuse_too_many(open)?;
        if open == 0 {
            return Err(self.nothing_matches(query, conditions, over).await?);
        }
        let Some(mut query) = self.page_query(query).await? else { return Ok((Vec::new(), over)) };
        query.open = Some(true);
        // Between the count and this, more may have begun.
        let ids = self.registry.matching_ids(query, self.policy.asking.stops_max.saturating_add(1)).await?;
        self.refuse_too_many(count_of(ids.len()))?;
        Ok((ids, over))
    }

    async fn open_and_over(&self, query: &ListQuery) -> Result<(u64, u64), ApiError> {
        let Some(query) = self.page_query(query).await? else { return Ok((0, 0)) };
        let all = self.registry.view(query.clone()).await?.total;
        let open = self.registry.view(domain::ports::TaskListQuery { open: Some(true), ..query }).await?.total;
        Ok((open, all.saturating_sub(open)))
    }

    fn refuse_too_many(&self, many: u64) -> Result<(), ApiError> {
        let most = self.policy.asking.stops_max;
        if many <= u64::from(most) {
            return Ok(());
        }
        Err(ApiError::new(
            Code::Refused,
            format!("{} match; one plan has at most {}", count(many, "task"), grouped(u64::from(most))),
            "Choose fewer with a server, an agent, a tool or a phase, or halt the work with `taskwarden halt`.",
        ))
    }

    /// Says which condition hides tasks: the first without which some match.
    async fn nothing_matches(
        &self,
        query: &ListQuery,
        conditions: &[Condition],
        over: u64,
    ) -> Result<ApiError, ApiError> {
        for (words, drop) in conditions {
            let mut wider = query.clone();
            drop(&mut wider);
            let (open, _) = self.open_and_over(&wider).await?;
            if open > 0 && conditions.len() > 1 {
                return Ok(ApiError::new(
                    Code::Refused,
                    format!("no open task matches; {words} hides {}", count(open, "task")),
                    "Leave that condition out, or look at `taskwarden tasks list`. Nothing was asked.",
                ));
            }
        }
        let (open, _) = self.open_and_over(&ListQuery::default()).await?;
        let also = if over > 0 { format!("; {} that match are over", count(over, "task")) } else { String::new() };
        let hides = match conditions {
            [(words, _)] if open > 0 => format!("; {words} hides {}", count(open, "open task")),
            [_, _, ..] if open > 0 => format!("; {} are open that do not match", count(open, "task")),
            _ => String::new(),
        };
        Ok(ApiError::new(
            Code::Refused,
            format!("no open task matches{hides}{also}"),
            "`taskwarden tasks list --open` lists the tasks that are open. Nothing was asked.",
        ))
    }
}

/// A condition in words, and how to drop it.
type Condition = (String, fn(&mut ListQuery));

fn condition_words(filter: &PlanFilter) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    if !filter.phases.is_empty() {
        let phases: Vec<String> = filter.phases.iter().map(|phase| format!("`{}`", short(phase))).collect();
        conditions.push((format!("the phase {}", phases.join(" or ")), |query| query.phases.clear()));
    }
    if let Some(tool) = &filter.tool {
        conditions.push((format!("the tool `{}`", short(tool)), |query| query.tools.clear()));
    }
    if let Some(server) = &filter.server {
        conditions.push((format!("the server `{}`", short(server)), |query| query.servers.clear()));
    }
    if let Some(agent) = &filter.agent {
        conditions.push((format!("the agent `{}`", short(agent)), |query| query.agents.clear()));
    }
    conditions
}

pub(crate) fn filter_words(filter: &PlanFilter) -> String {
    let words: Vec<String> = condition_words(filter).into_iter().map(|(words, _)| words).collect();
    if words.is_empty() { "all open tasks".to_owned() } else { words.join(", ") }
}

pub(crate) fn is_asked(task: &TaskHandle, act: BulkActDto) -> bool {
    match (&task.intent, act) {
        (Intent::Revoked(_), _) => true,
        (Intent::Cancel(cancel), BulkActDto::Cancel) => !matches!(cancel.delivery, Delivery::Refused { .. }),
        (Intent::Cancel(_), BulkActDto::Revoke) | (Intent::None | Intent::Unwatched { .. }, _) => false,
    }
}

fn none_left(words: &str, over: u64, asked: u64) -> ApiError {
    let mut why = Vec::new();
    if asked > 0 {
        why.push(format!("{} were asked before", count(asked, "task")));
    }
    if over > 0 {
        why.push(format!("{} are over", count(over, "task")));
    }
    ApiError::new(
        Code::Refused,
        format!("no task is left to ask ({words}): {}", why.join(", ")),
        "`taskwarden tasks list` shows what became of them. Nothing was asked.",
    )
}
