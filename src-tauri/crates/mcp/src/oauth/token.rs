//! The token of one server: what goes into its requests, and when it is renewed.
//!
//! Reading it costs a request one uncontended lock. It is renewed before it ends, one renewal at a time (`renewal.rs`).
//! When the server refuses it, it is renewed once; one that was renewed for that reason is not renewed again at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::ids::ServerId;
use domain::policy::SignInPolicy;
use domain::ports::{SignInFault, TokenFacts};
use domain::time::Timestamp;
use http::HeaderValue;
use http::header::{HeaderMap, WWW_AUTHENTICATE};
use parking_lot::{Mutex, RwLock};
use rmcp::transport::auth::{StoredCredentials, WWWAuthenticateParams};
use serde::Deserialize;
use tokio::time::Instant;
use url::Url;

use super::OAuthShared;
use super::faults::{broken, fault};
use super::renewal::Renewer;
use super::resource::refusal;
use super::stored::StoredSignIn;

/// The token of a server, or that there is none.
pub(crate) struct ServerToken {
    pub(super) server: ServerId,
    /// Its name here, for hints.
    name: String,
    pub(super) url: String,
    pub(super) shared: Arc<OAuthShared>,
    state: RwLock<TokenState>,
    /// Held while the token is renewed or replaced.
    pub(super) renewing: tokio::sync::Mutex<Renewer>,
    is_renewing: AtomicBool,
    /// The server refused the token, and did not accept it since.
    is_refused: AtomicBool,
    /// The browser was sent to the issuer, and did not come back.
    is_unanswered: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct TokenState {
    header: Option<HeaderValue>,
    /// When it was renewed because the server refused the one before.
    since_refusal: Option<Instant>,
    renew_at: Option<Instant>,
    ends: Option<Instant>,
    /// The end, for people.
    until: Option<Timestamp>,
    can_renew: bool,
    issuer: Option<String>,
    scopes: Vec<String>,
    /// A person has to sign in: why.
    needed: Option<SignInFault>,
    /// It could not be renewed, for a reason that may pass.
    stuck: Option<SignInFault>,
}

/// What the server said when it refused requests.
#[derive(Default)]
struct Seen {
    challenge: Option<String>,
    missing_scopes: Vec<String>,
    /// What the last sign-in asked for: what is still missing after it is not asked for again.
    asked_scopes: Vec<String>,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bearer {
    Nothing,
    Token(HeaderValue),
    /// The token is over, and cannot be renewed now.
    Stuck(SignInFault),
}

/// What becomes of a request that the server refused with 401.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefusedRequest {
    /// Another token is there to try again with.
    TryAgain,
    /// A person has to sign in.
    NeedsPerson,
    /// The token could not be renewed, for a reason that may pass.
    Stuck(SignInFault),
}

/// A token as the issuer gave it.
#[derive(Deserialize)]
struct GivenToken {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    refresh_token: Option<String>,
}

impl GivenToken {
    fn of(credentials: &StoredCredentials) -> Option<Self> {
        let given = serde_json::to_value(credentials.token_response.as_ref()?).ok()?;
        serde_json::from_value(given).ok()
    }
}

/// The header of a token, if it can be sent.
fn header(given: &GivenToken, policy: &SignInPolicy) -> Result<HeaderValue, SignInFault> {
    if !given.token_type.eq_ignore_ascii_case("bearer") {
        return Err(broken("the token that was given is not of the kind that MCP uses (bearer)"));
    }
    let length = given.access_token.len();
    if length > policy.token_bytes {
        let most = policy.token_bytes;
        return Err(broken(format!("the token that was given has {length} bytes, more than the {most} that are sent")));
    }
    let is_sendable = !given.access_token.is_empty() && given.access_token.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::from_str(&format!("Bearer {}", given.access_token)).ok().filter(|_| is_sendable);
    let mut value = value.ok_or_else(|| broken("the token that was given has characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether credentials hold a token that can be sent.
pub(super) fn check_token(credentials: &StoredCredentials, policy: &SignInPolicy) -> Result<(), SignInFault> {
    let given = GivenToken::of(credentials).ok_or_else(|| broken("no token that can be used was given"))?;
    header(&given, policy).map(drop)
}

/// The moment in seconds, as credentials keep it. The library takes it from a clock that steps.
pub(super) fn moment(shared: &OAuthShared) -> u64 {
    u64::try_from(shared.clock.now().as_millis()).unwrap_or_default() / 1_000
}

/// Time since something was received, as far as that can be told.
fn age(received: Option<u64>, shared: &OAuthShared) -> Duration {
    Duration::from_secs(received.map_or(0, |received| moment(shared).saturating_sub(received)))
}

impl TokenState {
    fn of(stored: &StoredSignIn, shared: &OAuthShared) -> Self {
        let policy = &shared.policy.sign_in;
        let Some(credentials) = &stored.credentials else { return Self::default() };
        let Some(given) = GivenToken::of(credentials) else { return Self::default() };
        let header = match header(&given, policy) {
            Ok(header) => header,
            Err(fault) => return Self { needed: Some(fault), ..Self::default() },
        };
        let now = Instant::now();
        let (age, can_renew) = (age(credentials.token_received_at, shared), given.refresh_token.is_some());
        // Zero is no lifetime; what the server thinks is learned from its answers.
        let lifetime = given.expires_in.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let lifetime = lifetime.map(|lifetime| lifetime.min(policy.lifetime_max));
        let part = f64::from(policy.renew_percent.saturating_sub(jitter(policy, shared))) / 100.0;
        Self {
            header: Some(header),
            since_refusal: None,
            renew_at: lifetime.map(|lifetime| now + lifetime.mul_f64(part).saturating_sub(age)),
            ends: lifetime.map(|lifetime| now + lifetime.saturating_sub(age)),
            until: lifetime.map(|lifetime| shared.clock.now().plus(lifetime.saturating_sub(age))),
            can_renew,
            issuer: credentials.issuer.clone(),
            scopes: credentials.granted_scopes.clone(),
            needed: None,
            stuck: None,
        }
    }
}

fn jitter(policy: &SignInPolicy, shared: &OAuthShared) -> u32 {
    let random = (shared.draw)() % u128::from(policy.renew_jitter_percent).saturating_add(1);
    u32::try_from(random).unwrap_or_default()
}

impl ServerToken {
    /// The token that is kept for a server; none where what is kept was made for another URL.
    pub(super) fn of(
        server: ServerId,
        name: &str,
        url: &str,
        kept: Option<StoredSignIn>,
        shared: Arc<OAuthShared>,
    ) -> Self {
        let state = kept.filter(|kept| kept.url == url).map(|kept| TokenState::of(&kept, &shared)).unwrap_or_default();
        Self {
            server,
            name: name.to_owned(),
            url: url.to_owned(),
            shared,
            state: RwLock::new(state),
            renewing: tokio::sync::Mutex::default(),
            is_renewing: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            is_unanswered: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    /// What a request carries now. Waits only for a token that is over.
    pub(crate) async fn bearer(self: &Arc<Self>) -> Bearer {
        if let Some(bearer) = self.at_hand() {
            return bearer;
        }
        // Boxed: nearly every request finds it at hand.
        Box::pin(self.renew(None)).await;
        let state = self.state.read();
        match (&state.header, &state.stuck) {
            (None, _) => Bearer::Nothing,
            (Some(_), Some(stuck)) => Bearer::Stuck(stuck.clone()),
            (Some(header), None) => Bearer::Token(header.clone()),
        }
    }

    /// `None` when it has to be renewed first.
    fn at_hand(self: &Arc<Self>) -> Option<Bearer> {
        let state = self.state.read();
        let Some(header) = &state.header else { return Some(Bearer::Nothing) };
        let now = Instant::now();
        let is_due = state.can_renew && state.renew_at.is_some_and(|at| at <= now);
        let is_over = state.ends.is_some_and(|ends| ends <= now);
        match (is_due, is_over, &state.stuck) {
            (true, true, _) => None,
            (false, true, Some(stuck)) => Some(Bearer::Stuck(stuck.clone())),
            (true, false, _) => {
                self.renew_beside();
                Some(Bearer::Token(header.clone()))
            }
            // Without a way to renew it, the server is asked whether it is still good.
            (false, _, _) => Some(Bearer::Token(header.clone())),
        }
    }

    fn renew_beside(self: &Arc<Self>) {
        if self.is_renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let token = Arc::clone(self);
        self.shared.supervisor.spawn("token renewal", async move {
            token.renew(None).await;
            token.is_renewing.store(false, Ordering::Release);
        });
    }

    /// The server refused a request with 401. The token is renewed, where that can be done.
    pub(crate) async fn refused(self: &Arc<Self>, sent: &Bearer, headers: &HeaderMap) -> RefusedRequest {
        self.note_challenge(headers);
        self.is_refused.store(true, Ordering::Release);
        let Bearer::Token(sent) = sent else {
            // What ended the sign-in before says more.
            let asks = self.asks_for_sign_in();
            let mut state = self.state.write();
            if state.header.is_some() && state.needed.is_none() {
                // A person signed in while it was under way.
                return RefusedRequest::TryAgain;
            }
            state.needed.get_or_insert(asks);
            return RefusedRequest::NeedsPerson;
        };
        {
            let mut state = self.state.write();
            if state.header.as_ref() != Some(sent) {
                return if state.header.is_some() { RefusedRequest::TryAgain } else { RefusedRequest::NeedsPerson };
            }
            let rest = self.shared.policy.sign_in.renew_rest;
            let is_new = state.since_refusal.is_some_and(|since| since.elapsed() < rest);
            if is_new || !state.can_renew {
                let why = if is_new {
                    "does not accept the token that was just renewed for it"
                } else {
                    "does not accept the token any more"
                };
                state.needed = Some(fault(format!("server `{}` {why}", self.name), self.how_to_sign_in()));
                return RefusedRequest::NeedsPerson;
            }
        }
        self.renew(Some(sent)).await;
        let mut state = self.state.write();
        if state.header.as_ref().is_some_and(|header| header != sent) {
            state.since_refusal = Some(Instant::now());
            return RefusedRequest::TryAgain;
        }
        let Some(SignInFault { why, hint }) = state.stuck.clone() else { return RefusedRequest::NeedsPerson };
        // What an earlier refusal meant is not the cause of this one.
        state.needed = None;
        let why = format!("server `{}` does not accept the token any more, and {why}", self.name);
        RefusedRequest::Stuck(fault(why, hint))
    }

    /// The server accepted a request, so that nobody has to sign in.
    pub(crate) fn accepted(&self) {
        if self.is_refused.load(Ordering::Acquire) && self.is_refused.swap(false, Ordering::AcqRel) {
            self.state.write().needed = None;
        }
    }

    /// The server refused a request with 403; says what a person can do when another permission would help.
    pub(crate) fn forbidden(&self, headers: &HeaderMap) -> Option<SignInFault> {
        let challenge = self.challenge_of(headers)?;
        let url = Url::parse(&self.url).ok()?;
        let wanted = WWWAuthenticateParams::parse(&challenge, &url);
        if !wanted.is_insufficient_scope() {
            return None;
        }
        let wanted: Vec<String> = wanted.scope.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let mut seen = self.seen.lock();
        let wanted: Vec<String> = wanted.into_iter().take(self.shared.policy.sign_in.scopes_max).collect();
        let missing: Vec<String> = wanted.into_iter().filter(|scope| !seen.asked_scopes.contains(scope)).collect();
        for scope in &missing {
            if !seen.missing_scopes.contains(scope) && seen.missing_scopes.len() < self.shared.policy.sign_in.scopes_max
            {
                seen.missing_scopes.push(scope.clone());
            }
        }
        let why = format!("server `{}` wants a permission that the sign-in does not have", self.name);
        Some(if missing.is_empty() {
            fault(why, "The last sign-in asked for it and did not get it; ask who runs the server.")
        } else {
            fault(why, format!("Sign in again to ask for it: `taskwarden servers sign-in {}`.", self.name))
        })
    }

    /// Why a request was refused with 401.
    pub(crate) fn why_refused(&self) -> SignInFault {
        let needed = self.state.read().needed.clone();
        needed.unwrap_or_else(|| self.asks_for_sign_in())
    }

    fn asks_for_sign_in(&self) -> SignInFault {
        fault(format!("server `{}` asks for a sign-in", self.name), self.how_to_sign_in())
    }

    fn how_to_sign_in(&self) -> String {
        format!("Sign in on its page, or with `taskwarden servers sign-in {}`.", self.name)
    }

    fn challenge_of(&self, headers: &HeaderMap) -> Option<String> {
        let most = self.shared.policy.sign_in.callback_bytes;
        let all = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let bearer = |value: &&str| value.to_ascii_lowercase().contains("bearer") && value.len() <= most;
        all.into_iter().find(bearer).map(str::to_owned)
    }

    fn note_challenge(&self, headers: &HeaderMap) {
        if let Some(challenge) = self.challenge_of(headers) {
            self.seen.lock().challenge = Some(challenge);
        }
    }

    /// How the server refuses a request without a token now. Where it does not refuse the one that is tried, what it said
    /// last.
    pub(super) async fn current_challenge(&self) -> Result<Option<String>, SignInFault> {
        let refusal = refusal(&self.url, self.shared.policy.sign_in.exchange_limit).await?;
        let now = refusal.map(|headers| self.challenge_of(&headers));
        let mut seen = self.seen.lock();
        if let Some(now) = now {
            seen.challenge = now;
        }
        Ok(seen.challenge.clone())
    }

    /// What to ask for beside the server's wish: what is there, and what is missing.
    pub(super) fn scopes_to_ask(&self) -> Vec<String> {
        let missing = self.seen.lock().missing_scopes.clone();
        let mut all = self.state.read().scopes.clone();
        all.extend(missing.into_iter().filter(|scope| !all.contains(scope)).collect::<Vec<_>>());
        all
    }

    /// Whether the last browser that was sent to the issuer did not come back.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_unanswered.load(Ordering::Acquire)
    }

    pub(super) fn note_unanswered(&self, is_unanswered: bool) {
        self.is_unanswered.store(is_unanswered, Ordering::Release);
    }

    /// There is another sign-in, or none any more.
    pub(super) fn adopt(&self, stored: &StoredSignIn, asked_scopes: Vec<String>) {
        *self.state.write() = TokenState::of(stored, &self.shared);
        let mut seen = self.seen.lock();
        seen.missing_scopes.clear();
        seen.asked_scopes = asked_scopes;
    }

    /// The token was renewed.
    pub(super) fn renewed(&self, stored: &StoredSignIn) {
        *self.state.write() = TokenState::of(stored, &self.shared);
    }

    /// A person has to sign in again; the token is forgotten.
    pub(super) fn ended(&self, why: SignInFault) {
        *self.state.write() = TokenState { needed: Some(why), ..TokenState::default() };
    }

    /// It could not be renewed now; it is tried again after a while.
    pub(super) fn not_renewed(&self, why: SignInFault) {
        let mut state = self.state.write();
        state.stuck = Some(why);
        state.renew_at = Some(Instant::now() + self.shared.policy.sign_in.renew_again);
    }

    /// What requests carry now.
    pub(super) fn carried(&self) -> Option<HeaderValue> {
        self.state.read().header.clone()
    }

    /// The renewal of the token that was there before has not ended yet.
    pub(super) fn renewal_is_late(&self, before: Option<&HeaderValue>, why: SignInFault) {
        let mut state = self.state.write();
        if state.header.as_ref() == before {
            state.stuck.get_or_insert(why);
        }
    }

    /// Whether somebody else renewed it, or tried in vain, while this one waited for its turn.
    pub(super) fn is_settled(&self, refused: Option<&HeaderValue>) -> bool {
        let state = self.state.read();
        let is_later = state.renew_at.is_some_and(|at| at > Instant::now());
        match (&state.header, refused) {
            (None, _) => true,
            // Requests that are refused together do not wait one after the other for an issuer that does not answer.
            (Some(header), Some(refused)) => header != refused || (is_later && state.stuck.is_some()),
            (Some(_), None) => is_later,
        }
    }

    pub(super) fn facts(&self) -> TokenFacts {
        let state = self.state.read();
        TokenFacts {
            is_signed_in: state.header.is_some() && state.needed.is_none(),
            needed: state.needed.clone(),
            is_waiting: false,
            stray_answers: 0,
            issuer: state.issuer.clone(),
            scopes: state.scopes.clone(),
            until: state.until,
            is_renewed: state.can_renew,
            missing_scopes: self.seen.lock().missing_scopes.clone(),
        }
    }
}
