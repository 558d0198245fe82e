//! Opens a server's connection, reports its health, and reconnects after its end.
//!
//! Back-off grows while connecting fails, or while connections live shorter than the wait for them. A new connection
//! polls every open task once; tasks of an earlier session or child must prove that they are the same (`poll.rs`).
//! Consent is checked here.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{ConnectionId, SessionKey};
use domain::ports::{Closure, Connected, ConnectionSpec, UpstreamError};
use domain::server::{Era, Negotiated, Server, ServerAct, ServerAddress, ServerHealth};
use domain::task::Home;
use domain::task::status::{GoneWhy, Needs};
use tokio::time::Instant;

use crate::connections::freeze;
use crate::connections::kept_processes;
use crate::connections::live_connection::LiveConnection;
use crate::connections::observed::server_log::LogEvent;
use crate::connections::task_needs::live_connections;
use crate::servers::actor::ServerActor;
use crate::servers::server_record::ProcessBegin;
use crate::servers::state::connection_tracker::ConnectionStage;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::task_lane::LaneUpdate;

impl ServerActor {
    /// Ends the connection of an actor that panicked before this one.
    pub(crate) fn drop_earlier_connection(&mut self) {
        if let Some(live) = self.connection.live() {
            self.drop_connection("its connection had to be restarted", "It reconnects automatically.");
            self.tracker.failures = 0;
            tracing::warn!(server.name = %self.server.name, connection = %live.id, "a connection was given up");
        }
    }

    /// Opens the connection, if somebody agreed to that.
    pub(crate) fn connect(&mut self) {
        let agreed = self.server.consent.as_ref().is_some_and(|c| c.fingerprint == self.server.address.fingerprint());
        if !agreed {
            self.tracker.state = ConnectionStage::Idle;
            self.connection.set_health(ServerHealth::Down {
                since: self.core.time.now(),
                why: "nobody has agreed to contact it yet".into(),
                hint: "Add it again with `taskwarden servers add`, which shows what will run and asks.".into(),
                retry_at: None,
            });
            self.lose_old_calls(&[]);
            return;
        }
        if self.connection.starts_nothing() {
            self.connection.take_over_later();
        }
        self.tracker.state = ConnectionStage::Connecting;
        self.tracker.tried = Some(Instant::now());
        self.connection.set_health(ServerHealth::Connecting);
        let (core, server, spec) = (Arc::clone(&self.core), self.server.clone(), self.line_facts());
        let key = self.connection.key;
        self.jobs.push(Box::pin(async move {
            let outcome = if spec.kept_only {
                kept_processes::take_over(&core, &server, &spec).await
            } else {
                core.connect(&server, &spec).await
            };
            let is_resumed = outcome.as_ref().is_ok_and(|connected| connected.is_resumed);
            let ended_before = if is_resumed { kept_processes::ended_tasks(&core, key).await } else { Vec::new() };
            FinishedJob::Connected(Box::new(outcome), ended_before)
        }));
    }

    /// For whom the connection is opened. An agent's own session is resumed where a task may live in it.
    fn line_facts(&self) -> ConnectionSpec {
        let seat = self.connection.key.seat;
        let session = match (&self.server.address, seat) {
            (ServerAddress::Http { .. }, Some(_)) => self.tracker.session.clone().or_else(|| self.open_session()),
            (ServerAddress::Http { .. } | ServerAddress::Stdio { .. }, _) => None,
        };
        let process = match &self.server.address {
            ServerAddress::Stdio { .. } => Some(self.connection.observed.listener(seat, &self.core.time)),
            ServerAddress::Http { .. } => None,
        };
        let kept_only = self.connection.is_taking_over();
        ConnectionSpec { seat, session, abilities: self.connection.leases.abilities(), process, kept_only }
    }

    /// The session of the newest open task of this connection.
    fn open_session(&self) -> Option<SessionKey> {
        let open = self.core.ledger.of_connection(self.connection.key);
        let here = open.iter().filter(|handle| handle.home.generation == self.server.generation);
        here.max_by_key(|handle| (handle.created, handle.id)).and_then(|handle| handle.home.session.clone())
    }

    /// Tries at once when only the back-off prevents it, but no more often than the shortest back-off.
    pub(crate) fn connect_now(&mut self) {
        if self.is_stopping() {
            return;
        }
        let now = Instant::now();
        let earliest = self.tracker.tried.map_or(now, |tried| tried + self.core.policy.backoff_first);
        match self.tracker.state {
            ConnectionStage::Waiting(_) if earliest <= now => self.connect(),
            ConnectionStage::Waiting(at) => self.tracker.state = ConnectionStage::Waiting(at.min(earliest)),
            ConnectionStage::Ended => self.connect(),
            ConnectionStage::Connecting => self.tracker.ends_once_open = false,
            ConnectionStage::Idle | ConnectionStage::Up(_) | ConnectionStage::Closing => {}
        }
    }

    pub(crate) fn retry_connect(&mut self, now: Instant) {
        if self.tracker.retry_at().is_some_and(|at| at <= now) {
            // While stopping nothing is opened any more.
            if self.is_stopping() {
                self.tracker.state = ConnectionStage::Idle;
            } else {
                self.connect();
            }
        }
    }

    /// Another configuration: reconnects when the connection no longer fits.
    pub(crate) fn reconfigure(&mut self, server: Server) {
        let same = self.server.address == server.address && self.server.consent == server.consent;
        self.server = server;
        match self.tracker.state {
            ConnectionStage::Connecting => self.tracker.stale |= !same,
            ConnectionStage::Up(_) if same => {}
            ConnectionStage::Up(_) => {
                if let Some(consent) = &self.server.consent {
                    self.ends_for_person(consent.by.clone(), ServerAct::Change);
                }
                self.drop_connection("its configuration changed", "It reconnects automatically.");
                self.tracker.failures = 0;
                self.connect();
            }
            // It is opened with the new configuration.
            ConnectionStage::Closing => {}
            ConnectionStage::Idle | ConnectionStage::Waiting(_) | ConnectionStage::Ended => {
                self.tracker.failures = 0;
                self.connect();
            }
        }
    }

    pub(crate) fn connected(&mut self, outcome: Result<Connected, UpstreamError>) {
        let (stale, ends) = (std::mem::take(&mut self.tracker.stale), std::mem::take(&mut self.tracker.ends_once_open));
        let took_over = self.connection.end_taking_over();
        if stale || ends {
            if let Ok(connected) = outcome {
                self.close(connected.upstream);
            }
            if ends {
                self.tracker.state = ConnectionStage::Ended
            } else {
                self.connect()
            }
            return;
        }
        match outcome {
            Ok(connected) => self.up(connected),
            Err(error @ UpstreamError::Unauthorized { .. }) if took_over => {
                self.connection.take_over_later();
                self.not_up(error);
            }
            Err(_) if took_over => self.not_taken_over(),
            Err(error) => self.not_up(error),
        }
    }

    fn up(&mut self, connected: Connected) {
        let Connected { id, upstream, negotiated, child, is_resumed, events } = connected;
        self.tracker.session.clone_from(&negotiated.session);
        let since = self.core.time.now();
        let live = LiveConnection::new(id, upstream, negotiated, &self.server);
        let live = Arc::new(live.of_process(child, is_resumed, since));
        self.tracker.state = ConnectionStage::Up(Instant::now());
        self.tracker.events = Some(events);
        self.tracker.down_since = None;
        self.paused_until = None;
        self.unreachable = 0;
        self.is_unhealthy = false;
        self.slow_downs = 0;
        self.connection.set_live(Some(Arc::clone(&live)));
        tracing::info!(server.name = %self.server.name, "connected");
        self.note_remote(LogEvent::Connected);
        self.remember(&live, child.map(|pid| ProcessBegin { pid, is_resumed }));
        self.regain_calls(&live);
        self.settle_old_questions(&live);
        for handle in self.polls.handles() {
            self.polls.change(handle, |state| {
                state.unknown = 0;
                state.subscribed = false;
            });
        }
        self.all_due();
        self.watch_soon();
        self.list_at = live.negotiated.can_list.then(Instant::now);
        self.core.effects.deliveries.connection_restored(self.connection.key);
        self.tell_shared_reached();
        self.freeze_or_continue();
    }

    /// A process that was just connected stands still where a person froze its server, and continues where an earlier run
    /// was to let it.
    fn freeze_or_continue(&self) {
        let server = self.server.id;
        if self.core.pauses.may_stand_still(server) {
            let core = Arc::clone(&self.core);
            self.core.supervisor.spawn("freeze", async move { freeze::apply(&core, server).await });
        }
    }

    /// Health is up only after what was negotiated is in the registry.
    pub(crate) fn remembered(&mut self, connection: ConnectionId) {
        if !self.is_unhealthy && self.connection.live().is_some_and(|live| live.id == connection) {
            self.connection.set_health(ServerHealth::Up { since: self.core.time.now() });
        }
    }

    fn not_up(&mut self, error: UpstreamError) {
        self.tracker.failures = self.tracker.failures.saturating_add(1);
        // While its secrets cannot be read, the process of a local server may be there and work on its calls.
        let may_be_kept = matches!(self.server.address, ServerAddress::Stdio { .. })
            && matches!(error, UpstreamError::Unauthorized { .. });
        if !may_be_kept {
            self.lose_old_calls(&[]);
        }
        let wait = self.pause_before_connect();
        match error {
            UpstreamError::Unauthorized { why, hint } => {
                self.wait(self.core.policy.backoff_last);
                self.needs_sign_in(why, hint);
            }
            UpstreamError::MissingCapability(name) => {
                self.wait(self.core.policy.backoff_last);
                let why = format!("it needs `{name}` of its client");
                let hint = "This version of Taskwarden does not support it; check for a newer one.".into();
                self.connection.set_health(ServerHealth::Blocked { since: self.core.time.now(), why, hint });
                self.block_all(&Needs::Upgrade(name));
            }
            UpstreamError::RateLimited { after } => {
                let wait = after.unwrap_or(wait).min(self.core.policy.retry_after_ceiling);
                self.down(wait, "it asks to slow down".into(), "Taskwarden tries again automatically.".into());
            }
            UpstreamError::Unreachable { why, hint } => {
                self.down(wait, why, hint);
                self.tell_shared_unreached();
            }
            error @ (UpstreamError::UnknownTask
            | UpstreamError::Refused(_)
            | UpstreamError::Unsupported(_)
            | UpstreamError::Unreadable { .. }
            | UpstreamError::GivenUp
            | UpstreamError::ChannelGone) => {
                let hint = "Check with `taskwarden doctor` that this is an MCP server.".into();
                self.down(wait, error.to_string(), hint);
            }
        }
    }

    /// The wait after the failures so far; not long while somebody waits for open tasks.
    fn pause_before_connect(&self) -> Duration {
        let wait = self.core.time.back_off(self.tracker.failures);
        if self.polls.len() > 0 { wait.min(self.core.policy.reconnect_busy_last) } else { wait }
    }

    fn wait(&mut self, wait: Duration) -> Instant {
        let at = Instant::now() + wait;
        self.tracker.state = ConnectionStage::Waiting(at);
        at
    }

    fn down(&mut self, wait: Duration, why: String, hint: String) {
        let at = self.wait(wait);
        let retry_at = Some(self.core.time.moment(at));
        // The reason may quote the server, whose words are not logged; it stands with the server's health.
        tracing::warn!(server.name = %self.server.name, attempt = self.tracker.failures, "not connected");
        let since = *self.tracker.down_since.get_or_insert_with(|| self.core.time.now());
        self.connection.set_health(ServerHealth::Down { since, why, hint, retry_at });
    }

    /// The connection said that it is over.
    pub(crate) fn closed(&mut self, closure: Closure) {
        let Some(live) = self.connection.live() else { return };
        let Closure { why, hint, process_ended } = closure;
        if process_ended {
            let end = live.ended_by().cloned().unwrap_or_else(|| GoneWhy::ProcessEnded(why.clone()));
            self.lose_cancelled_calls(&live.home, &end);
            self.tracker.home_ended(live.home.clone(), end);
        }
        let survives = !process_ended && may_ask_again(&live.negotiated);
        self.lose_channel(live.id, survives);
        self.connection_lost(why, hint);
    }

    pub(crate) fn stream_ended(&mut self) {
        self.closed(Closure {
            why: "the connection ended".into(),
            hint: "It reconnects automatically.".into(),
            process_ended: false,
        });
        self.tracker.events = None;
    }

    /// Ends a connection that does not work (any more).
    pub(crate) fn drop_connection(&mut self, why: &str, hint: &str) {
        let Some(live) = self.connection.live() else { return };
        self.close(Arc::clone(&live.upstream));
        let process = matches!(self.server.address, ServerAddress::Stdio { .. });
        self.closed(Closure { why: why.into(), hint: hint.into(), process_ended: process });
    }

    /// Calls that were asked to cancel are lost with the process that a person ended: nobody waits for their replies any
    /// more. Other calls are lost when their replies are.
    fn lose_cancelled_calls(&mut self, home: &Home, why: &GoneWhy) {
        if !matches!(why, GoneWhy::EndedByPerson { .. }) {
            return;
        }
        for handle in self.core.ledger.of_connection(self.connection.key) {
            let is_call = handle.view.task().is_none() && !handle.view.has_another_round();
            if is_call && handle.home.session == home.session && handle.cancel_request().is_some() {
                self.apply(handle.id, LaneUpdate::Gone(why.clone()));
            }
        }
    }

    /// A connection to a server that runs elsewhere has no process to tell of it.
    fn note_remote(&self, what: LogEvent) {
        match self.server.address {
            ServerAddress::Http { .. } => {
                self.connection.observed.log.connection(self.connection.key.seat, what, self.core.time.now());
            }
            ServerAddress::Stdio { .. } => {}
        }
    }

    fn close(&self, upstream: Arc<dyn domain::ports::Upstream>) {
        let tasks_live = self.polls.len() > 0;
        self.jobs.push(Box::pin(async move {
            upstream.close(tasks_live).await;
            FinishedJob::Done
        }));
    }

    fn connection_lost(&mut self, why: String, hint: String) {
        let lived = match self.tracker.state {
            ConnectionStage::Up(since) => since.elapsed(),
            ConnectionStage::Idle
            | ConnectionStage::Connecting
            | ConnectionStage::Waiting(_)
            | ConnectionStage::Closing
            | ConnectionStage::Ended => Duration::ZERO,
        };
        self.tracker.events = None;
        self.paused_until = None;
        self.list_at = None;
        self.watch_at = None;
        self.unreachable = 0;
        self.is_unhealthy = false;
        for handle in self.polls.handles() {
            self.polls.change(handle, |state| state.subscribed = false);
        }
        // A connection that lived longer than the last wait was a success, not one more failure.
        let before = self.tracker.failures;
        self.tracker.failures = if lived > self.core.time.back_off(before) { 1 } else { before.saturating_add(1) };
        let wait = self.pause_before_connect();
        self.note_remote(LogEvent::Disconnected);
        // Health first: whoever waits for the next connection must not read that the server is up.
        self.connection.set_pushes(false);
        self.down(wait, why, hint);
        self.connection.set_live(None);
    }

    /// Questions of this connection can no longer be answered on it.
    fn lose_channel(&mut self, connection: ConnectionId, survives: bool) {
        self.waiting_questions.forget_all();
        for handle in self.core.ledger.of_connection(self.connection.key) {
            if live_connections(&handle).any(|asked_on| asked_on == connection) {
                self.apply(handle.id, LaneUpdate::ChannelLost(connection, survives));
            }
        }
    }

    /// Questions of connections that ended unseen, in an earlier run of the core: they stay open only where the same
    /// session was taken up again, because it may ask again.
    fn settle_old_questions(&mut self, live: &LiveConnection) {
        for handle in self.core.ledger.of_connection(self.connection.key) {
            let resumed = handle.home.session.is_some() && handle.home.session == live.home.session;
            if resumed {
                continue;
            }
            let mut gone: Vec<_> = live_connections(&handle).filter(|asked_on| *asked_on != live.id).collect();
            gone.dedup();
            for connection in gone {
                self.apply(handle.id, LaneUpdate::ChannelLost(connection, false));
            }
        }
    }
}

/// Whether a session of this connection can be taken up again, and so its questions asked again.
fn may_ask_again(negotiated: &Negotiated) -> bool {
    match negotiated.era {
        Era::Modern => false,
        Era::Legacy | Era::LegacySse => negotiated.session.is_some(),
    }
}
