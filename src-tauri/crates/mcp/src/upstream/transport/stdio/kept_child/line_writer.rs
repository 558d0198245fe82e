//! The writer task of a link to a keeper.
//!
//! It has nothing to do for a quick call: `line_outlet.rs` writes its line at once, and what is recorded goes out with
//! the next one or a little later.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::policy::Policy;
use keeper::{FrameKind, KeeperFrame};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::keeper_link::{CONTROL_MAX, Kept};
use super::line_outlet::WRITE_BYTES;
use crate::upstream::transport::line_connection::OutgoingLine;

/// Writes what was not written at once: lines that had to wait, and frames that waited for company.
pub(super) struct LineWriter {
    pub(super) kept: Arc<Kept>,
    pub(super) outgoing: mpsc::Receiver<OutgoingLine>,
    pub(super) policy: Arc<Policy>,
    pub(super) done: CancellationToken,
}

impl LineWriter {
    /// Runs until the link is left or over, or the keeper is gone.
    pub(super) async fn run(mut self) {
        // Fails when the keeper is gone, which the reader notices.
        let _ = self.write().await;
        self.kept.outlet.lock().close();
    }

    async fn write(&mut self) -> std::io::Result<()> {
        let kept = Arc::clone(&self.kept);
        let (mut ordered, mut has_link, mut control_at) = (false, true, None);
        // Taken from the queue when the window had filled meanwhile.
        let mut held: Option<OutgoingLine> = None;
        loop {
            kept.write_staged().await?;
            if !ordered && let Some(line) = held.take() {
                held = kept.stage_if_room(line);
                if held.is_none() {
                    continue;
                }
            }
            let may_send = !ordered && has_link && held.is_none() && kept.may_send();
            if control_at.is_none() && kept.control_waits.load(Ordering::Acquire) {
                // A core that is killed meanwhile leaves a reply that the next one finds on record.
                control_at = Some(Instant::now() + self.policy.keeping.confirm_wait);
            }
            tokio::select! {
                biased;
                () = kept.wake.notified() => {
                    if !kept.control_waits.load(Ordering::Acquire) || kept.log.lock().queued() > CONTROL_MAX {
                        kept.stage_control();
                    }
                }
                // What is queued goes out before the end is looked at, unless the child does not take it.
                line = self.outgoing.recv(), if may_send => match line {
                    Some(line) => held = kept.stage_if_room(line),
                    // The link is gone; whether it left or ended the child is said below.
                    None => has_link = false,
                },
                () = at(control_at) => {
                    control_at = None;
                    kept.control_waits.store(false, Ordering::Release);
                    kept.stage_control();
                }
                () = kept.ending.cancelled(), if !ordered => {
                    ordered = true;
                    let mut outlet = kept.outlet.lock();
                    outlet.take_no_lines();
                    KeeperFrame::bare(FrameKind::End, 0).put(outlet.staged());
                }
                () = kept.leaving.cancelled() => break,
                () = self.done.cancelled() => break,
            }
            while !ordered
                && held.is_none()
                && kept.outlet.lock().staged().len() < WRITE_BYTES
                && kept.may_send()
                && let Ok(line) = self.outgoing.try_recv()
            {
                held = kept.stage_if_room(line);
            }
        }
        // What was queued before the core left, and what it has recorded.
        if let Some(line) = held.filter(|_| !ordered) {
            kept.stage(line);
        }
        while !ordered && let Ok(line) = self.outgoing.try_recv() {
            kept.stage(line);
        }
        kept.stage_control();
        // A keeper that does not take them is gone or stuck; nothing can be done about it from here.
        timeout(self.policy.drain_limit, kept.write_staged()).await.unwrap_or(Ok(()))
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl Kept {
    pub(super) fn stage_control(&self) {
        let mut outlet = self.outlet.lock();
        self.log.lock().take_control(outlet.staged());
    }

    /// Writes all that is staged.
    pub(super) async fn write_staged(&self) -> std::io::Result<()> {
        poll_fn(|cx| self.outlet.lock().poll_write(cx)).await
    }
}
