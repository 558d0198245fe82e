//! Messages that a server sends for the log (`notifications/message`), shown to people in the server's log.
//!
//! Each is one line: capped, without control sequences and without the secret values that we gave the server. A server that
//! floods is counted, not followed, and never held up. Agents get the message itself by `request_listeners.rs` and
//! `broadcast.rs`, unchanged.

use std::time::Duration;

use domain::policy::{ObservedServerPolicy, plain_text};
use domain::ports::{LogLevel, LogMessage, ProcessListener, ProcessNews};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::upstream::transport::SecretValues;
use crate::wire::view::JsonFields;

/// A character of UTF-8 has at most so many bytes.
const CHAR_BYTES_MAX: usize = 4;

/// The log messages of one connection.
pub(crate) struct LogMessages {
    to: ProcessListener,
    secrets: SecretValues,
    line_chars: usize,
    logger_chars: usize,
    bytes_per_second: usize,
    rate_span: Duration,
    taken: Mutex<Taken>,
}

/// The second that is counted, and what came in it.
struct Taken {
    since: Instant,
    bytes: usize,
    skipped: u64,
}

impl LogMessages {
    pub(crate) fn new(to: ProcessListener, secrets: SecretValues, limits: &ObservedServerPolicy) -> Self {
        Self {
            to,
            secrets,
            line_chars: limits.log_line_chars,
            logger_chars: limits.logger_chars,
            bytes_per_second: limits.log_bytes_per_second,
            rate_span: limits.log_rate_span,
            taken: Mutex::new(Taken { since: Instant::now(), bytes: 0, skipped: 0 }),
        }
    }

    /// Takes a message with its params; what is none is passed over.
    pub(crate) fn push(&self, params: &RawValue) {
        let Ok(fields) = JsonFields::of(params, "$.params") else { return };
        let Some(data) = fields.get("data") else { return };
        let Some(skipped) = self.admit(params.get().len()) else { return };
        if skipped > 0 {
            self.to.0.heard(ProcessNews::Skipped(skipped));
        }
        let text = fields.text("data").unwrap_or_else(|| data.get().to_owned());
        self.to.0.heard(ProcessNews::Logged(LogMessage {
            level: fields.text("level").as_deref().and_then(level),
            logger: fields
                .text("logger")
                .map(|logger| self.readable(&logger, self.logger_chars))
                .filter(|logger| !logger.is_empty()),
            text: self.readable(&text, self.line_chars),
        }));
    }

    /// How many were skipped before this one; `None` when this one is too much, too.
    fn admit(&self, bytes: usize) -> Option<u64> {
        let mut taken = self.taken.lock();
        let now = Instant::now();
        if now.duration_since(taken.since) >= self.rate_span {
            (taken.since, taken.bytes) = (now, 0);
        }
        taken.bytes = taken.bytes.saturating_add(bytes);
        if taken.bytes > self.bytes_per_second {
            taken.skipped = taken.skipped.saturating_add(1);
            return None;
        }
        Some(std::mem::take(&mut taken.skipped))
    }

    fn readable(&self, text: &str, chars: usize) -> String {
        // One character more than is shown, so that the cut is seen, and room for a secret that begins there.
        let most = (chars + 1).saturating_mul(CHAR_BYTES_MAX).saturating_add(self.secrets.longest());
        let part = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
        let end = if part.len() < text.len() { self.secrets.cut_off_at(part) } else { part.len() };
        let text = self.secrets.cut_out(part.get(..end).unwrap_or_default());
        plain_text(&text, chars).replace('\n', " ").trim().to_owned()
    }
}

fn level(word: &str) -> Option<LogLevel> {
    match word {
        "debug" => Some(LogLevel::Debug),
        "info" => Some(LogLevel::Info),
        "notice" => Some(LogLevel::Notice),
        "warning" => Some(LogLevel::Warning),
        "error" => Some(LogLevel::Error),
        "critical" => Some(LogLevel::Critical),
        "alert" => Some(LogLevel::Alert),
        "emergency" => Some(LogLevel::Emergency),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::ports::{ProcessObserver, Secret};
    use serde_json::{Value, json};

    use super::*;
    use crate::upstream::notifications::request_listeners::RequestListeners;
    use crate::upstream::transport::link::NotificationListener as _;

    #[derive(Default)]
    struct Heard(Mutex<Vec<ProcessNews>>);

    impl ProcessObserver for Heard {
        fn heard(&self, news: ProcessNews) {
            self.0.lock().push(news);
        }
    }

    fn check(limits: &ObservedServerPolicy, said: &[Value], expected: &[ProcessNews]) {
        let heard = Arc::new(Heard::default());
        let secrets = SecretValues::new(vec![Secret::new("s3cr3t-value".to_owned())]);
        let messages = LogMessages::new(ProcessListener(Arc::clone(&heard) as _), secrets, limits);
        for params in said {
            messages.push(&serde_json::value::to_raw_value(params).expect("it is JSON"));
        }
        assert_eq!(*heard.0.lock(), expected, "{said:?}");
    }

    fn logged(level: Option<LogLevel>, logger: Option<&str>, text: &str) -> ProcessNews {
        ProcessNews::Logged(LogMessage { level, logger: logger.map(str::to_owned), text: text.to_owned() })
    }

    #[tokio::test]
    async fn a_log_message_is_one_line_of_text_with_its_level() {
        let limits = ObservedServerPolicy::default();
        check(
            &limits,
            &[
                json!({"level": "warning", "logger": "db", "data": "slow\n\u{1b}[31mquery\u{1b}[0m\u{202e}"}),
                json!({"level": "loud", "logger": 7, "data": {"rows": 3}}),
                json!({"level": "info", "logger": " \n", "data": "<b>token=s3cr3t-value</b>"}),
            ],
            &[
                logged(Some(LogLevel::Warning), Some("db"), "slow query"),
                logged(None, None, r#"{"rows":3}"#),
                logged(Some(LogLevel::Info), None, "<b>token=…</b>"),
            ],
        );
        check(&limits, &[json!({"level": "info"}), json!("x"), json!(null)], &[]);
    }

    #[tokio::test]
    async fn every_log_message_of_a_connection_is_in_the_log_and_goes_where_it_went() {
        for is_modern in [false, true] {
            let heard = Arc::new(Heard::default());
            let limits = ObservedServerPolicy::default();
            let to = ProcessListener(Arc::clone(&heard) as _);
            let log = LogMessages::new(to, SecretValues::new(Vec::new()), &limits);
            let listeners = RequestListeners::new(is_modern, Some(log));
            let said = serde_json::value::to_raw_value(&json!({"level": "error", "data": "x"})).expect("it is JSON");
            let taken = listeners.told("notifications/message", &said, None);
            assert!(!taken, "no request is there to take it, so that it still goes to everybody");
            listeners.told("notifications/resources/updated", &said, None);
            listeners.told("notifications/other", &said, None);
            assert_eq!(*heard.0.lock(), [logged(Some(LogLevel::Error), None, "x")], "and no other notification");
        }
    }

    #[tokio::test]
    async fn a_long_log_message_is_cut_and_a_flood_is_counted() {
        let short = ObservedServerPolicy { log_line_chars: 4, ..ObservedServerPolicy::default() };
        check(&short, &[json!({"data": "abcdefgh"})], &[logged(None, None, "abcd…")]);
        let secret = format!("ab {}", "s3cr3t-value ".repeat(9));
        check(&short, &[json!({ "data": secret })], &[logged(None, None, "ab ……")]);
        let slow = ObservedServerPolicy { log_bytes_per_second: 30, ..ObservedServerPolicy::default() };
        let heard = Arc::new(Heard::default());
        let messages = LogMessages::new(ProcessListener(Arc::clone(&heard) as _), SecretValues::new(Vec::new()), &slow);
        let message = serde_json::value::to_raw_value(&json!({"data": "x"})).expect("it is JSON");
        for _ in 0..5 {
            messages.push(&message);
        }
        tokio::time::pause();
        tokio::time::advance(slow.log_rate_span).await;
        messages.push(&message);
        let one = || logged(None, None, "x");
        assert_eq!(*heard.0.lock(), [one(), one(), ProcessNews::Skipped(3), one()], "three came too fast");
    }
}
