//! Finds tasks that somebody else started: by the server's own list, or by an id that a person gives.
//!
//! A task that is not listed is not thereby gone. What is listed and unknown gets a handle, unless it is the task of a
//! call of ours whose reply is just arriving. Reading what a found task does is the follower's (`follow/look.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::audit::Actor;
use domain::task::{FoundTask, Home, Origin, TaskHandle};
use domain::ids::{HandleId, PersonId, ServerId, UpstreamTaskId};
use domain::task::observation::Observation;
use domain::ports::{CommitError, UpstreamError};
use domain::server::ServerAddress;

use crate::admission::connected;
use crate::core::Core;
use crate::engine::EngineError;
use crate::line::Line;
use crate::post::{Live, Post};

/// What a reading of the server's list brought.
pub(crate) struct Found {
    /// Known open tasks whose listed word is another than ours: worth a look.
    pub(crate) moved: Vec<HandleId>,
    /// The server asked to slow down.
    pub(crate) slow_down: Option<Option<std::time::Duration>>,
    /// The server has no list.
    pub(crate) no_list: bool,
}

/// Reads the whole list, page by page, and takes up what is unknown.
pub(crate) async fn sweep_list(
    core: Arc<Core>,
    post: Arc<Post>,
    live: Arc<Live>,
    open: HashMap<UpstreamTaskId, HandleId>,
) -> Found {
    let mut found = Found { moved: Vec::new(), slow_down: None, no_list: false };
    let mut calls = post.in_flight();
    let mut unknown = Vec::new();
    let mut cursor = None;
    let mut cursors = HashSet::new();
    for _ in 0..core.policy.list_pages_max {
        let page = {
            let Ok(_slot) = core.reads.acquire().await else { return found };
            core.ask(live.upstream.list(cursor.take())).await
        };
        let page = match page {
            Ok(page) => page,
            Err(UpstreamError::Unsupported(_)) => {
                found.no_list = true;
                break;
            }
            Err(UpstreamError::RateLimited { after }) => {
                found.slow_down = Some(after);
                break;
            }
            Err(error) => {
                tracing::debug!(server.name = %post.name(), %error, "the server's list cannot be read");
                break;
            }
        };
        for (task, seen) in page.tasks {
            let here = match open.get(&task) {
                Some(id) => Some(*id),
                None => known(&core, &post, &live, &task, &seen).await,
            };
            match here {
                Some(id) => found.moved.extend(moved(&core, id, &seen)),
                None if unknown.len() < core.policy.discovered_max => unknown.push((task, seen)),
                None => {}
            }
        }
        match page.next {
            // A cursor that comes again never ends.
            Some(next) if cursors.insert(next.clone()) => cursor = Some(next),
            Some(_) | None => break,
        }
    }
    if unknown.is_empty() {
        return found;
    }
    // A call that took off while the list was read may have created what is listed too.
    calls.extend(post.in_flight());
    wait_for_replies(&core, &post, &calls).await;
    let mut taken = core.ledger.of_line(post.line).len();
    for (task, seen) in unknown {
        if taken >= core.policy.discovered_max {
            tracing::warn!(server.name = %post.name(), "the server lists more tasks than are taken up");
            break;
        }
        if known(&core, &post, &live, &task, &seen).await.is_some() {
            continue;
        }
        let by = Actor::Server(post.server);
        match take_up(&core, &live, post.line, task, &seen, Origin::Discovered, by).await {
            Ok(_) => taken += 1,
            Err(CommitError::Exists(_)) => {}
            Err(error) => {
                tracing::warn!(server.name = %post.name(), %error, "a listed task cannot be taken up");
                break;
            }
        }
    }
    found
}

/// A listed task may be the one whose creation is being replied to: such a reply comes at once, so a short wait for
/// the calls that were in flight is enough. A later one finds its id taken and says so (`admission.rs`).
async fn wait_for_replies(core: &Core, post: &Post, calls: &[HandleId]) {
    let mut waited = std::time::Duration::ZERO;
    while calls.iter().any(|id| post.flight(*id).is_some()) && waited < core.policy.promote_after {
        tokio::time::sleep(core.policy.hint_floor).await;
        waited += core.policy.hint_floor;
    }
}

/// The handle of a listed task. A server that lists to each connection what it does for all shows on one line what lives
/// on another; over HTTP those are looked for too, while every child has tasks of its own.
async fn known(core: &Core, post: &Post, live: &Live, task: &UpstreamTaskId, seen: &Observation) -> Option<HandleId> {
    let mut homes = vec![live.home.clone()];
    if matches!(post.configured().address, ServerAddress::Http { .. }) {
        let others = core.posts.of_server(post.server);
        if others.len() == 1 {
            return find(core, post, homes, task).await;
        }
        homes.extend(others.iter().filter_map(|other| other.live()).map(|other| other.home.clone()));
        let same = |handle: &&Arc<TaskHandle>| {
            handle.view.task().is_some_and(|known| known.id == *task && known.created == seen.created)
        };
        if let Some(handle) = core.ledger.of_server(post.server).iter().find(same) {
            return Some(handle.id);
        }
    }
    homes.dedup();
    find(core, post, homes, task).await
}

async fn find(core: &Core, post: &Post, homes: Vec<Home>, task: &UpstreamTaskId) -> Option<HandleId> {
    for home in homes {
        match core.registry.find_task(post.server, home.generation, home.session, task.clone()).await {
            Ok(Some(known)) => return Some(known),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "whether a listed task is known cannot be read"),
        }
    }
    None
}

fn moved(core: &Core, id: HandleId, seen: &Observation) -> Option<HandleId> {
    let handle = core.ledger.held(id)?;
    let word = handle.view.task()?.status.word();
    (word != seen.status.word()).then_some(id)
}

async fn take_up(
    core: &Core,
    live: &Live,
    Line { server, seat }: Line,
    task: UpstreamTaskId,
    seen: &Observation,
    origin: Origin,
    by: Actor,
) -> Result<HandleId, CommitError> {
    let id = HandleId::from_random(core.dice.bits());
    let found = FoundTask { id, server, origin, by, home: live.home.clone(), seat, task };
    core.ledger.admit(TaskHandle::found(found, seen, &core.policy)).await.map(|handle| handle.id)
}

/// Takes up a task by the server's id of it, after one look at it.
pub(crate) async fn adopt(
    core: &Arc<Core>,
    server: ServerId,
    task: UpstreamTaskId,
    by: PersonId,
) -> Result<HandleId, EngineError> {
    let (_, live) = connected(core, server).await?;
    let home = &live.home;
    let known = core.registry.find_task(server, home.generation, home.session.clone(), task.clone()).await?;
    let same =
        |handle: &&Arc<TaskHandle>| handle.view.task().is_some_and(|known| known.id == task) && live.holds(handle);
    let open = core.ledger.of_server(server).iter().find(same).map(|handle| handle.id);
    if let Some(known) = known.or(open) {
        return Ok(known);
    }
    let seen = core.ask(live.upstream.read(task.clone())).await?;
    match take_up(core, &live, Line::shared(server), task, &seen, Origin::Adopted, Actor::Person(by)).await {
        Ok(id) | Err(CommitError::Exists(id)) => Ok(id),
        Err(CommitError::Registry(error)) => Err(error.into()),
        Err(CommitError::Conflict) => {
            Err(domain::ports::RegistryError::Other { operation: "adopt a task", why: "its identity is taken".into() }
                .into())
        }
    }
}
