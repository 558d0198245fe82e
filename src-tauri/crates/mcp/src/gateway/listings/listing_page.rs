//! One page of a list that the gateway writes: entries of one or many servers, and hints about keeping it.
//!
//! At the endpoint of all servers entries get their prefixed names here. Hints are private and as short as the shortest
//! of the servers' (protocol.md §2.10).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::meta::{META_SERVER, server_info};
use crate::gateway::conversion::modern_task;
use crate::gateway::conversion::raw_json::ObjectWriter;
use crate::gateway::listings::offered_pages::NamesSoFar;
use crate::gateway::listings::own_listings;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::listing_cache::Listing;
use crate::gateway::servers::names::{NamedServer, prefixed, wrap_template, wrap_uri};
use crate::gateway::servers::offered_names::OfferedNames;
use crate::gateway::servers::{listing_cache, names};
use crate::gateway::state::GatewayState;
use crate::server::rpc_error::RequestError;
use crate::wire::raw_json::text_member;
use crate::wire::rewrite::{Identity, RewrittenPart, json_text, meaning, rewrite};

/// What one server adds to a merged list.
pub(crate) struct ServerListing {
    pub(crate) server: NamedServer,
    /// `None` when the server has nothing of this kind, or is away.
    pub(crate) listing: Option<Arc<Listing>>,
    pub(crate) is_away: bool,
}

pub(crate) struct ListingPage {
    entries: String,
    most_bytes: usize,
    next_cursor: Option<String>,
}

impl ListingPage {
    pub(crate) const fn empty(most_bytes: usize) -> Self {
        Self { entries: String::new(), most_bytes, next_cursor: None }
    }

    /// The entries as a JSON list.
    pub(crate) fn list(&self) -> String {
        format!("[{}]", self.entries)
    }

    /// Whether the list ends with this page.
    pub(crate) const fn is_last(&self) -> bool {
        self.next_cursor.is_none()
    }

    pub(crate) fn push(&mut self, entry: &str) {
        if !self.entries.is_empty() {
            self.entries.push(',');
        }
        self.entries.push_str(entry);
    }

    /// Adds entries of a server from this one on, until the page is full. Tools that are not offered are left out.
    pub(crate) fn push_listing(&mut self, context: &RequestContext, of: &ServerListing, kind: ListKind, from: usize) {
        let Some(listing) = &of.listing else { return };
        let offered = OfferedNames::of(context, &of.server);
        let mut so_far = NamesSoFar::default();
        for (at, entry) in listing.entries(kind).enumerate() {
            // Also of earlier pages: their names are taken.
            let is_left_out = kind == ListKind::Tools && !is_offered(&offered, &mut so_far, entry);
            if is_left_out || at < from {
                continue;
            }
            if !self.entries.is_empty() && self.entries.len() + entry.len() > self.most_bytes {
                self.next_cursor = Some(names::cursor(of.server.id, at));
                return;
            }
            let entry = prefixed_entry(&context.state, &of.server, kind, entry);
            self.push(&if kind == ListKind::Tools { own_listings::without_schema(context, &entry) } else { entry });
        }
    }

    /// The page as the answer to its request; the hints of `servers` about keeping it count.
    ///
    /// # Errors
    /// When an entry is no JSON.
    pub(crate) fn finish(
        self,
        context: &RequestContext,
        kind: ListKind,
        servers: &[ServerListing],
    ) -> Result<Box<RawValue>, RequestError> {
        let mut written = ObjectWriter::new();
        if context.is_modern() {
            written.set("resultType", &"complete");
        }
        written.raw(kind.member(), &self.list());
        if let Some(next) = &self.next_cursor {
            written.set("nextCursor", next);
        }
        if context.is_modern() {
            let listings = servers.iter().filter_map(|server| server.listing.as_deref());
            let fresh = listings.map(|listing| listing.fresh_for.unwrap_or_default()).min().unwrap_or_default();
            let fresh = if servers.iter().any(|server| server.is_away) { Duration::ZERO } else { fresh };
            written.set("ttlMs", &modern_task::millis(fresh));
            written.set("cacheScope", &"private");
            written.set("_meta", &json!({META_SERVER: server_info()}));
        }
        written.finish()
    }
}

/// Whether a listed tool is offered, and is the first under its name.
fn is_offered(offered: &OfferedNames, so_far: &mut NamesSoFar, tool: &str) -> bool {
    let name = text_member(tool, ListKind::Tools.identity());
    name.is_some_and(|name| offered.name(&name).is_some_and(|name| so_far.add(&name)))
}

/// One entry with its identity at the endpoint of all servers, by the same table as whole lists.
fn prefixed_entry<'e>(state: &GatewayState, server: &NamedServer, kind: ListKind, entry: &'e str) -> Cow<'e, str> {
    let exchange = |identity: Identity, said: &str| {
        let said = meaning(said)?;
        match identity {
            Identity::Tool | Identity::Prompt => Some(json_text(&prefixed(&server.slug, &said))),
            Identity::Uri => {
                let is_ambiguous = state.listings.is_listed_elsewhere(server.id, &said);
                is_ambiguous.then(|| json_text(&wrap_uri(&server.slug, &said)))
            }
            Identity::UriTemplate => {
                let is_ambiguous = state.listings.is_ambiguous(server.id, &said);
                is_ambiguous.then(|| json_text(&wrap_template(&server.slug, &said)))
            }
            Identity::Task
            | Identity::Related
            | Identity::Progress
            | Identity::Subscription
            | Identity::Request
            | Identity::Cursor
            | Identity::Server => None,
        }
    };
    let page = format!("{{\"{}\":[{entry}]}}", kind.member());
    match rewrite(RewrittenPart::Result(kind.method()), &page, &exchange) {
        Cow::Borrowed(_) => Cow::Borrowed(entry),
        Cow::Owned(page) => Cow::Owned(listing_cache::entries(&page, kind).next().unwrap_or("{}").to_owned()),
    }
}
