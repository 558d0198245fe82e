//! A link to a child that a keeper owns: `stdio.rs` over the keeper's socket instead of pipes.
//!
//! Three tasks: a reader, a writer, and one that reports the end. Dropping the link, or stopping the core, leaves the
//! child with its keeper; only `close` ends it. What this core did not record stays with the keeper
//! (`delivery_log.rs`).

use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::Closure;
use futures::Stream;
use keeper::{
    ChildExit, FrameKind, FrameReader, KeeperConnection, KeeperFrame, Launch, MessageSkim, ProcessGroup, start_time,
};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::delivery_log::{DeliveryLog, Note};
use crate::upstream::transport::inbound_queue::LinkEnd;
use crate::upstream::transport::line_connection::{
    LineConnection, LineTransport, OUTBOX_CAPACITY, OutgoingLine, OutputPart,
};
use crate::upstream::transport::link::{InboundMessage, LinkError, RequestTag};
use crate::upstream::transport::stdio::child_supervisor::{Complaint, closure};
use crate::upstream::transport::stdio::stderr::StderrTail;
use crate::upstream::transport::{OpenContext, inbound_queue};

/// Frames are written together up to about this size.
const WRITE_BYTES: usize = 64 * 1_024;

/// What a link and its tasks share about a kept child.
pub(crate) struct Kept {
    log: Mutex<DeliveryLog>,
    wake: Notify,
    /// The child is to end.
    ending: CancellationToken,
    /// The child stays with its keeper.
    leaving: CancellationToken,
    /// The keeper has the state that the next core needs.
    has_word: std::sync::atomic::AtomicBool,
    stderr: StderrTail,
}

impl Kept {
    /// Sends the keeper what the next core must know.
    pub(crate) fn leave_state(&self, state: Vec<u8>) {
        self.tell(|log| log.say(KeeperFrame::new(FrameKind::State, 0, state)));
        self.has_word.store(true, std::sync::atomic::Ordering::Release);
    }

    /// Registers a pending call of an earlier core.
    pub(crate) fn adopt(&self, note: &Note) {
        self.tell(|log| log.adopt(note));
        self.has_word.store(true, std::sync::atomic::Ordering::Release);
    }

    fn tell(&self, change: impl FnOnce(&mut DeliveryLog)) {
        change(&mut self.log.lock());
        self.wake.notify_one();
    }
}

struct KeptWire(Arc<Kept>);

impl LineTransport for KeptWire {
    fn stderr_tail(&self) -> String {
        self.0.stderr.text()
    }

    fn begin_end(&self) {
        if !self.0.leaving.is_cancelled() {
            self.0.ending.cancel();
        }
    }

    fn begin_leave(&self) {
        // Without the state, no core could resume the child.
        if !self.0.has_word.load(std::sync::atomic::Ordering::Acquire) {
            self.0.ending.cancel();
        } else if !self.0.ending.is_cancelled() {
            self.0.leaving.cancel();
        }
    }

    fn name(&self) -> &'static str {
        "stdio"
    }

    fn asking(&self, tag: RequestTag, id: u64) {
        self.0.tell(|log| log.asking(tag, id));
    }

    fn note_call(&self, tag: RequestTag, ticket: HandleId, augment: bool) {
        self.0.log.lock().announce(tag, ticket, augment);
    }

    fn settle(&self, ticket: HandleId) {
        self.0.tell(|log| log.settle(ticket));
    }

    fn over(&self, what: &OutputPart) {
        self.0.tell(|log| log.over(what));
    }
}

/// A link that is not reading yet.
pub(crate) struct KeeperLink {
    pub(crate) link: Arc<LineConnection>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) heard: CancellationToken,
    pub(crate) pid: u32,
    streams: (FrameReader<OwnedReadHalf>, OwnedWriteHalf),
    parcels: mpsc::Receiver<OutgoingLine>,
    inbound: std::pin::Pin<Box<dyn Stream<Item = InboundMessage> + Send>>,
    name: String,
    ctx: OpenContext,
}

impl KeeperLink {
    /// Puts a link together over an open connection.
    pub(crate) fn new(launch: &Launch, connection: KeeperConnection, ctx: &OpenContext) -> Self {
        let KeeperConnection { hello, frames, to } = connection;
        let streams = (frames, to);
        let policy = &ctx.policy;
        let stderr = StderrTail::new(policy.stderr_kept_bytes, launch.secret_env.values().cloned().collect());
        stderr.push(hello.stderr.as_bytes());
        let kept = Arc::new(Kept {
            log: Mutex::new(DeliveryLog::new(policy.keeping.replies_kept)),
            wake: Notify::new(),
            ending: CancellationToken::new(),
            leaving: CancellationToken::new(),
            has_word: false.into(),
            stderr,
        });
        if hello.state.is_some() {
            kept.has_word.store(true, std::sync::atomic::Ordering::Release);
        }
        let over = Arc::new(LinkEnd::default());
        let (sink, inbound) = inbound_queue::channel(policy, &over);
        let (out, parcels) = mpsc::channel(OUTBOX_CAPACITY);
        let wire = Box::new(KeptWire(Arc::clone(&kept)));
        let link = Arc::new(LineConnection::new(wire, out, sink, Arc::clone(policy)));
        let heard = CancellationToken::new();
        if hello.heard {
            heard.cancel();
        }
        Self {
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

    /// Starts the reader, the writer and the end task.
    pub(crate) fn listen(self) -> impl Stream<Item = InboundMessage> + Send {
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
            pending: link.pending.clone(),
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

/// How reading ended: the child's exit and the number of that frame, or `None` when the keeper is gone.
type Ended = Option<(ChildExit, u64)>;

struct Reader {
    link: Weak<LineConnection>,
    kept: Arc<Kept>,
    heard: CancellationToken,
    complaint: Complaint,
}

impl Reader {
    async fn read(self, mut frames: FrameReader<impl AsyncRead + Unpin>) -> Ended {
        let leaving = self.kept.leaving.clone();
        let reading = async {
            // A keeper that sends nonsense counts as gone.
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

    async fn take_in(&self, KeeperFrame { kind, number, body }: KeeperFrame) -> Ended {
        match kind {
            FrameKind::Line => {
                // Without a link nobody needs the line.
                let link = self.link.upgrade().filter(|_| self.complaint.lock().is_none())?;
                match link.accept(&body).await {
                    Ok(parts) => self.kept.tell(|log| log.read(number, parts)),
                    Err(_) => {
                        *self.complaint.lock() = Some("it sends more than is taken from it".into());
                        self.kept.ending.cancel();
                    }
                }
            }
            FrameKind::TooLong => {
                let link = self.link.upgrade()?;
                let mut skim = MessageSkim::default();
                skim.feed(&body, body.len());
                link.accept_oversized(&skim);
                self.kept.tell(|log| log.read(number, Vec::new()));
            }
            FrameKind::Exited => return Some((serde_json::from_slice(&body).unwrap_or_default(), number)),
            FrameKind::Wrote => self.kept.tell(|log| log.wrote(number, &String::from_utf8_lossy(&body))),
            FrameKind::Heard => self.heard.cancel(),
            FrameKind::Stderr => self.kept.stderr.push(&body),
            // Only cores send these, and the greeting has been read.
            FrameKind::Input
            | FrameKind::Note
            | FrameKind::Forget
            | FrameKind::Settle
            | FrameKind::State
            | FrameKind::End
            | FrameKind::Proof
            | FrameKind::Challenge
            | FrameKind::Hello
            | FrameKind::Busy => {}
        }
        None
    }
}

async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut parcels: mpsc::Receiver<OutgoingLine>,
    kept: Arc<Kept>,
    policy: Arc<Policy>,
    done: CancellationToken,
) {
    let (messages, bytes_max) = (policy.keeping.input_messages, policy.keeping.input_bytes);
    let mut bytes = Vec::new();
    let (mut ordered, mut has_link) = (false, true);
    loop {
        kept.log.lock().take_control(&mut bytes);
        if !bytes.is_empty() {
            if to.write_all(&bytes).await.is_err() {
                return;
            }
            bytes.clear();
            bytes.shrink_to(WRITE_BYTES);
            continue;
        }
        let may_send = !ordered && has_link && kept.log.lock().may_send(messages, bytes_max);
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
                KeeperFrame::bare(FrameKind::End, 0).put(&mut bytes);
            }
            () = kept.leaving.cancelled() => break,
            () = done.cancelled() => break,
        }
        while bytes.len() < WRITE_BYTES
            && !ordered
            && kept.log.lock().may_send(messages, bytes_max)
            && let Ok(parcel) = parcels.try_recv()
        {
            put(&kept, parcel, &mut bytes);
        }
    }
    // What was queued before the core left, and what it has recorded.
    while !ordered && let Ok(parcel) = parcels.try_recv() {
        put(&kept, parcel, &mut bytes);
    }
    kept.log.lock().take_control(&mut bytes);
    // A keeper that does not take them is gone or stuck; nothing can be done about it from here.
    let _ = timeout(policy.drain_limit, to.write_all(&bytes)).await;
}

/// Appends a line for the child, after the frames that belong before it.
fn put(kept: &Kept, OutgoingLine { bytes: line, written }: OutgoingLine, bytes: &mut Vec<u8>) {
    let mut log = kept.log.lock();
    log.take_control(bytes);
    let number = log.send(line.len(), written);
    drop(log);
    KeeperFrame::new(FrameKind::Input, number, line).put(bytes);
}

/// Reports why the link ended.
struct End {
    kept: Arc<Kept>,
    over: Arc<LinkEnd>,
    pending: crate::upstream::transport::pending_requests::PendingRequests,
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
                self.kept.tell(|log| log.say(KeeperFrame::bare(FrameKind::Settle, last)));
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
        self.pending.end(&waiting, later);
        self.kept.log.lock().drop_sent();
    }

    /// Waits until replies that came before the end are recorded; the keeper holds them until then.
    async fn take_all(&self) {
        let until = Instant::now() + self.policy.reply_limit;
        while self.kept.log.lock().has_answers() && Instant::now() < until && !self.stopping.is_cancelled() {
            sleep_until((Instant::now() + self.policy.child_group_look).min(until)).await;
        }
    }

    /// Ends a child whose keeper was killed.
    async fn end_unkept(&self) {
        let (pid, start) = self.child;
        if start.is_some()
            && start_time(pid) == start
            && let Some(group) = ProcessGroup::of(pid)
        {
            group.end(self.policy.child_term_wait, self.policy.child_group_look).await;
        }
    }
}
