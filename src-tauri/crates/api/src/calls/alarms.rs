//! Alarms about what agents call again and again: listing them, dismissing them, and deciding about calls that wait.
//!
//! When one is raised, and what a rule wants done then, is the engine's (`calls/loop_detector.rs`).

use domain::agent::alarm::CallAlarm;
use domain::ids::AlarmId;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::alarm::{AlarmDecisionDto, AlarmDto};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};

/// Alarms, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmList {
    pub alarms: Vec<AlarmDto>,
}

/// Which alarms a person has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DismissAlarms {
    /// Each by its id or a unique beginning of it.
    pub ids: Vec<String>,
}

/// What becomes of the calls that wait because of alarms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideAlarms {
    /// Each by its id or a unique beginning of it.
    pub ids: Vec<String>,
    #[ts(inline)]
    pub calls: AlarmDecisionDto,
}

impl Api {
    /// Alarms that are kept, the newest first.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn alarm_list(&self, _caller: &Caller, _input: Nothing) -> Result<AlarmList, ApiError> {
        self.as_list(self.kept_alarms().await?).await
    }

    /// Dismisses alarms; returns them as they are now.
    ///
    /// # Errors
    /// When one is not known, and then none is dismissed; or it cannot be recorded.
    pub async fn alarms_dismiss(&self, caller: &Caller, input: DismissAlarms) -> Result<AlarmList, ApiError> {
        let live = self.live()?;
        let mut dismissed = Vec::new();
        for id in self.alarm_ids(&input.ids).await? {
            dismissed.push(live.engine.dismiss_alarm(id, caller.person.clone()).await?);
        }
        self.as_list(dismissed).await
    }

    /// Decides about the calls that wait because of alarms; returns the alarms as they are now.
    ///
    /// # Errors
    /// When one is not known, and then nothing is decided; no calls wait because of one; or it cannot be recorded.
    pub async fn alarms_decide(&self, caller: &Caller, input: DecideAlarms) -> Result<AlarmList, ApiError> {
        let live = self.live()?;
        let mut decided = Vec::new();
        for id in self.alarm_ids(&input.ids).await? {
            decided.push(live.engine.decide_alarm(id, input.calls.into(), caller.person.clone()).await?);
        }
        self.as_list(decided).await
    }

    /// The alarms that begin like these; an error when one is not known or several begin so.
    async fn alarm_ids(&self, beginnings: &[String]) -> Result<Vec<AlarmId>, ApiError> {
        let known = self.kept_alarms().await?;
        beginnings.iter().map(|text| find(&known, text)).collect()
    }

    async fn as_list(&self, kept: Vec<CallAlarm>) -> Result<AlarmList, ApiError> {
        let mut names = self.names().await?;
        let mut alarms = Vec::new();
        for alarm in &kept {
            alarms.push(self.alarm_dto(alarm, &mut names).await?);
        }
        Ok(AlarmList { alarms })
    }

    /// All alarms that are kept, as the window shows them, too.
    pub(crate) async fn kept_alarms(&self) -> Result<Vec<CallAlarm>, ApiError> {
        Ok(self.registry.alarms(self.policy.control.alarms.listed_max).await?)
    }

    pub(crate) async fn alarm_dto(&self, alarm: &CallAlarm, names: &mut Names) -> Result<AlarmDto, ApiError> {
        let other = match &alarm.other {
            Some(called) => Some(self.server_name(called.server, names).await?),
            None => None,
        };
        let server = self.server_name(alarm.called.server, names).await?;
        Ok(AlarmDto::of(alarm, self.agent_name(alarm.agent, names).await?, server, other))
    }
}

/// The alarm that begins like this.
fn find(known: &[CallAlarm], text: &str) -> Result<AlarmId, ApiError> {
    let beginning = text.strip_prefix(AlarmId::PREFIX).unwrap_or(text).to_lowercase();
    let named = |alarm: &&CallAlarm| alarm.id.to_string()[AlarmId::PREFIX.len()..].starts_with(&beginning);
    let mut found = known.iter().filter(named);
    match (beginning.is_empty(), found.next(), found.next()) {
        (false, Some(only), None) => Ok(only.id),
        (false, Some(_), Some(_)) => Err(ApiError::new(
            Code::Usage,
            format!("several alarms begin with `{}`", short(text)),
            "Give more characters; `taskwarden alarms list` shows the alarms with their ids.",
        )),
        (true, ..) | (false, None, _) => Err(ApiError::new(
            Code::NotFound,
            format!("there is no alarm `{}`", short(text)),
            "`taskwarden alarms list` shows the alarms with their ids.",
        )),
    }
}
