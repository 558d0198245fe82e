//! A server as columns and a JSON body.
//!
//! The body is readable: it holds no secrets, only their names (values live behind the `Secrets` port). The session
//! that was last negotiated may act as a bearer token, so it is a sealed column of its own.

use domain::ids::{PersonId, SessionKey};
use domain::server::{Consent, Dialect, Era, EraVerdict, Negotiated, Server, ServerAddress};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::{ENCODING, Fields, Flaw, Read, time};

fn address(address: &ServerAddress) -> Value {
    match address {
        ServerAddress::Stdio { command, args, env, secret_env, cwd } => json!({
            "is": "stdio", "command": command, "args": args, "env": env, "secretEnv": secret_env, "cwd": cwd,
        }),
        ServerAddress::Http { url, secret_headers } => {
            json!({ "is": "http", "url": url, "secretHeaders": secret_headers })
        }
    }
}

fn read_address(fields: Fields<'_>) -> Read<ServerAddress> {
    match fields.text("is")? {
        "stdio" => Ok(ServerAddress::Stdio {
            command: fields.text("command")?.into(),
            args: fields.texts("args")?,
            env: fields.text_map("env")?,
            secret_env: fields.texts("secretEnv")?,
            cwd: fields.maybe_text("cwd")?.map(Into::into),
        }),
        "http" => {
            Ok(ServerAddress::Http { url: fields.text("url")?.into(), secret_headers: fields.texts("secretHeaders")? })
        }
        other => Err(Flaw::word("is", other)),
    }
}

fn read_era(fields: Fields<'_>) -> Read<Era> {
    let word = fields.text("era")?;
    [Era::Modern, Era::Legacy, Era::LegacySse]
        .into_iter()
        .find(|era| era.word() == word)
        .ok_or_else(|| Flaw::word("era", word))
}

fn read_dialect(fields: Fields<'_>) -> Read<Dialect> {
    let word = fields.text("dialect")?;
    [Dialect::Extension2026, Dialect::Experimental2025, Dialect::NoTasks]
        .into_iter()
        .find(|dialect| dialect.word() == word)
        .ok_or_else(|| Flaw::word("dialect", word))
}

fn consent(consent: &Consent) -> Value {
    let Consent { by, at, fingerprint } = consent;
    json!({ "by": by.as_str(), "at": time(*at), "fingerprint": fingerprint })
}

fn read_consent(fields: Fields<'_>) -> Read<Consent> {
    Ok(Consent {
        by: PersonId::new(fields.text("by")?),
        at: fields.time("at")?,
        fingerprint: fields.text("fingerprint")?.into(),
    })
}

fn verdict(verdict: &EraVerdict) -> Value {
    json!({ "fingerprint": verdict.fingerprint, "era": verdict.era.word() })
}

fn read_verdict(fields: Fields<'_>) -> Read<EraVerdict> {
    Ok(EraVerdict { fingerprint: fields.text("fingerprint")?.into(), era: read_era(fields)? })
}

fn negotiated(negotiated: &Negotiated) -> Value {
    let Negotiated { era, dialect, protocol_version, server_name, server_version, can_list, can_cancel, session: _ } =
        negotiated;
    json!({
        "era": era.word(),
        "dialect": dialect.word(),
        "protocolVersion": protocol_version,
        "serverName": server_name,
        "serverVersion": server_version,
        "canList": can_list,
        "canCancel": can_cancel,
    })
}

fn read_negotiated(fields: Fields<'_>, session: Option<SessionKey>) -> Read<Negotiated> {
    Ok(Negotiated {
        era: read_era(fields)?,
        dialect: read_dialect(fields)?,
        protocol_version: fields.text("protocolVersion")?.into(),
        server_name: fields.text("serverName")?.into(),
        server_version: fields.text("serverVersion")?.into(),
        can_list: fields.flag("canList")?,
        can_cancel: fields.flag("canCancel")?,
        session,
    })
}

/// Writes the body of a server.
pub(crate) fn body(server: &Server) -> Value {
    let Server {
        id: _,
        name: _,
        address: reached,
        consent: agreed,
        generation,
        verdict: found,
        negotiated: spoken,
        created: _,
    } = server;
    json!({
        "v": ENCODING,
        "address": address(reached),
        "consent": agreed.as_ref().map(consent),
        "generation": generation,
        "verdict": found.as_ref().map(verdict),
        "negotiated": spoken.as_ref().map(negotiated),
    })
}

/// Reads a server from its columns, its body and the session that was sealed beside it.
pub(crate) fn read(
    (id, name): (&str, &str),
    created: Timestamp,
    body: &Value,
    session: Option<SessionKey>,
) -> Read<Server> {
    let fields = Fields::stored(body, "body")?;
    Ok(Server {
        id: id.parse().map_err(|_| Flaw::new("id", "does not read as an id"))?,
        name: name.into(),
        address: fields.inner("address", read_address)?,
        consent: fields.maybe_inner("consent", read_consent)?,
        generation: fields.u32("generation")?,
        verdict: fields.maybe_inner("verdict", read_verdict)?,
        negotiated: fields.maybe_inner("negotiated", |inner| read_negotiated(inner, session))?,
        created,
    })
}
