//! The limits of the gateway: what agents may use, how long calls are held, and what agents are told about time.
//!
//! Used by the gateway, by the engine's side of agents' calls and by the host's listener. Limits of the MCP server
//! itself are in `mcp_server.rs`. When a plain call becomes a task is `Policy::promote_after`.

use std::time::Duration;

use super::{BadPolicy, DAY, HOUR, KIB, MIB, MINUTE, SECOND};

/// For so long after a reply was lost the agent sees the task as working: a keeper may still bring it (ruling 16).
/// From then on the task has failed for its agent, whatever comes later. Judgement: attaching to ten keepers takes a
/// second, and a reply that was buffered is there at once.
pub const LATE_REPLY_WAIT: Duration = Duration::from_secs(10);

/// The longest name of a tool that is offered to agents. Source: MCP 2025-11-25, server/tools, "Tool Names": 1 to 128
/// characters of `A-Z a-z 0-9 _ - .`.
pub const TOOL_NAME_CHARS: usize = 128;
/// The longest time to live that an agent may ask for, in milliseconds: the largest whole number that every JSON reader
/// takes for the same. RFC 7493 §2.2.
pub const AGENT_TTL_MAX_MILLIS: u64 = 9_007_199_254_740_991;

/// Limits and times of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayPolicy {
    // --- calls ---
    /// A call that lasts longer has a row, so that it is in the window within 100 ms. Issue 4.
    pub shown_after: Duration,
    /// How often calls in flight are looked at for `shown_after`, while there are any. Judgement: the row is still there
    /// within 100 ms, and a timer for each call costs more than a hundred looks a second.
    pub show_every: Duration,
    /// With more calls than this without a row on one line, it is the machine that is slow and not the call: rows are
    /// made at `promote_after` then, so that showing calls does not slow them down further. Judgement: more than one
    /// agent has in work at once.
    pub shown_at_once: usize,
    /// How long a call is held for a program that `domain::client::profile` does not know. Ruling 22.
    pub call_limit_unknown: Duration,
    /// So much before its program gives up, a held call is answered with a handle. Ruling 22.
    pub call_limit_margin: Duration,
    /// Longest time a call is held at all: for programs that wait for hours, and for those that wait while there is
    /// progress. Judgement: past an hour nobody waits.
    pub call_limit_ceiling: Duration,
    /// The longest silence towards the program of a held call that asked for progress. protocol.md §7.3: about every
    /// 10 s.
    pub progress_every: Duration,
    /// A call that its program gave up sooner teaches nothing about the program's timeout. Judgement: whoever sets a
    /// timeout for tools gives them ten seconds, and whoever gives up sooner is a person or a test.
    pub learned_timeout_min: Duration,
    /// Two durations are the same timeout when the longer exceeds the shorter by at most so many percent. Decision
    /// 0020.
    pub learned_timeout_percent: u32,
    /// And by at most this. Judgement: a timer fires within a second, a person does not hit the same second twice.
    pub learned_timeout_spread: Duration,
    /// A learned timeout is forgotten after this, so that a program whose settings changed is held longer again.
    /// Judgement: relearning costs two calls a month, each of which a repeated call joins.
    pub learned_timeout_kept: Duration,
    /// Calls and other requests of one agent in work at once; more are refused. Judgement: four times the 256 of the
    /// benchmark.
    pub requests_per_agent_max: usize,
    /// Requests of one agent in one second, on average; more are answered with 429. Judgement: ten times what the
    /// busiest agent was seen to do, and far below what would starve others; benches set it higher.
    pub requests_per_second: u32,
    /// Requests that may come at once before the rate counts. Judgement.
    pub requests_burst: u32,
    /// Bytes of a result that `tasks_result` gives at once. Judgement: what fits a model's turn.
    pub result_page_bytes: usize,

    // --- tasks ---
    /// What agents are told as the poll interval when the server gave none. protocol.md §7.4: 2-5 s.
    pub agent_poll: Duration,
    /// The shortest interval an agent is told. protocol.md §7.4.
    pub agent_poll_min: Duration,
    /// The longest interval an agent is told. protocol.md §7.4.
    pub agent_poll_max: Duration,
    /// Polls of one task in one interval that an agent may make; beyond it, it is told to wait longer. stop.md §2: 4.
    pub polls_per_interval: u32,
    /// The shortest `ttl` a 2025 agent can ask for. Judgement, as in `mcp_server.rs`.
    pub agent_ttl_min: Duration,
    /// Tasks in one page of `tasks/list` and `tasks_list`. Judgement.
    pub tasks_per_page: u32,
    /// Longest time `tasks_wait` waits for a program that `domain::client::profile` does not know; for others it waits
    /// as long as a call is held. Judgement: below the shortest timeout of known programs, 30 s.
    pub wait_max: Duration,
    /// Undelivered attempts of one job that a repeated call considers. Judgement.
    pub repeats_max: u32,
    /// How long an undelivered reply that is ready is given to a repeated call; later, the same call is a new one. Ruling
    /// 24 joins what is open; a call that ended is joined only by the repeat of a program that missed its reply. Such a
    /// program has waited for `bridge_patience` at most when it learns that, and a minute is left for its model to repeat
    /// the call. Decision 0045.
    pub repeat_within: Duration,
    /// Undelivered replies that are found again at a start, over all agents. Judgement: more than were in flight.
    pub undelivered_max: u32,
    /// Children or attempts of a task that are shown. Judgement.
    pub kin_max: u32,
    /// Largest task object kept as it was received. Judgement: texts and a few unknown fields.
    pub task_raw_cap_bytes: usize,
    /// Largest question kept as it was received, for an agent that is asked. Equal to `schema_cap_bytes`.
    pub question_raw_cap_bytes: usize,
    /// An agent that was not seen for this long after its last connection ended is gone; its tasks are orphaned.
    /// Judgement: a restart of the agent's program, or of the bridge, takes less.
    pub orphan_after: Duration,
    /// An agent without an open stream is shown as connected for this long after it was last seen. Judgement:
    /// between two calls of a model there is rarely more.
    pub connected_for: Duration,
    /// How often calls of agents, and when they were last seen, are flushed. As `contact_flush`, ruling 6.
    pub notes_flush: Duration,

    // --- own tools ---
    /// Bytes of the definitions of the four task tools together: 1,500 tokens (issue 4) at 3.2 bytes a token.
    pub own_tools_cap_bytes: usize,

    // --- agents and doors ---
    /// Sessions of the older eras over HTTP at once, all agents together. Judgement: four for each of 1,000 agents;
    /// each is a few KiB.
    pub sessions_max: usize,
    /// Requests in work at once over HTTP, all agents together, open subscriptions among them. Judgement: above the
    /// connections that may be open.
    pub requests_in_work_max: usize,
    /// Agents that may have access at once. Judgement; the roster is in memory.
    pub agents_max: usize,
    /// Random bytes of a token. Ruling 25, contract: 256 bits.
    pub token_bytes: usize,
    /// Rules at most. Judgement; they are in memory.
    pub rules_max: usize,
    /// Connections open at once on the listener, idle ones among them; more wait to be accepted. Issue 4: 10,000 idle
    /// ones must not hurt; each costs about 10 KiB.
    pub connections_max: usize,
    /// A connection without a request in work is closed after this when the limit of connections is near. Judgement.
    pub idle_connection: Duration,
    /// Bytes of one request's headers together. Common servers take 8 to 64 KiB.
    pub headers_cap_bytes: usize,
    /// Bytes of a revoked agent's request that are read for its id. Judgement: calls are a few KiB.
    pub refused_body_bytes: usize,
    /// Headers of one request. Judgement.
    pub headers_max: usize,
    /// Time for the headers of a request to arrive whole. hyper's default is 30 s; judgement: loopback.
    pub header_limit: Duration,
    /// Time for a body to arrive whole. Judgement: 4 MiB on loopback.
    pub body_limit: Duration,
    /// Longest name of a client program that is kept. Judgement.
    pub client_name_chars: usize,

    // --- connections to servers ---
    /// An agent's own connection to a legacy server without requests or open tasks is ended after this. Judgement:
    /// longer than a coffee, shorter than a child process is a nuisance.
    pub line_idle: Duration,
    /// Agents' own connections at once; more are refused. Judgement: each may be a process.
    pub lines_max: usize,
    /// How long a request waits for its server to be connected before it is refused. Judgement: within the limit of
    /// every known client, long enough for a warm child; a cold one answers the next request.
    pub line_wait: Duration,
    /// How long a list of all servers waits for each of them; one that is not there by then is left out, and said so.
    /// Judgement: an agent that starts waits for this once.
    pub merge_wait: Duration,
    /// Bytes of one page of a merged list; the rest is on the next. Judgement: a quarter of the largest message.
    pub merged_page_bytes: usize,

    // --- bridges ---
    /// How long a bridge without a core holds requests before it answers them with an error. Judgement: a restart and
    /// an update take less.
    pub bridge_patience: Duration,

    // --- call intents ---
    /// Intents on their way to the file; beyond, a call waits for room. Judgement: many times what is in flight.
    pub intents_queue: usize,
    /// How long an intent waits for its end before it is written: calls that are answered within it are never written.
    /// What is written was begun one to two of these ago, and so long a kill can make Taskwarden forget a call. Below
    /// `shown_after`. Decision 0027.
    pub intent_settle: Duration,
    /// How long a call waits for room in the queue before it continues without an intent. Judgement: a disk that hangs
    /// must not hang agents.
    pub intent_room_wait: Duration,
    /// When a file that could not be written is tried again. Judgement.
    pub intent_retry: Duration,
    /// Left-over intents taken at one start. Judgement: more than calls can be in flight.
    pub intents_left_max: u32,
}

impl Default for GatewayPolicy {
    fn default() -> Self {
        Self {
            shown_after: Duration::from_millis(50),
            show_every: Duration::from_millis(10),
            shown_at_once: 8,
            call_limit_unknown: 25 * SECOND,
            call_limit_margin: 5 * SECOND,
            call_limit_ceiling: HOUR,
            progress_every: 10 * SECOND,
            learned_timeout_min: 10 * SECOND,
            learned_timeout_percent: 10,
            learned_timeout_spread: 2 * SECOND,
            learned_timeout_kept: 30 * DAY,
            requests_per_agent_max: 1_024,
            requests_per_second: 1_000,
            requests_burst: 2_000,
            result_page_bytes: 32 * KIB,
            agent_poll: 2 * SECOND,
            agent_poll_min: SECOND / 2,
            agent_poll_max: MINUTE,
            polls_per_interval: 4,
            agent_ttl_min: MINUTE,
            tasks_per_page: 100,
            wait_max: 20 * SECOND,
            repeats_max: 8,
            repeat_within: 3 * MINUTE,
            undelivered_max: 10_000,
            kin_max: 100,
            task_raw_cap_bytes: 16 * KIB,
            question_raw_cap_bytes: 512 * KIB,
            orphan_after: 2 * MINUTE,
            connected_for: MINUTE,
            notes_flush: 3 * SECOND,
            own_tools_cap_bytes: 4_800,
            sessions_max: 4_096,
            requests_in_work_max: 20_000,
            agents_max: 1_000,
            token_bytes: 32,
            rules_max: 10_000,
            connections_max: 16_384,
            idle_connection: MINUTE,
            headers_cap_bytes: 32 * KIB,
            refused_body_bytes: 64 * KIB,
            headers_max: 100,
            header_limit: 10 * SECOND,
            body_limit: 30 * SECOND,
            client_name_chars: 100,
            line_idle: 30 * MINUTE,
            lines_max: 256,
            line_wait: 20 * SECOND,
            merge_wait: 5 * SECOND,
            merged_page_bytes: 4 * MIB,
            bridge_patience: 2 * MINUTE,
            intents_queue: 8_192,
            intent_settle: Duration::from_millis(20),
            intent_room_wait: Duration::from_millis(5),
            intent_retry: SECOND,
            intents_left_max: 10_000,
        }
    }
}

impl GatewayPolicy {
    /// Whether the numbers fit together.
    pub(super) fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(self.show_every > Duration::ZERO, "gateway.show_every", "must be above zero")?;
        rule(self.agent_poll_min > Duration::ZERO, "gateway.agent_poll_min", "must be above zero")?;
        rule(self.agent_poll >= self.agent_poll_min, "gateway.agent_poll", "must not be below agent_poll_min")?;
        rule(self.agent_poll_max >= self.agent_poll, "gateway.agent_poll_max", "must not be below agent_poll")?;
        rule(self.call_limit_unknown > self.call_limit_margin, "gateway.call_limit_unknown", "must exceed the margin")?;
        let learns = self.learned_timeout_min > self.call_limit_margin;
        rule(learns, "gateway.learned_timeout_min", "must exceed call_limit_margin")?;
        rule(self.repeat_within >= self.bridge_patience, "gateway.repeat_within", "must not be below bridge_patience")?;
        rule(self.token_bytes >= 16, "gateway.token_bytes", "must be 16 or more")?;
        rule(self.intents_queue > 0, "gateway.intents_queue", "must be above zero")?;
        rule(self.connections_max > 0 && self.lines_max > 0, "gateway.connections_max", "must be above zero")
    }
}
