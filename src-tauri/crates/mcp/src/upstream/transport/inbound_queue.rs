//! The bounded queue of messages that the server sends outside of answers, and the end of a link.
//!
//! A reader waits for room instead of dropping; both the number of messages and their bytes are bounded. A consumer
//! that leaves the queue full for `reply_limit` breaks the link, so nobody waits for ever and nothing is lost silently.
//! [`LinkEnd`] makes `Closed` the last item without needing room for it.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Closure;
use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::upstream::transport::link::InboundMessage;

/// Messages on their way to the consumer. Large enough for a burst of status notifications of many tasks, small
/// enough that a stuck consumer is noticed; bytes are bounded apart.
const INBOUND_CAPACITY: usize = 256;

/// Room is counted in pieces of this many bytes, because a semaphore counts in 32 bits.
const ROOM_PIECE_BYTES: usize = 256;

/// The consumer left its stream full for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

struct Held {
    item: InboundMessage,
    _room: Option<OwnedSemaphorePermit>,
}

/// Whether and why a link has ended; set once.
#[derive(Debug, Default)]
pub(crate) struct LinkEnd {
    told: CancellationToken,
    closure: Mutex<Option<Closure>>,
}

impl LinkEnd {
    /// Ends the link; the first reason stays.
    pub(crate) fn close(&self, closure: Closure) {
        self.closure.lock().get_or_insert(closure);
        self.told.cancel();
    }

    /// The reason, once there is one.
    pub(crate) fn closure(&self) -> Option<Closure> {
        self.closure.lock().clone()
    }

    /// Whether the link has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.told.is_cancelled()
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) {
        self.told.cancelled().await;
    }
}

/// Where readers of a link put its messages.
#[derive(Clone)]
pub(crate) struct InboundSender {
    to: mpsc::Sender<Held>,
    room: Arc<Semaphore>,
    room_pieces: u32,
    patience: Duration,
    over: Arc<LinkEnd>,
}

impl InboundSender {
    /// The end of the link whose messages go here.
    pub(crate) fn link_end(&self) -> Arc<LinkEnd> {
        Arc::clone(&self.over)
    }

    /// Puts one message of about `bytes` into the stream, waiting for room.
    pub(crate) async fn put(&self, item: InboundMessage, bytes: usize) -> Result<(), QueueFull> {
        if self.over.is_over() {
            return Ok(());
        }
        let pieces = u32::try_from(bytes / ROOM_PIECE_BYTES).unwrap_or(u32::MAX).saturating_add(1);
        let room = self.room.clone().acquire_many_owned(pieces.min(self.room_pieces));
        let all = async {
            // A closed semaphore or channel means that nobody reads any more.
            let Ok(room) = room.await else { return };
            let _ = self.to.send(Held { item, _room: Some(room) }).await;
        };
        tokio::select! {
            () = all => Ok(()),
            () = self.over.wait() => Ok(()),
            () = tokio::time::sleep(self.patience) => Err(QueueFull),
        }
    }
}

/// Makes the queue. The stream ends after `Closed`, which comes when `over` is closed and all before it was read.
pub(crate) fn channel(
    policy: &Policy,
    over: &Arc<LinkEnd>,
) -> (InboundSender, impl Stream<Item = InboundMessage> + Send + use<>) {
    let (to, from) = mpsc::channel(INBOUND_CAPACITY);
    // Two messages of the largest size fit, so that one waiting does not stop the next from being read.
    let room_pieces = u32::try_from(policy.message_cap_bytes / ROOM_PIECE_BYTES).unwrap_or(u32::MAX / 4).max(1) * 2;
    let room = Arc::new(Semaphore::new(usize::try_from(room_pieces).unwrap_or(usize::MAX >> 3)));
    let sink = InboundSender { to, room, room_pieces, patience: policy.reply_limit, over: over.clone() };
    let stream = futures::stream::unfold((from, over.clone(), false), |(mut from, over, ended)| async move {
        if ended {
            return None;
        }
        let held: Option<Held> = tokio::select! {
            biased;
            held = from.recv() => held,
            () = over.wait() => from.try_recv().ok(),
        };
        match held {
            Some(held) => Some((held.item, (from, over, false))),
            None => {
                over.wait().await;
                let closure = over.closure().unwrap_or_else(|| Closure {
                    why: "the connection ended".into(),
                    hint: "Taskwarden reconnects automatically.".into(),
                    process_ended: false,
                });
                Some((InboundMessage::Closed(closure), (from, over, true)))
            }
        }
    });
    (sink, stream)
}
