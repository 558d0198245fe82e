//! A link to a child that a keeper owns: `stdio.rs` over the keeper's socket instead of pipes.
//!
//! Three tasks: a reader, a writer, and one that reports the end. Dropping the link, or stopping the core, leaves the
//! child with its keeper; only `close` ends it. What this core did not record stays with the keeper
//! (`delivery_log.rs`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{Closure, FreezeReading, PortFuture};
use futures::Stream;
use keeper::{
    ChildExit, FrameKind, FrameReader, KeeperConnection, KeeperFrame, Launch, LocalReader, MessageSkim, ProcessGroup,
    start_time,
};
use parking_lot::Mutex;
use tokio::io::AsyncRead;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::delivery_log::{DeliveryLog, Note};
use super::freeze_orders::FreezeOrders;
use super::line_outlet::{LineOutlet, SentNow, WriteLimits};
use super::line_writer::LineWriter;
use crate::upstream::transport::inbound_queue::LinkEnd;
use crate::upstream::transport::line_connection::{
    LineConnection, LineTransport, OUTBOX_CAPACITY, OutgoingLine, OutputPart,
};
use crate::upstream::transport::link::{InboundMessage, LinkError, RequestTag};
use crate::upstream::transport::stdio::child_supervisor::{Complaint, closure, last_words};
use crate::upstream::transport::stdio::stderr::StderrTail;
use crate::upstream::transport::{OpenContext, inbound_queue};

/// So many frames about what is recorded do not wait.
pub(super) const CONTROL_MAX: usize = 64;

/// What a link and its tasks share about a kept child.
pub(crate) struct Kept {
    pub(super) log: Mutex<DeliveryLog>,
    /// Locked before the log where both are.
    pub(super) outlet: Mutex<LineOutlet>,
    /// Lines in the queue, or about to be: none may overtake them.
    pub(super) queued: AtomicUsize,
    /// Wakes the writer.
    pub(super) wake: Notify,
    /// Frames wait for company, and the writer knows.
    pub(super) control_waits: AtomicBool,
    limits: WriteLimits,
    /// The child is to end.
    pub(super) ending: CancellationToken,
    /// The child stays with its keeper.
    pub(super) leaving: CancellationToken,
    /// The keeper has the state that the next core needs.
    has_word: AtomicBool,
    /// The keeper is no older than [`FrameKind::Request`].
    takes_requests: bool,
    pub(super) freezing: FreezeOrders,
    stderr: StderrTail,
}

impl Kept {
    /// Sends the keeper what the next core must know.
    pub(crate) fn leave_state(&self, state: Vec<u8>) {
        self.tell(|log| log.say(KeeperFrame::new(FrameKind::State, 0, state)));
        self.has_word.store(true, Ordering::Release);
    }

    /// Registers a pending call of an earlier core.
    pub(crate) fn adopt(&self, note: &Note) {
        self.tell(|log| log.adopt(note));
        self.has_word.store(true, Ordering::Release);
    }

    pub(super) fn tell(&self, change: impl FnOnce(&mut DeliveryLog)) {
        change(&mut self.log.lock());
        self.wake.notify_one();
    }

    /// Changes what nobody waits for: the keeper is told with the next line, or a little later.
    fn tell_later(&self, change: impl FnOnce(&mut DeliveryLog)) {
        let queued = {
            let mut log = self.log.lock();
            change(&mut log);
            log.queued()
        };
        let is_first = queued > 0 && !self.control_waits.swap(true, Ordering::AcqRel);
        if is_first || queued > CONTROL_MAX {
            self.wake.notify_one();
        }
    }

    pub(super) fn may_send(&self) -> bool {
        self.log.lock().may_send(self.limits.messages, self.limits.bytes)
    }

    /// Sends a line, after the frames that belong before it.
    pub(super) fn send(&self, outlet: &mut LineOutlet, line: OutgoingLine, is_awaited: bool) -> SentNow {
        let number = {
            let mut log = self.log.lock();
            log.take_control(outlet.staged());
            log.send(line.bytes.len(), line.written)
        };
        let kind = if is_awaited || !self.takes_requests { FrameKind::Input } else { FrameKind::Request };
        outlet.send(kind, number, &line.bytes)
    }

    /// Puts a line that was queued behind what is staged, or gives it back while the window is full. Both are decided
    /// under the lock under which others send at once: a keeper leaves a core that exceeds the window.
    pub(super) fn stage_if_room(&self, line: OutgoingLine) -> Option<OutgoingLine> {
        let mut outlet = self.outlet.lock();
        if !self.may_send() {
            return Some(line);
        }
        self.stage_behind(&mut outlet, line);
        None
    }

    /// Puts a line that was queued behind what is staged.
    pub(super) fn stage(&self, line: OutgoingLine) {
        self.stage_behind(&mut self.outlet.lock(), line);
    }

    fn stage_behind(&self, outlet: &mut LineOutlet, line: OutgoingLine) {
        let Some(OutgoingLine { bytes, written, .. }) = line.permitted() else {
            self.queued.fetch_sub(1, Ordering::AcqRel);
            return;
        };
        let mut log = self.log.lock();
        log.take_control(outlet.staged());
        let number = log.send(bytes.len(), written);
        drop(log);
        KeeperFrame::new(FrameKind::Input, number, bytes).put(outlet.staged());
        self.queued.fetch_sub(1, Ordering::AcqRel);
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
        if !self.0.has_word.load(Ordering::Acquire) {
            self.0.ending.cancel();
        } else if !self.0.ending.is_cancelled() {
            self.0.leaving.cancel();
        }
    }

    fn name(&self) -> &'static str {
        "stdio"
    }

    fn send_now(&self, line: OutgoingLine, is_awaited: bool) -> Result<(), OutgoingLine> {
        // Whoever holds the lock writes just now.
        let Some(mut outlet) = self.0.outlet.try_lock() else { return Err(line) };
        if !outlet.is_free() || self.0.queued.load(Ordering::Acquire) > 0 || !self.0.may_send() {
            return Err(line);
        }
        let Some(line) = line.permitted() else { return Ok(()) };
        let sent = self.0.send(&mut outlet, line, is_awaited);
        drop(outlet);
        if sent == SentNow::Staged {
            self.0.wake.notify_one();
        }
        Ok(())
    }

    fn can_freeze(&self) -> bool {
        self.0.freezing.may_order()
    }

    fn freeze(&self, is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        Box::pin(async move { self.0.freeze(is_frozen).await })
    }

    fn line_queued(&self) {
        self.0.queued.fetch_add(1, Ordering::AcqRel);
        // The window may have been freed between the look that queued this line and its count: then nobody else wakes
        // the writer.
        if self.0.may_send() {
            self.0.wake.notify_one();
        }
    }

    fn line_dropped(&self) {
        self.0.queued.fetch_sub(1, Ordering::AcqRel);
    }

    fn asking(&self, tag: RequestTag, id: u64) {
        // Its line follows at once and takes the note along.
        self.0.log.lock().asking(tag, id);
    }

    fn note_call(&self, tag: RequestTag, ticket: HandleId, augment: bool) {
        self.0.log.lock().announce(tag, ticket, augment);
    }

    fn settle(&self, ticket: HandleId) {
        self.0.tell_later(|log| log.settle(ticket));
    }

    fn over(&self, what: &OutputPart) {
        self.0.tell_later(|log| log.over(what));
    }
}

/// A link that is not reading yet.
pub(crate) struct KeeperLink {
    pub(crate) link: Arc<LineConnection>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) heard: CancellationToken,
    pub(crate) pid: u32,
    frames: FrameReader<LocalReader>,
    outgoing: mpsc::Receiver<OutgoingLine>,
    inbound: std::pin::Pin<Box<dyn Stream<Item = InboundMessage> + Send>>,
    name: String,
    ctx: OpenContext,
}

impl KeeperLink {
    /// Puts a link together over an open connection.
    pub(crate) fn new(launch: &Launch, connection: KeeperConnection, ctx: &OpenContext) -> Self {
        let KeeperConnection { hello, frames, to } = connection;
        let policy = &ctx.policy;
        let stderr = StderrTail::new(policy, launch.secret_env.values().cloned().collect(), ctx.process.clone());
        if hello.visit > 1 {
            stderr.resumed(hello.pid, &hello.stderr);
        } else {
            stderr.started(hello.pid);
            stderr.push(hello.stderr.as_bytes());
        }
        let kept = Arc::new(Kept {
            log: Mutex::new(DeliveryLog::new(policy.keeping.replies_kept)),
            outlet: Mutex::new(LineOutlet::new(to, policy.keeping.confirm_wait)),
            queued: AtomicUsize::new(0),
            wake: Notify::new(),
            control_waits: AtomicBool::new(false),
            limits: WriteLimits { messages: policy.keeping.input_messages, bytes: policy.keeping.input_bytes },
            ending: CancellationToken::new(),
            leaving: CancellationToken::new(),
            has_word: false.into(),
            takes_requests: hello.takes_requests(),
            freezing: FreezeOrders::new(hello.freezes(), policy.reply_limit),
            stderr,
        });
        if hello.state.is_some() {
            kept.has_word.store(true, Ordering::Release);
        }
        let over = Arc::new(LinkEnd::default());
        let (sink, inbound) = inbound_queue::channel(policy, &over);
        let (out, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
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
            frames,
            outgoing,
            inbound: Box::pin(inbound),
            name: launch.command.clone(),
            ctx: ctx.clone(),
        }
    }

    /// Starts the reader, the writer and the end task.
    pub(crate) fn listen(self) -> impl Stream<Item = InboundMessage> + Send {
        let Self { link, kept, heard, pid, frames, outgoing, inbound, name, ctx } = self;
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
        let writer =
            LineWriter { kept: Arc::clone(&kept), outgoing, policy: Arc::clone(&ctx.policy), done: done.clone() };
        scope.spawn_draining("kept writer", writer.run());
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
                    Ok(parts) => self.kept.tell_later(|log| log.read(number, parts)),
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
                let answer = link.accept_oversized(&skim);
                self.kept.tell_later(|log| log.read(number, answer.into_iter().collect()));
            }
            FrameKind::Exited => return Some((serde_json::from_slice(&body).unwrap_or_default(), number)),
            FrameKind::Wrote => {
                if body.is_empty() {
                    self.kept.log.lock().wrote(number);
                } else {
                    self.kept.log.lock().not_written(number, &String::from_utf8_lossy(&body));
                }
                if self.kept.queued.load(Ordering::Acquire) > 0 {
                    // There may be room for them now.
                    self.kept.wake.notify_one();
                }
            }
            FrameKind::Heard => self.heard.cancel(),
            FrameKind::Frozen => self.kept.freezing.answered(number, &body),
            FrameKind::Stderr => self.kept.stderr.push(&body),
            // Only cores send these, and the greeting has been read.
            FrameKind::Input
            | FrameKind::Request
            | FrameKind::Note
            | FrameKind::Forget
            | FrameKind::Settle
            | FrameKind::State
            | FrameKind::Freeze
            | FrameKind::Thaw
            | FrameKind::End
            | FrameKind::Proof
            | FrameKind::Challenge
            | FrameKind::Hello
            | FrameKind::Busy => {}
        }
        None
    }
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
                hint: "The next core connects to it again.".into(),
                process_ended: false,
            }),
            Some(_) if self.kept.leaving.is_cancelled() => self.tell(Closure {
                why: format!("`{}` stays with its keeper", self.name),
                hint: "The next core connects to it again.".into(),
                process_ended: false,
            }),
            Some(None) => {
                self.end_unkept().await;
                self.kept.stderr.ended(ChildExit::default(), false);
                self.tell(Closure {
                    why: format!("`{}` was ended because its keeper is gone", self.name),
                    hint: "Taskwarden starts it again.".into(),
                    process_ended: true,
                });
            }
            Some(Some((exit, last))) => {
                let complaint = self.complaint.lock().take();
                let asked = self.kept.ending.is_cancelled() && complaint.is_none();
                self.kept.stderr.ended(exit, asked || complaint.is_some());
                let said = last_words(&self.kept.stderr, &self.pending);
                self.tell(closure(&self.name, exit, asked, complaint, said));
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
