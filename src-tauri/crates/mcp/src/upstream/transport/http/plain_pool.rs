//! Plain HTTP/1.1 connections to one origin, used by all links to it.
//!
//! A request takes the connection that was used last on its own runtime, or opens one; the response gives it back when
//! its body was read to the end. A request of which nothing was written is sent over another connection; any other that
//! fails is lost (rule 11). TLS, proxies and redirects are not here: see `endpoint.rs`.

use std::error::Error;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::policy::Policy;
use engine::runtime::supervisor::Supervisor;
use http::{Request, Uri};
use hyper::service::Service;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::plain_connection::{PlainBody, PlainConnection, WholeBody, this_runtime};
use super::server_response::PlainResponse;

/// Idle connections that are kept for one origin. More are only there after a burst of calls at once, and opening one
/// on this machine takes less than 100 µs. Judgement.
const IDLE_MAX: usize = 256;

/// Probes that a silent peer may miss; as the other HTTP client has it.
const PROBES_MAX: u32 = 3;

/// Why there is no response.
pub(crate) enum ExchangeError {
    /// No connection within the limit.
    ConnectTimeout,
    /// It may not leave any more.
    NotPermitted,
    /// No connection, for this reason.
    Connect(Box<dyn Error + Send + Sync>),
    /// The connection broke; whether anything may have reached the server.
    Broken { error: hyper::Error, sent: bool },
}

struct IdleConnection {
    connection: PlainConnection,
    since: Instant,
}

/// The connections to one origin.
pub(crate) struct PlainPool {
    /// Where to connect to.
    origin: Uri,
    connector: TowerToHyperService<HttpConnector>,
    connect_limit: Duration,
    idle_limit: Duration,
    look_after: Duration,
    supervisor: Supervisor,
    idle: Mutex<IdleList>,
}

#[derive(Default)]
struct IdleList {
    /// The one used last is at the end.
    connections: Vec<IdleConnection>,
    /// Whether a task closes those that are idle for too long.
    is_swept: bool,
}

impl PlainPool {
    pub(crate) fn new(origin: Uri, policy: &Policy, supervisor: &Supervisor) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(policy.body_idle_limit));
        // A probe gets as long as opening a connection, and what was sent as long as a reply.
        connector.set_keepalive_interval(Some(policy.connect_limit));
        connector.set_keepalive_retries(Some(PROBES_MAX));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(policy.reply_limit));
        Self {
            origin,
            connector: TowerToHyperService::new(connector),
            connect_limit: policy.connect_limit,
            idle_limit: policy.pool_idle_limit,
            look_after: policy.pool_look_after,
            supervisor: supervisor.clone(),
            idle: Mutex::default(),
        }
    }

    /// Sends a request and waits for status and headers.
    pub(crate) async fn send(self: &Arc<Self>, request: Request<WholeBody>) -> Result<PlainResponse, ExchangeError> {
        let mut request = request;
        loop {
            let (mut connection, is_reused) = match self.take().await {
                Some(idle) => (idle, true),
                None => (Box::pin(self.connect()).await?, false),
            };
            if !request.body().is_permitted() {
                self.put(connection);
                return Err(ExchangeError::NotPermitted);
            }
            match connection.exchange(request).await {
                Ok(response) => {
                    let (head, incoming) = response.into_parts();
                    return Ok(PlainResponse::new(head, PlainBody::new(incoming, connection), Arc::clone(self)));
                }
                Err(mut failed) => match failed.take_message() {
                    // It was closed while it was idle.
                    Some(unsent) if is_reused => request = unsent,
                    unsent => {
                        return Err(ExchangeError::Broken { error: failed.into_error(), sent: unsent.is_none() });
                    }
                },
            }
        }
    }

    /// An open connection that is idle on this runtime. It belongs to the caller alone: nobody else can close or take it.
    ///
    /// That the server closed it is known once the runtime has looked at its sockets, which a busy thread may not have
    /// done for a while. A request that is written to such a connection would be lost.
    async fn take(&self) -> Option<PlainConnection> {
        let here = this_runtime();
        loop {
            let IdleConnection { mut connection, since } = {
                let mut idle = self.idle.lock();
                let at = idle.connections.iter().rposition(|idle| idle.connection.runtime == here)?;
                idle.connections.remove(at)
            };
            if since.elapsed() >= self.look_after {
                // The runtime looks at its sockets before it goes on here.
                yield_now().await;
            }
            if since.elapsed() < self.idle_limit && connection.is_idle() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<PlainConnection, ExchangeError> {
        // Asked now: a call that lasts may go on in another runtime while it connects.
        let runtime = this_runtime();
        let connecting = timeout(self.connect_limit, self.connector.call(self.origin.clone()));
        let connected = connecting.await.map_err(|_| ExchangeError::ConnectTimeout)?;
        let socket = connected.map_err(|error| ExchangeError::Connect(error.into()))?;
        PlainConnection::new(socket, runtime).await.map_err(|error| ExchangeError::Broken { error, sent: false })
    }

    /// Keeps a connection for the next request, if it can carry one.
    pub(crate) fn put(self: &Arc<Self>, mut connection: PlainConnection) {
        // What reads the end of a body mostly finds the connection idle. It is polled before it is used again.
        if !connection.was_idle() && !connection.is_idle() {
            return;
        }
        let begins_sweep = {
            let mut idle = self.idle.lock();
            if idle.connections.len() >= IDLE_MAX {
                return;
            }
            idle.connections.push(IdleConnection { connection, since: Instant::now() });
            !std::mem::replace(&mut idle.is_swept, true)
        };
        if begins_sweep {
            self.supervisor.spawn("idle http connections", sweep(Arc::downgrade(self), self.idle_limit));
        }
    }

    /// Closes what has been idle for too long; returns whether anything is left.
    fn close_expired(&self) -> bool {
        let mut idle = self.idle.lock();
        idle.connections.retain(|idle| idle.since.elapsed() < self.idle_limit);
        idle.is_swept = !idle.connections.is_empty();
        idle.is_swept
    }
}

/// Runs while connections are idle; a pool without any costs no wake-ups.
async fn sweep(pool: Weak<PlainPool>, idle_limit: Duration) {
    loop {
        sleep(idle_limit).await;
        if !pool.upgrade().is_some_and(|pool| pool.close_expired()) {
            return;
        }
    }
}
