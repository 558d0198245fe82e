//! How much of the core's limits is in use.
//!
//! The figures come from whoever enforces a limit (`engine::Gauges`). Nothing is enforced or graded here: `host::doctor`
//! grades, the window shows.

use engine::{Gauge, GaugeUnit};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::error::ApiError;

/// What a limit counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum LimitUnit {
    Count,
    Bytes,
}

/// How much of one limit is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LimitRow {
    /// What is limited, in plain words.
    pub name: String,
    /// For whom: `everyone`, `agents`, `agent NAME`, `server NAME`, `task ID`.
    pub scope: String,
    /// In use now.
    pub used: u64,
    pub most: u64,
    /// What both count in.
    pub unit: LimitUnit,
}

/// The limits that the core can count now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LimitList {
    /// One row for each limit and whom it is for.
    pub rows: Vec<LimitRow>,
}

impl Api {
    /// What is in use of every limit that the core can count; nothing without a core.
    ///
    /// # Errors
    /// None of its own.
    pub async fn limits_show(&self, _caller: &Caller, _input: Nothing) -> Result<LimitList, ApiError> {
        let gauges = self.engine().map_or_else(Vec::new, |engine| engine.gauges().read());
        Ok(LimitList { rows: gauges.into_iter().map(LimitRow::from).collect() })
    }
}

impl From<Gauge> for LimitRow {
    fn from(gauge: Gauge) -> Self {
        let unit = match gauge.unit {
            GaugeUnit::Count => LimitUnit::Count,
            GaugeUnit::Bytes => LimitUnit::Bytes,
        };
        Self { name: gauge.name.to_owned(), scope: gauge.scope, used: gauge.used, most: gauge.most, unit }
    }
}
