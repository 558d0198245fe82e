//! Compares what a client mirrored into headers with the arguments of its call (protocol.md §2.3).
//!
//! An intermediary may have routed by a header, so one that says something else than the body is refused before anything
//! leaves. Which parameters are mirrored stands in the tool's definition, as this server listed it last; the headers
//! that go to the server are made anew from the arguments (`client/param_headers.rs`).

use serde_json::Value;

use super::Gate;
use super::names::ToolPlace;
use crate::upstream::{ANNOTATION, header_values};
use crate::upstream::tool_cache::param_headers;
use crate::server::Request;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Whether the headers say what the arguments say.
///
/// # Errors
/// When one is missing, differs, or mirrors what is not there.
pub(super) fn check(gate: &Gate, place: &ToolPlace, request: &Request) -> Result<(), RequestError> {
    let Some(given) = &request.mirrored else { return Ok(()) };
    let Some(tool) = gate.lists.tool(place.server, &place.tool).filter(|tool| tool.contains(ANNOTATION)) else {
        return Ok(());
    };
    let tool: Value = serde_json::from_str(&tool).unwrap_or_default();
    // A tool with broken annotations is none over HTTP; its server says so itself.
    let Ok(annotated) = param_headers(tool.get("inputSchema").unwrap_or(&Value::Null)) else { return Ok(()) };
    let arguments = request.params.value("arguments").unwrap_or_default();
    let said = header_values(&annotated, &arguments);
    for header in &annotated {
        let in_body = said.iter().find(|(name, _)| *name == header.name).map(|(_, value)| value);
        let in_head = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(&header.name)).map(|(_, value)| value);
        if in_body != in_head {
            let why = format!("`Mcp-Param-{}` does not say what the arguments say", header.name);
            return Err(RequestError::new(RequestErrorKind::HeaderMismatch, why));
        }
    }
    Ok(())
}
