//! Reads what a server lists, page by page, unless the cached listing is still good.
//!
//! Bounded in pages and bytes like the engine's own reading of tools. What is kept, and for how long, is
//! `listing_cache.rs`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::gateway::conversion::raw_json;
use crate::gateway::engine_errors::{METHOD_NOT_FOUND, code, unreached};
use crate::gateway::off_worker;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::GatewayConnection;
use crate::gateway::servers::listing_cache::Listing;
use crate::server::rpc_error::RequestError;
use crate::upstream::transport::link::Answer;
use crate::wire::raw_json::{member, text_member};
use crate::wire::rewrite::json_text;

/// A server's listing, cached or read now; `None` when it has nothing of this kind.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(crate) async fn get(
    context: &RequestContext,
    connection: &GatewayConnection,
    kind: ListKind,
) -> Result<Option<Arc<Listing>>, RequestError> {
    if !connection.may_list(kind) {
        return Ok(None);
    }
    let state = &context.state;
    let is_open = |id| state.forwarder.connection(id).is_some();
    if let Some(listing) = state.listings.get(connection, kind, is_open) {
        return Ok(Some(listing));
    }
    let Some(listing) = read(context, connection, kind).await? else { return Ok(None) };
    let (of, server) = (Arc::clone(state), connection.server);
    let remembered = off_worker::on_text(listing.bytes(), move || {
        of.listings.remember(server, kind, &listing);
        listing
    });
    let listing = remembered.await.ok_or_else(off_worker::failed)?;
    Ok(Some(state.listings.put(connection, kind, listing)))
}

async fn read(
    context: &RequestContext,
    connection: &GatewayConnection,
    kind: ListKind,
) -> Result<Option<Listing>, RequestError> {
    let policy = &context.state.policy;
    let mut listing = Listing { pages: Vec::new(), fresh_for: None, read_at: Instant::now() };
    let (mut bytes, mut cursor) = (0_usize, None::<String>);
    for _ in 0..policy.list_pages_max {
        let params = cursor.as_ref().map(|cursor| format!("{{\"cursor\":{}}}", json_text(cursor)));
        let params = params.and_then(raw_json::raw);
        let answer = connection.request(context, kind.method(), params).await;
        let page = match answer.map_err(|failed| unreached(policy, failed))? {
            Answer::Result(page) => page,
            Answer::Error(error) if code(&error) == Some(METHOD_NOT_FOUND) && listing.pages.is_empty() => {
                return Ok(None);
            }
            Answer::Error(error) => return Err(RequestError::raw(&error)),
        };
        let fresh = member(page.get(), "ttlMs").and_then(|span| span.parse::<f64>().ok());
        let fresh = fresh.and_then(|span| Duration::try_from_secs_f64(span / 1_000.0).ok());
        listing.fresh_for = if listing.pages.is_empty() { fresh } else { listing.fresh_for.min(fresh) };
        bytes = bytes.saturating_add(page.get().len());
        let next = text_member(page.get(), "nextCursor").map(Cow::into_owned).filter(|next| !next.is_empty());
        listing.pages.push(page);
        if next.is_none() || next == cursor || bytes > policy.message_cap_bytes {
            break;
        }
        cursor = next;
    }
    Ok(Some(listing))
}
