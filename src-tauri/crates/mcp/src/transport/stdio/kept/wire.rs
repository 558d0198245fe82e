//! A link to a child that a keeper holds: what `stdio.rs` does with pipes, over the keeper's socket.
//!
//! Three tasks, as there: a reader, a writer, and one that tells why the link is over. Dropping the link, and the end
//! of the core, leave the child with its keeper; only `close` ends it. What is left to be taken stays with the keeper
//! by `books.rs`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::Closure;
use futures::Stream;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::books::{Books, Note};
use crate::link::{Inbound, LinkError, Tag};
use crate::message::Skim;
use crate::transport::duplex::{Duplex, OUTBOX_CAPACITY, Parcel, Part, Wire};
use crate::transport::inbound::Over;
use crate::transport::stdio::ending::Exit;
use crate::transport::stdio::group::Group;
use crate::transport::stdio::keep::frame::{Frame, Frames, Kind};
use crate::transport::stdio::keep::order::Hello;
use crate::transport::stdio::keeper::{Complaint, closure};
use crate::transport::stdio::leftover::start_time;
use crate::transport::stdio::spawn::Launch;
use crate::transport::stdio::stderr::StderrTail;
use crate::transport::{OpenContext, inbound};

/// Frames are written together up to about this size.
const WRITE_BYTES: usize = 64 * 1_024;

/// What a link and its tasks share about a kept child.
pub(in crate::transport::stdio) struct Kept {
    books: Mutex<Books>,
    wake: Notify,
    /// The child is to end.
    ending: CancellationToken,
    /// The child stays with its keeper.
    leaving: CancellationToken,
    /// The next core will know what this child is.
    has_word: std::sync::atomic::AtomicBool,
    stderr: StderrTail,
}

impl Kept {
    /// Leaves word for the next core.
    pub(in crate::transport::stdio) fn leave_word(&self, state: Vec<u8>) {
        self.tell(|books| books.say(Frame::new(Kind::State, 0, state)));
        self.has_word.store(true, std::sync::atomic::Ordering::Release);
    }

    /// A call of an earlier core is out.
    pub(super) fn adopt(&self, note: &Note) {
        self.tell(|books| books.adopt(note));
        self.has_word.store(true, std::sync::atomic::Ordering::Release);
    }

    fn tell(&self, change: impl FnOnce(&mut Books)) {
        change(&mut self.books.lock());
        self.wake.notify_one();
    }
}

struct KeptWire(Arc<Kept>);

impl Wire for KeptWire {
    fn stderr_tail(&self) -> String {
        self.0.stderr.text()
    }

    fn begin_end(&self) {
        if !self.0.leaving.is_cancelled() {
            self.0.ending.cancel();
        }
    }

    fn begin_leave(&self) {
        // Without a word, nobody could take it up.
        if !self.0.has_word.load(std::sync::atomic::Ordering::Acquire) {
            self.0.ending.cancel();
        } else if !self.0.ending.is_cancelled() {
            self.0.leaving.cancel();
        }
    }

    fn name(&self) -> &'static str {
        "stdio"
    }

    fn asking(&self, tag: Tag, id: u64) {
        self.0.tell(|books| books.asking(tag, id));
    }

    fn note_call(&self, tag: Tag, ticket: HandleId, augment: bool) {
        self.0.books.lock().announce(tag, ticket, augment);
    }

    fn settle(&self, ticket: HandleId) {
        self.0.tell(|books| books.settle(ticket));
    }

    fn over(&self, what: &Part) {
        self.0.tell(|books| books.over(what));
    }
}

/// A link that does not listen yet.
pub(super) struct Begun {
    pub(super) link: Arc<Duplex>,
    pub(super) kept: Arc<Kept>,
    pub(super) heard: CancellationToken,
    pub(super) pid: u32,
    streams: (Frames<OwnedReadHalf>, OwnedWriteHalf),
    parcels: mpsc::Receiver<Parcel>,
    inbound: std::pin::Pin<Box<dyn Stream<Item = Inbound> + Send>>,
    name: String,
    ctx: OpenContext,
}

/// Puts a link together from a greeting.
pub(super) fn begin(
    launch: &Launch,
    hello: &Hello,
    streams: (Frames<OwnedReadHalf>, OwnedWriteHalf),
    ctx: &OpenContext,
) -> Begun {
    let policy = &ctx.policy;
    let stderr = StderrTail::new(policy.stderr_kept_bytes, launch.secret_env.values().cloned().collect());
    stderr.push(hello.stderr.as_bytes());
    let kept = Arc::new(Kept {
        books: Mutex::new(Books::new(policy.keeping.replies_kept)),
        wake: Notify::new(),
        ending: CancellationToken::new(),
        leaving: CancellationToken::new(),
        has_word: false.into(),
        stderr,
    });
    if hello.state.is_some() {
        kept.has_word.store(true, std::sync::atomic::Ordering::Release);
    }
    let over = Arc::new(Over::default());
    let (sink, inbound) = inbound::channel(policy, &over);
    let (out, parcels) = mpsc::channel(OUTBOX_CAPACITY);
    let wire = Box::new(KeptWire(Arc::clone(&kept)));
    let link = Arc::new(Duplex::new(wire, out, (sink, over), Arc::clone(policy)));
    let heard = CancellationToken::new();
    if hello.heard {
        heard.cancel();
    }
    Begun {
        link,
        kept,
        heard,
        pid: hello.pid,
        streams,
        parcels,
        inbound: Box::pin(inbound),
        name: launch.command.clone(),
        ctx: ctx.clone(),
    }
}

impl Begun {
    /// Begins to listen.
    pub(super) fn listen(self) -> impl Stream<Item = Inbound> + Send {
        let Self { link, kept, heard, pid, streams: (frames, to), parcels, inbound, name, ctx } = self;
        let scope = &ctx.supervisor;
        let done = CancellationToken::new();
        let complaint = Complaint::default();
        let (tell, ended) = oneshot::channel();
        let reader = Reader { link: Arc::downgrade(&link), kept: Arc::clone(&kept), heard, complaint };
        let complaint = Arc::clone(&reader.complaint);
        scope.spawn_draining("kept reader", async move {
            // Nobody waits for it when the child stays with its keeper.
            let _ = tell.send(reader.read(frames).await);
        });
        let writer = write(to, parcels, Arc::clone(&kept), Arc::clone(&ctx.policy), done.clone());
        scope.spawn_draining("kept writer", writer);
        let end = End {
            kept,
            over: Arc::clone(&link.over),
            board: link.board.clone(),
            complaint,
            name,
            child: (pid, start_time(pid)),
            policy: Arc::clone(&ctx.policy),
            stopping: scope.stopping(),
            done,
        };
        scope.spawn_draining("kept child", end.wait(ended));
        inbound
    }
}

/// How reading ended: how the child did and the piece that says so, or that the keeper is gone.
type Ended = Option<(Exit, u64)>;

struct Reader {
    link: Weak<Duplex>,
    kept: Arc<Kept>,
    heard: CancellationToken,
    complaint: Complaint,
}

impl Reader {
    async fn read(self, mut frames: Frames<impl AsyncRead + Unpin>) -> Ended {
        let leaving = self.kept.leaving.clone();
        let reading = async {
            // A keeper that speaks nonsense is as good as gone.
            while let Ok(Some(frame)) = frames.next().await {
                if let Some(exit) = self.take_in(frame).await {
                    return Some(exit);
                }
            }
            None
        };
        tokio::select! {
            ended = reading => ended,
            () = leaving.cancelled() => None,
        }
    }

    async fn take_in(&self, Frame { kind, number, body }: Frame) -> Ended {
        match kind {
            Kind::Line => {
                // Without a link nobody listens any more; what is read while the child ends is nobody's.
                let link = self.link.upgrade().filter(|_| self.complaint.lock().is_none())?;
                match link.accept(&body).await {
                    Ok(parts) => self.kept.tell(|books| books.read(number, parts)),
                    Err(_) => {
                        *self.complaint.lock() = Some("it sends more than is taken from it".into());
                        self.kept.ending.cancel();
                    }
                }
            }
            Kind::TooLong => {
                let link = self.link.upgrade()?;
                let mut skim = Skim::default();
                skim.feed(&body, body.len());
                link.accept_oversized(&skim);
                self.kept.tell(|books| books.read(number, Vec::new()));
            }
            Kind::Exited => return Some((serde_json::from_slice(&body).unwrap_or_default(), number)),
            Kind::Wrote => self.kept.tell(|books| books.wrote(number, &String::from_utf8_lossy(&body))),
            Kind::Heard => self.heard.cancel(),
            Kind::Stderr => self.kept.stderr.push(&body),
            // What only cores say, and greetings, which came before.
            Kind::Input
            | Kind::Note
            | Kind::Forget
            | Kind::Settle
            | Kind::State
            | Kind::End
            | Kind::Proof
            | Kind::Challenge
            | Kind::Hello
            | Kind::Busy => {}
        }
        None
    }
}

async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut parcels: mpsc::Receiver<Parcel>,
    kept: Arc<Kept>,
    policy: Arc<Policy>,
    done: CancellationToken,
) {
    let (messages, bytes_max) = (policy.keeping.input_messages, policy.keeping.input_bytes);
    let mut bytes = Vec::new();
    let (mut ordered, mut has_link) = (false, true);
    loop {
        kept.books.lock().take_control(&mut bytes);
        if !bytes.is_empty() {
            if to.write_all(&bytes).await.is_err() {
                return;
            }
            bytes.clear();
            bytes.shrink_to(WRITE_BYTES);
            continue;
        }
        let may_send = !ordered && has_link && kept.books.lock().may_send(messages, bytes_max);
        tokio::select! {
            biased;
            () = kept.wake.notified() => {}
            // What is queued goes out before the end is looked at, unless the child does not take it.
            parcel = parcels.recv(), if may_send => match parcel {
                Some(parcel) => put(&kept, parcel, &mut bytes),
                // The link is gone; whether it left or ended the child is said below.
                None => has_link = false,
            },
            () = kept.ending.cancelled(), if !ordered => {
                ordered = true;
                Frame::bare(Kind::End, 0).put(&mut bytes);
            }
            () = kept.leaving.cancelled() => break,
            () = done.cancelled() => break,
        }
        while bytes.len() < WRITE_BYTES
            && !ordered
            && kept.books.lock().may_send(messages, bytes_max)
            && let Ok(parcel) = parcels.try_recv()
        {
            put(&kept, parcel, &mut bytes);
        }
    }
    // The last words: what was queued before the core left, or what it has on record.
    while !ordered && let Ok(parcel) = parcels.try_recv() {
        put(&kept, parcel, &mut bytes);
    }
    kept.books.lock().take_control(&mut bytes);
    // A keeper that does not take them is gone or stuck; nothing can be done about it from here.
    let _ = timeout(policy.drain_limit, to.write_all(&bytes)).await;
}

/// Puts a line for the child, after the words that belong to it.
fn put(kept: &Kept, Parcel { bytes: line, written }: Parcel, bytes: &mut Vec<u8>) {
    let mut books = kept.books.lock();
    books.take_control(bytes);
    let number = books.send(line.len(), written);
    drop(books);
    Frame::new(Kind::Input, number, line).put(bytes);
}

/// Tells why the link is over.
struct End {
    kept: Arc<Kept>,
    over: Arc<Over>,
    board: crate::transport::board::Board,
    complaint: Complaint,
    name: String,
    child: (u32, Option<u64>),
    policy: Arc<Policy>,
    stopping: CancellationToken,
    done: CancellationToken,
}

impl End {
    async fn wait(self, mut ended: oneshot::Receiver<Ended>) {
        let told = tokio::select! {
            biased;
            told = &mut ended => Some(told.ok().flatten()),
            () = self.kept.leaving.cancelled() => None,
            () = self.kept.ending.cancelled() => {
                timeout(self.patience(), &mut ended).await.ok().map(|told| told.ok().flatten()).or(Some(None))
            }
            () = self.stopping.cancelled() => {
                self.kept.leaving.cancel();
                None
            }
        };
        match told {
            None => self.tell(Closure {
                why: format!("`{}` stays with its keeper", self.name),
                hint: "The next core takes it up again.".into(),
                process_ended: false,
            }),
            Some(_) if self.kept.leaving.is_cancelled() => self.tell(Closure {
                why: format!("`{}` stays with its keeper", self.name),
                hint: "The next core takes it up again.".into(),
                process_ended: false,
            }),
            Some(None) => {
                self.end_unkept().await;
                self.tell(Closure {
                    why: format!("`{}` was ended because its keeper is gone", self.name),
                    hint: "Taskwarden starts it again.".into(),
                    process_ended: true,
                });
            }
            Some(Some((exit, last))) => {
                let complaint = self.complaint.lock().take();
                let asked = self.kept.ending.is_cancelled() && complaint.is_none();
                self.tell(closure(&self.name, exit, asked, complaint, &self.kept.stderr));
                self.take_all().await;
                self.kept.tell(|books| books.say(Frame::bare(Kind::Settle, last)));
            }
        }
        self.done.cancel();
    }

    /// The keeper ends the child in three steps, and needs a moment itself.
    fn patience(&self) -> Duration {
        self.policy.child_close_wait + self.policy.child_term_wait * 2 + self.policy.keeping.greeting_limit
    }

    fn tell(&self, closure: Closure) {
        tracing::debug!(child.name = %self.name, why = %closure.why, "a kept child is over, or left");
        let waiting = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: true };
        let later = LinkError::Broken { why: closure.why.clone(), hint: closure.hint.clone(), sent: false };
        self.over.close(closure);
        self.board.end(&waiting, later);
        self.kept.books.lock().drop_sent();
    }

    /// Replies that came before the end are put on record first; the keeper holds them until then.
    async fn take_all(&self) {
        let until = Instant::now() + self.policy.reply_limit;
        while self.kept.books.lock().has_answers() && Instant::now() < until && !self.stopping.is_cancelled() {
            sleep_until((Instant::now() + self.policy.child_group_look).min(until)).await;
        }
    }

    /// A child whose keeper was killed.
    async fn end_unkept(&self) {
        let (pid, start) = self.child;
        if start.is_some()
            && start_time(pid) == start
            && let Some(group) = Group::of(pid)
        {
            group.end(self.policy.child_term_wait, self.policy.child_group_look).await;
        }
    }
}
