//! Faults do what they say, and what a client does in spite of them is noted.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::both;
use super::client::{TestClient, field_of, until};
use crate::oauth::{AuthorizationOptions, AuthorizationServer, Fault, ProtectedServer, browse, land};

/// What the callback says under a fault.
async fn callback_under(fault: Fault) -> (AuthorizationServer, ProtectedServer, String, String) {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    authorization.set_fault(fault);
    let (url, _) = client.authorization_url(&id, "mcp:use", None);
    let landed = browse(&url).await.expect("the browser is sent back");
    (authorization, protected, url, landed)
}

#[tokio::test]
async fn callbacks_lie_as_told() {
    let (.., landed) = callback_under(Fault::CallbackIssuerWrong).await;
    assert_eq!(field_of(&landed, "iss").as_deref(), Some("https://attacker.example"));
    let (.., landed) = callback_under(Fault::CallbackIssuerMissing).await;
    assert_eq!(field_of(&landed, "iss"), None);
    let (_, _, url, landed) = callback_under(Fault::StateAltered).await;
    assert_ne!(field_of(&landed, "state"), field_of(&url, "state"));
    let (.., landed) = callback_under(Fault::CallbackDenied).await;
    assert_eq!(field_of(&landed, "error").as_deref(), Some("access_denied"));
    assert!(field_of(&landed, "error_description").is_some_and(|words| words.contains("<script>")), "{landed}");
}

#[tokio::test]
async fn a_client_that_goes_on_in_spite_of_a_fault_is_noted() {
    for fault in [Fault::IssuerLies, Fault::PkceMissing, Fault::ResourceLies] {
        let (authorization, ..) = callback_under(fault).await;
        let faults = authorization.faults();
        assert!(faults.iter().any(|words| words.contains(fault.name())), "{fault}: {faults:?}");
    }
}

#[tokio::test]
async fn a_code_from_a_bad_callback_is_noted_when_it_is_redeemed() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    authorization.set_fault(Fault::CallbackIssuerWrong);
    let (url, verifier) = client.authorization_url(&id, "mcp:use", None);
    let landed = browse(&url).await.expect("the browser is sent back");
    assert_eq!(authorization.faults(), Vec::<String>::new(), "so far the client did nothing");
    let code = field_of(&landed, "code").expect("a code");
    assert!(client.redeem(&id, &code, &verifier).await.is_ok(), "an attacker gives what he is asked for");
    assert_eq!(authorization.faults().len(), 1, "{:?}", authorization.faults());
}

#[tokio::test]
async fn token_answers_are_as_odd_as_told() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let check = async |fault: Fault, field: &str, is_right: fn(&Value) -> bool| {
        authorization.set_fault(fault);
        let tokens = client.sign_in(&id, "mcp:use mcp:admin").await;
        assert!(is_right(&tokens[field]), "{fault}: {}", tokens[field]);
        authorization.clear_faults();
    };
    check(Fault::TokenMissing, "access_token", Value::is_null).await;
    check(Fault::TokenTypeWrong, "token_type", |kind| kind == "mac").await;
    check(Fault::ExpiresMissing, "expires_in", Value::is_null).await;
    check(Fault::ExpiresZero, "expires_in", |span| span == 0).await;
    check(Fault::ExpiresNegative, "expires_in", |span| span == -1).await;
    check(Fault::ExpiresText, "expires_in", Value::is_string).await;
    check(Fault::ExpiresAbsurd, "expires_in", |span| span == u64::MAX).await;
    check(Fault::NoRefreshToken, "refresh_token", Value::is_null).await;
    check(Fault::ScopeReduced, "scope", |scope| scope == "mcp:use").await;
    check(Fault::TokenLong, "access_token", |token| token.as_str().is_some_and(|token| token.len() > 64_000)).await;
    check(Fault::TokenControl, "access_token", |token| token.as_str().is_some_and(|token| token.contains('\n'))).await;
    assert_eq!(authorization.faults(), Vec::<String>::new(), "none of this is the client's fault");
}

#[tokio::test]
async fn refreshes_fail_as_told() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    authorization.set_fault(Fault::RefreshInvalidGrant);
    assert_eq!(client.refresh(&id, &tokens).await, Err((400, "invalid_grant".to_owned())));
    authorization.clear_faults();

    authorization.set_fault(Fault::RefreshForgets);
    let rotated = client.refresh(&id, &tokens).await.expect("the first refresh is answered");
    authorization.clear_faults();
    assert_eq!(client.refresh(&id, &rotated).await, Err((400, "invalid_grant".to_owned())), "the new one is forgotten");

    let tokens = client.sign_in(&id, "mcp:use").await;
    authorization.set_fault(Fault::RefreshInvalidClient);
    assert_eq!(client.refresh(&id, &tokens).await, Err((401, "invalid_client".to_owned())));
    authorization.clear_faults();
    assert_eq!(client.refresh(&id, &tokens).await, Err((401, "invalid_client".to_owned())), "the client is forgotten");
    assert_eq!(authorization.faults(), Vec::<String>::new(), "none of this is the client's fault");
}

#[tokio::test]
async fn good_tokens_end_without_waiting() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    let access = tokens["access_token"].as_str().expect("an access token");
    authorization.set_fault(Fault::TokenRevoked);
    assert_eq!(client.discover_tools(access).await.0, 401, "the protected server refuses it");
    authorization.clear_faults();
    assert_eq!(client.discover_tools(access).await.0, 200);
    authorization.expire_access();
    assert_eq!((client.discover_tools(access).await.0, authorization.good_tokens()), (401, 0), "it expired");
    let issued = authorization.issue(&id, &protected.url(), &["mcp:use"]);
    assert_eq!(client.discover_tools(&issued.access).await.0, 200, "tokens can be had without a sign-in");
    authorization.revoke_grants();
    assert_eq!(client.discover_tools(&issued.access).await.0, 401);
    assert_eq!(authorization.faults(), Vec::<String>::new(), "none of this is the client's fault");
}

#[tokio::test]
async fn what_hangs_goes_on_when_the_fault_is_cleared() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    authorization.set_fault(Fault::MetadataHangs);
    let is_cleared = AtomicBool::new(false);
    let asking = async {
        let metadata = client.get(&authorization.metadata_url()).await;
        assert!(is_cleared.load(Ordering::Relaxed), "the metadata does not arrive before that");
        metadata
    };
    let clearing = async {
        until("the metadata is asked for", || authorization.counts().metadata_requests == 1).await;
        client.register().await;
        is_cleared.store(true, Ordering::Relaxed);
        authorization.clear_faults();
    };
    let (metadata, ()) = tokio::join!(asking, clearing);
    assert_eq!(metadata["issuer"], authorization.issuer());
}

#[tokio::test]
async fn after_any_fault_a_sign_in_works() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let hangs = |fault: &Fault| fault.name().ends_with("-hangs") || *fault == Fault::TokenAnswerLost;
    for fault in Fault::ALL.iter().filter(|fault| !hangs(fault)) {
        let resource = format!("http://{}/.well-known/oauth-protected-resource", protected.address());
        authorization.set_fault(*fault);
        for url in [authorization.metadata_url(), resource, protected.url()] {
            assert!(land(&url).await.is_ok(), "{fault}: {url} is answered");
        }
        let (url, verifier) = client.authorization_url(&id, "mcp:use", None);
        let landed = browse(&url).await.expect("the browser is sent back");
        let code = field_of(&landed, "code").unwrap_or_default();
        client.post_token(&id, &code, &verifier).await;
        authorization.clear_faults();
        let tokens = client.sign_in(&id, "mcp:use").await;
        let (status, _) = client.discover_tools(tokens["access_token"].as_str().expect("an access token")).await;
        assert_eq!(status, 200, "{fault}");
    }
}

#[tokio::test]
async fn a_dropped_authorization_server_is_unreachable() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let (id, metadata) = (client.register().await, authorization.metadata_url());
    let tokens = authorization.issue(&id, &protected.url(), &["mcp:use"]);
    drop(authorization);
    until("the port is closed", || std::net::TcpStream::connect(client.authority()).is_err()).await;
    assert!(client.http().get(metadata).send().await.is_err());
    assert_eq!(client.discover_tools(&tokens.access).await.0, 200, "the protected server knows its tokens");
}

#[tokio::test]
async fn redirects_lead_to_another_origin_which_is_watched() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    authorization.set_fault(Fault::MetadataRedirects);
    let target = browse(&authorization.metadata_url()).await.expect("a redirect");
    assert!(target.starts_with(authorization.elsewhere()), "{target}");
    assert_eq!(client.get(&target).await["issuer"], authorization.issuer(), "who follows finds the true document");
    assert_eq!(authorization.strayed(), ["/.well-known/oauth-authorization-server"]);
}

#[tokio::test]
async fn hostile_requests_are_refused_and_the_server_goes_on() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let base = format!("http://{}", authorization.address());
    let http = client.http();
    for path in ["/token", "/register", "/revoke", "/decide"] {
        for body in ["", "%", "=&=&&", "\u{0}\u{1}", "[1,2", "{\"redirect_uris\":[7]}", "grant_type=%ff&client_id=%00"]
        {
            let answer = http.post(format!("{base}{path}")).body(body).send().await.expect("an answer");
            assert!(answer.status().is_client_error(), "{path} `{body}`: {}", answer.status());
        }
    }
    for query in ["", "?", "?client_id=%ff", "?client_id=a&client_id=b", "?redirect_uri=javascript:alert(1)"] {
        assert!(land(&format!("{base}/authorize{query}")).await.is_ok_and(|page| page.status == 400), "{query}");
    }
    for header in ["Bearer", "Bearer  ", "Basic eA==", "Basic %%%"] {
        let answer =
            http.post(protected.url()).header("authorization", header).body("x").send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 401, "{header}");
    }
    let id = client.register().await;
    client.sign_in(&id, "mcp:use").await;
}
