//! The context budget: what fills the windows of agents, what tasks keep out of them, and what may not come in.
//!
//! The gateway tells what passed ([`Engine::saw`]) and waits for nothing; one worker counts it. Occupancy (what stands in
//! a window) and spend (what came in over time) are never mixed. Results over a limit are held in the commit that brings
//! them (`budget/limits.rs`). It knows no message of a protocol beyond which scale it is put on, and shows nothing.
//! Read `budget/books.rs` for windows, `tap.rs` and `count.rs` for counting, `figures.rs` for tasks, `flush.rs` for when.

mod books;
mod change;
mod comeback;
mod coming;
mod count;
mod desk;
mod enter;
mod figures;
pub(crate) mod flush;
mod limits;
mod lines;
mod place;
mod seen;
mod series;
mod shelf;
mod shown;
mod tap;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::task::TaskHandle;
use domain::ids::{AgentId, HandleId, PersonId, WindowId};
use domain::budget::models::{self, CountingMethod};
use domain::task::payload::Payload;
use domain::policy::{CountingPolicy, Policy};
use domain::ports::{Clock, TokenCounter};
use domain::rule::{RuleScope, TokenLimit};
use domain::time::Timestamp;
use domain::budget::window::{Burn, CountingSettings, ToolListScope, Window};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

pub(crate) use comeback::come_back;
pub use coming::{Coming, ComingState};
pub(crate) use limits::Incoming;
pub use place::Place;
pub use seen::{Passed, Seen};

use self::books::Books;
use self::coming::TaskFacts;
use self::figures::Figures;
use self::limits::Limits;
use self::lines::Lines;
use self::tap::{Item, Matter, Tap};
use crate::engine::{Draw, Engine, EngineError};
use crate::presence::Presences;
use crate::roster::Roster;

/// Things about to come in that are shown of an agent, the largest. Judgement: a screen has room for a few.
const COMING_SHOWN: usize = 64;

/// The budget of one agent at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentBudget {
    /// Whose.
    pub agent: AgentId,
    /// In which tokens, and how large its window is.
    pub measure: CountingMethod,
    /// The measured error of the family, in percent either way; 0 where it is exact or a bound.
    pub error_percent: u8,
    /// The window that something last came into.
    pub now: Option<Arc<Window>>,
    /// Windows of conversations beside it, the last used first.
    pub beside: Vec<Arc<Window>>,
    /// How fast it fills lately.
    pub burn: Burn,
    /// What is about to come in, the largest first.
    pub coming: Vec<Coming>,
    /// The limit of its window, where a rule sets one.
    pub limit: Option<TokenLimit>,
}

/// What the parts of the budget share.
pub(crate) struct Budget {
    scale: Arc<dyn TokenCounter>,
    clock: Arc<dyn Clock>,
    policy: Arc<Policy>,
    roster: Arc<RwLock<Arc<Roster>>>,
    presences: Arc<Presences>,
    tap: Tap,
    books: Mutex<Books>,
    figures: Figures,
    limits: Limits,
    lines: Lines,
    /// Tasks whose result came while nobody counted.
    unseen: Mutex<Vec<(TaskHandle, Option<TaskFacts>)>>,
    flushing: tokio::sync::Mutex<flush::Retry>,
    shown: watch::Sender<()>,
}

impl Budget {
    pub(crate) fn new(
        (scale, clock, policy): (Arc<dyn TokenCounter>, Arc<dyn Clock>, Arc<Policy>),
        (roster, presences): (Arc<RwLock<Arc<Roster>>>, Arc<Presences>),
        draw: Draw,
    ) -> Self {
        let draw = Box::new(move || WindowId::from_random(draw()));
        Self {
            tap: Tap::new(&policy.counting),
            books: Mutex::new(Books::new(policy.counting.clone(), clock.now(), draw)),
            scale,
            clock,
            policy,
            roster,
            presences,
            figures: Figures::default(),
            limits: Limits::default(),
            lines: Lines::default(),
            unseen: Mutex::default(),
            flushing: tokio::sync::Mutex::default(),
            shown: watch::Sender::new(()),
        }
    }

    fn numbers(&self) -> &CountingPolicy {
        &self.policy.counting
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read())
    }

    /// How an agent is measured.
    fn measure(&self, agent: AgentId) -> CountingMethod {
        let known = self.roster().get(agent);
        let heard = self.presences.client(agent);
        let client = heard.or_else(|| known.as_ref().and_then(|agent| agent.client.clone()));
        let none = CountingSettings::default();
        models::counting_method(known.as_ref().map_or(&none, |agent| &agent.meter), client.as_deref())
    }

    /// Tells whoever watches that windows changed.
    fn show(&self) {
        if self.books.lock().take_changed() {
            self.shown.send_replace(());
        }
    }
}

impl Engine {
    /// Something passed between the gateway and an agent. Never waits and never fails: what cannot be counted in time is
    /// taken as one token a byte.
    pub fn saw(&self, seen: Seen) {
        if !self.core.policy.counting.on {
            return;
        }
        let server = || seen.handle.and_then(|id| self.core.ledger.held(id)).map(|handle| handle.server);
        let server = seen.server.or_else(server);
        self.core.budget.leave(Item::Saw(Seen { server, ..seen }));
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
        let place = Place::new(agent, door, session.as_deref());
        let (family, now) = (budget.measure(agent).family, budget.now());
        budget.books.lock().began(&place, family, now);
    }

    /// Output of an agent's open task that its model does not read: what the server logs. What it says of the task itself
    /// (status messages, progress) is known here already, whoever looked for it.
    pub fn kept_out(&self, id: HandleId, text: Payload) {
        let Some(handle) = self.core.ledger.held(id).filter(|_| self.core.policy.counting.on) else { return };
        let Some(agent) = handle.agent else { return };
        let matter = Matter { agent, server: handle.server, tool: handle.tool.clone(), handle: id, text };
        self.core.budget.leave(Item::Aside(matter));
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
        let roster = self.core.roster();
        let agents = roster.all().into_iter().filter(|agent| agent.revoked.is_none());
        agents.filter_map(|agent| self.budget_of(&roster, agent.id, agent.meter != CountingSettings::default())).collect()
    }

    fn budget_of(&self, roster: &Roster, agent: AgentId, is_set: bool) -> Option<AgentBudget> {
        let budget = &self.core.budget;
        let (measure, now) = (budget.measure(agent), budget.now());
        let open = self.core.ledger.of_agent(agent);
        let (standing, working, since) = {
            let mut books = budget.books.lock();
            let standing = books.standing(agent, &measure);
            let sizes = books.sizes();
            let works = open.iter().filter(|handle| !handle.view.is_terminal() && handle.ended_at().is_none());
            let usual = |handle: &TaskHandle| sizes.usual(handle.server, handle.tool.as_ref());
            let works = works.map(|handle| coming::working(handle, usual(handle), now));
            (standing, works.collect::<Vec<_>>(), books.started())
        };
        let (window, beside, mut coming) =
            standing.map(|standing| (standing.now, standing.beside, standing.coming)).unwrap_or_default();
        if window.is_none() && !is_set {
            return None;
        }
        coming.extend(working);
        coming.sort_by_key(|one| (std::cmp::Reverse(one.tokens.map_or(0, |count| count.tokens)), one.handle));
        coming.truncate(COMING_SHOWN);
        let rules = roster.rules();
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

    /// Told when budgets changed, at most each `counting.show_every`: a level, look after each.
    #[must_use]
    pub fn budgets_watch(&self) -> watch::Receiver<()> {
        self.core.budget.shown.subscribe()
    }

    /// What passed so far is counted and stored when this returns; waits for counting for a short while at most.
    pub async fn flush_budget(&self) {
        flush::flush_all(&self.core).await;
    }

    /// A person declares an agent's window empty. The tools behind its doors stand in the next one again.
    ///
    /// # Errors
    /// When the agent has no access, or the registry cannot record it.
    pub async fn empty_window(&self, agent: AgentId, by: PersonId) -> Result<(), EngineError> {
        if !self.core.roster().has_access(agent) {
            return Err(EngineError::UnknownAgent);
        }
        // What passed before this belongs to the window that is emptied.
        flush::flush_all(&self.core).await;
        let now = self.core.now();
        let (actor, subject, note) = (Actor::Person(by), Subject::Agent(agent), "emptied".to_owned());
        let fact = AuditEvent { at: now, actor, verb: Verb::BudgetChanged, subject, note };
        self.core.registry.record(vec![fact]).await?;
        self.core.budget.books.lock().empty(agent, now);
        flush::flush(&self.core).await;
        self.core.budget.show();
        Ok(())
    }
}
