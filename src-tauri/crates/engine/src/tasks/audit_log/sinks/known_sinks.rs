//! What a running core knows of its sinks, and how its parts tell each other to look again.
//!
//! The rows of the registry count; this is what was read and written last. Nothing is sent or stored here.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use domain::audit::log_sink::{LogSink, SinkProgress, SinkSignal};
use domain::ports::LogCollectors;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The collectors, and what is known of each.
#[derive(Default)]
pub(crate) struct SinkState {
    pub(super) collectors: OnceLock<Arc<dyn LogCollectors>>,
    /// The name of the log in its epoch; empty before the sinks were read.
    log: Mutex<String>,
    sinks: Mutex<BTreeMap<u32, KnownSink>>,
    /// One change by people at a time.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Counts changes by people.
    pub(super) changed: watch::Sender<u64>,
    /// Counts what was learned of collectors.
    pub(super) learned: watch::Sender<u64>,
    /// Counts reasons to look for rows again, beside commits.
    pub(super) looks: watch::Sender<u64>,
}

/// One signal of one sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SentSignal {
    pub(super) sink: u32,
    pub(super) signal: SinkSignal,
}

/// A sink, and which change by people it is the outcome of: what was begun before the last one ends.
#[derive(Clone)]
pub(super) struct KnownSink {
    pub(super) sink: LogSink,
    pub(super) change: u64,
}

impl SinkState {
    /// Takes the sinks as they are stored, when the core starts.
    pub(super) fn take(&self, stored: Vec<LogSink>) {
        *self.sinks.lock() = stored.into_iter().map(|sink| (sink.id, KnownSink { sink, change: 0 })).collect();
    }

    pub(super) fn log(&self) -> String {
        self.log.lock().clone()
    }

    /// From here on the log has this name.
    pub(crate) fn rename_log(&self, origin: String) {
        *self.log.lock() = origin;
    }

    /// Rows may be there that no commit told of.
    pub(crate) fn look_again(&self) {
        self.looks.send_modify(|count| *count += 1);
    }

    pub(super) fn all(&self) -> Vec<LogSink> {
        self.sinks.lock().values().map(|known| known.sink.clone()).collect()
    }

    pub(super) fn get(&self, id: u32) -> Option<KnownSink> {
        self.sinks.lock().get(&id).cloned()
    }

    /// Takes what was learned of a signal, unless the sink was changed or removed since this change.
    pub(super) fn learn(&self, of: SentSignal, change: u64, learned: SinkProgress) {
        let mut sinks = self.sinks.lock();
        let known = sinks.get_mut(&of.sink).filter(|known| known.change == change);
        if let Some(progress) = known.and_then(|known| known.sink.signals.get_mut(&of.signal)) {
            *progress = learned;
        }
        drop(sinks);
        self.learned.send_modify(|count| *count += 1);
    }

    /// Takes what a person decided about a sink; `None` when it was removed.
    pub(super) fn change(&self, id: u32, sink: Option<LogSink>) {
        self.changed.send_modify(|count| {
            *count += 1;
            let mut sinks = self.sinks.lock();
            match sink {
                Some(sink) => drop(sinks.insert(id, KnownSink { sink, change: *count })),
                None => drop(sinks.remove(&id)),
            }
        });
    }

    /// Signals that are sent, each with the last change of its sink.
    pub(super) fn active(&self) -> Vec<(SentSignal, u64)> {
        let sinks = self.sinks.lock();
        let signals = sinks.values().flat_map(|known| {
            let sent = known.sink.signals.iter().filter(|(_, progress)| !progress.is_paused());
            sent.map(|(signal, _)| (SentSignal { sink: known.sink.id, signal: *signal }, known.change))
        });
        signals.collect()
    }

    /// Waits until a person changed a sink after this change, or removed it.
    pub(super) async fn changed_after(&self, id: u32, change: u64) {
        let mut changed = self.changed.subscribe();
        while self.sinks.lock().get(&id).is_some_and(|known| known.change == change) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}
