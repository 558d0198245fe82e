//! The reply of an earlier call, for a repeat that joined it after its end (decision 0045): it says whose reply it is.
//!
//! The sentence is added behind what the server said, which stays as it came. Which call is joined is decided in
//! `engine/calls/dedup.rs`.

use std::borrow::Cow;

use domain::task::payload::Payload;
use domain::time::Timestamp;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gateway::conversion::modern_task::TaskEnd;
use crate::gateway::conversion::raw_json;
use crate::gateway::model_text::ended;
use crate::wire::raw_json::{member, text_member, with_members};

/// The end of a call that was made at `called`, as a repeat gets it.
pub(crate) fn name_call(end: TaskEnd, called: Timestamp) -> TaskEnd {
    let words = ended::of_earlier_call(called);
    match end {
        TaskEnd::Result { text, form } => TaskEnd::Result { text: result_with(text, &words), form },
        TaskEnd::Note(text) => TaskEnd::Note(result_with(text, &words)),
        TaskEnd::Error(error) => TaskEnd::Error(error_with(error, &words)),
    }
}

/// The result with one more text at the end of its content. A result whose content is no list is left as it is.
fn result_with(result: Payload, words: &str) -> Payload {
    let block = json!({"type": "text", "text": words});
    let content = match member(result.as_str(), "content") {
        None => format!("[{block}]"),
        Some(list) => {
            let Some(open) = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')) else { return result };
            let comma = if open.trim().is_empty() { "" } else { "," };
            format!("[{open}{comma}{block}]")
        }
    };
    Payload::new(with_members(result.as_str(), &[("content", Cow::Owned(content))], &[]))
}

/// The error with the words behind its message.
fn error_with(error: Box<RawValue>, words: &str) -> Box<RawValue> {
    let Some(message) = text_member(error.get(), "message") else { return error };
    let message = json!(format!("{message} [{words}]")).to_string();
    raw_json::raw(with_members(error.get(), &[("message", Cow::Owned(message))], &[])).unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use domain::task::ResultForm;

    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_795_356_120_000);

    fn named(result: &str) -> String {
        let end = TaskEnd::Result { text: Payload::new(result), form: ResultForm::Whole };
        match name_call(end, AT) {
            TaskEnd::Result { text, .. } | TaskEnd::Note(text) => text.as_str().to_owned(),
            TaskEnd::Error(error) => error.get().to_owned(),
        }
    }

    #[test]
    fn what_the_server_said_stays_byte_for_byte_before_the_sentence() {
        let block = json!({"type": "text", "text": ended::of_earlier_call(AT)});
        let result = r#"{"a": 1.0,"content":[ {"type":"text","text":"\u0061"} ],"isError":false}"#;
        let expected =
            format!(r#"{{"a": 1.0,"content":[ {{"type":"text","text":"\u0061"}} ,{block}],"isError":false}}"#);
        assert_eq!(named(result), expected);
        assert_eq!(named(r#"{"content":[]}"#), format!(r#"{{"content":[{block}]}}"#));
        assert_eq!(named("{}"), format!(r#"{{"content":[{block}]}}"#));
        assert_eq!(named(r#"{"content":7}"#), r#"{"content":7}"#, "what is no content is left alone");
    }

    #[test]
    fn an_error_keeps_its_code_and_its_words() {
        let error = RawValue::from_string(r#"{"code":-3,"message":"no \"such\" place","data":[1]}"#.into());
        let TaskEnd::Error(error) = name_call(TaskEnd::Error(error.expect("JSON")), AT) else { panic!("an error") };
        let read: serde_json::Value = serde_json::from_str(error.get()).expect("JSON");
        let message = format!("no \"such\" place [{}]", ended::of_earlier_call(AT));
        assert_eq!(read, json!({"code": -3, "message": message, "data": [1]}));
    }
}
