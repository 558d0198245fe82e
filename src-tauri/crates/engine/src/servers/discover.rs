//! Finds tasks that somebody else started: by the server's own list, or by an id that a person gives.
//!
//! A task that is not listed is not therefore gone. What is listed and unknown gets a handle, unless it belongs to a
//! call of ours whose reply is just arriving. Polling a found task is `poll.rs`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::audit::Actor;
use domain::ids::{HandleId, PersonId, ServerId, UpstreamTaskId};
use domain::ports::{CommitError, KnownTask, UpstreamError};
use domain::server::ServerAddress;
use domain::task::observation::Observation;
use domain::task::{FoundTask, Home, Origin, TaskHandle};

use crate::connections::connection::ServerConnection;
use crate::connections::connection_key::ConnectionKey;
use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::actor::ServerActor;
use crate::servers::open_connection;
use crate::servers::state::finished_job::{DiscoveredTasks, FinishedJob};

/// Reads the whole list, page by page, and takes up what is unknown.
pub(crate) async fn sweep_list(
    core: Arc<EngineCore>,
    connection: Arc<ServerConnection>,
    live: Arc<LiveConnection>,
    open: HashMap<UpstreamTaskId, HandleId>,
) -> DiscoveredTasks {
    let mut found = DiscoveredTasks { moved: Vec::new(), slow_down: None, no_list: false };
    let mut calls = connection.in_flight();
    let mut unknown = Vec::new();
    let mut cursor = None;
    let mut cursors = HashSet::new();
    for _ in 0..core.policy.list_pages_max {
        let page = {
            let Ok(_slot) = core.poll_slots.acquire().await else { return found };
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
                tracing::debug!(server.name = %connection.name(), %error, "the server's list cannot be read");
                break;
            }
        };
        for (task, seen) in page.tasks {
            let here = match open.get(&task) {
                Some(id) => Some(KnownTask::Kept(*id)),
                None => known(&core, &connection, &live, &task, &seen).await,
            };
            match here {
                Some(KnownTask::Kept(id)) => found.moved.extend(moved(&core, id, &seen)),
                // Retention removed it; that a server goes on listing it does not bring it back.
                Some(KnownTask::Removed) => {}
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
    calls.extend(connection.in_flight());
    wait_for_replies(&core, &connection, &calls).await;
    let mut taken = core.ledger.of_connection(connection.key).len();
    for (task, seen) in unknown {
        if taken >= core.policy.discovered_max {
            tracing::warn!(server.name = %connection.name(), "the server lists more tasks than are taken up");
            break;
        }
        if known(&core, &connection, &live, &task, &seen).await.is_some() {
            continue;
        }
        let by = Actor::Server(connection.server);
        match take_up(&core, &live, connection.key, task, &seen, Origin::Discovered, by).await {
            Ok(_) => taken += 1,
            Err(CommitError::Exists(_)) => {}
            Err(error) => {
                tracing::warn!(server.name = %connection.name(), %error, "a listed task cannot be taken up");
                break;
            }
        }
    }
    found
}

/// A listed task may be the one whose creation is being replied to: such a reply comes at once, so a short wait for
/// the calls that were in flight is enough. A later one finds its id taken and says so (`admission.rs`).
async fn wait_for_replies(core: &EngineCore, connection: &ServerConnection, calls: &[HandleId]) {
    let mut waited = std::time::Duration::ZERO;
    while calls.iter().any(|id| connection.in_flight_call(*id).is_some()) && waited < core.policy.promote_after {
        tokio::time::sleep(core.policy.hint_floor).await;
        waited += core.policy.hint_floor;
    }
}

/// What is known of a listed task. A server may list to each connection what it does for all of them, so over HTTP the
/// other connections count too; every child has tasks of its own.
async fn known(
    core: &EngineCore,
    connection: &ServerConnection,
    live: &LiveConnection,
    task: &UpstreamTaskId,
    seen: &Observation,
) -> Option<KnownTask> {
    let mut homes = vec![live.home.clone()];
    if matches!(connection.configured().address, ServerAddress::Http { .. }) {
        let others = core.connections.of_server(connection.server);
        if others.len() == 1 {
            return find(core, connection, homes, task).await;
        }
        homes.extend(others.iter().filter_map(|other| other.live()).map(|other| other.home.clone()));
        let same = |handle: &&Arc<TaskHandle>| {
            handle.view.task().is_some_and(|known| known.id == *task && known.created == seen.created)
        };
        if let Some(handle) = core.ledger.of_server(connection.server).iter().find(same) {
            return Some(KnownTask::Kept(handle.id));
        }
    }
    homes.dedup();
    find(core, connection, homes, task).await
}

async fn find(
    core: &EngineCore,
    connection: &ServerConnection,
    homes: Vec<Home>,
    task: &UpstreamTaskId,
) -> Option<KnownTask> {
    for home in homes {
        match core.registry.find_task(connection.server, home.generation, home.session, task.clone()).await {
            Ok(Some(known)) => return Some(known),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "whether a listed task is known cannot be read"),
        }
    }
    None
}

fn moved(core: &EngineCore, id: HandleId, seen: &Observation) -> Option<HandleId> {
    let handle = core.ledger.held(id)?;
    let word = handle.view.task()?.status.word();
    (word != seen.status.word()).then_some(id)
}

async fn take_up(
    core: &EngineCore,
    live: &LiveConnection,
    ConnectionKey { server, seat }: ConnectionKey,
    task: UpstreamTaskId,
    seen: &Observation,
    origin: Origin,
    by: Actor,
) -> Result<HandleId, CommitError> {
    let id = HandleId::from_random(core.time.random.bits());
    let found = FoundTask { id, server, origin, by, home: live.home.clone(), seat, task };
    core.ledger.admit(TaskHandle::found(found, seen, &core.policy)).await.map(|handle| handle.id)
}

impl ServerActor {
    /// Reads the server's own list, beside everything else.
    pub(crate) fn list(&mut self) {
        let Some(live) = self.connection.live() else { return };
        let (core, connection) = (Arc::clone(&self.core), Arc::clone(&self.connection));
        // Tasks of earlier sessions and generations are known by their id alone while they are open.
        let open = self.polls.tasks().map(|(task, id)| (task.clone(), id)).collect();
        self.jobs.push(Box::pin(async move { FinishedJob::Listed(sweep_list(core, connection, live, open).await) }));
    }

    pub(crate) fn listed(&mut self, found: DiscoveredTasks) {
        for id in found.moved {
            self.poll_soon(id);
        }
        if let Some(after) = found.slow_down {
            self.slow_down(after);
        }
        if found.no_list {
            self.list_at = None;
        }
    }
}

impl Engine {
    /// Takes up a task by the server's id of it. Returns the existing handle when it is here already.
    ///
    /// # Errors
    /// When the server does not know it, or cannot be reached.
    pub async fn adopt(&self, server: ServerId, task: UpstreamTaskId, by: PersonId) -> Result<HandleId, EngineError> {
        let core = &self.core;
        let (_, live) = open_connection::shared(core, server).await?;
        let home = &live.home;
        let known = core.registry.find_task(server, home.generation, home.session.clone(), task.clone()).await?;
        let same =
            |handle: &&Arc<TaskHandle>| handle.view.task().is_some_and(|known| known.id == task) && live.holds(handle);
        let open = core.ledger.of_server(server).iter().find(same).map(|handle| handle.id);
        // One that was removed is taken up again: a person asks for it.
        let kept = match known {
            Some(KnownTask::Kept(id)) => Some(id),
            Some(KnownTask::Removed) | None => open,
        };
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let seen = core.ask(live.upstream.read(task.clone())).await?;
        match take_up(core, &live, ConnectionKey::shared(server), task, &seen, Origin::Adopted, Actor::Person(by)).await
        {
            Ok(id) | Err(CommitError::Exists(id)) => Ok(id),
            Err(CommitError::Registry(error)) => Err(error.into()),
            Err(CommitError::Conflict) => Err(domain::ports::RegistryError::Other {
                operation: "adopt a task",
                why: "a task with its id exists already".into(),
            }
            .into()),
        }
    }
}
