//! Agent calls that were in flight when the core ended: each gets a row, so that none is forgotten.
//!
//! An intent without a handle says that a call may have left, and nothing of its reply: it is *unconfirmed*, never sent
//! again, and joined by the same call when its agent repeats it (rulings 21, 24). Rows that exist are in `restart.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::audit::Actor;
use domain::ids::{JobKey, ServerId};
use domain::ports::{CallIntent, CommitError, RegistryError};
use domain::server::Server;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::GoneWhy;
use domain::task::{Audience, Home, NewCall, TaskHandle, TaskRunLimits};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::calls::dedup::may_join;
use crate::calls::lineage;
use crate::core::{EngineCore, then};
use crate::recovery::restart::may_live_on;

/// Intents that are recorded at a time, so that their commits share fsyncs.
const RECORDED_AT_ONCE: usize = 64;

/// Records what earlier runs began and did not end.
pub(crate) async fn record(core: &Arc<EngineCore>, servers: &[Server]) -> Result<(), RegistryError> {
    let left = core.intents.left_over().await?;
    if left.is_empty() {
        return Ok(());
    }
    tracing::info!(calls = left.len(), "calls of agents were in flight when the core ended");
    let servers: HashMap<ServerId, &Server> = servers.iter().map(|server| (server.id, server)).collect();
    let recorded = stream::iter(left).map(|intent| record_one(core, servers.get(&intent.server).copied(), intent));
    let ids = recorded.buffer_unordered(RECORDED_AT_ONCE).try_collect().await?;
    core.intents.settled(ids).await
}

async fn record_one(
    core: &EngineCore,
    server: Option<&Server>,
    intent: CallIntent,
) -> Result<domain::ids::HandleId, RegistryError> {
    let id = intent.id;
    if core.registry.handle(id).await?.is_some() {
        return Ok(id);
    }
    let job = JobKey::of(intent.server, &intent.tool, intent.arguments_digest.get());
    let attempt = lineage::attempt(core, &job).await;
    let call = NewCall {
        id,
        server: intent.server,
        agent: Some(intent.agent),
        by: Actor::Agent(intent.agent),
        tool: intent.tool,
        // Arguments are not written ahead, and nothing replaces them.
        arguments: Payload::new("{}"),
        arguments_digest: Arc::clone(intent.arguments_digest.get()),
        usual: None,
        usual_late_min: core.policy.usual_late_min,
        limit: None,
        host: intent.host,
        home: Home { generation: server.map_or(0, |server| server.generation), session: None },
        seat: intent.seat,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: Some(job),
        attempt,
        hold: false,
        run_limits: TaskRunLimits::default(),
        agent_ttl: None,
    };
    let now = core.time.now();
    let mut born = TaskHandle::admit(call, intent.at.min(now));
    born.payloads.retain(|write| write.kind != PayloadKind::Arguments);
    let found = match server {
        None => then(born, |next| next.gone(&GoneWhy::ServerRemoved, now)),
        Some(server) if may_live_on(core, server) => born,
        Some(_) => then(born, |next| next.reply_lost("the core was restarted while the call was in flight", now)),
    };
    match core.ledger.admit(then(found, |next| next.undeliver(now))).await {
        Ok(_) | Err(CommitError::Conflict | CommitError::Exists(_)) => Ok(id),
        Err(CommitError::Registry(error)) => Err(error),
    }
}

/// Finds the replies that never reached their agent, so that a repeated call joins them.
pub(crate) async fn find_undelivered(core: &EngineCore) -> Result<(), RegistryError> {
    let now = core.time.now();
    for handle in core.ledger.all().into_iter().filter(|handle| may_join(core, handle, now)) {
        core.calls.dedup.not_delivered(&handle);
    }
    // Those that are over are not in memory.
    let span = i64::try_from(core.policy.gateway.repeat_within.as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp::from_millis(now.as_millis().saturating_sub(span));
    for id in core.registry.undelivered(since, core.policy.gateway.undelivered_max).await? {
        if let Some(handle) = core.ledger.load(id).await?.filter(|handle| may_join(core, handle, now)) {
            core.calls.dedup.not_delivered(&handle);
        }
    }
    Ok(())
}
