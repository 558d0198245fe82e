//! `taskwarden keep`: a small process that owns one child, so that the child outlives its core (ruling 16).
//!
//! It buffers the child's output until a core confirms that it is recorded, and serves one core at a time. It ends the
//! child on request, on SIGTERM, or when no core connected for the configured time. It reads no configuration, opens no
//! registry and writes no log. The core's side is `client.rs`.

mod child;
mod child_input;
mod core_session;
mod listener;
mod orphans;
mod output_buffer;
mod relay;
mod signals;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::ports::FreezeReading;
use engine::runtime::supervisor::Supervisor;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::child::KeptChild;
use self::listener::AdmittedCore;
use self::relay::Relay;
use self::signals::{KeeperSignals, next_signal};
use crate::process::shutdown::ChildExit;
use crate::protocol::authentication::{self as proof, KeeperSecret};
use crate::protocol::start_order::{KeeperLimits, StartOrder, StartReport};
use crate::runtime_dir::{RuntimeDir, RuntimeRecord};

/// An order holds a command with arguments and environment, which Linux limits to 2 MiB.
const ORDER_BYTES: u64 = 4 * 1_024 * 1_024;

/// Why a keeper did not start.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The order is missing or unreadable.
    #[error("the order cannot be read: {0}")]
    Order(#[source] io::Error),
    /// The keeper's folder cannot be used.
    #[error("the folder `{path}` cannot be used: {source}")]
    Place {
        /// The folder that was asked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The child was not started; the report says why.
    #[error("the child was not started")]
    NotStarted,
    /// The core that sent the order is gone.
    #[error("the core that ordered it is gone")]
    Abandoned,
}

/// Runs one keeper until its child has ended: reads the order from `order`, writes one line to `report` that says
/// whether the child runs, and then serves cores on a socket in the folder `at`.
///
/// # Errors
/// When it did not start. Then no child runs.
pub async fn serve(at: &Path, order: impl AsyncRead + Unpin, mut report: impl Write) -> Result<(), KeeperError> {
    // Leaves the terminal and the process group of the core: neither Ctrl-C nor a hang-up reaches the child.
    // It fails only for the leader of a group, which has left already.
    let _ = rustix::process::setsid();
    conceal();
    orphans::adopt();
    orphans::mark();
    let dir = RuntimeDir::at(at);
    let begun = begin(&dir, order, &mut report).await;
    let kept = match begun {
        Ok(keeper) => {
            let told = say(&mut report, &StartReport::Running);
            drop(report);
            keeper.run(told.is_ok()).await;
            told.map_err(|_| KeeperError::Abandoned)
        }
        Err(error) => Err(error),
    };
    // A folder that could not be created may be another keeper's; the next core removes what is left of our own.
    if !matches!(kept, Err(KeeperError::Place { .. })) {
        dir.clear();
    }
    kept
}

/// Keeps other processes of this user from reading our memory, which holds secrets and output.
#[cfg(target_os = "linux")]
fn conceal() {
    // It does not fail for our own process; without it, the system's rules for debuggers apply.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

// Other systems have no such setting.
#[cfg(not(target_os = "linux"))]
fn conceal() {}

fn say(report: &mut impl Write, what: &StartReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
    line.push(b'\n');
    report.write_all(&line)?;
    report.flush()
}

async fn begin(
    dir: &RuntimeDir,
    order: impl AsyncRead + Unpin,
    report: &mut impl Write,
) -> Result<KeeperServer, KeeperError> {
    let mut text = Vec::new();
    order.take(ORDER_BYTES).read_to_end(&mut text).await.map_err(KeeperError::Order)?;
    let order: StartOrder = serde_json::from_slice(&text).map_err(|bad| KeeperError::Order(bad.into()))?;
    drop(text);
    let (limits, nonce) = (order.numbers, order.nonce.clone());
    let Some(secret) = KeeperSecret::from_text(&order.secret) else {
        let _ = say(report, &StartReport::Unable { why: "the order holds no secret".into() });
        return Err(KeeperError::Order(io::ErrorKind::InvalidData.into()));
    };
    let unusable = |source| KeeperError::Place { path: dir.folder().to_owned(), source };
    let listener = match dir.make().and_then(|()| UnixListener::bind(dir.socket())) {
        Ok(listener) => listener,
        Err(error) => {
            let _ = say(report, &StartReport::Unable { why: error.to_string() });
            return Err(unusable(error));
        }
    };
    let launch = order.launch();
    let scope = Supervisor::new();
    let started = match launch.spawn() {
        Ok(started) => started,
        Err(error) => {
            let _ = say(report, &StartReport::NotStarted { why: error.why, hint: error.hint });
            return Err(KeeperError::NotStarted);
        }
    };
    let Some((child, pipes)) = KeptChild::take(started, &limits, &scope) else {
        let _ = say(report, &StartReport::Unable { why: "the child was started without pipes".into() });
        return Err(KeeperError::NotStarted);
    };
    if let Err(error) = dir.write(&RuntimeRecord::of(child.pid, &launch.command, nonce)) {
        // Without the record, a child outlives a keeper that is killed, and no later core is accepted by this one: the child
        // ends when its time without a core is over.
        let _ = error;
    }
    let (admit, admitted) = mpsc::channel(1);
    Ok(KeeperServer {
        dir: dir.clone(),
        relay: Relay::new(child.pid, pipes, &limits),
        limits,
        secret,
        scope,
        listener,
        child,
        alone_since: Instant::now(),
        dir_checked_at: Instant::now(),
        is_unwanted: false,
        errors_over: false,
        exit: None,
        handshakes: Arc::new(Semaphore::new(listener::HANDSHAKES_MAX)),
        admit,
        admitted,
        orphans: OrphanCleanup::Left,
        orphans_ended: CancellationToken::new(),
    })
}

/// The state of a running keeper.
struct KeeperServer {
    dir: RuntimeDir,
    limits: KeeperLimits,
    secret: KeeperSecret,
    scope: Supervisor,
    listener: UnixListener,
    child: KeptChild,
    /// The child's lines, and the core they go to.
    relay: Relay,
    alone_since: Instant,
    /// When the folder was last checked.
    dir_checked_at: Instant,
    /// The child is to end, so output that no core took is not waited for.
    is_unwanted: bool,
    errors_over: bool,
    /// How the child ended, and when.
    exit: Option<(ChildExit, Instant)>,
    /// Slots for connections that are not authenticated yet.
    handshakes: Arc<Semaphore>,
    admit: mpsc::Sender<AdmittedCore>,
    admitted: mpsc::Receiver<AdmittedCore>,
    orphans: OrphanCleanup,
    orphans_ended: CancellationToken,
}

/// How far the clean-up of processes that outlived the child is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OrphanCleanup {
    Left,
    BeingEnded,
    Ended,
}

impl KeeperServer {
    async fn run(mut self, wanted: bool) {
        if !wanted {
            self.end_child();
        }
        let mut signals = KeeperSignals::listen();
        while !self.is_done() {
            let reads = self.relay.output.has_room() && !self.relay.output_over;
            let patience = self.limits.pace().close_wait;
            let drained_at = self.exit.filter(|_| reads).map(|(_, at)| at + patience);
            let complained_at = self.exit.filter(|_| !self.errors_over).map(|(_, at)| at + patience);
            let is_alone = !self.relay.has_core() && !self.is_unwanted;
            let abandoned_at = is_alone.then(|| self.alone_since + self.limits.alone_limit());
            let dir_check_at =
                is_alone.then(|| self.dir_checked_at.max(self.alone_since) + self.limits.pace().close_wait);
            let had_core = self.relay.has_core();
            tokio::select! {
                biased;
                // Lines pass without leaving this arm.
                () = self.relay.carry() => {}
                Ok((stream, _)) = self.listener.accept() => self.on_connection(stream),
                Some(core) = self.admitted.recv() => self.begin_session(core),
                piece = self.child.stderr.recv(), if !self.errors_over => match piece {
                    Some(piece) => self.relay.on_stderr(piece),
                    None => self.errors_over = true,
                },
                () = self.child.ending.cancelled(), if !self.relay.pipes.input.is_closed() => {
                    self.relay.pipes.input.close();
                }
                exit = &mut self.child.exit, if self.exit.is_none() => {
                    self.exit = Some((exit.unwrap_or_default(), Instant::now()));
                }
                // Output that filled the buffer meanwhile is not over: it waits for a core.
                () = sleep_until(drained_at) => self.relay.output_over |= self.relay.output.has_room(),
                () = sleep_until(complained_at) => self.errors_over = true,
                () = sleep_until(abandoned_at) => self.end_child(),
                // Without its folder no core can find this keeper.
                () = sleep_until(dir_check_at) => self.check_runtime_dir(),
                () = next_signal(&mut signals.terminate) => self.end_child(),
                () = next_signal(&mut signals.children) => orphans::reap(self.exit.is_none().then_some(self.child.pid)),
                () = self.orphans_ended.cancelled(), if self.orphans == OrphanCleanup::BeingEnded => {
                    self.orphans = OrphanCleanup::Ended;
                }
            }
            if had_core && !self.relay.has_core() {
                self.alone_since = Instant::now();
            }
            if std::mem::take(&mut self.relay.is_end_ordered) {
                self.end_child();
            }
            self.freeze_as_ordered();
            self.report_exit();
            self.end_orphans();
        }
        self.scope.cancel();
    }

    /// Whether the child has ended and nothing is left for a core.
    fn is_done(&self) -> bool {
        let is_unheard = self.relay.is_exit_confirmed() || (self.is_unwanted && !self.relay.has_core());
        self.exit.is_some() && is_unheard && self.orphans == OrphanCleanup::Ended
    }

    fn end_child(&mut self) {
        self.is_unwanted = true;
        self.child.ending.cancel();
    }

    /// Stops the child's processes, or lets them continue. Not once the child has ended: its number may be another's then;
    /// nor while it is being ended, which continues what is stopped.
    fn freeze_as_ordered(&mut self) {
        while let Some((is_frozen, number)) = self.relay.freeze_orders.pop_front() {
            let may_act = self.exit.is_none() && !self.is_unwanted;
            let reading = if may_act { self.child.group.freeze(is_frozen) } else { FreezeReading::default() };
            self.relay.answer_freeze(number, reading);
        }
    }

    fn check_runtime_dir(&mut self) {
        self.dir_checked_at = Instant::now();
        if !self.dir.is_there() {
            self.end_child();
        }
    }

    /// Ends what outlived the child, once its last output is buffered or not wanted.
    fn end_orphans(&mut self) {
        let is_time = self.relay.is_exit_buffered() || (self.is_unwanted && !self.relay.has_core());
        if self.exit.is_none() || !is_time || self.orphans != OrphanCleanup::Left {
            return;
        }
        self.orphans = OrphanCleanup::BeingEnded;
        let (pace, over) = (self.limits.pace(), self.orphans_ended.clone());
        self.scope.spawn("orphans", async move {
            orphans::end(pace).await;
            over.cancel();
        });
    }

    fn on_connection(&self, stream: UnixStream) {
        let Ok(room) = Arc::clone(&self.handshakes).try_acquire_owned() else { return };
        let (secret, limit, admit) = (self.secret.clone(), self.limits.proof_limit(), self.admit.clone());
        self.scope.spawn("authenticate core", async move {
            if let Some(core) = listener::admit(stream, secret, limit).await {
                let _ = admit.send(core).await;
            }
            drop(room);
        });
    }

    /// Greets a core. Once a core has confirmed the exit, others are turned away as while one is connected: they try again
    /// until what outlived the child has ended, and this keeper with it. A greeting would offer them a dead child.
    fn begin_session(&mut self, AdmittedCore { stream, proof }: AdmittedCore) {
        if self.relay.has_core() || self.relay.is_exit_confirmed() {
            return listener::turn_away(stream, &self.scope);
        }
        self.relay.begin_session(stream, proof::to_hex(&proof));
    }

    /// Buffers the exit message, after all output and after standard error, which says why the child ended.
    fn report_exit(&mut self) {
        let is_silent = self.relay.output_over && self.errors_over;
        if let (Some((exit, _)), true, false) = (self.exit, is_silent, self.relay.is_exit_buffered()) {
            self.relay.put_exit(exit);
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
