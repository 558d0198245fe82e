//! Receipts of calls from the moment they are made until they are stored: in memory, bounded, and looked at in batches.
//!
//! A receipt waits in a list of its agent; nobody waits for it. Where too many wait, their number and time is kept in their
//! place; where too many arguments wait, a receipt waits without them and gets no mark. What becomes of them is decided in
//! `tasks/audit_log/call_receipts.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::audit::receipt::MissedReceipts;
use domain::policy::AuditPolicy;
use domain::ports::{ArgumentsDigest, Receipt};
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How many receipts wait over all agents, and who is woken for them.
#[derive(Default)]
pub(crate) struct ReceiptQueue {
    /// Receipts that are not stored, those that are being stored included.
    waiting: AtomicUsize,
    /// Bytes of their arguments.
    argument_bytes: AtomicUsize,
    /// Calls without their first answer: each will leave a receipt.
    open: AtomicUsize,
    /// Woken when the first receipt waits, and again when a batch is full.
    woken: Notify,
}

/// What one agent has waiting.
#[derive(Default)]
struct AgentWaiting {
    receipts: Vec<Receipt>,
    argument_bytes: usize,
    missed: Option<MissedReceipts>,
}

/// Receipts of one agent that wait.
pub(crate) struct AgentReceipts {
    all: Arc<ReceiptQueue>,
    waiting: Mutex<AgentWaiting>,
}

/// Receipts that were taken to be stored.
#[derive(Default)]
pub(crate) struct TakenReceipts {
    /// In the order of their time.
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) missed: Option<MissedReceipts>,
}

impl ReceiptQueue {
    /// A call begins that will leave a receipt.
    pub(crate) fn call_began(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether every call that began has left its receipt, and all of them are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0 && self.waiting.load(Ordering::Acquire) == 0
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Waits until at least so many wait. Cancel-safe: a permit is kept.
    pub(crate) async fn holds(&self, many: usize) {
        while self.waiting() < many {
            self.woken.notified().await;
        }
    }

    /// These are stored.
    pub(crate) fn stored(&self, receipts: &[Receipt]) {
        let bytes = receipts.iter().map(|receipt| size(receipt.arguments.as_ref())).sum();
        self.argument_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.waiting.fetch_sub(receipts.len(), Ordering::AcqRel);
    }

    /// Counts these arguments if there is room for them.
    fn takes_arguments(&self, bytes: usize, most: usize) -> bool {
        let with_these = |held: usize| held.checked_add(bytes).filter(|all| *all <= most);
        self.argument_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, with_these).is_ok()
    }
}

fn size(arguments: Option<&ArgumentsDigest>) -> usize {
    arguments.map_or(0, ArgumentsDigest::kept_bytes)
}

impl AgentReceipts {
    pub(super) fn new(all: Arc<ReceiptQueue>) -> Self {
        Self { all, waiting: Mutex::default() }
    }

    /// The call of this receipt has its first answer. `now` is asked while nobody else can add or take: receipts of one
    /// agent stand in the order of their time, and none is added later that is older than what was taken.
    pub(crate) fn add(&self, mut receipt: Receipt, now: impl FnOnce() -> Timestamp, policy: &AuditPolicy) {
        let mut waiting = self.waiting.lock();
        receipt.at = now();
        let is_full =
            waiting.receipts.len() >= policy.receipts_per_agent || self.all.waiting() >= policy.receipts_waiting;
        if is_full {
            waiting.missed = Some(MissedReceipts::with_one(waiting.missed, receipt.at));
        } else {
            receipt.arguments = self.kept(receipt.arguments.take(), &mut waiting, policy);
            waiting.receipts.push(receipt);
            let before = self.all.waiting.fetch_add(1, Ordering::AcqRel);
            if before == 0 || before + 1 == policy.receipts_at_once {
                self.all.woken.notify_one();
            }
        }
        drop(waiting);
        self.all.open.fetch_sub(1, Ordering::AcqRel);
    }

    /// The arguments in memory of their own, so that they keep no message alive, and none where their digest is known; `None`
    /// where there is no room for them.
    fn kept(
        &self,
        arguments: Option<ArgumentsDigest>,
        waiting: &mut AgentWaiting,
        policy: &AuditPolicy,
    ) -> Option<ArgumentsDigest> {
        let arguments = arguments?.detached();
        let bytes = arguments.kept_bytes();
        let of_agent = waiting.argument_bytes.checked_add(bytes)?;
        if of_agent > policy.receipt_agent_argument_bytes
            || !self.all.takes_arguments(bytes, policy.receipt_argument_bytes)
        {
            return None;
        }
        waiting.argument_bytes = of_agent;
        Some(arguments)
    }

    pub(super) fn take(&self) -> AgentTaken {
        let AgentWaiting { receipts, missed, .. } = std::mem::take(&mut *self.waiting.lock());
        AgentTaken { receipts, missed }
    }
}

/// What was taken of one agent.
pub(super) struct AgentTaken {
    receipts: Vec<Receipt>,
    missed: Option<MissedReceipts>,
}

impl TakenReceipts {
    pub(super) fn of(agents: impl Iterator<Item = AgentTaken>) -> Self {
        let mut all = Self::default();
        for AgentTaken { receipts, missed } in agents {
            all.receipts.extend(receipts);
            all.missed = match (all.missed, missed) {
                (Some(known), Some(missed)) => Some(known.and(missed)),
                (known, missed) => known.or(missed),
            };
        }
        all.receipts.sort_by_key(|receipt| receipt.at);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::audit::receipt::{ReceiptOutcome, ReceiptVerdict};
    use domain::ids::AgentId;
    use domain::task::payload::Payload;

    use super::*;

    fn receipt(arguments: &str) -> Receipt {
        Receipt {
            at: Timestamp::EPOCH,
            agent: AgentId::from_random(1),
            server: None,
            tool: "search".into(),
            arguments: Some(ArgumentsDigest::of(Payload::new(arguments))),
            verdict: ReceiptVerdict::Allowed,
            outcome: ReceiptOutcome::Result,
            took: Duration::ZERO,
            bytes_in: 2,
            bytes_out: 2,
            handle: None,
        }
    }

    fn policy() -> AuditPolicy {
        AuditPolicy {
            receipts_at_once: 2,
            receipts_per_agent: 3,
            receipts_waiting: 4,
            receipt_argument_bytes: 8,
            receipt_agent_argument_bytes: 5,
            ..AuditPolicy::default()
        }
    }

    fn agents() -> (Arc<ReceiptQueue>, [AgentReceipts; 2]) {
        let all = Arc::<ReceiptQueue>::default();
        let agents = [(); 2].map(|()| AgentReceipts::new(Arc::clone(&all)));
        (all, agents)
    }

    fn add(all: &ReceiptQueue, agent: &AgentReceipts, arguments: &str, at: i64) {
        all.call_began();
        agent.add(receipt(arguments), || Timestamp::from_millis(at), &policy());
    }

    #[test]
    fn beyond_their_limits_receipts_are_counted_and_those_that_wait_stay() {
        let (all, [one, other]) = agents();
        for at in 1..=4 {
            add(&all, &one, "", at);
        }
        for at in 5..=6 {
            add(&all, &other, "", at);
        }
        let taken = TakenReceipts::of([&one, &other].map(AgentReceipts::take).into_iter());
        let times: Vec<i64> = taken.receipts.iter().map(|receipt| receipt.at.as_millis()).collect();
        assert_eq!(times, [1, 2, 3, 5], "three of one agent, four in all");
        let at = Timestamp::from_millis;
        assert_eq!(taken.missed, Some(MissedReceipts { count: 2, first: at(4), last: at(6) }));
        all.stored(&taken.receipts);
        assert!(all.is_empty(), "and there is room again");
    }

    #[test]
    fn a_receipt_waits_without_arguments_where_there_is_no_room_for_them() {
        let (all, [one, other]) = agents();
        add(&all, &one, "1234", 1);
        add(&all, &one, "12", 2);
        add(&all, &other, "12345", 3);
        let taken = TakenReceipts::of([&one, &other].map(AgentReceipts::take).into_iter());
        let kept: Vec<usize> = taken.receipts.iter().map(|receipt| size(receipt.arguments.as_ref())).collect();
        assert_eq!(kept, [4, 0, 0], "one agent has a limit, and all have one");
        all.stored(&taken.receipts);
        add(&all, &other, "12345", 4);
        let taken = other.take();
        assert_eq!(size(taken.receipts[0].arguments.as_ref()), 5, "what was stored makes room");
    }

    #[test]
    fn a_receipt_whose_digest_is_known_waits_without_arguments_and_has_its_mark_all_the_same() {
        let (all, [one, _]) = agents();
        let digest = ArgumentsDigest::of(Payload::new("too long for the room"));
        let known = Arc::clone(digest.get());
        all.call_began();
        one.add(Receipt { arguments: Some(digest), ..receipt("") }, || Timestamp::EPOCH, &policy());
        let taken = one.take();
        let waited = taken.receipts[0].arguments.as_ref().expect("what its mark is made of");
        assert_eq!((waited.kept_bytes(), waited.get()), (0, &known));
        all.stored(&taken.receipts);
        assert!(all.is_empty());
    }

    #[tokio::test]
    async fn nothing_is_empty_while_a_call_has_no_answer() {
        let (all, [one, _]) = agents();
        all.call_began();
        assert!(!all.is_empty());
        one.add(receipt(""), || Timestamp::EPOCH, &policy());
        all.holds(1).await;
        assert!(!all.is_empty(), "its receipt waits");
        all.stored(&one.take().receipts);
        assert!(all.is_empty());
    }
}
