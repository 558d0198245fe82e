//! Lists, counts, cancels and user data of the memory registry.
//!
//! Everything is filtered and sorted anew for each question; the real registry must give the same without reading it all.

use domain::policy::Policy;
use domain::ports::{
    AlikeTasks, CancelFacts, HiddenTasks, HideUnit, RegistryError, TaskGroups, TaskListQuery, TaskOrder, UserDataItem,
};
use domain::raw_message::{RawMessage, RawNote};
use domain::task::figures::{CountedState, TaskTally};
use domain::task::status::{CancelState, Intent, SentCancel};
use domain::time::Timestamp;

use crate::memory_registry::store::{MemoryStore, StoredTask};

/// What a task is alike with others in.
pub(crate) fn alike(row: &StoredTask) -> AlikeTasks {
    let (handle, CountedState { phase, is_exception, .. }) = (row.stored(), counted(row));
    AlikeTasks { server: handle.server, agent: handle.agent, tool: handle.tool.clone(), phase, is_exception, tasks: 1 }
}

/// What its figures follow from: the real registry has it as of the last commit, too.
fn counted(row: &StoredTask) -> CountedState {
    CountedState::of(row.stored(), row.phase, row.stored().changed)
}

/// Each task as a tally of its own.
pub(crate) fn tallies(state: &MemoryStore) -> Vec<TaskTally> {
    let tally = |row: &StoredTask| {
        let (handle, is_hidden) = (row.stored(), state.hidden.contains(&row.stored().id));
        TaskTally { server: handle.server, agent: handle.agent, state: counted(row), is_hidden, tasks: 1 }
    };
    state.rows.values().map(tally).collect()
}

fn is_taken(state: &MemoryStore, row: &StoredTask, query: &TaskListQuery) -> bool {
    let (handle, alike) = (row.stored(), alike(row));
    let server_name = state.servers.get(&handle.server).map(|(server, _)| server.name.as_str());
    let agent_name = handle.agent.and_then(|id| state.agents.get(&id)).map(|agent| agent.name.as_str());
    let by_id = query.id_beginning().is_some_and(|beginning| handle.id.to_string().starts_with(&beginning));
    let is_hidden = state.hidden.contains(&handle.id);
    let is_in_sight = match query.hidden {
        HiddenTasks::Included => true,
        HiddenTasks::LeftOut => !is_hidden,
        HiddenTasks::Only => is_hidden,
    };
    is_in_sight
        && query.takes_but_text(&alike)
        && query.flags.iter().all(|flag| flag.is_on(handle, counted(row)))
        && (query.text_names(&alike, server_name, agent_name) || by_id || query.found_by_text().contains(&handle.id))
        && query.changed_after.is_none_or(|after| handle.changed >= after)
        && query.created_before.is_none_or(|before| handle.created <= before)
}

/// How a list is divided.
pub(crate) fn view(state: &MemoryStore, query: &TaskListQuery) -> TaskGroups {
    let counts: Vec<_> = found(state, query).into_iter().map(alike).collect();
    let (all, is_cut) = (state.rows.len() as u64, query.hidden == HiddenTasks::LeftOut);
    if !is_cut {
        return query.view(all, &counts);
    }
    let only = TaskListQuery { hidden: HiddenTasks::Only, ..query.clone() };
    let view = query.view(all - state.hidden.len() as u64, &counts);
    TaskGroups { hidden: found(state, &only).len() as u64, ..view }
}

/// Hides tasks from lists, or shows them again.
pub(crate) fn hide(state: &mut MemoryStore, unit: HideUnit) {
    for id in unit.tasks {
        let may = |row: &StoredTask| counted(row).may_be_hidden();
        if !unit.is_hidden {
            state.hidden.remove(&id);
        } else if state.rows.get(&id).is_some_and(may) {
            state.hidden.insert(id);
        }
    }
}

/// The tasks of a list, in its order.
pub(crate) fn found<'a>(state: &'a MemoryStore, query: &TaskListQuery) -> Vec<&'a StoredTask> {
    let mut found: Vec<&StoredTask> = state.rows.values().filter(|row| is_taken(state, row, query)).collect();
    let created = |row: &&StoredTask| (row.stored().created, row.stored().id);
    match query.order {
        TaskOrder::Newest => found.sort_unstable_by_key(|row| std::cmp::Reverse(created(row))),
        TaskOrder::Oldest => found.sort_unstable_by_key(created),
        TaskOrder::Changed => {
            found.sort_unstable_by_key(|row| std::cmp::Reverse((row.stored().changed, row.stored().id)));
        }
        TaskOrder::By { column, is_descending } => {
            let key = |row: &&StoredTask| {
                let handle = row.stored();
                let server = state.servers.get(&handle.server).map(|(server, _)| server.name.as_str());
                let agent = handle.agent.and_then(|id| state.agents.get(&id)).map(|agent| agent.name.as_str());
                column.key(&alike(row), server, agent)
            };
            found.sort_unstable_by(|one, other| {
                let (mine, theirs) = (key(one), key(other));
                let by_value = match (&mine, &theirs) {
                    (Some(mine), Some(theirs)) if is_descending => theirs.cmp(mine),
                    (Some(mine), Some(theirs)) => mine.cmp(theirs),
                    _ => mine.is_none().cmp(&theirs.is_none()),
                };
                by_value.then_with(|| created(other).cmp(&created(one)))
            });
        }
    }
    found
}

/// How the cancels of a server ended.
pub(crate) fn cancels(state: &MemoryStore, server: domain::ids::ServerId) -> CancelFacts {
    let (mut facts, mut took) = (CancelFacts::default(), Vec::new());
    for handle in state.rows.values().map(StoredTask::stored).filter(|handle| handle.server == server) {
        let cancel_request = match &handle.intent {
            Intent::Cancel(cancel_request) | Intent::Revoked(cancel_request) => cancel_request,
            Intent::None | Intent::Unwatched { .. } => continue,
        };
        let state = match handle.sent_cancel() {
            None => continue,
            Some(SentCancel::OfCall) => {
                facts.no_reply += 1;
                continue;
            }
            Some(SentCancel::OfTask(state)) => state,
        };
        facts.asked += 1;
        match state {
            CancelState::Stopped => {
                facts.stopped += 1;
                took.extend(handle.ended_at().map(|end| end.since(cancel_request.at).as_millis()));
            }
            CancelState::FinishedAnyway => facts.finished_anyway += 1,
            CancelState::Refused => facts.refused += 1,
            CancelState::Asked | CancelState::Acknowledged | CancelState::EndedHere => {}
        }
    }
    took.sort_unstable();
    let median = took.len().checked_sub(1).and_then(|last| took.get(last / 2));
    facts.median_ms = median.and_then(|took| u64::try_from(*took).ok());
    facts
}

/// Puts something on the desk, or takes it away.
pub(crate) fn put(
    state: &mut MemoryStore,
    (kind, key): (&str, &str),
    value: Option<String>,
    at: Timestamp,
    policy: &Policy,
) -> Result<(), RegistryError> {
    let length = value.as_ref().map_or(0, String::len);
    if length > policy.desk_value_bytes || kind.len() + key.len() > policy.desk_key_bytes {
        return Err(RegistryError::Other { operation: "store this item", why: "it is too large".into() });
    }
    let place = (kind.to_owned(), key.to_owned());
    let Some(value) = value else {
        state.desk.remove(&place);
        return Ok(());
    };
    state.desk.insert(place, (value, at));
    let most = usize::try_from(policy.desk_items_max).unwrap_or(usize::MAX);
    let mut bytes: u64 = 0;
    for (index, item) in lying(state, kind).into_iter().enumerate() {
        bytes += item.value.len() as u64;
        if index >= most || bytes > policy.desk_kind_bytes {
            state.desk.remove(&(kind.to_owned(), item.key));
        }
    }
    Ok(())
}

/// What of one kind lies on the desk, the last put first.
pub(crate) fn lying(state: &MemoryStore, kind: &str) -> Vec<UserDataItem> {
    let here = state.desk.iter().filter(|((of, _), _)| of == kind);
    let item = |((_, key), (value, changed)): (&(String, String), &(String, Timestamp))| UserDataItem {
        key: key.clone(),
        value: value.clone(),
        changed: *changed,
    };
    let mut items: Vec<UserDataItem> = here.map(item).collect();
    items.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.key.cmp(&b.key)));
    items
}

/// A kept message without its body.
pub(crate) fn note(n: u64, message: &RawMessage) -> RawNote {
    let RawMessage { at, direction, about, body: _, bytes, cut } = message;
    RawNote { n, at: *at, direction: *direction, about: about.clone(), bytes: *bytes, cut: *cut }
}
