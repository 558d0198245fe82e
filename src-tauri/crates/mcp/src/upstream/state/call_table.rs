//! Which calls of a connection are open, under which tag, and which became 2025 tasks.
//!
//! A tag is the progress token of its call too. Sending and cancelling are in `calls.rs`.

use std::collections::{BTreeMap, HashMap};

use domain::ids::{HandleId, UpstreamTaskId};

use crate::upstream::transport::link::RequestTag;

/// The calls of one connection, by tag and by handle.
#[derive(Default)]
pub(crate) struct CallTable {
    by_tag: BTreeMap<u64, OpenCall>,
    in_flight: HashMap<HandleId, u64>,
    became: HashMap<UpstreamTaskId, u64>,
}

struct OpenCall {
    ticket: HandleId,
    /// Its request was sent, or may be leaving now.
    sent: bool,
    /// Cancelled before it was sent.
    cancelled: bool,
}

impl CallTable {
    pub(crate) fn begin(&mut self, tag: RequestTag, ticket: HandleId) {
        self.by_tag.insert(tag.0, OpenCall { ticket, sent: false, cancelled: false });
        self.in_flight.insert(ticket, tag.0);
    }

    /// A call that an earlier core sent.
    pub(crate) fn regain(&mut self, tag: RequestTag, ticket: HandleId) {
        self.by_tag.insert(tag.0, OpenCall { ticket, sent: true, cancelled: false });
        self.in_flight.insert(ticket, tag.0);
    }

    /// Marks a call sent, unless it was cancelled before.
    pub(crate) fn leave(&mut self, tag: RequestTag) -> bool {
        match self.by_tag.get_mut(&tag.0) {
            Some(call) if !call.cancelled => {
                call.sent = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// The reply arrived or cannot arrive. A 2025 task keeps its tag, because its progress still uses that token.
    /// Returns the tag that is no longer used.
    pub(crate) fn end(
        &mut self,
        tag: RequestTag,
        lives_on_as: Option<&UpstreamTaskId>,
        most: usize,
    ) -> Option<RequestTag> {
        let call = self.by_tag.get(&tag.0)?;
        if self.in_flight.get(&call.ticket) == Some(&tag.0) {
            self.in_flight.remove(&call.ticket);
        }
        match lives_on_as {
            None => {
                self.by_tag.remove(&tag.0);
                Some(tag)
            }
            Some(task) => {
                self.became.insert(task.clone(), tag.0);
                if self.became.len() > most
                    && let Some(oldest) = self.became.iter().min_by_key(|(_, tag)| **tag).map(|(task, _)| task.clone())
                {
                    return self.forget(&oldest);
                }
                None
            }
        }
    }

    /// The task has ended, and its progress token with it.
    pub(crate) fn forget(&mut self, task: &UpstreamTaskId) -> Option<RequestTag> {
        let tag = self.became.remove(task)?;
        self.by_tag.remove(&tag);
        Some(RequestTag(tag))
    }

    /// The tag of a call that has no reply yet.
    pub(crate) fn pending_tag(&self, ticket: HandleId) -> Option<RequestTag> {
        self.in_flight.get(&ticket).copied().map(RequestTag)
    }

    /// Cancels a call that has not been sent. Returns whether it was one.
    pub(crate) fn cancel_unsent(&mut self, tag: RequestTag) -> bool {
        match self.by_tag.get_mut(&tag.0) {
            Some(call) if !call.sent => {
                call.cancelled = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// The call behind a stream or progress token.
    pub(crate) fn ticket_of(&self, tag: u64) -> Option<HandleId> {
        self.by_tag.get(&tag).map(|call| call.ticket)
    }

    /// The calls without a reply.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = HandleId> {
        self.in_flight.keys().copied()
    }
}
