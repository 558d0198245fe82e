//! Which output of a kept child this core has recorded, and which calls are pending.
//!
//! A reply is kept by the keeper until its handle has it on record, a question until it is answered or withdrawn;
//! anything else is settled once it was read, because polling finds it again. Bookkeeping only: frames for the keeper
//! collect in `control`, and `keeper_link.rs` sends them.

use std::collections::{HashMap, HashSet, VecDeque};

use domain::ids::HandleId;
use keeper::{FrameKind, KeeperFrame};
use tokio::sync::oneshot;

use crate::upstream::transport::line_connection::OutputPart;
use crate::upstream::transport::link::{LinkError, RequestTag, SEE_SERVER_LOG};

/// Which call a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) ticket: HandleId,
    pub(crate) tag: RequestTag,
    pub(crate) augment: bool,
}

/// A call that is pending, or whose reply is not recorded.
struct Call {
    id: u64,
    ticket: HandleId,
    /// The piece of output with its reply.
    piece: Option<u64>,
}

/// A line on its way to the child.
struct Sent {
    number: u64,
    bytes: usize,
    written: Option<oneshot::Sender<Result<(), LinkError>>>,
}

/// What one core has recorded of one child's output.
pub(crate) struct DeliveryLog {
    control: Vec<KeeperFrame>,
    announced: HashMap<RequestTag, (HandleId, bool)>,
    calls: HashMap<RequestTag, Call>,
    by_ticket: HashMap<HandleId, RequestTag>,
    /// Calls with a reply that is not on record, oldest first.
    answered: VecDeque<RequestTag>,
    answered_max: usize,
    asked: HashMap<String, u64>,
    /// Questions that ended before their line was entered.
    over_early: HashSet<String>,
    /// Pieces with parts that are not over, and how many.
    open: HashMap<u64, usize>,
    sent: VecDeque<Sent>,
    sent_bytes: usize,
    /// The link has ended: nothing will be confirmed any more.
    is_over: bool,
    next: u64,
}

impl DeliveryLog {
    /// An empty log that keeps at most `answered_max` replies.
    pub(crate) fn new(answered_max: usize) -> Self {
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
            is_over: false,
            next: 1,
        }
    }

    /// Queues a frame for the keeper.
    pub(crate) fn say(&mut self, frame: KeeperFrame) {
        self.control.push(frame);
    }

    /// How many frames are queued.
    pub(crate) fn queued(&self) -> usize {
        self.control.len()
    }

    /// Takes the queued frames.
    pub(crate) fn take_control(&mut self, to: &mut Vec<u8>) {
        for frame in self.control.drain(..) {
            frame.put(to);
        }
    }

    /// The request with this tag will be a call.
    pub(crate) fn announce(&mut self, tag: RequestTag, ticket: HandleId, augment: bool) {
        self.announced.insert(tag, (ticket, augment));
    }

    /// The request with this tag leaves under this id.
    pub(crate) fn asking(&mut self, tag: RequestTag, id: u64) {
        let Some((ticket, augment)) = self.announced.remove(&tag) else { return };
        let note = Note { id, ticket, tag, augment };
        self.say(KeeperFrame::new(FrameKind::Note, id, note.text()));
        self.adopt(&note);
    }

    /// A call is pending.
    pub(crate) fn adopt(&mut self, note: &Note) {
        // A further round: whoever sends it has taken in the reply to the one before.
        if let Some(before) = self.by_ticket.insert(note.ticket, note.tag) {
            self.call_over(before);
        }
        let call = Call { id: note.id, ticket: note.ticket, piece: None };
        self.calls.insert(note.tag, call);
    }

    /// What became of this call is on record. Its note goes now, also when its reply was not entered here yet or never
    /// comes: with the note left, the next core would wait for that reply and take questions of other calls for its own.
    pub(crate) fn settle(&mut self, ticket: HandleId) {
        if let Some(tag) = self.by_ticket.get(&ticket).copied() {
            self.call_over(tag);
        }
    }

    /// An answer or question has ended, whether or not its line was entered.
    pub(crate) fn over(&mut self, what: &OutputPart) {
        match what {
            OutputPart::Answer(tag) => {
                self.announced.remove(tag);
                self.call_over(*tag);
            }
            OutputPart::Request(token) => match self.asked.remove(token) {
                Some(piece) => self.part_over(piece),
                None => {
                    self.over_early.insert(token.clone());
                }
            },
        }
    }

    /// A piece of output was read.
    pub(crate) fn read(&mut self, piece: u64, parts: Vec<OutputPart>) {
        let mut open = 0;
        for part in parts {
            match part {
                OutputPart::Answer(tag) => {
                    // Settled before its line was entered.
                    let Some(call) = self.calls.get_mut(&tag) else { continue };
                    call.piece = Some(piece);
                    self.answered.push_back(tag);
                    open += 1;
                }
                OutputPart::Request(token) => {
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
            self.say(KeeperFrame::bare(FrameKind::Settle, piece));
        } else {
            self.open.insert(piece, open);
        }
        while self.answered.len() > self.answered_max {
            let Some(oldest) = self.answered.pop_front() else { return };
            self.call_over(oldest);
        }
    }

    /// Whether replies wait to be recorded.
    pub(crate) fn has_answers(&self) -> bool {
        self.calls.values().any(|call| call.piece.is_some())
    }

    fn call_over(&mut self, tag: RequestTag) {
        let Some(call) = self.calls.remove(&tag) else { return };
        if self.by_ticket.get(&call.ticket) == Some(&tag) {
            self.by_ticket.remove(&call.ticket);
        }
        self.answered.retain(|other| *other != tag);
        self.say(KeeperFrame::bare(FrameKind::Forget, call.id));
        if let Some(piece) = call.piece {
            self.part_over(piece);
        }
    }

    fn part_over(&mut self, piece: u64) {
        let Some(open) = self.open.get_mut(&piece) else { return };
        *open -= 1;
        if *open == 0 {
            self.open.remove(&piece);
            self.say(KeeperFrame::bare(FrameKind::Settle, piece));
        }
    }

    /// Whether another line may leave for the child.
    pub(crate) fn may_send(&self, messages: usize, bytes: usize) -> bool {
        self.sent.len() < messages && self.sent_bytes < bytes
    }

    /// A line leaves for the child; its number. After the end of the link nobody confirms it, and `written` is dropped.
    pub(crate) fn send(&mut self, bytes: usize, written: Option<oneshot::Sender<Result<(), LinkError>>>) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.is_over {
            return number;
        }
        self.sent_bytes += bytes;
        self.sent.push_back(Sent { number, bytes, written });
        number
    }

    /// The child has this line and all before it.
    pub(crate) fn wrote(&mut self, number: u64) {
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.number <= number) {
            self.sent_bytes -= sent.bytes;
            if let Some(written) = sent.written {
                // Whoever sent it may have gone on.
                let _ = written.send(Ok(()));
            }
        }
    }

    /// The child did not get this line.
    pub(crate) fn not_written(&mut self, number: u64, why: &str) {
        let Some(at) = self.sent.iter().position(|sent| sent.number == number) else { return };
        let Some(Sent { bytes, written, .. }) = self.sent.remove(at) else { return };
        self.sent_bytes -= bytes;
        let Some(written) = written else { return };
        // Whoever sent it may have gone on.
        let _ = written.send(Err(LinkError::Broken {
            why: format!("the server does not take messages: {why}"),
            hint: SEE_SERVER_LOG.into(),
            sent: true,
        }));
    }

    /// The link has ended; those who wait for a line learn it from there, and so do those who send one now.
    pub(crate) fn drop_sent(&mut self) {
        self.is_over = true;
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
    fn said(log: &mut DeliveryLog) -> Vec<(FrameKind, u64)> {
        log.control.drain(..).map(|frame| (frame.kind, frame.number)).collect()
    }

    fn called(log: &mut DeliveryLog, n: u64) {
        log.announce(RequestTag(n), ticket(u128::from(n)), false);
        log.asking(RequestTag(n), n);
    }

    #[test]
    fn who_sends_a_line_after_the_end_of_the_link_does_not_wait_for_it() {
        let mut log = DeliveryLog::new(10);
        let (before, mut waits) = oneshot::channel();
        log.send(10, Some(before));
        log.drop_sent();
        assert!(waits.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed), "it was told");
        let (after, mut waits) = oneshot::channel();
        log.send(10, Some(after));
        assert!(
            waits.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed),
            "and so is this one"
        );
        assert!(log.may_send(1, 1), "nothing is on its way");
    }

    #[test]
    fn a_reply_is_kept_until_its_handle_has_it() {
        let mut log = DeliveryLog::new(10);
        called(&mut log, 7);
        assert_eq!(said(&mut log), [(FrameKind::Note, 7)], "the note goes out with the call");
        log.read(1, vec![OutputPart::Answer(RequestTag(7))]);
        assert_eq!(said(&mut log), [], "read is not on record");
        assert!(log.has_answers(), "a reply waits");
        log.settle(ticket(7));
        assert_eq!(said(&mut log), [(FrameKind::Forget, 7), (FrameKind::Settle, 1)], "now it is");
        log.settle(ticket(7));
        log.read(2, vec![OutputPart::Answer(RequestTag(9))]);
        assert_eq!(said(&mut log), [(FrameKind::Settle, 2)], "answers to other requests are found by looking");
    }

    #[test]
    fn a_reply_that_is_on_record_before_its_line_was_entered_is_not_kept() {
        let mut log = DeliveryLog::new(10);
        called(&mut log, 7);
        log.settle(ticket(7));
        assert_eq!(said(&mut log), [(FrameKind::Note, 7), (FrameKind::Forget, 7)], "its note is forgotten at once");
        log.read(1, vec![OutputPart::Answer(RequestTag(7))]);
        assert_eq!(said(&mut log), [(FrameKind::Settle, 1)], "and its line with it");
        assert!(!log.has_answers(), "nothing waits");
    }

    #[test]
    fn a_call_whose_reply_never_comes_is_forgotten_once_that_is_on_record() {
        let mut log = DeliveryLog::new(10);
        called(&mut log, 7);
        said(&mut log);
        log.settle(ticket(7));
        assert_eq!(said(&mut log), [(FrameKind::Forget, 7)], "the next core waits for nothing");
    }

    #[test]
    fn a_question_is_kept_until_it_is_answered_or_taken_back() {
        let mut log = DeliveryLog::new(10);
        log.read(1, vec![OutputPart::Request("1".into()), OutputPart::Request("2".into())]);
        log.over(&OutputPart::Request("1".into()));
        assert_eq!(said(&mut log), [], "one of the batch is still asked");
        log.over(&OutputPart::Request("2".into()));
        assert_eq!(said(&mut log), [(FrameKind::Settle, 1)], "both are over");
        log.over(&OutputPart::Request("3".into()));
        log.read(2, vec![OutputPart::Request("3".into())]);
        assert_eq!(said(&mut log), [(FrameKind::Settle, 2)], "answered faster than it was entered");
    }

    #[test]
    fn a_call_that_was_given_up_finds_no_handle_in_the_next_core() {
        let mut log = DeliveryLog::new(10);
        called(&mut log, 7);
        said(&mut log);
        log.over(&OutputPart::Answer(RequestTag(7)));
        assert_eq!(said(&mut log), [(FrameKind::Forget, 7)], "its note is forgotten");
    }

    #[test]
    fn a_confirmation_stands_for_all_lines_before_it_and_a_failure_for_one() {
        let mut log = DeliveryLog::new(10);
        let mut told: Vec<_> = (0..4)
            .map(|_| {
                let (written, told) = oneshot::channel();
                log.send(10, Some(written));
                told
            })
            .collect();
        assert!(!log.may_send(4, 100) && log.may_send(5, 100), "four are on their way");
        log.wrote(2);
        log.not_written(3, "its input is closed");
        let outcomes: Vec<_> = told.iter_mut().map(|told| told.try_recv().map(|done| done.is_ok()).ok()).collect();
        assert_eq!(outcomes, [Some(true), Some(true), Some(false), None], "the last is still on its way");
        assert!(log.may_send(2, 11) && !log.may_send(2, 10), "one line of ten bytes is left");
    }

    #[test]
    fn replies_that_nobody_settles_are_bounded() {
        let mut log = DeliveryLog::new(2);
        for n in 1..=3 {
            called(&mut log, n);
            log.read(n, vec![OutputPart::Answer(RequestTag(n))]);
        }
        let all = said(&mut log);
        assert!(
            all.contains(&(FrameKind::Settle, 1)) && !all.contains(&(FrameKind::Settle, 2)),
            "the oldest goes: {all:?}"
        );
    }

    #[test]
    fn a_further_round_of_a_call_replaces_the_one_before() {
        let mut log = DeliveryLog::new(10);
        called(&mut log, 7);
        log.read(1, vec![OutputPart::Answer(RequestTag(7))]);
        said(&mut log);
        log.announce(RequestTag(8), ticket(7), false);
        log.asking(RequestTag(8), 8);
        let all = said(&mut log);
        assert!(all.contains(&(FrameKind::Settle, 1)) && all.contains(&(FrameKind::Note, 8)), "{all:?}");
        log.read(2, vec![OutputPart::Answer(RequestTag(8))]);
        log.settle(ticket(7));
        assert!(said(&mut log).contains(&(FrameKind::Settle, 2)), "the last round is the one that counts");
    }
}
