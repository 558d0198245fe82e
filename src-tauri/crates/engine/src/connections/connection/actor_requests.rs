//! Requests to the actor of a connection: levels in a set that others leave, and the actor takes all at once.
//!
//! What becomes of each is decided in `servers/actor.rs`. Nobody who leaves one waits, and none can be lost.

use std::collections::HashMap;

use domain::ids::{HandleId, PersonId};
use domain::ports::UpstreamError;
use domain::server::{Server, ServerAct, ServerHealth};

use super::{PollRequest, ServerConnection};

/// Requests to the actor.
#[derive(Default)]
pub(crate) struct ActorRequests {
    /// Tasks to reconsider.
    pub(crate) polls: HashMap<HandleId, PollRequest>,
    /// A new configuration.
    pub(crate) server: Option<Server>,
    /// Try to connect now instead of at the planned time.
    pub(crate) connect_now: bool,
    /// A request that was no poll did not reach the server: why, and what a person can do.
    pub(crate) unreached: Option<(String, String)>,
    /// A request that was no poll was refused for want of a sign-in or a permission: why, and what a person can do.
    pub(crate) unauthorized: Option<(String, String)>,
    /// An agent's own connection did not reach the server: whether this one does is to be checked.
    pub(crate) check: bool,
    /// A person ended or restarted the server: who, and which.
    pub(crate) act: Option<(PersonId, ServerAct)>,
    /// A person signed in to the server, or out of it (false).
    pub(crate) sign_in: Option<bool>,
}

impl ServerConnection {
    /// Asks the actor to do this about one task.
    pub(crate) fn request_poll(&self, id: HandleId, poll: PollRequest) {
        {
            let mut requests = self.requests.lock();
            let wanted = requests.polls.entry(id).or_default();
            wanted.soon |= poll.soon;
            wanted.person_acted |= poll.person_acted;
            wanted.poll_at = match (wanted.poll_at, poll.poll_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        self.wake.notify_one();
    }

    /// Asks the actor to end or restart the server for a person.
    pub(crate) fn request_act(&self, act: ServerAct, by: &PersonId) {
        match act {
            // Whoever looks at once must not see how it was before.
            ServerAct::Restart | ServerAct::Change => self.set_health(ServerHealth::Connecting),
            ServerAct::End => {}
        }
        self.requests.lock().act = Some((by.clone(), act));
        self.wake.notify_one();
    }

    /// A person signed in to the server, or out of it.
    pub(crate) fn request_sign_in(&self, is_in: bool) {
        self.requests.lock().sign_in = Some(is_in);
        self.wake.notify_one();
    }

    /// A request that was no poll failed: a server that calls, answers or cancels do not reach is not up, even if its
    /// connection is.
    pub(crate) fn request_failed(&self, error: &UpstreamError) {
        match error {
            UpstreamError::Unreachable { why, hint } => {
                self.requests.lock().unreached = Some((why.clone(), hint.clone()));
            }
            UpstreamError::Unauthorized { why, hint } => {
                self.requests.lock().unauthorized = Some((why.clone(), hint.clone()));
            }
            UpstreamError::RateLimited { .. }
            | UpstreamError::UnknownTask
            | UpstreamError::Refused(_)
            | UpstreamError::MissingCapability(_)
            | UpstreamError::Unsupported(_)
            | UpstreamError::Unreadable { .. }
            | UpstreamError::GivenUp
            | UpstreamError::ChannelGone => return,
        }
        self.wake.notify_one();
    }

    /// An agent's own connection did not reach the server: asks the actor to check whether this one does. However often
    /// this is asked, the actor checks at its own pace.
    pub(crate) fn request_check(&self) {
        self.requests.lock().check = true;
        self.wake.notify_one();
    }

    pub(crate) fn take_requests(&self) -> ActorRequests {
        std::mem::take(&mut *self.requests.lock())
    }
}
