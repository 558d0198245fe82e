//! The log of a server: what its processes write to their standard error, what it sends as log messages, and what happened
//! to them.
//!
//! Bounded by lines and bytes; the oldest lines go first, and their number says how many. What we say ourselves is another
//! kind of entry than what the server wrote, so that no line of a server can look like ours.

use std::collections::VecDeque;

use domain::ids::{AgentId, PersonId};
use domain::policy::ObservedServerPolicy;
use domain::ports::{LogMessage, ProcessExit, ProcessNews};
use domain::server::ServerAct;
use domain::time::Timestamp;
use parking_lot::Mutex;

/// An entry costs at least this much memory, however short it is.
const ENTRY_BYTES: usize = 96;

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Counts up from 1 in one run of the core.
    pub number: u64,
    /// When it came; `None` when it was written before this core found the process.
    pub at: Option<Timestamp>,
    /// The agent whose own process it is about; `None` for the shared one.
    pub seat: Option<AgentId>,
    /// What it says.
    pub what: LogEvent,
}

/// What a line of a log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// The server wrote it: capped, harmless to show, and not to be believed.
    Line(String),
    /// The server sent it as a log message: as little to be believed.
    Message(LogMessage),
    /// So many lines or messages came faster than they are taken.
    Skipped(u64),
    /// A process was started.
    Started {
        /// Its number, which is that of its group, too.
        pid: u32,
    },
    /// The process ran on while there was no core.
    Resumed {
        /// Its number, as it was when it started.
        pid: u32,
    },
    /// A process ended, in this way.
    Ended(ProcessExit),
    /// A connection to a server that runs elsewhere was opened.
    Connected,
    /// It is over.
    Disconnected,
    /// A person asked for this.
    Asked(PersonId, ServerAct),
    /// A question of the server was refused, because it named a task that is not open here.
    QuestionRefused,
}

/// Lines of a log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The lines, each with its number.
    pub entries: Vec<LogEntry>,
    /// Number of the oldest line that is kept; one more than the newest when none is.
    pub first: u64,
    /// Number that the next line gets.
    pub next: u64,
}

/// The log of one server.
pub(crate) struct ServerLog {
    kept: Mutex<Kept>,
    bytes_max: usize,
    lines_max: usize,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<LogEntry>,
    bytes: usize,
    newest: u64,
}

impl ServerLog {
    pub(crate) fn new(limits: &ObservedServerPolicy) -> Self {
        Self { kept: Mutex::default(), bytes_max: limits.log_bytes, lines_max: limits.log_lines_max }
    }

    /// Something is learnt of a process.
    pub(crate) fn process(&self, seat: Option<AgentId>, news: ProcessNews, now: Timestamp) {
        let (at, what) = match news {
            ProcessNews::Started { pid } => (Some(now), LogEvent::Started { pid }),
            ProcessNews::Resumed { pid } => (Some(now), LogEvent::Resumed { pid }),
            ProcessNews::Wrote(line) => (Some(now), LogEvent::Line(line)),
            ProcessNews::WroteEarlier(line) => (None, LogEvent::Line(line)),
            ProcessNews::Logged(message) => (Some(now), LogEvent::Message(message)),
            ProcessNews::Skipped(count) => (Some(now), LogEvent::Skipped(count)),
            ProcessNews::Ended(exit) => (Some(now), LogEvent::Ended(exit)),
        };
        self.put(at, seat, what);
    }

    /// A connection without a process was opened, or is over.
    pub(crate) fn connection(&self, seat: Option<AgentId>, what: LogEvent, now: Timestamp) {
        self.put(Some(now), seat, what);
    }

    /// A person does something to the server.
    pub(crate) fn asked(&self, by: &PersonId, act: ServerAct, now: Timestamp) {
        self.put(Some(now), None, LogEvent::Asked(by.clone(), act));
    }

    /// A question named a task that is not open here.
    pub(crate) fn question_refused(&self, seat: Option<AgentId>, now: Timestamp) {
        self.put(Some(now), seat, LogEvent::QuestionRefused);
    }

    fn put(&self, at: Option<Timestamp>, seat: Option<AgentId>, what: LogEvent) {
        let mut kept = self.kept.lock();
        kept.newest += 1;
        kept.bytes += cost(&what);
        let number = kept.newest;
        kept.entries.push_back(LogEntry { number, at, seat, what });
        while kept.entries.len() > self.lines_max || kept.bytes > self.bytes_max {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes = kept.bytes.saturating_sub(cost(&oldest.what));
        }
    }

    /// Number of the newest line; 0 when there was none yet.
    pub(crate) fn newest(&self) -> u64 {
        self.kept.lock().newest
    }

    /// How the process of this connection ended, if the log says so behind this line.
    pub(crate) fn exit_after(&self, line: u64, seat: Option<AgentId>) -> Option<ProcessExit> {
        let kept = self.kept.lock();
        let newer = kept.entries.iter().skip_while(|entry| entry.number <= line);
        newer
            .filter(|entry| entry.seat == seat)
            .find_map(|entry| if let LogEvent::Ended(exit) = &entry.what { Some(*exit) } else { None })
    }

    /// At most `most` lines: the first ones after `after`, or the newest ones.
    pub(crate) fn page(&self, after: Option<u64>, most: usize) -> LogPage {
        let kept = self.kept.lock();
        let first = kept.entries.front().map_or(kept.newest + 1, |entry| entry.number);
        let from = match after {
            Some(after) => usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX),
            None => kept.entries.len().saturating_sub(most),
        };
        let entries = kept.entries.iter().skip(from).take(most).cloned().collect();
        LogPage { entries, first, next: kept.newest + 1 }
    }
}

fn cost(what: &LogEvent) -> usize {
    let text = match what {
        LogEvent::Line(line) => line.len(),
        LogEvent::Message(message) => message.text.len() + message.logger.as_deref().map_or(0, str::len),
        LogEvent::Skipped(_)
        | LogEvent::Started { .. }
        | LogEvent::Resumed { .. }
        | LogEvent::Ended(_)
        | LogEvent::Connected
        | LogEvent::Disconnected
        | LogEvent::Asked(..)
        | LogEvent::QuestionRefused => 0,
    };
    text + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_of(lines_max: usize, log_bytes: usize, count: u64) -> ServerLog {
        let log = ServerLog::new(&ObservedServerPolicy { log_lines_max: lines_max, log_bytes, ..Default::default() });
        for number in 1..=count {
            log.process(None, ProcessNews::Wrote(format!("line {number}")), Timestamp::EPOCH);
        }
        log
    }

    fn numbers(page: &LogPage) -> Vec<u64> {
        page.entries.iter().map(|entry| entry.number).collect()
    }

    #[test]
    fn the_newest_lines_of_a_log_are_kept_and_their_numbers_say_what_is_missing() {
        let page = log_of(3, usize::MAX, 10).page(None, 100);
        assert_eq!((numbers(&page), page.first, page.next), (vec![8, 9, 10], 8, 11));
        let page = log_of(100, 3 * (ENTRY_BYTES + 6), 10).page(None, 100);
        assert_eq!(numbers(&page), [9, 10], "bytes bound it as well");
        let empty = log_of(3, usize::MAX, 0).page(Some(4), 100);
        assert_eq!((numbers(&empty), empty.first, empty.next), (vec![], 1, 1));
    }

    #[test]
    fn the_exit_of_a_process_is_that_of_its_own_connection_behind_a_line() {
        let log = log_of(100, usize::MAX, 1);
        let agent = AgentId::from_random(1);
        let ended = |code| ProcessNews::Ended(ProcessExit { code: Some(code), signal: None, is_ours: true });
        let code = |line, seat| log.exit_after(line, seat).and_then(|exit| exit.code);
        log.process(None, ended(1), Timestamp::EPOCH);
        let line = log.newest();
        assert_eq!((line, code(line, None)), (2, None), "what ended before is another end");
        log.process(Some(agent), ended(2), Timestamp::EPOCH);
        assert_eq!(
            (code(line, None), code(line, Some(agent))),
            (None, Some(2)),
            "and so is that of an agent's process"
        );
        log.process(None, ended(3), Timestamp::EPOCH);
        log.process(None, ProcessNews::Started { pid: 9 }, Timestamp::EPOCH);
        log.process(None, ended(4), Timestamp::EPOCH);
        assert_eq!(code(line, None), Some(3), "the first one behind the line");
    }

    #[test]
    fn a_reader_of_a_log_continues_where_it_was() {
        let log = log_of(5, usize::MAX, 10);
        assert_eq!(numbers(&log.page(Some(8), 100)), [9, 10]);
        assert_eq!(numbers(&log.page(Some(10), 100)), [] as [u64; 0]);
        assert_eq!(numbers(&log.page(Some(2), 2)), [6, 7], "what is gone is passed over");
        assert_eq!(numbers(&log.page(None, 2)), [9, 10], "without a place it is the end");
        assert_eq!(numbers(&log.page(Some(u64::MAX - 1), 2)), [] as [u64; 0]);
    }
}
