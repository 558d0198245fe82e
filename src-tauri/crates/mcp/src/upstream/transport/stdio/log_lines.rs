//! Cuts what a child writes to its standard error into lines for the server's log.
//!
//! A line is what a terminal would show: control sequences are removed whole, and what a carriage return overwrites is
//! gone. Secret values that we gave the child are cut out. A child that floods is counted, not followed, and never held up.
//! What becomes of the lines is the observer's matter.

use std::time::Duration;

use domain::policy::{ObservedServerPolicy, plain_text};
use domain::ports::{ProcessListener, ProcessNews};
use tokio::time::Instant;

use crate::upstream::transport::SecretValues;

/// A character of UTF-8 has at most so many bytes.
const CHAR_BYTES_MAX: usize = 4;

/// The lines of one child.
pub(super) struct LogLines {
    to: ProcessListener,
    secrets: SecretValues,
    line_chars: usize,
    bytes_per_second: usize,
    rate_span: Duration,
    /// The beginning of a line that has no end yet.
    open: Vec<u8>,
    /// Whether some of it was left out, because it is long.
    is_cut: bool,
    /// The second that is counted, and the bytes taken in it.
    counted: (Instant, usize),
    skipped: u64,
}

impl LogLines {
    pub(super) fn new(to: ProcessListener, secrets: SecretValues, limits: &ObservedServerPolicy) -> Self {
        Self {
            to,
            secrets,
            line_chars: limits.log_line_chars,
            bytes_per_second: limits.log_bytes_per_second,
            rate_span: limits.log_rate_span,
            open: Vec::new(),
            is_cut: false,
            counted: (Instant::now(), 0),
            skipped: 0,
        }
    }

    /// Takes a piece of output.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    self.extend(end);
                    self.end_line();
                }
                None => self.extend(part),
            }
        }
    }

    /// Takes what an earlier core read: the lines are old, and their times are not known.
    pub(super) fn push_earlier(&mut self, text: &str) {
        let mut lines: Vec<&str> = text.split('\n').collect();
        // The rest of the last one may still come.
        if let Some(last) = lines.pop() {
            self.extend(last.as_bytes());
        }
        for line in lines {
            self.to.0.heard(ProcessNews::WroteEarlier(self.readable(line.as_bytes(), false)));
        }
    }

    /// The output has ended: the last line has no end of its own.
    pub(super) fn finish(&mut self) {
        if !self.open.is_empty() {
            self.end_line();
        }
        self.tell_skipped();
    }

    fn extend(&mut self, part: &[u8]) {
        let shown = visible(part);
        if shown.len() < part.len() && !part.ends_with(b"\r") {
            self.open.clear();
            self.is_cut = false;
        }
        let part = if part.ends_with(b"\r") { part } else { shown };
        // One more than is shown, so that the cut is seen, and room for a secret that begins there.
        let most = (self.line_chars + 1).saturating_mul(CHAR_BYTES_MAX).saturating_add(self.secrets.longest());
        let room = most.saturating_sub(self.open.len()).min(part.len());
        self.is_cut |= room < part.len();
        self.open.extend_from_slice(part.get(..room).unwrap_or_default());
    }

    fn end_line(&mut self) {
        let (line, is_cut) = (std::mem::take(&mut self.open), std::mem::take(&mut self.is_cut));
        let now = Instant::now();
        if now.duration_since(self.counted.0) >= self.rate_span {
            self.counted = (now, 0);
        }
        self.counted.1 = self.counted.1.saturating_add(line.len() + 1);
        if self.counted.1 > self.bytes_per_second {
            self.skipped = self.skipped.saturating_add(1);
            return;
        }
        self.tell_skipped();
        self.to.0.heard(ProcessNews::Wrote(self.readable(visible(&line), is_cut)));
    }

    fn tell_skipped(&mut self) {
        if self.skipped > 0 {
            self.to.0.heard(ProcessNews::Skipped(std::mem::take(&mut self.skipped)));
        }
    }

    fn readable(&self, line: &[u8], is_cut: bool) -> String {
        let text = String::from_utf8_lossy(line);
        let end = if is_cut { self.secrets.cut_off_at(&text) } else { text.len() };
        let text = self.secrets.cut_out(text.get(..end).unwrap_or_default());
        let shown = plain_text(&text, self.line_chars).replace('\n', " ");
        shown.trim_end().to_owned()
    }
}

/// What a line shows: a carriage return overwrites what stands before it, unless it belongs to the end of the line.
fn visible(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let from = line.iter().rposition(|byte| *byte == b'\r').map_or(0, |at| at + 1);
    line.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::ports::{ProcessObserver, Secret};
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<ProcessNews>>);

    impl ProcessObserver for Heard {
        fn heard(&self, news: ProcessNews) {
            self.0.lock().push(news);
        }
    }

    fn check(limits: &ObservedServerPolicy, pieces: &[&[u8]], expected: &[ProcessNews]) {
        let heard = Arc::new(Heard::default());
        let key = "-----BEGIN KEY-----\nMIIEvQ IBADANB\n-----END KEY-----";
        let secrets = ["s3cr3t", "s3cr3t-value", key].map(|value| Secret::new(value.to_owned()));
        let secrets = SecretValues::new(secrets.into());
        let mut lines = LogLines::new(ProcessListener(Arc::clone(&heard) as _), secrets, limits);
        for piece in pieces {
            lines.push(piece);
        }
        lines.finish();
        assert_eq!(*heard.0.lock(), expected, "{pieces:?}");
    }

    fn wrote(lines: &[&str]) -> Vec<ProcessNews> {
        lines.iter().map(|line| ProcessNews::Wrote((*line).to_owned())).collect()
    }

    #[tokio::test]
    async fn a_log_line_is_what_a_terminal_would_show() {
        let limits = ObservedServerPolicy::default();
        check(&limits, &[b"one\ntw", b"o\r\n", b"thr", b"ee"], &wrote(&["one", "two", "three"]));
        check(&limits, &[b"10 %\r50 %\r100 %\n"], &wrote(&["100 %"]));
        check(&limits, &[b"10 %\r", b"50 %", b"\r100 %\n"], &wrote(&["100 %"]));
        check(&limits, &[b"\x1b[31mred\x1b[0m\n\x1b]0;title\x07x\n"], &wrote(&["red", "x"]));
        check(&limits, &[b"token=s3cr3t-value;\n"], &wrote(&["token=…;"]));
        check(&limits, &[b"a\xe2\x80\xa8b \xff\n\n"], &wrote(&["a b \u{fffd}", ""]));
    }

    #[tokio::test]
    async fn a_log_line_holds_no_part_of_a_secret() {
        let limits = ObservedServerPolicy::default();
        check(&limits, &[b"token=s3cr\x1b[1m3t-value;\n"], &wrote(&["token=…;"]));
        check(
            &limits,
            &[b"KEY=-----BEGIN KEY-----\r\n  MIIEvQ IBADANB\n-----END KEY-----\n"],
            &wrote(&["KEY=…", "  …", "…"]),
        );
        let short = ObservedServerPolicy { log_line_chars: 4, ..limits };
        let line = ["s3cr3t-value ".repeat(10), "\n".to_owned()].concat();
        check(&short, &[line.as_bytes()], &wrote(&["… … …"]));
    }

    #[tokio::test]
    async fn a_log_line_is_cut_and_a_flood_is_counted() {
        let limits = ObservedServerPolicy { log_line_chars: 4, log_bytes_per_second: 12, ..Default::default() };
        check(&limits, &[b"abcdefgh\n"], &wrote(&["abcd…"]));
        let expected = [wrote(&["abc", "def", "ghi"]), vec![ProcessNews::Skipped(2)]].concat();
        check(&limits, &[b"abc\ndef\nghi\njkl\nmno\n"], &expected);
    }
}
