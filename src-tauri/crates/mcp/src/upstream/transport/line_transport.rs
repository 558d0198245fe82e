//! What differs between the transports of lines: pipes, a keeper's socket, and the old HTTP+SSE.
//!
//! A line goes out at once where the transport can do that, and over a queue otherwise; none overtakes another.

use domain::ids::HandleId;
use tokio::sync::oneshot;

use crate::upstream::transport::link::{LinkError, RequestTag};

/// Messages of ours that wait for the writer. Callers wait for room; a few are enough to keep it busy.
pub(crate) const OUTBOX_CAPACITY: usize = 64;

/// A message of ours on its way out.
pub(crate) struct OutgoingLine {
    /// The message on one line.
    pub(crate) bytes: Vec<u8>,
    /// Gets the outcome of writing.
    pub(crate) written: Option<oneshot::Sender<Result<(), LinkError>>>,
}

/// What differs between transports of lines.
pub(crate) trait LineTransport: Send + Sync + 'static {
    /// The end of a child's stderr.
    fn stderr_tail(&self) -> String;
    /// Starts to end the transport.
    fn begin_end(&self);
    /// The name of the transport, for logs.
    fn name(&self) -> &'static str;
    /// Sends a line without waiting, if none waits before it; otherwise gives it back, to be queued. `is_awaited` when
    /// only the transport can say that the line was written: a request is confirmed by its answer as well.
    ///
    /// # Errors
    /// The line, if it has to wait.
    fn send_now(&self, line: OutgoingLine, _is_awaited: bool) -> Result<(), OutgoingLine> {
        Err(line)
    }
    /// A line is about to be queued: no other may overtake it.
    fn line_queued(&self) {}
    /// A line that was to be queued was not.
    fn line_dropped(&self) {}
    /// A request with this tag is about to be sent under this id.
    fn asking(&self, _tag: RequestTag, _id: u64) {}
    /// Announces which call the request with this tag is.
    fn note_call(&self, _tag: RequestTag, _ticket: HandleId, _augment: bool) {}
    /// The reply to this call is recorded.
    fn settle(&self, _ticket: HandleId) {}
    /// An answer or question has ended: what was kept of it can be dropped.
    fn over(&self, _what: &OutputPart) {}
    /// Starts to detach from the transport without ending the server, where that is possible.
    fn begin_leave(&self) {
        self.begin_end();
    }
}

/// What one frame answers or asks; a transport that outlives its core keeps frames by these.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OutputPart {
    /// The answer to our request with this tag.
    Answer(RequestTag),
    /// A request of the server, by its token.
    Request(String),
}

/// A line that is about to be queued; its place is given back unless it was.
pub(crate) struct QueuePlace<'a>(Option<&'a dyn LineTransport>);

impl<'a> QueuePlace<'a> {
    /// Takes a place in the queue.
    pub(crate) fn take(wire: &'a dyn LineTransport) -> Self {
        wire.line_queued();
        Self(Some(wire))
    }

    /// The line is in the queue.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some(wire) = self.0 {
            wire.line_dropped();
        }
    }
}
