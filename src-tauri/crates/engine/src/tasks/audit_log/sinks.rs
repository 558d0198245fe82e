//! Sinks: collectors that people named, which get each row of the audit log as a log record over OTLP, each task that
//! ended as a span, or both.
//!
//! How far a signal came is a row of the registry that moves only after the collector took it, so a collector that is
//! down, a kill and a restart lose nothing, and what is sent twice has the same ids. Nothing waits for a collector. A
//! signal that is refused is paused until a person resumes the sink. Here is what people change; `sinks/sender.rs` sends
//! what `sinks/next_request.rs` puts together, behind [`LogCollectors`].

mod known_sinks;
mod next_request;
mod sender;

use std::sync::Arc;

use domain::audit::log_sink::{LogSink, SinkProgress, SinkRefused, SinkSignal};
use domain::audit::{Actor, Verb};
use domain::ids::PersonId;
use domain::ports::{LogCollectors, RegistryError, Secret, SinkUnit};
use tokio::time::timeout;

pub(crate) use self::known_sinks::SinkState;
use self::next_request::rows_from;
use super::checkpoints::fact;
use crate::engine::Engine;
use crate::error::EngineError;

/// A collector as a person names it. Has no `Debug`: it carries secrets.
pub struct NewSink {
    /// The address in front of the paths of the signals.
    pub url: String,
    /// Scheme, host and port, for the audit log and messages: a path may hold a key.
    pub origin: String,
    /// Headers of each request.
    pub headers: Vec<(String, Secret)>,
    /// What it gets.
    pub signals: Vec<SinkSignal>,
    /// The first row that is sent; the row that records this when absent. Of traces, tasks that ended from it on.
    pub first: Option<u64>,
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
            core.sinks.take(stored.sinks);
            core.sinks.rename_log(stored.origin);
            let held = Arc::clone(core);
            core.supervisor.spawn_steady("sinks", &core.policy, move || Box::pin(sender::run(Arc::clone(&held))));
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
        let NewSink { url, origin, headers, mut signals, first } = new;
        signals.sort_unstable();
        signals.dedup();
        if signals.is_empty() {
            return Err(SinkRefused::NoSignals.into());
        }
        let before = core.sinks.all();
        let sends = |sink: &LogSink| signals.iter().copied().find(|signal| sink.signals.contains_key(signal));
        let same = before.iter().filter(|sink| sink.url == url).find_map(|sink| Some((sink.id, sends(sink)?)));
        if let Some((id, signal)) = same {
            return Err(SinkRefused::SameAddress { id, signal }.into());
        }
        let most = core.policy.audit.sinks_max;
        if before.len() >= most {
            return Err(SinkRefused::TooMany { most }.into());
        }
        let there = core.registry.audit_rows(rows_from(1, 1)).await?;
        let next = match first {
            Some(0) => return Err(SinkRefused::FirstIsZero.into()),
            Some(first) if first > there.last + 1 => {
                return Err(SinkRefused::NotWritten { first, last: there.last }.into());
            }
            // Rows that retention removed cannot be sent.
            Some(first) => first.max(there.first),
            None => there.last + 1,
        };
        let id = before.iter().map(|sink| sink.id).max().unwrap_or(0).saturating_add(1);
        keep(collectors, id, &headers)?;
        let names: Vec<String> = headers.into_iter().map(|(name, _)| name).collect();
        let sink = LogSink::new(id, url, names, &signals, next);
        let words: Vec<&str> = signals.iter().map(|signal| signal.word()).collect();
        let words = words.join(" and ");
        let note = format!("sink {id}, {origin}, {words} from row {next}{}", with_headers(&sink.headers));
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkAdded, note)];
        if let Err(error) = core.registry.put_sink(SinkUnit { sink: sink.clone(), audit }).await {
            collectors.forget_headers(id, &sink.headers);
            return Err(error.into());
        }
        core.sinks.change(id, Some(sink.clone()));
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
        let note = format!("sink {id}, {}", how_far(&sink, "taken before"));
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkRemoved, note)];
        core.registry.remove_sink(id, audit).await?;
        core.sinks.change(id, None);
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
            return Err(SinkRefused::TooManyHeaders { id, most }.into());
        }
        keep(self.collectors()?, id, headers)?;
        for progress in sink.signals.values_mut() {
            progress.failure = None;
        }
        let note = format!("sink {id}, {}{}", how_far(&sink, "from"), with_headers(&names));
        let audit = vec![fact(core, Actor::Person(by.clone()), Verb::SinkResumed, note)];
        core.registry.put_sink(SinkUnit { sink: sink.clone(), audit }).await?;
        core.sinks.change(id, Some(sink.clone()));
        drop(one_at_a_time);
        Ok(self.tried(sink).await)
    }

    fn collectors(&self) -> Result<&dyn LogCollectors, EngineError> {
        let collectors = self.core.sinks.collectors.get();
        Ok(collectors.map(AsRef::as_ref).ok_or(SinkRefused::NoCollectors)?)
    }

    fn known_sink(&self, id: u32) -> Result<LogSink, EngineError> {
        let known = self.core.sinks.get(id).ok_or(SinkRefused::Unknown(id))?;
        Ok(known.sink)
    }

    /// The sink after an attempt to send each signal, or as it is when none ends in time.
    async fn tried(&self, before: LogSink) -> LogSink {
        let sinks = &self.core.sinks;
        let mut learned = sinks.learned.subscribe();
        let now = || sinks.get(before.id).map_or_else(|| before.clone(), |known| known.sink);
        let attempt = async {
            loop {
                let sink = now();
                let is_tried = sink.signals.iter().all(|(signal, progress)| {
                    let first = before.signals.get(signal).map(|progress| progress.next_number);
                    progress.failure.is_some() || first.is_none_or(|first| progress.next_number > first)
                });
                if is_tried || learned.changed().await.is_err() {
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
    Ok(collectors.keep_headers(id, headers).map_err(SinkRefused::from)?)
}

/// How far each signal came, such as `logs from row 5, traces from row 3`.
fn how_far(sink: &LogSink, words: &str) -> String {
    let of = |(signal, progress): (&SinkSignal, &SinkProgress)| {
        format!("{} {words} row {}", signal.word(), progress.next_number)
    };
    sink.signals.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn with_headers(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", headers {}", names.join(" ")) }
}
