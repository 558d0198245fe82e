//! `taskwarden connect`: an agent's pipes on one side, the core's socket on the other. When the core goes away and
//! comes back, the client notices no more than a pause.
//!
//! `unanswered.rs` knows what the client waits for and what a new core has to be sent; `core_finder.rs` finds a core or
//! starts one; `stdio_lines.rs` reads lines. Only ids and method names are understood here: what a request means is the
//! gateway's, and whether a repeated call joins the first one is the engine's (ruling 24).

pub(crate) mod core_finder;
pub(crate) mod detached_core;
pub(crate) mod stdio_lines;
mod unanswered;

#[cfg(test)]
mod tests;

use std::io;

use api::ApiError;
use domain::policy::Policy;
use mcp::gateway::model_text::core_away;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::bridge::core_finder::{CoreFinder, CoreStream};
use crate::bridge::stdio_lines::{StdioLine, StdioLines};
use crate::bridge::unanswered::ForwardedRequests;

/// Which side of the bridge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndedSide {
    /// The client's input ended, or it reads no more.
    Client,
    /// The core is gone.
    Core,
}

/// The client's side of the bridge.
struct Client<R, W> {
    input: StdioLines<R>,
    output: W,
    /// Lines for the client that it has not taken yet; they go before all others.
    ///
    /// Nobody waits for the client to take them before its next request is read: a client may write its requests first and
    /// read answers then, and both pipes hold little.
    unwritten: Vec<u8>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    fn new(input: StdioLines<R>, output: W) -> Self {
        Self { input, output, unwritten: Vec::new() }
    }

    /// Adds lines to those that the client gets next.
    fn queue(&mut self, lines: Vec<Vec<u8>>) {
        for line in lines {
            self.unwritten.extend_from_slice(&line);
            self.unwritten.push(b'\n');
        }
    }

    /// Writes all lines that wait, before the bridge ends. What the client sends meanwhile is read and dropped, so that it
    /// comes to reading.
    async fn write_last_lines(&mut self) {
        let Self { input, output, unwritten } = self;
        let reading = async {
            while let Ok(Some(_)) = input.next().await {}
            std::future::pending::<()>().await
        };
        tokio::select! {
            biased;
            // A client that reads no more needs no answers.
            _ = write_all(output, unwritten) => {}
            () = reading => {}
        }
    }
}

/// Writes as much as the client takes now, and all that comes with the last of it.
async fn write_some(output: &mut (impl AsyncWrite + Unpin), unwritten: &mut Vec<u8>) -> io::Result<()> {
    let written = output.write(unwritten).await?;
    if written == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    unwritten.drain(..written);
    if unwritten.is_empty() { output.flush().await } else { Ok(()) }
}

async fn write_all(output: &mut (impl AsyncWrite + Unpin), unwritten: &mut Vec<u8>) -> io::Result<()> {
    while !unwritten.is_empty() {
        write_some(output, unwritten).await?;
    }
    Ok(())
}

/// Carries lines both ways until the client leaves.
///
/// # Errors
/// When the core does not let this agent in; open requests are answered first.
pub(crate) async fn run<R, W>(finder: CoreFinder, policy: &Policy, input: R, output: W) -> Result<(), ApiError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let requests = Mutex::new(ForwardedRequests::new(&policy.hosting.doorway));
    let mut client = Client::new(StdioLines::new(input, policy.message_cap_bytes), output);
    loop {
        let Some(stream) = connect(&finder, &requests, &mut client, policy).await? else {
            return Ok(());
        };
        if carry(stream, &requests, &mut client, policy).await == EndedSide::Client {
            return Ok(());
        }
        // A core that accepts the stream and ends it at once must not be called again in a tight loop.
        tokio::time::sleep(policy.hosting.doorway.bridge_step).await;
    }
}

/// Waits for a core and reads what the client sends; `None` when the client left.
async fn connect<R, W>(
    finder: &CoreFinder,
    requests: &Mutex<ForwardedRequests>,
    client: &mut Client<R, W>,
    policy: &Policy,
) -> Result<Option<CoreStream>, ApiError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut found = std::pin::pin!(finder.find(requests));
    let mut late = std::pin::pin!(tokio::time::sleep(policy.gateway.bridge_patience));
    let (mut is_late, mut is_over) = (false, false);
    loop {
        // Answers for a client that takes none do not pile up.
        let may_read = !is_over && client.unwritten.len() < policy.hosting.doorway.bridge_kept_bytes;
        // Each arm keeps its place when another one is first.
        let answers = tokio::select! {
            found = &mut found => match found {
                Ok(stream) => return Ok(Some(stream)),
                Err(error) => {
                    let answers = requests.lock().give_up(&core_away::not_let_in(&error.message));
                    client.queue(answers);
                    client.write_last_lines().await;
                    return Err(error);
                }
            },
            line = client.input.next(), if may_read => match line {
                Ok(Some(StdioLine::Whole(line))) => {
                    requests.lock().note_client_line(&line);
                    if is_late { requests.lock().give_up(&finder.why_not()) } else { Vec::new() }
                }
                Ok(Some(StdioLine::TooLong)) => vec![unanswered::too_long()],
                // Requests it sent before are still answered.
                Ok(None) | Err(_) => {
                    is_over = true;
                    Vec::new()
                }
            },
            () = &mut late, if !is_late => {
                is_late = true;
                requests.lock().give_up(&finder.why_not())
            }
            written = write_some(&mut client.output, &mut client.unwritten), if !client.unwritten.is_empty() => {
                if written.is_err() {
                    return Ok(None);
                }
                Vec::new()
            }
        };
        client.queue(answers);
        if is_over && !requests.lock().is_waiting() {
            client.write_last_lines().await;
            return Ok(None);
        }
    }
}

/// Carries lines between the client and a core until one of them is gone.
async fn carry<S, R, W>(
    stream: S,
    requests: &Mutex<ForwardedRequests>,
    client: &mut Client<R, W>,
    policy: &Policy,
) -> EndedSide
where
    S: AsyncRead + AsyncWrite,
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (from, mut to) = tokio::io::split(stream);
    // An answer of the core holds more than one message of a server.
    let mut from = StdioLines::new(from, policy.message_cap_bytes.saturating_mul(4)).without_half_lines();
    match tokio::time::timeout(policy.reply_limit, greet(&mut from, &mut to, requests)).await {
        Ok(Ok(before)) => client.queue(before),
        Ok(Err(_)) | Err(_) => return EndedSide::Core,
    }
    let open = requests.lock().open_again();
    client.queue(open.lost);
    let Client { input, output, unwritten } = client;
    let (mut upward, mut downward) = (LineBatch::default(), LineBatch::default());
    // What is sent again is sent while answers are read: a core that answers the first of many requests may not read the
    // next before its answer is taken.
    let up = async {
        for line in open.again {
            if send(&mut to, line).await.is_err() {
                return EndedSide::Core;
            }
        }
        loop {
            match input.next().await {
                Ok(Some(StdioLine::Whole(line))) => {
                    {
                        let mut requests = requests.lock();
                        requests.note_client_line(&line);
                        requests.mark_sent();
                    }
                    if upward.send(&mut to, line, input.has_line()).await.is_err() {
                        return EndedSide::Core;
                    }
                }
                // The core replies with what is wrong.
                Ok(Some(StdioLine::TooLong)) => {
                    if upward.send(&mut to, b"\"too long\"".to_vec(), input.has_line()).await.is_err() {
                        return EndedSide::Core;
                    }
                }
                Ok(None) | Err(_) => {
                    let _ = to.shutdown().await;
                    return EndedSide::Client;
                }
            }
        }
    };
    let down = async {
        if write_all(output, unwritten).await.is_err() {
            return EndedSide::Client;
        }
        while let Ok(Some(line)) = from.next().await {
            let passes = match line {
                StdioLine::Whole(line) => Some(line).filter(|line| requests.lock().accept_core_line(line)),
                StdioLine::TooLong => None,
            };
            let has_more = from.has_line();
            let written = match passes {
                Some(line) => downward.send(output, line, has_more).await,
                None if !has_more => downward.write(output).await,
                None => Ok(()),
            };
            if written.is_err() {
                return EndedSide::Client;
            }
        }
        EndedSide::Core
    };
    let mut down = std::pin::pin!(down);
    // A request of which only a part was sent is kept among the unanswered ones.
    tokio::select! {
        over = up => match over {
            EndedSide::Client => {
                // Let replies that are on their way arrive.
                let _ = tokio::time::timeout(policy.hosting.doorway.bridge_farewell, &mut down).await;
                over
            }
            // The core takes nothing more. What it said before is written first: its requests count as answered.
            EndedSide::Core => down.await,
        },
        over = &mut down => over,
    }
}

/// Repeats the client's handshake to a new core. Returns the lines for the client that came before its answer.
async fn greet<S: AsyncRead + Unpin>(
    from: &mut StdioLines<S>,
    to: &mut (impl AsyncWrite + Unpin),
    requests: &Mutex<ForwardedRequests>,
) -> io::Result<Vec<Vec<u8>>> {
    let Some(handshake) = requests.lock().handshake() else { return Ok(Vec::new()) };
    send(to, handshake.hello).await?;
    let mut before = Vec::new();
    loop {
        let Some(StdioLine::Whole(line)) = from.next().await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        if unanswered::answers(&line, &handshake.id) {
            break;
        }
        if requests.lock().accept_core_line(&line) {
            before.push(line);
        }
    }
    if let Some(initialized) = handshake.initialized {
        send(to, initialized).await?;
    }
    Ok(before)
}

/// Lines that were read together are written together up to about this size.
const WRITE_BYTES: usize = 64 * 1_024;

/// Lines in one direction that are not written yet.
#[derive(Default)]
struct LineBatch(Vec<u8>);

impl LineBatch {
    /// Adds a line, and writes all of them unless another line is there already.
    async fn send(&mut self, to: &mut (impl AsyncWrite + Unpin), line: Vec<u8>, has_more: bool) -> io::Result<()> {
        if self.0.is_empty() {
            self.0 = line;
        } else {
            self.0.extend_from_slice(&line);
        }
        self.0.push(b'\n');
        if has_more && self.0.len() < WRITE_BYTES { Ok(()) } else { self.write(to).await }
    }

    async fn write(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let lines = std::mem::take(&mut self.0);
        to.write_all(&lines).await?;
        to.flush().await
    }
}

async fn send(to: &mut (impl AsyncWrite + Unpin), mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}
