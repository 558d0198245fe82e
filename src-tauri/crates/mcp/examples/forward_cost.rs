//! What a request through a connection costs beside the same request sent by a plain HTTP client.
//!
//! A minimal server on loopback echoes a fixed answer; the two clients take turns, so that both see the same machine.
//! Prints medians and their ratio for a small and a 1 MB result. Run with `--release`; it decides nothing.
//!
//! `cargo run --release -p taskwarden-mcp --example forward_cost`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow_like::{Outcome, fail};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use domain::policy::Policy;
use domain::task::payload::Payload;
use engine::runtime::supervisor::Supervisor;
use mcp::upstream::transport::link::{ForwardedParams, OutgoingRequest, RequestTag};
use mcp::upstream::transport::{OpenContext, OpenTarget, open};
use serde_json::{Value, json};

/// Errors of an example are told as text.
mod anyhow_like {
    pub(super) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

    pub(super) fn fail<T>(why: impl ToString) -> Outcome<T> {
        Err(why.to_string().into())
    }
}

const ROUNDS: usize = 3_000;
const MEGABYTE: usize = 1_048_576;

fn answer(id: &Value, size: usize) -> Vec<u8> {
    let text = "x".repeat(size);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}")
        .into_bytes()
}

async fn serve(body: Bytes) -> ([(&'static str, &'static str); 1], Vec<u8>) {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let json = [("content-type", "application/json")];
    let id = request.get("id").cloned().unwrap_or_default();
    if request.get("method").is_some_and(|method| method == "server/discover") {
        let hello =
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
        let text = json!({"jsonrpc": "2.0", "id": id, "result": hello}).to_string();
        return (json, text.into_bytes());
    }
    let size = request.pointer("/params/arguments/size").and_then(Value::as_u64);
    (json, answer(&id, size.and_then(|size| usize::try_from(size).ok()).unwrap_or(10)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

async fn measure(url: &str, size: usize, rounds: usize) -> Outcome<()> {
    let plain = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
    let (policy, supervisor) = (Arc::new(Policy::default()), Supervisor::new());
    let draw = Arc::new(|| 7_u128);
    let context = OpenContext::new(policy, supervisor, draw, PathBuf::from("/nonexistent"));
    let target = OpenTarget::Http { url: url.to_owned(), headers: Vec::new() };
    let opened = open(target, None, None, &context).await?;
    let params = json!({"name": "t", "arguments": {"size": size}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let (mut direct, mut linked) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let begun = Instant::now();
        let request = plain.post(url).header("content-type", "application/json").body(body.clone());
        let bytes = request.send().await?.bytes().await?;
        direct.push(begun.elapsed());
        if bytes.len() < size {
            return fail("the plain answer is too short");
        }
        let agent_params = ForwardedParams {
            params: Payload::new(params.to_string()),
            without: &[],
            declares: None,
            cancel_on_drop: false,
        };
        let outgoing = OutgoingRequest {
            method: "tools/call".into(),
            params: Value::Null,
            verbatim: Vec::new(),
            tag: RequestTag(u64::try_from(round)?),
            limit: None,
            param_headers: Vec::new(),
            agent_params: Some(agent_params),
            permit: domain::ports::SendPermit::default(),
        };
        let begun = Instant::now();
        let answer = opened.link.request(outgoing).await?;
        linked.push(begun.elapsed());
        drop(answer);
    }
    let (direct, linked) = (median(direct), median(linked));
    let ratio = linked.as_secs_f64() / direct.as_secs_f64();
    println!("{size:>8} bytes: plain {direct:?}, link {linked:?}, ratio {ratio:.2}");
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let server = axum::serve(listener, Router::new().route("/mcp", post(serve)));
    let measuring = async {
        measure(&url, 10, ROUNDS).await?;
        measure(&url, MEGABYTE, ROUNDS / 10).await
    };
    tokio::select! {
        done = measuring => done,
        ended = server => Ok(ended?),
    }
}
