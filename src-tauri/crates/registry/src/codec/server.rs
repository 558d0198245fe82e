//! A server as columns and a JSON body.
//!
//! The body is readable: it holds no secrets, only their names (values live behind the `Secrets` port). The session
//! that was last negotiated may act as a bearer token, so it is a sealed column of its own.

use std::collections::BTreeMap;

use domain::ids::{PersonId, ServerId, SessionKey};
use domain::server::{Consent, Dialect, Era, EraVerdict, Negotiated, Server, ServerAddress};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::form::{As, Maybe, column, mirrors};
use super::primitive::{EncodedWord, Millis, Text};
use super::{DecodeError, decode};

#[derive(Serialize, Deserialize)]
#[serde(remote = "ServerAddress", tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ServerAddressDef {
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        secret_env: Vec<String>,
        cwd: Option<String>,
    },
    Http {
        url: String,
        secret_headers: Vec<String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Consent")]
struct ConsentDef {
    #[serde(with = "As::<Text<PersonId>>")]
    by: PersonId,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    fingerprint: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EraVerdict")]
struct VerdictDef {
    fingerprint: String,
    #[serde(with = "As::<EncodedWord<Era>>")]
    era: Era,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Negotiated", rename_all = "camelCase")]
struct NegotiatedDef {
    #[serde(with = "As::<EncodedWord<Era>>")]
    era: Era,
    #[serde(with = "As::<EncodedWord<Dialect>>")]
    dialect: Dialect,
    protocol_version: String,
    server_name: String,
    server_version: String,
    can_list: bool,
    can_cancel: bool,
    #[serde(skip)]
    session: Option<SessionKey>,
}

/// The body of a server; skipped fields are columns.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Server")]
pub(crate) struct ServerDef {
    #[serde(skip, default = "column")]
    id: ServerId,
    #[serde(skip)]
    name: String,
    #[serde(with = "ServerAddressDef")]
    address: ServerAddress,
    #[serde(default, with = "As::<Maybe<ConsentDef>>")]
    consent: Option<Consent>,
    generation: u32,
    #[serde(default, with = "As::<Maybe<VerdictDef>>")]
    verdict: Option<EraVerdict>,
    #[serde(default, with = "As::<Maybe<NegotiatedDef>>")]
    negotiated: Option<Negotiated>,
    #[serde(skip, default = "column")]
    created: Timestamp,
}

mirrors! {
    ConsentDef => Consent;
    VerdictDef => EraVerdict;
    NegotiatedDef => Negotiated;
    ServerDef => Server;
}

/// Reads a server from its columns, its body and the session that was sealed beside it.
pub(crate) fn read(
    id: &str,
    name: &str,
    created: Timestamp,
    session: Option<SessionKey>,
    body: Value,
) -> Result<Server, DecodeError> {
    let mut server = decode::<ServerDef>(body)?;
    server.id = id.parse().map_err(|_| DecodeError::new("id", "does not read as an id"))?;
    server.name = name.into();
    server.created = created;
    if let Some(negotiated) = &mut server.negotiated {
        negotiated.session = session;
    }
    Ok(server)
}
