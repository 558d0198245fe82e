//! The life of a server's connection: open it, say how it is, take it up again after its end.
//!
//! Back-off grows while connecting fails or connections end sooner than they were waited for. A fresh connection looks
//! once at every open task; tasks of an earlier session or child must prove there that they are the same
//! (see `look.rs`). It holds no transport: that is the connector's. Consent is checked here, before anything runs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::task::Home;
use domain::ids::{ConnectionId, SessionKey};
use domain::ports::{Closure, Connected, ConnectionSpec, UpstreamError, UpstreamEvent};
use domain::task::input_request::{AskDoor, RequestState};
use domain::server::{Era, Negotiated, Server, ServerAddress, ServerHealth};
use domain::task::status::Needs;
use domain::time::Timestamp;
use futures::stream::{Stream, StreamExt};
use tokio::time::Instant;

use super::step::Step;
use super::{Follower, Job};
use crate::post::Live;

/// Where the connection stands.
#[derive(Default)]
enum State {
    /// Nothing is tried: not started, or nobody agreed to contact it.
    #[default]
    Idle,
    /// Being opened; when it began.
    Connecting,
    /// Open since.
    Up(Instant),
    /// Tried again then.
    Waiting(Instant),
}

/// The connection of one server.
#[derive(Default)]
pub(crate) struct Link {
    state: State,
    events: Option<Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>>,
    /// Failures to connect, and short-lived connections, in a row.
    failures: u32,
    /// When connecting was last begun.
    tried: Option<Instant>,
    /// Since when it is not up; kept over failed attempts.
    down_since: Option<Timestamp>,
    /// How the last home ended, with what is known of it.
    ended: Option<(Home, String)>,
    /// The session of the last connection of this run, to be resumed on an agent's own line.
    session: Option<SessionKey>,
    /// The configuration changed while connecting: begin anew when that is over.
    stale: bool,
}

impl Link {
    /// The next event; for ever pending without a connection. `None` when the stream ended.
    pub(crate) async fn next_event(&mut self) -> Option<UpstreamEvent> {
        match &mut self.events {
            Some(events) => events.next().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the first connection is just being opened.
    pub(crate) fn is_opening(&self) -> bool {
        match self.state {
            State::Connecting => self.failures == 0,
            State::Idle | State::Up(_) | State::Waiting(_) => false,
        }
    }

    /// When connecting is tried again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        match self.state {
            State::Waiting(at) => Some(at),
            State::Idle | State::Connecting | State::Up(_) => None,
        }
    }

    /// How the process that was this home ended.
    pub(crate) fn last_end(&self, home: &Home) -> String {
        match &self.ended {
            Some((ended, why)) if ended == home => why.clone(),
            Some(_) | None => "the core was restarted, and its child processes ended with it".into(),
        }
    }
}

impl Follower {
    /// Ends the connection of a follower that panicked before this one.
    pub(super) fn drop_leftover(&mut self) {
        if let Some(live) = self.post.live() {
            self.drop_connection("its follower had to be started anew", "It connects again by itself.");
            self.link.failures = 0;
            tracing::warn!(server.name = %self.server.name, connection = %live.id, "a connection was given up");
        }
    }

    /// Opens the connection, if somebody agreed to that.
    pub(super) fn connect(&mut self) {
        let agreed = self.server.consent.as_ref().is_some_and(|c| c.fingerprint == self.server.address.fingerprint());
        if !agreed {
            self.link.state = State::Idle;
            self.post.set_health(ServerHealth::Down {
                since: self.core.now(),
                why: "nobody has agreed to contact it yet".into(),
                hint: "Add it again with `taskwarden servers add`, which shows what will run and asks.".into(),
                retry_at: None,
            });
            self.lose_old_calls(&[]);
            return;
        }
        self.link.state = State::Connecting;
        self.link.tried = Some(Instant::now());
        self.post.set_health(ServerHealth::Connecting);
        let (core, server, line) = (Arc::clone(&self.core), self.server.clone(), self.line_facts());
        self.jobs.push(Box::pin(async move {
            // The connector limits each of its steps (probe, a second child, handshake); this is for one that does not.
            let policy = &core.policy;
            let limit = (policy.probe_first_output + policy.initialize_limit + policy.connect_limit) * 2;
            let outcome = match tokio::time::timeout(limit, core.connector.connect(&server, &line)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(UpstreamError::Unreachable {
                    why: "connecting took too long".into(),
                    hint: "See whether the server starts and answers by itself.".into(),
                }),
            };
            Job::Connected(Box::new(outcome))
        }));
    }

    /// For whom the connection is opened. An agent's own session is taken up again where something may live in it.
    fn line_facts(&self) -> ConnectionSpec {
        let seat = self.post.line.seat;
        let session = match (&self.server.address, seat) {
            (ServerAddress::Http { .. }, Some(_)) => self.link.session.clone().or_else(|| self.open_session()),
            (ServerAddress::Http { .. } | ServerAddress::Stdio { .. }, _) => None,
        };
        ConnectionSpec { seat, session, abilities: self.post.usage.abilities() }
    }

    /// The session of the newest open task of this line.
    fn open_session(&self) -> Option<SessionKey> {
        let open = self.core.ledger.of_line(self.post.line);
        let here = open.iter().filter(|handle| handle.home.generation == self.server.generation);
        here.max_by_key(|handle| (handle.created, handle.id)).and_then(|handle| handle.home.session.clone())
    }

    /// Tries at once when nothing but the back-off is in the way; wishes in a row are no flood of attempts.
    pub(super) fn connect_now(&mut self) {
        if self.is_stopping() {
            return;
        }
        let now = Instant::now();
        let earliest = self.link.tried.map_or(now, |tried| tried + self.core.policy.backoff_first);
        match self.link.state {
            State::Waiting(_) if earliest <= now => self.connect(),
            State::Waiting(at) => self.link.state = State::Waiting(at.min(earliest)),
            State::Idle | State::Connecting | State::Up(_) => {}
        }
    }

    pub(super) fn retry_connect(&mut self, now: Instant) {
        if self.link.retry_at().is_some_and(|at| at <= now) {
            // While stopping nothing is opened any more.
            if self.is_stopping() {
                self.link.state = State::Idle;
            } else {
                self.connect();
            }
        }
    }

    /// Another configuration: the connection is made anew when it no longer fits.
    pub(super) fn reconfigure(&mut self, server: Server) {
        let same = self.server.address == server.address && self.server.consent == server.consent;
        self.server = server;
        match self.link.state {
            State::Connecting => self.link.stale |= !same,
            State::Up(_) if same => {}
            State::Up(_) => {
                self.drop_connection("its configuration changed", "It connects again by itself.");
                self.link.failures = 0;
                self.connect();
            }
            State::Idle | State::Waiting(_) => {
                self.link.failures = 0;
                self.connect();
            }
        }
    }

    pub(super) fn connected(&mut self, outcome: Result<Connected, UpstreamError>) {
        if std::mem::take(&mut self.link.stale) {
            if let Ok(connected) = outcome {
                self.close(connected.upstream);
            }
            self.connect();
            return;
        }
        match outcome {
            Ok(connected) => self.up(connected),
            Err(error) => self.not_up(error),
        }
    }

    fn up(&mut self, connected: Connected) {
        let Connected { id, upstream, negotiated, child, events } = connected;
        self.link.session.clone_from(&negotiated.session);
        let live = Arc::new(Live::new(id, upstream, negotiated, &self.server));
        self.link.state = State::Up(Instant::now());
        self.link.events = Some(events);
        self.link.down_since = None;
        self.quiet_until = None;
        self.unreachable = 0;
        self.ailing = false;
        self.slowed = 0;
        self.post.set_live(Some(Arc::clone(&live)));
        tracing::info!(server.name = %self.server.name, "connected");
        self.remember(&live, child.is_some());
        self.regain_calls(&live);
        self.settle_old_questions(&live);
        for handle in self.book.handles() {
            self.book.change(handle, |track| {
                track.unknown = 0;
                track.subscribed = false;
            });
        }
        self.all_due();
        self.watch_soon();
        self.list_at = live.negotiated.can_list.then(Instant::now);
        self.core.parcels.line_up(self.post.line);
    }

    /// Whoever hears that the server is up finds in the registry what was negotiated.
    pub(super) fn remembered(&mut self, connection: ConnectionId) {
        if !self.ailing && self.post.live().is_some_and(|live| live.id == connection) {
            self.post.set_health(ServerHealth::Up { since: self.core.now() });
        }
    }

    fn not_up(&mut self, error: UpstreamError) {
        self.link.failures = self.link.failures.saturating_add(1);
        self.lose_old_calls(&[]);
        let wait = self.pause_before_connect();
        match error {
            UpstreamError::Unauthorized { why, hint } => {
                self.wait(self.core.policy.backoff_last);
                self.needs_sign_in(why, hint);
            }
            UpstreamError::MissingCapability(name) => {
                self.wait(self.core.policy.backoff_last);
                let why = format!("it needs `{name}` of its client");
                let hint = "This version of Taskwarden does not have that; see whether there is a newer one.".into();
                self.post.set_health(ServerHealth::Blocked { since: self.core.now(), why, hint });
                self.block_all(&Needs::Upgrade(name));
            }
            UpstreamError::RateLimited { after } => {
                let wait = after.unwrap_or(wait).min(self.core.policy.retry_after_ceiling);
                self.down(wait, "it asks to slow down".into(), "Taskwarden tries again by itself.".into());
            }
            UpstreamError::Unreachable { why, hint } => self.down(wait, why, hint),
            error @ (UpstreamError::UnknownTask
            | UpstreamError::Refused(_)
            | UpstreamError::Unsupported(_)
            | UpstreamError::Unreadable { .. }
            | UpstreamError::ChannelGone) => {
                let hint = "Check with `taskwarden doctor` that this is an MCP server.".into();
                self.down(wait, error.to_string(), hint);
            }
        }
    }

    /// The wait after the failures so far; not long while somebody waits for open tasks.
    fn pause_before_connect(&self) -> Duration {
        let wait = self.core.back_off(self.link.failures);
        if self.book.len() > 0 { wait.min(self.core.policy.reconnect_busy_last) } else { wait }
    }

    fn wait(&mut self, wait: Duration) -> Instant {
        let at = Instant::now() + wait;
        self.link.state = State::Waiting(at);
        at
    }

    fn down(&mut self, wait: Duration, why: String, hint: String) {
        let at = self.wait(wait);
        let retry_at = Some(self.core.moment(at));
        tracing::warn!(server.name = %self.server.name, attempt = self.link.failures, why, "not connected");
        let since = *self.link.down_since.get_or_insert_with(|| self.core.now());
        self.post.set_health(ServerHealth::Down { since, why, hint, retry_at });
    }

    /// The connection said that it is over.
    pub(super) fn closed(&mut self, closure: Closure) {
        let Some(live) = self.post.live() else { return };
        let Closure { why, hint, process_ended } = closure;
        if process_ended {
            self.link.ended = Some((live.home.clone(), why.clone()));
        }
        let survives = !process_ended && may_ask_again(&live.negotiated);
        self.lose_channel(live.id, survives);
        self.gone_down(why, hint);
    }

    pub(super) fn stream_ended(&mut self) {
        self.closed(Closure {
            why: "the connection ended".into(),
            hint: "It connects again by itself.".into(),
            process_ended: false,
        });
        self.link.events = None;
    }

    /// Ends a connection that does not work (any more).
    pub(super) fn drop_connection(&mut self, why: &str, hint: &str) {
        let Some(live) = self.post.live() else { return };
        self.close(Arc::clone(&live.upstream));
        let process = matches!(self.server.address, ServerAddress::Stdio { .. });
        self.closed(Closure { why: why.into(), hint: hint.into(), process_ended: process });
    }

    fn close(&self, upstream: Arc<dyn domain::ports::Upstream>) {
        let tasks_live = self.book.len() > 0;
        self.jobs.push(Box::pin(async move {
            upstream.close(tasks_live).await;
            Job::Done
        }));
    }

    fn gone_down(&mut self, why: String, hint: String) {
        let lived = match self.link.state {
            State::Up(since) => since.elapsed(),
            State::Idle | State::Connecting | State::Waiting(_) => Duration::ZERO,
        };
        self.link.events = None;
        self.quiet_until = None;
        self.list_at = None;
        self.watch_at = None;
        self.unreachable = 0;
        self.ailing = false;
        for handle in self.book.handles() {
            self.book.change(handle, |track| track.subscribed = false);
        }
        // A connection that lived longer than the last wait was a success, not one more failure.
        let before = self.link.failures;
        self.link.failures = if lived > self.core.back_off(before) { 1 } else { before.saturating_add(1) };
        let wait = self.pause_before_connect();
        // Health first: whoever waits for the next connection must not read that the server is up.
        self.post.set_pushes(false);
        self.down(wait, why, hint);
        self.post.set_live(None);
    }

    /// Questions of this connection can no longer be answered on it.
    fn lose_channel(&mut self, connection: ConnectionId, survives: bool) {
        self.waiting_questions.forget_all();
        for handle in self.core.ledger.of_line(self.post.line) {
            if live_connections(&handle).any(|asked_on| asked_on == connection) {
                self.step(handle.id, Step::ChannelLost(connection, survives));
            }
        }
    }

    /// Questions of connections that ended unseen, in an earlier run of the core: they stay open only where the same
    /// session was taken up again, because it may ask again.
    fn settle_old_questions(&mut self, live: &Live) {
        for handle in self.core.ledger.of_line(self.post.line) {
            let resumed = handle.home.session.is_some() && handle.home.session == live.home.session;
            if resumed {
                continue;
            }
            let mut gone: Vec<_> = live_connections(&handle).filter(|asked_on| *asked_on != live.id).collect();
            gone.dedup();
            for connection in gone {
                self.step(handle.id, Step::ChannelLost(connection, false));
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

/// The connections on which this handle's unfinished live questions came.
pub(crate) fn live_connections(handle: &domain::task::TaskHandle) -> impl Iterator<Item = ConnectionId> {
    handle.requests.values().filter_map(|request| match (&request.door, &request.state) {
        (AskDoor::Live { connection, .. }, RequestState::Open | RequestState::Answered(_)) => Some(*connection),
        (AskDoor::Live { .. }, RequestState::Confirmed(_) | RequestState::Withdrawn { .. })
        | (AskDoor::Listed { .. } | AskDoor::Round { .. }, _) => None,
    })
}
