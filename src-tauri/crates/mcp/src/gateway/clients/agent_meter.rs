//! What one agent has in use, and how everything of it that waits is woken at once: by the end of its access, or by time.
//!
//! A request holds a place here from its admission to its answer. The limits themselves are `rate_limit.rs`, the passing
//! of time is `reminders.rs`.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;

use domain::ids::AgentId;
use engine::Engine;
use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::gateway::clients::rate_limit::TokenBucket;
use crate::server::{ClientProgram, Session};

/// What one agent has in use.
pub(crate) struct AgentMeter {
    pub(super) bucket: Mutex<TokenBucket>,
    /// Requests in work.
    in_flight: AtomicUsize,
    /// Room for open subscriptions.
    pub(super) subscriptions: Arc<Semaphore>,
    revoked: AtomicBool,
    /// Wakes every request of the agent that waits.
    woken: Notify,
    /// Calls without a first reply.
    waiting: AtomicUsize,
    /// How often its waiting calls were reminded that time passes.
    reminders: AtomicU64,
    /// Requests in work and open sessions: the agent is present while there is one.
    pub(super) open: AtomicUsize,
    /// The open sessions, by id.
    pub(super) sessions: Mutex<HashMap<String, Weak<Session>>>,
    /// What its program said of itself last, as the engine was told.
    program: Mutex<Option<ClientProgram>>,
    /// The tool that it called last.
    tool: Mutex<Option<Arc<str>>>,
}

impl AgentMeter {
    pub(super) fn new(bucket: TokenBucket, subscriptions: usize) -> Self {
        Self {
            bucket: Mutex::new(bucket),
            in_flight: AtomicUsize::new(0),
            subscriptions: Arc::new(Semaphore::new(subscriptions)),
            revoked: AtomicBool::new(false),
            woken: Notify::new(),
            waiting: AtomicUsize::new(0),
            reminders: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            sessions: Mutex::default(),
            program: Mutex::default(),
            tool: Mutex::default(),
        }
    }

    /// Requests in work.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Takes a place for a request; `None` when `most` are in work.
    pub(super) fn take_place<'a>(
        self: &Arc<Self>,
        engine: &'a Engine,
        agent: AgentId,
        most: usize,
    ) -> Option<RequestPermit<'a>> {
        let with_one = |before: usize| (before < most).then_some(before + 1);
        self.in_flight.fetch_update(Ordering::AcqRel, Ordering::Acquire, with_one).ok()?;
        self.open.fetch_add(1, Ordering::AcqRel);
        Some(RequestPermit { engine, agent, meter: Arc::clone(self) })
    }

    /// One request or session less is open; with the last one the agent is away.
    pub(super) fn close_one(&self, engine: &Engine, agent: AgentId) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            engine.agent_gone(agent);
        }
    }

    /// The agent has lost its access: everything that waits for it ends now.
    pub(super) fn revoke(&self) {
        self.revoked.store(true, Ordering::Release);
        self.woken.notify_waiters();
    }

    fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Acquire)
    }

    /// The answer of a request, or `None` at once when its agent loses its access.
    pub(crate) async fn while_it_has_access<T>(&self, mut answering: impl Future<Output = T> + Unpin) -> Option<T> {
        let mut ended = pin!(async {
            loop {
                // Whoever is woken after this line was registered before the flag was read.
                let woken = self.woken.notified();
                if self.is_revoked() {
                    return;
                }
                woken.await;
            }
        });
        poll_fn(move |context| {
            if !self.is_revoked()
                && let Poll::Ready(answer) = answering.poll_unpin(context)
            {
                return Poll::Ready(Some(answer));
            }
            // Only a request that waits registers itself.
            ended.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    /// Counts a call without a first reply until the value is dropped.
    pub(super) fn wait(&self) -> WaitingCall<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        WaitingCall(self)
    }

    /// Whether a call waits for its first reply.
    pub(super) fn has_waiting_call(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Wakes the calls that wait, so that they look at the clock. Returns whether there are any.
    pub(super) fn remind(&self) -> bool {
        let has_waiting_call = self.has_waiting_call();
        if has_waiting_call {
            self.reminders.fetch_add(1, Ordering::Release);
            self.woken.notify_waiters();
        }
        has_waiting_call
    }

    /// How often calls were reminded: a call that sees the number change has been waiting for a while.
    pub(crate) fn reminders(&self) -> u64 {
        self.reminders.load(Ordering::Acquire)
    }

    /// Whether the program says something else of itself than last time, or something for the first time.
    pub(crate) fn has_new_program(&self, said: &ClientProgram) -> bool {
        let mut known = self.program.lock();
        if known.as_ref() == Some(said) {
            return false;
        }
        *known = Some(said.clone());
        true
    }

    /// The name of a tool, shared with the agent's last call of it.
    pub(crate) fn tool(&self, name: &str) -> Arc<str> {
        let mut last = self.tool.lock();
        match &*last {
            Some(known) if **known == *name => Arc::clone(known),
            Some(_) | None => {
                let tool: Arc<str> = Arc::from(name);
                *last = Some(Arc::clone(&tool));
                tool
            }
        }
    }
}

/// A request that was admitted, until it is dropped.
pub(crate) struct RequestPermit<'a> {
    engine: &'a Engine,
    agent: AgentId,
    meter: Arc<AgentMeter>,
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        self.meter.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.meter.close_one(self.engine, self.agent);
    }
}

/// A call without a first reply.
pub(crate) struct WaitingCall<'a>(&'a AgentMeter);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn meter() -> AgentMeter {
        AgentMeter::new(TokenBucket::full(1.0), 1)
    }

    #[test]
    fn what_a_program_says_of_itself_is_news_only_when_it_changes() {
        let meter = meter();
        let program = |name: &str| ClientProgram { name: name.to_owned(), version: "1".to_owned() };
        let news: Vec<_> = ["a", "a", "b", "a"].map(|name| meter.has_new_program(&program(name))).to_vec();
        assert_eq!(news, [true, false, true, true], "each change, and nothing else");
    }

    #[test]
    fn a_tool_that_is_called_again_is_the_same_text_in_memory() {
        let meter = meter();
        let first = meter.tool("echo");
        assert!(Arc::ptr_eq(&first, &meter.tool("echo")), "nothing is allocated for it");
        assert_eq!(&*meter.tool("other"), "other");
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_ends_with_the_access_and_nothing_is_begun_after_it() {
        let meter = Arc::new(meter());
        let held = Arc::clone(&meter);
        let waiting = async move { held.while_it_has_access(pending::<()>()).await };
        let waiting = std::pin::pin!(waiting);
        let revoking = async {
            tokio::task::yield_now().await;
            meter.revoke();
        };
        let (ended, ()) = tokio::join!(waiting, revoking);
        assert_eq!(ended, None, "it was woken");
        assert_eq!(meter.while_it_has_access(ready(1)).await, None, "a ready answer is not taken any more");
    }
}
