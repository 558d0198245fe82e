//! `taskwarden keep`: a small process that holds one child, so that the child outlives its core (ruling 16).
//!
//! It owns the child's group, buffers what the child says until a core has it on record, and gives it to the next
//! core that comes. One core at a time. It ends the group when it is told to, and when no core came for the time it
//! was given; and itself when nothing is left to give. It reads no configuration, opens no registry, logs nothing and
//! knows no MCP: what it keeps for cores (`state`, notes) is text to it. The core's side is `kept.rs`.

mod child;
mod door;
pub(super) mod frame;
pub(super) mod order;
mod orphans;
pub(super) mod proof;
mod shelf;
mod signals;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::runtime::supervisor::Supervisor;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ending::Exit;
use super::kept::place::{Place, Record};
use child::{Child, Said, Wrote};
use door::{Admitted, Visit};
use frame::{Frame, Kind};
use order::{Hello, Numbers, Order, Report};
use proof::DoorSecret;
use shelf::Shelf;
use signals::{Signals, next_signal};

/// An order has a command with its arguments and environment, which the system bounds by 2 MiB on Linux.
const ORDER_BYTES: u64 = 4 * 1_024 * 1_024;

/// Why a keeper could not begin.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The order did not come or cannot be read.
    #[error("the order cannot be read: {0}")]
    Order(#[source] io::Error),
    /// The place cannot be used.
    #[error("the place `{path}` cannot be used: {source}")]
    Place {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The child was not started; whoever ordered it was told why.
    #[error("the child was not started")]
    NotStarted,
    /// Nobody hears that the child was started.
    #[error("whoever ordered it is gone")]
    Abandoned,
}

/// Keeps one child until it is over: reads the order from `orders`, says on `report` in one line whether the child
/// runs, and then serves cores on a socket in the folder `at`.
///
/// # Errors
/// When it could not begin. Then no child runs.
pub async fn keep(at: &Path, orders: impl AsyncRead + Unpin, mut report: impl Write) -> Result<(), KeepError> {
    // Away from the terminal and the process group of the core: neither Ctrl-C nor a hang-up reaches what is kept.
    // It fails only for the leader of a group, who is away already.
    let _ = rustix::process::setsid();
    conceal();
    orphans::adopt();
    let place = Place::at(at);
    let begun = begin(&place, orders, &mut report).await;
    let kept = match begun {
        Ok(keeper) => {
            let told = say(&mut report, &Report::Running);
            drop(report);
            keeper.run(told.is_ok()).await;
            told.map_err(|_| KeepError::Abandoned)
        }
        Err(error) => Err(error),
    };
    // A place that could not be made may be another keeper's; what is left of our own is cleared by the next core.
    if !matches!(kept, Err(KeepError::Place { .. })) {
        place.clear();
    }
    kept
}

/// No other process of this user may read the memory of the keeper, which holds secrets and output.
#[cfg(target_os = "linux")]
fn conceal() {
    // It fails for no process of ours; without it, the system's own rules for debuggers hold.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

// Not run here.
#[cfg(not(target_os = "linux"))]
fn conceal() {}

fn say(report: &mut impl Write, what: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
    line.push(b'\n');
    report.write_all(&line)?;
    report.flush()
}

async fn begin(place: &Place, orders: impl AsyncRead + Unpin, report: &mut impl Write) -> Result<Keeper, KeepError> {
    let mut text = Vec::new();
    orders.take(ORDER_BYTES).read_to_end(&mut text).await.map_err(KeepError::Order)?;
    let order: Order = serde_json::from_slice(&text).map_err(|bad| KeepError::Order(bad.into()))?;
    drop(text);
    let (numbers, nonce) = (order.numbers, order.nonce.clone());
    let Some(secret) = DoorSecret::from_text(&order.secret) else {
        let _ = say(report, &Report::Unable { why: "the order holds no secret for its door".into() });
        return Err(KeepError::Order(io::ErrorKind::InvalidData.into()));
    };
    let unusable = |source| KeepError::Place { path: place.folder().to_owned(), source };
    let listener = match place.make().and_then(|()| UnixListener::bind(place.socket())) {
        Ok(listener) => listener,
        Err(error) => {
            let _ = say(report, &Report::Unable { why: error.to_string() });
            return Err(unusable(error));
        }
    };
    let launch = order.launch();
    let scope = Supervisor::new();
    let started = match launch.spawn() {
        Ok(started) => started,
        Err(error) => {
            let (why, hint) = (error.to_string(), error.hint().to_owned());
            let _ = say(report, &Report::NotStarted { why, hint });
            return Err(KeepError::NotStarted);
        }
    };
    let Some(child) = Child::take(started, &numbers, &scope) else {
        let _ = say(report, &Report::Unable { why: "the child was started without pipes".into() });
        return Err(KeepError::NotStarted);
    };
    if let Err(error) = place.write(&Record::of(child.pid, &launch.command, nonce)) {
        // Without it the child would outlive a keeper that is killed; nothing worse.
        let _ = error;
    }
    let (admit, admitted) = mpsc::channel(1);
    Ok(Keeper {
        place: place.clone(),
        numbers,
        secret,
        scope,
        listener,
        child,
        shelf: Shelf::new(numbers.kept_bytes),
        notes: BTreeMap::new(),
        state: None,
        stderr: VecDeque::new(),
        heard: false,
        visits: 0,
        core: None,
        frames: None,
        alone_since: Instant::now(),
        looked_at: Instant::now(),
        unwanted: false,
        output_over: false,
        errors_over: false,
        exit: None,
        last: None,
        knocks: Arc::new(Semaphore::new(door::KNOCKS_MAX)),
        admit,
        admitted,
        orphans: Orphans::Left,
        orphans_over: CancellationToken::new(),
    })
}

/// One keeper at work.
struct Keeper {
    place: Place,
    numbers: Numbers,
    secret: DoorSecret,
    scope: Supervisor,
    listener: UnixListener,
    child: Child,
    shelf: Shelf,
    notes: BTreeMap<u64, String>,
    state: Option<String>,
    stderr: VecDeque<u8>,
    heard: bool,
    visits: u64,
    core: Option<Visit>,
    /// What it says.
    frames: Option<mpsc::Receiver<Frame>>,
    alone_since: Instant,
    /// When it was last looked whether a core can come.
    looked_at: Instant,
    /// The end was ordered, or nobody came: what is left to give is wanted by nobody.
    unwanted: bool,
    output_over: bool,
    errors_over: bool,
    /// How the child ended, and when.
    exit: Option<(Exit, Instant)>,
    /// The piece that says so, once it is on the shelf; zero when it is settled.
    last: Option<u64>,
    /// Room for processes that have not proved anything.
    knocks: Arc<Semaphore>,
    admit: mpsc::Sender<Admitted>,
    admitted: mpsc::Receiver<Admitted>,
    orphans: Orphans,
    orphans_over: CancellationToken,
}

/// What was done about processes that outlived the child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orphans {
    Left,
    BeingEnded,
    Ended,
}

impl Keeper {
    async fn run(mut self, wanted: bool) {
        if !wanted {
            self.give_up();
        }
        let mut signals = Signals::listen();
        while !self.is_done() {
            let has_more = self.core.as_ref().is_some_and(|core| !core.first.is_empty()) || self.shelf.has_unsent();
            let reads = self.shelf.has_room() && !self.output_over;
            let patience = self.numbers.pace().close_wait;
            let drained_at = self.exit.filter(|_| reads).map(|(_, at)| at + patience);
            let complained_at = self.exit.filter(|_| !self.errors_over).map(|(_, at)| at + patience);
            let is_lonely = self.core.is_none() && !self.unwanted;
            let lonely_at = is_lonely.then(|| self.alone_since + self.numbers.alone_limit());
            let look_at = is_lonely.then(|| self.looked_at.max(self.alone_since) + self.numbers.pace().close_wait);
            tokio::select! {
                Ok((stream, _)) = self.listener.accept() => self.knocked(stream),
                Some(core) = self.admitted.recv() => self.arrived(core),
                frame = next_frame(&mut self.frames) => self.told(frame),
                permit = room(&self.core), if has_more => self.give(permit),
                said = self.child.said.recv(), if reads => self.said(said),
                piece = self.child.stderr.recv(), if !self.errors_over => self.complained(piece),
                Some(wrote) = self.child.wrote.recv() => self.wrote(wrote),
                exit = &mut self.child.exit, if self.exit.is_none() => {
                    self.exit = Some((exit.unwrap_or_default(), Instant::now()));
                }
                () = sleep_until(drained_at) => self.output_over = true,
                () = sleep_until(complained_at) => self.errors_over = true,
                () = sleep_until(lonely_at) => self.give_up(),
                // Without its place no core can find it.
                () = sleep_until(look_at) => self.look(),
                () = next_signal(&mut signals.terminate) => self.give_up(),
                () = next_signal(&mut signals.children) => orphans::reap(self.exit.is_none().then_some(self.child.pid)),
                () = self.orphans_over.cancelled(), if self.orphans == Orphans::BeingEnded => {
                    self.orphans = Orphans::Ended;
                }
            }
            self.tell_exit();
            self.end_orphans();
        }
        self.scope.cancel();
    }

    /// Whether nobody can want anything any more.
    fn is_done(&self) -> bool {
        let is_unheard = self.last == Some(0) || (self.unwanted && self.core.is_none());
        self.exit.is_some() && is_unheard && self.orphans == Orphans::Ended
    }

    fn give_up(&mut self) {
        self.unwanted = true;
        self.child.ending.cancel();
    }

    fn look(&mut self) {
        self.looked_at = Instant::now();
        if !self.place.is_there() {
            self.give_up();
        }
    }

    /// Ends what outlived the child, once its last words are heard or nobody wants them.
    fn end_orphans(&mut self) {
        let is_time = self.last.is_some() || (self.unwanted && self.core.is_none());
        if self.exit.is_none() || !is_time || self.orphans != Orphans::Left {
            return;
        }
        self.orphans = Orphans::BeingEnded;
        let (pace, over) = (self.numbers.pace(), self.orphans_over.clone());
        self.scope.spawn("orphans", async move {
            orphans::end(pace).await;
            over.cancel();
        });
    }

    fn knocked(&self, stream: UnixStream) {
        let Ok(room) = Arc::clone(&self.knocks).try_acquire_owned() else { return };
        let (secret, limit, admit) = (self.secret.clone(), self.numbers.proof_limit(), self.admit.clone());
        self.scope.spawn("door", async move {
            if let Some(core) = door::admit(stream, secret, limit).await {
                let _ = admit.send(core).await;
            }
            drop(room);
        });
    }

    fn arrived(&mut self, Admitted { stream, proof }: Admitted) {
        if self.core.is_some() {
            return door::turn_away(stream, &self.scope);
        }
        self.visits += 1;
        let (front, back) = self.stderr.as_slices();
        let hello = Hello {
            visit: self.visits,
            proof: proof::to_hex(&proof),
            pid: self.child.pid,
            heard: self.heard,
            state: self.state.clone(),
            notes: self.notes.iter().map(|(id, text)| (*id, text.clone())).collect(),
            stderr: String::from_utf8_lossy(&[front, back].concat()).into_owned(),
        };
        let Ok(hello) = serde_json::to_vec(&hello) else { return };
        self.shelf.rewind();
        let hello = Frame::new(Kind::Hello, self.visits, hello);
        let (visit, frames) = Visit::begin(stream, hello, &self.numbers, &self.scope);
        (self.core, self.frames) = (Some(visit), Some(frames));
    }

    fn told(&mut self, frame: Option<Frame>) {
        let Some(Frame { kind, number, body }) = frame else { return self.left() };
        match kind {
            Kind::Input => {
                if let Err(mpsc::error::TrySendError::Full(_)) = self.child.input.try_send((number, body)) {
                    // It does not keep to the window: not a core that we know.
                    self.left();
                }
            }
            Kind::Note if body.len() <= order::NOTE_BYTES && self.notes.len() < self.numbers.notes => {
                self.notes.insert(number, String::from_utf8_lossy(&body).into_owned());
            }
            Kind::Forget => {
                self.notes.remove(&number);
            }
            Kind::Settle => {
                self.shelf.settle(number);
                if self.last == Some(number) {
                    self.last = Some(0);
                }
            }
            Kind::State => self.state = Some(String::from_utf8_lossy(&body).into_owned()),
            Kind::End => self.give_up(),
            // Without this note a reply finds no handle in the next core; the call itself is fine.
            Kind::Note => {}
            // What only keepers say, and what came before the greeting.
            Kind::Proof
            | Kind::Challenge
            | Kind::Hello
            | Kind::Busy
            | Kind::Line
            | Kind::TooLong
            | Kind::Exited
            | Kind::Wrote
            | Kind::Heard
            | Kind::Stderr => self.left(),
        }
    }

    fn left(&mut self) {
        (self.core, self.frames) = (None, None);
        self.alone_since = Instant::now();
    }

    fn give(&mut self, permit: Option<mpsc::OwnedPermit<Frame>>) {
        let (Some(permit), Some(core)) = (permit, self.core.as_mut()) else { return };
        if let Some(frame) = core.first.pop_front().or_else(|| self.shelf.next_unsent()) {
            permit.send(frame);
        }
    }

    /// Says something that a core which is not here need not hear.
    fn mention(&mut self, frame: Frame) {
        if let Some(core) = self.core.as_mut() {
            core.first.push_back(frame);
        }
    }

    fn said(&mut self, said: Option<Said>) {
        match said {
            Some(Said::First) => {
                self.heard = true;
                self.mention(Frame::bare(Kind::Heard, 0));
            }
            Some(Said::Line(line)) => {
                self.shelf.put(Kind::Line, line);
            }
            Some(Said::TooLong(stub)) => {
                self.shelf.put(Kind::TooLong, stub);
            }
            None => self.output_over = true,
        }
    }

    fn complained(&mut self, piece: Option<Vec<u8>>) {
        let Some(piece) = piece else {
            self.errors_over = true;
            return;
        };
        self.stderr.extend(&piece);
        let surplus = self.stderr.len().saturating_sub(self.numbers.stderr_bytes);
        self.stderr.drain(..surplus);
        // A core that is slow to read hears less of it; the end is what counts, and the next greeting has it.
        if self.core.as_ref().is_some_and(|core| core.first.len() < MENTIONS_MAX) {
            self.mention(Frame::new(Kind::Stderr, 0, piece));
        }
    }

    fn wrote(&mut self, (number, done): Wrote) {
        let why = done.err().unwrap_or_default();
        self.mention(Frame::new(Kind::Wrote, number, why.into_bytes()));
    }

    /// The last piece: after everything the child said, also on its standard error, which says why it ended.
    fn tell_exit(&mut self) {
        let is_silent = self.output_over && self.errors_over;
        if let (Some((exit, _)), true, None) = (self.exit, is_silent, self.last) {
            self.last = Some(self.shelf.put(Kind::Exited, serde_json::to_vec(&exit).unwrap_or_default()));
        }
    }
}

/// Pieces of standard error that wait for a core which reads slowly.
const MENTIONS_MAX: usize = 256;

async fn next_frame(frames: &mut Option<mpsc::Receiver<Frame>>) -> Option<Frame> {
    match frames {
        Some(frames) => frames.recv().await,
        None => std::future::pending().await,
    }
}

async fn room(core: &Option<Visit>) -> Option<mpsc::OwnedPermit<Frame>> {
    match core {
        // A writer that is gone is noticed by the reader beside it.
        Some(core) => match core.out.clone().reserve_owned().await {
            Ok(permit) => Some(permit),
            Err(_) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
