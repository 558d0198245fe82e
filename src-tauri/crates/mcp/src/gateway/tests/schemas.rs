//! Output schemas: kept for clients that know tasks, left out for others, which get handles and short results as ordinary
//! results (decision 0020).

use std::sync::Arc;
use std::time::Duration;

use domain::rule::{LimitAction, TokenLimit};
use serde_json::{Value, json};

use super::scripted_servers::{LinkAnswer, LinkServer, setup_over};
use super::setup::GatewaySetup;

const TOOLS: &str = r#"{"resultType":"complete","tools":[{"name":"shaped","outputSchema":{"type":"object"},"inputSchema":{"type":"object"},"vendor":1.50},{"name":"slow","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}}],"ttlMs":60000,"cacheScope":"public"}"#;

/// A server whose tools promise structured content; `slow` takes a minute.
fn server() -> Arc<LinkServer> {
    let text = json!([{"type": "text", "text": "x".repeat(5_000)}]);
    let whole = json!({"resultType": "complete", "content": text, "structuredContent": {"a": 1}}).to_string();
    LinkServer::modern(11, json!({"tools": {}}), move |method, params| match method {
        "tools/list" => LinkAnswer::Result(TOOLS.into()),
        "tools/call" if params.contains("slow") => {
            LinkAnswer::After(Duration::from_secs(60), Box::new(LinkAnswer::Result(whole.clone())))
        }
        "tools/call" => LinkAnswer::Result(whole.clone()),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    })
}

async fn setup() -> GatewaySetup {
    setup_over(&[server()]).await
}

#[tokio::test(start_paused = true)]
async fn clients_that_know_tasks_keep_output_schemas_byte_for_byte() {
    let setup = setup().await;
    assert_eq!(setup.modern(1).ask("tools/list", json!({})).await.raw(), TOOLS);
    let merged = setup.modern(1).at_all().ask("tools/list", json!({})).await;
    assert!(merged.raw().contains(r#""outputSchema":{"type":"object","required":["a"]}"#), "{}", merged.raw());
}

#[tokio::test(start_paused = true)]
async fn clients_that_know_no_tasks_see_no_output_schema() {
    let setup = setup().await;
    for agent in [setup.plain(1), setup.plain(1).at_all(), setup.legacy(1, "2025-06-18", &json!({}))] {
        let listed = agent.ask("tools/list", json!({})).await;
        assert!(!listed.raw().contains("outputSchema"), "{}", listed.raw());
        assert!(listed.raw().contains(r#""vendor":1.50"#), "and everything else as it came: {}", listed.raw());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_on_and_one_that_is_shortened_have_not_failed() {
    let setup = setup().await;
    let agent = setup.plain(1);
    agent.ask("tools/list", json!({})).await.result();
    let goes_on: Value = agent.call("slow").await.result();
    assert!(goes_on["_meta"]["io.taskwarden/task"].is_object(), "{goes_on}");
    assert_eq!(goes_on["isError"], false, "{goes_on}");
    setup.rule("shaped", |rule| rule.result_limit = Some(TokenLimit { tokens: 1_000, at: LimitAction::Hold })).await;
    let short = agent.call("shaped").await.result();
    assert!(short["_meta"]["io.taskwarden/held"].is_object(), "{short}");
    assert_eq!(short["isError"], false, "{short}");
}

#[tokio::test(start_paused = true)]
async fn structured_content_reaches_clients_that_see_no_schema() {
    let result = setup().await.plain(1).call("shaped").await.result();
    assert_eq!(result["structuredContent"], json!({"a": 1}), "{result}");
}
