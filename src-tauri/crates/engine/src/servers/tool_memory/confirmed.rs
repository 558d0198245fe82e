//! The tools whose calls pass before all do: those that only read, by what both the server and a person say.
//!
//! A server's own mark is not enough, because the server may be what the halt is for: a person must have marked the tools of
//! the server as seen, and the definition must still be the one that was seen. A definition that changes takes the tool out.

use std::sync::Arc;

use domain::ids::ServerId;
use domain::server::halt::ConfirmedTool;
use domain::server::tool_memory::ToolMemory;
use serde_json::Value;

use crate::core::EngineCore;
use crate::error::EngineError;

/// What passes of all servers.
pub(crate) async fn of_all(core: &EngineCore) -> Result<Vec<ConfirmedTool>, EngineError> {
    let mut confirmed = Vec::new();
    for server in core.registry.servers().await? {
        if let Some(memory) = core.registry.tool_memory(server.id).await? {
            confirmed.extend(of(server.id, &memory));
        }
    }
    Ok(confirmed)
}

/// What passes of one server.
fn of(server: ServerId, memory: &ToolMemory) -> Vec<ConfirmedTool> {
    if memory.seen.by.is_none() {
        return Vec::new();
    }
    let confirmed = memory.tools.values().filter_map(|tool| {
        let (seen, listed) = (tool.seen.as_ref()?, tool.listed.as_ref()?);
        let only_reads = seen.digest == listed.digest && says_it_reads(listed.text.as_deref()?);
        only_reads.then(|| ConfirmedTool { server, tool: Arc::clone(&tool.name), digest: seen.digest.to_string() })
    });
    confirmed.collect()
}

/// Whether a definition is marked as read-only, and not as destructive.
fn says_it_reads(definition: &str) -> bool {
    let definition: Value = serde_json::from_str(definition).unwrap_or_default();
    let hint = |name: &str| definition.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
    hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true)
}

/// The tools of a server were listed: one whose definition is not the confirmed one does not pass any more.
pub(crate) fn listed(core: &EngineCore, server: ServerId, memory: &ToolMemory) {
    core.gate.retain_confirmed(|tool| {
        let known = memory.tools.get(&tool.tool).and_then(|known| known.listed.as_ref());
        tool.server != server || known.is_some_and(|listed| *listed.digest == *tool.digest)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_mark_of_reading_counts() {
        for (definition, reads) in [
            (r#"{"name":"a","annotations":{"readOnlyHint":true}}"#, true),
            (r#"{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":false}}"#, true),
            (r#"{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":true}}"#, false),
            (r#"{"name":"a","annotations":{"readOnlyHint":"true"}}"#, false),
            (r#"{"name":"a","readOnlyHint":true}"#, false),
            (r#"{"name":"a"}"#, false),
            ("no JSON", false),
        ] {
            assert_eq!(says_it_reads(definition), reads, "{definition}");
        }
    }
}
