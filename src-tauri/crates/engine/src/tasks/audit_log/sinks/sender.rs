//! The task that sends rows to collectors: each sink has a cursor, and each collector is followed at its own pace.
//!
//! It sleeps without a timer while there is nothing to send. Which sinks there are is decided in `sinks.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::audit::log_sink::{LogSink, SinkFailure};
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, CollectorReply, LogCollectors, RegistryError};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::sleep;

use super::known_sinks::KnownSink;
use crate::core::EngineCore;
use crate::tasks::audit_log::log_records::{self, LogRequest};

/// Rows from this one on, at most `limit`.
pub(super) fn rows_from(first: u64, limit: u32) -> AuditQuery {
    let behind = Some(first.saturating_sub(1));
    AuditQuery { filter: AuditFilter::default(), order: AuditOrder::OldestFirst, behind, limit }
}

/// What an attempt to send came to.
enum SendOutcome {
    /// There is nothing to send.
    Nothing,
    /// Rows were taken, or fewer are tried next; there may be more.
    Onward,
    /// It may succeed later, not before this long.
    Later(Duration),
    /// A person must look, or the registry is closed.
    Over,
}

/// Sends to all collectors, for ever; each at its own pace.
pub(super) async fn run(core: Arc<EngineCore>) {
    let core = core.as_ref();
    let Some(collectors) = core.sinks.collectors.get() else { return };
    let mut changed = core.sinks.changed.subscribe();
    let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
    let mut following = FuturesUnordered::new();
    loop {
        for (id, change) in core.sinks.active() {
            if begun.insert(id, change) != Some(change) {
                following.push(async move {
                    tokio::select! {
                        () = follow(core, collectors.as_ref(), id) => {}
                        // A request that is dropped here may have been taken; it is sent again, with the same uids.
                        () = core.sinks.changed_after(id, change) => {}
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

/// Sends to one collector until it is paused or removed.
async fn follow(core: &EngineCore, collectors: &dyn LogCollectors, id: u32) {
    let mut commits = core.effects.commits.commits();
    let mut looks = core.sinks.looks.subscribe();
    let mut failures = 0_u32;
    let mut most = core.policy.audit.sink_rows;
    while let Some(known) = core.sinks.get(id) {
        match attempt(core, collectors, known, &mut most).await {
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

/// Sends the next rows, at most `most`, which a collector with small requests makes fewer.
async fn attempt(
    core: &EngineCore,
    collectors: &dyn LogCollectors,
    mut known: KnownSink,
    most: &mut u32,
) -> SendOutcome {
    let sink = &mut known.sink;
    let found = match core.registry.audit_rows(rows_from(sink.next_number, *most)).await {
        Ok(found) => found,
        Err(error) => return unstored(sink, &error),
    };
    let Some(first) = found.rows.first() else { return SendOutcome::Nothing };
    sink.skipped = sink.skipped.saturating_add(first.number.saturating_sub(sink.next_number));
    sink.next_number = first.number;
    let log = core.sinks.log.get().map_or("", String::as_str);
    let LogRequest { body, rows } = log_records::request(log, &found.rows, core.policy.audit.sink_bytes);
    let next = found.rows.get(rows.saturating_sub(1)).map_or(sink.next_number, |last| last.number + 1);
    match collectors.send(sink, body).await {
        CollectorReply::Taken { rejected } => {
            // Its own word, which may be any number; it got no more than these.
            let rejected = rejected.min(u64::try_from(rows).unwrap_or(u64::MAX));
            if rejected > 0 {
                tracing::warn!(sink = sink.id, rejected, "a collector rejected records of the audit log");
                sink.rejected = sink.rejected.saturating_add(rejected);
                sink.rejected_since = sink.rejected_since.or_else(|| Some(core.time.now()));
            }
            if sink.failure.take().is_some() {
                tracing::info!(sink = sink.id, "a collector takes rows of the audit log again");
            }
            (sink.next_number, sink.taken) = (next, Some(core.time.now()));
            // Before this is stored they count as not sent.
            match core.registry.note_sink(sink.clone()).await {
                Ok(()) => {
                    core.sinks.learn(known);
                    SendOutcome::Onward
                }
                Err(error) => unstored(sink, &error),
            }
        }
        CollectorReply::Later { why, wait } => {
            failed(core, known, why, false).await;
            SendOutcome::Later(wait.unwrap_or_default().min(core.policy.retry_after_ceiling))
        }
        CollectorReply::TooLarge { .. } if rows > 1 => {
            *most = u32::try_from(rows / 2).unwrap_or(1).max(1);
            SendOutcome::Onward
        }
        CollectorReply::TooLarge { why } | CollectorReply::Refused { why } => {
            failed(core, known, why, true).await;
            SendOutcome::Over
        }
    }
}

fn unstored(sink: &LogSink, error: &RegistryError) -> SendOutcome {
    if *error == RegistryError::Closed {
        return SendOutcome::Over;
    }
    tracing::warn!(sink = sink.id, %error, "how far rows came to a collector cannot be read or stored, trying again");
    SendOutcome::Later(Duration::ZERO)
}

/// Notes why rows wait; only what is new is stored.
async fn failed(core: &EngineCore, mut known: KnownSink, why: String, is_paused: bool) {
    let sink = &mut known.sink;
    let since = sink.failure.as_ref().map_or_else(|| core.time.now(), |failure| failure.since);
    let failure = SinkFailure { why, since, is_paused };
    if sink.failure.as_ref() != Some(&failure) {
        tracing::warn!(sink = sink.id, why = failure.why, is_paused, "rows of the audit log wait for a collector");
        sink.failure = Some(failure);
        if let Err(error) = core.registry.note_sink(sink.clone()).await {
            tracing::warn!(sink = sink.id, %error, "why rows wait for a collector cannot be stored");
        }
    }
    core.sinks.learn(known);
}
