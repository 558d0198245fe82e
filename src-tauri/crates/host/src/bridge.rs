//! `taskwarden connect`: an agent's pipes on one side, the core's socket on the other, and a client that notices no more
//! than a pause when the core goes away and comes back.
//!
//! `ledger.rs` knows what the client waits for and what a new core must be told; `core.rs` finds a core or starts one;
//! `pipes.rs` reads lines. Nothing is understood here beyond ids and method names: what a request means is the
//! gateway's, and whether a call that is sent again joins the first one is the engine's (ruling 24).

pub(crate) mod core;
mod ledger;
pub(crate) mod pipes;

use std::io;
use std::time::Duration;

use api::ApiError;
use domain::policy::Policy;
use mcp::gateway::model_text::core_away;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use self::core::{Stream, Way};
use self::ledger::Ledger;
use self::pipes::{Line, Lines};

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The client's input ended, or it reads no more.
    Client,
    /// The core is gone.
    Core,
}

/// The client's side of the bridge.
struct Client<R, W> {
    input: Lines<R>,
    output: W,
}

impl<R, W: AsyncWrite + Unpin> Client<R, W> {
    /// Says lines to the client; false when it does not read any more.
    async fn say(&mut self, lines: Vec<Vec<u8>>) -> bool {
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
/// When the core does not let this agent in; what waited is answered before.
pub(crate) async fn run<R, W>(way: Way, policy: &Policy, input: R, output: W) -> Result<(), ApiError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let ledger = Mutex::new(Ledger::new(&policy.hosting.doorway));
    let mut client = Client { input: Lines::new(input, policy.message_cap_bytes), output };
    loop {
        let Some(stream) = reach(&way, &ledger, &mut client, policy.gateway.bridge_patience).await? else {
            return Ok(());
        };
        if carry(stream, &ledger, &mut client, policy).await == Over::Client {
            return Ok(());
        }
        // A core that takes the stream and ends it at once is not called again as fast as it can answer.
        tokio::time::sleep(policy.hosting.doorway.bridge_step).await;
    }
}

/// Waits for a core, taking in what the client says meanwhile; `None` when the client left.
async fn reach<R, W>(
    way: &Way,
    ledger: &Mutex<Ledger>,
    client: &mut Client<R, W>,
    patience: Duration,
) -> Result<Option<Stream>, ApiError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut found = std::pin::pin!(way.find(ledger));
    let mut late = std::pin::pin!(tokio::time::sleep(patience));
    let (mut is_late, mut is_over) = (false, false);
    loop {
        // Each arm keeps its place when another one is first.
        let answers = tokio::select! {
            found = &mut found => match found {
                Ok(stream) => return Ok(Some(stream)),
                Err(error) => {
                    let answers = ledger.lock().give_up(&core_away::not_let_in(&error.message));
                    client.say(answers).await;
                    return Err(error);
                }
            },
            line = client.input.next(), if !is_over => match line {
                Ok(Some(Line::Whole(line))) => {
                    ledger.lock().hear_client(&line);
                    if is_late { ledger.lock().give_up(&way.why_not()) } else { Vec::new() }
                }
                Ok(Some(Line::TooLong)) => vec![ledger::too_long()],
                // What it asked before it left is still answered.
                Ok(None) | Err(_) => {
                    is_over = true;
                    Vec::new()
                }
            },
            () = &mut late, if !is_late => {
                is_late = true;
                ledger.lock().give_up(&way.why_not())
            }
        };
        if !client.say(answers).await || is_over && !ledger.lock().is_waiting() {
            return Ok(None);
        }
    }
}

/// Carries lines between the client and a core until one of them is gone.
async fn carry<R, W>(stream: Stream, ledger: &Mutex<Ledger>, client: &mut Client<R, W>, policy: &Policy) -> Over
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (from, mut to) = tokio::io::split(stream);
    // An answer of the core holds more than one message of a server.
    let mut from = Lines::new(from, policy.message_cap_bytes.saturating_mul(4));
    if let Err(over) = introduce(&mut from, &mut to, ledger, client, policy.reply_limit).await {
        return over;
    }
    let Client { input, output } = client;
    let up = async {
        loop {
            match input.next().await {
                Ok(Some(Line::Whole(line))) => {
                    {
                        let mut ledger = ledger.lock();
                        ledger.hear_client(&line);
                        ledger.mark_sent();
                    }
                    if send(&mut to, line).await.is_err() {
                        return Over::Core;
                    }
                }
                // The core says what is wrong with it.
                Ok(Some(Line::TooLong)) => {
                    if send(&mut to, b"\"too long\"".to_vec()).await.is_err() {
                        return Over::Core;
                    }
                }
                Ok(None) | Err(_) => {
                    let _ = to.shutdown().await;
                    return Over::Client;
                }
            }
        }
    };
    let down = async {
        while let Ok(Some(line)) = from.next().await {
            let Line::Whole(mut line) = line else { continue };
            if ledger.lock().hear_core(&line) {
                line.push(b'\n');
                if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
                    return Over::Client;
                }
            }
        }
        Over::Core
    };
    let mut down = std::pin::pin!(down);
    // A line that was half sent when the core went is in the ledger, where it was a request.
    tokio::select! {
        over = up => {
            if over == Over::Client {
                // What is on its way to the client still gets there.
                let _ = tokio::time::timeout(policy.hosting.doorway.bridge_farewell, &mut down).await;
            }
            over
        }
        over = &mut down => over,
    }
}

/// Tells a new core what an earlier one knew: the client's greeting, and what it still waits for.
async fn introduce<S, R, W>(
    from: &mut Lines<S>,
    to: &mut (impl AsyncWrite + Unpin),
    ledger: &Mutex<Ledger>,
    client: &mut Client<R, W>,
    limit: Duration,
) -> Result<(), Over>
where
    S: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let greeting = ledger.lock().greeting();
    if let Some(greeting) = greeting {
        send(to, greeting.hello).await.map_err(|_| Over::Core)?;
        let answered = async {
            while let Ok(Some(Line::Whole(line))) = from.next().await {
                if ledger::answers(&line, &greeting.id) {
                    return Ok(());
                }
                if ledger.lock().hear_core(&line) && !client.say(vec![line]).await {
                    return Err(Over::Client);
                }
            }
            Err(Over::Core)
        };
        tokio::time::timeout(limit, answered).await.unwrap_or(Err(Over::Core))?;
        if let Some(initialized) = greeting.initialized {
            send(to, initialized).await.map_err(|_| Over::Core)?;
        }
    }
    let open = ledger.lock().open_again();
    if !client.say(open.lost).await {
        return Err(Over::Client);
    }
    for line in open.again {
        send(to, line).await.map_err(|_| Over::Core)?;
    }
    Ok(())
}

async fn send(to: &mut (impl AsyncWrite + Unpin), mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}
