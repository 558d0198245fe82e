//! A client that shares no protocol code with ours: rmcp 3.9 in the 2026-07-28 dialect, over the pipes of a child.
//!
//! `rmcp-peer client STORY` starts the command in `CLIENT_COMMAND` (a JSON array) and plays one story of `tests/clients` on
//! it: it declares tasks, follows its handle, and tells each step as one JSON object a line.

#![expect(clippy::indexing_slicing, reason = "a member that is missing is null, and the story fails by it")]

use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig, GetTaskParams,
    Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_tasks().build();
        ClientConfig::new(capabilities, Implementation::new("rmcp-client", "1"))
    }
}

fn tell(event: &str, mut more: Value) {
    if let Some(more) = more.as_object_mut() {
        more.insert("event".into(), json!(event));
    }
    println!("{more}");
}

fn words(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
}

async fn run(story: &str) -> Result<(), Box<dyn Error>> {
    let command: Vec<String> = serde_json::from_str(&std::env::var("CLIENT_COMMAND")?)?;
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pipes = (child.stdout.take().ok_or("no output")?, child.stdin.take().ok_or("no input")?);
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
    let client = serve_client_with_lifecycle(Client, pipes, lifecycle).await?;
    tell("connected", json!({}));

    let (name, arguments) = match story {
        "question" => ("ask_name", json!({})),
        "cancel" => ("forever", json!({})),
        "restart" => ("slow_sum", json!({"a": 40, "b": 2, "millis": 8_000})),
        _ => ("slow_sum", json!({"a": 40, "b": 2, "millis": 400})),
    };
    let call = CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap_or_default());
    let task = match client.call_tool_once(call).await? {
        CallToolResponse::Task(created) => serde_json::to_value(created)?,
        CallToolResponse::Complete(result) => {
            tell("done", json!({"status": "completed", "text": words(&serde_json::to_value(result)?)}));
            return Ok(());
        }
        other => return Err(format!("a call that asks: {other:?}").into()),
    };
    let id = task["taskId"].as_str().ok_or("a task without an id")?.to_owned();
    tell("started", json!({"kind": "task", "task": id}));
    if story == "cancel" {
        BufReader::new(tokio::io::stdin()).read_line(&mut String::new()).await?;
        client.cancel_task(CancelTaskParams::new(&id)).await?;
    }
    loop {
        let seen = serde_json::to_value(client.get_task(GetTaskParams::new(&id)).await?)?;
        let status = seen["status"].as_str().unwrap_or_default().to_owned();
        if matches!(status.as_str(), "completed" | "failed" | "cancelled") {
            tell("done", json!({"status": status, "text": words(&seen["result"])}));
            return Ok(());
        }
        let pause = seen["pollIntervalMs"].as_u64().unwrap_or(500);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}

/// Plays a story to its end; one that fails ends the program with 1.
pub(super) async fn play(story: &str) {
    if let Err(error) = run(story).await {
        tell("failed", json!({"message": error.to_string()}));
        std::process::exit(1);
    }
}
