//! The built-in demo server: a real MCP server whose tools do real, long work on the local machine.
//!
//! Both dialects by how the client opens, over stdio and Streamable HTTP; the wire is `mcp::serve`. Here are the
//! tools (`tools.rs`, `tools/`), the jobs they run as (`job.rs`, `bench.rs`) and where jobs are kept (`desk.rs`,
//! `store.rs`). Nothing is stored on disk: jobs die with the process. It knows no dialect and no registry.

mod bench;
mod desk;
mod folder;
mod job;
mod store;
mod tools;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::Clock;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use mcp::serve::{BadTool, FaceParts, Front, HttpError, serve_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::desk::DemoDesk;

/// What the demo server is made of.
#[derive(Clone)]
pub struct Parts {
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Random bits, for ids.
    pub draw: Draw,
    /// The numbers.
    pub policy: Policy,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
}

/// Why the demo server could not serve.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A tool of ours is described wrongly.
    #[error(transparent)]
    Tool(#[from] BadTool),
    /// The pipe broke.
    #[error("standard input or output broke off")]
    Pipe(#[from] std::io::Error),
    /// HTTP could not be served.
    #[error(transparent)]
    Http(#[from] HttpError),
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
/// As [`serve_stdio`].
pub async fn serve_on<R, W>(parts: Parts, input: R, output: W) -> Result<(), DemoError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let parts = Parts { supervisor: parts.supervisor.scope(), ..parts };
    let (front, face) = assemble(&parts)?;
    let served = serve_pipes(Arc::new(front), face, None, input, output).await;
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
    let (front, face) = assemble(&parts)?;
    Ok(mcp::serve::serve_http(Arc::new(front), face, address, announce).await?)
}

fn assemble(parts: &Parts) -> Result<(Front, FaceParts), BadTool> {
    let desk = DemoDesk::new(parts.clone());
    let front = Front::new(desk, parts.policy.serving.clone(), parts.draw.clone(), &parts.supervisor)?;
    let face = FaceParts {
        policy: parts.policy.clone(),
        draw: parts.draw.clone(),
        supervisor: parts.supervisor.clone(),
        key: None,
    };
    Ok((front, face))
}
