//! A person signs in to a server over HTTP, and out of it.
//!
//! The browser is opened by the door (command line, window), which shows whose page it is first. The engine records the
//! wish and waits (`servers/person_acts/sign_in.rs`).

use std::time::Duration;

use domain::ports::{OwnClient, Secret, SignInWish};
use domain::server::ServerAddress;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use url::Url;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneServer;
use crate::dto::server::sign_in::{SignInBegunDto, SignInDto, SignInShown, SignedOutDto};
use crate::error::{ApiError, Code};

/// How a person wants to sign in. Has no `Debug`: it may carry a secret.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BeginSignIn {
    /// The server's name.
    pub name: String,
    /// The client that the person registered there by hand.
    #[serde(default)]
    #[ts(optional)]
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    #[serde(default)]
    #[ts(optional)]
    pub client_secret: Option<String>,
    /// Permissions to ask for beside those that the server names.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub scopes: Vec<String>,
    /// The port of this machine that the browser comes back to; any free one when left out.
    #[serde(default)]
    #[ts(optional)]
    pub port: Option<u16>,
    /// Whether the place to sign in may be in a private network.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub private_network: bool,
}

/// The address at which a browser elsewhere ended. Has no `Debug`: it carries a code.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FinishSignIn {
    /// The server's name.
    pub name: String,
    pub address: String,
}

/// Waits for the end of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwaitSignIn {
    /// The server's name.
    pub name: String,
    /// How long, in milliseconds; a call is answered after a while in any case.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub wait_ms: u64,
}

impl Api {
    /// Finds out where to sign in, and waits for the browser there.
    ///
    /// # Errors
    /// When there is none of this name, or no way to sign in to it.
    pub async fn sign_in_begin(&self, caller: &Caller, input: BeginSignIn) -> Result<SignInBegunDto, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let wish = wish(input, self.policy.sign_in.scopes_max)?;
        let server_host = match &server.address {
            ServerAddress::Http { url, .. } => host(url),
            ServerAddress::Stdio { .. } => String::new(),
        };
        let started = live.engine.begin_sign_in(server.id, wish, &caller.person).await?;
        Ok(SignInBegunDto::of(started, server_host))
    }

    /// Ends a sign-in with the address at which a browser elsewhere ended.
    ///
    /// # Errors
    /// When nothing waits for it, or it is another address: then the sign-in goes on waiting.
    pub async fn sign_in_finish(&self, _caller: &Caller, input: FinishSignIn) -> Result<SignInShown, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        live.engine.finish_sign_in(server.id, &input.address).await?;
        live.engine.sign_in_ended(&server, self.policy.sign_in.exchange_limit).await;
        Ok(SignInShown { sign_in: SignInDto::of(live.engine.sign_in_status(&server)) })
    }

    /// The sign-in to a server, when no browser is waited for any more or the time is over.
    ///
    /// # Errors
    /// When no core runs, or there is none of this name.
    pub async fn sign_in_wait(&self, _caller: &Caller, input: AwaitSignIn) -> Result<SignInShown, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let wait = Duration::from_millis(input.wait_ms).min(self.policy.sign_in.exchange_limit);
        live.engine.sign_in_ended(&server, wait).await;
        Ok(SignInShown { sign_in: SignInDto::of(live.engine.sign_in_status(&server)) })
    }

    /// Waits for a browser no longer.
    ///
    /// # Errors
    /// When no core runs, or there is none of this name.
    pub async fn sign_in_give_up(&self, _caller: &Caller, input: OneServer) -> Result<SignInShown, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        live.engine.give_up_sign_in(server.id);
        live.engine.sign_in_ended(&server, self.policy.sign_in.exchange_limit).await;
        Ok(SignInShown { sign_in: SignInDto::of(live.engine.sign_in_status(&server)) })
    }

    /// Forgets the tokens of a server, and asks the issuer to forget them.
    ///
    /// # Errors
    /// When there is none of this name, it cannot be recorded, or the tokens cannot be removed.
    pub async fn sign_in_sign_out(&self, caller: &Caller, input: OneServer) -> Result<SignedOutDto, ApiError> {
        let server = self.find_server(&input.name).await?;
        let revocation = self.live()?.engine.sign_out(server.id, &caller.person).await?;
        Ok(SignedOutDto { revocation: revocation.into() })
    }
}

fn wish(input: BeginSignIn, scopes_max: usize) -> Result<SignInWish, ApiError> {
    let BeginSignIn { client_id, client_secret, scopes, port, private_network, .. } = input;
    if client_secret.is_some() && client_id.is_none() {
        return Err(ApiError::new(
            Code::Usage,
            "`clientSecret` is given without `clientId`",
            "Give the id of the client to which the secret belongs.",
        ));
    }
    if client_id.as_ref().is_some_and(|id| id.trim().is_empty()) {
        return Err(ApiError::new(
            Code::Usage,
            "`clientId` is empty",
            "Give the id that the issuer shows, or leave it out.",
        ));
    }
    if let Some(bad) = scopes.iter().find(|scope| !is_scope(scope)) {
        return Err(ApiError::new(
            Code::Usage,
            format!("`{}` is no permission (scope)", domain::policy::plain_text(bad, SHOWN_CHARS)),
            "A permission is one word, such as `files:read`; give several one by one.",
        ));
    }
    if scopes.len() > scopes_max {
        let why = format!("{} permissions are more than the {scopes_max} that are asked for at once", scopes.len());
        return Err(ApiError::new(Code::Usage, why, "Name fewer of them."));
    }
    if port == Some(0) {
        return Err(ApiError::new(Code::Usage, "`port`: 0 is no port", "Leave it out for any free one."));
    }
    let client = client_id.map(|id| OwnClient { id, secret: client_secret.map(Secret::new) });
    Ok(SignInWish { client, scopes, port, may_be_private: private_network })
}

/// A quoted word fits on one line.
const SHOWN_CHARS: usize = 60;

/// RFC 6749, appendix A.4.
fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

fn host(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (host, _) => host.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_for_is_named() {
        let begin = |change: fn(&mut BeginSignIn)| {
            let mut input = BeginSignIn {
                name: "files".into(),
                client_id: None,
                client_secret: None,
                scopes: Vec::new(),
                port: None,
                private_network: false,
            };
            change(&mut input);
            wish(input, 2).map_err(|error| error.message)
        };
        assert!(begin(|_| {}).is_ok());
        for (change, word) in [
            ((|input| input.client_secret = Some("s".into())) as fn(&mut BeginSignIn), "clientId"),
            (|input| input.client_id = Some(" ".into()), "clientId"),
            (|input| input.scopes = vec!["two words".into()], "two words"),
            (|input| input.scopes = vec!["a".into(), "b".into(), "c".into()], "3"),
            (|input| input.port = Some(0), "port"),
        ] {
            let error = begin(change).expect_err("refused");
            assert!(error.contains(word), "{error}");
        }
    }
}
