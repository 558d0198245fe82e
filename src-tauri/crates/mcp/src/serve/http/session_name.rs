//! The `Mcp-Session-Id` of an older client: it carries what the session stands for, so that a session of an earlier core
//! comes back whole (decision 0024).
//!
//! It is signed and names its agent and door; another agent that shows it finds nothing. A face without a key names
//! sessions by their id alone, and those end with it.

use domain::policy::ServingPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::service::{Program, Visitor};
use super::super::session::{Opening, Session};
use super::super::signed::FaceKey;

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
pub(super) fn write(key: Option<&FaceKey>, session: &Session, limits: &ServingPolicy) -> String {
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
    key.sign(PURPOSE, &owner(session.visitor()), &text)
}

/// What the session of this name began with, if it was given to this visitor.
pub(super) fn read(key: &FaceKey, name: &str, visitor: Option<Visitor>, limits: &ServingPolicy) -> Option<Opening> {
    if name.len() > limits.carried_name_bytes {
        return None;
    }
    let text = key.open(PURPOSE, &owner(visitor), name)?;
    let Carried { id, version, program, capabilities } = serde_json::from_slice(&text).ok()?;
    let program = program.map(|(name, version)| Program { name, version });
    Some(Opening { id, asked: version, capabilities, program, visitor })
}

fn owner(visitor: Option<Visitor>) -> String {
    visitor.map_or_else(String::new, |visitor| {
        let server = visitor.server.map(|server| server.to_string()).unwrap_or_default();
        format!("{} {server}", visitor.agent)
    })
}
