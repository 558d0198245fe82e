//! The way from a person's wish to a token.
//!
//! Begin: find the issuer, choose a client (one that a person registered, the one of before, a published document, a new
//! registration), listen for the browser, and give the address that it opens. End: the browser, or a person with the
//! address at which one ended, brings a code; it is exchanged, and the token is kept before it is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::ids::ServerId;
use domain::policy::SignInPolicy;
use domain::ports::{
    GrantedSignIn, PortFuture, Revocation, SecretError, ServerSignIns, SignInBegun, SignInFault, SignInWish, TokenFacts,
};
use domain::server::Server;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore as _, InMemoryCredentialStore,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::browser::{BrowserAnswer, Expected};
use super::callback::{Callback, CallbackAddress, CallbackEnd};
use super::discovery::{Issuer, discover};
use super::faults::{broken, client_forgotten, fault, is_unknown_client, not_kept, of_library, own_client_refused};
use super::revocation::revoke;
use super::stored::{StoredClient, StoredSignIn};
use super::token::{ServerToken, check_token, moment};
use super::{OAuth, OAuthShared};

/// How Taskwarden names itself where it registers.
const CLIENT_NAME: &str = "Taskwarden";

/// Addresses of browsers that are not judged yet. Judgement: there is one browser.
const UNJUDGED: usize = 4;

/// Where an address is brought to, while a sign-in waits.
pub(crate) struct WaitingSignIn {
    to: mpsc::Sender<Callback>,
    over: CancellationToken,
    /// Addresses that were brought and are not of it.
    strays: Arc<AtomicU32>,
}

/// A sign-in from the moment on in which the browser is sent away.
struct Exchange {
    token: Arc<ServerToken>,
    session: AuthorizationSession,
    store: InMemoryCredentialStore,
    expected: Expected,
    issuer: Issuer,
    client: StoredClient,
    may_be_private: bool,
    asked: Vec<String>,
    from: mpsc::Receiver<Callback>,
    over: CancellationToken,
    strays: Arc<AtomicU32>,
    /// Ends the listener with this.
    _listening: DropGuard,
}

impl OAuth {
    async fn begin(&self, server: &Server, wish: SignInWish) -> Result<SignInBegun, SignInFault> {
        let policy = &self.shared.policy.sign_in;
        let token = self.token(server).ok_or_else(|| not_offered(server))?;
        self.stop_waiting(server.id);
        let stored = self.shared.load(server.id).await.map_err(|error| not_kept(&error))?;
        let stored = if stored.url == token.url { stored } else { StoredSignIn::default() };
        let may_be_private = wish.may_be_private || stored.may_be_private;
        let challenge = token.current_challenge().await?;
        let found = discover(&token.url, challenge.as_deref(), may_be_private, policy).await;
        let (mut manager, issuer) = found?;
        let known = stored.client.clone().filter(|client| client.issuer == issuer.name);
        // A browser that did not come back may have met an issuer that forgot the client.
        let known = known.filter(|client| client.is_own || !token.is_unanswered());
        let callback = self.callback(&wish, known.as_ref()).await?;
        let known = known.filter(|client| client.port == callback.port || client.is_own);
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        let mut scopes = manager.select_initial_scopes(&[]).await;
        for scope in token.scopes_to_ask().into_iter().chain(wish.scopes.iter().cloned()) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes.truncate(policy.scopes_max);
        let client = self.client(&mut manager, &issuer, &wish, known, &callback, &scopes).await?;
        // A sign-in that is good stays as it is until this one succeeds.
        if stored.credentials.is_none() && !client.is_own {
            let kept = StoredSignIn {
                url: token.url.clone(),
                client: Some(client.clone()),
                credentials: None,
                may_be_private,
            };
            self.shared.save(server.id, kept).await.map_err(|error| not_kept(&error))?;
        }
        let session = session(manager, &client, &callback, scopes.clone(), &issuer).await?;
        let address = session.get_authorization_url().to_owned();
        let asked = asked_scopes(&address);
        let expected =
            Expected::of(&address, &issuer).ok_or_else(|| broken("the address to sign in has no `state`"))?;
        token.note_unanswered(true);
        let (to, from) = mpsc::channel(UNJUDGED);
        let over = CancellationToken::new();
        callback.listen(to.clone(), over.clone(), policy, &self.shared.supervisor);
        let strays = Arc::new(AtomicU32::new(0));
        let waiting = WaitingSignIn { to, over: over.clone(), strays: Arc::clone(&strays) };
        if let Some(before) = self.waiting.lock().insert(server.id, waiting) {
            // Two people began at once: the later one waits.
            before.over.cancel();
        }
        let (host, name, wait) = (issuer.host.clone(), issuer.name.clone(), policy.browser_wait);
        let listening = over.clone().drop_guard();
        let shown = asked.clone();
        let exchange = Exchange {
            token,
            session,
            store,
            expected,
            issuer,
            client,
            may_be_private,
            asked,
            from,
            over,
            strays,
            _listening: listening,
        };
        Ok(SignInBegun {
            address,
            host,
            issuer: name,
            scopes: shown,
            wait,
            outcome: Box::pin(exchange.finish(Arc::clone(&self.shared))),
        })
    }

    /// The port of before where that is possible: some issuers compare it.
    async fn callback(&self, wish: &SignInWish, known: Option<&StoredClient>) -> Result<CallbackAddress, SignInFault> {
        if let Some(port) = wish.port {
            return CallbackAddress::bind(port).await;
        }
        if let Some(client) = known
            && let Ok(callback) = CallbackAddress::bind(client.port).await
        {
            return Ok(callback);
        }
        CallbackAddress::bind(0).await
    }

    /// The client to sign in as, in the order of the protocol (protocol.md §5.1, step 4).
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        issuer: &Issuer,
        wish: &SignInWish,
        known: Option<StoredClient>,
        callback: &CallbackAddress,
        scopes: &[String],
    ) -> Result<StoredClient, SignInFault> {
        let client = |id: String, secret: Option<String>, is_own: bool| StoredClient {
            issuer: issuer.name.clone(),
            id,
            secret,
            port: callback.port,
            is_own,
        };
        if let Some(own) = &wish.client {
            let secret = own.secret.as_ref().map(|secret| secret.reveal().to_owned());
            return Ok(client(own.id.clone(), secret, true));
        }
        if let Some(known) = known {
            return Ok(known);
        }
        if let Some(document) = self.shared.client_document.as_ref().filter(|_| issuer.takes_client_documents) {
            return Ok(client(document.clone(), None, false));
        }
        if !issuer.registers {
            return Err(by_hand(issuer, callback, "does not let programs register themselves"));
        }
        let (scopes, redirect): (Vec<&str>, String) =
            (scopes.iter().map(String::as_str).collect(), callback.redirect());
        let registering = manager.register_client(CLIENT_NAME, &redirect, &scopes);
        match timeout(self.shared.policy.sign_in.exchange_limit, registering).await {
            Ok(Ok(made)) => Ok(client(made.client_id, made.client_secret, false)),
            Ok(Err(_)) => Err(by_hand(issuer, callback, "did not register Taskwarden")),
            Err(_) => Err(by_hand(issuer, callback, "did not answer when Taskwarden wanted to register")),
        }
    }

    fn stop_waiting(&self, server: ServerId) {
        if let Some(waiting) = self.waiting.lock().remove(&server) {
            waiting.over.cancel();
        }
    }

    async fn bring(&self, server: ServerId, address: &str) -> Result<(), SignInFault> {
        let over = || fault("no sign-in waits for an address", "Begin it again; it waits for some minutes.");
        let to = self
            .waiting
            .lock()
            .get(&server)
            .filter(|waiting| !waiting.over.is_cancelled())
            .map(|waiting| waiting.to.clone());
        let to = to.ok_or_else(over)?;
        let (end, ended) = oneshot::channel();
        let callback = Callback { address: address.trim().to_owned(), end };
        to.send(callback).await.map_err(|_| over())?;
        match ended.await {
            Ok(CallbackEnd::SignedIn | CallbackEnd::Failed) => Ok(()),
            Ok(CallbackEnd::NotOurs) => Err(fault(
                "this is not the address that ends the sign-in",
                "Copy the whole address of the page at which the browser ended after you signed in. It begins with \
                 `http://127.0.0.1:` and holds `code=` and `state=`.",
            )),
            Err(_) => Err(over()),
        }
    }

    async fn sign_out(&self, server: &Server) -> Result<Revocation, SecretError> {
        self.stop_waiting(server.id);
        let stored = self.shared.load(server.id).await?;
        let token = self.tokens.lock().get(&server.id).cloned();
        // A renewal that is under way must not bring the token back.
        let mut renewer = match &token {
            Some(token) => Some(token.renewing.lock().await),
            None => None,
        };
        self.shared.forget(server.id).await?;
        if let Some(token) = &token {
            token.adopt(&StoredSignIn::default(), Vec::new());
        }
        if let Some(renewer) = &mut renewer {
            renewer.forget();
        }
        drop(renewer);
        Ok(match (&stored.credentials, &stored.client) {
            (Some(_), Some(_)) => revoke(&stored, &self.shared.policy.sign_in).await,
            _ => Revocation::Nothing,
        })
    }
}

async fn session(
    manager: AuthorizationManager,
    client: &StoredClient,
    callback: &CallbackAddress,
    scopes: Vec<String>,
    issuer: &Issuer,
) -> Result<AuthorizationSession, SignInFault> {
    let mut request =
        AuthorizationRequest::new(callback.redirect()).with_scopes(scopes).with_preregistered_client(&client.id);
    if let Some(secret) = &client.secret {
        request = request.with_client_secret(secret);
    }
    let session = AuthorizationSession::new(manager, request).await;
    session.map_err(|(_, error)| of_library(&error, &issuer.host))
}

/// The permissions in the address that the browser opens.
fn asked_scopes(address: &str) -> Vec<String> {
    let Ok(address) = Url::parse(address) else { return Vec::new() };
    let scope = address.query_pairs().find(|(name, _)| name == "scope");
    scope.map(|(_, all)| all.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
}

fn by_hand(issuer: &Issuer, callback: &CallbackAddress, why: &str) -> SignInFault {
    fault(
        format!("`{}` {why}", issuer.host),
        format!(
            "Register Taskwarden there by hand, as a native program with the redirect address `{}`, and sign in with \
             `--client-id ID --port {}`.",
            callback.redirect(),
            callback.port
        ),
    )
}

fn not_offered(server: &Server) -> SignInFault {
    match &server.address {
        domain::server::ServerAddress::Stdio { .. } => fault(
            format!("server `{}` runs on this machine, and is not signed in to", server.name),
            "Give it what it needs as secret environment variables.",
        ),
        domain::server::ServerAddress::Http { .. } => fault(
            format!("server `{}` has a token of its own, in the header `Authorization`", server.name),
            "Change the server so that it has no such header; then sign in.",
        ),
    }
}

impl Exchange {
    /// Waits for the address that ends the sign-in, and takes the token that it brings.
    async fn finish(mut self, shared: Arc<OAuthShared>) -> Result<Option<GrantedSignIn>, SignInFault> {
        let wait = shared.policy.sign_in.browser_wait;
        let over = self.over.clone();
        tokio::select! {
            () = over.cancelled() => Ok(None),
            () = sleep(wait) => Err(fault(
                format!("nobody signed in at `{}` within {} min", self.issuer.host, wait.as_secs() / 60),
                "Begin it again.",
            )),
            ended = self.until_ended(&shared) => ended.map(Some),
        }
    }

    async fn until_ended(&mut self, shared: &OAuthShared) -> Result<GrantedSignIn, SignInFault> {
        loop {
            let Some(Callback { address, end }) = self.from.recv().await else {
                // Nobody can bring one any more: it was given up, which is seen elsewhere.
                return std::future::pending().await;
            };
            let ended = match self.expected.judge(&address) {
                BrowserAnswer::NotOurs => {
                    // It may come from any page, so that it changes nothing but what is said of the wait.
                    self.strays.fetch_add(1, Ordering::AcqRel);
                    let _ = end.send(CallbackEnd::NotOurs);
                    continue;
                }
                BrowserAnswer::Refused(fault) => {
                    self.token.note_unanswered(false);
                    Err(fault)
                }
                BrowserAnswer::Code => {
                    self.token.note_unanswered(false);
                    self.exchange(&address, shared).await
                }
            };
            // Whoever brought it may have gone away.
            let _ = end.send(if ended.is_ok() { CallbackEnd::SignedIn } else { CallbackEnd::Failed });
            return ended;
        }
    }

    async fn exchange(&self, address: &str, shared: &OAuthShared) -> Result<GrantedSignIn, SignInFault> {
        let policy: &SignInPolicy = &shared.policy.sign_in;
        let host = &self.issuer.host;
        match timeout(policy.exchange_limit, self.session.handle_callback_url(address)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if is_unknown_client(&error) => return Err(self.client_refused()),
            Ok(Err(error)) => return Err(of_library(&error, host)),
            Err(_) => {
                let limit = policy.exchange_limit.as_secs();
                return Err(fault(format!("`{host}` gave no token within {limit} s"), "Sign in again."));
            }
        }
        let given = self.store.load().await.ok().flatten();
        let mut given = given.ok_or_else(|| broken(format!("`{host}` gave no token")))?;
        given.token_received_at = Some(moment(shared));
        check_token(&given, policy)?;
        let scopes = given.granted_scopes.clone();
        let stored = StoredSignIn {
            url: self.token.url.clone(),
            client: Some(self.client.clone()),
            credentials: Some(given),
            may_be_private: self.may_be_private,
        };
        let mut renewer = self.token.renewing.lock().await;
        // What cannot be read cannot be given up.
        let before = shared.load(self.token.server).await.unwrap_or_default();
        shared.save(self.token.server, stored.clone()).await.map_err(|error| not_kept(&error))?;
        renewer.forget();
        self.token.adopt(&stored, self.asked.clone());
        shared.give_up_replaced(before, &stored);
        Ok(GrantedSignIn { issuer: self.issuer.name.clone(), scopes })
    }
}

impl Exchange {
    /// A client that registered itself is registered anew by the next sign-in.
    fn client_refused(&self) -> SignInFault {
        let host = &self.issuer.host;
        if self.client.is_own {
            return own_client_refused(host);
        }
        self.token.note_unanswered(true);
        client_forgotten(host)
    }
}

impl ServerSignIns for OAuth {
    fn begin<'a>(&'a self, server: &'a Server, wish: SignInWish) -> PortFuture<'a, Result<SignInBegun, SignInFault>> {
        Box::pin(self.begin(server, wish))
    }

    fn finish<'a>(&'a self, server: ServerId, address: &'a str) -> PortFuture<'a, Result<(), SignInFault>> {
        Box::pin(self.bring(server, address))
    }

    fn give_up(&self, server: ServerId) {
        self.stop_waiting(server);
    }

    fn sign_out<'a>(&'a self, server: &'a Server) -> PortFuture<'a, Result<Revocation, SecretError>> {
        Box::pin(self.sign_out(server))
    }

    fn facts(&self, server: &Server) -> TokenFacts {
        let Some(token) = self.token(server) else { return TokenFacts::default() };
        let waiting = self.waiting.lock();
        let waiting = waiting.get(&server.id).filter(|waiting| !waiting.over.is_cancelled());
        let stray_answers = waiting.map_or(0, |waiting| waiting.strays.load(Ordering::Acquire));
        TokenFacts { is_waiting: waiting.is_some(), stray_answers, ..token.facts() }
    }
}
