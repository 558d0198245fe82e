//! What an agent may reach: its access and its token, its tasks, tools and servers by name.
//!
//! Only sentences for models; who has access is decided in `engine::access`. Refused calls are `refused.rs`.

use domain::ids::AgentId;
use domain::time::Timestamp;
use engine::Engine;

use crate::gateway::model_text::{NAME_CHARS, a_person, on, quoted};

/// The agent lost its access: for its open calls, and for what it asks later.
#[must_use]
pub fn revoked(at: Option<Timestamp>, reason: Option<&str>) -> String {
    let Some(at) = at else {
        return "This agent has no access to Taskwarden. End your turn and tell the user.".to_owned();
    };
    let who = a_person("revoked this agent's access to its tools", &on(at), reason);
    format!(
        "{who} The servers are asked to stop what this agent had open; what they did before is not undone. No tool can be \
         called through Taskwarden any more: end your turn and tell the user."
    )
}

/// [`revoked`] for this agent, with what is known of it.
#[must_use]
pub fn of_revoked(engine: &Engine, agent: AgentId) -> String {
    let at = engine.agents().get(agent).and_then(|agent| agent.revoked);
    revoked(at, engine.revocation_reason(agent).as_deref())
}

/// The agent was given a new token while something was open that was opened with the one before.
#[must_use]
pub fn token_replaced() -> &'static str {
    "A person gave this agent a new token in Taskwarden, so connections with the old one have ended. What this agent had \
     open goes on and stays its own. No tool can be called until the new token stands in the settings of this program and \
     it was restarted: end your turn and tell the user."
}

/// Why what was open of this agent has ended: its access, or its token.
pub(in crate::gateway) fn of_ended(engine: &Engine, agent: AgentId) -> String {
    if engine.agents().has_access(agent) { token_replaced().to_owned() } else { of_revoked(engine, agent) }
}

/// A handle that names no task of this agent.
pub(in crate::gateway) fn unknown_task() -> &'static str {
    "There is no such task. `tasks_list` shows yours."
}

/// A tool that no server has.
pub(in crate::gateway) fn unknown_tool(name: &str) -> String {
    let name = quoted(name, NAME_CHARS);
    format!("There is no tool {name} here. Use a name from the list of tools; it may have changed since you read it.")
}

/// A prompt that no server has.
pub(in crate::gateway) fn unknown_prompt(name: &str) -> String {
    format!("There is no prompt {} here.", quoted(name, NAME_CHARS))
}

/// A server that a person removed, or that never was.
pub(in crate::gateway) fn unknown_server() -> &'static str {
    "This server is not in Taskwarden any more."
}
