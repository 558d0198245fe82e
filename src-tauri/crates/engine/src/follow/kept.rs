//! Calls of an earlier run of the core that a kept child may still work on, and the end of a line nobody uses.
//!
//! Whether such a call goes on shows at the first connection: the child's keeper names it, or its reply is lost
//! (ruling 16). Taking in the reply is `admission.rs`'s. A line that people share is never ended here.

use std::sync::Arc;

use domain::task::{TaskHandle, Transition};
use domain::ids::{HandleId, HostId};
use domain::task::status::ServerView;
use tokio::time::Instant;

use super::{Follower, Job};
use crate::post::Live;
use crate::{admission, lines};

impl Follower {
    /// Takes up the calls that go on behind this connection; the others of earlier runs are lost.
    pub(super) fn regain_calls(&mut self, live: &Arc<Live>) {
        let regained = live.upstream.regained();
        for id in &regained {
            if self.post.flight(*id).is_some() {
                continue;
            }
            match self.core.ledger.held(*id) {
                Some(handle) if may_go_on(&handle) => admission::rejoin(&self.core, &self.post, live, &handle),
                Some(_) | None => live.upstream.taken(*id),
            }
        }
        self.lose_old_calls(&regained);
    }

    /// Calls of earlier runs whose reply can no longer come.
    pub(super) fn lose_old_calls(&mut self, regained: &[HandleId]) {
        let host = self.core.host;
        for handle in self.core.ledger.of_line(self.post.line) {
            if !is_of_another(&handle, host) || regained.contains(&handle.id) {
                continue;
            }
            let (core, id) = (Arc::clone(&self.core), handle.id);
            self.jobs.push(Box::pin(async move {
                let lost = core.must_apply(id, |handle, now| {
                    if is_of_another(handle, host) {
                        handle.reply_lost("the core was restarted while the call was in flight", now)
                    } else {
                        Transition::none(handle)
                    }
                });
                if let Err(error) = lost.await {
                    tracing::warn!(handle.id = %id, %error, "that a reply is lost could not be stored");
                }
                Job::Done
            }));
        }
    }

    /// Ends an agent's own line that nobody used for long enough.
    pub(super) fn end_when_idle(&mut self, now: Instant) {
        if self.post.line.seat.is_none() {
            return;
        }
        let again = now + self.core.policy.contact_flush;
        let ends_at = self.post.usage.ends_at(self.core.policy.gateway.line_idle);
        match ends_at {
            Some(at) if at > now => self.idle_at = Some(at.min(now + self.core.policy.gateway.line_idle)),
            Some(_) if lines::is_idle(&self.core, &self.post) && self.post.usage.end() => self.end_line(),
            Some(_) | None => self.idle_at = Some(again),
        }
    }

    fn end_line(&mut self) {
        self.idle_at = None;
        tracing::info!(server.name = %self.server.name, "an agent's own connection was not used and is ended");
        self.core.posts.forget(&self.post);
        self.post.leave.cancel();
        if let Some(live) = self.post.live() {
            self.post.set_live(None);
            self.core.scope.spawn("close", async move { live.upstream.close(false).await });
        }
    }
}

/// Whether another run of the core waits for the reply of this call.
pub(crate) fn is_of_another(handle: &TaskHandle, host: HostId) -> bool {
    match &handle.view {
        ServerView::Awaiting { host: waits, .. } | ServerView::OwnCall { host: waits, .. } => *waits != host,
        ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => false,
    }
}

/// Whether a reply to this call would still be taken.
fn may_go_on(handle: &TaskHandle) -> bool {
    match &handle.view {
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } | ServerView::Unanswered { .. } => true,
        ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_)
        | ServerView::Task(_) => false,
    }
}
