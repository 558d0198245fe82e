//! The fixture itself: correct clients get in, and what the protocol forbids is refused and noted.
//!
//! The client here is plain HTTP by hand, so that these tests depend on nothing that they help to test.

mod client;
mod misbehaviour;

use serde_json::{Value, json};

use super::{
    AuthorizationOptions, AuthorizationServer, ClientAuthentication, Era, Fault, KnownClient, MetadataPlace,
    ProtectedOptions, ProtectedServer, ResourceDiscovery, browse,
};
use client::{CALLBACK, TestClient, field_of, until};

async fn both(authorization: AuthorizationOptions) -> (AuthorizationServer, ProtectedServer) {
    let authorization = AuthorizationServer::start(authorization).await.expect("a loopback port");
    let protected = ProtectedServer::start(&authorization, ProtectedOptions::default()).await.expect("a loopback port");
    (authorization, protected)
}

#[tokio::test]
async fn a_correct_client_gets_in_with_pkce() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    assert_eq!(client.discover_tools("").await.0, 401, "without a token nobody gets in");

    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    let (status, answer) = client.discover_tools(tokens["access_token"].as_str().expect("an access token")).await;
    assert_eq!(status, 200, "a good token gets in: {answer}");
    assert_eq!(answer.pointer("/result/tools/0/name").and_then(Value::as_str), Some("quick"));

    let refreshed = client.refresh(&id, &tokens).await.expect("the refresh token is good once");
    assert_ne!(refreshed["refresh_token"], tokens["refresh_token"], "refresh tokens rotate");
    assert_eq!(authorization.faults(), Vec::<String>::new(), "nothing is held against a correct client");
    let counts = authorization.counts();
    assert_eq!((counts.registrations, counts.authorizations, counts.exchanges, counts.refreshes), (1, 1, 1, 1));
    assert_eq!(
        protected.recorder().map(|recorder| recorder.seen().credentials),
        Some(0),
        "the token stops at the guard"
    );
}

#[tokio::test]
async fn a_wrong_verifier_is_refused() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let (code, _) = client.authorize(&id, "mcp:use").await;
    let refused = client.redeem(&id, &code, &"v".repeat(64)).await;
    assert_eq!(refused, Err((400, "invalid_grant".to_owned())));
    assert!(authorization.faults().iter().any(|words| words.contains("code_verifier")), "{:?}", authorization.faults());
}

#[tokio::test]
async fn a_code_used_twice_ends_what_came_of_it() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let (code, verifier) = client.authorize(&id, "mcp:use").await;
    let tokens = client.redeem(&id, &code, &verifier).await.expect("a code is good once");
    let refused = client.redeem(&id, &code, &verifier).await;
    assert_eq!(refused, Err((400, "invalid_grant".to_owned())));
    let access = tokens["access_token"].as_str().expect("an access token");
    assert_eq!(client.discover_tools(access).await.0, 401, "somebody else may have been the first");
}

#[tokio::test]
async fn a_refresh_token_used_twice_revokes_the_family() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let first = client.sign_in(&id, "mcp:use").await;
    let second = client.refresh(&id, &first).await.expect("the refresh token is good once");
    let access = second["access_token"].as_str().expect("an access token");
    assert_eq!(client.discover_tools(access).await.0, 200);

    assert_eq!(client.refresh(&id, &first).await, Err((400, "invalid_grant".to_owned())));
    assert_eq!(client.refresh(&id, &second).await, Err((400, "invalid_grant".to_owned())), "the whole family is over");
    assert_eq!(client.discover_tools(access).await.0, 401, "access tokens of the family too");
    assert_eq!(
        authorization.faults(),
        ["token: the refresh token was used before"],
        "one of them was the client's fault"
    );
}

#[tokio::test]
async fn a_token_for_another_resource_is_refused() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let other = ProtectedServer::start(&authorization, ProtectedOptions::default()).await.expect("a loopback port");
    let client = TestClient::new(&authorization, &protected);
    let elsewhere = TestClient::new(&authorization, &other);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    let (status, _) = elsewhere.discover_tools(tokens["access_token"].as_str().expect("an access token")).await;
    assert_eq!(status, 401);
    assert_eq!(authorization.faults(), ["resource: the token was issued for another resource"]);
}

#[tokio::test]
async fn what_a_request_lacks_is_noted() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    for name in ["response_type", "state", "code_challenge", "code_challenge_method", "resource", "scope"] {
        let (url, _) = client.authorization_url(&id, "mcp:use", Some(name));
        let landed = browse(&url).await.expect("errors go to the callback");
        assert!(field_of(&landed, "error").is_some(), "{name}: {landed}");
        let faults = authorization.faults();
        assert!(faults.last().is_some_and(|words| words.contains(name)), "{name}: {faults:?}");
    }
    for name in ["client_id", "redirect_uri"] {
        let (url, _) = client.authorization_url(&id, "mcp:use", Some(name));
        assert!(browse(&url).await.is_err_and(|page| page.starts_with("400")), "{name}: there is nowhere to go");
    }
    let (code, verifier) = client.authorize(&id, "mcp:use").await;
    for name in ["client_id", "redirect_uri", "code_verifier", "resource"] {
        assert!(client.redeem_without(&id, &code, &verifier, name).await.is_err(), "{name}");
        let faults = authorization.faults();
        assert!(faults.last().is_some_and(|words| words.contains(name)), "{name}: {faults:?}");
    }
    assert!(client.redeem(&id, &code, &verifier).await.is_ok(), "what was refused did not use the code up");
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_says_which() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let small = client.sign_in(&id, "mcp:use").await;
    let (status, challenge) = client.call("hold", &small).await;
    assert_eq!(status, 403);
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("mcp:use mcp:admin"),
        "{challenge}"
    );
    let large = client.sign_in(&id, "mcp:use mcp:admin").await;
    assert_eq!(client.call("hold", &large).await.0, 200);
    assert_eq!(protected.counts().forbidden, 1);
}

#[tokio::test]
async fn known_clients_authenticate_as_they_are_registered() {
    let client = |id: &str, authentication| KnownClient { id: id.to_owned(), authentication };
    let clients = vec![
        client("basic", ClientAuthentication::Basic("s:e c&ret%".into())),
        client("post", ClientAuthentication::Post("secret".into())),
    ];
    let (authorization, protected) =
        both(AuthorizationOptions { clients, registration: false, ..Default::default() }).await;
    let client = TestClient::new(&authorization, &protected);
    for (id, secret) in [("basic", "s:e c&ret%"), ("post", "secret")] {
        let (code, verifier) = client.authorize(id, "mcp:use").await;
        let wrong = client.redeem_as(id, "wrong", &code, &verifier).await;
        assert_eq!(wrong, Err((401, "invalid_client".to_owned())), "{id}");
        assert!(client.redeem_as(id, secret, &code, &verifier).await.is_ok(), "{id}: {:?}", authorization.faults());
    }
    let metadata = client.get(&authorization.metadata_url()).await;
    assert_eq!(metadata.get("registration_endpoint"), None, "there is no registration");
}

#[tokio::test]
async fn metadata_is_at_one_place_alone() {
    for (place, path) in [
        (MetadataPlace::OAuth, "/.well-known/oauth-authorization-server/tenant1"),
        (MetadataPlace::OpenIdInserted, "/.well-known/openid-configuration/tenant1"),
        (MetadataPlace::OpenIdAppended, "/tenant1/.well-known/openid-configuration"),
    ] {
        let options = AuthorizationOptions { issuer_path: "tenant1".into(), metadata: place, ..Default::default() };
        let (authorization, protected) = both(options).await;
        let client = TestClient::new(&authorization, &protected);
        assert!(authorization.metadata_url().ends_with(path), "{}", authorization.metadata_url());
        let metadata = client.get(&authorization.metadata_url()).await;
        assert_eq!(metadata["issuer"], authorization.issuer(), "{path}");
        assert_eq!(authorization.discovery_paths(), [path]);
    }
    let discovery = ResourceDiscovery { by_header: false, at_path: false, at_root: true };
    let authorization = AuthorizationServer::start(AuthorizationOptions::default()).await.expect("a loopback port");
    let options = ProtectedOptions { discovery, ..Default::default() };
    let protected = ProtectedServer::start(&authorization, options).await.expect("a loopback port");
    let client = TestClient::new(&authorization, &protected);
    let at = |path: &str| format!("http://{}/.well-known/oauth-protected-resource{path}", protected.address());
    assert_eq!(client.get(&at("/mcp")).await["error"], "not_found");
    assert_eq!(client.get(&at("")).await["resource"], protected.url());
}

#[tokio::test]
async fn a_person_allows_on_a_page_without_script() {
    let options = AuthorizationOptions { auto_approve: false, ..Default::default() };
    let (authorization, protected) = both(options).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let (url, verifier) = client.authorization_url(&id, "mcp:use", None);
    let page = client.page(&url).await;
    assert!(page.contains("Allow") && !page.contains("<script"), "{page}");
    let name =
        page.split("name=request value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a hidden field");
    let landed = client.press(&authorization, name, "allow").await;
    assert!(landed.starts_with(CALLBACK), "{landed}");
    let code = field_of(&landed, "code").expect("a code");
    assert!(client.redeem(&id, &code, &verifier).await.is_ok());
}

#[tokio::test]
async fn the_server_of_2025_runs_a_task_behind_the_checks() {
    let authorization = AuthorizationServer::start(AuthorizationOptions::default()).await.expect("a loopback port");
    let options = ProtectedOptions { era: Era::Legacy, ..Default::default() };
    let protected = ProtectedServer::start(&authorization, options).await.expect("a loopback port");
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    assert_eq!(client.run_legacy_task(&tokens).await, "worked");
    assert_eq!(protected.legacy_violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_subscription_streams_through_the_checks() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    let token = tokens["access_token"].as_str().expect("an access token");
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {"notifications": {"taskIds": ["task-1"]}}});
    let mut answer = client.post_message(token, &listen).await;
    let first = answer.chunk().await.expect("the stream is open").expect("a first event");
    assert!(String::from_utf8_lossy(&first).contains("acknowledged"), "{first:?}");
    let recorder = protected.recorder().expect("the server of 2026");
    assert!(recorder.is_heard("task-1"));
    drop(answer);
    until("the server sees that nobody listens", || !recorder.is_heard("task-1")).await;
}

#[tokio::test]
async fn tokens_and_clients_of_one_authorization_server_are_nothing_to_another() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let tokens = client.sign_in(&id, "mcp:use").await;
    let other = AuthorizationServer::start(AuthorizationOptions::default()).await.expect("a loopback port");
    protected.move_to(&other);
    let (status, _) = client.discover_tools(tokens["access_token"].as_str().expect("an access token")).await;
    assert_eq!(status, 401);
    let (url, _) = TestClient::new(&other, &protected).authorization_url(&id, "mcp:use", None);
    assert!(browse(&url).await.is_err(), "the client is not known there");
    assert_eq!(other.faults(), ["resource: the token was never issued", "authorization: client_id is unknown"]);
    let metadata = client.get(&format!("http://{}/.well-known/oauth-protected-resource", protected.address())).await;
    assert_eq!(metadata["authorization_servers"][0], other.issuer());
}

#[tokio::test]
async fn all_secrets_of_a_sign_in_are_listed() {
    let (authorization, protected) = both(AuthorizationOptions::default()).await;
    let client = TestClient::new(&authorization, &protected);
    let id = client.register().await;
    let (code, verifier) = client.authorize(&id, "mcp:use").await;
    authorization.set_fault(Fault::TokenLong);
    let tokens = client.redeem(&id, &code, &verifier).await.expect("the code is good");
    let secrets = authorization.secrets();
    let text = |name: &str| tokens[name].as_str().unwrap_or_default().to_owned();
    for secret in [code, verifier, text("access_token"), text("refresh_token")] {
        assert!(secrets.contains(&secret), "{secret}");
    }
    assert_eq!(authorization.good_tokens(), 1, "the long token is the only one");
}

#[tokio::test]
async fn names_of_faults_are_read_back() {
    for fault in Fault::ALL {
        assert_eq!(fault.name().parse(), Ok(*fault));
    }
    let unknown = "no-such".parse::<Fault>().map_err(|e| e.to_string());
    assert!(unknown.is_err_and(|words| words.contains("issuer-lies")), "the names are listed");
}
