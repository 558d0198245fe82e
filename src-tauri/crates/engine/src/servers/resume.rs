//! Calls of an earlier run that a kept child may still work on, and the end of an idle connection.
//!
//! The first connection shows whether such a call goes on: the child's keeper names it, or its reply is lost (ruling
//! 16). A shared connection is never closed here. Replies are taken in by `connections/call_reply.rs`.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::server::ServerHealth;
use domain::task::Transition;
use domain::task::status::GoneWhy;
use tokio::time::Instant;

use crate::connections::call_reply;
use crate::connections::live_connection::LiveConnection;
use crate::connections::task_needs::{awaits_other_run, may_still_reply};
use crate::servers::actor::ServerActor;
use crate::servers::open_connection;
use crate::servers::state::connection_tracker::ConnectionStage;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::task_lane::LaneUpdate;

impl ServerActor {
    /// Takes up the calls that still run behind this connection; the others of earlier runs are lost.
    pub(crate) fn regain_calls(&mut self, live: &Arc<LiveConnection>) {
        let regained = live.upstream.regained();
        for id in &regained {
            if self.connection.in_flight_call(*id).is_some() {
                continue;
            }
            match self.core.ledger.held(*id) {
                Some(handle) if may_still_reply(&handle) => {
                    call_reply::rejoin(&self.core, &self.connection, live, &handle)
                }
                Some(_) | None => live.upstream.taken(*id),
            }
        }
        self.lose_old_calls(&regained);
    }

    /// Calls of earlier runs whose reply can no longer come.
    pub(crate) fn lose_old_calls(&mut self, regained: &[HandleId]) {
        let host = self.core.host;
        for handle in self.core.ledger.of_connection(self.connection.key) {
            if !awaits_other_run(&handle, host) || regained.contains(&handle.id) {
                continue;
            }
            let (core, id) = (Arc::clone(&self.core), handle.id);
            let mut why = "the core was restarted while the call was in flight".to_owned();
            if let Some(elsewhere) = self.out_of_reach(&handle) {
                why = format!("{why}; its process may go on out of reach: {elsewhere}");
            }
            self.jobs.push(Box::pin(async move {
                let lost = core.must_apply(id, |handle, now| {
                    if awaits_other_run(handle, host) { handle.reply_lost(&why, now) } else { Transition::none(handle) }
                });
                if let Err(error) = lost.await {
                    tracing::warn!(handle.id = %id, %error, "that a reply is lost could not be stored");
                }
                FinishedJob::Done
            }));
        }
    }

    /// There is no process of an earlier run to take over any more. One is started only when somebody needs it.
    pub(crate) fn not_taken_over(&mut self) {
        if self.connection.starts_nothing() {
            return self.end_with_access();
        }
        if open_connection::is_idle(&self.core, &self.connection) && self.connection.leases.try_close() {
            self.close_idle();
        } else {
            self.connect();
        }
    }

    /// Nothing runs of an agent that lost its access, and nothing is started for it: what it had there is gone.
    pub(crate) fn end_with_access(&mut self) {
        self.tracker.state = ConnectionStage::Idle;
        self.connection.set_health(ServerHealth::Down {
            since: self.core.time.now(),
            why: "its agent has no access any more".into(),
            hint: "Nothing is started for an agent that was revoked.".into(),
            retry_at: None,
        });
        self.lose_old_calls(&[]);
        let why = GoneWhy::ProcessEnded("its agent was revoked, and its process is gone".into());
        for handle in self.core.ledger.of_connection(self.connection.key) {
            if handle.view.task().is_some() && !handle.is_over() {
                self.apply(handle.id, LaneUpdate::Gone(why.clone()));
            }
        }
        self.idle_at = Some(Instant::now());
    }

    /// Closes an agent's own connection that was idle for long enough. That of a frozen server stays until it may go on,
    /// unless its agent lost its access.
    pub(crate) fn close_when_idle(&mut self, now: Instant) {
        if self.connection.key.seat.is_none() {
            return;
        }
        let again = now + self.core.policy.contact_flush;
        let ends_at = self.connection.leases.closes_at(self.core.policy.gateway.line_idle);
        match ends_at {
            Some(at) if at > now => self.idle_at = Some(at.min(now + self.core.policy.gateway.line_idle)),
            Some(_)
                if (self.connection.leases.is_unwanted() || !self.is_frozen())
                    && !self.tracker.is_connecting()
                    && open_connection::is_idle(&self.core, &self.connection)
                    && self.connection.leases.try_close() =>
            {
                self.close_idle()
            }
            Some(_) | None => self.idle_at = Some(again),
        }
    }

    fn close_idle(&mut self) {
        self.idle_at = None;
        tracing::info!(server.name = %self.server.name, "an agent's own connection is not used and is ended");
        self.core.connections.forget(&self.connection);
        self.connection.leave.cancel();
        if let Some(live) = self.connection.live() {
            self.connection.set_live(None);
            self.core.supervisor.spawn("close", async move { live.upstream.close(false).await });
        }
    }
}
