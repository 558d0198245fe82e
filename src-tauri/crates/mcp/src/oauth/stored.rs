//! What is kept of the sign-in to one server: the client that is registered, and its tokens.
//!
//! All of it is one secret, so that a change is whole or not at all. A token belongs to the URL that it was made for and
//! is never sent to another one.

use domain::ids::ServerId;
use domain::ports::{Secret, SecretError, Secrets};
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};

/// The name of the secret. No header has it, because of the space.
const NAME: &str = "oauth sign-in";

/// No `Debug`: it is a secret.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSignIn {
    /// The server's URL when a person signed in.
    pub(crate) url: String,
    pub(crate) client: Option<StoredClient>,
    pub(crate) credentials: Option<StoredCredentials>,
    /// The issuer may be in a private network, as the person said.
    #[serde(default)]
    pub(crate) may_be_private: bool,
}

/// The client that is registered at an issuer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredClient {
    pub(crate) issuer: String,
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    /// The port of this machine that it was registered with.
    pub(crate) port: u16,
    /// A person registered it by hand, so it is not replaced.
    #[serde(default)]
    pub(crate) is_own: bool,
}

/// Reads what is kept; what does not read counts as none, because a person can sign in again.
pub(crate) fn load(secrets: &dyn Secrets, server: ServerId) -> Result<Option<StoredSignIn>, SecretError> {
    let Some(text) = secrets.get(server, NAME)? else { return Ok(None) };
    let stored = serde_json::from_str(text.reveal());
    if stored.is_err() {
        tracing::warn!(%server, "what is kept of a sign-in does not read; a person has to sign in again");
    }
    Ok(stored.ok())
}

/// Keeps it; durable when it returns.
pub(crate) fn save(secrets: &dyn Secrets, server: ServerId, stored: &StoredSignIn) -> Result<(), SecretError> {
    let text = serde_json::to_string(stored).map_err(|_| SecretError("a sign-in cannot be written as JSON".into()))?;
    secrets.put(server, NAME, &Secret::new(text))
}

/// Removes it, so that the next request goes without a token.
pub(crate) fn forget(secrets: &dyn Secrets, server: ServerId) -> Result<(), SecretError> {
    secrets.forget(server, NAME)
}
