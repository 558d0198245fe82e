//! The context budget: what fills agents' context windows, what tasks keep out of them, and what may not enter.
//!
//! The gateway reports what passed ([`Engine::saw`]) and never waits; one worker counts it. Occupancy (what is in a
//! window) and spend (what came in over time) are separate figures. Nothing here knows the protocol's messages or shows
//! anything. Read `conversations/windows.rs` for windows, `counting` for counting, `limits.rs` for limits, `flush.rs`
//! for the workers.

pub(crate) mod agent_budgets;
mod commit;
pub(crate) mod conversations;
pub(crate) mod counting;
pub(crate) mod flush;
mod limits;
mod pending_results;
mod record;
mod restore;
mod result_text;
mod retry;
mod status_messages;
mod task_costs;
#[cfg(test)]
mod tests;
mod usual_results;

use std::sync::Arc;

use domain::budget::models::{self, CountingMethod};
use domain::budget::window::{Burn, CountingSettings, Window};
use domain::ids::{AgentId, WindowId};
use domain::policy::{CountingPolicy, Policy};
use domain::ports::TokenCounter;
use domain::rule::TokenLimit;
use domain::task::TaskHandle;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::access::Access;
use crate::budget::conversations::windows::ConversationWindows;
use crate::budget::counting::queue::CountingQueue;
use crate::budget::limits::ResultLimits;
use crate::budget::pending_results::ResultFacts;
use crate::budget::status_messages::StatusMessages;
use crate::budget::task_costs::TaskCosts;
use crate::engine::Draw;
use crate::runtime::time::Time;

pub use conversations::conversation::Conversation;
pub use counting::traffic::{AgentTraffic, Passed};
pub(crate) use limits::IncomingResult;
pub use pending_results::{PendingResult, PendingResultState};
pub(crate) use restore::restore;
pub(crate) use result_text::{CallOrigin, ResultText};
pub use usual_results::UsualResult;

/// Things about to come in that are shown of an agent, the largest. Judgement: a screen has room for a few.
const COMING_SHOWN: usize = 64;

/// The budget of one agent at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentBudget {
    /// The agent with this budget.
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
    pub coming: Vec<PendingResult>,
    /// The limit of its window, where a rule sets one.
    pub limit: Option<TokenLimit>,
}

/// What the parts of the budget share.
pub(crate) struct Budget {
    scale: Arc<dyn TokenCounter>,
    time: Arc<Time>,
    policy: Arc<Policy>,
    access: Arc<Access>,
    queue: CountingQueue,
    windows: Mutex<ConversationWindows>,
    task_costs: TaskCosts,
    limits: ResultLimits,
    status_messages: StatusMessages,
    /// Tasks whose result came while nobody counted.
    uncounted: Mutex<Vec<(TaskHandle, Option<ResultFacts>)>>,
    flushing: tokio::sync::Mutex<retry::RetryState>,
    shown: watch::Sender<()>,
}

impl Budget {
    pub(crate) fn new(
        scale: Arc<dyn TokenCounter>,
        time: Arc<Time>,
        policy: Arc<Policy>,
        access: Arc<Access>,
        draw: Draw,
    ) -> Self {
        let draw = Box::new(move || WindowId::from_random(draw()));
        Self {
            queue: CountingQueue::new(&policy.counting, &policy.shares),
            windows: Mutex::new(ConversationWindows::new(policy.counting.clone(), time.now(), draw)),
            scale,
            time,
            policy,
            access,
            task_costs: TaskCosts::default(),
            limits: ResultLimits::default(),
            status_messages: StatusMessages::default(),
            uncounted: Mutex::default(),
            flushing: tokio::sync::Mutex::default(),
            shown: watch::Sender::new(()),
        }
    }

    fn numbers(&self) -> &CountingPolicy {
        &self.policy.counting
    }

    fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// How an agent is measured.
    fn measure(&self, agent: AgentId) -> CountingMethod {
        let known = self.access.snapshot().get(agent);
        let reported = self.access.presences.client(agent);
        let client = reported.or_else(|| known.as_ref().and_then(|agent| agent.client.clone()));
        let none = CountingSettings::default();
        models::counting_method(known.as_ref().map_or(&none, |agent| &agent.meter), client.as_deref())
    }

    /// Notifies watchers when windows changed.
    fn show(&self) {
        if self.windows.lock().take_changed() {
            self.shown.send_replace(());
        }
    }
}
