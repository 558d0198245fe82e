//! The change feed: a cursor over the change log, woken by commits. It never loses a change and never floods.
//!
//! The first change goes out at once, later ones at most once per frame time (ruling 13). A frame says what changed;
//! readers read the rows. Memory is one frame per reader, however slow. Health is not in the log and comes from
//! `runtime/commit_signal.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, Seq, ServerId};
use domain::ports::RegistryError;
use domain::ports::change::{Change, Changes, Entity};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::core::EngineCore;
use crate::engine::Engine;

struct Reader {
    core: Arc<EngineCore>,
    cursor: Seq,
    health: u64,
    commits: watch::Receiver<Seq>,
    healths: watch::Receiver<u64>,
    rest_until: Instant,
    /// The engine has ended; only what is already in the change log is left to read.
    ended: bool,
}

/// A stretch of news: what changed, in absolute terms. Read the current rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeFrame {
    /// Everything up to here is covered.
    pub upto: Seq,
    /// The reader fell behind and must read everything again.
    pub resync: bool,
    /// Tasks that changed.
    pub handles: Vec<HandleId>,
    /// Servers that changed (also their health, which is not in the change log).
    pub servers: Vec<ServerId>,
    /// Agents that changed, or whose rules did.
    pub agents: Vec<AgentId>,
    /// What is halted changed, or which tasks that covers.
    pub halts: bool,
    /// Alarms about what agents call changed.
    pub alarms: bool,
}

impl Engine {
    /// Changes after a sequence number (from now on when `None`): a bounded stream without losses, because each frame is
    /// read from the change log. The first change is sent at once, later ones at most every `feed_frame`.
    #[must_use]
    pub fn feed(&self, after: Option<Seq>) -> BoxStream<'static, ChangeFrame> {
        let core = &self.core;
        let (commits, healths) = (core.effects.commits.commits(), core.effects.commits.healths());
        let (_, health) = core.effects.commits.health_since(u64::MAX);
        // Fixed now, not at the first poll of the stream: "from now on" is the moment of asking.
        let cursor = after.unwrap_or_else(|| *core.effects.commits.commits().borrow());
        let reader = Reader {
            core: Arc::clone(core),
            cursor,
            health,
            commits,
            healths,
            rest_until: Instant::now(),
            ended: false,
        };
        stream::unfold(reader, |mut reader| async move { reader.next().await.map(|frame| (frame, reader)) }).boxed()
    }
}

impl Reader {
    /// The next frame; `None` after the end.
    async fn next(&mut self) -> Option<ChangeFrame> {
        let mut failures = 0;
        let stopping = self.core.supervisor.stopping();
        loop {
            tokio::time::sleep_until(self.rest_until).await;
            self.commits.mark_unchanged();
            self.healths.mark_unchanged();
            let after = self.cursor;
            match self.core.registry.changes_since(after, self.core.policy.batch_rows).await {
                Ok(changes) => {
                    failures = 0;
                    let (servers, health) = self.core.effects.commits.health_since(self.health);
                    self.health = health;
                    if let Some(frame) = frame(after, changes, servers) {
                        self.cursor = frame.upto;
                        self.rest_until = Instant::now() + self.core.policy.feed_frame;
                        return Some(frame);
                    }
                }
                Err(RegistryError::Closed) => return None,
                Err(error) => {
                    failures += 1;
                    tracing::warn!(%error, attempt = failures, "the change log cannot be read, trying again");
                    tokio::time::sleep(self.core.time.back_off(failures)).await;
                    continue;
                }
            }
            tokio::select! {
                biased;
                woken = self.commits.changed() => woken.ok()?,
                woken = self.healths.changed() => woken.ok()?,
                // What the end itself changed is read once more.
                () = stopping.cancelled(), if !self.ended => self.ended = true,
                () = std::future::ready(()), if self.ended => return None,
            }
        }
    }
}

/// What the changes say; `None` when nothing is new.
fn frame(after: Seq, changes: Changes, health: Vec<ServerId>) -> Option<ChangeFrame> {
    if changes.rows.is_empty() && health.is_empty() && !changes.truncated {
        return None;
    }
    let mut handles = BTreeSet::new();
    let mut agents = BTreeSet::new();
    let (mut halts, mut alarms) = (false, false);
    let mut servers: BTreeSet<_> = health.into_iter().collect();
    for Change { entity, .. } in &changes.rows {
        match entity {
            Entity::Handle(id) => {
                handles.insert(*id);
            }
            Entity::Server(id) => {
                servers.insert(*id);
            }
            Entity::Agent(id) => {
                agents.insert(*id);
            }
            Entity::Halt(_) => halts = true,
            Entity::Alarm(_) => alarms = true,
        }
    }
    Some(ChangeFrame {
        upto: changes.upto.max(after),
        resync: changes.truncated,
        handles: handles.into_iter().collect(),
        servers: servers.into_iter().collect(),
        agents: agents.into_iter().collect(),
        halts,
        alarms,
    })
}
