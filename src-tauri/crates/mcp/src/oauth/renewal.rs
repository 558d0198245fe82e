//! Renews the token of a server before it ends, or when the server refuses it.
//!
//! What the issuer gives is on disk before it is used: an issuer that rotates accepts the older one no more. A refusal
//! that is final ends the sign-in; anything else is tried again.

use std::sync::Arc;

use domain::ports::{SecretError, SignInFault};
use http::HeaderValue;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::discovery::discover;
use super::faults::{
    broken, client_forgotten, expired, fault, is_unknown_client, not_kept, of_library, renewal_unended,
};
use super::stored::{self, StoredClient, StoredSignIn};
use super::token::{ServerToken, check_token, moment};

/// The library's client for one server, once it was needed.
#[derive(Default)]
pub(crate) struct Renewer {
    client: Option<RenewalClient>,
    /// What the issuer gave and the disk did not take yet.
    unsaved: Option<StoredSignIn>,
}

struct RenewalClient {
    manager: AuthorizationManager,
    store: InMemoryCredentialStore,
    /// Whom it asks, for messages.
    host: String,
    of: StoredClient,
}

impl Renewer {
    /// The sign-in is another one.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whom it asks, once that was found out.
    fn host(&self) -> Option<&str> {
        self.client.as_ref().map(|client| client.host.as_str())
    }
}

/// Why there is no new token.
enum NotRenewed {
    /// A person has to sign in again.
    Over { why: SignInFault, forgets_client: bool },
    /// It may work later.
    Later(SignInFault),
}

impl From<SecretError> for NotRenewed {
    fn from(error: SecretError) -> Self {
        Self::Later(not_kept(&error))
    }
}

impl ServerToken {
    /// Renews the token, unless that was done while this waited for its turn. `refused` is the one that the server does
    /// not accept; without one it is due.
    ///
    /// It goes on when whoever waits for it does not: what an issuer rotated must not be lost with a call that is
    /// cancelled.
    pub(super) async fn renew(self: &Arc<Self>, refused: Option<&HeaderValue>) {
        let (token, refused, before) = (Arc::clone(self), refused.cloned(), self.carried());
        let (done, ended) = oneshot::channel::<()>();
        let (stopping, grace) = (self.shared.supervisor.stopping(), self.shared.policy.sign_in.stop_grace);
        self.shared.supervisor.spawn_draining("token renewal", async move {
            tokio::select! {
                () = token.renew_in_turn(refused.as_ref()) => {}
                () = async { stopping.cancelled().await; sleep(grace).await } => {}
            }
            drop(done);
        });
        // It ends when the sender is gone. A request that waits has a limit of its own, and half of it is enough for this:
        // else it would end with nothing but that its server did not answer.
        let wait = self.shared.policy.reply_limit / 2;
        if timeout(wait, ended).await.is_err() {
            self.renewal_is_late(before.as_ref(), renewal_unended(None, wait));
        }
    }

    async fn renew_in_turn(self: &Arc<Self>, refused: Option<&HeaderValue>) {
        let mut renewer = self.renewing.lock().await;
        if self.is_settled(refused) {
            return;
        }
        let limit = self.shared.policy.sign_in.exchange_limit;
        let ended = timeout(limit, self.renew_once(&mut renewer)).await;
        let renewed = match ended {
            Ok(renewed) => renewed,
            Err(_) => Err(NotRenewed::Later(renewal_unended(renewer.host(), limit))),
        };
        match renewed {
            Ok(stored) => self.renewed(&stored),
            Err(NotRenewed::Later(why)) => {
                tracing::warn!(server = %self.server, why = %why.why, "a token was not renewed");
                self.not_renewed(why);
            }
            Err(NotRenewed::Over { why, forgets_client }) => {
                tracing::warn!(server = %self.server, why = %why.why, "a sign-in is over");
                renewer.forget();
                self.ended(why);
                // If it stays on the disk, the issuer refuses it again after the next start.
                if let Err(error) = self.forget_token(forgets_client).await {
                    tracing::warn!(server = %self.server, %error, "a token that is over stays where secrets lie");
                }
            }
        }
    }

    async fn renew_once(&self, renewer: &mut Renewer) -> Result<StoredSignIn, NotRenewed> {
        if let Some(unsaved) = renewer.unsaved.take() {
            return self.keep(unsaved, renewer).await;
        }
        let stored = self.shared.load(self.server).await?;
        let (Some(client), Some(credentials)) = (&stored.client, &stored.credentials) else {
            let why = fault("the sign-in is not kept any more", "Sign in again.");
            return Err(NotRenewed::Over { why, forgets_client: false });
        };
        let with = match renewer.client.take().filter(|made| made.of == *client) {
            Some(made) => made,
            None => self.client(client, stored.may_be_private).await?,
        };
        let with = renewer.client.insert(with);
        let host = &with.host;
        with.store.save(credentials.clone()).await.map_err(|error| NotRenewed::Later(of_library(&error, host)))?;
        match with.manager.refresh_token().await {
            Ok(_) => {}
            Err(error) if is_unknown_client(&error) => {
                return Err(NotRenewed::Over { why: client_forgotten(host), forgets_client: !client.is_own });
            }
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                return Err(NotRenewed::Over { why: expired(host), forgets_client: false });
            }
            Err(error) => return Err(NotRenewed::Later(of_library(&error, host))),
        }
        let given = with.store.load().await.ok().flatten();
        let mut given = given.ok_or_else(|| NotRenewed::Later(broken(format!("`{host}` gave no token"))))?;
        given.token_received_at = Some(moment(&self.shared));
        let over = |why| NotRenewed::Over { why, forgets_client: false };
        check_token(&given, &self.shared.policy.sign_in).map_err(over)?;
        self.keep(StoredSignIn { credentials: Some(given), ..stored }, renewer).await
    }

    async fn keep(&self, stored: StoredSignIn, renewer: &mut Renewer) -> Result<StoredSignIn, NotRenewed> {
        match self.shared.save(self.server, stored.clone()).await {
            Ok(()) => Ok(stored),
            Err(error) => {
                renewer.unsaved = Some(stored);
                Err(error.into())
            }
        }
    }

    async fn client(&self, client: &StoredClient, may_be_private: bool) -> Result<RenewalClient, NotRenewed> {
        let challenge = self.current_challenge().await.map_err(NotRenewed::Later)?;
        let found = discover(&self.url, challenge.as_deref(), may_be_private, &self.shared.policy.sign_in).await;
        let (mut manager, issuer) = found.map_err(NotRenewed::Later)?;
        if issuer.name != client.issuer {
            let why = fault(
                format!("the server names `{}` as the place to sign in now, and not the one before", issuer.host),
                "Sign in again, if you trust it.",
            );
            return Err(NotRenewed::Over { why, forgets_client: true });
        }
        let mut config = OAuthClientConfig::new(&client.id, &self.url);
        if let Some(secret) = &client.secret {
            config = config.with_client_secret(secret);
        }
        manager.configure_client(config).map_err(|error| NotRenewed::Later(of_library(&error, &issuer.host)))?;
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        Ok(RenewalClient { manager, store, host: issuer.host, of: client.clone() })
    }

    async fn forget_token(&self, forgets_client: bool) -> Result<(), SecretError> {
        let mut stored = self.shared.load(self.server).await?;
        stored.credentials = None;
        if forgets_client {
            stored.client = None;
        }
        self.shared.save(self.server, stored).await
    }
}

/// Secrets are read and written beside the runtime: a keychain may ask its person first.
impl super::OAuthShared {
    pub(super) async fn load(&self, server: domain::ids::ServerId) -> Result<StoredSignIn, SecretError> {
        let secrets = Arc::clone(&self.secrets);
        let loaded = tokio::task::spawn_blocking(move || stored::load(secrets.as_ref(), server)).await;
        Ok(loaded.map_err(|_| unfinished())??.unwrap_or_default())
    }

    pub(super) async fn save(&self, server: domain::ids::ServerId, what: StoredSignIn) -> Result<(), SecretError> {
        let secrets = Arc::clone(&self.secrets);
        let saved = tokio::task::spawn_blocking(move || stored::save(secrets.as_ref(), server, &what)).await;
        saved.map_err(|_| unfinished())?
    }

    pub(super) async fn forget(&self, server: domain::ids::ServerId) -> Result<(), SecretError> {
        let secrets = Arc::clone(&self.secrets);
        let forgotten = tokio::task::spawn_blocking(move || stored::forget(secrets.as_ref(), server)).await;
        forgotten.map_err(|_| unfinished())?
    }
}

fn unfinished() -> SecretError {
    SecretError("the place where secrets lie did not finish".into())
}
