//! The limits of serving MCP: what clients may use, and how long things are kept for them.
//!
//! Used by the MCP server and by the demo server; the limits of the MCP client are in `policy.rs`.

use std::time::Duration;

use super::{HOUR, KIB, MIB, MINUTE, SECOND};

/// Bodies up to this size are copied out of the buffer that their connection reads into, which is used again then.
/// Judgement: the copy costs less than a new buffer of 8 KiB.
pub const COPIED_BODY_MAX_BYTES: usize = 4 * KIB;

/// Results up to this size are copied into the buffer of their envelope: below it the copy costs less than two more
/// pieces to write. Judgement: a copy of this size takes about 200 ns.
pub const COPIED_RESULT_MAX_BYTES: usize = 8 * KIB;

/// Longest `_meta` that a connection remembers. Judgement: what clients say about themselves is a few hundred bytes.
pub const REMEMBERED_META_MAX_BYTES: usize = 2 * KIB;

/// Limits and times of a serving face.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingPolicy {
    /// Largest body or line accepted from a client. rmcp's server has the same cap (protocol.md §4.1, HTTP server).
    pub body_cap_bytes: usize,
    /// Requests in work at once over all clients of a face; more are refused. Judgement: far above what agents do.
    pub requests_in_work_max: usize,
    /// Sessions of the older eras at once. Judgement; each is a few KiB.
    pub sessions_max: usize,
    /// A session without a request, a stream or a live task is ended after this. Judgement; rmcp uses 300 s,
    /// which field reports call too short (protocol.md §7.6).
    pub session_idle: Duration,
    /// Questions to one legacy client that wait for its reply. Judgement; bounds memory.
    pub asks_per_session_max: usize,
    /// Open `subscriptions/listen` streams. Judgement.
    pub subscriptions_max: usize,
    /// Task ids in one subscription. Judgement: all tasks of one client of ours.
    pub ids_per_subscription_max: usize,
    /// A response that is not there after this turns into an event stream with comments, so that a closed
    /// connection is noticed. Judgement: shorter than the 30 s of common proxies.
    pub keep_alive: Duration,
    /// A response to an older client that can come back for it turns into an event stream after this, so that the
    /// client knows where to come back to. Judgement: quick calls stay plain JSON.
    pub stream_after: Duration,
    /// How long such a client waits before it comes back (`retry:`). The TypeScript SDK tries twice: a core that is
    /// back within twice this time is found.
    pub stream_retry: Duration,
    /// Params of a request, or capabilities of a client, that the client carries for us over a restart. Judgement: both
    /// are a few hundred bytes, and all headers of a request must be below 16 KiB.
    pub carried_bytes: usize,
    /// Longest name of a session or an event that is read. Judgement: the longest that is written is well below.
    pub carried_name_bytes: usize,
    /// Two pushes about one task come no closer together, unless its status changed. Judgement: 20 a second
    /// is more than anybody reads, and a change is still seen within 100 ms.
    pub push_rest: Duration,
    /// A question of a 2025 task goes to the standing stream when no `tasks/result` came for this long.
    /// protocol.md §9.15: two of our poll intervals.
    pub question_patience: Duration,
    /// What is in work when a client closes its pipe has this long to be answered. Judgement: below the 3 s after
    /// which clients end a child (protocol.md §7.6).
    pub end_grace: Duration,
    /// Tasks kept at once. Judgement; bounds memory.
    pub tasks_max: usize,
    /// Tasks of one owner kept at once. Judgement.
    pub tasks_per_owner_max: usize,
    /// Results kept over all tasks; the oldest finished tasks go first. Judgement.
    pub results_cap_bytes: usize,
    /// Largest result of one task; the tools cut their own text. Judgement: below what clients of ours read.
    pub result_cap_bytes: usize,
    /// How long a task is kept from its creation. Issue 2: one hour.
    pub task_ttl: Duration,
    /// The shortest `ttl` a 2025 client can ask for. Judgement.
    pub task_ttl_min: Duration,
    /// What we tell clients as the poll interval. Issue 2: one second.
    pub poll_interval: Duration,
    /// How often expired tasks and idle sessions are looked for. Judgement.
    pub sweep_every: Duration,
    /// Tasks in one page of `tasks/list`. Judgement.
    pub tasks_per_page: usize,
    /// How long a client may keep lists and discovery. Judgement: they do not change while a process lives.
    pub list_fresh: Duration,
    /// How long a question without a task waits for the client's retry. Judgement: a long lunch.
    pub parked_for: Duration,
    /// How long the sign-in page of the demo server stays open. Judgement.
    pub sign_in_open: Duration,
    /// The tick of the demo server's runaway job. Issue 2: bounded processor use.
    pub tick: Duration,
    /// How many files a demo tool reads. Judgement: names of a million files are about 100 MiB.
    pub files_max: usize,
    /// Longest path a demo tool accepts, in characters. `PATH_MAX` of Linux.
    pub path_chars_max: usize,
    /// How deep a demo tool goes into folders. Judgement: far deeper than paths can be on most systems.
    pub folder_depth_max: usize,
}

impl Default for ServingPolicy {
    fn default() -> Self {
        Self {
            body_cap_bytes: 4 * MIB,
            requests_in_work_max: 4_096,
            sessions_max: 256,
            session_idle: HOUR,
            asks_per_session_max: 256,
            subscriptions_max: 256,
            ids_per_subscription_max: 10_000,
            keep_alive: 15 * SECOND,
            stream_after: SECOND / 2,
            stream_retry: 2 * SECOND,
            carried_bytes: KIB,
            carried_name_bytes: 4 * KIB,
            push_rest: SECOND / 20,
            question_patience: 2 * SECOND,
            end_grace: SECOND / 2,
            tasks_max: 20_000,
            tasks_per_owner_max: 20_000,
            results_cap_bytes: 256 * MIB,
            result_cap_bytes: 8 * MIB,
            task_ttl: HOUR,
            task_ttl_min: SECOND,
            poll_interval: SECOND,
            sweep_every: SECOND,
            tasks_per_page: 100,
            list_fresh: 5 * MINUTE,
            parked_for: HOUR,
            sign_in_open: 10 * MINUTE,
            tick: SECOND,
            files_max: 1_000_000,
            path_chars_max: 4 * KIB,
            folder_depth_max: 512,
        }
    }
}
