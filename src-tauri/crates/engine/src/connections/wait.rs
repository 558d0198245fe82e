//! Waiting for a connection: until it is open, or until the server's health is known.
//!
//! Opens nothing itself: it asks the actor to try now (`servers/connect.rs`).

use std::sync::Arc;
use std::time::Duration;

use domain::server::ServerHealth;
use tokio::time::Instant;

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::error::EngineError;

/// Waits at most `limit` for an open connection. A closed one is never returned: its caller would fail at once, ask
/// again and get the same one until the actor had its turn.
pub(crate) async fn await_open(
    connection: &Arc<ServerConnection>,
    limit: Duration,
) -> Result<Arc<LiveConnection>, EngineError> {
    if let Some(live) = connection.open_connection() {
        return Ok(live);
    }
    let until = Instant::now() + limit;
    drop(tokio::time::timeout_at(until, connection.closed_connection_removed()).await);
    if let Some(live) = connection.open_connection() {
        return Ok(live);
    }
    connection.connect_now();
    let health = await_health(connection, until.saturating_duration_since(Instant::now())).await;
    connection.open_connection().ok_or_else(|| not_connected(&health))
}

/// Waits until the server is up, down, ended or blocked, at most `limit`.
pub(crate) async fn await_health(connection: &ServerConnection, limit: Duration) -> ServerHealth {
    let mut healths = connection.healths();
    let wait = healths.wait_for(|health| match health {
        ServerHealth::Unknown | ServerHealth::Connecting => false,
        ServerHealth::Up { .. }
        | ServerHealth::Down { .. }
        | ServerHealth::Ended { .. }
        | ServerHealth::Blocked { .. } => true,
    });
    match tokio::time::timeout(limit, wait).await {
        Ok(Ok(health)) => health.clone(),
        Ok(Err(_)) | Err(_) => connection.health(),
    }
}

/// Says why a server is not connected, as its health does.
fn not_connected(health: &ServerHealth) -> EngineError {
    match health {
        ServerHealth::Down { why, hint, retry_at, .. } => {
            EngineError::NotConnected { why: why.clone(), hint: hint.clone(), waits_for_person: retry_at.is_none() }
        }
        ServerHealth::Ended { why, hint, .. } | ServerHealth::Blocked { why, hint, .. } => {
            EngineError::NotConnected { why: why.clone(), hint: hint.clone(), waits_for_person: true }
        }
        ServerHealth::Unknown | ServerHealth::Connecting | ServerHealth::Up { .. } => EngineError::NotConnected {
            why: "it has not answered yet".into(),
            hint: "Try again in a moment; `taskwarden servers show` shows the state of the connection.".into(),
            waits_for_person: false,
        },
    }
}
