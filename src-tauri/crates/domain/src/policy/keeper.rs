//! The limits of `taskwarden keep`, the small process that lets a child outlive its core (ruling 16).
//!
//! The core passes them to each keeper it starts: a keeper reads no configuration.

use std::time::Duration;

use super::{MIB, MINUTE, SECOND};

/// The limit of message queues (`ulimit -q`, in bytes) of everything that a keeper runs: one byte below what Linux gives
/// the first process (`MQ_BYTES_MAX`, 819,200). Children inherit it and cannot raise it, so it marks what a server
/// started, also when the keeper is gone (decision 0016). No queue becomes smaller by it.
pub const SERVER_MARK_QUEUE_BYTES: u64 = 819_199;

/// Limits and times of keepers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperPolicy {
    /// A child whose core does not return within this is ended with its group. Ruling 16.
    pub alone_limit: Duration,
    /// Output that no core has taken yet; a child that writes more waits. Judgement: two of the largest messages.
    pub kept_bytes: usize,
    /// Time for a keeper to start its child and say so, and for one that runs to greet. Judgement: it is on this
    /// machine, which may be busy.
    pub greeting_limit: Duration,
    /// Time for the connection of a core that is just ending to be gone. Judgement: the kernel closes it at once.
    pub handover_limit: Duration,
    /// Time for a program at a keeper's door to prove that it is its core. Judgement: one message each way on this
    /// machine; a few such programs may wait at once, and none longer than this.
    pub proof_limit: Duration,
    /// Input on its way to a child that does not take it; more waits in the core. Judgement: one large message.
    pub input_bytes: usize,
    /// Messages on their way to a child at once. Judgement: enough to keep a pipe busy.
    pub input_messages: usize,
    /// Replies to calls that are kept until they are on record; the oldest go first. Judgement: far more than are
    /// taken in at a time, and bounded.
    pub replies_kept: usize,
    /// How long word between core and keeper that nobody waits for (a line was written, a reply is recorded) waits for
    /// company. Judgement: far longer than a quick call, so that word of it goes out with the next one, and short for
    /// what it holds up: the keeper's memory of recorded output.
    pub confirm_wait: Duration,
    /// Agents' own processes of earlier cores that are taken over at a time after a start. Judgement: each takes a few
    /// messages on this machine, and the connections that people wait for are opened meanwhile.
    pub taken_over_at_once: usize,
}

impl Default for KeeperPolicy {
    fn default() -> Self {
        Self {
            alone_limit: 10 * MINUTE,
            kept_bytes: 32 * MIB,
            greeting_limit: 10 * SECOND,
            handover_limit: 5 * SECOND,
            proof_limit: 2 * SECOND,
            input_bytes: 4 * MIB,
            input_messages: 64,
            replies_kept: 4_096,
            confirm_wait: SECOND / 200,
            taken_over_at_once: 8,
        }
    }
}
