//! The limits of the host: logs, keychain, sockets, browser sessions, notifications, and what `doctor` calls too
//! little.
//!
//! Used by `host`; nothing in the engine reads them.

use std::time::Duration;

use super::{HOUR, KIB, MIB, MINUTE, SECOND};
use crate::policy::listener::ListenerPolicy;
use crate::time::Timestamp;

/// Limits and times of the program around the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPolicy {
    /// A log file larger than this is put aside. Judgement: a day of a busy core.
    pub log_file_bytes: u64,
    /// Log files kept beside the current one. Judgement.
    pub log_files_kept: u32,
    /// Lines that one place of the program may log at once; one peer or reason there has a quarter. Judgement: a
    /// screenful.
    pub log_burst_lines: u32,
    /// After its burst, one place may log a line this often. Judgement: with lines of 300 bytes, 256 KiB a day.
    pub log_line_every: Duration,
    /// Places and peers whose lines are counted. Judgement; bounds memory.
    pub log_sources_max: usize,
    /// Time for the keychain to answer; a locked one may be asking its person. Judgement.
    pub keychain_limit: Duration,
    /// Largest body of a call to the core: the largest arguments and their frame. Judgement.
    pub call_body_bytes: usize,
    /// Time to reach the core's socket. Judgement: it is on this machine.
    pub attach_limit: Duration,
    /// Between two pings of the core while a command waits for its answer. Issue 11, as the page does (`heartbeat.ts`).
    pub ping_every: Duration,
    /// Time for the answer to a ping; with `ping_every` below the 10 s within which people must know. Issue 11.
    pub ping_limit: Duration,
    /// Between two checks of a lock or a socket that is about to be free or open. Judgement: not felt, not busy.
    pub attach_step: Duration,
    /// How long a lock may be held by a command that only checks it. Judgement: it takes microseconds.
    pub lock_glance: Duration,
    /// Wait before a watching command connects to its core again. Judgement.
    pub attach_again: Duration,
    /// A watching command waits so long for a core that ended. As long as the process of a server does (ruling 16).
    pub core_wait: Duration,
    /// How often something that moves on a terminal is drawn. Judgement: smooth to the eye.
    pub draw_every: Duration,
    /// A command that has waited so long says what it waits for. Judgement: a second without a word looks broken.
    pub say_waiting_after: Duration,
    /// Secrets and the configuration file are refused above this. Judgement; both are a few KiB.
    pub small_file_bytes: u64,
    /// Less free space than this is reported by `doctor`. Judgement: a few days of a busy registry.
    pub disk_low_bytes: u64,
    /// A record that is this far in the future means that a clock was wrong. Judgement: the clocks of a computer and of a
    /// file server differ by less, and a clock that was set back an hour is named (issue 11).
    pub clock_ahead: Duration,
    /// This version did not exist before: an earlier clock is wrong. The beginning of 2026.
    pub made_after: Timestamp,
    /// How long a one-time code of the browser's door counts. Judgement: time to type twelve letters, twice.
    pub code_span: Duration,
    /// Wrong codes in `code_tries_span` that are answered as wrong; after them wrong codes get 429 for its rest, and the
    /// log says so. Judgement: far more than a person mistypes.
    pub code_tries_max: usize,
    /// In which the wrong codes are counted. Judgement: the wait of a person who mistyped too often.
    pub code_tries_span: Duration,
    /// How long a browser stays signed in, suspend included. Judgement: a working day.
    pub browser_session_span: Duration,
    /// An open feed checks this often whether its session still counts, because timers stand still during suspend.
    /// Judgement: the page of a laptop that wakes up the next day is signed out within this time.
    pub browser_session_check: Duration,
    /// Characters kept of what a browser says it is. Judgement: today's browsers need about 120.
    pub browser_name_chars: usize,
    /// Browsers that are signed in at once; the oldest goes. Judgement.
    pub browser_sessions_max: usize,
    /// Body of the calls in work at the browser's door at once, beside feeds. Judgement: one page makes a handful.
    pub browser_calls_max: usize,
    /// Between two blank lines of a feed, so that both ends notice when the other is gone. Below the 4 s that the page
    /// waits for an answer (`heartbeat.ts`), so that slow calls in all connections of a browser are no silence.
    pub feed_heartbeat: Duration,
    /// What follows a notice within this time is counted with it. peers.md §4.6.
    pub notice_window: Duration,
    /// More notices than this in a window become one. peers.md §4.6.
    pub notices_one_by_one: usize,
    /// Notices on the screen at once; what comes then is counted. Judgement: more are dismissed unread.
    pub notices_shown_max: usize,
    /// Between two sounds. peers.md §4.6.
    pub notice_sound_every: Duration,
    /// Time for the desktop to take a notice. Judgement: a busy one takes a second.
    pub notice_limit: Duration,
    /// Held notifications are checked this often, because clocks and settings change. Judgement.
    pub notices_held_look: Duration,
    /// Notices held back for later; more are shown at once as one. Judgement.
    pub notices_held_max: usize,
    /// Notices that wait to be shown; more are dropped, they are not facts. Judgement.
    pub notices_waiting_max: usize,
    /// How often the watchdog looks at the runtimes. Judgement: five looks within the limit.
    pub watchdog_every: Duration,
    /// A runtime that does not run what it is given for so long hangs. Issue 11: 5 s.
    pub watchdog_limit: Duration,
    /// The same, with the time in which its threads waited for a processor. Judgement: the limit of a core that is given a
    /// twelfth of a processor, which is less than a machine with thirty busy programs on two leaves it.
    pub watchdog_starved_limit: Duration,
    /// Between the two readings of what threads do, which distinguish one long turn from many short ones. Judgement.
    pub watchdog_reading_gap: Duration,
    /// How long the log of a hang may take, and the process to end in its own way, before it is ended without either.
    /// Judgement: a disk may be what hangs.
    pub watchdog_farewell: Duration,
    /// A window that hangs sooner after its start is not started again. Judgement: it would never end.
    pub restart_least_life: Duration,
    /// Time for a process to end by itself after a signal. Judgement: above all orderly ends together (two drains, and
    /// closing and ending children), below the 90 s after which systemd kills.
    pub shutdown_limit: Duration,
    /// Time for it to end after a second signal. Judgement: whoever asks twice means now.
    pub second_signal_wait: Duration,
    /// An adopted child that ended is waited for after twice this time, when nobody else did. Judgement: whoever
    /// started a child waits for it within milliseconds.
    pub orphan_wait: Duration,
    /// The doors that programs come through.
    pub doorway: ListenerPolicy,
}

impl Default for HostPolicy {
    fn default() -> Self {
        Self {
            log_file_bytes: 8 * 1_048_576,
            log_files_kept: 3,
            log_burst_lines: 100,
            log_line_every: 100 * SECOND,
            log_sources_max: 2_048,
            keychain_limit: 30 * SECOND,
            call_body_bytes: 4 * MIB + 64 * KIB,
            attach_limit: 5 * SECOND,
            ping_every: 5 * SECOND,
            ping_limit: 4 * SECOND,
            attach_step: SECOND / 50,
            lock_glance: SECOND / 2,
            attach_again: SECOND,
            core_wait: 10 * MINUTE,
            draw_every: SECOND / 10,
            say_waiting_after: SECOND / 2,
            small_file_bytes: 1_048_576,
            disk_low_bytes: 200 * 1_048_576,
            clock_ahead: 10 * MINUTE,
            made_after: Timestamp::from_millis(1_767_225_600_000),
            code_span: 5 * MINUTE,
            code_tries_max: 100,
            code_tries_span: MINUTE,
            browser_session_span: 12 * HOUR,
            browser_session_check: 30 * SECOND,
            browser_name_chars: 160,
            browser_sessions_max: 16,
            browser_calls_max: 64,
            feed_heartbeat: 3 * SECOND,
            notice_window: 3 * SECOND,
            notices_one_by_one: 3,
            notices_shown_max: 8,
            notice_sound_every: MINUTE,
            notice_limit: 5 * SECOND,
            notices_held_look: 30 * SECOND,
            notices_held_max: 10_000,
            notices_waiting_max: 64,
            watchdog_every: SECOND,
            watchdog_limit: 5 * SECOND,
            watchdog_starved_limit: 60 * SECOND,
            watchdog_reading_gap: SECOND / 10,
            watchdog_farewell: 2 * SECOND,
            restart_least_life: MINUTE,
            shutdown_limit: 30 * SECOND,
            second_signal_wait: SECOND,
            orphan_wait: 5 * SECOND,
            doorway: ListenerPolicy::default(),
        }
    }
}
