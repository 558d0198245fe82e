//! The task that sends rows and spans to collectors: each signal of a sink has a cursor, and is followed at its own pace.
//!
//! It sleeps without a timer while there is nothing to send. Which sinks there are is decided in `sinks.rs`, what a request
//! holds in `next_request.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::audit::log_sink::{SinkFailure, SinkProgress};
use domain::ports::{CollectorReply, LogCollectors, RegistryError, SinkNote};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::sleep;

use super::known_sinks::{KnownSink, SentSignal};
use super::next_request::{NextRequest, next_request};
use crate::core::EngineCore;

/// What an attempt to send came to.
enum SendOutcome {
    /// There is nothing to send.
    Nothing,
    /// Something was taken, or less is tried next; there may be more.
    Onward,
    /// It may succeed later, not before this long.
    Later(Duration),
    /// A person must look, or the registry is closed.
    Over,
}

/// Sends to all collectors, for ever; each signal at its own pace.
pub(super) async fn run(core: Arc<EngineCore>) {
    let core = core.as_ref();
    let Some(collectors) = core.sinks.collectors.get() else { return };
    let mut changed = core.sinks.changed.subscribe();
    let mut begun: BTreeMap<SentSignal, u64> = BTreeMap::new();
    let mut following = FuturesUnordered::new();
    loop {
        for (of, change) in core.sinks.active() {
            if begun.insert(of, change) != Some(change) {
                following.push(async move {
                    tokio::select! {
                        () = follow(core, collectors.as_ref(), of) => {}
                        // A request that is dropped here may have been taken; it is sent again, with the same ids.
                        () = core.sinks.changed_after(of.sink, change) => {}
                    }
                });
            }
        }
        tokio::select! {
            told = changed.changed() => if told.is_err() { return },
            Some(()) = following.next() => {}
        }
    }
}

/// Sends one signal to one collector until it is paused or removed.
async fn follow(core: &EngineCore, collectors: &dyn LogCollectors, of: SentSignal) {
    let mut commits = core.effects.commits.commits();
    let mut looks = core.sinks.looks.subscribe();
    let mut failures = 0_u32;
    let mut most = core.policy.audit.sink_rows;
    while let Some(known) = core.sinks.get(of.sink) {
        let Some(progress) = known.sink.signals.get(&of.signal).cloned() else { return };
        let attempt = Attempt { core, collectors, of, known: &known };
        match attempt.run(progress, &mut most).await {
            SendOutcome::Onward => failures = 0,
            SendOutcome::Nothing => {
                failures = 0;
                tokio::select! {
                    told = commits.changed() => if told.is_err() { return },
                    told = looks.changed() => if told.is_err() { return },
                }
                // Rows that come closer together share a request.
                sleep(core.policy.audit.sink_gap).await;
            }
            SendOutcome::Later(wait) => {
                failures = failures.saturating_add(1);
                sleep(core.time.back_off(failures).max(wait)).await;
            }
            SendOutcome::Over => return,
        }
    }
}

/// One attempt to send what is next of a signal.
struct Attempt<'a> {
    core: &'a EngineCore,
    collectors: &'a dyn LogCollectors,
    of: SentSignal,
    known: &'a KnownSink,
}

impl Attempt<'_> {
    /// Sends at most `most` records or spans, which a collector with small requests makes fewer.
    async fn run(self, mut progress: SinkProgress, most: &mut u32) -> SendOutcome {
        let core = self.core;
        let NextRequest { first, next, items, body } =
            match next_request(core, self.of, progress.next_number, *most).await {
                Ok(Some(request)) => request,
                Ok(None) => return SendOutcome::Nothing,
                Err(error) => return self.unstored(&error),
            };
        progress.skipped = progress.skipped.saturating_add(first.saturating_sub(progress.next_number));
        progress.next_number = first;
        let Some(body) = body else {
            // Nothing of these rows is sent.
            progress.next_number = next;
            return self.store(progress).await;
        };
        match self.collectors.send(&self.known.sink, self.of.signal, body).await {
            CollectorReply::Taken { rejected } => {
                self.taken(&mut progress, next);
                // Its own word, which may be any number; it got no more than these.
                self.rejected(&mut progress, rejected.min(u64::try_from(items).unwrap_or(u64::MAX)));
                // Before this is stored they count as not sent.
                self.store(progress).await
            }
            CollectorReply::Later { why, wait } => {
                self.failed(progress, why, false).await;
                SendOutcome::Later(wait.unwrap_or_default().min(core.policy.retry_after_ceiling))
            }
            CollectorReply::TooLarge { .. } if items > 1 => {
                *most = u32::try_from(items / 2).unwrap_or(1).max(1);
                SendOutcome::Onward
            }
            CollectorReply::TooLarge { why } | CollectorReply::Refused { why } => {
                self.failed(progress, why, true).await;
                SendOutcome::Over
            }
        }
    }

    fn taken(&self, progress: &mut SinkProgress, next: u64) {
        if progress.failure.take().is_some() {
            tracing::info!(
                sink = self.of.sink,
                signal = self.of.signal.word(),
                "a collector takes what it is sent again"
            );
        }
        (progress.next_number, progress.taken) = (next, Some(self.core.time.now()));
    }

    fn rejected(&self, progress: &mut SinkProgress, rejected: u64) {
        if rejected > 0 {
            let (sink, signal) = (self.of.sink, self.of.signal.word());
            tracing::warn!(sink, signal, rejected, "a collector rejected a part of what it was sent");
            progress.rejected = progress.rejected.saturating_add(rejected);
            progress.rejected_since = progress.rejected_since.or_else(|| Some(self.core.time.now()));
        }
    }

    async fn store(&self, progress: SinkProgress) -> SendOutcome {
        match self.core.registry.note_sink(self.note(&progress)).await {
            Ok(()) => {
                self.core.sinks.learn(self.of, self.known.change, progress);
                SendOutcome::Onward
            }
            Err(error) => self.unstored(&error),
        }
    }

    fn note(&self, progress: &SinkProgress) -> SinkNote {
        SinkNote { sink: self.of.sink, signal: self.of.signal, progress: progress.clone() }
    }

    fn unstored(&self, error: &RegistryError) -> SendOutcome {
        if *error == RegistryError::Closed {
            return SendOutcome::Over;
        }
        let (sink, signal) = (self.of.sink, self.of.signal.word());
        tracing::warn!(sink, signal, %error, "what a collector is sent cannot be read or stored, trying again");
        SendOutcome::Later(Duration::ZERO)
    }

    /// Notes why rows wait; only what is new is stored.
    async fn failed(&self, mut progress: SinkProgress, why: String, is_paused: bool) {
        let since = progress.failure.as_ref().map_or_else(|| self.core.time.now(), |failure| failure.since);
        let failure = SinkFailure { why, since, is_paused };
        if progress.failure.as_ref() != Some(&failure) {
            let (sink, signal) = (self.of.sink, self.of.signal.word());
            tracing::warn!(sink, signal, why = failure.why, is_paused, "rows of the audit log wait for a collector");
            progress.failure = Some(failure);
            if let Err(error) = self.core.registry.note_sink(self.note(&progress)).await {
                tracing::warn!(sink, signal, %error, "why rows wait for a collector cannot be stored");
            }
        }
        self.core.sinks.learn(self.of, self.known.change, progress);
    }
}
