//! Compares the parameters that a client mirrored into headers with the arguments of its call (protocol.md §2.3).
//!
//! An intermediary may have routed by a header, so a header that differs from the body is refused before anything leaves.
//! Which parameters are mirrored is in the tool's newest listed definition; the headers to the server are made anew from
//! the arguments.

use serde_json::Value;

use crate::gateway::servers::names::TargetTool;
use crate::gateway::state::GatewayState;
use crate::server::Request;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::upstream::header_values;
use crate::upstream::tool_cache::param_headers;

/// Whether the headers say what the arguments say.
///
/// # Errors
/// When one is missing, differs, or mirrors what is not there.
pub(crate) fn check(state: &GatewayState, target: &TargetTool, request: &Request) -> Result<(), RequestError> {
    let Some(given) = &request.mirrored else { return Ok(()) };
    let Some(tool) = state.listings.tool_with_param_headers(target.server, &target.tool) else { return Ok(()) };
    let tool: Value = serde_json::from_str(&tool).unwrap_or_default();
    // With broken annotations the server itself refuses the call.
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
