//! The core's side: starts a keeper, connects to one that is running, and has its child ended.
//!
//! Both sides prove that they know the keeper's secret before anything else is said. What goes over the connection
//! afterwards is the caller's. It never decides whether a child should have a keeper.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use domain::policy::Policy;
use engine::runtime::supervisor::Supervisor;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use crate::local_stream::{self, LocalReader, LocalWriter};
use crate::process::launch::{Launch, LaunchError, inherited};
use crate::protocol::authentication::{self, Challenges, PeerRole};
use crate::protocol::frame::{FrameKind, FrameReader, KeeperFrame};
use crate::protocol::key::KeeperKey;
use crate::protocol::start_order::{KeeperHello, StartOrder, StartReport};
use crate::runtime_dir::RuntimeDir;

/// How `taskwarden keep` is started, and where keepers live.
#[derive(Debug, Clone)]
pub struct KeeperProgram {
    /// The program with its arguments; the keeper's folder is appended.
    pub command: Vec<String>,
    /// The parent of all keepers' folders, accessible to this user only.
    pub dir: PathBuf,
    /// The key from which each keeper's secret is derived.
    pub key: KeeperKey,
}

/// What starting and connecting needs of the core.
pub struct KeeperClient<'a> {
    /// The program to start, and its folders.
    pub program: &'a KeeperProgram,
    /// Limits and waiting times.
    pub policy: &'a Policy,
    /// Draws 128 random bits.
    pub draw: &'a (dyn Fn() -> u128 + Send + Sync),
    /// The scope in which the new process is waited for.
    pub supervisor: &'a Supervisor,
}

/// A connection to a keeper that has proved itself.
pub struct KeeperConnection {
    /// The keeper's greeting.
    pub hello: KeeperHello,
    /// Frames from the keeper.
    pub frames: FrameReader<LocalReader>,
    /// Frames to the keeper are written here.
    pub to: LocalWriter,
}

/// What came of connecting to a keeper.
pub enum ConnectOutcome {
    /// The connection is open and authenticated.
    Connected(Box<KeeperConnection>),
    /// Another core is connected and stays.
    Taken,
    /// No keeper answers.
    Unanswered,
}

/// Why no child runs behind a new keeper.
pub enum KeeperStartError {
    /// The child cannot be started, with or without a keeper.
    Child(LaunchError),
    /// No keeper can run here, for this reason.
    Keeper(String),
}

/// What came of one attempt to connect.
enum Attempt {
    Connected(Box<KeeperConnection>),
    /// Another core is connected.
    Busy,
    /// The keeper closed the socket at once: it authenticates too many processes.
    Full,
    /// It cannot prove that it is the keeper, or is one of an earlier version, which could not.
    Unproven,
}

impl KeeperClient<'_> {
    /// Starts a keeper with its child and connects to it. `name` identifies the child to later cores.
    ///
    /// # Errors
    /// Says whether the child or the keeper cannot run.
    pub async fn start(&self, name: &str, launch: &Launch) -> Result<KeeperConnection, KeeperStartError> {
        let Some(dir) = RuntimeDir::new(&self.program.dir, name, (self.draw)()) else {
            return Err(KeeperStartError::Keeper("the path of the data folder is too long for another socket".into()));
        };
        let limit = self.policy.keeping.greeting_limit;
        match timeout(limit, self.spawn(launch, &dir)).await {
            Ok(Ok(StartReport::Running)) => {}
            Ok(Ok(StartReport::NotStarted { why, hint })) => {
                return Err(KeeperStartError::Child(LaunchError { why, hint }));
            }
            Ok(Ok(StartReport::Unable { why })) => return Err(KeeperStartError::Keeper(why)),
            Ok(Err(error)) => return Err(KeeperStartError::Keeper(error.to_string())),
            Err(_) => return Err(KeeperStartError::Keeper(format!("it did not begin within {} s", limit.as_secs()))),
        }
        match self.connect(&dir).await {
            ConnectOutcome::Connected(connection) => Ok(*connection),
            ConnectOutcome::Taken | ConnectOutcome::Unanswered => {
                Err(KeeperStartError::Keeper("it does not answer".into()))
            }
        }
    }

    /// Starts the program, sends the order through its standard input and reads its one-line report.
    async fn spawn(&self, launch: &Launch, dir: &RuntimeDir) -> std::io::Result<StartReport> {
        let (program, args) =
            self.program.command.split_first().ok_or_else(|| std::io::Error::other("no program is named"))?;
        let mut command = tokio::process::Command::new(program);
        command.args(args).arg(dir.folder()).env_clear().envs(inherited()).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = command.spawn()?;
        let (stdin, stdout) = (keeper.stdin.take(), keeper.stdout.take());
        // Waiting for it reaps the process; dropping this future leaves the keeper running.
        self.supervisor.spawn("keeper", async move {
            let _ = keeper.wait().await;
        });
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(std::io::Error::other("it was started without pipes"));
        };
        let nonce = format!("{:032x}", (self.draw)());
        let secret = self.program.key.secret(&nonce);
        let order = serde_json::to_vec(&StartOrder::of(launch, self.policy, &secret, &nonce))?;
        stdin.write_all(&order).await?;
        stdin.shutdown().await?;
        drop(stdin);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        serde_json::from_str(&line).map_err(std::io::Error::other)
    }

    /// Connects to a keeper and reads its greeting. Waits for a core that is just leaving, and for a free slot when too
    /// many processes are authenticating.
    pub async fn connect(&self, dir: &RuntimeDir) -> ConnectOutcome {
        let keeping = &self.policy.keeping;
        let until = Instant::now() + keeping.handover_limit;
        loop {
            let Ok(Ok(attempt)) = timeout(keeping.greeting_limit, self.try_connect(dir)).await else {
                return ConnectOutcome::Unanswered;
            };
            match attempt {
                Attempt::Connected(connection) => return ConnectOutcome::Connected(connection),
                Attempt::Unproven => {
                    tracing::warn!("what answers in the place of a keeper does not know its secret; it is left alone");
                    return ConnectOutcome::Unanswered;
                }
                Attempt::Busy if Instant::now() >= until => return ConnectOutcome::Taken,
                Attempt::Full if Instant::now() >= until => return ConnectOutcome::Unanswered,
                Attempt::Busy | Attempt::Full => sleep(self.policy.child_group_look).await,
            }
        }
    }

    async fn try_connect(&self, dir: &RuntimeDir) -> std::io::Result<Attempt> {
        let stream = UnixStream::connect(dir.socket()).await?;
        let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
        let (from, mut to) = local_stream::split(stream)?;
        let mut frames = FrameReader::new(from, StartOrder::frame_bytes(self.policy));
        let Some(first) = frames.next().await? else { return Ok(Attempt::Full) };
        let theirs = authentication::Challenge::try_from(&*first.body).ok();
        let theirs = theirs.filter(|_| first.kind == FrameKind::Challenge);
        let (Some(keeper), Some(peer), Some(nonce), Some(core)) =
            (theirs, peer, dir.nonce(), authentication::challenge())
        else {
            return Ok(Attempt::Unproven);
        };
        let (secret, challenges) = (self.program.key.secret(&nonce), Challenges { keeper, core });
        let own = secret.prove(PeerRole::Core, std::process::id(), &challenges);
        let mut bytes = Vec::new();
        KeeperFrame::new(FrameKind::Proof, 0, [core, own].concat()).put(&mut bytes);
        to.write_all(&bytes).await?;
        let Some(second) = frames.next().await? else { return Ok(Attempt::Unproven) };
        if second.kind == FrameKind::Busy {
            return Ok(Attempt::Busy);
        }
        let hello = serde_json::from_slice::<KeeperHello>(&second.body).ok();
        let hello = hello.filter(|hello| {
            let proof = authentication::from_hex(&hello.proof);
            let is_keeper = proof.is_some_and(|proof| secret.accepts(&proof, PeerRole::Keeper, peer, &challenges));
            second.kind == FrameKind::Hello && is_keeper
        });
        Ok(hello
            .map_or(Attempt::Unproven, |hello| Attempt::Connected(Box::new(KeeperConnection { hello, frames, to }))))
    }
}

/// Orders the keeper to end its child and waits for that, at most `limit`. The keeper ends it in any case.
pub async fn end_child_of(connection: KeeperConnection, limit: Duration) {
    let KeeperConnection { hello: _, mut frames, mut to } = connection;
    let ended = async {
        let mut bytes = Vec::new();
        KeeperFrame::bare(FrameKind::End, 0).put(&mut bytes);
        to.write_all(&bytes).await?;
        while let Some(frame) = frames.next().await? {
            if frame.kind == FrameKind::Exited {
                break;
            }
        }
        Ok::<_, std::io::Error>(())
    };
    // Too slow or gone: nothing is left to do from here.
    let _ = timeout(limit, ended).await;
}
