//! The numbers of the doors that programs come through: connections, heads, bodies, bridges.
//!
//! Used by `host` alone. What an agent may do behind the door is in `gateway.rs`.

use std::time::Duration;

use super::{KIB, MINUTE, SECOND};

/// Limits and times of the listener, of the socket's agent streams, and of `taskwarden connect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doorway {
    /// Connections of the listener at once; past it the one that is idle longest goes. Judgement: a thousand agents with
    /// a stream and two requests each.
    pub connections_max: usize,
    /// Streams of bridges at once. Judgement: as many agents as are expected at most.
    pub streams_max: usize,
    /// Time for a head to be whole once its first byte is there. Judgement: it is one packet on this machine.
    pub head_limit: Duration,
    /// How long a connection may say nothing. Judgement: longer than clients keep theirs (undici 4 s, httpx 5 s,
    /// reqwest and Go 90 s), so that they close first and no request meets a closed connection.
    pub idle_limit: Duration,
    /// Time for a body to be whole. Judgement: 16 MiB on this machine take milliseconds.
    pub body_limit: Duration,
    /// How long a peer may take nothing of what is written to it. Judgement.
    pub write_limit: Duration,
    /// Time for requests in work when the core stops. Judgement: below the drain's.
    pub close_limit: Duration,
    /// How often connections are looked through. Judgement: thousands cost microseconds.
    pub sweep_every: Duration,
    /// Header lines of a request. hyper's own default is 100; agents send about twelve.
    pub headers_max: usize,
    /// Bytes of a head. Judgement: twice what common servers take (nginx: 8 KiB a line, 32 KiB in all).
    pub head_bytes_max: usize,
    /// Requests of one agent a second, long run. Judgement: above what a busy client of one connection reaches here
    /// by far, below what keeps other agents waiting.
    pub requests_per_second: u32,
    /// Requests of one agent at once before the rate counts. Judgement: two seconds' worth.
    pub requests_burst: u32,
    /// How long a bridge looks for a core, or starts one, before it tells its client. Judgement: a start takes a second,
    /// a restart with a large registry a few.
    pub bridge_patience: Duration,
    /// Between two looks of a bridge for its core. Judgement: not felt, not busy.
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

impl Default for Doorway {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            streams_max: 1_024,
            head_limit: 10 * SECOND,
            idle_limit: 2 * MINUTE,
            body_limit: 30 * SECOND,
            write_limit: MINUTE,
            close_limit: 3 * SECOND,
            sweep_every: SECOND,
            headers_max: 64,
            head_bytes_max: 64 * KIB,
            requests_per_second: 5_000,
            requests_burst: 10_000,
            bridge_patience: MINUTE,
            bridge_step: SECOND / 20,
            bridge_requests_max: 1_024,
            bridge_kept_bytes: 64 * 1_024 * KIB,
            bridge_farewell: 2 * SECOND,
            agent_processes_max: 4_096,
        }
    }
}
