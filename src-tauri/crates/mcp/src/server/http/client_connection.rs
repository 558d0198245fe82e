//! What one connection of a client keeps from request to request, so that a quick request need not make it again.
//!
//! A host that has connections puts an `Arc` of it into the extensions of every request; without it each request has its
//! own. Nothing here is about who the client is allowed to be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use crate::server::request_meta::{LastMeta, RequestMeta};

/// What a connection keeps from one request to the next.
#[derive(Default)]
pub struct ClientConnection {
    /// The timer of the request in work. An armed timer is left armed when its request is answered, so that a connection
    /// arms one timer now and then instead of one for each request.
    late: Mutex<LateTimer>,
    meta: LastMeta,
}

impl ClientConnection {
    /// What this `_meta` of a request says.
    pub(crate) fn meta(&self, text: &str) -> Arc<RequestMeta> {
        self.meta.read(text)
    }

    /// Takes the timer for one request. Of requests that overlap, which HTTP/1.1 does not have, all but one get a new one.
    pub(crate) fn take_timer(&self) -> LateTimer {
        std::mem::take(&mut self.late.lock())
    }

    /// Gives the timer back for the next request.
    pub(crate) fn keep_timer(&self, timer: LateTimer) {
        *self.late.lock() = timer;
    }
}

/// Tells when a request has taken long.
#[derive(Default)]
pub(crate) struct LateTimer(Option<Pin<Box<Sleep>>>);

impl LateTimer {
    /// Whether it is `at` or later; if not, the task is woken then, or earlier by what an earlier request armed.
    pub(crate) fn is_past(&mut self, at: Instant, cx: &mut Context<'_>) -> bool {
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= at {
                return true;
            }
            sleep.as_mut().reset(at);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_an_earlier_request_armed_makes_no_later_one_late() {
        let connection = ClientConnection::default();
        let begun = Instant::now();
        let mut timer = connection.take_timer();
        let early = begun + Duration::from_millis(500);
        assert!(!poll_fn(|cx| Poll::Ready(timer.is_past(early, cx))).await, "the first request is quick");
        connection.keep_timer(timer);
        tokio::time::advance(Duration::from_millis(400)).await;
        let mut timer = connection.take_timer();
        let late = Instant::now() + Duration::from_millis(500);
        poll_fn(|cx| if timer.is_past(late, cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        assert!(Instant::now() >= late, "the second is late at its own time, though the timer ran out before");
    }
}
