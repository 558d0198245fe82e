//! An intent as a JSON body. Its id is a column of its own.
//!
//! The digest of the arguments is in here, and arguments can be guessed from it, so the body is sealed.

use domain::ids::HandleId;
use domain::ports::CallIntent;
use serde_json::{Value, json};

use super::{ENCODING, Fields, Read, time};

/// Writes the body of an intent.
pub(crate) fn body(intent: &CallIntent) -> Value {
    let CallIntent { id: _, server, seat, agent, tool, arguments_digest, at, host } = intent;
    json!({
        "v": ENCODING,
        "server": server.to_string(),
        "seat": seat.map(|seat| seat.to_string()),
        "agent": agent.to_string(),
        "tool": &**tool,
        "digest": &**arguments_digest,
        "at": time(*at),
        "host": host.to_string(),
    })
}

/// Reads an intent.
pub(crate) fn read(id: HandleId, body: &Value) -> Read<CallIntent> {
    let fields = Fields::stored(body, "body")?;
    Ok(CallIntent {
        id,
        server: fields.parsed("server")?,
        seat: fields.get("seat").map(|_| fields.parsed("seat")).transpose()?,
        agent: fields.parsed("agent")?,
        tool: fields.text("tool")?.into(),
        arguments_digest: fields.text("digest")?.into(),
        at: fields.time("at")?,
        host: fields.parsed("host")?,
    })
}
