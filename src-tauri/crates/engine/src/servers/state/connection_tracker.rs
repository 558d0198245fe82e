//! Where the connection of one actor stands, and what its earlier attempts and connections taught.
//!
//! It opens and closes nothing: that is `servers/connect.rs`.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;

use domain::ids::SessionKey;
use domain::ports::UpstreamEvent;
use domain::task::status::GoneWhy;
use domain::task::{Home, TaskHandle};
use domain::time::Timestamp;
use futures::stream::{Stream, StreamExt};
use tokio::time::Instant;

/// Processes whose end is remembered until their tasks were looked for in the next one. Judgement: a server that is
/// restarted more often than this before it can be asked has other troubles.
const ENDS_KEPT: usize = 8;

/// The stage of a connection.
#[derive(Default)]
pub(crate) enum ConnectionStage {
    /// Nothing is tried: not started, or nobody agreed to contact it.
    #[default]
    Idle,
    /// Being opened; when it began.
    Connecting,
    /// Open since then.
    Up(Instant),
    /// Tried again then.
    Waiting(Instant),
    /// Closed by a person, and not gone yet; opened again after that.
    Closing,
    /// A person ended the process; the next request that needs it starts it.
    Ended,
}

/// The connection of one server.
#[derive(Default)]
pub(crate) struct ConnectionTracker {
    pub(crate) state: ConnectionStage,
    pub(crate) events: Option<Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>>,
    /// Failures to connect, and short-lived connections, in a row.
    pub(crate) failures: u32,
    /// When connecting was last begun.
    pub(crate) tried: Option<Instant>,
    /// Since when it is not up; kept over failed attempts.
    pub(crate) down_since: Option<Timestamp>,
    /// How the last homes ended, the newest last.
    ended: VecDeque<(Home, GoneWhy)>,
    /// Tasks that ended in an earlier run whose process was taken over: what they were asked may come again.
    pub(crate) ended_before: Vec<TaskHandle>,
    /// Requests for input that came again after they were closed, by their token.
    pub(crate) closed_again: HashSet<String>,
    /// The session of the last connection of this run, to be resumed on an agent's own connection.
    pub(crate) session: Option<SessionKey>,
    /// The configuration changed while connecting: start over when that ends.
    pub(crate) stale: bool,
    /// A person ended the process while it was being started: it ends when it is there.
    pub(crate) ends_once_open: bool,
}

impl ConnectionTracker {
    /// The next event; for ever pending without a connection. `None` when the stream ended.
    pub(crate) async fn next_event(&mut self) -> Option<UpstreamEvent> {
        match &mut self.events {
            Some(events) => events.next().await,
            None => std::future::pending().await,
        }
    }

    /// Whether a connection is just being opened.
    pub(crate) fn is_connecting(&self) -> bool {
        match self.state {
            ConnectionStage::Connecting => true,
            ConnectionStage::Idle
            | ConnectionStage::Up(_)
            | ConnectionStage::Waiting(_)
            | ConnectionStage::Closing
            | ConnectionStage::Ended => false,
        }
    }

    /// Whether the first connection is just being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.is_connecting() && self.failures == 0
    }

    /// When connecting is tried again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        match self.state {
            ConnectionStage::Waiting(at) => Some(at),
            ConnectionStage::Idle
            | ConnectionStage::Connecting
            | ConnectionStage::Up(_)
            | ConnectionStage::Closing
            | ConnectionStage::Ended => None,
        }
    }

    /// The process that was this home ended.
    pub(crate) fn home_ended(&mut self, home: Home, why: GoneWhy) {
        if self.ended.len() >= ENDS_KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((home, why));
    }

    /// The home whose process ended last.
    pub(crate) fn last_home(&self) -> Option<&Home> {
        self.ended.back().map(|(home, _)| home)
    }

    /// How the process that was this home ended; `None` when this run did not see its end.
    pub(crate) fn last_end(&self, home: &Home) -> Option<GoneWhy> {
        self.ended.iter().rev().find(|(ended, _)| ended == home).map(|(_, why)| why.clone())
    }
}
