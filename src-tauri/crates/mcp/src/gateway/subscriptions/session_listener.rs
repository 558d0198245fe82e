//! Sessions of the older eras: what their servers say goes to the standing stream.
//!
//! All list changes, and the resources that the session subscribed to. Each server of the endpoint has one listener per
//! session; it ends with the session's scope.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::ServerId;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::{raw_json, result_uri};
use crate::gateway::engine_errors::unreached;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::connect;
use crate::gateway::servers::targets;
use crate::gateway::state::GatewayState;
use crate::gateway::subscriptions::server_listener;
use crate::gateway::subscriptions::server_listener::{NotificationSink, ServerListener, all_lists, servers_changed};
use crate::server::rpc_error::RequestError;
use crate::server::{Request, Session};
use crate::upstream::transport::link::Answer;

/// Listens to all servers of the session's endpoint, for as long as it lives.
pub(crate) fn start(state: &Arc<GatewayState>, session: &Arc<Session>) {
    let Some(context) = RequestContext::of_session(state, session) else { return };
    let servers = context.servers();
    for server in &servers {
        listen(&context, session, *server);
    }
    if context.server.is_some() {
        return;
    }
    let mut known: BTreeSet<ServerId> = servers.into_iter().collect();
    let session = Arc::clone(session);
    session.scope().clone().spawn("gateway servers", async move {
        loop {
            for new in servers_changed(&context.state, &mut known).await {
                listen(&context, &session, new);
            }
            NotificationSink::Session(&session).send_lists_changed(&all_lists()).await;
        }
    });
}

fn listen(context: &RequestContext, session: &Arc<Session>, server: ServerId) {
    let Some(uris) = context.state.sessions.add_server(session, server) else { return };
    let (context, session) = (context.clone(), Arc::clone(session));
    session.scope().clone().spawn("gateway standing", async move {
        let sink = NotificationSink::Session(&session);
        ServerListener::new(&context, server, all_lists(), uris, &sink).run().await;
    });
}

/// `resources/subscribe` and `resources/unsubscribe` of a session.
///
/// # Errors
/// The server's own, raw.
pub(crate) async fn subscribe(
    context: &RequestContext,
    request: Request,
    on: bool,
) -> Result<Box<RawValue>, RequestError> {
    let session = context.session().ok_or_else(RequestError::no_method)?;
    let uri = request.params.text("uri").ok_or_else(|| RequestError::params("`uri` must be a text"))?;
    let (server, uri) = match context.server {
        Some(_) if result_uri::is_result(&uri) => return Err(targets::unknown_resource()),
        Some(server) => (server, uri),
        None => targets::resource(context, &uri).await?,
    };
    let connection = connect(context, server).await?;
    if on && !connection.is_modern() {
        // For the server's own answer. The listener asks once more, which does no harm.
        let answer = server_listener::subscribe(context, &connection, &uri).await;
        match answer.map_err(|failed| unreached(&context.state.policy, failed))? {
            Answer::Result(_) => {}
            Answer::Error(error) => return Err(RequestError::raw(&error)),
        }
    }
    listen(context, session, server);
    context.state.sessions.set_subscribed(session, server, &uri, on);
    raw_json::serialize(&json!({}))
}
