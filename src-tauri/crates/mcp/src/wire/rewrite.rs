//! The one table of ids in messages, and how they are exchanged between agent and server (protocol.md §7.2).
//!
//! Ids of tasks and requests, tokens, cursors, names and URIs are exchanged; everything else stays byte for byte, free
//! text above all. An exchange and its inverse undo each other. The table keeps no mapping: the gateway does. Headers
//! that mirror ids are made from the rewritten params.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::wire::raw_json::{JsonEdit, JsonMembers, splice};

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

/// The text with all ids exchanged. Borrowed when nothing changed: one walk over the places that matter, and no
/// copy.
pub fn rewrite<'t>(half: RewrittenPart<'_>, text: &'t str, exchange: &dyn IdExchange) -> Cow<'t, str> {
    let mut changes = Vec::new();
    walk(half.table(), text, 0, exchange, &mut changes);
    if changes.is_empty() {
        return Cow::Borrowed(text);
    }
    // A place that is in the table twice is found twice.
    changes.sort_by_key(|(place, _)| place.start);
    changes.dedup_by(|later, earlier| later.0 == earlier.0);
    Cow::Owned(splice(text, &changes))
}

/// As [`rewrite`], of a value that stays one. A text that is no JSON any more (an exchange gave something else) leaves
/// the value as it was... which cannot leak, because it is then replaced by an empty object.
#[must_use]
pub fn rewrite_raw(half: RewrittenPart<'_>, raw: Box<RawValue>, exchange: &dyn IdExchange) -> Box<RawValue> {
    match rewrite(half, raw.get(), exchange) {
        Cow::Borrowed(_) => raw,
        Cow::Owned(text) => RawValue::from_string(text).unwrap_or_else(|_| {
            tracing::error!("an exchanged identity is no JSON; what carried it is left out");
            RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
        }),
    }
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

fn walk(place: &Place, text: &str, base: usize, exchange: &dyn IdExchange, changes: &mut Vec<JsonEdit<'static>>) {
    match place {
        Place::Is(identity) => {
            if let Some(new) = exchange.swap(*identity, text).filter(|new| new != text) {
                changes.push((base..base + text.len(), Cow::Owned(new)));
            }
        }
        Place::Both(one, other) => {
            walk(one, text, base, exchange, changes);
            walk(other, text, base, exchange, changes);
        }
        Place::Has(below) => {
            let Some(inside) = JsonMembers::object(text) else { return };
            for part in inside {
                let Some((_, place)) = below.iter().find(|(name, _)| part.name == *name) else { continue };
                if let Some(value) = text.get(part.value.clone()) {
                    walk(place, value, base + part.value.start, exchange, changes);
                }
            }
        }
        Place::Each(place) => {
            let Some(inside) = JsonMembers::of(text) else { return };
            for part in inside {
                if let Some(value) = text.get(part.value.clone()) {
                    walk(place, value, base + part.value.start, exchange, changes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
