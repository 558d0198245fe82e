//! A server with the fixtures that the official conformance runner wants, over our serving face.
//!
//! Prints its address. `tests/it/conformance.rs` runs the `tasks-*` scenarios of `@modelcontextprotocol/conformance`
//! against it directly and behind the gateway; what every server may be asked is in `clients/fixtures.mjs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use demo::script_server::ScriptServer;
use demo::script_server::script::{
    CallOrder, Elicitation, ElicitationReply, JobOwner, JobRetention, JobRevision, JobSnapshot, JobStage, Question,
    ScriptJob, ServerCard, ToolCard, ToolLength, ToolNeeds, ToolScript,
};
use domain::policy::Policy;
use domain::ports::Clock;
use domain::time::Timestamp;
use engine::SystemClock;
use engine::runtime::supervisor::Supervisor;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use mcp::server::{ServerParts, serve_http};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

type Replies = Mutex<HashMap<String, oneshot::Sender<ElicitationReply>>>;

struct Work {
    id: String,
    snapshot: Mutex<JobSnapshot>,
    replies: Replies,
    revision: watch::Sender<JobRevision>,
    stop: CancellationToken,
}

impl Work {
    fn change(&self, change: impl FnOnce(&mut JobSnapshot)) {
        let mut snapshot = self.snapshot.lock();
        if !snapshot.stage.is_over() {
            change(&mut snapshot);
            snapshot.updated = SystemClock.now();
        }
        drop(snapshot);
        self.revision.send_modify(|revision| {
            revision.turns += 1;
            revision.ticks += 1;
        });
    }

    async fn ask(&self, key: &str, field: &str, kind: &str) -> Option<Value> {
        let (to, from) = oneshot::channel();
        self.replies.lock().insert(key.to_owned(), to);
        let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
        let ask = Elicitation::Form { message: format!("What is `{field}`?"), schema };
        self.change(|snapshot| {
            snapshot.questions.push(Question { key: key.to_owned(), ask });
            snapshot.stage = JobStage::Asking;
        });
        match from.await.ok()? {
            ElicitationReply::Accept(content) => content.get(field).cloned(),
            ElicitationReply::Decline | ElicitationReply::Dismiss => None,
        }
    }

    async fn run(&self, tool: &str, arguments: Map<String, Value>) -> JobStage {
        let text = |text: String, is_error: bool| {
            JobStage::Done(Arc::new(json!({"content": [{"type": "text", "text": text}], "isError": is_error})))
        };
        let said = |value: Option<Value>| value.map_or_else(|| "nobody".to_owned(), |value| value.to_string());
        match tool {
            "greet" => {
                text(format!("Hello, {}!", arguments.get("name").and_then(Value::as_str).unwrap_or("you")), false)
            }
            "slow_compute" => {
                let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                text(format!("computed for {seconds} s"), false)
            }
            "failing_job" => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                text("it always fails".to_owned(), true)
            }
            "protocol_error_job" => JobStage::Failed(RequestError::new(RequestErrorKind::Internal, "it broke")),
            "confirm_delete" => {
                let yes = self.ask("confirm", "confirm", "boolean").await;
                text(format!("confirmed: {}", said(yes)), false)
            }
            "multi_input" => {
                let (one, two) = tokio::join!(self.ask("one", "name", "string"), self.ask("two", "color", "string"));
                text(format!("{} and {}", said(one), said(two)), false)
            }
            "test_input_required_result_elicitation" => {
                let name = self.ask("user_name", "name", "string").await;
                text(format!("Hello, {}!", said(name)), false)
            }
            "test_input_required_result_multi_round" => {
                let name = self.ask("step1", "name", "string").await;
                let color = self.ask("step2", "color", "string").await;
                text(format!("{} likes {}", said(name), said(color)), false)
            }
            _ => {
                let ok = self.ask("confirm", "ok", "boolean").await;
                text(format!("state-ok {}", said(ok)), false)
            }
        }
    }
}

impl ScriptJob for Work {
    fn id(&self) -> &str {
        &self.id
    }
    fn snapshot(&self) -> JobSnapshot {
        self.snapshot.lock().clone()
    }
    fn revision(&self) -> watch::Receiver<JobRevision> {
        self.revision.subscribe()
    }
    fn answer(&self, key: &str, reply: ElicitationReply) {
        let Some(waiting) = self.replies.lock().remove(key) else { return };
        self.change(|snapshot| {
            snapshot.questions.retain(|question| question.key != key);
            if snapshot.questions.is_empty() {
                snapshot.stage = JobStage::Working;
            }
        });
        waiting.send(reply).ok();
    }
    fn request_cancel(&self) {
        self.stop.cancel();
    }
    fn declare_cancelled(&self) {
        self.stop.cancel();
        self.change(|snapshot| snapshot.stage = JobStage::Cancelled);
    }
}

struct Fixtures {
    tools: Vec<ToolCard>,
    kept: Mutex<HashMap<String, Arc<Work>>>,
    supervisor: Supervisor,
}

fn tool(name: &'static str, length: ToolLength, needs: ToolNeeds) -> ToolCard {
    ToolCard {
        name,
        title: name,
        description: "A fixture of the conformance runner.",
        input_schema: json!({"type": "object"}),
        output_schema: None,
        annotations: json!({}),
        length,
        needs,
    }
}

fn random() -> u128 {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok();
    u128::from_le_bytes(bytes)
}

impl ToolScript for Fixtures {
    fn card(&self) -> ServerCard {
        ServerCard { name: "fixtures", title: "Fixtures", version: "0", instructions: "For the conformance runner." }
    }
    fn tools(&self) -> &[ToolCard] {
        &self.tools
    }
    fn begin(&self, order: CallOrder) -> Result<Arc<dyn ScriptJob>, RequestError> {
        let now: Timestamp = SystemClock.now();
        let snapshot = JobSnapshot {
            stage: JobStage::Working,
            message: None,
            progress: None,
            questions: Vec::new(),
            created: now,
            updated: now,
            ttl_ms: 600_000,
            poll_ms: 100,
        };
        let work = Arc::new(Work {
            id: format!("{:032x}", random()),
            snapshot: Mutex::new(snapshot),
            replies: Mutex::default(),
            revision: watch::Sender::default(),
            stop: CancellationToken::new(),
        });
        if order.kept != JobRetention::WhileHeld {
            self.kept.lock().insert(work.id.clone(), work.clone());
        }
        let running = work.clone();
        self.supervisor.spawn("fixture", async move {
            let stage = tokio::select! {
                stage = running.run(order.tool, order.arguments) => stage,
                () = running.stop.cancelled() => JobStage::Cancelled,
            };
            running.change(|snapshot| {
                snapshot.questions.clear();
                snapshot.stage = stage;
            });
        });
        Ok(work)
    }
    fn job(&self, _owner: &JobOwner, id: &str) -> Option<Arc<dyn ScriptJob>> {
        let work = self.kept.lock().get(id).cloned()?;
        Some(work)
    }
    fn jobs(&self, _owner: &JobOwner, _after: Option<&str>, _most: usize) -> Option<Vec<Arc<dyn ScriptJob>>> {
        Some(Vec::new())
    }
    fn is_busy(&self, _owner: &JobOwner) -> bool {
        false
    }
    fn forget(&self, _owner: &JobOwner) {}
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let supervisor = Supervisor::new();
    let tools = vec![
        tool("greet", ToolLength::Short, ToolNeeds::Nobody),
        tool("slow_compute", ToolLength::Long, ToolNeeds::Nobody),
        tool("failing_job", ToolLength::Endless, ToolNeeds::Nobody),
        tool("protocol_error_job", ToolLength::Long, ToolNeeds::Nobody),
        tool("confirm_delete", ToolLength::Long, ToolNeeds::Forms),
        tool("multi_input", ToolLength::Long, ToolNeeds::Forms),
        tool("test_input_required_result_elicitation", ToolLength::Short, ToolNeeds::Forms),
        tool("test_input_required_result_request_state", ToolLength::Short, ToolNeeds::Forms),
        tool("test_input_required_result_tampered_state", ToolLength::Short, ToolNeeds::Forms),
        tool("test_input_required_result_multi_round", ToolLength::Short, ToolNeeds::Forms),
    ];
    let desk = Arc::new(Fixtures { tools, kept: Mutex::default(), supervisor: supervisor.clone() });
    let policy = Policy::default();
    let draw: engine::Draw = Arc::new(random);
    let front = ScriptServer::new(desk, policy.serving.clone(), draw.clone(), &supervisor)?;
    let parts = ServerParts { policy, draw, supervisor, key: None };
    serve_http(Arc::new(front), parts, ([127, 0, 0, 1], 0).into(), |url| println!("{url}")).await?;
    Ok(())
}
