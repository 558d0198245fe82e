//! What servers listed, kept until they notify of a change.
//!
//! A listing is kept only while its server would notify of a change, or for the time that the server names; its names are
//! remembered either way. Kept by connection: an older server may show each agent something else. Reading is `listing.rs`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::ids::{AgentId, ConnectionId, ServerId};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::GatewayConnection;
use crate::gateway::servers::names::NamedServer;
use crate::upstream::{ANNOTATION, Broadcast, BroadcastReceiver, SubscriptionFilter, SubscriptionLease};
use crate::wire::raw_json::{JsonMembers, member, text_member};

/// One list of one server, as it came.
pub(crate) struct Listing {
    /// The results, page by page.
    pub(crate) pages: Vec<Box<RawValue>>,
    /// For how long the server says that it may be kept.
    pub(crate) fresh_for: Option<Duration>,
    pub(crate) read_at: Instant,
}

impl Listing {
    /// The entries, each as it came.
    pub(crate) fn entries(&self, kind: ListKind) -> impl Iterator<Item = &str> {
        self.pages.iter().flat_map(move |page| entries(page.get(), kind))
    }

    /// Bytes of its pages together.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.get().len()).sum()
    }

    /// The names or URIs of the entries.
    pub(crate) fn identities(&self, kind: ListKind) -> impl Iterator<Item = Cow<'_, str>> {
        self.entries(kind).filter_map(move |entry| text_member(entry, kind.identity()))
    }

    fn is_fresh(&self) -> bool {
        self.fresh_for.is_some_and(|span| self.read_at.elapsed() < span)
    }
}

/// The entries of one page.
pub(crate) fn entries(page: &str, kind: ListKind) -> impl Iterator<Item = &str> {
    let list = member(page, kind.member()).unwrap_or("[]");
    JsonMembers::of(list).into_iter().flatten().filter_map(move |part| list.get(part.value))
}

/// Whether a URI may come of this template: it begins as the template does before its first expression.
pub(crate) fn may_expand_to(template: &str, uri: &str) -> bool {
    let before = template.split('{').next().unwrap_or_default();
    !before.is_empty() && uri.starts_with(before)
}

#[derive(Default)]
pub(crate) struct ListingCache {
    connections: Mutex<HashMap<(ServerId, Option<AgentId>), ConnectionListings>>,
    /// The newest definitions of tools, by name.
    tools: Mutex<HashMap<ServerId, HashMap<String, Arc<str>>>>,
    /// Whether any tool of any server mirrors parameters into headers, in this run.
    has_param_headers: AtomicBool,
    uris: Mutex<HashMap<ServerId, BTreeSet<String>>>,
    templates: Mutex<HashMap<ServerId, BTreeSet<String>>>,
}

/// What was listed on one connection.
struct ConnectionListings {
    connection: ConnectionId,
    hearing: BroadcastReceiver,
    /// Makes a modern server notify of changes.
    listening: SubscriptionLease,
    /// The lists whose changes the server notifies of.
    notified: SubscriptionFilter,
    kept: HashMap<ListKind, Arc<Listing>>,
}

impl ConnectionListings {
    fn of(connection: &GatewayConnection) -> Self {
        let notified = connection.notified_lists();
        let hearing = connection.forward.unsolicited();
        let listening = connection.forward.listen(notified.clone());
        Self { connection: connection.id(), hearing, listening, notified, kept: HashMap::new() }
    }

    /// Drops the listings that have changed. Returns whether none has.
    fn drop_changed(&mut self) -> bool {
        let mut is_unchanged = true;
        while let Some(said) = self.hearing.now() {
            is_unchanged &= matches!(&said, Broadcast::Said { method, .. } if !method.ends_with("/list_changed"));
            match said {
                Broadcast::Said { method, .. } => match &*method {
                    "notifications/tools/list_changed" => drop(self.kept.remove(&ListKind::Tools)),
                    "notifications/prompts/list_changed" => drop(self.kept.remove(&ListKind::Prompts)),
                    "notifications/resources/list_changed" => {
                        self.kept.remove(&ListKind::Resources);
                        self.kept.remove(&ListKind::Templates);
                    }
                    _ => {}
                },
                Broadcast::Missed => self.kept.clear(),
                Broadcast::Over => {
                    self.kept.clear();
                    break;
                }
            }
        }
        is_unchanged
    }

    /// Whether the server would notify of a change of this list.
    fn is_notified(&self, kind: ListKind) -> bool {
        let accepted = self.listening.accepted_by_now().unwrap_or_default();
        let has = |filter: &SubscriptionFilter| match kind {
            ListKind::Tools => filter.tools,
            ListKind::Prompts => filter.prompts,
            ListKind::Resources | ListKind::Templates => filter.resources,
        };
        has(&self.notified) && has(&accepted)
    }
}

impl ListingCache {
    /// The listing as it was last read on this connection, unless it may have changed. Forgets connections that are not
    /// open any more.
    pub(crate) fn get(
        &self,
        connection: &GatewayConnection,
        kind: ListKind,
        is_open: impl Fn(ConnectionId) -> bool,
    ) -> Option<Arc<Listing>> {
        let mut connections = self.connections.lock();
        connections.retain(|_, known| is_open(known.connection));
        let key = (connection.server, connection.own_agent());
        let known = connections.entry(key).or_insert_with(|| ConnectionListings::of(connection));
        if known.connection != connection.id() {
            *known = ConnectionListings::of(connection);
        }
        known.drop_changed();
        let is_notified = known.is_notified(kind);
        known.kept.get(&kind).filter(|listing| is_notified || listing.is_fresh()).cloned()
    }

    /// Keeps a listing that was read on this connection, unless the list changed meanwhile.
    pub(crate) fn put(&self, connection: &GatewayConnection, kind: ListKind, listing: Listing) -> Arc<Listing> {
        let listing = Arc::new(listing);
        let mut connections = self.connections.lock();
        let known = connections.get_mut(&(connection.server, connection.own_agent()));
        if let Some(known) = known.filter(|known| known.connection == connection.id())
            && known.drop_changed()
            && (known.is_notified(kind) || listing.is_fresh())
        {
            known.kept.insert(kind, Arc::clone(&listing));
        }
        listing
    }

    /// Remembers the names of a listing. Takes long where it is long.
    pub(crate) fn remember(&self, server: ServerId, kind: ListKind, listing: &Listing) {
        let identities = || listing.identities(kind).map(Cow::into_owned).collect();
        match kind {
            ListKind::Tools => {
                let mut tools: HashMap<String, Arc<str>> = HashMap::new();
                for tool in listing.entries(kind) {
                    if let Some(name) = text_member(tool, "name") {
                        // Of several with one name agents are offered the first.
                        tools.entry(name.into_owned()).or_insert_with(|| Arc::from(tool));
                    }
                }
                self.tools.lock().insert(server, tools);
                if listing.pages.iter().any(|page| page.get().contains(ANNOTATION)) {
                    self.has_param_headers.store(true, Ordering::Release);
                }
            }
            ListKind::Resources => drop(self.uris.lock().insert(server, identities())),
            ListKind::Templates => drop(self.templates.lock().insert(server, identities())),
            ListKind::Prompts => {}
        }
    }

    /// Remembers the tools of a page that was passed through.
    pub(crate) fn remember_tools(&self, server: ServerId, page: &str, is_first: bool, most: usize) {
        let mut tools = self.tools.lock();
        let known = tools.entry(server).or_default();
        if is_first {
            known.clear();
        }
        for tool in entries(page, ListKind::Tools) {
            if known.len() >= most {
                return;
            }
            if tool.contains(ANNOTATION) {
                self.has_param_headers.store(true, Ordering::Release);
            }
            if let Some(name) = text_member(tool, "name") {
                known.entry(name.into_owned()).or_insert_with(|| Arc::from(tool));
            }
        }
    }

    /// The definition of a tool that mirrors parameters into headers, as it was listed last. Few servers have such
    /// tools: where none does, nothing is looked up.
    pub(crate) fn tool_with_param_headers(&self, server: ServerId, name: &str) -> Option<Arc<str>> {
        let may_be = self.has_param_headers.load(Ordering::Acquire);
        may_be.then(|| self.tool(server, name)).flatten().filter(|tool| tool.contains(ANNOTATION))
    }

    /// The definition of a tool as it was listed last.
    pub(crate) fn tool(&self, server: ServerId, name: &str) -> Option<Arc<str>> {
        self.tools.lock().get(&server)?.get(name).cloned()
    }

    /// Forgets the names of all other servers.
    pub(crate) fn keep_only(&self, servers: &[NamedServer]) {
        let is_here = |server: &ServerId| servers.iter().any(|named| named.id == *server);
        self.tools.lock().retain(|server, _| is_here(server));
        self.uris.lock().retain(|server, _| is_here(server));
        self.templates.lock().retain(|server, _| is_here(server));
    }

    /// Whether another server lists this URI, too.
    pub(crate) fn is_listed_elsewhere(&self, server: ServerId, uri: &str) -> bool {
        self.uris.lock().iter().any(|(other, listed)| *other != server && listed.contains(uri))
    }

    /// Whether a URI of this template could also come of another server's.
    pub(crate) fn is_ambiguous(&self, server: ServerId, template: &str) -> bool {
        let before = template.split('{').next().unwrap_or_default();
        let templates = self.templates.lock();
        let mut others = templates.iter().filter(|(other, _)| **other != server).flat_map(|(_, listed)| listed);
        before.is_empty() || others.any(|other| may_expand_to(other, before) || other.starts_with(before))
    }

    /// The server that lists this URI, if no other does.
    pub(crate) fn only_server_with(&self, uri: &str) -> Option<ServerId> {
        let uris = self.uris.lock();
        let mut listing = uris.iter().filter(|(_, listed)| listed.contains(uri)).map(|(server, _)| *server);
        listing.next().filter(|_| listing.next().is_none())
    }
}
