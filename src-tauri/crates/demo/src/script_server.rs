//! Serves a [`ToolScript`] of tools in both dialects: the MCP side of the demo server.
//!
//! The client's era and version choose the dialect: `modern.rs` answers 2026-07-28, `legacy.rs` the sessions of
//! 2025-11-25 and older. It keeps no jobs, only calls that are parked on a question. Read `script.rs` next.

mod argument_check;
mod blocking_call;
mod dialect_json;
mod elicitation;
mod job_watch;
mod legacy;
mod modern;
mod parked_calls;
pub mod script;
mod session_updates;
mod state;
mod subscription;

use std::sync::Arc;

use domain::policy::ServingPolicy;
use domain::ports::PortFuture;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use mcp::server::{Client, RawResult, Request, ResponseStream, Service, Session};
use tokio::sync::Semaphore;

use crate::script_server::argument_check::ArgumentChecks;
use crate::script_server::elicitation::QuestionClaims;
use crate::script_server::parked_calls::ParkedCalls;
use crate::script_server::script::{JobOwner, ToolScript};
use crate::script_server::state::ScriptState;

pub use self::argument_check::BadTool;

/// An MCP service over one script.
pub struct ScriptServer(Arc<ScriptState>);

impl ScriptServer {
    /// A server for `script`; its periodic clean-up runs in `supervisor`.
    ///
    /// # Errors
    /// When a tool's input schema is not a JSON Schema.
    pub fn new(
        script: Arc<dyn ToolScript>,
        limits: ServingPolicy,
        draw: Draw,
        supervisor: &Supervisor,
    ) -> Result<Self, BadTool> {
        let inner = Arc::new(ScriptState {
            checks: ArgumentChecks::of(script.tools())?,
            parked: ParkedCalls::new(draw, &limits),
            claims: QuestionClaims::default(),
            listens: Arc::new(Semaphore::new(limits.subscriptions_max)),
            script,
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

impl Service for ScriptServer {
    fn request(
        &self,
        client: Client,
        request: Request,
        stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        let inner = self.0.clone();
        Box::pin(async move {
            let result = match client {
                Client::Modern(client) => modern::answer(&inner, &client, request, stream).await?,
                Client::Legacy(session) => legacy::answer(&inner, &session, request, stream).await?,
            };
            serde_json::value::to_raw_value(&result)
                .map(RawResult::Raw)
                .map_err(|_| RequestError::new(RequestErrorKind::Internal, "the result could not be written"))
        })
    }

    fn is_busy(&self, session: &Session) -> bool {
        self.0.script.is_busy(&JobOwner::Session(session.id().to_owned()))
    }

    fn session_over(&self, session: &Session) {
        self.0.script.forget(&JobOwner::Session(session.id().to_owned()));
    }
}
