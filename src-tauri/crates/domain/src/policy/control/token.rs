//! The limits of control tokens and of the door that they open.
//!
//! Used by the engine, which counts what a token ends, by the api, which makes tokens and opens feeds, and by the host, which
//! serves them. What a token may do at all is in `domain::agent::control_token`.

use std::time::Duration;

use super::super::{DAY, KIB, MINUTE, SECOND};

/// How much a supervisor program may do, and what is remembered of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlTokenPolicy {
    /// Tokens in force at most. Judgement: far more than supervisors on one machine.
    pub tokens_max: usize,
    /// Characters of a name at most. As for agents.
    pub name_chars: usize,
    /// Random bytes of a token. As for agents.
    pub token_bytes: usize,
    /// Tasks that one call may end, unless the person says otherwise. stop.md §3.5.
    pub per_call: u32,
    /// Tasks that a token may end in an hour, unless the person says otherwise. stop.md §3.5.
    pub per_hour: u32,
    /// The span of the limit above.
    pub hour: Duration,
    /// How long the answer to an idempotency key is kept. stop.md §4.
    pub answer_kept: Duration,
    /// Characters of an idempotency key at most. Judgement: several times a UUID.
    pub key_chars: usize,
    /// Bytes of a request body at most. Judgement: 2,000 handles.
    pub body_bytes: usize,
    /// Calls in progress at the control door at most. Judgement: each waits for servers; a supervisor makes one at a time.
    pub calls_max: usize,
    /// How long a caller waits that came while there were too many, or while its key was in progress. Judgement: most calls
    /// are answered within it.
    pub busy_retry: Duration,
    /// Feeds open at once at most, of all tokens. Judgement: several supervisors, each with one or two; each costs a
    /// connection and reads rows.
    pub feeds_max: usize,
    /// Feeds of one token open at once at most. Judgement: one that is open, and one that takes its place.
    pub feeds_of_one_token: usize,
    /// How long a program waits before it opens a feed again that ended. Judgement: a core restarts within it.
    pub feed_retry: Duration,
    /// Tasks of one page of a list at most. Judgement: a model reads them.
    pub page_rows: u32,
    /// Tasks of one page for a tool over MCP that names no limit. Judgement: about 1,500 tokens.
    pub tool_rows: u32,
}

impl Default for ControlTokenPolicy {
    fn default() -> Self {
        Self {
            tokens_max: 100,
            name_chars: 40,
            token_bytes: 32,
            per_call: 20,
            per_hour: 100,
            hour: 60 * MINUTE,
            answer_kept: DAY,
            key_chars: 200,
            body_bytes: 64 * KIB,
            calls_max: 16,
            busy_retry: SECOND,
            feeds_max: 32,
            feeds_of_one_token: 4,
            feed_retry: 3 * SECOND,
            page_rows: 100,
            tool_rows: 20,
        }
    }
}
