//! Which line an agent's request takes, and the life of agents' own lines (ruling 14).
//!
//! Modern servers are shared; a legacy server has a connection for people and one for each agent, so that untagged
//! questions, logs and state cannot cross. An agent's line is opened when it is needed, taken up again after a restart
//! while something is open on it, and ended when nobody used it for a while. Following it is `follow.rs`'s.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::task::TaskHandle;
use domain::ids::{AgentId, ConnectionId, ServerId};
use domain::ports::Abilities;
use domain::server::{Era, Negotiated, Server};
use tokio::time::Instant;

use crate::admission::{holds_server, not_connected, settled};
use crate::core::Core;
use crate::engine::EngineError;
use crate::follow::Follower;
use crate::line::Line;
use crate::post::{Live, Post};

/// Keeps an agent's own line from being ended for idleness; nothing to do for the shared one.
pub struct LineHold(Option<Arc<Post>>);

impl LineHold {
    /// `None` when the line was just ended.
    fn on(post: &Arc<Post>) -> Option<Self> {
        if post.line.seat.is_none() {
            return Some(Self(None));
        }
        post.usage.enter().then(|| Self(Some(Arc::clone(post))))
    }
}

impl Drop for LineHold {
    fn drop(&mut self) {
        if let Some(post) = &self.0 {
            post.usage.leave();
        }
    }
}

/// A line that is up.
pub struct LineUp {
    /// Names the connection.
    pub connection: ConnectionId,
    /// What was agreed on it.
    pub negotiated: Negotiated,
    /// The agent whose own connection it is; `None` for the shared one.
    pub seat: Option<AgentId>,
    /// While this is held, an agent's own line is not ended for idleness.
    pub hold: LineHold,
}

/// A line on which an agent's request may leave now.
pub(crate) struct Way {
    pub(crate) post: Arc<Post>,
    pub(crate) live: Arc<Live>,
    pub(crate) hold: LineHold,
}

/// The line for a request of this agent; waits for it a short while.
pub(crate) async fn for_agent(
    core: &Arc<Core>,
    server: ServerId,
    agent: AgentId,
    abilities: Abilities,
) -> Result<Way, EngineError> {
    if core.stopping.load(Ordering::Acquire) {
        return Err(EngineError::Stopping);
    }
    let shared = core.posts.shared(server).ok_or(EngineError::UnknownServer)?;
    let limit = core.policy.gateway.line_wait;
    let known = shared.live().map(|live| live.negotiated.era);
    let era = match known.or_else(|| shared.known_era()) {
        Some(era) => era,
        None => up(&shared, limit).await?.negotiated.era,
    };
    match era {
        Era::Modern => {
            let live = up(&shared, limit).await?;
            Ok(Way { post: shared, live, hold: LineHold(None) })
        }
        Era::Legacy | Era::LegacySse => {
            let (post, hold) = own(core, &shared, agent, abilities)?;
            let live = up(&post, limit).await?;
            Ok(Way { post, live, hold })
        }
    }
}

/// The connection of a line, waiting for it at most `limit`. Never one whose link is over: whoever gets such a one
/// fails at once, asks again, and would be given the same one for as long as its follower has no turn.
pub(crate) async fn up(post: &Arc<Post>, limit: Duration) -> Result<Arc<Live>, EngineError> {
    if let Some(live) = post.open_connection() {
        return Ok(live);
    }
    let until = Instant::now() + limit;
    drop(tokio::time::timeout_at(until, post.closed_connection_removed()).await);
    if let Some(live) = post.open_connection() {
        return Ok(live);
    }
    post.connect_now();
    let health = settled(post, until.saturating_duration_since(Instant::now())).await;
    post.open_connection().ok_or_else(|| not_connected(&health))
}

/// The agent's own line, opened when there is none.
fn own(
    core: &Arc<Core>,
    shared: &Post,
    agent: AgentId,
    abilities: Abilities,
) -> Result<(Arc<Post>, LineHold), EngineError> {
    let line = Line { server: shared.server, seat: Some(agent) };
    loop {
        let post = match core.posts.get(line) {
            Some(post) => post,
            None => {
                check_line_share(core, agent)?;
                open(core, shared.configured(), line, abilities)
            }
        };
        // A line that is just being ended has left its place already.
        if let Some(hold) = LineHold::on(&post) {
            return Ok((post, hold));
        }
        core.posts.forget(&post);
    }
}

/// Refuses a further connection of its own to an agent that has its share, and to everybody when there are too many.
fn check_line_share(core: &Core, agent: AgentId) -> Result<(), EngineError> {
    let most = core.policy.gateway.lines_max;
    if core.posts.seats() >= most {
        return Err(EngineError::TooManyLines { most });
    }
    let share = core.policy.shares.of_one_agent(u64::try_from(most).unwrap_or(u64::MAX));
    let share = usize::try_from(share).unwrap_or(usize::MAX);
    if core.posts.of_seat(agent) >= share {
        return Err(EngineError::TooManyLines { most: share });
    }
    Ok(())
}

/// Opens a line, or finds that somebody else just did.
fn open(core: &Arc<Core>, server: Server, line: Line, abilities: Abilities) -> Arc<Post> {
    let leave = core.scope.stopping().child_token();
    let post = Post::new(&server, line.seat, &core.policy, Arc::clone(&core.pulse), leave);
    post.usage.can(abilities);
    let (post, is_new) = core.posts.insert_if_new(Arc::new(post));
    if is_new {
        let (held, followed) = (Arc::clone(core), Arc::clone(&post));
        let make = move || Follower::new(Arc::clone(&held), Arc::clone(&followed)).run();
        core.scope.spawn_steady("follow", &core.policy, make);
    }
    post
}

/// Begins to follow the line that people and modern agents share.
pub(crate) fn follow(core: &Arc<Core>, server: Server) {
    let line = Line::shared(server.id);
    open(core, server, line, Abilities::default());
}

/// Opens the line on which this task lives again, when something must be sent or read there.
pub(crate) fn reopen(core: &Arc<Core>, handle: &TaskHandle) -> Option<Arc<Post>> {
    let line = Line::of(handle);
    if let Some(post) = core.posts.get(line) {
        return Some(post);
    }
    line.seat?;
    let shared = core.posts.shared(line.server)?;
    Some(open(core, shared.configured(), line, Abilities::default()))
}

/// Takes up the agents' own lines on which something was open when the last run ended.
pub(crate) fn resume(core: &Arc<Core>) {
    for line in core.ledger.lines() {
        let needed = |handle: &Arc<TaskHandle>| is_needed(handle);
        if let Some(handle) = core.ledger.of_line(line).iter().find(|handle| needed(handle)) {
            let _ = reopen(core, handle);
        }
    }
}

/// Whether this task needs its line.
fn is_needed(handle: &TaskHandle) -> bool {
    handle.ended_at().is_none() && holds_server(handle) || handle.deliver_at().is_some()
}

/// Whether nothing is going on that needs this line of an agent, so that it may be ended for idleness.
pub(crate) fn is_idle(core: &Core, post: &Post) -> bool {
    post.in_flight().is_empty() && !core.ledger.of_line(post.line).iter().any(|handle| is_needed(handle))
}

/// The line for forwarding.
pub(crate) async fn line(
    core: &Arc<Core>,
    server: ServerId,
    agent: AgentId,
    abilities: Abilities,
) -> Result<LineUp, EngineError> {
    let Way { live, post, hold } = for_agent(core, server, agent, abilities).await?;
    Ok(LineUp { connection: live.id, negotiated: live.negotiated.clone(), seat: post.line.seat, hold })
}
