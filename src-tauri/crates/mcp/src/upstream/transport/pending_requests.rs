//! Requests that wait for an answer, on a wire where answers come in any order.
//!
//! Ids are counters. An entry leaves with its answer, when it is cancelled or dropped, and when the link ends. Answers
//! that nobody waits for are late or wrong and are dropped. [`UnansweredRequests`] is the other direction: requests of
//! the server that we have to answer.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::upstream::transport::link::{Answer, LinkError, RequestTag};
use crate::wire::message::Id;

/// Requests of one server that may be unanswered at once. A server that asks more gets an error:
/// nobody reads a thousand forms. Judgement.
const ASKED_MAX: usize = 1_000;

/// Requests that a server gets before anybody calls a tool of it, and that hold nothing of people or agents.
const WITHOUT_ARGUMENTS: [&str; 6] =
    ["initialize", "server/discover", "ping", "logging/setLevel", "tools/list", "tasks/list"];

type Reply = Result<Answer, LinkError>;

#[derive(Default)]
struct Entries {
    next: u64,
    waiting: HashMap<u64, (RequestTag, oneshot::Sender<Reply>)>,
    ended: Option<LinkError>,
    may_know_arguments: bool,
}

/// Our requests on their way.
#[derive(Default, Clone)]
pub(crate) struct PendingRequests(Arc<Mutex<Entries>>);

/// One of our requests: its id and the place where its answer arrives. Dropping it gives the place back.
pub(crate) struct PendingRequest {
    pending: PendingRequests,
    pub(crate) id: u64,
    pub(crate) answer: oneshot::Receiver<Reply>,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.pending.0.lock().waiting.remove(&self.id);
    }
}

impl PendingRequests {
    /// Takes a place for a request.
    pub(crate) fn take(&self, tag: RequestTag) -> Result<PendingRequest, LinkError> {
        let (to, answer) = oneshot::channel();
        let mut entries = self.0.lock();
        if let Some(ended) = &entries.ended {
            return Err(ended.clone());
        }
        entries.next += 1;
        let id = entries.next;
        entries.waiting.insert(id, (tag, to));
        drop(entries);
        Ok(PendingRequest { pending: self.clone(), id, answer })
    }

    /// Ids begin above this from now on: those up to it belong to an earlier core, which may have sent calls.
    pub(crate) fn begin_above(&self, id: u64) {
        let mut entries = self.0.lock();
        entries.next = id;
        entries.may_know_arguments = true;
    }

    /// A request leaves: from now on the server may know arguments or answers, unless requests of this method have none.
    pub(crate) fn note_sent(&self, method: &str) {
        if !WITHOUT_ARGUMENTS.contains(&method) {
            self.0.lock().may_know_arguments = true;
        }
    }

    /// Whether the server may have got arguments or answers, and may repeat them in what it writes.
    pub(crate) fn may_know_arguments(&self) -> bool {
        self.0.lock().may_know_arguments
    }

    /// Takes the place of a request that an earlier core sent.
    pub(crate) fn adopt(&self, id: u64, tag: RequestTag) -> PendingRequest {
        let (to, answer) = oneshot::channel();
        self.0.lock().waiting.insert(id, (tag, to));
        PendingRequest { pending: self.clone(), id, answer }
    }

    /// Brings an answer to whoever waits for it. Returns whether anybody did.
    pub(crate) fn settle(&self, id: &Id, reply: Reply) -> bool {
        self.settle_tagged(id, reply).is_some()
    }

    /// The same, and says which request it was.
    pub(crate) fn settle_tagged(&self, id: &Id, reply: Reply) -> Option<RequestTag> {
        let Id::Number(number) = id else { return None };
        let number = u64::try_from(*number).ok()?;
        let (tag, to) = self.0.lock().waiting.remove(&number)?;
        to.send(reply).is_ok().then_some(tag)
    }

    /// Brings an answer without an id to the only one that waits, if there is exactly one.
    pub(crate) fn settle_only(&self, reply: Reply) -> bool {
        let only = {
            let entries = self.0.lock();
            let mut ids = entries.waiting.keys().copied();
            match (ids.next(), ids.next()) {
                (Some(id), None) => Some(id),
                _ => None,
            }
        };
        only.is_some_and(|id| self.settle(&Id::from(id), reply))
    }

    /// The tag of a request that waits for its answer.
    pub(crate) fn tag_of(&self, id: &Id) -> Option<RequestTag> {
        let Id::Number(number) = id else { return None };
        let number = u64::try_from(*number).ok()?;
        self.0.lock().waiting.get(&number).map(|(tag, _)| *tag)
    }

    /// Gives up the request with this tag; its id when it was waiting.
    pub(crate) fn give_up(&self, tag: RequestTag, why: LinkError) -> Option<u64> {
        let mut entries = self.0.lock();
        let id = entries.waiting.iter().find(|(_, (of, _))| *of == tag).map(|(id, _)| *id)?;
        let (_, to) = entries.waiting.remove(&id)?;
        drop(entries);
        let _ = to.send(Err(why));
        Some(id)
    }

    /// Ends all waiting, and all that would begin.
    pub(crate) fn end(&self, waiting: &LinkError, later: LinkError) {
        let all = {
            let mut entries = self.0.lock();
            entries.ended.get_or_insert(later);
            std::mem::take(&mut entries.waiting)
        };
        for (_, (_, to)) in all {
            let _ = to.send(Err(waiting.clone()));
        }
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }
}

/// Requests of the server that are not answered yet, by token.
#[derive(Default)]
pub(crate) struct UnansweredRequests(Mutex<HashMap<String, Id>>);

impl UnansweredRequests {
    /// Notes a request. `None` when too many are open.
    pub(crate) fn note(&self, id: &Id) -> Option<String> {
        let token = id.json();
        let mut open = self.0.lock();
        if open.len() >= ASKED_MAX && !open.contains_key(&token) {
            return None;
        }
        open.insert(token.clone(), id.clone());
        Some(token)
    }

    /// Takes a request out, to answer it or because the server withdrew it.
    pub(crate) fn take(&self, token: &str) -> Option<Id> {
        self.0.lock().remove(token)
    }

    /// Puts a request back whose answer did not get out.
    pub(crate) fn put_back(&self, token: &str, id: Id) {
        self.0.lock().insert(token.to_owned(), id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn fine() -> Reply {
        Ok(Answer::Result(RawValue::from_string("1".into()).expect("JSON")))
    }

    #[test]
    fn nothing_stays_on_the_board_whatever_ends_a_request() {
        let pending = PendingRequests::default();
        let gone = LinkError::Broken { why: "gone".into(), hint: String::new(), sent: true };
        let mut answered = pending.take(RequestTag(1)).expect("a place");
        assert!(pending.settle(&Id::from(answered.id), fine()), "somebody waited");
        assert!(answered.answer.try_recv().is_ok_and(|reply| reply.is_ok()), "and has it");
        let dropped = pending.take(RequestTag(2)).expect("a place");
        let late = Id::from(dropped.id);
        drop(dropped);
        assert!(!pending.settle(&late, fine()), "a late answer is nobody's");
        let given_up = pending.take(RequestTag(3)).expect("a place");
        assert_eq!(pending.give_up(RequestTag(3), gone.clone()), Some(given_up.id));
        assert_eq!(pending.waiting(), 0, "nothing leaks");

        let mut waiting = pending.take(RequestTag(4)).expect("a place");
        pending.end(&gone, gone.clone());
        assert_eq!(waiting.answer.try_recv().ok().and_then(Result::err), Some(gone), "the end reaches all");
        assert!(pending.take(RequestTag(5)).is_err() && pending.waiting() == 0, "and nobody begins to wait");
    }

    #[test]
    fn an_error_without_an_id_reaches_the_only_one_that_waits() {
        let pending = PendingRequests::default();
        let mut one = pending.take(RequestTag(1)).expect("a place");
        let two = pending.take(RequestTag(2)).expect("a place");
        assert!(!pending.settle_only(fine()), "it could be either's");
        drop(two);
        assert!(pending.settle_only(fine()) && one.answer.try_recv().is_ok(), "now it can only be this one's");
    }

    #[test]
    fn a_server_cannot_pile_up_questions() {
        let asked = UnansweredRequests::default();
        for number in 0..1_000_u64 {
            assert!(asked.note(&Id::from(number)).is_some(), "within the limit");
        }
        assert_eq!(asked.note(&Id::from(1_000)), None, "one too many");
        assert!(asked.note(&Id::from(5)).is_some(), "the same again is no more");
        assert!(asked.take("5").is_some() && asked.note(&Id::from(1_000)).is_some(), "room again");
    }
}
