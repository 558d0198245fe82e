//! The server that a tool, prompt or resource belongs to, by the name that an agent uses for it.
//!
//! At the endpoint of one server that is the server itself. At the endpoint of all servers the name says it; only for
//! shortened names and plain URIs are the servers' listings read. Nothing is called here.

use std::borrow::Cow;
use std::sync::Arc;

use domain::ids::ServerId;
use futures::future::join_all;

use crate::gateway::conversion::result_uri;
use crate::gateway::model_text::access;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::{capability_of, connect, connect_in_time};
use crate::gateway::servers::listing_cache::may_expand_to;
use crate::gateway::servers::names::{NamedServer, TargetTool};
use crate::gateway::servers::offered_names::OfferedNames;
use crate::gateway::servers::{listing, names, offered_names};
use crate::gateway::state::GatewayState;
use crate::server::rpc_error::RequestError;

/// Finds the tool that an agent names.
///
/// # Errors
/// When there is none of this name.
pub(crate) async fn tool(context: &RequestContext, name: &str) -> Result<TargetTool, RequestError> {
    let unknown = || RequestError::params(access::unknown_tool(name));
    if !offered_names::may_be_of_server(context, name) {
        return Err(unknown());
    }
    match by_name(context, name) {
        ByName::Named(server, tool) if offered_names::may_be_renamed(context, name) => {
            let tool = Box::pin(renamed_tool(context, server, name)).await.map_or_else(|| Arc::from(tool), Arc::from);
            Ok(TargetTool { server, tool })
        }
        // A prefix alone.
        ByName::Named(_, "") => Err(unknown()),
        ByName::Named(server, tool) => Ok(TargetTool { server, tool: context.meter.tool(tool) }),
        ByName::Shortened(server) => {
            let (server, tool) = Box::pin(by_listing(context, ListKind::Tools, &server, name)).await;
            Ok(TargetTool { server, tool: Arc::from(tool) })
        }
        ByName::Unknown => Err(unknown()),
    }
}

/// The tool behind a name with a prefix at the endpoint of one server; `None` where the server's own name is meant. A
/// server may list both, and the first of them is offered. If it is away, it is asked for the one that we renamed.
async fn renamed_tool(context: &RequestContext, server: ServerId, name: &str) -> Option<String> {
    let offered = OfferedNames::of_server(context, server)?;
    let renamed = offered.renamed(name)?;
    let listed = listed_names(context, server, ListKind::Tools).await.unwrap_or_default();
    let found = offered.find(listed.into_iter().map(Cow::Owned), name);
    Some(found.map_or_else(|| renamed.to_owned(), Cow::into_owned))
}

/// Finds the prompt that an agent names: its server, and its name there.
///
/// # Errors
/// When there is none of this name.
pub(crate) async fn prompt(context: &RequestContext, name: &str) -> Result<(ServerId, String), RequestError> {
    match by_name(context, name) {
        ByName::Named(server, prompt) => Ok((server, prompt.to_owned())),
        ByName::Shortened(server) => Ok(by_listing(context, ListKind::Prompts, &server, name).await),
        ByName::Unknown => Err(RequestError::params(access::unknown_prompt(name))),
    }
}

/// What a name says by itself.
enum ByName<'n> {
    /// The server, and the name there.
    Named(ServerId, &'n str),
    /// A server's name that may have been shortened.
    Shortened(NamedServer),
    Unknown,
}

fn by_name<'n>(context: &RequestContext, name: &'n str) -> ByName<'n> {
    if let Some(server) = context.server {
        return ByName::Named(server, name);
    }
    let Some((slug, rest)) = names::split(name) else { return ByName::Unknown };
    let servers = context.state.named_servers();
    match servers.iter().find(|server| server.slug == slug) {
        Some(server) if names::may_be_shortened(name) => ByName::Shortened(server.clone()),
        Some(server) => ByName::Named(server.id, rest),
        None => ByName::Unknown,
    }
}

/// The whole of a shortened name, which only the server's listing has. If the server is away, the rest goes to it as it
/// is.
async fn by_listing(context: &RequestContext, kind: ListKind, server: &NamedServer, name: &str) -> (ServerId, String) {
    let listed = listed_names(context, server.id, kind).await.unwrap_or_default();
    let whole = match kind {
        ListKind::Tools => {
            let offered = OfferedNames::of(context, server);
            offered.find(listed.into_iter().map(Cow::Owned), name).map(Cow::into_owned)
        }
        ListKind::Prompts | ListKind::Resources | ListKind::Templates => {
            listed.into_iter().find(|whole| names::prefixed(&server.slug, whole) == name)
        }
    };
    let rest = || names::split(name).map_or_else(String::new, |(_, rest)| rest.to_owned());
    (server.id, whole.unwrap_or_else(rest))
}

async fn listed_names(context: &RequestContext, server: ServerId, kind: ListKind) -> Option<Vec<String>> {
    let connection = connect(context, server).await.ok()?;
    let listing = listing::get(context, &connection, kind).await.ok()??;
    Some(listing.identities(kind).map(Cow::into_owned).collect())
}

/// Finds the resource that an agent names at the endpoint of all servers: its server, and its URI there.
///
/// # Errors
/// When no server, or more than one, may have it.
pub(crate) async fn resource(context: &RequestContext, uri: &str) -> Result<(ServerId, String), RequestError> {
    if result_uri::is_result(uri) {
        // No server has it, and none is told of it.
        return Err(unknown_resource());
    }
    let servers = context.state.named_servers();
    if let Some((slug, plain)) = names::unwrap_uri(uri) {
        let server = servers.iter().find(|server| server.slug == slug);
        return server.map(|server| (server.id, plain)).ok_or_else(unknown_resource);
    }
    if let Some(only) = context.state.listings.only_server_with(uri) {
        return Ok((only, uri.to_owned()));
    }
    let candidates = servers.iter().map(|server| async move {
        let connection = connect_in_time(context, server.id).await?;
        connection.capability(capability_of(ListKind::Resources))?;
        let has = async |kind, fits: &(dyn Fn(&str) -> bool + Sync)| {
            let listing = listing::get(context, &connection, kind).await.ok().flatten();
            listing.is_some_and(|listing| listing.identities(kind).any(|identity| fits(&identity)))
        };
        let is_listed = has(ListKind::Resources, &|listed| listed == uri).await;
        let fits_template = has(ListKind::Templates, &|template| may_expand_to(template, uri)).await;
        Some(Candidate { server: server.id, is_listed, fits_template })
    });
    let candidates: Vec<_> = join_all(candidates).await.into_iter().flatten().collect();
    // The only server that lists it, else the only one with a fitting template, else the only one with resources.
    let only = |fits: fn(&Candidate) -> bool| {
        let mut found = candidates.iter().filter(|candidate| fits(candidate));
        found.next().filter(|_| found.next().is_none()).map(|candidate| candidate.server)
    };
    let server = only(|candidate| candidate.is_listed)
        .or_else(|| only(|candidate| candidate.fits_template))
        .or_else(|| only(|_| true));
    server.map(|server| (server, uri.to_owned())).ok_or_else(unknown_resource)
}

/// A server that has resources, and may have the one that is looked for.
struct Candidate {
    server: ServerId,
    is_listed: bool,
    fits_template: bool,
}

/// What a server's URI is called at the endpoint of all servers; `None` when it stays as it is, because no other server
/// lists it.
pub(crate) fn uri_for_agent(state: &GatewayState, server: ServerId, uri: &str) -> Option<String> {
    if state.listings.only_server_with(uri) == Some(server) {
        return None;
    }
    let servers = state.named_servers();
    let server = servers.iter().find(|named| named.id == server)?;
    Some(names::wrap_uri(&server.slug, uri))
}

/// The one answer for resources that are not there.
pub(crate) fn unknown_resource() -> RequestError {
    RequestError::params("there is no resource of this URI")
}
