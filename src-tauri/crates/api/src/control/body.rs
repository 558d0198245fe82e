//! Reads the body of a control call: one JSON object, and lists only where lists belong.
//!
//! What serde takes beside that is refused here: a list for an object, member by member, and an empty list, which most
//! calls would take for a member that was left out. What the members mean is in the types of each call.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{ApiError, Code};
use crate::lookup::short;

/// The input of a call; an empty body is an empty object.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let body: Value = serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
    let Value::Object(members) = &body else { return Err(unreadable("it is not an object")) };
    members.iter().try_for_each(|(name, value)| check(name, value))?;
    // From the text again: a member that stands there twice is an error, which the value does not show any more.
    serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))
}

fn check(name: &str, value: &Value) -> Result<(), ApiError> {
    match value {
        Value::Array(items) if items.is_empty() => Err(ApiError::new(
            Code::Usage,
            format!("`{}` is an empty list, which chooses nothing", short(name)),
            format!("Name something in `{}`, or leave it out. Nothing was asked.", short(name)),
        )),
        Value::Array(items) => items.iter().try_for_each(|item| match item {
            Value::Array(_) => Err(unreadable(&format!("`{}` has a list in a list", short(name)))),
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => check(name, item),
        }),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| check(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn unreadable(why: &str) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("the body of the call cannot be read: {why}"),
        "Send one JSON object; GET /api/v1/openapi.json has its fields. Nothing was asked.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::halts::StartHalts;
    use crate::control::plans::ControlMakePlan;

    #[test]
    fn a_list_is_no_object_and_an_empty_list_is_not_left_out() {
        for (body, why) in [
            (r#"["stop",[],["ci"],[],[]]"#, "it is not an object"),
            (r#""stop""#, "it is not an object"),
            (r#"{"reason":"stop","agents":[]}"#, "`agents` is an empty list"),
            (r#"{"reason":"stop","servers":["ci"],"tools":[]}"#, "`tools` is an empty list"),
            (r#"{"reason":"stop","tools":[["ci","build"]]}"#, "`tools` has a list in a list"),
            (r#"{"reason":"stop","reason":"go"}"#, "duplicate field"),
            (r#"{"reason":"stop","agent":["bee"]}"#, "unknown field"),
        ] {
            let refused = read::<StartHalts>(body).expect_err("it is refused");
            assert!(refused.code == Code::Usage && refused.message.contains(why), "{body}: {refused:?}");
        }
        for body in [r#"{"kind":"cancel","filter":{"phases":[]}}"#, r#"{"kind":"cancel","filter":[["running"]]}"#] {
            assert!(read::<ControlMakePlan>(body).is_err(), "{body}");
        }
        let all: StartHalts = read(r#"{"reason":"stop"}"#).expect("what is left out chooses all");
        assert_eq!(all, StartHalts { reason: "stop".into(), ..StartHalts::default() });
        let some: StartHalts = read(r#"{"reason":"stop","agents":["bee"]}"#).expect("it reads");
        assert_eq!(some.agents, ["bee"]);
    }
}
