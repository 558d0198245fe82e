//! Agents and rules in memory, and tasks that are related to one another.
//!
//! Names and tokens are unique, as the indexes of the real registry make them.

use domain::agent::Agent;
use domain::ids::{AgentId, HandleId, JobKey, Seq};
use domain::ports::change::Entity;
use domain::ports::{AgentNote, AgentUnit, PriceUnit, RegistryError, RuleUnit};
use domain::rule::RuleScope;
use domain::task::TaskHandle;
use domain::time::Timestamp;

use super::halts::pauses;
use super::store::{MemoryStore, StoredTask};

/// Adds or changes an agent. Access that was taken away stays so, and what notes say stays theirs.
pub(super) fn put(state: &mut MemoryStore, unit: AgentUnit) -> Result<Seq, RegistryError> {
    let AgentUnit { mut agent, audit, ended_pause } = unit;
    if let Some(known) = state.agents.get(&agent.id) {
        agent.revoked = known.revoked.or(agent.revoked);
        (agent.seen, agent.client, agent.calls) = (known.seen, known.client.clone(), known.calls);
        agent.learned_timeout = known.learned_timeout;
        if known.token_made >= agent.token_made {
            (agent.token, agent.token_made) = (known.token, known.token_made);
        }
    }
    let clashes = |other: &&Agent| {
        let both = other.revoked.is_none() && agent.revoked.is_none();
        other.id != agent.id && (other.token == agent.token || (both && other.name == agent.name))
    };
    if state.agents.values().any(|other| clashes(&other)) {
        return Err(RegistryError::Other { operation: "commit", why: "two agents have one name or token".into() });
    }
    let (id, at) = (agent.id, audit.last().map(|event| event.at));
    state.agents.insert(id, agent);
    state.facts(audit);
    if let Some(pause) = ended_pause {
        return Ok(pauses::put(state, pause));
    }
    Ok(state.change(Entity::Agent(id), at, false))
}

pub(super) fn note(state: &mut MemoryStore, notes: Vec<AgentNote>) {
    for note in notes {
        if let Some(agent) = state.agents.get_mut(&note.id) {
            agent.seen = Some(agent.seen.map_or(note.seen, |seen| seen.max(note.seen)));
            agent.calls = agent.calls.max(note.calls);
            agent.client = note.client.or(agent.client.take());
            agent.learned_timeout = note.learned_timeout.or(agent.learned_timeout);
        }
    }
}

/// Puts or takes away a rule.
pub(super) fn put_rule(state: &mut MemoryStore, unit: RuleUnit) -> Seq {
    let RuleUnit { rule, remove, audit } = unit;
    let (key, entity) = match &rule.scope {
        RuleScope::Agent(id) => (format!("agent:{id}"), Entity::Agent(*id)),
        RuleScope::Server(id) => (format!("server:{id}"), Entity::Server(*id)),
        RuleScope::Tool(id, tool) => (format!("tool:{id}:{tool}"), Entity::Server(*id)),
    };
    if remove {
        state.rules.remove(&key);
    } else {
        state.rules.insert(key, rule);
    }
    let at = audit.last().map(|event| event.at);
    state.facts(audit);
    state.change(entity, at, false)
}

/// Puts or takes away the price of a model.
pub(super) fn put_price(state: &mut MemoryStore, unit: PriceUnit) {
    let PriceUnit { price, remove, audit } = unit;
    state.budgets.put_price(price, remove);
    state.facts(audit);
}

/// All agents, those with access first, by name.
pub(super) fn all(state: &MemoryStore) -> Vec<Agent> {
    let mut agents: Vec<Agent> = state.agents.values().cloned().collect();
    agents.sort_by(|a, b| (a.revoked.is_some(), &a.name, a.id).cmp(&(b.revoked.is_some(), &b.name, b.id)));
    agents
}

/// Tasks that are taken, newest first.
pub(super) fn newest(state: &MemoryStore, taken: impl Fn(&TaskHandle) -> bool) -> Vec<&TaskHandle> {
    let mut found: Vec<&TaskHandle> =
        state.rows.values().map(StoredTask::stored).filter(|handle| taken(handle)).collect();
    found.sort_unstable_by_key(|handle| std::cmp::Reverse((handle.created, handle.id)));
    found
}

fn newest_ids(state: &MemoryStore, limit: usize, taken: impl Fn(&TaskHandle) -> bool) -> Vec<HandleId> {
    newest(state, taken).into_iter().take(limit).map(|handle| handle.id).collect()
}

/// Tasks of one job.
pub(super) fn attempts(state: &MemoryStore, job: &JobKey, limit: usize) -> Vec<HandleId> {
    newest_ids(state, limit, |handle| handle.job.as_ref() == Some(job))
}

/// Tasks that were called from a task.
pub(super) fn children(state: &MemoryStore, id: HandleId, limit: usize) -> Vec<HandleId> {
    newest_ids(state, limit, |handle| handle.parent.is_some_and(|parent| parent.id == id))
}

/// Tasks of one job and agent whose reply was not delivered.
pub(super) fn repeats(state: &MemoryStore, agent: AgentId, job: &JobKey, limit: usize) -> Vec<HandleId> {
    let is_repeat = |handle: &TaskHandle| {
        handle.agent == Some(agent) && handle.job.as_ref() == Some(job) && handle.is_undelivered()
    };
    newest_ids(state, limit, is_repeat)
}

/// Tasks whose reply was not delivered and that changed since then.
pub(super) fn undelivered(state: &MemoryStore, since: Timestamp, limit: usize) -> Vec<HandleId> {
    newest_ids(state, limit, |handle| handle.is_undelivered() && handle.changed >= since)
}

/// Tasks whose handle an agent holds, newest first, those older than `after`.
pub(super) fn given(state: &MemoryStore, agent: AgentId, after: Option<HandleId>) -> Vec<&TaskHandle> {
    let before = match after.map(|id| state.rows.get(&id)) {
        None => None,
        Some(Some(row)) => Some((row.stored().created, row.stored().id)),
        Some(None) => return Vec::new(),
    };
    newest(state, |handle| {
        handle.agent == Some(agent)
            && handle.is_given()
            && before.is_none_or(|before| (handle.created, handle.id) < before)
    })
}
