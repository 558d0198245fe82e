//! `logging/setLevel`: kept for the session, and passed to every older server at its endpoint.
//!
//! Which messages a session gets is `session_state.rs`.

use futures::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::{meta, raw_json};
use crate::gateway::engine_errors::unreached;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::connect_in_time;
use crate::gateway::subscriptions::session_state::LEVELS;
use crate::server::Request;
use crate::server::rpc_error::RequestError;
use crate::upstream::transport::link::Answer;
use crate::wire::rewrite::{Identity, RewrittenPart, rewrite_raw};

/// Sets the level for the session.
///
/// # Errors
/// When there is no such level, or the server's own error, raw.
pub(crate) async fn set_level(context: &RequestContext, request: Request) -> Result<Box<RawValue>, RequestError> {
    let level = request.params.text("level").filter(|level| LEVELS.contains(&level.as_str()));
    let level = level.ok_or_else(|| RequestError::params(format!("`level` must be one of {}", LEVELS.join(", "))))?;
    if let Some(session) = context.session() {
        context.state.sessions.set_level(session, &level);
    }
    let params = request.params.raw();
    let answers = context.servers().into_iter().map(|server| async move {
        let connection = connect_in_time(context, server).await?;
        // Modern servers get the level with each request; those without logging have nothing to log.
        connection.capability("logging").filter(|_| !connection.is_modern())?;
        Some(connection.request(context, "logging/setLevel", params.map(ToOwned::to_owned)).await)
    });
    for answer in join_all(answers).await.into_iter().flatten() {
        match (context.server, answer) {
            (Some(_), Ok(Answer::Result(raw))) => {
                let exchange =
                    |identity, _: &str| (identity == Identity::Server).then(|| meta::server_info().to_string());
                return Ok(rewrite_raw(RewrittenPart::Result("logging/setLevel"), raw, &exchange));
            }
            (Some(_), Ok(Answer::Error(error))) => return Err(RequestError::raw(&error)),
            (Some(_), Err(failed)) => return Err(unreached(&context.state.policy, failed)),
            (None, _) => {}
        }
    }
    raw_json::serialize(&json!({}))
}
