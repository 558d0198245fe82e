//! Arguments of earlier calls of a tool, to start it again with.
//!
//! They are read from what is stored sealed, for a person alone. Values that look like secrets are left out; arguments
//! that a form would change are not offered.

use domain::ports::TaskListQuery;
use domain::task::input_request::looks_secret;
use domain::task::payload::PayloadKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::iso;
use crate::error::ApiError;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneTool {
    /// The server's name.
    pub server: String,
    pub tool: String,
}

/// Arguments of earlier calls, those of the newest call first, none twice. Has no `Debug`: it carries arguments.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecentArgumentsList {
    pub recent: Vec<RecentArguments>,
}

/// Arguments of an earlier call. Has no `Debug`: it carries arguments.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecentArguments {
    /// The handle of that call.
    pub task: String,
    /// When it was made.
    pub at: String,
    /// Whose call it was; null when a person made it.
    pub agent: Option<String>,
    #[ts(type = "object")]
    pub arguments: Map<String, Value>,
    /// Whether values were left out because they look like secrets.
    pub left_out: bool,
}

impl Api {
    /// What a tool was called with lately.
    ///
    /// # Errors
    /// When there is no such server, or the registry cannot be read.
    pub async fn recent_arguments(&self, _caller: &Caller, input: OneTool) -> Result<RecentArgumentsList, ApiError> {
        let limits = &self.policy.asking;
        let server = self.find_server(&input.server).await?;
        let calls = TaskListQuery { servers: vec![server.id], tools: vec![input.tool], ..TaskListQuery::default() };
        let ids = self.registry.matching_ids(calls, limits.recent_calls_scanned).await?;
        let agents = self.registry.agents().await?;
        let mut recent: Vec<RecentArguments> = Vec::new();
        for id in ids {
            if recent.len() >= limits.recent_arguments {
                break;
            }
            let Some(payload) = self.registry.payload(id, PayloadKind::Arguments).await? else { continue };
            if payload.as_str().len() > limits.recent_arguments_bytes {
                continue;
            }
            let Ok(Value::Object(mut arguments)) = serde_json::from_str(payload.as_str()) else { continue };
            let left_out = remove_secrets(&mut arguments);
            let is_new = !arguments.is_empty() && recent.iter().all(|one| one.arguments != arguments);
            if !is_new || !arguments.values().all(is_kept_by_a_form) {
                continue;
            }
            let Some(task) = self.registry.handle(id).await? else { continue };
            let agent = task.agent.and_then(|id| agents.iter().find(|agent| agent.id == id));
            recent.push(RecentArguments {
                task: id.to_string(),
                at: iso(task.created),
                agent: agent.map(|agent| agent.name.clone()),
                arguments,
                left_out,
            });
        }
        Ok(RecentArgumentsList { recent })
    }
}

/// Removes every value whose name looks like a secret, at any depth; returns whether there was one.
fn remove_secrets(object: &mut Map<String, Value>) -> bool {
    let before = object.len();
    object.retain(|name, _| !looks_secret(name));
    let inside = object.values_mut().map(remove_inside).fold(false, |any, one| any | one);
    object.len() < before || inside
}

fn remove_inside(value: &mut Value) -> bool {
    match value {
        Value::Object(object) => remove_secrets(object),
        Value::Array(items) => items.iter_mut().map(remove_inside).fold(false, |any, one| any | one),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether a window reads and writes this value as it is: it holds whole numbers up to 2^53.
fn is_kept_by_a_form(value: &Value) -> bool {
    const LARGEST: u64 = 1 << 53;
    match value {
        Value::Number(number) => {
            let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            whole.map_or_else(|| number.is_f64(), |whole| whole < LARGEST)
        }
        Value::Array(items) => items.iter().all(is_kept_by_a_form),
        Value::Object(object) => object.values().all(is_kept_by_a_form),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_left_out_at_any_depth() {
        let Value::Object(mut arguments) = json!({
            "path": "/srv", "api_key": "k", "list": [{ "password": "p", "name": "n" }], "pins": [1]
        }) else {
            panic!("an object")
        };
        assert!(remove_secrets(&mut arguments));
        assert_eq!(Value::Object(arguments), json!({ "path": "/srv", "list": [{ "name": "n" }], "pins": [1] }));
    }

    #[test]
    fn numbers_that_a_window_would_change_are_not_offered() {
        assert!(is_kept_by_a_form(&json!({ "n": 9_007_199_254_740_991_u64, "f": 0.5, "m": -3 })));
        assert!(!is_kept_by_a_form(&json!({ "deep": [9_007_199_254_740_993_u64] })));
        assert!(!is_kept_by_a_form(&json!(i64::MIN)));
    }
}
