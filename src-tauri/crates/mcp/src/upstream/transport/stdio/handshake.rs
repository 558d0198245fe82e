//! The era probe and the handshake with a child (protocol.md §3.2).
//!
//! `server/discover` first; any error but a modern one, and silence, lead to `initialize`; a child that exits on the
//! probe is started once more and gets `initialize` first. Silence is measured from the child's first byte, because
//! `npx` and `uvx` may download before it.

use std::time::Duration;

use domain::server::Era;
use futures::StreamExt;
use keeper::Launch;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::kept_child::{self, Agreed, Belongs};
use super::{StartedChild, start};
use crate::probe::{Discovered, Initialized, discovered, initialized};
use crate::upstream::transport::line_connection::LineEra;
use crate::upstream::transport::link::{Answer, InboundMessage, LinkError, McpLink, OpenedLink};
use crate::upstream::transport::request_params::{MODERN_VERSION, OutgoingParams, initialize};
use crate::upstream::transport::{HANDSHAKE_TAG, OpenContext, OpenError};

/// Messages kept during the handshake; the rest waits in the pipe.
const EARLY_MAX: usize = 256;

/// What is said first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opener {
    Discover { patient: bool },
    Initialize,
}

/// Why a handshake failed.
#[derive(Debug)]
enum Failed {
    /// The child ended.
    Ended,
    /// No answer to `initialize` within this.
    Silent(Duration),
    /// No version in common; theirs.
    NoCommon(String),
    /// The server refuses the handshake.
    Refused(String),
    /// It answers nonsense.
    Odd(String),
}

struct Greeting {
    era: Era,
    version: &'static str,
    hello: Box<RawValue>,
}

/// Starts the child and shakes hands with it.
pub(crate) async fn open(
    launch: Launch,
    kept_as: Option<&str>,
    known: Option<Era>,
    ctx: &OpenContext,
) -> Result<OpenedLink, OpenError> {
    let belongs = ctx.keeper.as_ref().zip(kept_as).map(|(program, name)| Belongs { program, name });
    let belongs = belongs.as_ref();
    if let Some(belongs) = belongs
        && let Some(opened) = kept_child::resume(&launch, belongs, ctx).await?
    {
        return Ok(opened);
    }
    if ctx.kept_only {
        return Err(OpenError::Unreachable {
            why: format!("no process of `{}` that an earlier core left answers", launch.command),
            hint: "It is started again with the next call.".into(),
        });
    }
    let opener = match known {
        None => Opener::Discover { patient: false },
        Some(Era::Modern) => Opener::Discover { patient: true },
        Some(Era::Legacy | Era::LegacySse) => Opener::Initialize,
    };
    let mut first = Shake::new(start(&launch, belongs, ctx).await?, ctx);
    let failed = match first.greet(opener).await {
        Ok(greeting) => return first.opened(greeting, &launch, belongs).await,
        Err(failed) => failed,
    };
    if !matches!(failed, Failed::Ended) {
        return Err(first.explain(&launch, failed).await);
    }
    // Statement 4: one respawn, with the other opener. The first process has ended before the second starts.
    first.started.link.close(false).await;
    let other = match opener {
        Opener::Discover { .. } => Opener::Initialize,
        Opener::Initialize => Opener::Discover { patient: false },
    };
    tracing::debug!(child.name = %launch.command, "the child ended during the handshake; it is started once more");
    let mut second = Shake::new(start(&launch, belongs, ctx).await?, ctx);
    match second.greet(other).await {
        Ok(greeting) => second.opened(greeting, &launch, belongs).await,
        Err(failed) => Err(second.explain(&launch, failed).await),
    }
}

/// One child being greeted.
struct Shake<'a> {
    started: StartedChild,
    early: Vec<InboundMessage>,
    ctx: &'a OpenContext,
}

impl<'a> Shake<'a> {
    const fn new(started: StartedChild, ctx: &'a OpenContext) -> Self {
        Self { started, early: Vec::new(), ctx }
    }

    async fn greet(&mut self, opener: Opener) -> Result<Greeting, Failed> {
        match opener {
            Opener::Discover { patient } => match self.discover(patient).await? {
                Some(greeting) => Ok(greeting),
                None => match self.initialize().await? {
                    Ok(greeting) => Ok(greeting),
                    // A modern server that was only slow.
                    Err(refused) => self.discover(true).await?.ok_or(refused),
                },
            },
            Opener::Initialize => match self.initialize().await? {
                Ok(greeting) => Ok(greeting),
                // The verdict does not hold any more: find out anew.
                Err(refused) => self.discover(false).await?.ok_or(refused),
            },
        }
    }

    /// `None`: it speaks the old way.
    async fn discover(&mut self, patient: bool) -> Result<Option<Greeting>, Failed> {
        let policy = &self.ctx.policy;
        let silence = if patient { policy.initialize_limit } else { policy.probe_silence };
        let mut again = true;
        loop {
            let params = OutgoingParams::stamped(json!({}), Vec::new(), MODERN_VERSION);
            let Some(answer) = self.ask("server/discover", params, silence).await? else { return Ok(None) };
            match discovered(&answer, policy) {
                Discovered::Modern(version, hello) => return Ok(Some(Greeting { era: Era::Modern, version, hello })),
                Discovered::TryVersion(_) if again => again = false,
                Discovered::TryVersion(version) => return Err(Failed::NoCommon(version.to_owned())),
                Discovered::NoCommon(versions) => return Err(Failed::NoCommon(versions)),
                Discovered::Refused(text) => return Err(Failed::Refused(text)),
                Discovered::Legacy => return Ok(None),
            }
        }
    }

    /// The inner error is a refusal that another opener may cure.
    async fn initialize(&mut self) -> Result<Result<Greeting, Failed>, Failed> {
        let limit = self.ctx.policy.initialize_limit;
        let answer =
            self.ask("initialize", OutgoingParams::plain(initialize(self.ctx.abilities), Vec::new()), limit).await?;
        let Some(answer) = answer else { return Err(Failed::Silent(limit)) };
        Ok(match initialized(&answer, &self.ctx.policy) {
            Initialized::Agreed(version, hello) => Ok(Greeting { era: Era::Legacy, version, hello }),
            Initialized::NoCommon(version) => return Err(Failed::NoCommon(version)),
            Initialized::Modern => Err(Failed::Refused("it knows no handshake".into())),
            Initialized::Refused(text) => Err(Failed::Refused(text)),
            Initialized::Odd => return Err(Failed::Odd("its answer has no `protocolVersion`".into())),
        })
    }

    /// Sends a request and keeps other messages for later. `None` after silence, measured from the first output.
    async fn ask(
        &mut self,
        method: &'static str,
        params: OutgoingParams,
        silence: Duration,
    ) -> Result<Option<Answer>, Failed> {
        let StartedChild { link, inbound, heard, .. } = &mut self.started;
        let policy = &self.ctx.policy;
        let asking = link.ask(method, &params, HANDSHAKE_TAG, None);
        let silent = async {
            let _ = timeout(policy.probe_first_output, heard.cancelled()).await;
            sleep(silence).await;
        };
        tokio::pin!(asking, silent);
        loop {
            tokio::select! {
                biased;
                answer = &mut asking => return match answer {
                    Ok(answer) => Ok(Some(answer)),
                    // An answer that cannot be read is an answer: not a modern one.
                    Err(LinkError::Unreadable { why, .. }) if method == "initialize" => Err(Failed::Odd(why)),
                    Err(LinkError::Unreadable { .. }) => Ok(None),
                    Err(
                        LinkError::Broken { .. }
                        | LinkError::NoAnswer(_)
                        | LinkError::GivenUp
                        | LinkError::RateLimited(_)
                        | LinkError::Unauthorized { .. },
                    ) => Err(Failed::Ended),
                },
                Some(item) = inbound.next(), if self.early.len() < EARLY_MAX => self.early.push(item),
                () = &mut silent => return Ok(None),
            }
        }
    }

    async fn opened(
        self,
        greeting: Greeting,
        launch: &Launch,
        belongs: Option<&Belongs<'_>>,
    ) -> Result<OpenedLink, OpenError> {
        let Greeting { era, version, hello } = greeting;
        let StartedChild { link, inbound, pid, kept, .. } = self.started;
        match era {
            Era::Modern => {
                let _ = link.speech.set(LineEra::Modern(version));
            }
            Era::Legacy | Era::LegacySse => {
                let _ = link.speech.set(LineEra::Legacy);
                // A child that is gone already says so on the stream.
                let _ = link.notify("notifications/initialized", None).await;
            }
        }
        // In the modern era it is never on the wire; it names this life of the child all the same.
        let session = format!("{:032x}", (self.ctx.draw)());
        if let (Some(kept), Some(belongs)) = (kept, belongs) {
            let abilities = self.ctx.abilities;
            let agreed = Agreed { era, version, hello: &hello, session: &session, abilities };
            kept_child::leave_state(&kept, launch, belongs.name, &agreed);
        }
        let inbound = futures::stream::iter(self.early).chain(inbound).boxed();
        let (version, session) = (version.to_owned(), Some(session));
        Ok(OpenedLink { link, inbound, era, version, hello, session, resumed: false, child: Some(pid), regained: None })
    }

    /// Ends the child and says what went wrong.
    async fn explain(self, launch: &Launch, failed: Failed) -> OpenError {
        let link = self.started.link;
        if let Failed::Ended = failed {
            // The keeper knows how it ended, and does not need to be asked.
            let _ = timeout(self.ctx.policy.child_close_wait, link.over.wait()).await;
        }
        link.close(false).await;
        let name = &launch.command;
        let stderr = link.stderr_tail();
        let (why, hint) = match failed {
            Failed::Ended => {
                let why = link.over.closure().map_or_else(|| format!("`{name}` ended"), |closure| closure.why);
                let hint = "Start the command by hand to see what it needs; its standard error is kept here.".into();
                return OpenError::Exited { why, hint, stderr };
            }
            Failed::Silent(limit) => (
                format!("`{name}` runs but does not answer `initialize` within {} s{}", limit.as_secs(), said(&stderr)),
                "Check that the command is an MCP server that speaks over standard input and output.".into(),
            ),
            Failed::NoCommon(versions) => (
                format!("`{name}` speaks only protocol versions that Taskwarden does not know: `{versions}`"),
                "Update Taskwarden, or the server.".into(),
            ),
            Failed::Refused(text) => (
                format!("`{name}` refuses the handshake: {text}"),
                "Look at the server's documentation for what it needs to start.".into(),
            ),
            Failed::Odd(why) => (
                format!("`{name}` answers the handshake with something else: {why}"),
                "Check that the command is an MCP server that speaks over standard input and output.".into(),
            ),
        };
        OpenError::NotMcp { why, hint }
    }
}

fn said(stderr: &str) -> String {
    const SHOWN_CHARS: usize = 300;
    let last = stderr.lines().rev().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric));
    last.map_or_else(String::new, |line| format!("; it said last: `{}`", domain::policy::plain_text(line, SHOWN_CHARS)))
}
