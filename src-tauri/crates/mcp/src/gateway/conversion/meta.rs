//! The keys in `_meta` that the gateway reads and writes, and its own name there.
//!
//! Keys of other extensions pass through untouched and are not listed here.

use serde_json::{Value, json};

/// The name of the server, in modern results.
pub(crate) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The subscription, in every notification on its stream.
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The log level that a modern request wants.
pub(crate) const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The task that a result is about, for clients that know no tasks.
pub(crate) const META_TASK: &str = "io.taskwarden/task";
/// `false` in a text of the gateway's that brings nothing of a result.
pub(crate) const META_BRINGS: &str = "io.taskwarden/brings";
/// The result that a preview stands for.
pub(crate) const META_HELD: &str = "io.taskwarden/held";
/// The part of a result that a request wants: `{offset, tokens}`, as in the URI.
pub(crate) const META_RANGE: &str = "io.taskwarden/range";
/// The place of a page in its result: `{offset, next, of}`, in characters.
pub(crate) const META_SLICE: &str = "io.taskwarden/slice";

/// What the gateway says it is.
pub(crate) fn server_info() -> Value {
    json!({"name": "taskwarden", "title": "Taskwarden", "version": env!("CARGO_PKG_VERSION")})
}
