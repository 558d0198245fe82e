//! The service for tools and tasks: one [`Desk`], both dialects.
//!
//! The dialect is chosen by the client's era and version alone. `front/modern.rs` answers 2026-07-28, `front/legacy.rs`
//! the sessions of 2025-11-25 and older; `wire.rs` writes jobs in either spelling; `follow.rs`, `hold.rs`, `listen.rs`,
//! `courier.rs` and `ask.rs` are the ways of following a job. It keeps no job: only calls parked on a question.

mod ask;
mod check;
mod courier;
mod follow;
mod hold;
mod legacy;
mod listen;
mod modern;
mod parked;
mod wire;

use std::sync::Arc;

use domain::policy::ServingPolicy;
use domain::ports::PortFuture;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use self::ask::Claims;
use self::check::Checks;
use self::parked::Parked;
use super::answered::Answered;
use super::desk::{Desk, Owner, ToolCard};
use super::fault::{Fault, FaultKind};
use super::seat::Seat;
use super::service::{Client, Request, Service};
use super::session::Session;

/// The service over a desk.
pub struct Front(Arc<Inner>);

struct Inner {
    desk: Arc<dyn Desk>,
    limits: ServingPolicy,
    checks: Checks,
    parked: Parked,
    claims: Claims,
    listens: Arc<Semaphore>,
}

impl Front {
    /// A front over `desk`. What it must look after by the clock runs in `supervisor`.
    ///
    /// # Errors
    /// When the schema of a tool is none.
    pub fn new(desk: Arc<dyn Desk>, limits: ServingPolicy, draw: Draw, supervisor: &Supervisor) -> Result<Self, BadTool> {
        let inner = Arc::new(Inner {
            checks: Checks::of(desk.tools())?,
            parked: Parked::new(draw, &limits),
            claims: Claims::default(),
            listens: Arc::new(Semaphore::new(limits.subscriptions_max)),
            desk,
            limits,
        });
        let swept = inner.clone();
        supervisor.spawn("parked calls", async move {
            loop {
                tokio::time::sleep(swept.limits.sweep_every).await;
                swept.parked.sweep();
            }
        });
        Ok(Self(inner))
    }
}

/// A tool whose schema is no JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input schema of the tool `{0}` is not a JSON Schema")]
pub struct BadTool(pub &'static str);

impl Service for Front {
    fn request(&self, client: Client, request: Request, seat: Seat) -> PortFuture<'_, Result<Answered, Fault>> {
        let inner = self.0.clone();
        Box::pin(async move {
            let result = match client {
                Client::Modern(client) => modern::answer(&inner, &client, request, seat).await?,
                Client::Legacy(session) => legacy::answer(&inner, &session, request, seat).await?,
            };
            serde_json::value::to_raw_value(&result)
                .map(Answered::Raw)
                .map_err(|_| Fault::new(FaultKind::Internal, "the result could not be written"))
        })
    }

    fn is_busy(&self, session: &Session) -> bool {
        self.0.desk.is_busy(&Owner::Session(session.id().to_owned()))
    }

    fn session_over(&self, session: &Session) {
        self.0.desk.forget(&Owner::Session(session.id().to_owned()));
    }
}

impl Inner {
    /// The tool and the checked arguments of a `tools/call`.
    fn tool_call(&self, params: &Map<String, Value>) -> Result<(&ToolCard, Map<String, Value>), Fault> {
        let name = params.get("name").and_then(Value::as_str).ok_or_else(|| Fault::params("`name` must be a text"))?;
        let tool = self.desk.tools().iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| Fault::params("there is no tool of this name"))?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(Fault::params("`arguments` must be an object")),
        };
        let arguments = self.checks.check(tool.name, arguments)?;
        Ok((tool, arguments))
    }
}

/// The task id of a request about one.
fn task_id(params: &Map<String, Value>) -> Result<&str, Fault> {
    params.get("taskId").and_then(Value::as_str).ok_or_else(|| Fault::params("`taskId` must be a text"))
}

/// The token for progress that a request carries: text or number, as it came.
fn progress_token(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}
