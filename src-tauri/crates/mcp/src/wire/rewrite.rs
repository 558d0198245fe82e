//! The one table of ids in messages, and how they are exchanged between agent and server (protocol.md §7.2).
//!
//! Ids of tasks and requests, tokens, cursors, names and URIs are exchanged; everything else stays byte for byte, free
//! text above all. An exchange and its inverse undo each other. The table keeps no mapping: the gateway does. Headers
//! that mirror ids are made from the rewritten params.

use std::borrow::Cow;

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use crate::wire::raw_json::{JsonCursor, JsonEdit, MalformedJson, splice};

/// The kind of an id in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A task id: a text.
    Task,
    /// The id of the task that a message is about, in its `_meta`: a text.
    Related,
    /// A progress token: text or number.
    Progress,
    /// The id of a `subscriptions/listen` request: text or number.
    Subscription,
    /// The id of a request that is cancelled: text or number.
    Request,
    /// The cursor of the next page: a string.
    Cursor,
    /// The name of a tool: a text.
    Tool,
    /// The name of a prompt: a text.
    Prompt,
    /// The URI of a resource: a text.
    Uri,
    /// The template of resource URIs: a text.
    UriTemplate,
    /// Who answered: an object.
    Server,
}

impl Identity {
    /// Parts of the names beside which ids of this kind stand: each such name holds one of them.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Task | Self::Related => &["taskId"],
            Self::Progress => &["progressToken"],
            Self::Subscription => &["subscriptionId"],
            Self::Request => &["requestId"],
            Self::Cursor => &["cursor", "nextCursor"],
            Self::Tool | Self::Prompt => &["name"],
            Self::Uri => &["uri", "resourceSubscriptions"],
            Self::UriTemplate => &["uri"],
            Self::Server => &["serverInfo"],
        }
    }
}

/// Replaces an id: JSON text for the JSON text that is there, `None` to leave it.
pub trait IdExchange {
    /// The other side's spelling.
    fn swap(&self, identity: Identity, there: &str) -> Option<String>;
}

impl<F: Fn(Identity, &str) -> Option<String>> IdExchange for F {
    fn swap(&self, identity: Identity, there: &str) -> Option<String> {
        self(identity, there)
    }
}

/// Which part of a message is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewrittenPart<'a> {
    /// The `params` of a request or notification of this method.
    Params(&'a str),
    /// The `result` of a request of this method.
    Result(&'a str),
}

/// A node of the table: what a place is, or what lies below it.
enum Place {
    /// An id that is exchanged.
    Is(Identity),
    /// An object with members that matter.
    Has(&'static [(&'static str, &'static Place)]),
    /// A list, or an object whose names are the server's: all that is inside.
    Each(&'static Place),
    /// Two readings of one place.
    Both(&'static Place, &'static Place),
}

const TASK: Place = Place::Is(Identity::Task);
const RELATED: Place = Place::Is(Identity::Related);
const PROGRESS: Place = Place::Is(Identity::Progress);
const SUBSCRIPTION: Place = Place::Is(Identity::Subscription);
const REQUEST: Place = Place::Is(Identity::Request);
const CURSOR: Place = Place::Is(Identity::Cursor);
const TOOL: Place = Place::Is(Identity::Tool);
const PROMPT: Place = Place::Is(Identity::Prompt);
const URI: Place = Place::Is(Identity::Uri);
const URI_TEMPLATE: Place = Place::Is(Identity::UriTemplate);
const SERVER: Place = Place::Is(Identity::Server);

/// `_meta` of anything.
const META: Place = Place::Has(&[
    ("io.modelcontextprotocol/related-task", &Place::Has(&[("taskId", &RELATED)])),
    ("io.modelcontextprotocol/subscriptionId", &SUBSCRIPTION),
    ("io.modelcontextprotocol/serverInfo", &SERVER),
    ("progressToken", &PROGRESS),
]);
const WITH_META: Place = Place::Has(&[("_meta", &META)]);

/// A task, whichever message it stands in; its members that carry messages of their own come with it.
const A_TASK: Place =
    Place::Has(&[("taskId", &TASK), ("_meta", &META), ("inputRequests", &INPUT_REQUESTS), ("result", &TOOL_RESULT)]);
/// `inputRequests`, by the server's keys.
const INPUT_REQUESTS: Place = Place::Each(&Place::Has(&[("params", &ASKED), ("_meta", &META)]));
/// What is asked of a client.
const ASKED: Place = Place::Has(&[("_meta", &META)]);
/// One block of content: a link to a resource, or a resource itself.
const BLOCK: Place =
    Place::Has(&[("uri", &URI), ("resource", &Place::Has(&[("uri", &URI), ("_meta", &META)])), ("_meta", &META)]);
/// What a tool brought.
const TOOL_RESULT: Place = Place::Has(&[("content", &Place::Each(&BLOCK)), ("_meta", &META)]);
/// What any result may carry, whatever was asked.
const ANY_RESULT: Place = Place::Has(&[
    ("taskId", &TASK),
    ("task", &A_TASK),
    ("tasks", &Place::Each(&A_TASK)),
    ("_meta", &META),
    ("inputRequests", &INPUT_REQUESTS),
    ("result", &TOOL_RESULT),
    ("content", &Place::Each(&BLOCK)),
    ("nextCursor", &CURSOR),
]);
/// What any params may carry.
const ANY_PARAMS: Place = Place::Has(&[
    ("taskId", &TASK),
    ("_meta", &META),
    ("inputRequests", &INPUT_REQUESTS),
    ("inputResponses", &Place::Each(&WITH_META)),
    ("result", &TOOL_RESULT),
    ("notifications", &FILTER),
    ("cursor", &CURSOR),
]);
/// What a subscription is for.
const FILTER: Place = Place::Has(&[("taskIds", &Place::Each(&TASK)), ("resourceSubscriptions", &Place::Each(&URI))]);

const TOOL_PARAMS: Place = Place::Both(&ANY_PARAMS, &Place::Has(&[("name", &TOOL)]));
const PROMPT_PARAMS: Place = Place::Both(&ANY_PARAMS, &Place::Has(&[("name", &PROMPT)]));
const URI_PARAMS: Place = Place::Both(&ANY_PARAMS, &Place::Has(&[("uri", &URI)]));
/// `ref` names a prompt or a resource template; which, its other members tell.
const COMPLETE_PARAMS: Place =
    Place::Both(&ANY_PARAMS, &Place::Has(&[("ref", &Place::Has(&[("name", &PROMPT), ("uri", &URI_TEMPLATE)]))]));
const PROGRESS_PARAMS: Place = Place::Both(&ANY_PARAMS, &Place::Has(&[("progressToken", &PROGRESS)]));
const CANCEL_PARAMS: Place = Place::Both(&ANY_PARAMS, &Place::Has(&[("requestId", &REQUEST)]));

const TOOLS: Place = Place::Both(&ANY_RESULT, &Place::Has(&[("tools", &Place::Each(&Place::Has(&[("name", &TOOL)])))]));
const PROMPTS: Place =
    Place::Both(&ANY_RESULT, &Place::Has(&[("prompts", &Place::Each(&Place::Has(&[("name", &PROMPT)])))]));
const RESOURCES: Place =
    Place::Both(&ANY_RESULT, &Place::Has(&[("resources", &Place::Each(&Place::Has(&[("uri", &URI)])))]));
const TEMPLATES: Place = Place::Both(
    &ANY_RESULT,
    &Place::Has(&[("resourceTemplates", &Place::Each(&Place::Has(&[("uriTemplate", &URI_TEMPLATE)])))]),
);
const CONTENTS: Place = Place::Both(
    &ANY_RESULT,
    &Place::Has(&[("contents", &Place::Each(&Place::Has(&[("uri", &URI), ("_meta", &META)])))]),
);
const MESSAGES: Place =
    Place::Both(&ANY_RESULT, &Place::Has(&[("messages", &Place::Each(&Place::Has(&[("content", &BLOCK)])))]));

impl RewrittenPart<'_> {
    const fn default_table(&self) -> &'static Place {
        match self {
            Self::Params(_) => &ANY_PARAMS,
            Self::Result(_) => &ANY_RESULT,
        }
    }

    fn table(&self) -> &'static Place {
        match *self {
            Self::Params("tools/call") => &TOOL_PARAMS,
            Self::Params("prompts/get") => &PROMPT_PARAMS,
            Self::Params(
                "resources/read" | "resources/subscribe" | "resources/unsubscribe" | "notifications/resources/updated",
            ) => &URI_PARAMS,
            Self::Params("completion/complete") => &COMPLETE_PARAMS,
            Self::Params("notifications/progress") => &PROGRESS_PARAMS,
            Self::Params("notifications/cancelled") => &CANCEL_PARAMS,
            Self::Result("tools/list") => &TOOLS,
            Self::Result("prompts/list") => &PROMPTS,
            Self::Result("resources/list") => &RESOURCES,
            Self::Result("resources/templates/list") => &TEMPLATES,
            Self::Result("resources/read") => &CONTENTS,
            Self::Result("prompts/get") => &MESSAGES,
            Self::Params(_) | Self::Result(_) => self.default_table(),
        }
    }
}

/// Looks quickly whether a message may hold ids of some kinds, so that most messages need no walk.
///
/// It says yes of texts that hold none, never no of one that does: ids stand beside names, and a name is in the text as
/// it is spelled here, or with escapes.
pub(crate) struct IdProbe(Vec<Finder<'static>>);

impl IdProbe {
    /// Texts above this are walked at once: a walk is one pass, this is one for each name. Judgement.
    const LONGEST_BYTES: usize = 4_096;
    /// Begins every escape that a letter of our names can be written with.
    const ESCAPE: &'static str = "\\u00";

    /// Looks for ids of these kinds.
    pub(crate) fn of(kinds: &[Identity]) -> Self {
        let mut names: Vec<&str> = kinds.iter().flat_map(|kind| kind.names()).copied().collect();
        names.push(Self::ESCAPE);
        names.sort_unstable();
        names.dedup();
        Self(names.into_iter().map(Finder::new).collect())
    }

    /// Whether the text may hold one.
    pub(crate) fn may_find(&self, text: &str) -> bool {
        text.len() > Self::LONGEST_BYTES || self.0.iter().any(|name| name.find(text.as_bytes()).is_some())
    }
}

/// The text with all ids exchanged. Borrowed when nothing changed: one walk over the places that matter, and no
/// copy. Of a text that is no JSON nothing is left but an empty object: an id could stand where the walk broke off.
pub fn rewrite<'t>(half: RewrittenPart<'_>, text: &'t str, exchange: &dyn IdExchange) -> Cow<'t, str> {
    let mut changes = Vec::new();
    let mut cursor = JsonCursor::of(text);
    if let Err(error) = walk(half.table().readings(), &mut cursor, exchange, &mut changes) {
        tracing::error!(%error, "a message cannot be searched for identities; it is left out");
        return Cow::Borrowed("{}");
    }
    if changes.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(splice(text, &changes)) }
}

/// As [`rewrite`], of a value that stays one. Where an exchange gave something that is no JSON, an empty object takes its
/// place, so that no id leaks.
#[must_use]
pub fn rewrite_raw(half: RewrittenPart<'_>, raw: Box<RawValue>, exchange: &dyn IdExchange) -> Box<RawValue> {
    match rewrite(half, raw.get(), exchange) {
        Cow::Borrowed(same) if same.len() == raw.get().len() => raw,
        Cow::Borrowed(_) => empty_object(),
        Cow::Owned(text) => RawValue::from_string(text).unwrap_or_else(|_| {
            tracing::error!("an exchanged identity is no JSON; what carried it is left out");
            empty_object()
        }),
    }
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The JSON text of a task id, cursor, name or URI.
#[must_use]
pub fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What a JSON text means; `None` when it is no text.
#[must_use]
pub fn meaning(json: &str) -> Option<Cow<'_, str>> {
    crate::wire::raw_json::meaning(json)
}

/// What one place may be: readings of the same value.
type Readings = [Option<&'static Place>; 2];

impl Place {
    /// This place alone, or its two readings.
    const fn readings(&'static self) -> Readings {
        match self {
            Self::Both(one, other) => [Some(one), Some(other)],
            Self::Is(_) | Self::Has(_) | Self::Each(_) => [Some(self), None],
        }
    }

    const fn identity(&self) -> Option<Identity> {
        match self {
            Self::Is(identity) => Some(*identity),
            Self::Has(_) | Self::Each(_) | Self::Both(..) => None,
        }
    }

    /// What a member of this name is, or an element, which has none.
    fn below(&self, name: Option<&str>) -> Option<&'static Self> {
        match self {
            Self::Each(place) => Some(place),
            Self::Has(members) => members.iter().find(|(known, _)| Some(*known) == name).map(|(_, place)| *place),
            Self::Is(_) | Self::Both(..) => None,
        }
    }
}

/// Walks the value at the cursor, once, and collects the exchanges in their order.
fn walk(
    places: Readings,
    cursor: &mut JsonCursor<'_>,
    exchange: &dyn IdExchange,
    changes: &mut Vec<JsonEdit<'static>>,
) -> Result<(), MalformedJson> {
    if let Some(identity) = places.iter().flatten().find_map(|place| place.identity()) {
        let place = cursor.skip()?;
        let text = cursor.text(place.clone());
        if let Some(new) = exchange.swap(identity, text).filter(|new| new != text) {
            changes.push((place, Cow::Owned(new)));
        }
        return Ok(());
    }
    let Some(mut nest) = cursor.enter() else { return cursor.skip().map(drop) };
    while let Some(name) = cursor.next_in(&mut nest)? {
        let name = nest.is_object().then_some(&*name);
        match places.map(|place| place?.below(name)) {
            [None, None] => {
                cursor.skip()?;
            }
            below => walk(below, cursor, exchange, changes)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
