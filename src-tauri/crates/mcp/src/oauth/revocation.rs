//! Asks an issuer to forget tokens that nobody needs any more (RFC 7009).
//!
//! They are those of a person who signed out, and those of a sign-in that a newer one replaced. What the issuer makes of that is reported, and changes nothing here.

use std::sync::Arc;

use domain::policy::SignInPolicy;
use domain::ports::Revocation;
use serde_json::Value;
use tokio::time::timeout;

use super::OAuthShared;
use super::discovery::discover;
use super::stored::StoredSignIn;

/// Asks the issuer to forget the tokens of a sign-in.
pub(super) async fn revoke(stored: &StoredSignIn, policy: &SignInPolicy) -> Revocation {
    match timeout(policy.revoke_limit, revoked(stored, policy)).await {
        Ok(Some(())) => Revocation::Done,
        Ok(None) | Err(_) => Revocation::NotConfirmed,
    }
}

impl OAuthShared {
    /// Gives up the tokens of a sign-in in whose place another one is, while nobody waits for it.
    pub(super) fn give_up_replaced(&self, before: StoredSignIn, now: &StoredSignIn) {
        let old = token_to_give_up(&before);
        // Some issuers give the same token again.
        if old.is_none() || old == token_to_give_up(now) {
            return;
        }
        let policy = Arc::clone(&self.policy);
        self.supervisor.spawn("token revocation", async move {
            if revoke(&before, &policy.sign_in).await != Revocation::Done {
                tracing::info!("the issuer did not confirm that it forgot the tokens of the sign-in before");
            }
        });
    }
}

/// With the token that renews it, the others of the sign-in go, too.
fn token_to_give_up(stored: &StoredSignIn) -> Option<(&'static str, String)> {
    let given = serde_json::to_value(stored.credentials.as_ref()?.token_response.as_ref()?).ok()?;
    let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("refresh_token") {
        Some(token) => Some(("refresh_token", token)),
        None => Some(("access_token", text("access_token")?)),
    }
}

/// `None` when the issuer offers no way, or did not confirm it.
async fn revoked(stored: &StoredSignIn, policy: &SignInPolicy) -> Option<()> {
    let client = stored.client.as_ref()?;
    let (_, issuer) = discover(&stored.url, None, stored.may_be_private, policy).await.ok()?;
    let address = issuer.revocation.filter(|_| issuer.name == client.issuer)?;
    let (hint, token) = token_to_give_up(stored)?;
    let mut form = vec![("token", token.as_str()), ("token_type_hint", hint)];
    let mut basic = None;
    match &client.secret {
        Some(secret) if !issuer.takes_secret_in_body => basic = Some((encoded(&client.id), encoded(secret))),
        Some(secret) => form.extend([("client_id", client.id.as_str()), ("client_secret", secret.as_str())]),
        None => form.push(("client_id", client.id.as_str())),
    }
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(policy.revoke_limit)
        .build()
        .ok()?;
    let mut request = http.post(address).header("content-type", "application/x-www-form-urlencoded").body(body);
    if let Some((id, secret)) = basic {
        request = request.basic_auth(id, Some(secret));
    }
    request.send().await.ok()?.status().is_success().then_some(())
}

/// As RFC 6749, §2.3.1, wants ids and secrets before they are joined.
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
