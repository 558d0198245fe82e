//! The limits of the API: calls, feeds, pages and user data.
//!
//! Used by `api` alone. Limits of logs, processes and browser sessions are in `host.rs`.

use std::time::Duration;

use super::{DAY, KIB, MIB, MINUTE, SECOND};

/// Limits and times of calls and feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiPolicy {
    /// Feeds open at once. Judgement: a window, its tray and a few browsers.
    pub feeds_max: usize,
    /// How long `tasks.result` waits for a result that is being fetched. Judgement: a fetch takes less than a second,
    /// and a person waits a few.
    pub result_wait: Duration,
    /// Questions in a page of the inbox. Judgement: more than a person answers in one sitting.
    pub inbox_page_rows: u32,
    /// How long one call verifies the audit log before it says how far it came. Judgement: well below `reply_limit`.
    pub verify_limit: Duration,
    /// Tasks of a list that one feed watches. Judgement: several screens of rows.
    pub feed_rows_max: usize,
    /// Lists that one call counts. Judgement: more views than a person saves.
    pub counted_lists_max: usize,
    /// Counts, totals and servers of a feed are read no closer together than this. Judgement: five times a second is
    /// as fast as numbers can be read.
    pub counts_rest: Duration,
    /// How often a feed checks whether what is on screen was seen again. Judgement: people read seconds.
    pub heard_tick: Duration,
    /// How often a window learns when agents were last seen, and of their calls. Judgement: a row people glance at.
    pub agents_tick: Duration,
    /// How often a feed checks whether a deadline is near. Judgement: they are shown in minutes.
    pub deadline_tick: Duration,
    /// How long an answered question stays in the inbox, struck out. Design: 3 s.
    pub answered_shown: Duration,
    /// A server's expiry is a deadline only when it is this near. Judgement: beyond a day nobody hurries.
    pub deadline_near: Duration,
    /// Calls of one server that are lost this soon after each other share a cause. Judgement: a broken connection ends all
    /// of its calls within moments, and a restart writes thousands of rows in a few seconds.
    pub loss_gap: Duration,
    /// Calls that the item of a cause lists; the others are counted. Judgement: more than a person reads one by one.
    pub loss_calls_shown: usize,
    /// Answers on a page of the answered ones. Judgement: a few screens.
    pub answered_page_rows: u32,
    /// Bytes of an answer that are shown in the list of answered questions. Judgement: more than a screen of it.
    pub answered_content_bytes: usize,
    /// Equal questions that one call answers. Judgement: what a person can take in at a glance is far less.
    pub answers_at_once_max: usize,
    /// Answers that Taskwarden gives by itself, at most. Judgement: a person cannot oversee more.
    pub standing_answers_max: usize,
    /// Longest text of a server in a row of a list. Contract of the window: 300 characters.
    pub row_text_chars: usize,
    /// End of a server's standard error in a feed; `servers.show` has all that is kept. Judgement: a screenful.
    pub feed_stderr_bytes: usize,
    /// Tasks cancelled by one call. Judgement: everything a person can have open, twice over.
    pub stops_max: u32,
    /// Audit rows in the history of a task, the newest. Judgement: far more than a task has.
    pub history_rows_max: u32,
    /// Moments a task was seen, in its history, the newest. Contract of the window.
    pub looks_max: usize,
    /// Parts a result is shown in; the rest is shown as one. Judgement.
    pub parts_max: usize,
    /// Characters of a part that come with the list of parts. Contract of the window.
    pub preview_chars: usize,
    /// Largest picture or sound handed to the window, in characters of base64. Contract of the window.
    pub media_chars_max: usize,
    /// Sessions of one agent that are listed, and servers that a check of its connection names. Judgement: more than
    /// people read.
    pub agent_sessions_shown: usize,
    /// How long a door of agents may take to answer when it is checked. Judgement: on this machine it takes milliseconds.
    pub door_limit: Duration,
    /// Arguments of earlier calls that are offered for the next call of a tool. Judgement: a short menu.
    pub recent_arguments: usize,
    /// Calls of a tool that are looked through for them, the newest. Judgement: repeats of a few calls.
    pub recent_calls_scanned: u32,
    /// Longer arguments are not offered. Judgement: what a form shows without scrolling for ever.
    pub recent_arguments_bytes: usize,
    /// Largest piece of a large text at a time. Judgement: drawn within a frame or two.
    pub piece_bytes_max: usize,
}

impl Default for ApiPolicy {
    fn default() -> Self {
        Self {
            feeds_max: 16,
            result_wait: 5 * SECOND,
            inbox_page_rows: 100,
            verify_limit: 5 * SECOND,
            feed_rows_max: 500,
            counted_lists_max: 100,
            counts_rest: SECOND / 5,
            heard_tick: SECOND,
            agents_tick: 2 * SECOND,
            deadline_tick: MINUTE,
            answered_shown: 3 * SECOND,
            deadline_near: DAY,
            loss_gap: 10 * SECOND,
            loss_calls_shown: 100,
            answered_page_rows: 50,
            answered_content_bytes: 4 * KIB,
            answers_at_once_max: 1_000,
            standing_answers_max: 200,
            row_text_chars: 300,
            feed_stderr_bytes: 4 * KIB,
            stops_max: 20_000,
            history_rows_max: 2_000,
            looks_max: 200,
            parts_max: 1_000,
            preview_chars: 4_000,
            media_chars_max: 2 * MIB,
            agent_sessions_shown: 20,
            door_limit: 3 * SECOND,
            recent_arguments: 5,
            recent_calls_scanned: 50,
            recent_arguments_bytes: 16 * KIB,
            piece_bytes_max: 256 * KIB,
        }
    }
}
