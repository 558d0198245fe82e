//! Brings the rows of an earlier run up to date at a start, from the registry alone.
//!
//! After a kill at any moment the rows say what to do: replies to another run cannot arrive, questions of dead children
//! cannot be answered, and open tasks are polled again. Nothing is sent here; the deliverer finds what is due by
//! itself.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::ServerId;
use domain::ports::RegistryError;
use domain::server::{Server, ServerAddress};
use domain::task::status::GoneWhy;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};

use crate::connections::task_needs::{awaits_other_run, live_connections};
use crate::core::{EngineCore, then};

/// Handles that are brought up to date at a time, so that their commits share fsyncs.
const RECOVERED_AT_ONCE: usize = 64;

/// Loads every open handle and commits what the restart itself changed.
pub(crate) async fn recover(core: &Arc<EngineCore>, servers: &[Server]) -> Result<(), RegistryError> {
    let servers: HashMap<ServerId, &Server> = servers.iter().map(|server| (server.id, server)).collect();
    let mut after = None;
    loop {
        let page = core.registry.open_handles(None, after, core.policy.page_rows_max).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        let full = page.len() >= usize::try_from(core.policy.page_rows_max).unwrap_or(usize::MAX);
        let stale: Vec<_> = page
            .into_iter()
            .map(|handle| core.ledger.take_up(handle))
            .filter(|handle| catch_up(core, &servers, handle, core.time.now()).changed)
            .collect();
        let caught_up: Vec<Result<(), RegistryError>> = stream::iter(stale)
            .map(|handle| {
                let servers = &servers;
                async move {
                    let applied =
                        core.ledger.apply(handle.id, |handle, now| catch_up(core, servers, handle, now)).await;
                    match applied {
                        Err(crate::error::LedgerError::Registry(error)) => Err(error),
                        Ok(_) | Err(_) => Ok(()),
                    }
                }
            })
            .buffer_unordered(RECOVERED_AT_ONCE)
            .collect()
            .await;
        caught_up.into_iter().collect::<Result<(), _>>()?;
        if !full {
            return Ok(());
        }
    }
}

/// Whether a kept child may still work on its tasks: its first connection shows it (`servers/resume.rs`).
pub(crate) fn may_live_on(core: &EngineCore, server: &Server) -> bool {
    match server.address {
        ServerAddress::Stdio { .. } => core.connector.may_keep(),
        ServerAddress::Http { .. } => false,
    }
}

/// What the restart itself means for a handle.
fn catch_up(
    core: &EngineCore,
    servers: &HashMap<ServerId, &Server>,
    handle: &TaskHandle,
    now: Timestamp,
) -> Transition {
    let ahead = handle.latest();
    if ahead > now {
        // The clock was set back while no core ran: an answer must not be held back for as long as that.
        core.time.note_step();
        let back = now.as_millis().saturating_sub(ahead.as_millis());
        return then(handle.clock_stepped(back), |next| restarted(core, servers, next, now));
    }
    restarted(core, servers, handle, now)
}

fn restarted(
    core: &EngineCore,
    servers: &HashMap<ServerId, &Server>,
    handle: &TaskHandle,
    now: Timestamp,
) -> Transition {
    let Some(server) = servers.get(&handle.server) else { return handle.gone(&GoneWhy::ServerRemoved, now) };
    if may_live_on(core, server) {
        return Transition::none(handle);
    }
    let replied = if awaits_other_run(handle, core.host) {
        handle.reply_lost("the core was restarted while the call was in flight", now)
    } else {
        Transition::none(handle)
    };
    match server.address {
        // The child that asked ended with the core that started it.
        ServerAddress::Stdio { .. } => live_connections(handle)
            .fold(replied, |all, connection| then(all, |next| next.channel_lost(connection, false, now))),
        ServerAddress::Http { .. } => replied,
    }
}
