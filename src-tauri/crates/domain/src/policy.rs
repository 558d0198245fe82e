//! Every number with a unit: default, meaning and source. `xtask tidy` rejects such literals elsewhere.
//!
//! `host::config` may override fields from file and environment and validates with [`Policy::check`]; the engine
//! re-reads the policy at each decision. "Judgement" marks a value we chose; others name their source.

mod api;
mod client_files;
mod control;
mod gateway;
mod host;
mod keeper;
mod listener;
mod mcp_server;
mod plain_text;
mod retention;
pub mod schedule;
mod search;
mod servers;
mod shares;
mod token_counting;

use std::time::Duration;

pub use api::ApiPolicy;
pub use client_files::ClientFilePolicy;
pub use control::{
    AlarmPolicy, CALLS_REMEMBERED, ControlPolicy, ControlTokenPolicy, FINGERPRINT_BYTES, HaltPolicy, PausePolicy,
};
pub use gateway::{AGENT_TTL_MAX_MILLIS, GatewayPolicy, LATE_REPLY_WAIT, TOOL_NAME_CHARS};
pub use host::HostPolicy;
pub use keeper::{KeeperPolicy, SERVER_MARK_QUEUE_BYTES};
pub use listener::ListenerPolicy;
pub use mcp_server::{COPIED_BODY_MAX_BYTES, COPIED_RESULT_MAX_BYTES, REMEMBERED_META_MAX_BYTES, ServingPolicy};
pub use plain_text::{escaped_text, plain_text, reason_text, without_control_sequences, without_terminal_sequences};
pub use retention::{AuditPolicy, RetentionPolicy};
pub use search::SearchPolicy;
pub use servers::{ObservedServerPolicy, SignInPolicy, ToolMemoryPolicy};
pub use shares::SharePolicy;
pub use token_counting::CountingPolicy;

const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// Bytes in a KiB.
pub const KIB: usize = 1_024;
/// Bytes in a MiB.
pub const MIB: usize = 1_048_576;

/// Written beside the registry to learn whether its disk has room: twice the 32 KiB of shared memory that SQLite wants
/// at least.
pub const ROOM_TRIAL_BYTES: usize = 64 * KIB;

/// The product's limits and times. Plain values; [`Policy::check`] says whether they fit together.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    // --- polling ---
    /// First interval when the server gives no hint. Ruling 11.
    pub poll_first: Duration,
    /// The interval without a hint grows to this. Ruling 11.
    pub poll_last: Duration,
    /// A task is polled this long after a person's act for it reached its server, whatever the server's hint. Ruling
    /// 46.
    pub first_poll_after_act: Duration,
    /// And once more this long after the act. Ruling 46.
    pub second_poll_after_act: Duration,
    /// Factor by which the interval without a hint grows at each poll that brought no change. Judgement.
    pub poll_growth: f64,
    /// The only ceiling for hints: longer ones are cut to this. Ruling 11.
    pub hint_ceiling: Duration,
    /// The least time between two polls of one task when a hint is zero or absurdly short. Judgement:
    /// a server may say `pollInterval: 0`; ten polls a second is as often as anybody can read.
    pub hint_floor: Duration,
    /// Interval while a live subscription covers the task. Architecture §3.6.
    pub poll_subscribed: Duration,
    /// Our own reads at a time per server; cancels and answers have their own lane. Ruling 12.
    pub reads_per_server: usize,
    /// Our own reads at a time over all servers. Judgement: 64 open requests keep a core busy on loopback and
    /// stay far below any file limit.
    pub reads_total: usize,
    /// Deliveries (answers and cancels) at a time per server. Judgement; 1,000 cancels within 1 s on loopback.
    pub deliveries_per_server: usize,
    /// How often the servers' own lists are read for tasks we do not know. protocol.md §7.1 R4.
    pub list_every: Duration,
    /// Pages of one `tasks/list` sweep at most; a server whose cursor never ends is cut here. Judgement.
    pub list_pages_max: usize,
    /// Tasks adopted from one server's list at most. Judgement; memory stays bounded.
    pub discovered_max: usize,

    // --- missed polls ---
    /// First wait after a failure. Architecture §3.6.
    pub backoff_first: Duration,
    /// Longest wait after failures. Architecture §3.6.
    pub backoff_last: Duration,
    /// Longest wait before connecting again while tasks of the server are open. Judgement: people wait for these;
    /// two tries a minute cost a dead server nothing.
    pub reconnect_busy_last: Duration,
    /// Share of a wait that is random, both ways. Architecture §3.6.
    pub jitter_share: f64,
    /// Misses before a task counts as silent. Architecture §3.6: this or `silent_intervals`, whichever is later.
    pub silent_misses: u32,
    /// Poll intervals without news before a task counts as silent.
    pub silent_intervals: u32,
    /// "Unknown task" answers before expiry that make a task lost. protocol.md §7.6: a few, with back-off.
    pub unknown_tries: u32,
    /// Creation times of one task that differ by no more than this are the same time. Judgement: servers write
    /// whole seconds through one door and milliseconds through another.
    pub created_slack: Duration,
    /// Longest `Retry-After` obeyed as it is; longer ones are cut. Judgement, equal to `hint_ceiling`.
    pub retry_after_ceiling: Duration,

    // --- connecting ---
    /// Silence of a warm child after which the era probe counts as unanswered. protocol.md §3.2.
    pub probe_silence: Duration,
    /// Time for a child's first output, or for an HTTP answer to the probe (npx and uvx download). protocol.md §3.2.
    pub probe_first_output: Duration,
    /// Time for the answer to `initialize`. Judgement.
    pub initialize_limit: Duration,
    /// Time to open a TCP and TLS connection. Judgement.
    pub connect_limit: Duration,
    /// Time for the answer to a read, an answer or a cancel. Judgement; 2025's `tasks/result` blocks and is exempt.
    pub reply_limit: Duration,
    /// An HTTP connection that was idle for longer is not used again. Below the 5 s after which Node and uvicorn close
    /// idle connections by default, so that a request does not meet a connection that is just being closed.
    pub pool_idle_limit: Duration,
    /// One that was idle for longer is used after one more look at the sockets of its runtime: the server may have closed
    /// it unseen. Judgement: calls in a row reuse theirs within microseconds, and the look costs one.
    pub pool_look_after: Duration,
    /// Time between two pieces of a body before it counts as hanging. Judgement.
    pub body_idle_limit: Duration,
    /// Ordered shutdown of a child: after closing its input. protocol.md §7.6.
    pub child_close_wait: Duration,
    /// Ordered shutdown of a child: between SIGTERM and SIGKILL. protocol.md §7.6.
    pub child_term_wait: Duration,
    /// How often it is checked whether a child's group is empty: the system does not notify. Judgement.
    pub child_group_look: Duration,
    /// How often the processes of a server are read while it is ended: a reading goes through all processes of the
    /// system. Judgement.
    pub process_watch_every: Duration,
    /// Processes that are named where some outlived the end of their server. Judgement: a fork bomb is not listed whole.
    pub processes_named_max: usize,
    /// Redirects followed within the same origin. Judgement.
    pub redirects_max: usize,

    /// Time for a burst of changes of the watched tasks to end before a subscription is replaced. Judgement: shorter
    /// than a person notices, long enough for a hundred tasks that start together.
    pub subscribe_settle: Duration,
    /// Time for the open `tasks/result` of a finished 2025 task to end before a second one is sent. Judgement: most
    /// servers end it together with the task; one SDK polls once a second, and nobody should wait for that.
    pub open_result_wait: Duration,

    // --- calling, answering, stopping ---
    /// A plain call older than this is shown as a task of our own. Ruling 22.
    pub promote_after: Duration,
    /// A cancel that is not obeyed for this long is reported as a problem. Architecture §3.6 (60 s), peers.md §4.3 (30
    /// s).
    pub cancel_grace: Duration,
    /// Rounds of questions before a task exists. rmcp's driver stops at 10 as well (protocol.md §4.1).
    pub rounds_max: u32,
    /// Wait before a state-only round is answered. Judgement (protocol.md §2.5: back off).
    pub round_wait: Duration,
    /// After an acknowledged answer the same key stays answered for this long even if still listed;
    /// after it, a warning is logged, the key is not asked again. protocol.md §7.5.
    pub answer_settle: Duration,
    /// People are reminded of an open question after this. Architecture §3.6.
    pub remind_after: Duration,
    /// Calls open at once on one server, shared as `shares` says. Judgement; bounds memory.
    pub open_calls_per_server: u64,

    // --- learning ---
    /// Finished calls needed before "usually takes" is shown. Ruling 4.
    pub usual_samples_min: u32,
    /// Latest finished calls kept per server and tool. Judgement.
    pub usual_samples_kept: u32,
    /// No task is later than usual before it lasted this long, however fast its tool usually is. Judgement: people are
    /// told of it, and cannot act on less.
    pub usual_late_min: Duration,

    // --- sizes ---
    /// Longest message, line or body read from a server. rmcp's limit too (protocol.md §4.1).
    pub message_cap_bytes: usize,
    /// Deepest nesting of a message. Judgement; `serde_json`'s own limit is 128.
    pub message_depth_max: usize,
    /// Longest JSON-RPC id read from a peer. Judgement: ids are counters or UUIDs.
    pub rpc_id_cap_bytes: usize,
    /// Longest id of a server-sent event that is sent back for resuming. Judgement: servers take about 8 KiB for all
    /// headers together.
    pub event_id_cap_bytes: usize,
    /// Most messages in one JSON-RPC batch (peers of 2025-03-26). Judgement; bounds memory.
    pub batch_messages_max: usize,
    /// Longest text of a server kept for display (status message, question, error). Judgement.
    pub server_text_cap_chars: usize,
    /// Longest form schema accepted. Judgement: 500 fields with long texts.
    pub schema_cap_bytes: usize,
    /// Longest upstream task id accepted. Judgement: the wire gives no limit, memory needs one.
    pub task_id_cap_bytes: usize,
    /// Questions one task may have over its life. Judgement.
    pub requests_per_task_max: usize,
    /// Questions of one task that are open here at once; the rest is counted and comes up as others close. Judgement:
    /// several screens of an inbox.
    pub open_questions_per_task: usize,
    /// Questions of one server that are open here at once, beside the first one of each task. Judgement.
    pub open_questions_per_server: usize,
    /// Bytes in memory of the open questions of one task, and of one question alone. Judgement: two of the largest forms.
    pub open_question_bytes_per_task: usize,
    /// Bytes in memory of all questions that one task asks over its life: closed ones stay, to be shown with their answers.
    /// Judgement: a thousand forms of a screen each.
    pub question_bytes_per_task: usize,
    /// Calls that are named as the ones that may be asking a question. Judgement: more cannot be told apart anyway.
    pub question_candidates_max: usize,
    /// Bytes of live questions of one connection that wait for others to close; what is beyond is dismissed. Judgement.
    pub waiting_question_bytes: usize,
    /// Largest arguments accepted for a call. Judgement; bodies beyond are refused by most servers.
    pub arguments_cap_bytes: usize,
    /// Kept of a message that could not be read, for `doctor`. Judgement.
    pub unreadable_kept_bytes: usize,
    /// Kept of a child's standard error. Judgement: the last screenfuls.
    pub stderr_kept_bytes: usize,
    /// Lines of the status log kept per task. Judgement.
    pub log_lines_per_task: u32,
    /// Progress commits per task and second at most; the latest always wins. Judgement.
    pub progress_per_second: u32,

    // --- registry and feed ---
    /// How long change rows are kept. Architecture §3.6.
    pub change_log_kept: Duration,
    /// Largest number of units in one group commit. Judgement; bounds the wait of the first one.
    pub group_commit_max: usize,
    /// How often unchanged contact is flushed. Ruling 6.
    pub contact_flush: Duration,
    /// Frames of a feed come no closer together than this. Ruling 13.
    pub feed_frame: Duration,
    /// Rows of a list page at most. Judgement.
    pub page_rows_max: u32,
    /// Open questions, and tasks that need attention, shown at most. Judgement: ten thousand of each are a day's work
    /// for a town.
    pub inbox_rows_max: u32,
    /// Longest value kept at a person's desk. Judgement: a form of 500 fields half filled in.
    pub desk_value_bytes: usize,
    /// Longest name of something at the desk: a task's id and the key of a question.
    pub desk_key_bytes: usize,
    /// Things of one kind kept at the desk; the oldest falls out. Judgement.
    pub desk_items_max: u32,
    /// Bytes of one kind kept at the desk; the oldest falls out. Judgement: read at once when a window opens.
    pub desk_kind_bytes: u64,
    /// Longest raw message kept. Judgement: what a person can read.
    pub raw_message_bytes: usize,
    /// Raw messages kept per task. Judgement: ten questions with their answers.
    pub raw_messages_per_task: u32,
    /// How long an answer is held back so that it can be undone. peers.md §4.3.
    pub hold_back: Duration,
    /// How often the wall clock is compared with the time that passed. Judgement: a step is seen before the shortest
    /// hold-back is over.
    pub clock_look: Duration,
    /// A difference from here on is a step; a smaller one is followed without a word. Judgement: time services slew by
    /// less than a second between two checks.
    pub clock_step: Duration,
    /// After a step, nothing is deleted or ended for its age for this long: the clock may be set again. Judgement: a
    /// wrong clock is noticed within a day.
    pub clock_trust_after: Duration,
    /// No timer for a moment of the clock sleeps longer than this before it checks again. Timers of the
    /// runtime stand still while the computer sleeps. Issue 11.
    pub timer_look: Duration,
    /// Changes of the set of watched tasks within this time reach the connection as one. Judgement: short beside the
    /// 100 ms that a pushed change may take, long enough for a burst of calls.
    pub watch_settle: Duration,
    /// How often old change rows and status lines are removed. Judgement.
    pub prune_every: Duration,
    /// How often the sweeper reads which tasks time alone will change, to wait for their moments. Judgement.
    pub sweep_every: Duration,
    /// The shortest limit of time of a task. Judgement: a shorter one would end calls that are only slow.
    pub run_limit_min: Duration,
    /// The longest limit of time of a task. Judgement: longer than any task that is watched.
    pub run_limit_max: Duration,
    /// Rows the sweeper and the deliverer take at once. Judgement.
    pub batch_rows: u32,
    /// How long the end may take before it is forced. Architecture §3.6.
    pub drain_limit: Duration,
    /// Kept free on disk for cancels and answers when it is full. Ruling 28; judgement.
    pub reserve_file_bytes: u64,
    /// How long the registry waits for a lock of another process. Judgement: a backup of a small registry passes.
    pub registry_busy_wait: Duration,
    /// A registry up to this size is checked whole at each start, a larger one by `doctor`. Judgement: about 0.2 s.
    pub registry_check_bytes: u64,
    /// Backups kept beside the registry; each is made before a migration. Judgement.
    pub backups_kept: usize,

    // --- serving ---
    /// The numbers of being a server: the demo server, and later the gateway.
    pub serving: ServingPolicy,
    /// What the program around the core allows itself.
    pub hosting: HostPolicy,
    /// What calls and feeds allow themselves.
    pub asking: ApiPolicy,
    /// What agents may use up, and what they learn about time.
    pub gateway: GatewayPolicy,
    /// What keepers of children allow themselves.
    pub keeping: KeeperPolicy,
    /// How tokens are counted.
    pub counting: CountingPolicy,
    /// What a peer can make grow, and who may use how much of it.
    pub shares: SharePolicy,
    /// How long what is stored is kept, and how much of it.
    pub retention: RetentionPolicy,
    /// How often the audit log is signed. Boxed: futures that carry a policy are at their limit of size.
    pub audit: Box<AuditPolicy>,
    /// Signing in to servers. Boxed as well.
    pub sign_in: Box<SignInPolicy>,
    /// What is kept in memory of each server: its log, and how its requests went.
    pub observed: Box<ObservedServerPolicy>,
    /// What is remembered of the tools of a server.
    pub tool_memory: Box<ToolMemoryPolicy>,
    /// How much of the files of agent programs is read.
    pub client_files: ClientFilePolicy,
    /// How halts are kept and shown.
    pub halt: HaltPolicy,
    /// How plans are made, kept and run.
    pub control: ControlPolicy,
    /// What is searched in what tasks say.
    pub search: SearchPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            poll_first: 5 * SECOND,
            poll_last: MINUTE,
            first_poll_after_act: SECOND,
            second_poll_after_act: 5 * SECOND,
            poll_growth: 1.5,
            hint_ceiling: HOUR,
            hint_floor: SECOND / 10,
            poll_subscribed: MINUTE,
            reads_per_server: 4,
            reads_total: 64,
            deliveries_per_server: 16,
            list_every: 2 * MINUTE,
            list_pages_max: 1_000,
            discovered_max: 20_000,
            backoff_first: SECOND,
            backoff_last: 5 * MINUTE,
            reconnect_busy_last: 30 * SECOND,
            jitter_share: 0.2,
            silent_misses: 3,
            silent_intervals: 3,
            unknown_tries: 3,
            created_slack: SECOND,
            retry_after_ceiling: HOUR,
            probe_silence: 3 * SECOND,
            probe_first_output: 30 * SECOND,
            initialize_limit: 30 * SECOND,
            connect_limit: 10 * SECOND,
            reply_limit: 30 * SECOND,
            pool_idle_limit: 4 * SECOND,
            pool_look_after: Duration::from_millis(1),
            body_idle_limit: 60 * SECOND,
            child_close_wait: 3 * SECOND,
            child_term_wait: 3 * SECOND,
            child_group_look: Duration::from_millis(20),
            process_watch_every: Duration::from_millis(100),
            processes_named_max: 10,
            redirects_max: 3,
            subscribe_settle: SECOND / 4,
            open_result_wait: SECOND / 5,
            promote_after: 2 * SECOND,
            cancel_grace: 30 * SECOND,
            rounds_max: 10,
            round_wait: SECOND,
            answer_settle: 2 * MINUTE,
            remind_after: 10 * MINUTE,
            open_calls_per_server: 1_000,
            usual_samples_min: 5,
            usual_samples_kept: 200,
            usual_late_min: 30 * SECOND,
            message_cap_bytes: 16 * MIB,
            message_depth_max: 100,
            rpc_id_cap_bytes: 512,
            event_id_cap_bytes: KIB,
            batch_messages_max: 1_000,
            server_text_cap_chars: 4_000,
            schema_cap_bytes: 512 * KIB,
            task_id_cap_bytes: 4 * KIB,
            requests_per_task_max: 1_000,
            open_questions_per_task: 64,
            open_questions_per_server: 256,
            open_question_bytes_per_task: MIB,
            question_bytes_per_task: 4 * MIB,
            question_candidates_max: 32,
            waiting_question_bytes: 4 * MIB,
            arguments_cap_bytes: 4 * MIB,
            unreadable_kept_bytes: 16 * KIB,
            stderr_kept_bytes: 64 * KIB,
            log_lines_per_task: 1_000,
            progress_per_second: 5,
            change_log_kept: 7 * DAY,
            group_commit_max: 256,
            contact_flush: 3 * SECOND,
            feed_frame: Duration::from_millis(33),
            page_rows_max: 1_000,
            inbox_rows_max: 10_000,
            desk_value_bytes: 64 * KIB,
            desk_key_bytes: 8 * KIB,
            desk_items_max: 10_000,
            desk_kind_bytes: 16 * 1_048_576,
            raw_message_bytes: 64 * KIB,
            raw_messages_per_task: 20,
            hold_back: 5 * SECOND,
            clock_look: 2 * SECOND,
            clock_step: 2 * SECOND,
            clock_trust_after: DAY,
            timer_look: 30 * SECOND,
            watch_settle: SECOND / 20,
            prune_every: HOUR,
            sweep_every: SECOND,
            run_limit_min: SECOND,
            run_limit_max: DAY * 30,
            batch_rows: 500,
            drain_limit: 5 * SECOND,
            reserve_file_bytes: 4 * 1_048_576,
            registry_busy_wait: 5 * SECOND,
            registry_check_bytes: 64 * 1_048_576,
            backups_kept: 5,
            serving: ServingPolicy::default(),
            hosting: HostPolicy::default(),
            asking: ApiPolicy::default(),
            gateway: GatewayPolicy::default(),
            keeping: KeeperPolicy::default(),
            counting: CountingPolicy::default(),
            shares: SharePolicy::default(),
            retention: RetentionPolicy::default(),
            audit: Box::default(),
            sign_in: Box::default(),
            observed: Box::default(),
            tool_memory: Box::default(),
            client_files: ClientFilePolicy::default(),
            halt: HaltPolicy::default(),
            control: ControlPolicy::default(),
            search: SearchPolicy::default(),
        }
    }
}

/// A policy whose numbers do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("policy `{field}`: {why}")]
pub struct BadPolicy {
    pub field: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Policy {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(self.hint_floor > Duration::ZERO, "hint_floor", "must be above zero")?;
        rule(self.poll_first >= self.hint_floor, "poll_first", "must not be below hint_floor")?;
        rule(self.poll_last >= self.poll_first, "poll_last", "must not be below poll_first")?;
        rule(self.poll_growth >= 1.0 && self.poll_growth.is_finite(), "poll_growth", "must be 1 or more")?;
        rule(self.hint_ceiling >= self.poll_last, "hint_ceiling", "must not be below poll_last")?;
        rule(self.backoff_first > Duration::ZERO, "backoff_first", "must be above zero")?;
        rule(self.backoff_last >= self.backoff_first, "backoff_last", "must not be below backoff_first")?;
        rule(self.reconnect_busy_last >= self.backoff_first, "reconnect_busy_last", "must not be below backoff_first")?;
        rule((0.0..=0.5).contains(&self.jitter_share), "jitter_share", "must be between 0 and 0.5")?;
        rule(self.reads_per_server > 0 && self.reads_total > 0, "reads_per_server", "must be above zero")?;
        rule(self.deliveries_per_server > 0, "deliveries_per_server", "must be above zero")?;
        rule(self.group_commit_max > 0, "group_commit_max", "must be above zero")?;
        rule(self.page_rows_max > 0 && self.batch_rows > 0, "page_rows_max", "must be above zero")?;
        rule(self.message_cap_bytes >= 64 * KIB, "message_cap_bytes", "must be 64 KiB or more")?;
        rule((8..=120).contains(&self.message_depth_max), "message_depth_max", "must be between 8 and 120")?;
        rule(self.progress_per_second > 0, "progress_per_second", "must be above zero")?;
        self.counting.check()?;
        self.shares.check()?;
        self.control.alarms.check()?;
        self.control.pauses.check()?;
        self.retention.check()?;
        self.audit.check()?;
        self.sign_in.check()?;
        self.gateway.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_policy_fits_together() {
        assert_eq!(Policy::default().check(), Ok(()));
    }

    #[test]
    fn a_policy_that_contradicts_itself_names_the_field() {
        let policy = Policy { poll_last: Duration::from_millis(1), ..Policy::default() };
        assert_eq!(policy.check().map_err(|bad| bad.field), Err("poll_last"));
    }
}
