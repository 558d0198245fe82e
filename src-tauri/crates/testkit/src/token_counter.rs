//! A counter that takes every byte of a shown text for one token, for tests in which tokens do not matter.
//!
//! It reads messages as decision 0014 says, in the simplest way that is right: whole JSON trees, no media rules, no families,
//! no reported usage but `_meta.usage.output_tokens`. The real one is the crate `tokens`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ports::{Cut, MessagePart, PartCount, TokenCounter};
use domain::task::payload::Payload;
use domain::tokens::{Count, Exactness, Family};
use serde_json::{Map, Value};

/// One token a byte.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteTokenCounter;

fn count(bytes: usize) -> Count {
    Count { tokens: u64::try_from(bytes).unwrap_or(u64::MAX), exactness: Exactness::Exact }
}

fn text(value: Option<&Value>) -> usize {
    match value {
        None | Some(Value::Null) => 0,
        Some(Value::String(text)) => text.len(),
        Some(other) => other.to_string().len(),
    }
}

/// What a model is shown of one content block.
fn block(value: &Value) -> String {
    let shown = |text: Option<&Value>| text.and_then(Value::as_str).map(str::to_owned);
    let found = match value.get("type").and_then(Value::as_str) {
        Some("text") => shown(value.get("text")),
        Some("resource") => shown(value.pointer("/resource/text")),
        Some(_) | None => None,
    };
    found.unwrap_or_else(|| value.to_string())
}

/// Whether a content block is a picture, a sound or other bytes, which no slice shows.
fn is_medium(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("image" | "audio")) || block.pointer("/resource/blob").is_some()
}

fn blocks(result: &Value) -> &[Value] {
    result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn result_words(result: &Value) -> String {
    match blocks(result) {
        [] => result.get("structuredContent").map(Value::to_string).unwrap_or_default(),
        blocks => blocks.iter().filter(|found| !is_medium(found)).map(block).collect(),
    }
}

/// Bytes of the blocks of a result that are in none of its words.
fn result_media(result: &Value) -> usize {
    blocks(result).iter().filter(|found| is_medium(found)).map(|found| block(found).len()).sum()
}

fn texts_of(list: Option<&Value>, path: &str) -> usize {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|item| item.pointer(path).map_or_else(|| item.to_string().len(), |found| text(Some(found)))).sum()
}

/// A text cut to so many bytes, at the border of a character, with at least one.
fn head(text: &str, bytes: usize) -> &str {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let mut end = bytes.max(first).min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end.max(first)).unwrap_or(text)
}

fn trimmed(mut result: Map<String, Value>, tokens: usize) -> Map<String, Value> {
    let mut left = tokens;
    if let Some(Value::Array(blocks)) = result.get_mut("content") {
        let mut kept = Vec::new();
        for mut found in std::mem::take(blocks) {
            let size = block(&found).len();
            if size <= left {
                left -= size;
                kept.push(found);
                continue;
            }
            if let Some(Value::String(text)) = found.get_mut("text").filter(|_| left > 0) {
                *text = format!("{}[… cut to {tokens} tokens]", head(text, left));
                left = 0;
                kept.push(found);
            }
        }
        *blocks = kept;
    }
    if let Some(Value::Object(members)) = result.get_mut("structuredContent") {
        while !members.is_empty() && Value::Object(members.clone()).to_string().len() > tokens {
            let last = members.keys().next_back().cloned();
            last.and_then(|last| members.remove(&last));
        }
    }
    result
}

impl TokenCounter for ByteTokenCounter {
    fn count_part(&self, _family: Family, load: MessagePart<'_>) -> PartCount {
        let (MessagePart::Call(raw)
        | MessagePart::Result(raw)
        | MessagePart::Error(raw)
        | MessagePart::Task(raw)
        | MessagePart::Prompt(raw)
        | MessagePart::Resource(raw)
        | MessagePart::Text(raw)) = load;
        let read = match load {
            MessagePart::Text(_) => None,
            MessagePart::Call(_)
            | MessagePart::Result(_)
            | MessagePart::Error(_)
            | MessagePart::Task(_)
            | MessagePart::Prompt(_)
            | MessagePart::Resource(_) => serde_json::from_str::<Value>(raw).ok(),
        };
        let Some(value) = read else { return PartCount { count: count(raw.len()), ..PartCount::default() } };
        let bytes = match load {
            MessagePart::Call(_) => text(value.get("name")) + text(value.get("arguments")),
            MessagePart::Result(_) => result_words(&value).len() + result_media(&value),
            MessagePart::Error(_) => text(value.get("message")),
            MessagePart::Prompt(_) => texts_of(value.get("messages"), "/content/text"),
            MessagePart::Resource(_) => texts_of(value.get("contents"), "/text"),
            MessagePart::Task(_) => {
                let mut shown = value.clone();
                if let Some(members) = shown.as_object_mut() {
                    members.retain(|key, _| !["result", "error", "inputRequests", "_meta"].contains(&key.as_str()));
                }
                shown.to_string().len()
            }
            MessagePart::Text(_) => raw.len(),
        };
        let reported = match load {
            MessagePart::Result(_) => value.pointer("/_meta/usage/output_tokens").and_then(Value::as_u64),
            MessagePart::Call(_)
            | MessagePart::Error(_)
            | MessagePart::Task(_)
            | MessagePart::Prompt(_)
            | MessagePart::Resource(_)
            | MessagePart::Text(_) => None,
        };
        let instead = match load {
            MessagePart::Result(_) => count(text(value.get("structuredContent"))).tokens,
            MessagePart::Error(_) if value.get("data").is_some() => count(raw.len()).tokens,
            MessagePart::Call(_)
            | MessagePart::Error(_)
            | MessagePart::Task(_)
            | MessagePart::Prompt(_)
            | MessagePart::Resource(_)
            | MessagePart::Text(_) => 0,
        };
        let media = match load {
            MessagePart::Result(_) => count(result_media(&value)).tokens,
            MessagePart::Call(_)
            | MessagePart::Error(_)
            | MessagePart::Task(_)
            | MessagePart::Prompt(_)
            | MessagePart::Resource(_)
            | MessagePart::Text(_) => 0,
        };
        PartCount { count: count(bytes), reported, instead, media }
    }

    fn tools(&self, _family: Family, list: &str) -> BTreeMap<Arc<str>, Count> {
        let read: Value = serde_json::from_str(list).unwrap_or_default();
        let tools = read.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let weighed = tools.iter().filter_map(|tool| {
            let shown = ["name", "description", "inputSchema"].into_iter();
            let shown: Map<String, Value> =
                shown.filter_map(|key| tool.get(key).map(|value| (key.to_owned(), value.clone()))).collect();
            let name = tool.get("name")?.as_str()?;
            Some((Arc::from(name), count(Value::Object(shown).to_string().len())))
        });
        weighed.collect()
    }

    fn cut(&self, _family: Family, text: &str, tokens: u64) -> Cut {
        let bytes = head(text, usize::try_from(tokens).unwrap_or(usize::MAX)).len();
        Cut { bytes, count: count(bytes) }
    }

    fn words(&self, result: &str) -> String {
        serde_json::from_str(result).map_or_else(|_| result.to_owned(), |read: Value| result_words(&read))
    }

    fn trim(&self, _family: Family, result: &str, tokens: u64) -> Payload {
        match serde_json::from_str::<Map<String, Value>>(result) {
            Ok(read) => {
                let trimmed = trimmed(read, usize::try_from(tokens).unwrap_or(usize::MAX));
                Payload::new(Value::Object(trimmed).to_string())
            }
            Err(_) => Payload::new(head(result, usize::try_from(tokens).unwrap_or(usize::MAX))),
        }
    }

    fn error_percent(&self, _family: Family) -> u8 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_a_shown_text_is_a_token_and_nothing_else_is() {
        let result = r#"{"content":[{"type":"text","text":"abc"},{"type":"text","text":"é"}],"_meta":{"x":"long"}}"#;
        let count_part = |load| ByteTokenCounter.count_part(Family::O200k, load).count.tokens;
        assert_eq!(count_part(MessagePart::Result(result)), 5, "three bytes, and two of the accent");
        assert_eq!(
            count_part(MessagePart::Call(r#"{"name":"add","arguments":{"a":1}}"#)),
            3 + 7,
            "the name and the raw arguments"
        );
        assert_eq!(count_part(MessagePart::Text("{}")), 2);
        assert_eq!(ByteTokenCounter.words(result), "abcé");
        assert_eq!(ByteTokenCounter.cut(Family::O200k, "éé", 1).bytes, 2, "at least one character");
        let trimmed = ByteTokenCounter.trim(Family::O200k, result, 2);
        assert_eq!(ByteTokenCounter.words(trimmed.as_str()), "ab[… cut to 2 tokens]", "it is cut and says so");
    }
}
