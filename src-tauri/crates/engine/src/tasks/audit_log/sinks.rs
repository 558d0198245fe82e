//! Sinks: collectors that people named, which get each row of the audit log as a log record over OTLP.
//!
//! How far rows came is a row of the registry that moves only after the collector took them, so a collector that is down,
//! a kill and a restart lose nothing, and what is sent twice has the same uid. Nothing waits for a collector. A collector
//! that refuses is paused until a person resumes it. Records are made in `log_records.rs`, sent behind [`LogCollectors`].

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::audit::log_sink::{LogSink, SinkFailure};
use domain::audit::{Actor, Verb};
use domain::ids::PersonId;
use domain::ports::{
    AuditFilter, AuditOrder, AuditQuery, CollectorReply, LogCollectors, RegistryError, Secret, SinkUnit,
};
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::checkpoints::fact;
use super::log_records::{self, LogRequest};
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// A collector as a person names it. Has no `Debug`: it carries secrets.
pub struct NewSink {
    /// The whole address that log records are posted to.
    pub url: String,
    /// Scheme, host and port, for the audit log and messages: a path may hold a key.
    pub origin: String,
    /// Headers of each request.
    pub headers: Vec<(String, Secret)>,
    /// The first row that is sent; the row that records this when absent.
    pub first: Option<u64>,
}

/// The collectors, and what is known of each.
#[derive(Default)]
pub(crate) struct SinkState {
    collectors: OnceLock<Arc<dyn LogCollectors>>,
    /// The name of the log.
    log: OnceLock<String>,
    sinks: Mutex<BTreeMap<u32, LogSink>>,
    /// One change by people at a time.
    changing: tokio::sync::Mutex<()>,
    /// Counts changes by people.
    changed: watch::Sender<u64>,
    /// Counts what was learned of collectors.
    learned: watch::Sender<u64>,
    /// Counts reasons to look for rows again, beside commits.
    looks: watch::Sender<u64>,
}

impl SinkState {
    /// Rows may be there that no commit told of.
    pub(super) fn look_again(&self) {
        self.looks.send_modify(|count| *count += 1);
    }

    fn get(&self, id: u32) -> Option<LogSink> {
        self.sinks.lock().get(&id).cloned()
    }

    /// Takes what was learned, unless the sink was removed meanwhile.
    fn learn(&self, sink: LogSink) {
        if let Some(known) = self.sinks.lock().get_mut(&sink.id) {
            *known = sink;
        }
        self.learned.send_modify(|count| *count += 1);
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u32, LogSink>)) {
        change(&mut self.sinks.lock());
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Engine {
    /// Gives the engine the way to collectors; from here on it sends rows by itself. Later calls are ignored.
    ///
    /// # Errors
    /// When the sinks cannot be read.
    pub async fn send_log(&self, collectors: Arc<dyn LogCollectors>) -> Result<(), RegistryError> {
        let core = &self.core;
        let stored = core.registry.sinks().await?;
        if core.sinks.collectors.set(collectors).is_ok() {
            *core.sinks.sinks.lock() = stored.sinks.into_iter().map(|sink| (sink.id, sink)).collect();
            // Set together with the collectors, so nobody was faster.
            let _ = core.sinks.log.set(stored.origin);
            let held = Arc::clone(core);
            core.supervisor.spawn_steady("sinks", &core.policy, move || Box::pin(run(Arc::clone(&held))));
        }
        Ok(())
    }

    /// From here on sends rows to this collector. Returns after the first attempt, or when that takes long.
    ///
    /// # Errors
    /// When it gets rows already, a header or the decision cannot be stored, or the first row is not written yet.
    pub async fn add_sink(&self, new: NewSink, by: &PersonId) -> Result<LogSink, EngineError> {
        let core = &self.core;
        let one_at_a_time = core.sinks.changing.lock().await;
        let collectors = self.collectors()?;
        let NewSink { url, origin, headers, first } = new;
        let before: Vec<LogSink> = core.sinks.sinks.lock().values().cloned().collect();
        if let Some(same) = before.iter().find(|sink| sink.url == url) {
            return Err(EngineError::NoSink(format!("sink {} sends rows to this address already", same.id)));
        }
        let most = core.policy.audit.sinks_max;
        if before.len() >= most {
            return Err(EngineError::NoSink(format!("rows are sent to {most} sinks already, as many as may be")));
        }
        let there = core.registry.audit_rows(rows_from(1, 1)).await?;
        let next = first.unwrap_or(there.last + 1).max(there.first).max(1);
        if next > there.last + 1 {
            let last = there.last;
            return Err(EngineError::NoSink(format!("row {next} is not written yet; the newest one is {last}")));
        }
        let id = before.iter().map(|sink| sink.id).max().unwrap_or(0).saturating_add(1);
        keep(collectors, id, &headers)?;
        let names: Vec<String> = headers.into_iter().map(|(name, _)| name).collect();
        let sink = LogSink::new(id, url, names, next);
        let note = format!("sink {id}, {origin}, from row {next}{}", with_headers(&sink.headers));
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkAdded, note)];
        if let Err(error) = core.registry.put_sink(SinkUnit { sink: sink.clone(), audit }).await {
            collectors.forget_headers(id, &sink.headers);
            return Err(error.into());
        }
        core.sinks.change(|sinks| drop(sinks.insert(id, sink.clone())));
        drop(one_at_a_time);
        Ok(self.tried(sink).await)
    }

    /// Sends nothing to this collector any more, and forgets its headers. What it has stays.
    ///
    /// # Errors
    /// When there is no such sink, or the decision cannot be recorded.
    pub async fn remove_sink(&self, id: u32, by: &PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let _one_at_a_time = core.sinks.changing.lock().await;
        let sink = self.known_sink(id)?;
        let note = format!("sink {id}, rows before {} were taken", sink.next_number);
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkRemoved, note)];
        core.registry.remove_sink(id, audit).await?;
        core.sinks.change(|sinks| drop(sinks.remove(&id)));
        self.collectors()?.forget_headers(id, &sink.headers);
        Ok(())
    }

    /// Sends to a collector again that was paused, or at once to one that is tried again later; with these headers in
    /// place of earlier ones of their names. Returns after the first attempt, or when that takes long.
    ///
    /// # Errors
    /// When there is no such sink, or a header or the decision cannot be stored.
    pub async fn resume_sink(
        &self,
        id: u32,
        headers: &[(String, Secret)],
        by: &PersonId,
    ) -> Result<LogSink, EngineError> {
        let core = &self.core;
        let one_at_a_time = core.sinks.changing.lock().await;
        let mut sink = self.known_sink(id)?;
        let names: Vec<String> = headers.iter().map(|(name, _)| name.clone()).collect();
        let is_new = |name: &&String| !sink.headers.iter().any(|known| known.eq_ignore_ascii_case(name));
        let added: Vec<String> = names.iter().filter(is_new).cloned().collect();
        sink.headers.extend(added);
        let most = core.policy.audit.sink_headers_max;
        if sink.headers.len() > most {
            return Err(EngineError::NoSink(format!("sink {id} would have more than {most} headers")));
        }
        keep(self.collectors()?, id, headers)?;
        sink.failure = None;
        let note = format!("sink {id}, from row {}{}", sink.next_number, with_headers(&names));
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkResumed, note)];
        core.registry.put_sink(SinkUnit { sink: sink.clone(), audit }).await?;
        core.sinks.change(|sinks| drop(sinks.insert(id, sink.clone())));
        drop(one_at_a_time);
        Ok(self.tried(sink).await)
    }

    fn collectors(&self) -> Result<&dyn LogCollectors, EngineError> {
        let collectors = self.core.sinks.collectors.get();
        collectors.map(AsRef::as_ref).ok_or_else(|| EngineError::NoSink("this core sends no rows".into()))
    }

    fn known_sink(&self, id: u32) -> Result<LogSink, EngineError> {
        self.core.sinks.get(id).ok_or_else(|| EngineError::NoSink(format!("there is no sink {id}")))
    }

    /// The sink after an attempt to send, or as it is when none ends in time.
    async fn tried(&self, before: LogSink) -> LogSink {
        let sinks = &self.core.sinks;
        let mut learned = sinks.learned.subscribe();
        let now = || sinks.get(before.id).unwrap_or_else(|| before.clone());
        let attempt = async {
            loop {
                let sink = now();
                if sink.failure.is_some() || sink.next_number > before.next_number || learned.changed().await.is_err() {
                    return;
                }
            }
        };
        let policy = &self.core.policy.audit;
        // Without an end in time, the list says later how it went.
        let _ = timeout(policy.sink_limit + policy.sink_gap, attempt).await;
        now()
    }
}

fn keep(collectors: &dyn LogCollectors, id: u32, headers: &[(String, Secret)]) -> Result<(), EngineError> {
    collectors.keep_headers(id, headers).map_err(|error| EngineError::NoSink(error.0))
}

fn with_headers(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", headers {}", names.join(" ")) }
}

/// Rows from this one on, at most `limit`.
fn rows_from(first: u64, limit: u32) -> AuditQuery {
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
async fn run(core: Arc<EngineCore>) {
    let Some(collectors) = core.sinks.collectors.get() else { return };
    let mut changed = core.sinks.changed.subscribe();
    loop {
        let ids: Vec<u32> =
            core.sinks.sinks.lock().values().filter(|sink| !sink.is_paused()).map(|sink| sink.id).collect();
        let sending = join_all(ids.into_iter().map(|id| follow(&core, collectors.as_ref(), id)));
        tokio::select! {
            // A request that is dropped here may have been taken; it is sent again, with the same uids.
            () = async { sending.await; pending().await } => {}
            told = changed.changed() => if told.is_err() { return },
        }
    }
}

/// Sends to one collector until it is paused or removed.
async fn follow(core: &EngineCore, collectors: &dyn LogCollectors, id: u32) {
    let mut commits = core.effects.commits.commits();
    let mut looks = core.sinks.looks.subscribe();
    let mut failures = 0_u32;
    let mut most = core.policy.audit.sink_rows;
    while let Some(sink) = core.sinks.get(id) {
        match attempt(core, collectors, sink, &mut most).await {
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
async fn attempt(core: &EngineCore, collectors: &dyn LogCollectors, mut sink: LogSink, most: &mut u32) -> SendOutcome {
    let found = match core.registry.audit_rows(rows_from(sink.next_number, *most)).await {
        Ok(found) => found,
        Err(error) => return unstored(&sink, &error),
    };
    let Some(first) = found.rows.first() else { return SendOutcome::Nothing };
    sink.skipped = sink.skipped.saturating_add(first.number.saturating_sub(sink.next_number));
    sink.next_number = first.number;
    let log = core.sinks.log.get().map_or("", String::as_str);
    let LogRequest { body, rows } = log_records::request(log, &found.rows, core.policy.audit.sink_bytes);
    let next = found.rows.get(rows.saturating_sub(1)).map_or(sink.next_number, |last| last.number + 1);
    match collectors.send(&sink, body).await {
        CollectorReply::Taken { rejected, message } => {
            if rejected > 0 {
                tracing::warn!(sink = sink.id, rejected, "a collector rejected records of the audit log");
                sink.rejected = sink.rejected.saturating_add(rejected);
                sink.rejected_why = message;
            }
            if sink.failure.take().is_some() {
                tracing::info!(sink = sink.id, "a collector takes rows of the audit log again");
            }
            (sink.next_number, sink.taken) = (next, Some(core.time.now()));
            // Before this is stored they count as not sent.
            match core.registry.note_sink(sink.clone()).await {
                Ok(()) => {
                    core.sinks.learn(sink);
                    SendOutcome::Onward
                }
                Err(error) => unstored(&sink, &error),
            }
        }
        CollectorReply::Later { why, wait } => {
            failed(core, sink, why, false).await;
            SendOutcome::Later(wait.unwrap_or_default().min(core.policy.retry_after_ceiling))
        }
        CollectorReply::TooLarge { .. } if rows > 1 => {
            *most = u32::try_from(rows / 2).unwrap_or(1).max(1);
            SendOutcome::Onward
        }
        CollectorReply::TooLarge { why } | CollectorReply::Refused { why } => {
            failed(core, sink, why, true).await;
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
async fn failed(core: &EngineCore, mut sink: LogSink, why: String, is_paused: bool) {
    let since = sink.failure.as_ref().map_or_else(|| core.time.now(), |failure| failure.since);
    let failure = SinkFailure { why, since, is_paused };
    if sink.failure.as_ref() != Some(&failure) {
        tracing::warn!(sink = sink.id, why = failure.why, is_paused, "rows of the audit log wait for a collector");
        sink.failure = Some(failure);
        if let Err(error) = core.registry.note_sink(sink.clone()).await {
            tracing::warn!(sink = sink.id, %error, "why rows wait for a collector cannot be stored");
        }
    }
    core.sinks.learn(sink);
}
