//! The bounded way of what a server says unasked, and the end of a link.
//!
//! A reader waits for room instead of losing or piling up: the number of messages and their bytes are both bounded.
//! While it waits, answers behind it wait too, so a consumer must drain its stream whatever else it awaits; one that
//! leaves it full for `reply_limit` breaks the link, which ends every wait. Nobody can therefore hang for ever, and
//! nothing is lost silently. [`Over`] makes `Closed` the last item without needing room for it.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Closure;
use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::link::Inbound;

/// Messages on their way to the consumer. Large enough for a burst of status notifications of many tasks, small
/// enough that a stuck consumer is noticed; bytes are bounded apart.
const INBOUND_CAPACITY: usize = 256;

/// Room is counted in pieces of this many bytes, because a semaphore counts in 32 bits.
const ROOM_PIECE_BYTES: usize = 256;

/// The consumer left its stream full for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stuck;

struct Held {
    item: Inbound,
    _room: Option<OwnedSemaphorePermit>,
}

/// Whether and why a link is over; said once.
#[derive(Debug, Default)]
pub(crate) struct Over {
    told: CancellationToken,
    closure: Mutex<Option<Closure>>,
}

impl Over {
    /// Ends the link; the first reason stays.
    pub(crate) fn close(&self, closure: Closure) {
        self.closure.lock().get_or_insert(closure);
        self.told.cancel();
    }

    /// The reason, once there is one.
    pub(crate) fn closure(&self) -> Option<Closure> {
        self.closure.lock().clone()
    }

    /// Whether the link is over.
    pub(crate) fn is_over(&self) -> bool {
        self.told.is_cancelled()
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) {
        self.told.cancelled().await;
    }
}

/// Where readers put what they read.
#[derive(Clone)]
pub(crate) struct Sink {
    to: mpsc::Sender<Held>,
    room: Arc<Semaphore>,
    room_pieces: u32,
    patience: Duration,
    over: Arc<Over>,
}

impl Sink {
    /// Puts one message of about `bytes` into the stream, waiting for room.
    pub(crate) async fn put(&self, item: Inbound, bytes: usize) -> Result<(), Stuck> {
        if self.over.is_over() {
            return Ok(());
        }
        let pieces = u32::try_from(bytes / ROOM_PIECE_BYTES).unwrap_or(u32::MAX).saturating_add(1);
        let room = self.room.clone().acquire_many_owned(pieces.min(self.room_pieces));
        let all = async {
            // A closed semaphore or channel means that nobody listens any more: nothing to tell then.
            let Ok(room) = room.await else { return };
            let _ = self.to.send(Held { item, _room: Some(room) }).await;
        };
        tokio::select! {
            () = all => Ok(()),
            () = self.over.wait() => Ok(()),
            () = tokio::time::sleep(self.patience) => Err(Stuck),
        }
    }
}

/// Makes the way. The stream ends after `Closed`, which comes when `over` is closed and all before it was read.
pub(crate) fn channel(policy: &Policy, over: &Arc<Over>) -> (Sink, impl Stream<Item = Inbound> + Send + use<>) {
    let (to, from) = mpsc::channel(INBOUND_CAPACITY);
    // Two messages of the largest size fit, so that one waiting does not stop the next from being read.
    let room_pieces = u32::try_from(policy.message_cap_bytes / ROOM_PIECE_BYTES).unwrap_or(u32::MAX / 4).max(1) * 2;
    let room = Arc::new(Semaphore::new(usize::try_from(room_pieces).unwrap_or(usize::MAX >> 3)));
    let sink = Sink { to, room, room_pieces, patience: policy.reply_limit, over: over.clone() };
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
                    why: "the connection is over".into(),
                    hint: "Taskwarden connects again by itself.".into(),
                    process_ended: false,
                });
                Some((Inbound::Closed(closure), (from, over, true)))
            }
        }
    });
    (sink, stream)
}
