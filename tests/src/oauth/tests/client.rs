//! A client by hand, which does every step of a sign-in as the protocol wants it.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::home::PATIENCE;
use crate::oauth::{AuthorizationServer, ProtectedServer, browse, s256};

/// Registered with one port, used with another (RFC 8252 §7.3).
const REGISTERED: &str = "http://127.0.0.1:1/callback";
pub(super) const CALLBACK: &str = "http://127.0.0.1:41999/callback";

/// Status and error code of a refusal.
pub(super) type Refusal = (u16, String);

pub(super) struct TestClient {
    http: reqwest::Client,
    base: String,
    resource: String,
    serial: AtomicU32,
}

/// Waits until something holds, at most as long as any test waits.
pub(super) async fn until(what: &str, level: impl Fn() -> bool) {
    let waiting = async {
        while !level() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "waited too long until {what}");
}

/// One parameter of an address.
pub(super) fn field_of(address: &str, name: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    url.query_pairs().find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://127.0.0.1/").expect("an address");
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

impl TestClient {
    pub(super) fn new(authorization: &AuthorizationServer, protected: &ProtectedServer) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).no_proxy().build().expect("a client");
        let base = format!("http://{}", authorization.address());
        Self { http, base, resource: protected.url(), serial: AtomicU32::new(0) }
    }

    /// Host and port of the authorization server.
    pub(super) fn authority(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub(super) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    pub(super) async fn get(&self, url: &str) -> Value {
        self.http.get(url).send().await.expect("an answer").json().await.expect("JSON")
    }

    pub(super) async fn page(&self, url: &str) -> String {
        self.http.get(url).send().await.expect("an answer").text().await.expect("a page")
    }

    pub(super) async fn register(&self) -> String {
        let metadata = json!({
            "client_name": "A client by hand", "application_type": "native", "redirect_uris": [REGISTERED],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let url = format!("{}/register", self.base);
        let answer = self.http.post(url).json(&metadata).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 201, "the registration is in order");
        let answer: Value = answer.json().await.expect("JSON");
        answer["client_id"].as_str().expect("a client id").to_owned()
    }

    /// The address for the browser, and the verifier.
    pub(super) fn authorization_url(&self, id: &str, scope: &str, left_out: Option<&str>) -> (String, String) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let verifier = format!("{serial:064}");
        let (state, challenge) = (format!("state-{serial:016}"), s256(&verifier));
        let fields = [
            ("response_type", "code"),
            ("client_id", id),
            ("redirect_uri", CALLBACK),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &self.resource),
            ("scope", scope),
        ];
        let kept: Vec<(&str, &str)> = fields.into_iter().filter(|(name, _)| Some(*name) != left_out).collect();
        (format!("{}/authorize?{}", self.base, form(&kept)), verifier)
    }

    /// A code and its verifier.
    pub(super) async fn authorize(&self, id: &str, scope: &str) -> (String, String) {
        let (url, verifier) = self.authorization_url(id, scope, None);
        let landed = browse(&url).await.expect("the browser is sent back");
        assert!(landed.starts_with(CALLBACK), "{landed}");
        assert_eq!(field_of(&landed, "state"), field_of(&url, "state"));
        assert!(field_of(&landed, "iss").is_some_and(|iss| iss.starts_with(&self.base)), "{landed}");
        (field_of(&landed, "code").expect("a code"), verifier)
    }

    async fn post_form(&self, fields: &[(&str, &str)], basic: Option<(&str, &str)>) -> Result<Value, Refusal> {
        let request = self.http.post(format!("{}/token", self.base));
        let mut request = request.header("content-type", "application/x-www-form-urlencoded").body(form(fields));
        if let Some((id, secret)) = basic {
            let encoded = |text: &str| form(&[("x", text)]).trim_start_matches("x=").to_owned();
            let credentials = BASE64_STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
            request = request.header("authorization", format!("Basic {credentials}"));
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.expect("JSON");
        if status == 200 { Ok(body) } else { Err((status, body["error"].as_str().unwrap_or_default().to_owned())) }
    }

    /// A code for tokens, whatever the answer is.
    pub(super) async fn post_token(&self, id: &str, code: &str, verifier: &str) {
        let request = self.http.post(format!("{}/token", self.base));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(form(&self.code_fields(id, code, verifier))).send().await.expect("an answer");
    }

    fn code_fields<'a>(&'a self, id: &'a str, code: &'a str, verifier: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("grant_type", "authorization_code"),
            ("client_id", id),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", verifier),
            ("resource", &self.resource),
        ]
    }

    pub(super) async fn redeem(&self, id: &str, code: &str, verifier: &str) -> Result<Value, Refusal> {
        self.post_form(&self.code_fields(id, code, verifier), None).await
    }

    pub(super) async fn redeem_without(
        &self,
        id: &str,
        code: &str,
        verifier: &str,
        left_out: &str,
    ) -> Result<Value, Refusal> {
        let mut fields = self.code_fields(id, code, verifier);
        fields.retain(|(name, _)| *name != left_out);
        self.post_form(&fields, None).await
    }

    /// As the confidential client `basic` or `post`.
    pub(super) async fn redeem_as(&self, id: &str, secret: &str, code: &str, verifier: &str) -> Result<Value, Refusal> {
        let mut fields = self.code_fields(id, code, verifier);
        if id == "basic" {
            fields.retain(|(name, _)| *name != "client_id");
            return self.post_form(&fields, Some((id, secret))).await;
        }
        fields.push(("client_secret", secret));
        self.post_form(&fields, None).await
    }

    pub(super) async fn sign_in(&self, id: &str, scope: &str) -> Value {
        let (code, verifier) = self.authorize(id, scope).await;
        self.redeem(id, &code, &verifier).await.expect("the code is good")
    }

    pub(super) async fn refresh(&self, id: &str, tokens: &Value) -> Result<Value, Refusal> {
        let token = tokens["refresh_token"].as_str().expect("a refresh token");
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", id),
            ("refresh_token", token),
            ("resource", self.resource.as_str()),
        ];
        self.post_form(&fields, None).await
    }

    /// The button of the page; returns where the browser is sent.
    pub(super) async fn press(&self, authorization: &AuthorizationServer, name: &str, button: &str) -> String {
        let request = self.http.post(format!("http://{}/decide", authorization.address()));
        let answer = request.body(form(&[("request", name), ("answer", button)])).send().await.expect("an answer");
        let location = answer.headers().get("location").expect("a redirect");
        location.to_str().expect("ASCII").to_owned()
    }

    pub(super) async fn post_message(&self, token: &str, message: &Value) -> reqwest::Response {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
        let mut message = message.clone();
        message["params"]["_meta"] = meta;
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let mut request = self.http.post(&self.resource).header("mcp-protocol-version", "2026-07-28");
        request = request.header("mcp-method", method).header("accept", "application/json, text/event-stream");
        if let Some(name) = message.pointer("/params/name").and_then(Value::as_str) {
            request = request.header("mcp-name", name);
        }
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request.json(&message).send().await.expect("an answer")
    }

    /// `tools/list`: status and answer.
    pub(super) async fn discover_tools(&self, token: &str) -> (u16, Value) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let answer = self.post_message(token, &message).await;
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }

    /// `tools/call`: status and challenge.
    pub(super) async fn call(&self, tool: &str, tokens: &Value) -> (u16, String) {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
        let answer = self.post_message(tokens["access_token"].as_str().expect("an access token"), &message).await;
        let challenge = answer.headers().get("www-authenticate").and_then(|value| value.to_str().ok());
        (answer.status().as_u16(), challenge.unwrap_or_default().to_owned())
    }

    /// A task of the server of 2025, from its start to the text of its result.
    pub(super) async fn run_legacy_task(&self, tokens: &Value) -> String {
        let token = tokens["access_token"].as_str().expect("an access token");
        let send = async |session: Option<&str>, method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let mut request = self.http.post(&self.resource).header("authorization", format!("Bearer {token}"));
            if let Some(session) = session {
                request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
            }
            let answer = request.json(&message).send().await.expect("an answer");
            let session =
                answer.headers().get("mcp-session-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
            (session, answer.json::<Value>().await.expect("JSON"))
        };
        let (session, _) = send(None, "initialize", json!({"protocolVersion": "2025-11-25"})).await;
        let session = session.expect("a session");
        let (_, created) = send(Some(&session), "tools/call", json!({"name": "work", "task": {}})).await;
        let task = created["result"]["task"]["taskId"].clone();
        for _ in 0..3 {
            send(Some(&session), "tasks/get", json!({"taskId": task})).await;
        }
        let (_, result) = send(Some(&session), "tasks/result", json!({"taskId": task})).await;
        result["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}
