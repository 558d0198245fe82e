//! A person changes how a server is reached: command, arguments, environment, URL or headers.
//!
//! The server keeps its id, its name and its tasks; the address gets a new consent and a new generation, so that a task of the
//! old address is never taken for one of the new one. Nothing is contacted before the person agreed to exactly this address.

use std::collections::BTreeMap;

use domain::audit::Verb;
use domain::ports::ServerUnit;
use domain::server::{Consent, ServerAddress};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{check_address, fact, forget_secrets, keep_secrets, secret_names, with_full_path};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{AddressDto, ServerDto};
use crate::error::{ApiError, Code};
use crate::format::time::count;

/// How a server is reached from now on. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeServer {
    pub name: String,
    pub address: AddressDto,
    /// New values of secret environment variables or headers, by name; those that are not here keep their value.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub secrets: BTreeMap<String, String>,
    /// Whether the person was shown exactly this address and agreed.
    pub agreed: bool,
    /// Open tasks that the person was told of; with more, nothing is changed.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub told_open_tasks: u64,
}

impl Api {
    /// Changes how a server is reached, and connects anew.
    ///
    /// # Errors
    /// When there is none of this name, nobody agreed, a secret has no value, more is open than was told, or it cannot be
    /// recorded: then nothing is changed.
    pub async fn server_change(&self, caller: &Caller, input: ChangeServer) -> Result<ServerDto, ApiError> {
        let live = self.live()?;
        let ChangeServer { name, address, secrets, agreed, told_open_tasks } = input;
        let before = self.find_server(&name).await?;
        let address = with_full_path(live, ServerAddress::from(address));
        let stored = |secret: &String| {
            secret_names(&before.address).contains(secret) && matches!(live.secrets.get(before.id, secret), Ok(Some(_)))
        };
        let known: BTreeMap<String, String> = secret_names(&address)
            .iter()
            .filter(|secret| secrets.contains_key(*secret) || stored(secret))
            .map(|secret| (secret.clone(), String::new()))
            .collect();
        check_address(&address, &known)?;
        if !agreed {
            return Err(ApiError::new(
                Code::Refused,
                format!("contacting server `{name}` was not agreed to"),
                "Check the address and agree.",
            ));
        }
        let open = self.registry.open_count(Some(before.id)).await?;
        if open > told_open_tasks {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{name}` has {}, which may end", count(open, "open task")),
                "Look at them first; more began since you were told.",
            ));
        }
        // Earlier values are put back when the change cannot be recorded.
        let earlier: BTreeMap<String, String> = secrets
            .keys()
            .filter_map(|secret| {
                let value = live.secrets.get(before.id, secret).ok().flatten()?;
                Some((secret.clone(), value.reveal().to_owned()))
            })
            .collect();
        keep_secrets(live, before.id, &secrets)?;
        let now = self.now();
        let mut server = before.clone();
        if server.address != address {
            server.generation = server.generation.saturating_add(1);
        }
        server.consent = Some(Consent { by: caller.person.clone(), at: now, fingerprint: address.fingerprint() });
        server.address = address;
        let changed = domain::audit::AuditEvent {
            note: format!("{name}: {}", what_changed(&before.address, &server.address, !secrets.is_empty())),
            ..fact(&server, caller, Verb::ServerChanged, now)
        };
        let audit = vec![changed, fact(&server, caller, Verb::ServerAllowed, now)];
        if let Err(error) = self.registry.put_server(ServerUnit { server: server.clone(), audit }).await {
            forget_secrets(live, before.id, secrets.keys().filter(|secret| !earlier.contains_key(*secret)));
            // What cannot be put back is named by `doctor` as a secret without a value.
            let _ = keep_secrets(live, before.id, &earlier);
            return Err(error.into());
        }
        let unused = secret_names(&before.address).iter().filter(|name| !secret_names(&server.address).contains(name));
        forget_secrets(live, before.id, unused);
        if url(&before.address) != url(&server.address) {
            // A token is never sent to another address than the one that it was made for.
            live.engine.forget_sign_in(&before).await;
        }
        live.engine.server_changed_by(server.id, &caller.person).await?;
        let limit = self.policy.probe_first_output.saturating_add(self.policy.initialize_limit);
        live.engine.settled(server.id, limit).await;
        let server = self.registry.server(server.id).await?.ok_or(engine::EngineError::UnknownServer)?;
        self.server_dto(&server, &self.registry.tallies().await?).await
    }
}

fn url(address: &ServerAddress) -> Option<&str> {
    match address {
        ServerAddress::Http { url, .. } => Some(url),
        ServerAddress::Stdio { .. } => None,
    }
}

/// Which parts of an address differ, in words without values.
fn what_changed(before: &ServerAddress, after: &ServerAddress, has_secrets: bool) -> String {
    let mut parts = Vec::new();
    match (before, after) {
        (
            ServerAddress::Stdio { command, args, env, secret_env, cwd },
            ServerAddress::Stdio { command: command2, args: args2, env: env2, secret_env: secret_env2, cwd: cwd2 },
        ) => {
            for (differs, word) in [
                (command != command2, "command"),
                (args != args2, "arguments"),
                (env != env2, "variables"),
                (cwd != cwd2, "folder"),
                (secret_env != secret_env2 || has_secrets, "secrets"),
            ] {
                if differs {
                    parts.push(word);
                }
            }
        }
        (ServerAddress::Http { url, secret_headers }, ServerAddress::Http { url: url2, secret_headers: headers2 }) => {
            if url != url2 {
                parts.push("URL");
            }
            if secret_headers != headers2 || has_secrets {
                parts.push("secrets");
            }
        }
        (ServerAddress::Stdio { .. }, ServerAddress::Http { .. })
        | (ServerAddress::Http { .. }, ServerAddress::Stdio { .. }) => parts.push("address"),
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}
