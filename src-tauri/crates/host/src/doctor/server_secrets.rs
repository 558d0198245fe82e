//! Which kind of secret each server uses: none, environment variables, headers, or a sign-in.
//!
//! Names and issuers only, never a value; where secrets lie is one finding for all of them (`secrets` in `doctor.rs`).

use api::calls::core::findings::Finding;
use api::dto::server::sign_in::{SignInDto, SignInStateDto};
use api::dto::{AddressDto, ServerDto, moment};
use api::format::time;
use domain::policy::plain_text;
use domain::ports::Clock as _;
use engine::SystemClock;

/// A name or an issuer fits on one line. Judgement.
const SHOWN_CHARS: usize = 120;

pub(super) fn examine(area: &str, server: &ServerDto, has_core: bool) -> Finding {
    let mut kinds = match &server.address {
        AddressDto::Stdio { secret_env, .. } => named("secret environment variables", secret_env),
        AddressDto::Http { secret_headers, .. } => named("secret headers", secret_headers),
    };
    kinds.extend(server.sign_in.as_ref().and_then(sign_in));
    let is_hosted = matches!(server.address, AddressDto::Http { .. });
    let message = match (kinds.is_empty(), is_hosted && !has_core) {
        (true, false) => "uses no secret".to_owned(),
        (true, true) => "uses no secret header; only a running core knows of a sign-in".to_owned(),
        (false, _) => format!("uses {}", kinds.join("; ")),
    };
    Finding::fine(area, message)
}

fn named(kind: &str, names: &[String]) -> Vec<String> {
    if names.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", plain_text(name, SHOWN_CHARS))).collect();
    vec![format!("{kind} {}", names.join(", "))]
}

/// What is kept of a sign-in; nothing where none is.
fn sign_in(sign_in: &SignInDto) -> Option<String> {
    let issuer = sign_in.issuer.as_deref()?;
    let issuer = plain_text(issuer, SHOWN_CHARS);
    let until = sign_in.until.as_deref().and_then(moment).map(|at| time::until(at, SystemClock.now()));
    let until = match (sign_in.state, sign_in.renewed, until) {
        (SignInStateDto::Needed, _, _) => ", which the server does not accept".to_owned(),
        (_, true, Some(until)) => format!(", whose token is renewed by itself and ends {until}"),
        (_, true, None) => ", whose token is renewed by itself".to_owned(),
        (_, false, Some(until)) => format!(", whose token ends {until} and is not renewed"),
        (_, false, None) => ", whose token has no end that is known".to_owned(),
    };
    Some(format!("a sign-in at `{issuer}`{until}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(address: &Value, sign_in: &Value) -> String {
        let server: ServerDto = serde_json::from_value(json!({
            "name": "crm", "id": "srv_1", "agreed": true, "openTasks": 0, "createdAt": "2026-01-01T00:00:00Z",
            "address": address, "health": {"kind": "up"}, "signIn": sign_in,
        }))
        .expect("a server");
        examine("server crm", &server, true).message
    }

    fn signed_in(change: Value) -> Value {
        let mut sign_in = json!({
            "state": "signedIn", "issuer": "https://auth.example", "scopes": [], "missingScopes": [], "renewed": false,
        });
        for (name, value) in change.as_object().into_iter().flatten() {
            sign_in[name] = value.clone();
        }
        sign_in
    }

    #[test]
    fn each_kind_of_secret_is_named() {
        let local = json!({"kind": "stdio", "command": "server", "env": {"MODE": "fast"}});
        assert_eq!(said(&local, &Value::Null), "uses no secret");
        let with_key = json!({"kind": "stdio", "command": "server", "secretEnv": ["API_KEY", "TOKEN"]});
        assert_eq!(said(&with_key, &Value::Null), "uses secret environment variables `API_KEY`, `TOKEN`");
        let hosted = json!({"kind": "http", "url": "https://mcp.example", "secretHeaders": ["Authorization"]});
        assert_eq!(said(&hosted, &Value::Null), "uses secret headers `Authorization`");

        let plain = json!({"kind": "http", "url": "https://mcp.example"});
        assert_eq!(
            said(&plain, &json!({"state": "needed", "scopes": [], "missingScopes": [], "renewed": false})),
            "uses no secret"
        );
        let renewed = said(&plain, &signed_in(json!({"renewed": true, "until": "2000-01-01T00:00:00.000Z"})));
        assert_eq!(renewed, "uses a sign-in at `https://auth.example`, whose token is renewed by itself and ends now");
        let ends = said(&plain, &signed_in(json!({"until": "2999-01-01T00:00:00.000Z"})));
        assert!(ends.contains("ends 2999") && ends.ends_with("is not renewed"), "{ends}");
        let refused = said(&plain, &signed_in(json!({"state": "needed"})));
        assert!(refused.ends_with("which the server does not accept"), "{refused}");
    }
}
