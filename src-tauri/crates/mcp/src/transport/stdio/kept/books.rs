//! What a core owes its keeper: which pieces of output are on record, and which calls are still out.
//!
//! A reply to a call is kept until its handle has it on record, a question until it is answered or taken back;
//! everything else is settled once it was read, because looking finds it again. Pure bookkeeping: words for the
//! keeper pile up in `control`, bounded by what the keeper holds, and `wire.rs` sends them.

use std::collections::{HashMap, HashSet, VecDeque};

use domain::ids::HandleId;
use tokio::sync::oneshot;

use crate::link::{LinkError, Tag};
use crate::transport::duplex::Part;
use crate::transport::stdio::keep::frame::{Frame, Kind};

/// Whose call a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) id: u64,
    pub(super) ticket: HandleId,
    pub(super) tag: Tag,
    pub(super) augment: bool,
}

/// A call that is out, or whose reply is not on record.
struct Call {
    id: u64,
    ticket: HandleId,
    /// The piece of output with its reply.
    piece: Option<u64>,
    /// Its reply is on record, although it was not seen here yet.
    settled: bool,
}

/// A line on its way to the child.
struct Sent {
    number: u64,
    bytes: usize,
    written: Option<oneshot::Sender<Result<(), LinkError>>>,
}

/// The books of one core about one child.
pub(super) struct Books {
    control: Vec<Frame>,
    announced: HashMap<Tag, (HandleId, bool)>,
    calls: HashMap<Tag, Call>,
    by_ticket: HashMap<HandleId, Tag>,
    /// Calls with a reply that is not on record, oldest first.
    answered: VecDeque<Tag>,
    answered_max: usize,
    asked: HashMap<String, u64>,
    /// Questions that were over before they were entered.
    over_early: HashSet<String>,
    /// Pieces with parts that are not over, and how many.
    open: HashMap<u64, usize>,
    sent: VecDeque<Sent>,
    sent_bytes: usize,
    next: u64,
}

impl Books {
    /// Empty books that keep at most so many replies.
    pub(super) fn new(answered_max: usize) -> Self {
        Self {
            control: Vec::new(),
            announced: HashMap::new(),
            calls: HashMap::new(),
            by_ticket: HashMap::new(),
            answered: VecDeque::new(),
            answered_max,
            asked: HashMap::new(),
            over_early: HashSet::new(),
            open: HashMap::new(),
            sent: VecDeque::new(),
            sent_bytes: 0,
            next: 1,
        }
    }

    /// Puts something on the list of what the keeper is told.
    pub(super) fn say(&mut self, frame: Frame) {
        self.control.push(frame);
    }

    /// Takes what the keeper is to be told.
    pub(super) fn take_control(&mut self, to: &mut Vec<u8>) {
        for frame in self.control.drain(..) {
            frame.put(to);
        }
    }

    /// The request with this tag will be a call.
    pub(super) fn announce(&mut self, tag: Tag, ticket: HandleId, augment: bool) {
        self.announced.insert(tag, (ticket, augment));
    }

    /// The request with this tag leaves under this id.
    pub(super) fn asking(&mut self, tag: Tag, id: u64) {
        let Some((ticket, augment)) = self.announced.remove(&tag) else { return };
        let note = Note { id, ticket, tag, augment };
        self.say(Frame::new(Kind::Note, id, note.text()));
        self.adopt(&note);
    }

    /// A call is out.
    pub(super) fn adopt(&mut self, note: &Note) {
        // A further round: whoever sends it has taken in the reply to the one before.
        if let Some(before) = self.by_ticket.insert(note.ticket, note.tag) {
            self.call_over(before);
        }
        let call = Call { id: note.id, ticket: note.ticket, piece: None, settled: false };
        self.calls.insert(note.tag, call);
    }

    /// The reply to this call is on record.
    pub(super) fn settle(&mut self, ticket: HandleId) {
        let Some(tag) = self.by_ticket.get(&ticket).copied() else { return };
        match self.calls.get_mut(&tag) {
            Some(call) if call.piece.is_none() => call.settled = true,
            Some(_) | None => self.call_over(tag),
        }
    }

    /// Something is over, whether or not its piece was entered.
    pub(super) fn over(&mut self, what: &Part) {
        match what {
            Part::Answer(tag) => {
                self.announced.remove(tag);
                self.call_over(*tag);
            }
            Part::Asked(token) => match self.asked.remove(token) {
                Some(piece) => self.part_over(piece),
                None => {
                    self.over_early.insert(token.clone());
                }
            },
        }
    }

    /// A piece of output was read.
    pub(super) fn read(&mut self, piece: u64, parts: Vec<Part>) {
        let mut open = 0;
        let mut settled = Vec::new();
        for part in parts {
            match part {
                Part::Answer(tag) => {
                    let Some(call) = self.calls.get_mut(&tag) else { continue };
                    if call.settled {
                        settled.push(tag);
                    } else {
                        call.piece = Some(piece);
                        self.answered.push_back(tag);
                        open += 1;
                    }
                }
                Part::Asked(token) => {
                    if !self.over_early.remove(&token) {
                        // The same id again replaces the question before.
                        if let Some(before) = self.asked.insert(token, piece) {
                            self.part_over(before);
                        }
                        open += 1;
                    }
                }
            }
        }
        if open == 0 {
            self.say(Frame::bare(Kind::Settle, piece));
        } else {
            self.open.insert(piece, open);
        }
        settled.into_iter().for_each(|tag| self.call_over(tag));
        while self.answered.len() > self.answered_max {
            let Some(oldest) = self.answered.pop_front() else { return };
            self.call_over(oldest);
        }
    }

    /// Whether replies wait to be on record.
    pub(super) fn has_answers(&self) -> bool {
        self.calls.values().any(|call| call.piece.is_some())
    }

    fn call_over(&mut self, tag: Tag) {
        let Some(call) = self.calls.remove(&tag) else { return };
        if self.by_ticket.get(&call.ticket) == Some(&tag) {
            self.by_ticket.remove(&call.ticket);
        }
        self.answered.retain(|other| *other != tag);
        self.say(Frame::bare(Kind::Forget, call.id));
        if let Some(piece) = call.piece {
            self.part_over(piece);
        }
    }

    fn part_over(&mut self, piece: u64) {
        let Some(open) = self.open.get_mut(&piece) else { return };
        *open -= 1;
        if *open == 0 {
            self.open.remove(&piece);
            self.say(Frame::bare(Kind::Settle, piece));
        }
    }

    /// Whether another line may leave for the child.
    pub(super) fn may_send(&self, messages: usize, bytes: usize) -> bool {
        self.sent.len() < messages && self.sent_bytes < bytes
    }

    /// A line leaves for the child; its number.
    pub(super) fn send(&mut self, bytes: usize, written: Option<oneshot::Sender<Result<(), LinkError>>>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.sent_bytes += bytes;
        self.sent.push_back(Sent { number, bytes, written });
        number
    }

    /// The child has the line, or why not.
    pub(super) fn wrote(&mut self, number: u64, why_not: &str) {
        let Some(at) = self.sent.iter().position(|sent| sent.number == number) else { return };
        let Some(Sent { bytes, written, .. }) = self.sent.remove(at) else { return };
        self.sent_bytes -= bytes;
        let Some(written) = written else { return };
        let done = if why_not.is_empty() {
            Ok(())
        } else {
            Err(LinkError::Broken {
                why: format!("the server does not take messages: {why_not}"),
                hint: "Taskwarden starts it again; look at its standard error for the cause.".into(),
                sent: true,
            })
        };
        // Whoever sent it may have gone on.
        let _ = written.send(done);
    }

    /// No line arrives any more: whoever waits is told by the end of the link.
    pub(super) fn drop_sent(&mut self) {
        self.sent.clear();
        self.sent_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(n: u128) -> HandleId {
        HandleId::from_random(n)
    }

    /// What was said to the keeper since, as kind and number.
    fn said(books: &mut Books) -> Vec<(Kind, u64)> {
        books.control.drain(..).map(|frame| (frame.kind, frame.number)).collect()
    }

    fn called(books: &mut Books, n: u64) {
        books.announce(Tag(n), ticket(u128::from(n)), false);
        books.asking(Tag(n), n);
    }

    #[test]
    fn a_reply_is_kept_until_its_handle_has_it() {
        let mut books = Books::new(10);
        called(&mut books, 7);
        assert_eq!(said(&mut books), [(Kind::Note, 7)], "the note goes out with the call");
        books.read(1, vec![Part::Answer(Tag(7))]);
        assert_eq!(said(&mut books), [], "read is not on record");
        assert!(books.has_answers(), "a reply waits");
        books.settle(ticket(7));
        assert_eq!(said(&mut books), [(Kind::Forget, 7), (Kind::Settle, 1)], "now it is");
        books.settle(ticket(7));
        books.read(2, vec![Part::Answer(Tag(9))]);
        assert_eq!(said(&mut books), [(Kind::Settle, 2)], "answers to other requests are found by looking");
    }

    #[test]
    fn a_reply_that_is_on_record_before_its_line_was_entered_is_not_kept() {
        let mut books = Books::new(10);
        called(&mut books, 7);
        books.settle(ticket(7));
        said(&mut books);
        books.read(1, vec![Part::Answer(Tag(7))]);
        let all = said(&mut books);
        assert!(all.contains(&(Kind::Settle, 1)) && all.contains(&(Kind::Forget, 7)), "{all:?}");
        assert!(!books.has_answers(), "nothing waits");
    }

    #[test]
    fn a_question_is_kept_until_it_is_answered_or_taken_back() {
        let mut books = Books::new(10);
        books.read(1, vec![Part::Asked("1".into()), Part::Asked("2".into())]);
        books.over(&Part::Asked("1".into()));
        assert_eq!(said(&mut books), [], "one of the batch is still asked");
        books.over(&Part::Asked("2".into()));
        assert_eq!(said(&mut books), [(Kind::Settle, 1)], "both are over");
        books.over(&Part::Asked("3".into()));
        books.read(2, vec![Part::Asked("3".into())]);
        assert_eq!(said(&mut books), [(Kind::Settle, 2)], "answered faster than it was entered");
    }

    #[test]
    fn a_call_that_was_given_up_finds_no_handle_in_the_next_core() {
        let mut books = Books::new(10);
        called(&mut books, 7);
        said(&mut books);
        books.over(&Part::Answer(Tag(7)));
        assert_eq!(said(&mut books), [(Kind::Forget, 7)], "its note is forgotten");
    }

    #[test]
    fn replies_that_nobody_settles_are_bounded() {
        let mut books = Books::new(2);
        for n in 1..=3 {
            called(&mut books, n);
            books.read(n, vec![Part::Answer(Tag(n))]);
        }
        let all = said(&mut books);
        assert!(all.contains(&(Kind::Settle, 1)) && !all.contains(&(Kind::Settle, 2)), "the oldest goes: {all:?}");
    }

    #[test]
    fn a_further_round_of_a_call_replaces_the_one_before() {
        let mut books = Books::new(10);
        called(&mut books, 7);
        books.read(1, vec![Part::Answer(Tag(7))]);
        said(&mut books);
        books.announce(Tag(8), ticket(7), false);
        books.asking(Tag(8), 8);
        let all = said(&mut books);
        assert!(all.contains(&(Kind::Settle, 1)) && all.contains(&(Kind::Note, 8)), "{all:?}");
        books.read(2, vec![Part::Answer(Tag(8))]);
        books.settle(ticket(7));
        assert!(said(&mut books).contains(&(Kind::Settle, 2)), "the last round is the one that counts");
    }
}
