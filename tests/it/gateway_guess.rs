//! An agent that guesses handles of others: CI tries a few thousand, `cargo xtask torture` a million.
//!
//! Whatever it asks for (a handle that never was, or one that another agent holds open), the answer is the same to the
//! letter, takes the same time, and costs the core no memory (statement 60, issue 4).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use domain::ids::HandleId;
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::gate::Gate;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// Guesses of a full campaign. Issue 4.
const GUESSES_TORTURE: u64 = 1_000_000;
/// Guesses in CI.
const GUESSES_CI: u64 = 4_000;
/// Handles that another agent holds open meanwhile.
const OPEN: usize = 50;
/// Guessers at once.
const AT_ONCE: u64 = 16;
/// One guess in so many is a handle that exists.
const HIT_EVERY: u64 = 10;
/// What a campaign may leave in memory: allocators keep some of what connections needed.
const GROWTH_MAX_KIB: u64 = 32 * 1_024;
/// How much longer the median answer about a handle that exists may take. Both are a look in memory and, at most, one
/// in the registry; what is measured besides is a busy machine.
const SLOWER_MAX: f64 = 1.5;

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the core runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

fn body(id: &str) -> String {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "guesser", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": id, "_meta": meta}}).to_string()
}

/// Asks once; status and body, with the guessed handle taken out.
async fn guess(client: &reqwest::Client, url: &str, token: &str, id: &str) -> (u16, String) {
    let answer = client
        .post(url)
        .bearer_auth(token)
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tasks/get")
        .header("mcp-name", id)
        .body(body(id))
        .send()
        .await
        .expect("the gateway answers");
    let status = answer.status().as_u16();
    (status, answer.text().await.expect("a whole answer").replace(id, "ID"))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[test]
fn torture_guessing_handles_brings_one_answer_and_costs_nothing() {
    let is_torture = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    let guesses = if is_torture { GUESSES_TORTURE } else { GUESSES_CI };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.kill();
    // The rate limit would make an hour of it; here the answers themselves are tried.
    let limits = [
        ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1000000"),
        ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_BURST", "1000000"),
    ];
    gate.start_with(&limits);
    gate.add_server("recorder", &["--url", &server.url()]);
    let (victim, guesser) = (gate.add_agent("victim"), gate.add_agent("guesser"));
    let url = gate.url("recorder");
    let mut victim = Agent::over_http(&url, &victim);
    let open: Arc<Vec<String>> = Arc::new((0..OPEN).map(|nth| open_handle(&mut victim, nth)).collect());

    let pid = gate.pid();
    let client = reqwest::Client::new();
    let (expected_status, expected) =
        runtime.block_on(guess(&client, &url, &guesser, &HandleId::from_random(1).to_string()));
    assert!(expected.contains("-32602"), "an unknown handle is refused: {expected}");
    // Connections and caches are warm from here on.
    let before = resident_kib(pid);
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let guessing = (0..AT_ONCE).map(|lane| {
        let (next, open, client) = (Arc::clone(&next), Arc::clone(&open), client.clone());
        let (url, token, expected) = (url.clone(), guesser.clone(), expected.clone());
        async move {
            let mut random = (u128::from(lane) << 64) | u128::from(std::process::id());
            let (mut existing, mut absent) = (Vec::new(), Vec::new());
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= guesses {
                    return (existing, absent);
                }
                random = random.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(1);
                let is_hit = nth % HIT_EVERY == 0;
                let id = if is_hit {
                    open[usize::try_from(nth / HIT_EVERY).unwrap_or_default() % open.len()].clone()
                } else {
                    HandleId::from_random(random).to_string()
                };
                let asked = Instant::now();
                let (status, answer) = guess(&client, &url, &token, &id).await;
                let took = asked.elapsed();
                assert_eq!((status, &answer), (expected_status, &expected), "one answer for all, also for `{id}`");
                if is_hit { existing.push(took) } else { absent.push(took) }
            }
        }
    });
    let lanes = runtime.block_on(futures::future::join_all(guessing));
    let took = begun.elapsed();
    let after = resident_kib(pid);
    let (existing, absent): (Vec<_>, Vec<_>) = lanes.into_iter().unzip();
    let (existing, absent) = (median(existing.concat()), median(absent.concat()));
    println!(
        "{guesses} handles guessed in {:.1} s ({:.0} a second), all answered alike; median {existing:?} where the \
         handle is another agent's, {absent:?} where there is none; memory {before} KiB before, {after} KiB after",
        took.as_secs_f64(),
        guesses as f64 / took.as_secs_f64(),
    );
    assert!(after.saturating_sub(before) < GROWTH_MAX_KIB, "memory grew from {before} to {after} KiB");
    let slower = existing.as_secs_f64() / absent.as_secs_f64();
    assert!(
        slower < SLOWER_MAX && slower > 1.0 / SLOWER_MAX,
        "time tells which handles exist: {existing:?}, {absent:?}"
    );

    let still = victim.ask("tasks/get", json!({"taskId": open[0]})).expect("answered");
    assert!(still["error"].is_null(), "the one whose handles they are has them: {still}");
}

fn open_handle(agent: &mut Agent, nth: usize) -> String {
    let call = json!({"name": "hold", "arguments": {"nonce": format!("open-{nth}")}});
    let answer = agent.ask("tools/call", call).expect("answered");
    answer["result"]["taskId"].as_str().unwrap_or_else(|| panic!("a handle: {}", Value::clone(&answer))).to_owned()
}
