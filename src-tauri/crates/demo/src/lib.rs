//! The built-in demo server: a real MCP server whose tools do real, long work on the local machine.
//!
//! It serves both dialects, over stdio and Streamable HTTP, through `script_server`. `tools/` are the tools, `job.rs`
//! is one run of a tool, `job_store.rs` keeps runs that became tasks. Nothing is stored on disk: jobs die with the
//! process.

mod demo_script;
mod folder_walk;
mod job;
mod job_store;
pub mod script_server;
mod tool_context;
mod tools;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::Clock;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use mcp::server::{ServeHttpError, ServerParts, serve_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::demo_script::DemoScript;
use crate::script_server::{BadTool, ScriptServer};

/// What the demo server is made of.
#[derive(Clone)]
pub struct Parts {
    /// Source of task timestamps.
    pub clock: Arc<dyn Clock>,
    /// Source of random ids.
    pub draw: Draw,
    /// Limits and durations.
    pub policy: Policy,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
}

/// Why the demo server could not serve.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A tool has an invalid input schema.
    #[error(transparent)]
    Tool(#[from] BadTool),
    /// Reading or writing failed.
    #[error("standard input or output broke off")]
    Pipe(#[from] std::io::Error),
    /// HTTP could not be served.
    #[error(transparent)]
    Http(#[from] ServeHttpError),
}

/// Serves one client over standard input and output until the input ends. Work ends with it.
///
/// # Errors
/// When a pipe breaks.
pub async fn serve_stdio(parts: Parts) -> Result<(), DemoError> {
    Box::pin(serve_on(parts, tokio::io::stdin(), tokio::io::stdout())).await
}

/// Serves one client over any pair of pipes.
///
/// # Errors
/// When a pipe breaks.
pub async fn serve_on<R, W>(parts: Parts, input: R, output: W) -> Result<(), DemoError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let parts = Parts { supervisor: parts.supervisor.scope(), ..parts };
    let (server, face) = assemble(&parts)?;
    let served = serve_pipes(Arc::new(server), face, None, input, output).await;
    parts.supervisor.cancel();
    Ok(served?)
}

/// Serves over HTTP on a loopback address (port 0 for a free one) until the supervisor stops. `announce` is told the
/// URL as soon as it is open.
///
/// # Errors
/// When the address is not loopback, or cannot be bound.
pub async fn serve_http(
    parts: Parts,
    address: SocketAddr,
    announce: impl FnOnce(&str) + Send,
) -> Result<(), DemoError> {
    let (server, face) = assemble(&parts)?;
    // It holds the whole policy; on the heap, callers stay small.
    Ok(Box::pin(mcp::server::serve_http(Arc::new(server), face, address, announce)).await?)
}

fn assemble(parts: &Parts) -> Result<(ScriptServer, ServerParts), BadTool> {
    let script = DemoScript::new(parts.clone());
    let server = ScriptServer::new(script, parts.policy.serving.clone(), parts.draw.clone(), &parts.supervisor)?;
    let face = ServerParts {
        policy: parts.policy.clone(),
        draw: parts.draw.clone(),
        supervisor: parts.supervisor.clone(),
        key: None,
    };
    Ok((server, face))
}
