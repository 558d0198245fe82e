//! `initialize` and `server/discover`: what the servers at an endpoint have, as far as it can be relayed.
//!
//! Tasks are the gateway's own in both dialects, whatever the servers declare about theirs.

use domain::policy::plain_text;
use futures::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::gateway::conversion::{raw_json, result_dialect};
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::{GatewayConnection, connect, connect_in_time};
use crate::gateway::servers::names::name_servers;
use crate::server::rpc_error::{RequestError, TASKS_EXTENSION};
use crate::server::version;
use crate::wire::raw_json::{member, text_member};

/// Characters of a server's instructions that are passed on.
const INSTRUCTIONS_CHARS: usize = 8_000;

/// What servers declare, as far as it can be relayed.
struct RelayedCapabilities {
    /// `capabilities` without tasks.
    capabilities: Map<String, Value>,
    instructions: Option<String>,
}

async fn relayed(context: &RequestContext) -> Result<RelayedCapabilities, RequestError> {
    if let Some(server) = context.server {
        let connection = connect(context, server).await?;
        let instructions = text_member(connection.forward.hello().get(), "instructions");
        let instructions = instructions.map(|words| plain_text(&words, INSTRUCTIONS_CHARS));
        let instructions = instructions.filter(|words| !words.is_empty());
        return Ok(RelayedCapabilities { capabilities: capabilities(context, &connection), instructions });
    }
    let servers = name_servers(context.state.engine.servers());
    let reached = join_all(servers.iter().map(|server| connect_in_time(context, server.id))).await;
    let mut all = Map::new();
    for connection in reached.iter().flatten() {
        for (name, said) in capabilities(context, connection) {
            merge(all.entry(name).or_insert_with(|| json!({})), &said);
        }
    }
    // A server that is added later may have tools.
    all.entry("tools").or_insert_with(|| json!({}));
    if let Some(tools) = all.get_mut("tools").and_then(Value::as_object_mut) {
        tools.insert("listChanged".to_owned(), true.into());
    }
    all.remove("experimental");
    let servers: Vec<&str> = servers.iter().map(|server| server.slug.as_str()).collect();
    let instructions = (!servers.is_empty()).then(|| {
        format!("Tools and prompts of several servers, named SERVER__NAME. The servers: {}.", servers.join(", "))
    });
    Ok(RelayedCapabilities { capabilities: all, instructions })
}

/// What is relayed of one server's capabilities.
fn capabilities(context: &RequestContext, connection: &GatewayConnection) -> Map<String, Value> {
    let said = member(connection.forward.hello().get(), "capabilities");
    let mut said: Map<String, Value> = said.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    // No other extension than tasks is routed, and those are the gateway's.
    said.remove("tasks");
    said.remove("extensions");
    if context.is_modern() && !connection.is_modern() {
        // Experiments of an older era mean nothing in this one.
        said.remove("experimental");
    }
    said
}

/// Joins the members of two objects; a flag is set if either has it set.
fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    for (name, value) in from {
        match into.get_mut(name) {
            None => drop(into.insert(name.clone(), value.clone())),
            Some(Value::Bool(is)) => *is |= value == &Value::Bool(true),
            Some(_) => {}
        }
    }
}

/// Answers `initialize`.
///
/// # Errors
/// When the one server of the endpoint cannot be reached.
pub(crate) async fn initialize(context: &RequestContext) -> Result<Box<RawValue>, RequestError> {
    let session = context.session().ok_or_else(RequestError::no_method)?;
    let RelayedCapabilities { mut capabilities, instructions } = relayed(context).await?;
    if context.has_task_tools() {
        capabilities.entry("tools").or_insert_with(|| json!({}));
    }
    // Results are resources of the gateway's, whatever the servers have.
    capabilities.entry("resources").or_insert_with(|| json!({}));
    if session.has_tasks() {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), tasks);
    }
    let mut hello = Map::new();
    hello.insert("protocolVersion".to_owned(), session.version().into());
    hello.insert("capabilities".to_owned(), Value::Object(capabilities));
    hello.insert("serverInfo".to_owned(), json!({"name": "taskwarden", "version": env!("CARGO_PKG_VERSION")}));
    if let Some(words) = instructions {
        hello.insert("instructions".to_owned(), words.into());
    }
    let hello = raw_json::serialize(&hello)?;
    begin_conversation(context);
    Ok(hello)
}

/// `server/discover`.
///
/// # Errors
/// When the one server of the endpoint cannot be reached.
pub(crate) async fn discover(context: &RequestContext) -> Result<Box<RawValue>, RequestError> {
    let RelayedCapabilities { mut capabilities, instructions } = relayed(context).await?;
    // The only extension that is routed, whatever the servers have (protocol.md §7.3).
    capabilities.insert("extensions".to_owned(), json!({TASKS_EXTENSION: {}}));
    capabilities.remove("tasks");
    for ours in ["tools", "resources"] {
        capabilities.entry(ours).or_insert_with(|| json!({}));
    }
    let mut found = json!({
        "supportedVersions": version::MODERN,
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    });
    if let (Some(instructions), Some(found)) = (instructions, found.as_object_mut()) {
        found.insert("instructions".to_owned(), instructions.into());
    }
    let found = result_dialect::own(context, &found)?;
    begin_conversation(context);
    Ok(found)
}

/// The client said hello, so a conversation may begin. Its program was recorded with the request.
fn begin_conversation(context: &RequestContext) {
    context.state.engine.session_began(context.agent, context.server, context.session_name.clone(), None);
}
