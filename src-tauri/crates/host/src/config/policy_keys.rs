//! The numbers of the policy by name, so that a file or a variable can set them.
//!
//! A number added to `domain::policy` gets its name in the list here. Whether the numbers fit together is the policy's
//! decision.

use std::time::Duration;

use domain::policy::{
    AlarmPolicy, AuditPolicy, CountingPolicy, GatewayPolicy, KIB, KeeperPolicy, MIB, PausePolicy, Policy,
    RetentionPolicy, SharePolicy, SignInPolicy,
};

use super::ConfigError;

/// Why a number could not be set.
pub(crate) enum Misfit {
    Unknown { near: Option<&'static str> },
    Value { expected: &'static str },
}

impl Misfit {
    pub(crate) fn at(self, place: &str, key: &str) -> ConfigError {
        let (place, key) = (place.to_owned(), key.to_owned());
        match self {
            Self::Unknown { near } => ConfigError::UnknownKey { place, key, near: near.map(str::to_owned) },
            Self::Value { expected } => ConfigError::BadValue { place, key, expected: expected.to_owned() },
        }
    }
}

/// Parses a duration such as `5s` or `2min`.
pub(crate) fn span(text: &str) -> Option<Duration> {
    Duration::read(text)
}

/// A setting that can be parsed from text.
trait Setting: Sized {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Option<Self>;
}

impl Setting for Duration {
    const EXPECTED: &'static str = "a time such as `5s`, `250ms`, `2min`, `1h` or `7d`";

    fn read(text: &str) -> Option<Self> {
        let (number, unit) = split(text);
        let seconds = match unit {
            "ms" => number / 1_000.0,
            "s" => number,
            "min" | "m" => number * 60.0,
            "h" => number * 3_600.0,
            "d" => number * 86_400.0,
            _ => return None,
        };
        Self::try_from_secs_f64(seconds).ok()
    }
}

impl Setting for f64 {
    const EXPECTED: &'static str = "a number";

    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &Self| number.is_finite())
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
}

macro_rules! whole {
    ($($kind:ty),*) => {$(
        impl Setting for $kind {
            const EXPECTED: &'static str = "a whole number, also such as `64KiB` or `16MiB`";

            fn read(text: &str) -> Option<Self> {
                let digits = text.trim().replace('_', "");
                let (digits, factor) = match (digits.strip_suffix("KiB"), digits.strip_suffix("MiB")) {
                    (Some(kib), _) => (kib, KIB),
                    (None, Some(mib)) => (mib, MIB),
                    (None, None) => (digits.as_str(), 1),
                };
                digits.trim().parse::<Self>().ok()?.checked_mul(Self::try_from(factor).ok()?)
            }
        }
    )*};
}

whole!(u32, u64, usize);

/// Splits a number from its unit; NaN stands for a number that cannot be parsed.
fn split(text: &str) -> (f64, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().unwrap_or(f64::NAN), unit.trim())
}

macro_rules! numbers {
    ($list:ident $set:ident $section:ty: $($name:ident,)*) => {
        /// Every name of this part that can be set.
        const $list: &[&str] = &[$(stringify!($name)),*];

        fn $set(section: &mut $section, name: &str, text: &str) -> Result<(), Misfit> {
            match name {
                $(stringify!($name) => put(&mut section.$name, text),)*
                _ => Err(Misfit::Unknown { near: api::suggestion::nearest(name, $list.iter().copied()) }),
            }
        }
    };
}

fn put<T: Setting>(place: &mut T, text: &str) -> Result<(), Misfit> {
    *place = T::read(text).ok_or(Misfit::Value { expected: T::EXPECTED })?;
    Ok(())
}

/// Sets one number. A section comes before the name: `gateway.shown_after` in a file, `gateway_shown_after` in a
/// variable.
pub(crate) fn set(policy: &mut Policy, name: &str, text: &str) -> Result<(), Misfit> {
    if let Some(name) = in_section(name, "gateway") {
        set_gateway(&mut policy.gateway, name, text)
    } else if let Some(name) = in_section(name, "keeping") {
        set_keeping(&mut policy.keeping, name, text)
    } else if let Some(name) = in_section(name, "counting") {
        set_counting(&mut policy.counting, name, text)
    } else if let Some(name) = in_section(name, "shares") {
        set_shares(&mut policy.shares, name, text)
    } else if let Some(name) = in_section(name, "retention") {
        set_retention(&mut policy.retention, name, text)
    } else if let Some(name) = in_section(name, "alarms") {
        set_alarms(&mut policy.control.alarms, name, text)
    } else if let Some(name) = in_section(name, "pauses") {
        set_pauses(&mut policy.control.pauses, name, text)
    } else if let Some(name) = in_section(name, "audit") {
        set_audit(&mut policy.audit, name, text)
    } else if let Some(name) = in_section(name, "sign_in") {
        set_sign_in(&mut policy.sign_in, name, text)
    } else {
        set_plain(policy, name, text)
    }
}

fn in_section<'a>(name: &'a str, part: &str) -> Option<&'a str> {
    name.strip_prefix(part)?.strip_prefix(['.', '_'])
}

numbers! { NAMES set_plain Policy:
    poll_first, poll_last, first_poll_after_act, second_poll_after_act, poll_growth, hint_ceiling, hint_floor, poll_subscribed, reads_per_server,
    reads_total, deliveries_per_server, list_every, list_pages_max, discovered_max, backoff_first,
    backoff_last, reconnect_busy_last, jitter_share, silent_misses, silent_intervals, unknown_tries, created_slack,
    retry_after_ceiling, probe_silence, probe_first_output, initialize_limit, connect_limit, reply_limit,
    pool_idle_limit, pool_look_after, body_idle_limit, child_close_wait, child_term_wait, child_group_look,
    process_watch_every, processes_named_max, redirects_max,
    subscribe_settle, open_result_wait, promote_after, cancel_grace, rounds_max, round_wait, answer_settle,
    remind_after, open_calls_per_server, usual_samples_min, usual_samples_kept, usual_late_min, message_cap_bytes,
    message_depth_max, rpc_id_cap_bytes, event_id_cap_bytes, batch_messages_max, server_text_cap_chars,
    schema_cap_bytes, task_id_cap_bytes, requests_per_task_max, open_questions_per_task,
    open_questions_per_server, open_question_bytes_per_task, question_bytes_per_task, waiting_question_bytes, question_candidates_max, arguments_cap_bytes,
    unreadable_kept_bytes, stderr_kept_bytes, log_lines_per_task, progress_per_second, change_log_kept, group_commit_max,
    contact_flush, feed_frame, page_rows_max, watch_settle, prune_every, sweep_every, run_limit_min, run_limit_max, batch_rows,
    drain_limit, reserve_file_bytes, registry_busy_wait, registry_check_bytes, backups_kept,
    inbox_rows_max, desk_value_bytes, desk_key_bytes, desk_items_max, desk_kind_bytes, raw_message_bytes,
    raw_messages_per_task, hold_back, clock_look, clock_step, clock_trust_after, timer_look,
}

numbers! { GATEWAY_NAMES set_gateway GatewayPolicy:
    shown_after, show_every, shown_at_once, call_limit_unknown, call_limit_margin, call_limit_ceiling, progress_every,
    learned_timeout_min, learned_timeout_percent, learned_timeout_spread, learned_timeout_kept,
    requests_per_agent_max, requests_per_second, requests_burst, result_page_bytes,
    agent_poll, agent_poll_min, agent_poll_max, polls_per_interval, agent_ttl_min, tasks_per_page, wait_max, repeats_max,
    repeat_within, undelivered_max, kin_max, task_raw_cap_bytes, question_raw_cap_bytes, orphan_after,
    connected_for, notes_flush, own_tools_cap_bytes, agents_max, token_bytes, rules_max, connections_max, idle_connection,
    headers_cap_bytes, refused_body_bytes, headers_max, header_limit, body_limit, client_name_chars, line_idle, lines_max,
    line_wait, merge_wait, merged_page_bytes, bridge_patience, intents_queue, intent_settle,
    intent_room_wait, intent_retry, intents_left_max, sessions_max, requests_in_work_max,
}

numbers! { KEEPING_NAMES set_keeping KeeperPolicy:
    alone_limit, kept_bytes, greeting_limit, handover_limit, proof_limit, input_bytes, input_messages, replies_kept,
    confirm_wait, taken_over_at_once,
}

numbers! { COUNTING_NAMES set_counting CountingPolicy:
    on, queue_messages, queue_bytes, batch_messages, batch_bytes, look_every, copied_bytes, show_every, flush_every,
    result_wait, task_every, burn_over,
    quiet_is_new, comes_back_within, windows_max, windows_shown, slice_tokens, short_lines, short_tokens, warn_percent,
    full_percent, burn_least, burn_times, slice_percent, day, series_kept, tokens_settable_max, points_max, agents_shown,
}

numbers! { SHARES_NAMES set_shares SharePolicy:
    agent_percent, people_percent, body_bytes_max, tools_per_server, patterns_per_tool, pattern_cap_bytes,
    pattern_compiled_bytes, compiled_schema_bytes,
}

numbers! { RETENTION_NAMES set_retention RetentionPolicy:
    payload_age, payload_bytes, agent_payload_bytes, server_payload_bytes, task_age, tasks, agent_tasks, server_tasks, undelivered_for, receipt_age, receipts, audit_age, segment_rows,
    removed_at_once, removed_tasks_kept, learned_tools, pages_at_once, usage_every, clean_every, lowered_wait, verified_at_once, slow_commit, record_again,
    disk_fill_rate, disk_look_min,
    reserve_change_bytes,
}

numbers! { ALARM_NAMES set_alarms AlarmPolicy:
    same_call_count, same_call_window, calls_per_minute, open_calls, same_errors, quiet, look_every, episodes_per_agent,
    kept_per_agent, listed_max, same_call_count_max, same_call_window_max, calls_max,
}

numbers! { PAUSE_NAMES set_pauses PausePolicy:
    choice_after, calls_shown, waiting_per_agent, waiting_of_people, kept, freeze_limit, leave_limit, retry_after,
}

numbers! { AUDIT_NAMES set_audit AuditPolicy:
    checkpoint_gap, checkpoint_every, checkpoint_rows, unsigned_told_after, tree_rows_at_once, checked_rows,
    reverify_limit, anchors_max, anchor_gap, anchor_limit, anchor_again, anchor_tail_bytes, compared_at_once,
    export_stubs_max, export_earlier_max, export_part_bytes, export_batches_at_once, receipt_every, receipts_at_once,
    receipts_per_agent, receipts_waiting, receipt_argument_bytes, receipt_agent_argument_bytes, receipt_tool_bytes,
    receipts_drain, receipt_batches_checked, sinks_max, sink_gap, sink_rows, sink_bytes, span_events, span_attempts,
    sink_limit, sink_reply_bytes, sink_headers_max,
}

numbers! { SIGN_IN_NAMES set_sign_in SignInPolicy:
    browser_wait, exchange_limit, renew_percent, renew_jitter_percent, renew_rest, renew_again, stop_grace, lifetime_max, token_bytes,
    callback_bytes, callback_limit, callback_connections, scopes_max, document_bytes, revoke_limit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_with_their_units_only() {
        assert_eq!(Duration::read("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(Duration::read("1.5 min"), Some(Duration::from_secs(90)));
        for wrong in ["5", "", "s", "-1s", "1e400s", "99999999999999999999d"] {
            assert_eq!(Duration::read(wrong), None, "`{wrong}` is no time");
        }
        assert_eq!(u64::read("64KiB"), Some(65_536));
        assert_eq!(u32::read("1_000"), Some(1_000));
        assert_eq!(u32::read("9999999999"), None, "it does not fit");
    }

    /// Names of fields in a `Debug` text, in the order they stand there.
    fn fields(shown: &str) -> Vec<&str> {
        let named = shown.split(": ").filter_map(|part| part.rsplit([' ', '{']).next());
        named.filter(|name| name.contains('_')).collect()
    }

    #[test]
    fn every_number_of_the_policy_has_a_name() {
        let policy = Policy::default();
        let whole = format!("{policy:?}");
        // The sections of their own (`serving`, `hosting`, `asking`, …) are named after all plain numbers.
        let plain = whole.split(" serving: ").next().unwrap_or_default().to_owned();
        let (gateway, keeping) = (format!("{:?}", policy.gateway), format!("{:?}", policy.keeping));
        let (counting, shares) = (format!("{:?}", policy.counting), format!("{:?}", policy.shares));
        let alarms = format!("{:?}", policy.control.alarms);
        let (retention, audit) = (format!("{:?}", policy.retention), format!("{:?}", policy.audit));
        let parts = [
            (plain, NAMES),
            (gateway, GATEWAY_NAMES),
            (keeping, KEEPING_NAMES),
            (counting, COUNTING_NAMES),
            (shares, SHARES_NAMES),
            (retention, RETENTION_NAMES),
            (audit, AUDIT_NAMES),
            (format!("{:?}", policy.sign_in), SIGN_IN_NAMES),
            (alarms, ALARM_NAMES),
            (format!("{:?}", policy.control.pauses), PAUSE_NAMES),
        ];
        for (shown, names) in parts {
            for name in names {
                assert!(shown.contains(&format!("{name}: ")), "`{name}` is a field");
            }
            let missing: Vec<&str> = fields(&shown).into_iter().filter(|name| !names.contains(name)).collect();
            assert_eq!(missing, Vec::<&str>::new(), "these numbers cannot be set: add them to the lists above");
        }
    }

    #[test]
    fn a_number_of_a_part_is_named_with_it() {
        let mut policy = Policy::default();
        for (name, value) in [("gateway.shown_after", "1s"), ("gateway_requests_burst", "7"), ("counting.on", "false")]
        {
            assert!(set(&mut policy, name, value).is_ok(), "{name}");
        }
        assert!(!policy.counting.on, "a switch is one of the numbers");
        assert_eq!((policy.gateway.shown_after, policy.gateway.requests_burst), (Duration::from_secs(1), 7));
        assert!(set(&mut policy, "gateway.shown_aftr", "1s").is_err(), "and misspelt ones are told");
    }
}
