//! What the rest of the program asks the budget: what passed, how agents are counted, and the budgets of all agents.
//!
//! Everything is read from memory. Storing is `flush.rs`, windows are `conversations/windows.rs`.

use std::sync::{Arc, Weak};

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::budget::models::CountingMethod;
use domain::budget::window::{Burn, CountingSettings, ToolListScope};
use domain::ids::{AgentId, HandleId, PersonId};
use domain::ports::TokenCounter;
use domain::rule::RuleScope;
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use tokio::sync::watch;

use super::{AgentBudget, AgentTraffic, COMING_SHOWN, Conversation, flush, pending_results};
use crate::access::snapshot::AccessSnapshot;
use crate::budget::counting::queue::{CountingItem, TaskText};
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::runtime::gauges::Gauge;

/// Registers what waits to be counted with [`crate::runtime::gauges::Gauges`].
pub(crate) fn gauge(core: &Weak<EngineCore>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    let agents = core.access.snapshot();
    let (used, most) = core.budget.queue.bytes_by_agent();
    let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    for (agent, used) in used {
        let Some(known) = agents.get(agent) else { continue };
        rows.push(Gauge::bytes("texts to be counted", format!("agent {}", known.name), bytes(used), bytes(most)));
    }
}

impl Engine {
    /// Something passed between the gateway and an agent. Never waits and never fails: what cannot be counted in time is
    /// taken as one token a byte.
    pub fn saw(&self, seen: AgentTraffic) {
        if !self.core.policy.counting.on {
            return;
        }
        let server = || seen.handle.and_then(|id| self.core.ledger.held(id)).map(|handle| handle.server);
        let server = seen.server.or_else(server);
        let what = seen.what.detached(self.core.policy.counting.copied_bytes);
        self.core.budget.count_later(CountingItem::Traffic(AgentTraffic { server, what, ..seen }));
    }

    /// A client began to talk at a door: by `initialize`, or by finding out about the gateway (`session` is `None`).
    pub fn session_began(&self, agent: AgentId, door: ToolListScope, session: Option<Arc<str>>, client: Option<&str>) {
        if client.is_some() {
            self.agent_seen(agent, client);
        }
        let budget = &self.core.budget;
        if !budget.numbers().on {
            return;
        }
        let place = Conversation::new(agent, door, session.as_deref());
        let (family, now) = (budget.measure(agent).family, budget.now());
        budget.windows.lock().began(&place, family, now);
    }

    /// Output of an agent's open task that its model does not read: what the server logs. What it says of the task itself
    /// (status messages, progress) is known here already.
    pub fn kept_out(&self, id: HandleId, text: Payload) {
        let Some(handle) = self.core.ledger.held(id).filter(|_| self.core.policy.counting.on) else { return };
        let Some(agent) = handle.agent else { return };
        let matter = TaskText { agent, server: handle.server, tool: handle.tool.clone(), handle: id, text };
        self.core.budget.count_later(CountingItem::KeptOut(matter));
    }

    /// What weighs and cuts.
    #[must_use]
    pub fn scale(&self) -> &Arc<dyn TokenCounter> {
        &self.core.budget.scale
    }

    /// How an agent is measured: by what a person set, else most cautiously.
    #[must_use]
    pub fn measure(&self, agent: AgentId) -> CountingMethod {
        self.core.budget.measure(agent)
    }

    /// The budgets of all agents with access that have a window or a setting of their own, from memory.
    #[must_use]
    pub fn budgets(&self) -> Vec<AgentBudget> {
        let snapshot = self.core.access.snapshot();
        let agents = snapshot.all().into_iter().filter(|agent| agent.revoked.is_none());
        agents
            .filter_map(|agent| self.budget_of(&snapshot, agent.id, agent.meter != CountingSettings::default()))
            .collect()
    }

    fn budget_of(&self, snapshot: &AccessSnapshot, agent: AgentId, is_set: bool) -> Option<AgentBudget> {
        let budget = &self.core.budget;
        let (measure, now) = (budget.measure(agent), budget.now());
        let open = self.core.ledger.of_agent(agent);
        let (view, working, since) = {
            let mut windows = budget.windows.lock();
            let view = windows.view(agent, &measure);
            let sizes = windows.sizes();
            let open_tasks = open.iter().filter(|handle| !handle.view.is_terminal() && handle.ended_at().is_none());
            let usual = |handle: &TaskHandle| sizes.largest(handle.server, handle.tool.as_ref());
            let open_tasks = open_tasks.map(|handle| pending_results::working(handle, usual(handle), now));
            (view, open_tasks.collect::<Vec<_>>(), windows.started())
        };
        let (window, beside, mut coming) = view.map(|view| (view.now, view.beside, view.coming)).unwrap_or_default();
        if window.is_none() && !is_set {
            return None;
        }
        coming.extend(working);
        coming.sort_by_key(|one| (std::cmp::Reverse(one.tokens.map_or(0, |count| count.tokens)), one.handle));
        coming.truncate(COMING_SHOWN);
        let rules = snapshot.rules();
        let mut own = rules.all().iter().rev().filter(|rule| rule.scope == RuleScope::Agent(agent));
        Some(AgentBudget {
            agent,
            measure,
            error_percent: budget.scale.error_percent(measure.family),
            burn: window.as_ref().map_or(Burn::Quiet, |window| window.burn(now, budget.numbers(), since)),
            now: window,
            beside,
            coming,
            limit: own.find_map(|rule| rule.window_limit),
        })
    }

    /// Notified when budgets changed, at most each `counting.show_every`: a level, so read after each.
    #[must_use]
    pub fn budgets_watch(&self) -> watch::Receiver<()> {
        self.core.budget.shown.subscribe()
    }

    /// What passed so far is counted and stored when this returns; waits for counting for a short while at most.
    pub async fn flush_budget(&self) {
        flush::flush_all(&self.core).await;
    }

    /// A person declares an agent's window empty. The tools behind its doors stand in the next one, too.
    ///
    /// # Errors
    /// When the agent has no access, or the registry cannot record it.
    pub async fn empty_window(&self, agent: AgentId, by: PersonId) -> Result<(), EngineError> {
        if !self.core.access.snapshot().has_access(agent) {
            return Err(EngineError::UnknownAgent);
        }
        // What passed before this belongs to the window that is emptied.
        flush::flush_all(&self.core).await;
        let now = self.core.time.now();
        let (actor, subject, note) = (Actor::Person(by), Subject::Agent(agent), "emptied".to_owned());
        let fact = AuditEvent { at: now, actor, verb: Verb::BudgetChanged, subject, note };
        self.core.registry.record(vec![fact]).await?;
        self.core.budget.windows.lock().empty(agent, now);
        flush::flush(&self.core).await;
        self.core.budget.show();
        Ok(())
    }
}
