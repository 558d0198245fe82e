//! Waits until tasks reach a state.
//!
//! Checks the current rows, never the change events themselves, from a position in the change log taken before the act, so
//! that no change is missed. It returns quietly at its time limit; the caller decides whether that is a problem.

use std::collections::HashSet;
use std::time::Duration;

use domain::ids::{HandleId, Seq, ServerId};
use domain::ports::Recording;
use domain::server::ServerHealth;
use domain::server::pause::PauseSubject;
use domain::task::TaskHandle;
use engine::{Engine, RecordingState};
use futures::StreamExt;

use crate::api::Api;
use crate::error::ApiError;

impl Api {
    /// Looks at each task now and after each change until `is_settled` said yes to all, at most for `limit`.
    /// Dropping it leaves nothing behind.
    pub(crate) async fn settle(
        &self,
        ids: &[HandleId],
        since: Seq,
        limit: Duration,
        mut is_settled: impl FnMut(&TaskHandle) -> bool,
    ) -> Result<(), ApiError> {
        let Some(engine) = self.engine() else { return Ok(()) };
        let mut open: HashSet<HandleId> = ids.iter().copied().collect();
        let mut feed = engine.feed(Some(since));
        let work = async {
            for id in ids {
                self.check(*id, &mut open, &mut is_settled).await?;
            }
            while !open.is_empty() {
                let Some(frame) = feed.next().await else { break };
                let changed: Vec<HandleId> = if frame.resync {
                    open.iter().copied().collect()
                } else {
                    frame.handles.into_iter().filter(|id| open.contains(id)).collect()
                };
                for id in changed {
                    self.check(id, &mut open, &mut is_settled).await?;
                }
            }
            Ok(())
        };
        tokio::select! {
            done = work => done,
            () = tokio::time::sleep(limit) => Ok(()),
            // The decision itself is recorded from the reserve; what the server says to it may have to wait for room.
            () = self.recording_is_stuck(engine) => Ok(()),
        }
    }

    /// Returns when nothing can be recorded, and one more try brought no change.
    async fn recording_is_stuck(&self, engine: &Engine) {
        let mut state = engine.recording_watch();
        let is_possible = |state: &RecordingState| state.recording == Recording::Possible || state.is_early;
        loop {
            if state.wait_for(|state| !is_possible(state)).await.is_err() {
                return std::future::pending().await;
            }
            let again = tokio::time::timeout(2 * self.policy.retention.record_again, state.wait_for(is_possible));
            if again.await.is_err() {
                return;
            }
        }
    }

    /// Whether the server is known not to hear anything now: waiting for its word would be waiting in vain. What was
    /// recorded goes out when it is back.
    pub(crate) fn is_out_of_reach(&self, server: ServerId) -> bool {
        let Some(engine) = self.engine() else { return false };
        let is_frozen = engine.pause_of(PauseSubject::Server(server)).is_some();
        is_frozen
            || match engine.health(server) {
                ServerHealth::Connecting
                | ServerHealth::Down { .. }
                | ServerHealth::Ended { .. }
                | ServerHealth::Blocked { .. } => true,
                ServerHealth::Unknown | ServerHealth::Up { .. } => false,
            }
    }

    async fn check(
        &self,
        id: HandleId,
        open: &mut HashSet<HandleId>,
        is_settled: &mut impl FnMut(&TaskHandle) -> bool,
    ) -> Result<(), ApiError> {
        let settled = self.registry.handle(id).await?.is_none_or(|task| is_settled(&task));
        if settled {
            open.remove(&id);
        }
        Ok(())
    }
}
