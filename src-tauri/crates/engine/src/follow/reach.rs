//! Whether the server as a whole can be reached, as far as looks can tell: it may ask to slow down, want a sign-in,
//! or not answer again and again. Then it is left alone as a whole, not task by task.
//!
//! While a call is in flight the connection is kept, because the call's reply comes over it; single probes then find
//! out whether the server is back. Connections that say themselves that they are over are in `connect.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::server::ServerHealth;
use domain::task::status::Needs;
use tokio::time::Instant;

use super::Follower;
use super::step::Step;
use crate::post::Live;

impl Follower {
    pub(super) fn is_stopping(&self) -> bool {
        self.core.stopping.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether so many looks in a row failed that the server counts as down, though its connection is open.
    pub(super) fn is_out_of_reach(&self) -> bool {
        self.unreachable >= self.core.policy.silent_misses
    }

    /// One look at a time until one gets through; everything else that is due is missed meanwhile.
    pub(super) fn probe(&mut self, now: Instant, live: Arc<Live>) {
        if self.reading == 0 && self.quiet_until.is_none_or(|until| until <= now) {
            if self.post.in_flight().is_empty() {
                self.drop_connection("it does not answer", "It connects again by itself.");
                return;
            }
            if let Some(id) = self.book.take_first() {
                self.look(id, live);
            }
        }
        self.miss_due(now);
    }

    /// The server answered something.
    pub(super) fn reached(&mut self) {
        self.slowed = 0;
        self.unreachable = 0;
        if std::mem::take(&mut self.ailing) {
            self.quiet_until = None;
            self.post.set_health(ServerHealth::Up { since: self.core.now() });
            self.all_due();
            self.core.parcels.line_up(self.post.line);
        }
    }

    /// The server could not be reached. After a few in a row it is left alone for a while; without a call in flight
    /// the connection is made anew.
    pub(super) fn unreached(&mut self, why: &str, hint: &str) {
        self.unreachable = self.unreachable.saturating_add(1);
        if self.unreachable < self.core.policy.silent_misses || self.post.live().is_none() {
            return;
        }
        if self.post.in_flight().is_empty() {
            self.drop_connection(why, hint);
            return;
        }
        self.ailing = true;
        let wait =
            self.core.back_off(self.unreachable.saturating_sub(self.core.policy.silent_misses).saturating_add(1));
        let until = Instant::now() + wait;
        self.quiet_until = Some(until);
        let since = match self.post.health() {
            ServerHealth::Down { since, .. } => since,
            ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Up { .. }
            | ServerHealth::Blocked { .. } => self.core.now(),
        };
        let retry_at = Some(self.core.moment(until));
        self.post.set_health(ServerHealth::Down { since, why: why.into(), hint: hint.into(), retry_at });
    }

    /// A request that was no look did not reach the server. With tasks, it counts like a look that did not; without
    /// any, no look would ever find out, so the connection is made anew at once.
    pub(super) fn unreached_by_others(&mut self, why: &str, hint: &str) {
        if self.book.len() == 0 && self.post.in_flight().is_empty() {
            self.drop_connection(why, hint);
        } else {
            self.unreached(why, hint);
        }
    }

    /// The server asks to slow down: nothing is read before it allows.
    pub(super) fn slow_down(&mut self, after: Option<Duration>) -> Duration {
        self.slowed = self.slowed.saturating_add(1);
        let wait = after.unwrap_or_else(|| self.core.back_off(self.slowed)).min(self.core.policy.retry_after_ceiling);
        let until = Instant::now() + wait;
        self.quiet_until = Some(self.quiet_until.map_or(until, |before| before.max(until)));
        wait
    }

    /// The server wants a person first; so do all its tasks.
    pub(super) fn needs_sign_in(&mut self, why: String, hint: String) {
        self.post.set_health(ServerHealth::Blocked { since: self.core.now(), why, hint: hint.clone() });
        if self.post.live().is_some() {
            self.ailing = true;
            let until = Instant::now() + self.core.policy.backoff_last;
            self.quiet_until = Some(until);
        }
        self.block_all(&Needs::SignIn(hint));
    }

    pub(super) fn block_all(&mut self, needs: &Needs) {
        for id in self.book.handles() {
            self.step(id, Step::Blocked(needs.clone()));
        }
    }
}
