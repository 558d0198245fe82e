//! The limits of the listener, of agents' streams and of the bridge, beside those that agents notice (`gateway.rs`).
//!
//! Used by `host` alone.

use std::time::Duration;

use super::{KIB, MINUTE, SECOND};

/// Limits and times of the listener, of the socket's agent streams, and of `taskwarden connect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerPolicy {
    /// Streams of bridges at once. Judgement: as many agents as are expected at most.
    pub streams_max: usize,
    /// How long a peer may take nothing of what is written to it. Judgement.
    pub write_limit: Duration,
    /// Time for requests in work when the core stops. Judgement: below the drain's.
    pub close_limit: Duration,
    /// How often connections are checked. Judgement: thousands cost microseconds.
    pub sweep_every: Duration,
    /// Between two attempts of a bridge to reach its core. Judgement: not felt, not busy.
    pub bridge_step: Duration,
    /// Requests of a bridge's client that may wait for answers at once. Judgement: as many as a face takes.
    pub bridge_requests_max: usize,
    /// Bytes of those requests that are kept for sending again. Judgement: a few of the largest.
    pub bridge_kept_bytes: usize,
    /// After its input ended, how long a bridge waits for answers that are on their way. Judgement.
    pub bridge_farewell: Duration,
    /// Processes that are remembered as an agent's. Judgement: a few for each of the agents.
    pub agent_processes_max: usize,
}

impl Default for ListenerPolicy {
    fn default() -> Self {
        Self {
            streams_max: 1_024,
            write_limit: MINUTE,
            close_limit: 3 * SECOND,
            sweep_every: SECOND,
            bridge_step: SECOND / 20,
            bridge_requests_max: 1_024,
            bridge_kept_bytes: 64 * 1_024 * KIB,
            bridge_farewell: 2 * SECOND,
            agent_processes_max: 4_096,
        }
    }
}
