//! `taskwarden://results/HANDLE`: the URI under which an agent reads the stored result of its task.
//!
//! Only the name; reading is `tasks/result_resource.rs`.

use domain::ids::HandleId;
use serde_json::{Value, json};

use crate::server::Request;

/// What the URIs of results begin with.
pub(crate) const ROOT: &str = "taskwarden://results/";

pub(crate) const PLAIN: &str = "text/plain";

pub(crate) fn uri(id: HandleId) -> String {
    format!("{ROOT}{id}")
}

pub(crate) fn is_result(uri: &str) -> bool {
    uri.starts_with(ROOT)
}

/// The URI of the result that this request reads.
pub(crate) fn requested(request: &Request) -> Option<String> {
    if request.method != "resources/read" {
        return None;
    }
    request.params.text("uri").filter(|uri| is_result(uri))
}

/// The template of all results, for `resources/templates/list`.
pub(crate) fn template() -> Value {
    json!({
        "uriTemplate": format!("{ROOT}{{handle}}{{?offset,tokens}}"),
        "name": "task-result",
        "title": "Result of a task",
        "description": "The result of one of your tasks as text, in slices: from a character on, so many tokens at most.",
        "mimeType": PLAIN,
    })
}

/// The handle in a URI, and its query.
pub(crate) fn parts(uri: &str) -> Option<(&str, Option<&str>)> {
    let rest = uri.strip_prefix(ROOT)?;
    let (id, query) = match rest.split_once('?') {
        Some((id, query)) => (id, Some(query)),
        None => (rest, None),
    };
    Some((id, query.map(|query| query.split('#').next().unwrap_or_default()).filter(|query| !query.is_empty())))
}
