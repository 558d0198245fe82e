//! Lists of all servers as one, and one server's list as it is.
//!
//! Behind the door to one server a list goes through raw, page by page. On the door to all of them lists are merged: by
//! the servers' names, each in its own order, with prefixed names; a server that is away is left out and said so. Hints
//! about keeping a merged list are private and as short as the shortest (protocol.md §2.10). Reading and keeping lists is
//! `lists.rs`; what the gateway adds to one server's is `additions.rs`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::budget::{self, Tap};
use super::guest::Guest;
use super::lists::{self, List};
use super::names::{self, Named, named, prefixed, wrap_template, wrap_uri};
use super::reach::{Reach, declares, reach, reach_soon};
use super::route::ListKind;
use super::wire::{self, Written};
use super::{Gate, additions, forward, own_tools, service, slices};
use crate::upstream::Forwarding;
use crate::upstream::transport::link::Answer;
use crate::wire::raw_json::{member, text_member};
use crate::wire::rewrite::{Identity, MessagePart, json_text, meaning, rewrite, rewrite_raw};
use crate::server::rpc_error::RequestError;
use crate::server::{Request, ResponseStream};

/// Longest words of servers passed on with a greeting.
const INSTRUCTIONS_CHARS: usize = 8_000;
/// What a modern request says when it wants log messages.
const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What the servers behind a door say of themselves, as far as it can be relayed.
pub(super) struct Greeting {
    /// `capabilities` without anything about tasks.
    pub(super) capabilities: Map<String, Value>,
    /// Words for the agent.
    pub(super) instructions: Option<String>,
}

/// What the servers behind the agent's door have.
///
/// # Errors
/// When the one server cannot be reached.
pub(super) async fn greeting(gate: &Arc<Gate>, guest: &Guest) -> Result<Greeting, RequestError> {
    if let Some(server) = guest.server {
        let there = reach(gate, guest, server).await?;
        let capabilities = capabilities(guest, &there);
        return Ok(Greeting { capabilities, instructions: instructions(&there) });
    }
    let servers = named(gate.engine.servers());
    let wait = gate.policy.gateway.merge_wait;
    let reached = join_all(servers.iter().map(|server| reach_soon(gate, guest, server.id, wait))).await;
    let mut all = Map::new();
    for there in reached.iter().flatten() {
        for (name, said) in capabilities(guest, there) {
            join(all.entry(name).or_insert_with(|| json!({})), &said);
        }
    }
    // What no server of today has, one of tomorrow may.
    all.entry("tools").or_insert_with(|| json!({}));
    if let Some(tools) = all.get_mut("tools").and_then(Value::as_object_mut) {
        tools.insert("listChanged".to_owned(), true.into());
    }
    all.remove("experimental");
    let servers: Vec<&str> = servers.iter().map(|server| server.slug.as_str()).collect();
    let words = (!servers.is_empty()).then(|| {
        format!("Tools and prompts of several servers, named SERVER__NAME. The servers: {}.", servers.join(", "))
    });
    Ok(Greeting { capabilities: all, instructions: words })
}

/// What of a server's capabilities is relayed to this guest, in the words of its era.
fn capabilities(guest: &Guest, there: &Reach) -> Map<String, Value> {
    let said = member(there.forward.hello().get(), "capabilities");
    let mut said: Map<String, Value> = said.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    // Tasks are ours in both dialects, and of extensions no other is routed.
    said.remove("tasks");
    said.remove("extensions");
    if guest.is_modern() && !there.is_modern() {
        // A subscription of the older eras becomes one of this; log levels have no counterpart before a request.
        said.remove("experimental");
    }
    said
}

/// Both have it: members are joined, and what one of them has is true.
fn join(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    for (name, value) in from {
        match into.get_mut(name) {
            None => drop(into.insert(name.clone(), value.clone())),
            Some(Value::Bool(is)) => *is |= value == &Value::Bool(true),
            Some(_) => {}
        }
    }
}

fn instructions(there: &Reach) -> Option<String> {
    let words = text_member(there.forward.hello().get(), "instructions")?;
    Some(domain::policy::plain_text(&words, INSTRUCTIONS_CHARS)).filter(|words| !words.is_empty())
}

/// A list. Of tools and templates, ours follow on the last page.
///
/// # Errors
/// The server's own, raw, or a cursor that is none.
pub(super) async fn list(
    gate: &Arc<Gate>,
    guest: &Guest,
    kind: ListKind,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let Some(server) = guest.server else {
        return merged(gate, guest, kind, &request, seat, tap).await;
    };
    match kind {
        ListKind::Tools => additions::tools(gate, guest, server, request, seat, tap).await,
        ListKind::Prompts => forward::request(gate, guest, request, seat, tap).await,
        ListKind::Resources | ListKind::Templates => {
            additions::resources(gate, guest, server, kind, request, seat, tap).await
        }
    }
}

/// What one server adds to a merged list.
pub(super) struct Share {
    server: Named,
    list: Option<Arc<List>>,
    away: bool,
}

async fn merged(
    gate: &Arc<Gate>,
    guest: &Guest,
    kind: ListKind,
    request: &Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let from = match request.params.said("cursor") {
        Some(cursor) => {
            let read = meaning(cursor).and_then(|cursor| names::uncursor(&cursor));
            Some(read.ok_or_else(|| RequestError::params("`cursor` is none of ours"))?)
        }
        None => None,
    };
    let servers = named(gate.engine.servers());
    gate.lists.keep_only(&servers);
    let shares = join_all(servers.into_iter().map(|server| share(gate, guest, kind, server))).await;
    if from.is_none() {
        tell_who_is_away(gate, guest, request, &shares, seat).await;
    }
    let mut page = Page::empty(gate.policy.gateway.merged_page_bytes);
    let mut begun = from.is_none();
    for share in &shares {
        let at = match from {
            Some((server, at)) if server == share.server.id => {
                begun = true;
                at
            }
            Some(_) | None => 0,
        };
        let Some(list) = share.list.as_deref().filter(|_| begun) else { continue };
        page.add(gate, guest, share, kind, list, at);
        if page.next.is_some() {
            break;
        }
    }
    let is_last = page.next.is_none();
    match kind {
        ListKind::Tools => {
            let own = if is_last { own_tools::definitions(guest, &|_| false) } else { Vec::new() };
            let list = format!("[{}]", page.entries);
            tap.shows(budget::Page { list: &list, own: &own, is_first: from.is_none(), is_last }.passed());
            own.iter().for_each(|ours| page.push(ours.get()));
        }
        ListKind::Templates if is_last => page.push(service::result(&slices::template())?.get()),
        ListKind::Templates | ListKind::Prompts | ListKind::Resources => {}
    }
    let page = page.written(guest, kind, &shares)?;
    Ok(if kind == ListKind::Tools { additions::with_support(guest, page) } else { page })
}

async fn share(gate: &Gate, guest: &Guest, kind: ListKind, server: Named) -> Share {
    let wait = gate.policy.gateway.merge_wait;
    let Some(there) = reach_soon(gate, guest, server.id, wait).await else {
        return Share { server, list: None, away: true };
    };
    match tokio::time::timeout(wait, lists::list(gate, guest, &there, kind)).await {
        Ok(Ok(list)) => Share { server, list, away: false },
        Ok(Err(_)) | Err(_) => Share { server, list: None, away: true },
    }
}

/// One page of a merged list.
pub(super) struct Page {
    entries: String,
    most: usize,
    next: Option<String>,
}

impl Page {
    /// A page that nothing is on yet.
    pub(super) const fn empty(most: usize) -> Self {
        Self { entries: String::new(), most, next: None }
    }

    /// One more entry.
    pub(super) fn push(&mut self, entry: &str) {
        if !self.entries.is_empty() {
            self.entries.push(',');
        }
        self.entries.push_str(entry);
    }

    fn add(&mut self, gate: &Gate, guest: &Guest, share: &Share, kind: ListKind, list: &List, from: usize) {
        for (at, entry) in list.entries(kind).enumerate().skip(from) {
            if !self.entries.is_empty() && self.entries.len() + entry.len() > self.most {
                self.next = Some(names::cursor(share.server.id, at));
                return;
            }
            let told = entry_out(gate, &share.server, kind, entry);
            self.push(&if kind == ListKind::Tools { additions::without_schema(guest, &told) } else { told });
        }
    }

    /// The page as the answer to its request; `shares` are those whose hints about keeping it count.
    ///
    /// # Errors
    /// When an entry is no JSON.
    pub(super) fn written(self, guest: &Guest, kind: ListKind, shares: &[Share]) -> Result<Box<RawValue>, RequestError> {
        let mut written = Written::new();
        if guest.is_modern() {
            written.say("resultType", &"complete");
        }
        written.raw(kind.member(), &format!("[{}]", self.entries));
        if let Some(next) = &self.next {
            written.say("nextCursor", next);
        }
        if guest.is_modern() {
            let lists = shares.iter().filter_map(|share| share.list.as_deref());
            let fresh = lists.map(|list| list.fresh_for.unwrap_or_default()).min().unwrap_or_default();
            let fresh = if shares.iter().any(|share| share.away) { Duration::ZERO } else { fresh };
            written.say("ttlMs", &wire::millis(fresh));
            written.say("cacheScope", &"private");
            written.say("_meta", &json!({wire::META_SERVER: wire::server_info()}));
        }
        written.end()
    }
}

/// One entry with its identity as it is on the door to all servers. The table is the same as for whole lists.
fn entry_out<'e>(gate: &Gate, server: &Named, kind: ListKind, entry: &'e str) -> Cow<'e, str> {
    let exchange = |identity: Identity, there: &str| {
        let said = meaning(there)?;
        match identity {
            Identity::Tool | Identity::Prompt => Some(json_text(&prefixed(&server.slug, &said))),
            Identity::Uri => {
                let wrapped = gate.lists.is_elsewhere(server.id, &said).then(|| wrap_uri(&server.slug, &said))?;
                Some(json_text(&wrapped))
            }
            Identity::UriTemplate => {
                let wrapped = gate.lists.is_vague(server.id, &said).then(|| wrap_template(&server.slug, &said))?;
                Some(json_text(&wrapped))
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
    let whole = format!("{{\"{}\":[{entry}]}}", kind.member());
    match rewrite(MessagePart::Result(kind.method()), &whole, &exchange) {
        Cow::Borrowed(_) => Cow::Borrowed(entry),
        Cow::Owned(told) => {
            let entry = lists::entries(&told, kind).next().unwrap_or("{}").to_owned();
            Cow::Owned(entry)
        }
    }
}

/// Says which servers are not in the list, where log messages are wanted.
async fn tell_who_is_away(gate: &Gate, guest: &Guest, request: &Request, shares: &[Share], seat: &ResponseStream) {
    let away: Vec<&str> = shares.iter().filter(|share| share.away).map(|share| &*share.server.name).collect();
    if away.is_empty() {
        return;
    }
    let wants = match guest.session() {
        Some(session) => gate.standing.level(session).is_some(),
        None => request.params.meta().contains_key(META_LEVEL),
    };
    tracing::debug!(away = away.len(), "servers are left out of a list");
    if wants {
        let data = format!("Left out, because they cannot be reached now: {}.", away.join(", "));
        let said = json!({"level": "warning", "logger": "taskwarden", "data": data});
        drop(seat.notify("notifications/message", &said).await);
    }
}

/// `logging/setLevel`, to every server behind the door.
///
/// # Errors
/// The server's own, raw.
pub(super) async fn set_level(gate: &Arc<Gate>, guest: &Guest, request: Request) -> Result<Box<RawValue>, RequestError> {
    let level = request.params.text("level").ok_or_else(|| RequestError::params("`level` must be a text"))?;
    if let Some(session) = guest.session() {
        gate.standing.set_level(session, &level);
    }
    let wait = gate.policy.gateway.merge_wait;
    let servers = match guest.server {
        Some(server) => vec![server],
        None => gate.engine.servers().into_iter().map(|(server, _)| server).collect(),
    };
    let told = servers.into_iter().map(|server| {
        let params = request.params.raw().map(ToOwned::to_owned);
        async move {
            let there = reach_soon(gate, guest, server, wait).await?;
            // Modern servers hear the level with each request; others without logging have nothing to say.
            there.capability("logging").filter(|_| !there.is_modern())?;
            let forwarding = Forwarding {
                method: "logging/setLevel".to_owned(),
                params,
                declares: declares(guest),
                heard: None,
                wants_progress: false,
                limit: Some(gate.policy.reply_limit),
            };
            Some(there.forward.request(forwarding).await)
        }
    });
    for answer in join_all(told).await.into_iter().flatten() {
        match (guest.server, answer) {
            (Some(_), Ok(Answer::Result(raw))) => {
                let outward = |identity, _: &str| match identity {
                    Identity::Server => Some(wire::server_info().to_string()),
                    Identity::Task
                    | Identity::Related
                    | Identity::Progress
                    | Identity::Subscription
                    | Identity::Request
                    | Identity::Cursor
                    | Identity::Tool
                    | Identity::Prompt
                    | Identity::Uri
                    | Identity::UriTemplate => None,
                };
                return Ok(rewrite_raw(MessagePart::Result("logging/setLevel"), raw, &outward));
            }
            (Some(_), Ok(Answer::Error(raw))) => return Err(RequestError::raw(&raw)),
            (Some(_), Err(failed)) => return Err(forward::unreached(gate, failed)),
            (None, _) => {}
        }
    }
    service::result(&json!({}))
}
