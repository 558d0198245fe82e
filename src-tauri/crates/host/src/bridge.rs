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

use std::io;
use std::time::Duration;

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
}

impl<R, W: AsyncWrite + Unpin> Client<R, W> {
    /// Writes lines to the client; false if it no longer reads.
    async fn write(&mut self, lines: Vec<Vec<u8>>) -> bool {
        for mut line in lines {
            line.push(b'\n');
            if self.output.write_all(&line).await.is_err() {
                return false;
            }
        }
        self.output.flush().await.is_ok()
    }
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
    let mut client = Client { input: StdioLines::new(input, policy.message_cap_bytes), output };
    loop {
        let Some(stream) = connect(&finder, &requests, &mut client, policy.gateway.bridge_patience).await? else {
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
    patience: Duration,
) -> Result<Option<CoreStream>, ApiError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut found = std::pin::pin!(finder.find(requests));
    let mut late = std::pin::pin!(tokio::time::sleep(patience));
    let (mut is_late, mut is_over) = (false, false);
    loop {
        // Each arm keeps its place when another one is first.
        let answers = tokio::select! {
            found = &mut found => match found {
                Ok(stream) => return Ok(Some(stream)),
                Err(error) => {
                    let answers = requests.lock().give_up(&core_away::not_let_in(&error.message));
                    client.write(answers).await;
                    return Err(error);
                }
            },
            line = client.input.next(), if !is_over => match line {
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
        };
        if !client.write(answers).await || is_over && !requests.lock().is_waiting() {
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
    if let Err(over) = replay(&mut from, &mut to, requests, client, policy.reply_limit).await {
        return over;
    }
    let Client { input, output } = client;
    let (mut upward, mut downward) = (LineBatch::default(), LineBatch::default());
    let up = async {
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

/// Sends a new core what an earlier one knew: the client's handshake, and its open requests.
async fn replay<S, R, W>(
    from: &mut StdioLines<S>,
    to: &mut (impl AsyncWrite + Unpin),
    requests: &Mutex<ForwardedRequests>,
    client: &mut Client<R, W>,
    limit: Duration,
) -> Result<(), EndedSide>
where
    S: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let handshake = requests.lock().handshake();
    if let Some(handshake) = handshake {
        send(to, handshake.hello).await.map_err(|_| EndedSide::Core)?;
        let answered = async {
            while let Ok(Some(StdioLine::Whole(line))) = from.next().await {
                if unanswered::answers(&line, &handshake.id) {
                    return Ok(());
                }
                if requests.lock().accept_core_line(&line) && !client.write(vec![line]).await {
                    return Err(EndedSide::Client);
                }
            }
            Err(EndedSide::Core)
        };
        tokio::time::timeout(limit, answered).await.unwrap_or(Err(EndedSide::Core))?;
        if let Some(initialized) = handshake.initialized {
            send(to, initialized).await.map_err(|_| EndedSide::Core)?;
        }
    }
    let open = requests.lock().open_again();
    if !client.write(open.lost).await {
        return Err(EndedSide::Client);
    }
    for line in open.again {
        send(to, line).await.map_err(|_| EndedSide::Core)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, BufReader, duplex, simplex};

    use super::*;

    const ANSWERS: usize = 200;

    fn message(id: usize, rest: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_of_a_core_that_died_reach_a_client_that_reads_slowly() {
        let policy = Policy::default();
        let requests = Mutex::new(ForwardedRequests::new(&policy.hosting.doorway));
        let (input, mut types) = simplex(1 << 20);
        // The client's pipe holds a part of one answer.
        let (reads, writes) = simplex(64);
        let mut client = Client { input: StdioLines::new(input, policy.message_cap_bytes), output: writes };
        let (near, core) = duplex(1 << 20);
        let dies = async {
            let mut core = BufReader::new(core);
            for id in 0..ANSWERS {
                types.write_all(format!("{}\n", message(id, r#""method":"ping""#)).as_bytes()).await.expect("asked");
                core.read_line(&mut String::new()).await.expect("it comes to the core");
            }
            for id in 0..ANSWERS {
                core.write_all(format!("{}\n", message(id, r#""result":{}"#)).as_bytes()).await.expect("answered");
            }
            drop(core);
            // One more request, which this core can no longer take.
            types.write_all(format!("{}\n", message(ANSWERS, r#""method":"ping""#)).as_bytes()).await.expect("asked");
            types
        };
        let slowly = async {
            let mut lines = BufReader::new(reads).lines();
            for id in 0..ANSWERS {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await;
                let line = line.expect("it comes").expect("readable");
                assert_eq!(line, Some(message(id, r#""result":{}"#)), "none is missing");
            }
        };
        let (over, (), _types) = tokio::join!(carry(near, &requests, &mut client, &policy), slowly, dies);
        assert_eq!(over, EndedSide::Core, "the client is still there");
        assert!(requests.lock().is_waiting(), "the last request is for the next core");
    }
}
