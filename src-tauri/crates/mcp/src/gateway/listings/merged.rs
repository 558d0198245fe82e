//! Lists of all servers as one, and where one server's list is answered.
//!
//! At the endpoint of one server a list passes through raw. At that of all servers lists are merged by the servers' names,
//! each in its own order, with prefixed names; a server that is away is left out, and a log message says so. Reading and
//! caching lists is `servers/listing.rs`.

use domain::ids::ServerId;
use engine::Passed;
use futures::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::calls::forward;
use crate::gateway::clients::usage::{ReportedToolPage, UsageReport};
use crate::gateway::conversion::meta::META_LEVEL;
use crate::gateway::conversion::{raw_json, result_uri};
use crate::gateway::listings::listing_page::{ListingPage, ServerListing};
use crate::gateway::listings::own_listings;
use crate::gateway::off_worker;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::connect_in_time;
use crate::gateway::servers::listing_cache::Listing;
use crate::gateway::servers::names::{NamedServer, name_servers};
use crate::gateway::servers::{listing, names};
use crate::server::rpc_error::RequestError;
use crate::server::{Request, ResponseStream};
use crate::wire::rewrite::meaning;

/// Answers a list. The gateway's own tools and templates follow on its last page.
///
/// # Errors
/// The server's own, raw, or a cursor that is none.
pub(crate) async fn list(
    context: &RequestContext,
    kind: ListKind,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let Some(server) = context.server else {
        return merged(context, kind, &request, stream, usage).await;
    };
    match kind {
        ListKind::Tools => own_listings::tools(context, server, request, stream, usage).await,
        ListKind::Prompts => forward::request(context, request, stream, usage).await,
        ListKind::Resources | ListKind::Templates => {
            own_listings::resources(context, server, kind, request, stream, usage).await
        }
    }
}

async fn merged(
    context: &RequestContext,
    kind: ListKind,
    request: &Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let from = match request.params.said("cursor") {
        Some(cursor) => {
            let read = meaning(cursor).and_then(|cursor| names::read_cursor(&cursor));
            Some(read.ok_or_else(|| RequestError::params("`cursor` is none of ours"))?)
        }
        None => None,
    };
    let servers = name_servers(context.state.engine.servers());
    context.state.listings.keep_only(&servers);
    let listings = join_all(servers.into_iter().map(|server| server_listing(context, kind, server))).await;
    let is_first = from.is_none();
    if is_first {
        log_servers_away(context, request, &listings, stream).await;
    }
    let bytes = listings.iter().filter_map(|one| one.listing.as_deref()).map(Listing::bytes).sum();
    let of = context.clone();
    let answered = off_worker::on_text(bytes, move || page_of(&of, kind, from, &listings));
    let (page, reported) = answered.await.ok_or_else(off_worker::failed)??;
    if let Some(reported) = reported {
        usage.add(reported);
    }
    Ok(page)
}

/// The page that begins at this entry, and what is reported of it.
fn page_of(
    context: &RequestContext,
    kind: ListKind,
    from: Option<(ServerId, usize)>,
    listings: &[ServerListing],
) -> Result<(Box<RawValue>, Option<Passed>), RequestError> {
    let is_first = from.is_none();
    let mut page = ListingPage::empty(context.state.policy.gateway.merged_page_bytes);
    let (begin_at, first_entry) = from.map_or((None, 0), |(server, entry)| (Some(server), entry));
    let is_begin = |listing: &&ServerListing| begin_at.is_none_or(|server| server == listing.server.id);
    for (at, listing) in listings.iter().skip_while(|listing| !is_begin(listing)).enumerate() {
        page.push_listing(context, listing, kind, if at == 0 { first_entry } else { 0 });
        if !page.is_last() {
            break;
        }
    }
    let is_last = page.is_last();
    let mut reported = None;
    match kind {
        ListKind::Tools => {
            let own = if is_last { own_listings::definitions(context) } else { Vec::new() };
            let list = page.list();
            reported = Some(UsageReport::tool_page(&ReportedToolPage { list: &list, own: &own, is_first, is_last }));
            own.iter().for_each(|tool| page.push(tool.get()));
        }
        ListKind::Templates if is_last => page.push(raw_json::serialize(&result_uri::template())?.get()),
        ListKind::Templates | ListKind::Prompts | ListKind::Resources => {}
    }
    let page = page.finish(context, kind, listings)?;
    Ok((if kind == ListKind::Tools { own_listings::with_task_support(context, page) } else { page }, reported))
}

async fn server_listing(context: &RequestContext, kind: ListKind, server: NamedServer) -> ServerListing {
    let wait = context.state.policy.gateway.merge_wait;
    let Some(connection) = connect_in_time(context, server.id).await else {
        return ServerListing { server, listing: None, is_away: true };
    };
    match tokio::time::timeout(wait, listing::get(context, &connection, kind)).await {
        Ok(Ok(listing)) => ServerListing { server, listing, is_away: false },
        Ok(Err(_)) | Err(_) => ServerListing { server, listing: None, is_away: true },
    }
}

/// Says which servers are not in the list, where log messages are wanted.
async fn log_servers_away(
    context: &RequestContext,
    request: &Request,
    servers: &[ServerListing],
    stream: &ResponseStream,
) {
    let away: Vec<&str> = servers.iter().filter(|server| server.is_away).map(|server| &*server.server.name).collect();
    if away.is_empty() {
        return;
    }
    let is_wanted = match context.session() {
        Some(session) => context.state.sessions.level(session).is_some(),
        None => request.params.meta().contains_key(META_LEVEL),
    };
    tracing::debug!(away = away.len(), "servers are left out of a list");
    if is_wanted {
        let data = format!("Left out, because they cannot be reached now: {}.", away.join(", "));
        let params = json!({"level": "warning", "logger": "taskwarden", "data": data});
        drop(stream.notify("notifications/message", &params).await);
    }
}
