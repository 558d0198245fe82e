//! The `Mcp-Session-Id` of a 2025 client, which carries the session, so that a later core can restore it (decision
//! 0024).
//!
//! It is signed and names whom it was given to; for anybody else it is unknown. Without a signing key, a session is
//! named by its id alone and ends with the core.

use domain::policy::ServingPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::principal::{ClientProgram, Principal};
use super::super::session::{Session, SessionStart};
use crate::server::signing::SigningKey;

const PURPOSE: &str = "session 1";

/// What a name carries, with short words because every request brings it along.
#[derive(Serialize, Deserialize)]
struct Carried {
    id: String,
    #[serde(rename = "v")]
    version: String,
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    program: Option<(String, String)>,
    #[serde(rename = "c", default, skip_serializing_if = "Value::is_null")]
    capabilities: Value,
}

/// Names a session. A client that declared more than is carried is taken to have declared nothing after a restart: it is
/// asked nothing.
pub(crate) fn write(key: Option<&SigningKey>, session: &Session, limits: &ServingPolicy) -> String {
    let Some(key) = key else { return session.id().to_owned() };
    let declared = session.capabilities();
    let is_short = declared.to_string().len() <= limits.carried_bytes;
    let carried = Carried {
        id: session.id().to_owned(),
        version: session.version().to_owned(),
        program: session.program().map(|program| (program.name.clone(), program.version.clone())),
        capabilities: if is_short { declared.clone() } else { Value::Null },
    };
    let text = serde_json::to_vec(&carried).unwrap_or_default();
    key.sign(PURPOSE, &owner(session.principal()), &text)
}

/// What the session of this name began with, if it was given to this principal.
pub(crate) fn read(
    key: &SigningKey,
    name: &str,
    principal: Option<Principal>,
    limits: &ServingPolicy,
) -> Option<SessionStart> {
    if name.len() > limits.carried_name_bytes {
        return None;
    }
    let text = key.open(PURPOSE, &owner(principal), name)?;
    let Carried { id, version, program, capabilities } = serde_json::from_slice(&text).ok()?;
    let program = program.map(|(name, version)| ClientProgram { name, version });
    Some(SessionStart { id, asked: version, capabilities, program, principal })
}

fn owner(principal: Option<Principal>) -> String {
    match principal {
        None => String::new(),
        Some(Principal::Agent(agent)) => {
            let server = agent.server.map(|server| server.to_string()).unwrap_or_default();
            format!("{} {server}", agent.agent)
        }
        Some(Principal::Supervisor(token)) => token.to_string(),
    }
}
