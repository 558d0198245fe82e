//! What agents call, noted on the way of each call: fingerprints for alarms, and receipts that wait to be stored.
//!
//! Each agent has locks of its own, held for a push into a ring of fixed size or a list of limited size. Nothing is decided
//! and nothing is stored here; `calls/loop_detector.rs` and `tasks/audit_log/call_receipts.rs` look at it at intervals.

mod waiting_receipts;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use domain::agent::alarm::CalledTool;
use domain::agent::call_history::{CallHistory, SeenResult};
use domain::ids::AgentId;
use domain::policy::FINGERPRINT_BYTES;
use domain::ports::{CallError, CallReply};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::waiting_receipts::{AgentReceipts, ReceiptQueue, TakenReceipts};

/// The calls of all agents of this run.
pub(crate) struct CallLog {
    /// Written when an agent makes its first call.
    agents: RwLock<HashMap<AgentId, Arc<AgentCalls>>>,
    news: Arc<CallNews>,
    /// What all agents together have waiting.
    pub(crate) receipts: Arc<ReceiptQueue>,
    /// What the times of calls are counted from.
    began: Instant,
}

/// Whether anything was noted since the last look. Fingerprints of one run say nothing in another.
#[derive(Default)]
struct CallNews {
    is_there: AtomicBool,
    wake: Notify,
    hasher: RandomState,
}

/// The calls of one agent.
pub(crate) struct AgentCalls {
    pub(crate) history: Mutex<CallHistory>,
    open: AtomicU32,
    /// The most that were open at once since the last look.
    most_open: AtomicU32,
    is_new: AtomicBool,
    news: Arc<CallNews>,
    /// Receipts that wait to be stored.
    pub(crate) receipts: AgentReceipts,
}

/// One call that was noted. It counts as in flight until this is dropped.
pub(crate) struct NotedCall {
    agent: Arc<AgentCalls>,
    number: u64,
}

impl Default for CallLog {
    fn default() -> Self {
        Self { agents: RwLock::default(), news: Arc::default(), receipts: Arc::default(), began: Instant::now() }
    }
}

impl CallLog {
    /// The calls of one agent.
    pub(crate) fn of(&self, agent: AgentId) -> Arc<AgentCalls> {
        let calls = self.agents.read().get(&agent).cloned();
        calls.unwrap_or_else(|| self.first_call(agent))
    }

    /// Notes a call of an agent.
    pub(crate) fn called(&self, calls: Arc<AgentCalls>, called: CalledTool, arguments: &str) -> NotedCall {
        let open = calls.open.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        calls.most_open.fetch_max(open, Ordering::Relaxed);
        let fingerprint = self.news.fingerprint(&called, arguments);
        let number = calls.history.lock().called(self.now(), called, fingerprint);
        calls.tell();
        NotedCall { agent: calls, number }
    }

    fn first_call(&self, agent: AgentId) -> Arc<AgentCalls> {
        let mut agents = self.agents.write();
        let calls = agents.entry(agent).or_insert_with(|| {
            Arc::new(AgentCalls {
                history: Mutex::default(),
                open: AtomicU32::new(0),
                most_open: AtomicU32::new(0),
                is_new: AtomicBool::new(false),
                news: Arc::clone(&self.news),
                receipts: AgentReceipts::new(Arc::clone(&self.receipts)),
            })
        });
        Arc::clone(calls)
    }

    /// This moment, as the times of calls are counted.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until something is noted that nobody has looked at. Cancel-safe: a permit is kept.
    pub(crate) async fn noted(&self) {
        while !self.news.is_there.load(Ordering::Acquire) {
            self.news.wake.notified().await;
        }
    }

    /// Takes the receipts of all agents that wait, in the order of their time.
    pub(crate) fn take_receipts(&self) -> TakenReceipts {
        let agents: Vec<Arc<AgentCalls>> = self.agents.read().values().cloned().collect();
        TakenReceipts::of(agents.iter().map(|calls| calls.receipts.take()))
    }

    /// All agents that ever called, with whether they did since the last look. What is noted from now on is news.
    pub(crate) fn look(&self) -> Vec<(AgentId, Arc<AgentCalls>, bool)> {
        self.news.is_there.store(false, Ordering::Release);
        let agents = self.agents.read();
        let seen = |(id, calls): (&AgentId, &Arc<AgentCalls>)| {
            (*id, Arc::clone(calls), calls.is_new.swap(false, Ordering::AcqRel))
        };
        agents.iter().map(seen).collect()
    }
}

impl CallNews {
    /// Tells two texts apart without keeping them: by their length and what they begin and end with.
    fn fingerprint(&self, of: &impl Hash, text: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        of.hash(&mut hasher);
        let bytes = text.as_bytes();
        bytes.len().hash(&mut hasher);
        match bytes.split_at_checked(bytes.len().saturating_sub(FINGERPRINT_BYTES)) {
            Some((head, tail)) => {
                hasher.write(head.get(..FINGERPRINT_BYTES).unwrap_or(head));
                hasher.write(tail);
            }
            None => hasher.write(bytes),
        }
        hasher.finish()
    }
}

impl AgentCalls {
    /// The most calls that were in flight at once since this was asked last.
    pub(crate) fn take_most_open(&self) -> u32 {
        self.most_open.swap(self.open.load(Ordering::Relaxed), Ordering::Relaxed)
    }

    fn tell(&self) {
        self.is_new.store(true, Ordering::Release);
        let news = &self.news;
        if !news.is_there.load(Ordering::Acquire) && !news.is_there.swap(true, Ordering::AcqRel) {
            news.wake.notify_one();
        }
    }
}

impl NotedCall {
    /// Notes what the call brought back. A task brings its result later, and a question none.
    pub(crate) fn replied(&self, reply: &Result<CallReply, CallError>) {
        let print = |is_error: bool, text: &str| SeenResult {
            fingerprint: self.agent.news.fingerprint(&is_error, text),
            is_error,
        };
        let result = match reply {
            Ok(CallReply::Result { payload, is_error }) => print(*is_error, payload.as_str()),
            Ok(CallReply::Error { payload, .. }) => print(true, payload.as_str()),
            Ok(CallReply::Task { .. } | CallReply::NeedsInput { .. }) => return,
            Err(error) => print(true, &error.to_string()),
        };
        self.agent.history.lock().replied(self.number, result);
        self.agent.tell();
    }
}

impl Drop for NotedCall {
    fn drop(&mut self) {
        self.agent.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::ServerId;

    use super::*;

    fn tool(name: &str) -> CalledTool {
        CalledTool { server: ServerId::from_random(1), tool: name.into() }
    }

    #[test]
    fn calls_are_the_same_when_server_tool_and_arguments_are() {
        let news = CallNews::default();
        let long = "a".repeat(3 * FINGERPRINT_BYTES);
        let print = |name: &str, text: &str| news.fingerprint(&tool(name), text);
        assert_eq!(print("search", &long), print("search", &long.clone()));
        assert_ne!(print("search", "{}"), print("read", "{}"), "another tool");
        assert_ne!(print("search", "{\"a\":1}"), print("search", "{\"a\":2}"), "other arguments");
        assert_ne!(print("search", &long), print("search", &format!("{long}a")), "a longer text of the same letters");
    }

    #[test]
    fn a_call_is_in_flight_until_it_is_dropped_and_the_most_at_once_is_told_once() {
        let log = CallLog::default();
        let agent = AgentId::from_random(1);
        let open: Vec<NotedCall> = (0..3).map(|_| log.called(log.of(agent), tool("search"), "{}")).collect();
        drop(open);
        let [(_, calls, true)] = &log.look()[..] else { panic!("one agent called") };
        assert_eq!((calls.take_most_open(), calls.take_most_open()), (3, 0));
        assert!(matches!(log.look()[..], [(_, _, false)]), "and nothing is new after a look");
    }
}
