//! A person's saved views, snoozes, drafts and settings.
//!
//! Input is checked: kinds are a closed list, a snooze has an end, and a draft never keeps what looks like a secret
//! (ruling 9). Open feeds learn of changed views, snoozes and settings at once; drafts are read when a form opens.

use std::collections::{BTreeSet, HashMap};

use domain::ids::{HandleId, RequestKey};
use domain::task::input_request::{Ask, secret_looking_fields};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::Done;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::user_data::UserDataKind;
use crate::dto::{SettingsDto, UserDataDto, iso};
use crate::error::{ApiError, Code};
use crate::lookup::short;
use crate::suggestion::did_you_mean;

/// More columns than the task list can have. Judgement.
const COLUMNS_MAX: usize = 64;
/// The key of the settings.
const SETTINGS: &str = "settings";

impl UserDataKind {
    const ALL: [Self; 4] = [Self::View, Self::Snooze, Self::Draft, Self::Setting];

    fn read(word: &str) -> Result<Self, ApiError> {
        Self::ALL.into_iter().find(|kind| *kind == word).ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str);
            ApiError::new(
                Code::Usage,
                format!("there is no kind of user data `{}`", short(word)),
                did_you_mean(word, words).unwrap_or_else(|| format!("Kinds are: {}.", words.join(", "))),
            )
        })
    }
}

/// Which kind to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(rename = "ListDesk")]
pub struct ListUserData {
    /// `view`, `snooze`, `draft` or `setting`.
    pub kind: String,
}

/// User data of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "DeskList")]
pub struct UserDataList {
    /// The last put first.
    pub items: Vec<UserDataDto>,
}

/// User data to store. Has no `Debug`: it carries content.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(rename = "PutAtDesk")]
pub struct PutUserData {
    /// `view`, `snooze` or `draft`.
    pub kind: String,
    /// Names it among those of its kind.
    pub key: String,
    /// What it is; null deletes it.
    #[ts(type = "unknown")]
    pub value: Value,
}

/// Settings to change; what is left out stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(transparent)]
pub struct ChangeSettings(#[ts(type = "Partial<SettingsDto>")] pub Map<String, Value>);

/// When a snooze ends: at a time, when its item changes, or at whichever comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Snooze {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    /// When the item had last changed as it was hidden: another time wakes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<String>,
}

impl Api {
    /// Lists user data of one kind.
    ///
    /// # Errors
    /// When there is no such kind or it cannot be read.
    pub async fn desk_list(&self, _caller: &Caller, input: ListUserData) -> Result<UserDataList, ApiError> {
        Ok(UserDataList { items: self.desk_items(UserDataKind::read(&input.kind)?).await? })
    }

    /// Stores, replaces or deletes user data.
    ///
    /// # Errors
    /// When it is not of a kind that is kept, too large, or cannot be written.
    pub async fn desk_put(&self, _caller: &Caller, input: PutUserData) -> Result<Done, ApiError> {
        self.live()?;
        let PutUserData { kind, key, value } = input;
        let kind = UserDataKind::read(&kind)?;
        if key.is_empty() || key.len() > self.policy.desk_key_bytes {
            return Err(ApiError::new(
                Code::Usage,
                format!("a key must have 1 to {} bytes", self.policy.desk_key_bytes),
                "Choose another key.",
            ));
        }
        let value = match (kind, value) {
            (UserDataKind::Setting, _) => {
                return Err(ApiError::new(
                    Code::Usage,
                    "settings cannot be stored directly",
                    "Use `settings.change`, which checks them.",
                ));
            }
            (UserDataKind::View | UserDataKind::Snooze | UserDataKind::Draft, Value::Null) => None,
            (UserDataKind::View, value) => Some(value),
            (UserDataKind::Snooze, value) => {
                let snooze: Snooze = serde_json::from_value(value).map_err(|why| ApiError::bad_input(&why))?;
                for time in [&snooze.until, &snooze.changed_at].into_iter().flatten() {
                    moment(time)?;
                }
                if snooze.until.is_none() && snooze.changed_at.is_none() {
                    return Err(ApiError::new(
                        Code::Usage,
                        "a snooze must have an end",
                        "Give `until` with a time, or `changedAt` with the time at which the item last changed.",
                    ));
                }
                Some(serde_json::to_value(snooze).map_err(|why| ApiError::unwritable(&why))?)
            }
            (UserDataKind::Draft, value) => Some(self.without_secrets(&key, value).await?),
        };
        let text = value.as_ref().map(Value::to_string);
        if let Some(text) = &text
            && text.len() > self.policy.desk_value_bytes
        {
            return Err(ApiError::new(
                Code::Refused,
                format!("the value is {} bytes; at most {} are kept", text.len(), self.policy.desk_value_bytes),
                "Store less in one value.",
            ));
        }
        self.registry.desk_put(kind.as_str(), &key, text, self.now()).await?;
        match kind {
            UserDataKind::View | UserDataKind::Snooze | UserDataKind::Setting => self.feeds.desk_changed(),
            UserDataKind::Draft => {}
        }
        Ok(Done {})
    }

    /// Changes settings and gives all of them.
    ///
    /// # Errors
    /// When there is no such setting, or it cannot have this value.
    pub async fn settings_change(&self, _caller: &Caller, input: ChangeSettings) -> Result<SettingsDto, ApiError> {
        self.live()?;
        if input.0.is_empty() {
            // Whoever only reads must not write back what a person changes at this moment.
            return self.settings().await;
        }
        let now = serde_json::to_value(self.settings().await?).map_err(|why| ApiError::unwritable(&why))?;
        let Value::Object(mut all) = now else { return Ok(SettingsDto::default()) };
        all.extend(input.0);
        let wished: SettingsDto = serde_json::from_value(Value::Object(all)).map_err(|why| {
            ApiError::new(
                Code::Usage,
                format!("these settings are invalid: {why}"),
                "Nothing was changed; `taskwarden ui` shows all settings.",
            )
        })?;
        for time in [&wished.quiet_from, &wished.quiet_to].into_iter().flatten() {
            check_time_of_day(time)?;
        }
        if wished.hidden_task_columns.len() > COLUMNS_MAX {
            return Err(ApiError::new(
                Code::Usage,
                format!("{} columns are hidden; there are fewer", wished.hidden_task_columns.len()),
                "Nothing was changed; name each column of the task list once.",
            ));
        }
        if let Some(until) = &wished.paused_until {
            moment(until)?;
        }
        let text = serde_json::to_string(&wished).map_err(|why| ApiError::unwritable(&why))?;
        self.registry.desk_put(UserDataKind::Setting.as_str(), SETTINGS, Some(text), self.now()).await?;
        self.feeds.desk_changed();
        Ok(wished)
    }

    /// The settings as they are; defaults where nothing was said.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn settings(&self) -> Result<SettingsDto, ApiError> {
        let kept = self.registry.desk_list(UserDataKind::Setting.as_str()).await?;
        let text = kept.iter().find(|item| item.key == SETTINGS).map(|item| item.value.as_str());
        // What another version wrote and this one does not understand counts as not said.
        Ok(text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default())
    }

    /// Until when things are asleep, by the id of their row.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) async fn snoozes(&self) -> Result<HashMap<String, Snooze>, ApiError> {
        let kept = self.registry.desk_list(UserDataKind::Snooze.as_str()).await?;
        let read = |text: &str| serde_json::from_str::<Snooze>(text).ok();
        Ok(kept.iter().filter_map(|item| Some((item.key.clone(), read(&item.value)?))).collect())
    }

    pub(crate) async fn desk_items(&self, kind: UserDataKind) -> Result<Vec<UserDataDto>, ApiError> {
        let kept = self.registry.desk_list(kind.as_str()).await?;
        let item = |item: domain::ports::UserDataItem| UserDataDto {
            kind,
            value: serde_json::from_str(&item.value).unwrap_or(Value::Null),
            changed_at: iso(item.changed),
            key: item.key,
        };
        Ok(kept.into_iter().map(item).collect())
    }

    /// A draft without what looks like a secret, wherever the window put it.
    async fn without_secrets(&self, key: &str, mut draft: Value) -> Result<Value, ApiError> {
        let secrets: BTreeSet<String> = match key.split_once('/') {
            Some((task, request)) => self.secret_fields(task, request).await?,
            // A draft of something else than a question, such as a task to start, has no form of a server's making.
            None => BTreeSet::new(),
        };
        if !secrets.is_empty() {
            strip(&mut draft, &secrets);
        }
        Ok(draft)
    }

    async fn secret_fields(&self, task: &str, request: &str) -> Result<BTreeSet<String>, ApiError> {
        let Ok(id) = task.parse::<HandleId>() else { return Ok(BTreeSet::new()) };
        let task = self.find_task(&id.to_string()).await?;
        let Some(request) = task.requests.get(&RequestKey::new(request)) else {
            return Err(ApiError::new(
                Code::NotFound,
                format!("this task has no request `{}`", short(request)),
                "The draft was not kept.",
            ));
        };
        Ok(match &request.ask {
            Ask::Form { schema, .. } => secret_looking_fields(schema).into_iter().collect(),
            Ask::Visit { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => BTreeSet::new(),
        })
    }
}

/// Takes members of these names out, at any depth, and out of JSON that stands in a text.
fn strip(value: &mut Value, secrets: &BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !secrets.contains(name));
            members.values_mut().for_each(|member| strip(member, secrets));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, secrets)),
        Value::String(text) => {
            if !secrets.iter().any(|name| text.contains(name.as_str())) {
                return;
            }
            match serde_json::from_str::<Value>(text) {
                Ok(mut inner @ (Value::Object(_) | Value::Array(_))) => {
                    strip(&mut inner, secrets);
                    *text = inner.to_string();
                }
                // Half-written JSON that names a secret cannot be cut safely; a word that is no JSON may stay.
                _ if text.contains(['{', '"', ':']) => text.clear(),
                _ => {}
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn moment(text: &str) -> Result<Timestamp, ApiError> {
    text.parse().map_err(|bad: domain::time::BadTimestamp| {
        ApiError::new(Code::Usage, bad.to_string(), "Give a time such as `2026-11-21T22:00:00.000Z`.")
    })
}

fn check_time_of_day(text: &str) -> Result<(), ApiError> {
    let digits = |part: &str, most: u8| {
        part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok_and(|n| n <= most)
    };
    if text.split_once(':').is_some_and(|(hour, minute)| digits(hour, 23) && digits(minute, 59)) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::Usage,
        format!("`{}` is not a time of the day", short(text)),
        "Give hours and minutes such as `22:00`.",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_draft_loses_its_secrets_wherever_they_stand() {
        let secrets: BTreeSet<String> = ["password".to_owned()].into();
        let mut draft = json!({
            "values": {"name": "Dana", "password": "hush"},
            "json": "{\"name\": \"Dana\", \"password\": \"hush\"}",
            "half": "{\"password\": \"hus",
            "note": "no password here",
            "list": [{"password": "hush"}],
        });
        strip(&mut draft, &secrets);
        assert!(!draft.to_string().contains("hus"), "{draft}");
        assert_eq!(draft["values"]["name"], "Dana", "the rest stays");
        assert_eq!(draft["json"], "{\"name\":\"Dana\"}", "also in the text beside the form");
        assert_eq!(draft["note"], "no password here", "a sentence is no secret");
    }

    #[test]
    fn a_time_of_the_day_has_two_digits_twice() {
        for (text, fits) in [("22:00", true), ("00:59", true), ("24:00", false), ("7:00", false), ("07:60", false)] {
            assert_eq!(check_time_of_day(text).is_ok(), fits, "{text}");
        }
        assert!(check_time_of_day("+1:00").is_err() && check_time_of_day("").is_err(), "nothing else is one");
    }
}
