//! Which server of Taskwarden an entry of a file means, if there is one already.
//!
//! Two entries mean the same server only when everything that reaches it is the same, secrets included. A value that a
//! file leaves open is not known, so such an entry means what it was imported as, and nothing else: it could be the same
//! address with the secret of another account.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::digest::sha256_hex;
use domain::ids::ServerId;
use domain::server::{Server, ServerAddress};
use serde_json::json;

use super::files::{ClientEntry, ClientFile, EntryReading, HiddenValues, secret_names};
use super::launch::ClientLaunch;
use crate::api::{Api, LiveCore};
use crate::calls::servers::with_full_path;
use crate::error::ApiError;

/// The kind of user data that says which entries a server was imported from.
const KIND: &str = "clientImport";

/// The servers of Taskwarden, and the entries with open values that they were imported from.
pub(super) struct KnownServers {
    pub(super) servers: Vec<Server>,
    imported: BTreeMap<String, BTreeSet<String>>,
}

impl Api {
    pub(super) async fn known_servers(&self) -> Result<KnownServers, ApiError> {
        let servers = self.registry.servers().await?;
        let mut imported = BTreeMap::new();
        for item in self.registry.desk_list(KIND).await? {
            // What cannot be read is asked for once more.
            imported.insert(item.key, serde_json::from_str(&item.value).unwrap_or_default());
        }
        Ok(KnownServers { servers, imported })
    }

    /// From now on this entry means this server.
    pub(super) async fn remember_import(
        &self,
        known: &KnownServers,
        server: ServerId,
        path: &Path,
        launch: &ClientLaunch,
    ) -> Result<(), ApiError> {
        let key = server.to_string();
        let mut entries = known.imported.get(&key).cloned().unwrap_or_default();
        if !launch.variables.is_empty() && entries.insert(identity(path, launch)) {
            self.registry.desk_put(KIND, &key, Some(json!(entries).to_string()), self.now()).await?;
        }
        Ok(())
    }
}

impl KnownServers {
    /// The server that an entry of a file means.
    pub(super) fn of_entry(&self, live: &LiveCore, file: &ClientFile, entry: &ClientEntry) -> Option<&Server> {
        match &entry.reading {
            EntryReading::Direct(launch) => self.of(live, &file.path, launch),
            EntryReading::Routed { .. } | EntryReading::Unresolved(_) => None,
        }
    }

    /// The server that a launch in this file means.
    pub(super) fn of(&self, live: &LiveCore, path: &Path, launch: &ClientLaunch) -> Option<&Server> {
        let located = with_full_path(live, launch.address.clone());
        let is_imported = |server: &Server| {
            let entries = self.imported.get(&server.id.to_string());
            entries.is_some_and(|entries| entries.contains(&identity(path, launch)))
        };
        self.servers.iter().find(|server| {
            (launch.variables.is_empty() || is_imported(server))
                && launch.is_of(&server.address, &located)
                && keeps(live, server, |name, kept| launch.secret_fits(name, kept))
        })
    }

    /// The server with this address and these secrets.
    pub(super) fn equal(&self, live: &LiveCore, address: &ServerAddress, secrets: &HiddenValues) -> Option<&Server> {
        self.servers.iter().find(|server| {
            server.address == *address
                && keeps(live, server, |name, kept| secrets.0.get(name).is_some_and(|value| value == kept))
        })
    }
}

/// Whether all secrets that are kept of a server are the right ones.
fn keeps(live: &LiveCore, server: &Server, is_right: impl Fn(&str, &str) -> bool) -> bool {
    secret_names(&server.address).iter().all(|name| {
        let kept = live.secrets.get(server.id, name).ok().flatten();
        kept.is_some_and(|kept| is_right(name, kept.reveal()))
    })
}

/// Names what an entry means without the values that it leaves open. A variable of the environment with the same default
/// is the same in all files, in whatever form a program writes it; any other is one of its own file.
pub(super) fn identity(path: &Path, launch: &ClientLaunch) -> String {
    let named = |is_environment: bool| if is_environment { None } else { Some(path.display().to_string()) };
    let values = launch.variables.iter().map(|variable| {
        let stands_for = json!([variable.name, variable.default, named(variable.is_environment)]).to_string();
        (variable.name.clone(), stands_for)
    });
    // Every variable has a value here.
    let filled = launch.filled(&values.collect());
    sha256_hex(filled.map_or_else(
        |variable| json!(variable.token).to_string(),
        |(address, secrets)| json!([address.fingerprint(), secrets.0]).to_string(),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::launch::LaunchVariable;
    use super::*;

    fn launch(token: &str, is_environment: bool) -> ClientLaunch {
        let variable =
            LaunchVariable { token: token.into(), name: "KEY".into(), is_environment, is_secret: true, default: None };
        ClientLaunch {
            address: ServerAddress::Http {
                url: "http://127.0.0.1/mcp".into(),
                secret_headers: vec!["authorization".into()],
            },
            secrets: HiddenValues(BTreeMap::from([("authorization".into(), format!("Bearer {token}"))])),
            variables: vec![variable],
        }
    }

    #[test]
    fn a_variable_of_the_environment_is_the_same_in_all_files_and_any_other_in_its_own() {
        let (one, other) = (Path::new("/a.json"), Path::new("/b.json"));
        let of = |path, token: &str, is_environment| identity(path, &launch(token, is_environment));
        assert_eq!(of(one, "${KEY}", true), of(other, "{env:KEY}", true));
        assert_eq!(of(one, "${input:KEY}", false), of(one, "${input:KEY}", false));
        assert_ne!(of(one, "${input:KEY}", false), of(other, "${input:KEY}", false));
        assert_ne!(of(one, "${KEY}", true), of(one, "${input:KEY}", false));
        let mut with_default = launch("${KEY:-x}", true);
        with_default.variables.iter_mut().for_each(|variable| variable.default = Some("x".into()));
        assert_ne!(identity(one, &with_default), of(one, "${KEY}", true), "without a value they differ");
        let literal = ClientLaunch { variables: Vec::new(), ..launch("${KEY}", true) };
        assert_ne!(identity(one, &literal), of(one, "${KEY}", true), "a text that looks like one is none");
    }
}
