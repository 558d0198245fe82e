//! What servers listed, kept until they say that it changed.
//!
//! For the door to all servers, where every list is made of many, and for finding the server behind a shortened name or a
//! URI. A list is kept only while its server would tell of a change, or for the time that it names itself; kept or not,
//! what was listed last stays known for names. Whose connection a list was read on matters: a legacy server may show each
//! agent something else. Bounded in pages and bytes like the engine's own reading of tools.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, ConnectionId, ServerId};
use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::forward::unreached;
use super::guest::Guest;
use super::names::{Named, named, unwrap_uri, wrap_uri};
use super::reach::{Reach, declares, family, reach, reach_soon};
use super::route::ListKind;
use super::{Gate, slices};
use crate::upstream::{Broadcast, BroadcastReceiver, Forwarding, SubscriptionFilter, SubscriptionLease};
use crate::upstream::transport::link::Answer;
use crate::wire::raw_json::{JsonMembers, member, text_member};
use crate::wire::rewrite::json_text;
use crate::server::rpc_error::RequestError;

/// `-32601` of a server that does not have what it is asked for.
const NO_METHOD: &str = "-32601";

/// One list of one server, as it came.
pub(super) struct List {
    /// The results, page by page.
    pub(super) pages: Vec<Box<RawValue>>,
    /// For how long the server says that it may be kept.
    pub(super) fresh_for: Option<Duration>,
    read: Instant,
}

impl List {
    /// The entries, each as it came.
    pub(super) fn entries(&self, kind: ListKind) -> impl Iterator<Item = &str> {
        self.pages.iter().flat_map(move |page| entries(page.get(), kind))
    }

    fn is_fresh(&self) -> bool {
        self.fresh_for.is_some_and(|span| self.read.elapsed() < span)
    }
}

/// The entries of one page.
pub(super) fn entries(page: &str, kind: ListKind) -> impl Iterator<Item = &str> {
    let list = member(page, kind.member()).unwrap_or("[]");
    JsonMembers::of(list).into_iter().flatten().filter_map(move |part| list.get(part.value))
}

/// The member of an entry that is its identity.
pub(super) const fn identity(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::Templates => "uriTemplate",
    }
}

/// All lists.
#[derive(Default)]
pub(crate) struct Lists {
    lines: Mutex<HashMap<(ServerId, Option<AgentId>), Line>>,
    tools: Mutex<HashMap<ServerId, HashMap<String, Arc<str>>>>,
    uris: Mutex<HashMap<ServerId, BTreeSet<String>>>,
    templates: Mutex<HashMap<ServerId, BTreeSet<String>>>,
}

/// What was listed on one connection.
struct Line {
    connection: ConnectionId,
    hearing: BroadcastReceiver,
    /// Keeps a modern server telling of changes.
    listening: SubscriptionLease,
    /// Which lists the server tells changes of.
    tells: SubscriptionFilter,
    kept: HashMap<ListKind, Arc<List>>,
}

impl Line {
    fn of(there: &Reach) -> Self {
        let tells = SubscriptionFilter {
            tools: there.has("tools", "listChanged"),
            prompts: there.has("prompts", "listChanged"),
            resources: there.has("resources", "listChanged"),
            uris: BTreeSet::new(),
        };
        let hearing = there.forward.unsolicited();
        let listening = there.forward.listen(tells.clone());
        Self { connection: there.connection(), hearing, listening, tells, kept: HashMap::new() }
    }

    /// Drops what changed since.
    fn hear(&mut self) {
        while let Some(said) = self.hearing.now() {
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
                    return;
                }
            }
        }
    }

    fn tells_of(&self, kind: ListKind) -> bool {
        let accepted = self.listening.accepted_by_now().unwrap_or_default();
        let told = |filter: &SubscriptionFilter| match kind {
            ListKind::Tools => filter.tools,
            ListKind::Prompts => filter.prompts,
            ListKind::Resources | ListKind::Templates => filter.resources,
        };
        told(&self.tells) && told(&accepted)
    }
}

/// A server's list, kept or read now; `None` when it has nothing of this kind.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(super) async fn list(
    gate: &Gate,
    guest: &Guest,
    there: &Reach,
    kind: ListKind,
) -> Result<Option<Arc<List>>, RequestError> {
    if !there.may_list(kind) {
        return Ok(None);
    }
    let key = (there.server, there.seat());
    {
        let mut lines = gate.lists.lines.lock();
        lines.retain(|_, line| gate.forwarder.connection(line.connection).is_some());
        let line = lines.entry(key).or_insert_with(|| Line::of(there));
        if line.connection != there.connection() {
            *line = Line::of(there);
        }
        line.hear();
        let tells = line.tells_of(kind);
        if let Some(list) = line.kept.get(&kind).filter(|list| tells || list.is_fresh()) {
            return Ok(Some(Arc::clone(list)));
        }
    }
    let Some(list) = read(gate, guest, there, kind).await? else { return Ok(None) };
    gate.lists.note(there.server, kind, &list);
    let list = Arc::new(list);
    let mut lines = gate.lists.lines.lock();
    if let Some(line) = lines.get_mut(&key).filter(|line| line.connection == there.connection()) {
        // A change that was told while it was read leaves it in doubt: it is used now and not kept.
        let before = line.hearing_is_quiet();
        if before && (line.tells_of(kind) || list.is_fresh()) {
            line.kept.insert(kind, Arc::clone(&list));
        }
    }
    Ok(Some(list))
}

impl Line {
    /// Whether nothing was said since it was last heard.
    fn hearing_is_quiet(&mut self) -> bool {
        let Some(said) = self.hearing.now() else { return true };
        // Whatever it was, it is heard now.
        self.hear();
        match said {
            Broadcast::Said { method, .. } if !method.ends_with("/list_changed") => true,
            Broadcast::Said { .. } | Broadcast::Missed | Broadcast::Over => {
                self.kept.clear();
                false
            }
        }
    }
}

async fn read(gate: &Gate, guest: &Guest, there: &Reach, kind: ListKind) -> Result<Option<List>, RequestError> {
    let mut list = List { pages: Vec::new(), fresh_for: None, read: Instant::now() };
    let (mut bytes, mut cursor) = (0_usize, None::<String>);
    for _ in 0..gate.policy.list_pages_max {
        let params = cursor.as_ref().map(|cursor| format!("{{\"cursor\":{}}}", json_text(cursor)));
        let forwarding = Forwarding {
            method: kind.method().to_owned(),
            params: params.and_then(|params| RawValue::from_string(params).ok()),
            declares: declares(guest),
            heard: None,
            wants_progress: false,
            limit: Some(gate.policy.reply_limit),
        };
        let answer = there.forward.request(forwarding).await.map_err(|failed| unreached(gate, failed))?;
        let page = match answer {
            Answer::Result(page) => page,
            Answer::Error(raw) if member(raw.get(), "code") == Some(NO_METHOD) && list.pages.is_empty() => {
                return Ok(None);
            }
            Answer::Error(raw) => return Err(RequestError::raw(&raw)),
        };
        let fresh = member(page.get(), "ttlMs").and_then(|span| span.parse::<f64>().ok());
        let fresh = fresh.and_then(|span| Duration::try_from_secs_f64(span / 1_000.0).ok());
        list.fresh_for = if list.pages.is_empty() { fresh } else { list.fresh_for.min(fresh) };
        bytes = bytes.saturating_add(page.get().len());
        let next = text_member(page.get(), "nextCursor").map(std::borrow::Cow::into_owned);
        let next = next.filter(|next| !next.is_empty());
        list.pages.push(page);
        if next.is_none() || next == cursor || bytes > gate.policy.message_cap_bytes {
            break;
        }
        cursor = next;
    }
    Ok(Some(list))
}

impl Lists {
    /// Remembers names and definitions of what was listed last.
    fn note(&self, server: ServerId, kind: ListKind, list: &List) {
        let named = |entry: &str| text_member(entry, identity(kind)).map(std::borrow::Cow::into_owned);
        match kind {
            ListKind::Tools => {
                let tools = list.entries(kind).filter_map(|entry| Some((named(entry)?, Arc::from(entry))));
                self.tools.lock().insert(server, tools.collect());
            }
            ListKind::Resources => {
                self.uris.lock().insert(server, list.entries(kind).filter_map(named).collect());
            }
            ListKind::Templates => {
                self.templates.lock().insert(server, list.entries(kind).filter_map(named).collect());
            }
            ListKind::Prompts => {}
        }
    }

    /// Remembers the tools of one page that went through as it was.
    pub(super) fn note_tools(&self, server: ServerId, page: &str, is_first: bool, most: usize) {
        let mut tools = self.tools.lock();
        let known = tools.entry(server).or_default();
        if is_first {
            known.clear();
        }
        for entry in entries(page, ListKind::Tools) {
            if known.len() >= most {
                return;
            }
            if let Some(name) = text_member(entry, "name") {
                known.insert(name.into_owned(), Arc::from(entry));
            }
        }
    }

    /// The definition of a tool as it was listed last.
    pub(super) fn tool(&self, server: ServerId, name: &str) -> Option<Arc<str>> {
        self.tools.lock().get(&server)?.get(name).cloned()
    }

    /// What a URI of a server is on the door to all servers; `None` when it stays as it is, because this server alone
    /// lists it.
    pub(super) fn uri_out(&self, gate: &Gate, server: ServerId, uri: &str) -> Option<String> {
        {
            let uris = self.uris.lock();
            let mut lists = uris.iter().filter(|(_, listed)| listed.contains(uri)).map(|(server, _)| *server);
            if lists.next() == Some(server) && lists.next().is_none() {
                return None;
            }
        }
        let servers = named(gate.engine.servers());
        let server = servers.into_iter().find(|other| other.id == server)?;
        Some(wrap_uri(&server.slug, uri))
    }
}

/// The names of what a server lists.
pub(super) async fn names(gate: &Gate, guest: &Guest, server: &Named, kind: ListKind) -> Option<Vec<String>> {
    let there = reach(gate, guest, server.id).await.ok()?;
    let list = list(gate, guest, &there, kind).await.ok()??;
    let names = list.entries(kind).filter_map(|entry| text_member(entry, identity(kind)));
    Some(names.map(std::borrow::Cow::into_owned).collect())
}

/// The server of a resource that an agent names on the door to all servers, and its URI there.
///
/// # Errors
/// When no server, or more than one, may have it.
pub(super) async fn resource(gate: &Gate, guest: &Guest, uri: &str) -> Result<(ServerId, String), RequestError> {
    if slices::is_result(uri) {
        // No server has it, and none hears of it.
        return Err(unknown_resource());
    }
    let servers = named(gate.engine.servers());
    if let Some((slug, plain)) = unwrap_uri(uri) {
        let server = servers.iter().find(|server| server.slug == slug);
        return server.map(|server| (server.id, plain)).ok_or_else(unknown_resource);
    }
    if let Some(only) = gate.lists.only_with(uri) {
        return Ok((only, uri.to_owned()));
    }
    let wait = gate.policy.gateway.merge_wait;
    let asked = servers.iter().map(|server| async move {
        let there = reach_soon(gate, guest, server.id, wait).await?;
        there.capability(family(ListKind::Resources))?;
        let listed = list(gate, guest, &there, ListKind::Resources).await.ok().flatten();
        let listed = listed.is_some_and(|list| has(&list, ListKind::Resources, |listed| listed == uri));
        let templates = list(gate, guest, &there, ListKind::Templates).await.ok().flatten();
        let fits = templates.is_some_and(|list| has(&list, ListKind::Templates, |template| may_be(template, uri)));
        Some((server.id, listed, fits))
    });
    let asked: Vec<_> = join_all(asked).await.into_iter().flatten().collect();
    let pick = |which: &dyn Fn(&(ServerId, bool, bool)) -> bool| {
        let mut found = asked.iter().filter(|one| which(one));
        found.next().filter(|_| found.next().is_none()).map(|(server, ..)| *server)
    };
    let found = pick(&|(_, listed, _)| *listed).or_else(|| pick(&|(_, _, fits)| *fits)).or_else(|| pick(&|_| true));
    found.map(|server| (server, uri.to_owned())).ok_or_else(unknown_resource)
}

impl Lists {
    /// Forgets servers that are not there any more.
    pub(super) fn keep_only(&self, servers: &[Named]) {
        let is_here = |server: &ServerId| servers.iter().any(|named| named.id == *server);
        self.tools.lock().retain(|server, _| is_here(server));
        self.uris.lock().retain(|server, _| is_here(server));
        self.templates.lock().retain(|server, _| is_here(server));
    }

    /// Whether another server lists this URI, too.
    pub(super) fn is_elsewhere(&self, server: ServerId, uri: &str) -> bool {
        self.uris.lock().iter().any(|(other, listed)| *other != server && listed.contains(uri))
    }

    /// Whether what comes of this template could not be told from another server's.
    pub(super) fn is_vague(&self, server: ServerId, template: &str) -> bool {
        let before = template.split('{').next().unwrap_or_default();
        let templates = self.templates.lock();
        let mut others = templates.iter().filter(|(other, _)| **other != server).flat_map(|(_, listed)| listed);
        before.is_empty() || others.any(|other| may_be(other, before) || other.starts_with(before))
    }

    fn only_with(&self, uri: &str) -> Option<ServerId> {
        let uris = self.uris.lock();
        let mut lists = uris.iter().filter(|(_, listed)| listed.contains(uri)).map(|(server, _)| *server);
        lists.next().filter(|_| lists.next().is_none())
    }
}

fn has(list: &List, kind: ListKind, fits: impl Fn(&str) -> bool) -> bool {
    list.entries(kind).filter_map(|entry| text_member(entry, identity(kind))).any(|listed| fits(&listed))
}

/// Whether a URI may come of this template: it begins as the template does before its first expression.
fn may_be(template: &str, uri: &str) -> bool {
    let before = template.split('{').next().unwrap_or_default();
    !before.is_empty() && uri.starts_with(before)
}

/// The one answer for resources that are not there.
pub(super) fn unknown_resource() -> RequestError {
    RequestError::params("there is no resource of this URI")
}
