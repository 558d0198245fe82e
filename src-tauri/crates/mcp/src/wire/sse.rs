//! Reads server-sent events in pieces, bounded.
//!
//! It keeps the last event id and `retry:` for resuming. An oversized event is skimmed for the id of its message, so
//! that the request it answers can fail. Events without data (2025-11-25 starts streams with them) only update the last
//! id.

use std::collections::VecDeque;
use std::time::Duration;

use domain::policy::Policy;

use crate::wire::message::MessageSkim;

/// What an event carries.
#[derive(Debug)]
pub enum SseBody {
    /// The data of the event.
    Data(Vec<u8>),
    /// More than the limit; what was seen of it.
    TooLarge(MessageSkim),
}

/// One server-sent event.
#[derive(Debug)]
pub struct SseEvent {
    /// `event:`, `message` when absent.
    pub name: String,
    /// What it carries.
    pub body: SseBody,
}

/// Reads events from pieces of a stream.
#[derive(Debug)]
pub struct SseReader {
    cap: usize,
    id_cap: usize,
    event_id_cap: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    too_large: Option<MessageSkim>,
    inside_large_line: bool,
    name: String,
    next_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    after_cr: bool,
    begun: bool,
    ready: VecDeque<SseEvent>,
}

impl SseReader {
    /// With the limits of the policy.
    #[must_use]
    pub const fn new(policy: &Policy) -> Self {
        Self::with(policy.message_cap_bytes, policy.rpc_id_cap_bytes, policy.event_id_cap_bytes)
    }

    const fn with(cap: usize, id_cap: usize, event_id_cap: usize) -> Self {
        Self {
            cap,
            id_cap,
            event_id_cap,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            too_large: None,
            inside_large_line: false,
            name: String::new(),
            next_id: None,
            last_id: None,
            retry: None,
            after_cr: false,
            begun: false,
            ready: VecDeque::new(),
        }
    }

    /// Reads the next piece.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if self.after_cr && !piece.is_empty() {
            self.after_cr = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(at) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = piece.split_at(at);
            self.part_of_line(line);
            self.end_of_line();
            piece = match rest {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.part_of_line(piece);
    }

    /// Where to resume: the id of the last whole event.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants us to wait before reconnecting.
    #[must_use]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Whether an event has begun and not ended.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.has_data || !self.line.is_empty() || self.too_large.is_some()
    }

    /// What was seen of an event that is larger than the limit and has not ended.
    #[must_use]
    pub const fn oversized(&self) -> Option<&MessageSkim> {
        self.too_large.as_ref()
    }

    /// Drops an unfinished event, for a stream that is resumed over a new connection.
    pub fn start_over(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self::with(self.cap, self.id_cap, self.event_id_cap);
        (self.last_id, self.retry) = (last_id, retry);
    }

    fn part_of_line(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if let Some(skim) = &mut self.too_large {
            skim.feed(part, self.id_cap);
            self.inside_large_line = true;
            return;
        }
        // The name of the field is no part of the message.
        if self.data.len() + self.line.len() + part.len() <= self.cap + self.event_id_cap {
            self.line.extend_from_slice(part);
            return;
        }
        let mut skim = MessageSkim::default();
        skim.feed(&self.data, self.id_cap);
        skim.feed(self.line.strip_prefix(b"data:").unwrap_or_default(), self.id_cap);
        skim.feed(part, self.id_cap);
        (self.data, self.line) = (Vec::new(), Vec::new());
        self.too_large = Some(skim);
        self.inside_large_line = true;
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = if self.begun { &line[..] } else { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line) };
        self.begun = true;
        if std::mem::take(&mut self.inside_large_line) {
            return;
        }
        if line.is_empty() {
            self.dispatch();
        } else {
            self.field(line);
        }
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => line.split_at(at),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" if value.len() <= self.event_id_cap => {
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            b"id" if value.len() <= self.event_id_cap && !value.contains(&0) => {
                self.next_id = std::str::from_utf8(value).ok().map(ToOwned::to_owned);
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                self.retry = millis.and_then(|text| text.parse().ok()).map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        if let Some(id) = self.next_id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = std::mem::take(&mut self.name);
        let name = if name.is_empty() { "message".to_owned() } else { name };
        let data = std::mem::take(&mut self.data);
        self.has_data = false;
        if let Some(skim) = self.too_large.take() {
            self.ready.push_back(SseEvent { name, body: SseBody::TooLarge(skim) });
        } else if data.len() > self.cap {
            let mut skim = MessageSkim::default();
            skim.feed(&data, self.id_cap);
            self.ready.push_back(SseEvent { name, body: SseBody::TooLarge(skim) });
        } else if !data.trim_ascii().is_empty() {
            self.ready.push_back(SseEvent { name, body: SseBody::Data(data) });
        }
    }
}

/// The whole events so far; more come with the next piece.
impl Iterator for SseReader {
    type Item = SseEvent;

    fn next(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::Id;

    fn all(pieces: &[&[u8]], cap: usize) -> (Vec<String>, SseReader) {
        let mut events = SseReader::with(cap, 64, 64);
        for piece in pieces {
            events.feed(piece);
        }
        let mut seen = Vec::new();
        for event in events.by_ref() {
            seen.push(match event.body {
                SseBody::Data(data) => format!("{}={}", event.name, String::from_utf8_lossy(&data)),
                SseBody::TooLarge(skim) => {
                    format!("too large, id {:?}", skim.id_text().and_then(|id| Id::read(id, 64)).map(|id| id.json()))
                }
            });
        }
        (seen, events)
    }

    #[test]
    fn events_read_the_same_however_they_are_cut_and_whatever_ends_their_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                "\u{feff}: keep-alive\nid: 7\nretry: 250\nevent: endpoint\ndata: /post?x=1\n\ndata:a\ndata: b\n\n";
            let text = text.replace('\n', end);
            for cut in 0..text.len() {
                let (head, tail) = text.as_bytes().split_at(cut);
                let (seen, events) = all(&[head, tail], 1_000);
                assert_eq!(seen, ["endpoint=/post?x=1", "message=a\nb"], "cut at {cut}, ends {end:?}");
                assert_eq!(events.last_id(), Some("7"), "the id stays until another comes");
                assert_eq!(events.retry(), Some(Duration::from_millis(250)));
            }
        }
    }

    #[test]
    fn an_event_without_data_only_moves_the_last_id() {
        let (seen, events) = all(&[b"id: 1\ndata:\n\nid: 2\n\n"], 100);
        assert!(seen.is_empty(), "nothing to take in: {seen:?}");
        assert_eq!(events.last_id(), Some("2"), "it primes the stream");
    }

    #[test]
    fn half_an_event_at_the_end_is_not_an_event() {
        let (seen, events) = all(&[b"id: 1\ndata: a\n\nid: 2\ndata: {\"half\""], 100);
        assert_eq!(seen, ["message=a"]);
        assert_eq!(events.last_id(), Some("1"), "the half one is asked for again");
        assert!(events.is_inside(), "it hangs in the middle");
    }

    #[test]
    fn a_large_event_is_skimmed_and_the_next_one_is_read() {
        let large = format!("id: 5\ndata: {{\"result\":\"{}\",\"id\":12}}\n\ndata: next\n\n", "x".repeat(20_000));
        for size in [1, 7, 4_096, 40_000] {
            let pieces: Vec<&[u8]> = large.as_bytes().chunks(size).collect();
            let (seen, events) = all(&pieces, 1_000);
            assert_eq!(seen, ["too large, id Some(\"12\")", "message=next"], "in pieces of {size}");
            assert_eq!(events.last_id(), Some("5"), "it is not asked for again");
        }
    }
}
