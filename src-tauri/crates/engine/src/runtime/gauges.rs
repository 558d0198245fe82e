//! How much of each limit is in use.
//!
//! Whoever owns a limit registers a source once; rows are made when somebody asks. Nothing is enforced or kept here.

use std::sync::Arc;

use parking_lot::Mutex;

/// What a gauge counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeUnit {
    /// A number of calls, connections, rows or the like.
    Count,
    /// A number of bytes.
    Bytes,
}

/// How much of one limit is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    /// What is limited, as people read it.
    pub name: &'static str,
    /// `everyone`, `agent NAME`, `server NAME` or `task ID`.
    pub scope: String,
    /// In use now.
    pub used: u64,
    /// The most that may be in use at once.
    pub most: u64,
    /// What both count in.
    pub unit: GaugeUnit,
}

impl Gauge {
    /// A limit that counts things.
    #[must_use]
    pub fn count(name: &'static str, scope: impl Into<String>, used: u64, most: u64) -> Self {
        Self { name, scope: scope.into(), used, most, unit: GaugeUnit::Count }
    }

    /// A limit in bytes.
    #[must_use]
    pub fn bytes(name: &'static str, scope: impl Into<String>, used: u64, most: u64) -> Self {
        Self { name, scope: scope.into(), used, most, unit: GaugeUnit::Bytes }
    }
}

type Source = Box<dyn Fn(&mut Vec<Gauge>) + Send + Sync>;

/// All sources. Clones are the same set.
#[derive(Clone, Default)]
pub struct Gauges(Arc<Mutex<Vec<Source>>>);

impl Gauges {
    /// Adds a source for as long as the core runs. It must be quick, and must hold what it counts weakly: the set lives
    /// as long as the engine.
    pub fn add(&self, source: impl Fn(&mut Vec<Gauge>) + Send + Sync + 'static) {
        self.0.lock().push(Box::new(source));
    }

    /// Every row of this moment.
    #[must_use]
    pub fn read(&self) -> Vec<Gauge> {
        let mut rows = Vec::new();
        self.0.lock().iter().for_each(|source| source(&mut rows));
        rows
    }
}
