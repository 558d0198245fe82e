//! What a server says about itself in its `server/discover` or `initialize` result.
//!
//! Only the fields are read here; which dialect follows is decided in `upstream/negotiation.rs`, by the version alone.

use domain::policy::Policy;
use serde_json::value::RawValue;

use super::JsonFields;

/// Where modern results carry the server's name.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The extension's id.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// `capabilities.tasks` of 2025-11-25.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskAbilities {
    /// `tasks.list` was declared, or `tasks` is `{}` and leaves it worth a try (protocol.md §9.5).
    pub(crate) list: bool,
    /// The same for `tasks.cancel`.
    pub(crate) cancel: bool,
    /// `tasks.requests.tools.call`: calls may be augmented. Nothing else allows that.
    pub(crate) call: bool,
}

/// The fields of a handshake result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerHello {
    /// The server's name for itself, capped.
    pub(crate) name: String,
    /// Its version of itself, capped.
    pub(crate) version: String,
    /// The capabilities of 2025 tasks, if declared.
    pub(crate) tasks: Option<TaskAbilities>,
    /// The tasks extension of 2026 was advertised.
    pub(crate) extension: bool,
    /// The server notifies changes of its tool list.
    pub(crate) tells_tool_changes: bool,
}

impl ServerHello {
    /// Reads it; whatever is missing is simply not declared.
    pub(crate) fn read(raw: &RawValue, policy: &Policy) -> Self {
        let nothing = Self {
            name: String::new(),
            version: String::new(),
            tasks: None,
            extension: false,
            tells_tool_changes: false,
        };
        let Ok(hello) = JsonFields::of(raw, "$.result") else { return nothing };
        let info = hello
            .object_or_none("_meta")
            .and_then(|meta| meta.object_or_none(SERVER_INFO))
            .or_else(|| hello.object_or_none("serverInfo"));
        let said = |name: &str| info.as_ref().and_then(|info| info.words(name, policy)).unwrap_or_default();
        let (name, version) = (said("name"), said("version"));
        let Some(capabilities) = hello.object_or_none("capabilities") else { return Self { name, version, ..nothing } };
        let extensions = capabilities.object_or_none("extensions");
        let tools = capabilities.object_or_none("tools");
        Self {
            name,
            version,
            tasks: capabilities.object_or_none("tasks").map(|tasks| abilities(&tasks)),
            extension: extensions.is_some_and(|extensions| extensions.get(TASKS_EXTENSION).is_some()),
            tells_tool_changes: tools.is_some_and(|tools| tools.flag("listChanged") == Some(true)),
        }
    }
}

fn abilities(tasks: &JsonFields<'_>) -> TaskAbilities {
    let unsaid = tasks.len() == 0;
    let call = tasks
        .object_or_none("requests")
        .and_then(|requests| requests.object_or_none("tools"))
        .is_some_and(|tools| tools.get("call").is_some());
    TaskAbilities { list: unsaid || tasks.get("list").is_some(), cancel: unsaid || tasks.get("cancel").is_some(), call }
}
