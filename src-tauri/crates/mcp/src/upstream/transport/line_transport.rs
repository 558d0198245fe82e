//! What differs between the transports of lines: pipes, a keeper's socket, and the old HTTP+SSE.
//!
//! A line goes out at once where the transport can do that, and over a queue otherwise; none overtakes another.

use domain::ids::HandleId;
use domain::ports::{FreezeReading, PortFuture, SendPermit};
use tokio::sync::oneshot;

use crate::upstream::transport::link::{LinkError, RequestTag, not_permitted};

/// Messages of ours that wait for the writer. Callers wait for room; a few are enough to keep it busy.
pub(crate) const OUTBOX_CAPACITY: usize = 64;

/// A message of ours on its way out.
pub(crate) struct OutgoingLine {
    /// The message on one line.
    pub(crate) bytes: Vec<u8>,
    /// Gets the outcome of writing.
    pub(crate) written: Option<oneshot::Sender<Result<(), LinkError>>>,
    /// Asked right before it is written.
    pub(crate) permit: SendPermit,
}

impl OutgoingLine {
    /// The line, if it may still leave; otherwise whoever waits for it is told, and nothing is written.
    pub(crate) fn permitted(self) -> Option<Self> {
        if self.permit.begin_sending() {
            return Some(self);
        }
        if let Some(written) = self.written {
            let _ = written.send(Err(not_permitted()));
        }
        None
    }
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
    /// Whether the server's processes can be stopped.
    fn can_freeze(&self) -> bool {
        false
    }
    /// Stops the server's processes, or lets them continue; what was found, or `None` where nobody can.
    fn freeze(&self, _is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        Box::pin(std::future::ready(None))
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::policy::Policy;
    use domain::ports::SendGate;
    use parking_lot::Mutex;
    use tokio::sync::mpsc;

    use super::*;
    use crate::upstream::transport::inbound_queue::{self, LinkEnd};
    use crate::upstream::transport::line_connection::LineConnection;
    use crate::upstream::transport::link::{McpLink, OutgoingRequest};

    /// Notes what it is told to be over.
    struct NotesEnds(Arc<Mutex<Vec<OutputPart>>>);

    impl LineTransport for NotesEnds {
        fn stderr_tail(&self) -> String {
            String::new()
        }

        fn begin_end(&self) {}

        fn name(&self) -> &'static str {
            "test"
        }

        fn over(&self, what: &OutputPart) {
            self.0.lock().push(what.clone());
        }
    }

    /// What a halt leaves of the permit of a call.
    struct Withdrawn;

    impl SendGate for Withdrawn {
        fn begin_sending(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_line_whose_permit_was_withdrawn_while_it_waited_is_not_written_and_its_sender_is_told() {
        let (policy, end) = (Arc::new(Policy::default()), Arc::new(LinkEnd::default()));
        let (sink, _inbound) = inbound_queue::channel(&policy, &end);
        let (out, mut lines) = mpsc::channel(1);
        let link = LineConnection::new(Box::new(NotesEnds(Arc::default())), out, sink, policy);
        let request = OutgoingRequest {
            method: "tools/call".into(),
            params: serde_json::Value::Null,
            verbatim: Vec::new(),
            tag: RequestTag(1),
            limit: None,
            param_headers: Vec::new(),
            agent_params: None,
            permit: SendPermit(Some(Arc::new(Withdrawn))),
        };
        let writer = async { lines.recv().await.expect("it is queued").permitted().is_none() };
        let (answer, refused) = tokio::join!(link.request(request), writer);
        assert!(refused, "the writer does not write it");
        let failed = answer.map(|_| ()).expect_err("its sender is told");
        assert!(matches!(failed, LinkError::Broken { sent: false, .. }), "that nothing was sent: {failed:?}");
    }

    #[tokio::test]
    async fn a_server_that_withdraws_what_it_never_asked_leaves_nothing_to_remember() {
        let (policy, ended) = (Arc::new(Policy::default()), Arc::default());
        let (sink, _inbound) = inbound_queue::channel(&policy, &Arc::new(LinkEnd::default()));
        let (out, _lines) = mpsc::channel(1);
        let link = LineConnection::new(Box::new(NotesEnds(Arc::clone(&ended))), out, sink, policy);
        let withdraws = |id: u32| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        for id in 0..20 {
            assert!(link.accept(withdraws(id).as_bytes()).await.is_ok(), "it is taken");
        }
        assert_eq!(*ended.lock(), [], "nothing that was asked has ended");
        let asks = br#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}"#;
        assert_eq!(link.accept(asks).await.map(|parts| parts.len()).ok(), Some(1), "now it asks");
        for _ in 0..2 {
            assert!(link.accept(withdraws(7).as_bytes()).await.is_ok(), "it is taken");
        }
        assert_eq!(*ended.lock(), [OutputPart::Request("7".to_owned())], "what it asked has ended once");
    }
}
