//! What a window holds: a core of its own or the running one, and the same frames on every way.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use host::app::core_client::CoreClient;
use host::config::Config;
use serde_json::{Value, json};

use crate::home::{Home, PROGRAM};

/// The configuration of a data directory, as a window reads it.
pub(crate) fn config(home: &Home) -> Config {
    let data = home.data().display().to_string();
    let env: BTreeMap<String, String> =
        [("TASKWARDEN_HOME", data.as_str()), ("TASKWARDEN_SECRETS", "file"), ("TASKWARDEN_NOTIFICATIONS", "false")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    Config::from_env(&env).expect("a configuration")
}

/// The client of a window beside a running core.
pub(crate) async fn window(home: &Home) -> CoreClient {
    let core = CoreClient::open(config(home), None, |adapters| adapters).await.expect("the running core");
    assert!(core.is_attached(), "one core a directory");
    core
}

pub(crate) async fn call(core: &CoreClient, name: &str, input: Value) -> Value {
    let text = core.call(name, input.to_string()).await.unwrap_or_else(|error| panic!("`{name}`: {error:?}"));
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn watching(task: Option<&str>) -> Value {
    json!({ "query": null, "ids": [], "task": task, "visible": task.is_some() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_without_a_core_starts_one_and_a_second_one_attaches_to_it() {
    let home = Home::new();
    let first = CoreClient::open(config(&home), None, |adapters| adapters).await.expect("a core");
    assert!(!first.is_attached(), "nobody had the directory");
    let second = window(&home).await;
    let address = json!({ "kind": "stdio", "command": PROGRAM, "args": ["demo-server"] });
    for core in [&first, &second] {
        let mut frames = core.feed(watching(None).to_string()).await.expect("a feed");
        let snapshot = frames.next().await.expect("a frame").expect("no error");
        let snapshot: Value = serde_json::from_str(&snapshot).expect("JSON");
        assert_eq!(snapshot["type"], "snapshot", "it begins with everything: {snapshot}");
        assert_eq!(snapshot["core"]["process"], std::process::id(), "of one core");
        assert_eq!(snapshot["core"]["notifications"], "off", "as configured");
        let name = if core.is_attached() { "second" } else { "first" };
        let added = json!({ "name": name, "address": address, "agreed": true });
        call(&first, "servers.add", added).await;
        loop {
            let delta: Value =
                serde_json::from_str(&frames.next().await.expect("news").expect("no error")).expect("JSON");
            assert_eq!(delta["type"], "delta", "{delta}");
            if delta["servers"].as_array().is_some_and(|servers| servers.iter().any(|server| server["name"] == name)) {
                break;
            }
        }
    }
    let demo = call(&second, "demo.address", json!({})).await;
    assert_eq!(demo["args"], json!(["demo-server"]), "the demo is in the program: {demo}");
    let refused = second.call("nothing", "{}".into()).await.expect_err("there is no such call");
    assert_eq!(refused.code, api::Code::NotFound);
    first.shutdown().await;
    second.ended().await;
    let gone = second.call("servers.list", "{}".into()).await.expect_err("the core is gone");
    assert_eq!(gone.code, api::Code::NoCore, "a window can tell");
}
