//! What the conformance runner asks a tasks server for, on rmcp 3.9 and its `TaskManager`: a peer we did not write.
//!
//! Prints its address. Tools: `greet` (at once), `slow_compute`, `failing_job` (refuses clients without tasks),
//! `protocol_error_job`, `confirm_delete` and `multi_input` (ask), `test_tool_with_task` (asks first, then is a task).

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, CreateTaskResult,
    ErrorCode, GetTaskParams, GetTaskResult, InputRequest, InputRequiredResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

const NAMES: [&str; 7] = [
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

#[derive(Clone)]
struct Fixtures {
    tasks: TaskManager,
}

fn tool(name: &'static str) -> Tool {
    let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
    Tool::new(name, "A fixture of the conformance runner.", Arc::new(schema))
}

fn text(words: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(words.into())])
}

fn broken(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn form(field: &str, kind: &str) -> Result<InputRequest, ErrorData> {
    let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    let params = json!({"mode": "form", "message": format!("What is `{field}`?"), "requestedSchema": schema});
    serde_json::from_value(json!({"method": "elicitation/create", "params": params})).map_err(broken)
}

async fn work(tool: String, arguments: JsonObject, context: TaskContext) -> Result<CallToolResult, TaskExit> {
    let ask = async |key: &str, field: &str, kind: &str| -> Result<String, TaskExit> {
        let answer = context.request_input(key, form(field, kind).map_err(TaskExit::Error)?).await?;
        Ok(answer.pointer(&format!("/content/{field}")).map_or_else(|| "nobody".to_owned(), Value::to_string))
    };
    match tool.as_str() {
        "confirm_delete" => Ok(text(format!("confirmed: {}", ask("confirm", "confirm", "boolean").await?))),
        "multi_input" => {
            let (one, two) = tokio::join!(ask("one", "name", "string"), ask("two", "color", "string"));
            Ok(text(format!("{} and {}", one?, two?)))
        }
        "failing_job" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("it always fails")]))
        }
        "protocol_error_job" => Err(TaskExit::Error(ErrorData::internal_error("it broke", None))),
        "test_tool_with_task" => {
            Ok(text(format!("Hello, {}!", arguments.get("said").and_then(Value::as_str).unwrap_or("nobody"))))
        }
        _ => {
            let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
            tokio::select! {
                () = context.cancelled() => Err(TaskExit::Cancelled),
                () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(text(format!("computed for {seconds} s"))),
            }
        }
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(NAMES.map(tool).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        NAMES.into_iter().find(|known| *known == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = request.arguments.clone().unwrap_or_default();
        let name = request.name.to_string();
        if !NAMES.contains(&name.as_str()) {
            return Err(ErrorData::invalid_params(format!("no tool {name}"), None));
        }
        if name == "greet" {
            let whom = arguments.get("name").and_then(Value::as_str).unwrap_or("you");
            return Ok(text(format!("Hello, {whom}!")).into());
        }
        let knows_tasks = context.client_capabilities().is_some_and(|caps| caps.supports_tasks());
        match (name.as_str(), knows_tasks) {
            ("failing_job", false) => {
                let needs = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
                return Err(ErrorData::new(ErrorCode(-32021), "this tool needs a client with tasks", Some(needs)));
            }
            ("slow_compute", false) => return Ok(text("computed at once").into()),
            (_, false) => return Err(ErrorData::invalid_params("this tool needs a client with tasks", None)),
            (_, true) => {}
        }
        if name == "test_tool_with_task" {
            let Some(answers) = &request.input_responses else {
                let asked =
                    json!({"resultType": "input_required", "inputRequests": {"user_name": form("name", "string")?}});
                let asked: InputRequiredResult = serde_json::from_value(asked).map_err(broken)?;
                return Ok(asked.into());
            };
            let answers = serde_json::to_value(answers).map_err(broken)?;
            let said = answers.pointer("/user_name/content/name").cloned().unwrap_or_default();
            arguments.insert("said".into(), said);
        }
        let options = TaskOptions::new().with_poll_interval_ms(100);
        let task = self.tasks.spawn(options, move |context| Box::pin(work(name, arguments, context)));
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
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

/// Serves them on a free port of loopback until the program is ended.
pub(super) async fn serve() -> Result<(), Box<dyn Error>> {
    let fixtures = Fixtures { tasks: TaskManager::new() };
    let service = StreamableHttpService::new(
        move || Ok(fixtures.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
