//! A task server that we did not write the protocol of: rmcp's `TaskManager` (2026-07-28 dialect).
//!
//! `rmcp-peer http [port]` prints its URL and serves Streamable HTTP on loopback; `rmcp-peer stdio` serves standard
//! input and output. Its tools: `sum` (at once), `slow_sum` (a task), `ask_name` (a task that asks a form), `forever`
//! (only cancel ends it), `unmoved` (acknowledges cancel and finishes, once the file `until` is there), `breaks`
//! (fails with a JSON-RPC error), `complains` (a task that completes with a tool error), `ask_before` (a multi
//! round-trip question before any work), `grüße` (mirrored headers that need care: its own name, and parameters of
//! which one is nested).

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, CreateTaskResult,
    GetTaskParams, GetTaskResult, InputRequest, InputRequiredResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

/// Between two looks at what a tool waits for.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone)]
struct Peer {
    tasks: TaskManager,
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}

fn tool(name: &'static str, about: &'static str, properties: Value) -> Tool {
    Tool::new(name, about, Arc::new(object(json!({"type": "object", "properties": properties}))))
}

fn tools() -> Vec<Tool> {
    let until = json!({"until": {"type": "string"}});
    let numbers = json!({
        "a": {"type": "integer"}, "b": {"type": "integer"}, "millis": {"type": "integer"}, "unit": {"type": "string"},
    });
    vec![
        tool("sum", "Adds at once", numbers.clone()),
        tool("slow_sum", "Adds after a while", numbers),
        tool("ask_name", "Asks who you are", json!({})),
        tool("ask_before", "Asks before it starts", json!({})),
        tool("forever", "Ends only when cancelled", json!({})),
        tool("unmoved", "Finishes in spite of a cancel", until),
        tool("breaks", "Fails", json!({})),
        tool("complains", "Completes with a tool error", json!({})),
        tool(
            "grüße",
            "Wants mirrored headers",
            json!({
                "region": {"type": "string", "x-mcp-header": "Region"},
                "place": {"type": "object", "properties": {"floor": {"type": "integer", "x-mcp-header": "Floor"}}},
                "loud": {"type": "boolean", "x-mcp-header": "Loud"},
            }),
        ),
    ]
}

fn text(words: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(words.into())])
}

fn form(message: &str, schema: Value) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema}
    }))
    .map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

async fn work(tool: String, arguments: JsonObject, context: TaskContext) -> Result<CallToolResult, TaskExit> {
    let number = |name: &str, otherwise: u64| arguments.get(name).and_then(Value::as_u64).unwrap_or(otherwise);
    let span = Duration::from_millis(number("millis", 300));
    match tool.as_str() {
        "slow_sum" => {
            context.set_status_message("adding");
            tokio::select! {
                () = context.cancelled() => Err(TaskExit::Cancelled),
                () = tokio::time::sleep(span) => {
                    let sum = number("a", 0) + number("b", 0);
                    let unit = arguments.get("unit").and_then(Value::as_str).map_or_else(String::new, |unit| format!(" {unit}"));
                    Ok(text(format!("{sum}{unit}")))
                }
            }
        }
        "ask_name" => {
            let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
            let question = form("Who are you?", schema).map_err(TaskExit::Error)?;
            let answer = context.request_input("name", question).await?;
            let action = answer.get("action").and_then(Value::as_str).unwrap_or("nothing");
            let name = answer.pointer("/content/name").and_then(Value::as_str).unwrap_or("nobody");
            Ok(text(format!("{action}: {name}")))
        }
        "forever" => {
            context.cancelled().await;
            Err(TaskExit::Cancelled)
        }
        "unmoved" => {
            context.cancelled().await;
            let until = arguments.get("until").and_then(Value::as_str);
            while until.is_some_and(|file| !std::path::Path::new(file).exists()) {
                tokio::time::sleep(LOOK).await;
            }
            Ok(text("finished anyway"))
        }
        "complains" => Ok(CallToolResult::error(vec![ContentBlock::text("no such bee")])),
        _ => Err(TaskExit::Error(ErrorData::internal_error("it broke", None))),
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        match request.name.as_ref() {
            "sum" => {
                let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or(0);
                Ok(text((number("a") + number("b")).to_string()).into())
            }
            "ask_before" => match &request.input_responses {
                None => {
                    let schema = json!({"type": "object", "properties": {"go": {"type": "boolean"}}});
                    let wire = json!({
                        "resultType": "input_required",
                        "inputRequests": {"go": form("Shall I?", schema)?},
                        "requestState": "state-of-the-peer",
                    });
                    let asked: InputRequiredResult =
                        serde_json::from_value(wire).map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
                    Ok(asked.into())
                }
                Some(answers) => {
                    let answers = serde_json::to_value(answers).unwrap_or_default();
                    let state = request.request_state.as_deref().unwrap_or("no state");
                    Ok(text(format!("{state} {}", answers.pointer("/go/action").unwrap_or(&Value::Null))).into())
                }
            },
            "grüße" => Ok(text(format!("got {}", Value::Object(arguments))).into()),
            "slow_sum" | "ask_name" | "forever" | "unmoved" | "breaks" | "complains" => {
                if !context.client_capabilities().is_some_and(|caps| caps.supports_tasks()) {
                    return Err(ErrorData::invalid_params("this tool needs a client with tasks", None));
                }
                let name = request.name.to_string();
                let options = TaskOptions::new().with_poll_interval_ms(100);
                let task = self.tasks.spawn(options, move |context| Box::pin(work(name, arguments, context)));
                Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
            }
            other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}

/// Serves standard input and output until the client leaves.
pub(super) async fn serve_stdio() -> Result<(), Box<dyn Error>> {
    let peer = Peer { tasks: TaskManager::new() };
    peer.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

/// Serves Streamable HTTP on a port of loopback, 0 for any, until the program is ended.
pub(super) async fn serve_http(port: u16) -> Result<(), Box<dyn Error>> {
    let peer = Peer { tasks: TaskManager::new() };
    let service = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let router = axum::Router::new().route_service("/mcp", service);
    axum::serve(listener, router).await?;
    Ok(())
}
