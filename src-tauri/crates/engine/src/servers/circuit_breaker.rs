//! Leaves a server alone as a whole when it asks to slow down, wants a sign-in, or fails again and again.
//!
//! While a call is in flight the connection is kept, because the reply comes over it; single probes then find out
//! whether the server is back. Connections that end by themselves are in `connect.rs`.
//!
//! People read the health of the shared connection. Where only agents' own connections are used it has nothing to say to
//! the server, so what those learn makes it look for itself: one that did not reach the server has it checked, and one
//! that did has a waiting connection opened. Only over HTTP: each child process is reached by itself. A stream that broke
//! and cannot be opened again is a reason to check as well.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::ConnectionId;
use domain::ports::UpstreamError;
use domain::server::{Era, ServerAddress, ServerHealth};
use domain::task::status::Needs;
use tokio::time::Instant;

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::servers::actor::ServerActor;
use crate::servers::state::connection_tracker::ConnectionStage;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::task_lane::LaneUpdate;

impl ServerActor {
    pub(crate) fn is_stopping(&self) -> bool {
        self.core.stopping.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether a person froze the server: it is not asked anything, and what it does not answer is no trouble.
    pub(crate) fn is_frozen(&self) -> bool {
        self.core.pauses.is_frozen(self.server.id)
    }

    /// Whether so many polls in a row failed that the server counts as down, though its connection is open.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.unreachable >= self.core.policy.silent_misses
    }

    /// One poll at a time until one gets through; everything else that is due is missed.
    pub(crate) fn probe(&mut self, now: Instant, live: Arc<LiveConnection>) {
        if self.reading == 0 && self.paused_until.is_none_or(|until| until <= now) {
            if self.connection.in_flight().is_empty() {
                self.drop_connection("it does not answer", "It reconnects automatically.");
                return;
            }
            if let Some(id) = self.polls.take_first() {
                self.poll(id, live);
            }
        }
        self.miss_due(now);
    }

    /// The server answered something.
    pub(crate) fn reached(&mut self) {
        self.slow_downs = 0;
        self.unreachable = 0;
        if std::mem::take(&mut self.is_unhealthy) {
            self.paused_until = None;
            self.connection.set_health(ServerHealth::Up { since: self.core.time.now() });
            self.tell_shared_reached();
            self.all_due();
            self.core.effects.deliveries.connection_restored(self.connection.key);
        }
    }

    /// The server could not be reached. After a few in a row it is left alone for a while; without a call in flight
    /// it reconnects.
    pub(crate) fn unreached(&mut self, why: &str, hint: &str) {
        if self.is_frozen() {
            return;
        }
        self.tell_shared_unreached();
        self.unreachable = self.unreachable.saturating_add(1);
        if self.unreachable < self.core.policy.silent_misses || self.connection.live().is_none() {
            return;
        }
        if self.connection.in_flight().is_empty() {
            self.drop_connection(why, hint);
            return;
        }
        self.is_unhealthy = true;
        let wait =
            self.core.time.back_off(self.unreachable.saturating_sub(self.core.policy.silent_misses).saturating_add(1));
        let until = Instant::now() + wait;
        self.paused_until = Some(until);
        let since = match self.connection.health() {
            ServerHealth::Down { since, .. } => since,
            ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Up { .. }
            | ServerHealth::Ended { .. }
            | ServerHealth::Blocked { .. } => self.core.time.now(),
        };
        let retry_at = Some(self.core.time.moment(until));
        self.connection.set_health(ServerHealth::Down { since, why: why.into(), hint: hint.into(), retry_at });
    }

    /// A request that was no poll did not reach the server. With tasks, it counts like a failed poll; without any, no poll
    /// would ever find out, so it reconnects at once.
    pub(crate) fn unreached_by_others(&mut self, why: &str, hint: &str) {
        if self.is_frozen() {
            return;
        }
        if self.polls.len() == 0 && self.connection.in_flight().is_empty() {
            self.tell_shared_unreached();
            self.drop_connection(why, hint);
        } else {
            self.unreached(why, hint);
        }
    }

    /// The shared connection to the server behind this agent's own one.
    fn shared_of_seat(&self) -> Option<Arc<ServerConnection>> {
        match (&self.server.address, self.connection.key.seat) {
            (ServerAddress::Http { .. }, Some(_)) => self.core.connections.shared(self.server.id),
            (ServerAddress::Http { .. } | ServerAddress::Stdio { .. }, _) => None,
        }
    }

    /// An agent's own connection did not reach the server. That may be its own trouble, so it is no more than a reason
    /// for the shared one to check.
    pub(crate) fn tell_shared_unreached(&self) {
        if let Some(shared) = self.shared_of_seat() {
            shared.request_check();
        }
    }

    /// An agent's own connection reached the server: the shared one need not wait to try again.
    pub(crate) fn tell_shared_reached(&self) {
        let Some(shared) = self.shared_of_seat() else { return };
        if let ServerHealth::Down { retry_at: Some(_), .. } = shared.health() {
            shared.connect_unless_open();
        }
    }

    /// Checks soon that the server answers here, where that is not known to be otherwise.
    pub(crate) fn check_soon(&mut self) {
        if let ServerHealth::Up { .. } = self.connection.health() {
            self.check.want(Instant::now(), self.core.policy.reconnect_busy_last);
        }
    }

    pub(crate) fn check_when_due(&mut self, now: Instant) {
        if !self.check.begins(now) {
            return;
        }
        let Some(live) = self.connection.live() else { return self.check.end() };
        if self.reads_to_check(&live) {
            self.check.end();
            // What is being read says the same.
            if self.reading == 0
                && let Some(id) = self.polls.take_first()
            {
                self.poll(id, live);
            }
            return;
        }
        let core = Arc::clone(&self.core);
        self.jobs.push(Box::pin(async move {
            let answer = core.ask(live.upstream.ping()).await;
            FinishedJob::Checked(live.id, answer)
        }));
    }

    /// A check is over. Whatever the server answered, it is there; whoever asks it next learns what it wants.
    pub(crate) fn checked(&mut self, connection: ConnectionId, answer: Result<(), UpstreamError>) {
        self.check.end();
        if self.connection.live().is_none_or(|live| live.id != connection) {
            return;
        }
        match answer {
            Err(UpstreamError::Unreachable { why, hint }) => self.unreached_by_others(&why, &hint),
            Err(UpstreamError::Unauthorized { why, hint }) => {
                if self.core.sign_ins.is_needed(&self.server) {
                    self.needs_sign_in(why, hint);
                }
            }
            Err(UpstreamError::RateLimited { after }) => {
                self.slow_down(after);
            }
            Err(
                UpstreamError::UnknownTask
                | UpstreamError::Refused(_)
                | UpstreamError::MissingCapability(_)
                | UpstreamError::Unsupported(_)
                | UpstreamError::Unreadable { .. }
                | UpstreamError::GivenUp
                | UpstreamError::ChannelGone,
            )
            | Ok(()) => {}
        }
    }

    /// The server asks to slow down: nothing is read before it allows.
    pub(crate) fn slow_down(&mut self, after: Option<Duration>) -> Duration {
        self.slow_downs = self.slow_downs.saturating_add(1);
        let wait =
            after.unwrap_or_else(|| self.core.time.back_off(self.slow_downs)).min(self.core.policy.retry_after_ceiling);
        let until = Instant::now() + wait;
        self.paused_until = Some(self.paused_until.map_or(until, |before| before.max(until)));
        wait
    }

    /// The server wants a person first; so do all its tasks.
    pub(crate) fn needs_sign_in(&mut self, why: String, hint: String) {
        self.connection.set_health(ServerHealth::Blocked { since: self.core.time.now(), why, hint: hint.clone() });
        if self.connection.live().is_some() {
            self.is_unhealthy = true;
            let until = Instant::now() + self.core.policy.backoff_last;
            self.paused_until = Some(until);
        }
        self.block_all(&Needs::SignIn(hint));
    }

    /// Whether a task is read to check: the modern dialect has no ping.
    fn reads_to_check(&self, live: &LiveConnection) -> bool {
        live.negotiated.era == Era::Modern && self.polls.len() > 0
    }

    /// A request that was no poll was refused. Where a person has to sign in, the whole server waits for that; a single
    /// permission that is missing is the request's own trouble, and so is a tool that refuses what the server accepts of all
    /// others: the server is asked something else before anything of it waits.
    pub(crate) fn refused_for_others(&mut self, why: String, hint: String) {
        let Some(live) = self.connection.live() else { return };
        if !self.core.sign_ins.is_needed(&self.server) {
            return;
        }
        let has_ping = live.negotiated.era != Era::Modern && !self.connection.in_flight().is_empty();
        if self.polls.len() > 0 || has_ping {
            return self.check_soon();
        }
        if self.connection.in_flight().is_empty() {
            // No poll would find out when it is over; connecting does.
            self.drop_connection(&why, &hint);
        }
        self.needs_sign_in(why, hint);
    }

    /// A person signed in: what waited for that goes on at once.
    pub(crate) fn signed_in(&mut self) {
        self.tracker.failures = 0;
        self.paused_until = None;
        if self.connection.live().is_some() {
            if self.polls.len() == 0 {
                // No poll would find out; the next call does.
                self.reached();
            }
            self.all_due();
        } else if let ConnectionStage::Waiting(_) | ConnectionStage::Idle = self.tracker.state
            && !self.is_stopping()
        {
            self.connect();
        }
    }

    /// A person signed out: the server learns who asks when it is connected again.
    pub(crate) fn signed_out(&mut self) {
        self.drop_connection("a person signed out", "It reconnects automatically.");
    }

    pub(crate) fn block_all(&mut self, needs: &Needs) {
        for id in self.polls.handles() {
            self.apply(id, LaneUpdate::Blocked(needs.clone()));
        }
    }
}
