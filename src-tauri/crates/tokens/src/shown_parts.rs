//! What of an MCP message a host shows to its model: decision 0014, in code.
//!
//! Each kind of message gives its parts in order to a collector, and says what the maker of the message reports itself.
//! A message of another shape than it should have is one text: nothing is left out because it is malformed. How many
//! tokens the parts have is not decided here.

use std::borrow::Cow;

use domain::ports::MessagePart;

use crate::bpe::wide;
use crate::json::{Members, compact, elements, object, string, written};
use crate::media::Medium;

/// A part of a message that a model sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VisiblePart<'a> {
    Text(Cow<'a, str>),
    /// A picture, a sound, or other bytes.
    Medium(Medium<'a>),
}

/// Members of a report of usage, the better ones first.
const REPORTED: [&str; 4] = ["output_tokens", "outputTokens", "completion_tokens", "total_tokens"];
/// Members of a result that say how it is and not what.
const NOT_OF_RESULTS: [&str; 6] = ["content", "structuredContent", "isError", "resultType", "usage", "_meta"];
/// Members of a task object that are no part of how it is shown.
const NOT_OF_TASKS: [&str; 4] = ["result", "error", "inputRequests", "_meta"];
/// Members of a tool that are shown.
const OF_TOOLS: [&str; 3] = ["name", "description", "inputSchema"];

/// What a message says beside its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside<'a> {
    /// What its maker says that it counts. More than a token a byte is no count of it.
    pub(crate) reported: Option<u64>,
    /// What some hosts show in place of the parts: the structured content of a result that has blocks, and all of an error
    /// that has data.
    pub(crate) instead: Option<&'a str>,
}

/// Gives the parts of a load in order, and returns what is beside them. The message is read once for both.
pub(crate) fn shown<'a>(load: MessagePart<'a>, mut part: impl FnMut(VisiblePart<'a>)) -> Beside<'a> {
    let mut beside = Beside::default();
    let known = match load {
        MessagePart::Call(json) => call(json, &mut part),
        MessagePart::Result(json) => result(json, &mut part, &mut beside),
        MessagePart::Error(json) => error(json, &mut part, &mut beside),
        MessagePart::Task(json) => task(json, &mut part, &mut beside),
        MessagePart::Prompt(json) => prompt(json, &mut part, &mut beside),
        MessagePart::Resource(json) => resource(json, &mut part, &mut beside),
        MessagePart::Text(_) => None,
    };
    if known.is_none() {
        part(VisiblePart::Text(Cow::Borrowed(whole(load))));
    }
    beside
}

/// What the maker of a message of so many bytes says that it counts.
fn reported(members: &Members<'_>, bytes: usize) -> Option<u64> {
    let beside = members.get("usage").and_then(usage);
    let tokens = beside.or_else(|| Members::of(members.get("_meta")?)?.get("usage").and_then(usage))?;
    (tokens <= wide(bytes)).then_some(tokens)
}

fn usage(json: &str) -> Option<u64> {
    let members = Members::of(json)?;
    REPORTED.into_iter().find_map(|name| members.get(name)?.parse().ok())
}

const fn whole(load: MessagePart<'_>) -> &str {
    match load {
        MessagePart::Call(json)
        | MessagePart::Result(json)
        | MessagePart::Error(json)
        | MessagePart::Task(json)
        | MessagePart::Prompt(json)
        | MessagePart::Resource(json)
        | MessagePart::Text(json) => json,
    }
}

fn call<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>)) -> Option<()> {
    let members = Members::of(json)?;
    let name = members.text("name")?;
    part(VisiblePart::Text(name));
    if let Some(arguments) = members.get("arguments") {
        part(VisiblePart::Text(Cow::Borrowed(arguments)));
    }
    Some(())
}

fn result<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>), beside: &mut Beside<'a>) -> Option<()> {
    let members = Members::of(json)?;
    beside.reported = reported(&members, json.len());
    let blocks = match members.get("content") {
        Some(content) => elements(content)?,
        None => Vec::new(),
    };
    if !blocks.is_empty() {
        beside.instead = structured(&members);
    }
    if blocks.is_empty() {
        match structured(&members) {
            Some(structured) => part(VisiblePart::Text(Cow::Borrowed(structured))),
            // Neither blocks nor structured content: an empty result, or something else that was asked as one.
            None => {
                members.get("content")?;
                let rest = members.0.iter().filter(|(key, _)| !NOT_OF_RESULTS.contains(&&**key));
                let mut rest = rest.map(|(key, value)| (&**key, *value)).peekable();
                if rest.peek().is_some() {
                    part(VisiblePart::Text(Cow::Owned(object(rest))));
                }
            }
        }
    }
    for json in blocks {
        part(block(json));
    }
    Some(())
}

fn structured<'a>(members: &Members<'a>) -> Option<&'a str> {
    members.get("structuredContent").filter(|structured| *structured != "null")
}

/// One content block of a result or a prompt.
pub(crate) fn block(json: &str) -> VisiblePart<'_> {
    known_block(json).unwrap_or(VisiblePart::Text(Cow::Borrowed(json)))
}

fn known_block(json: &str) -> Option<VisiblePart<'_>> {
    let members = Members::of(json)?;
    match &*members.text("type")? {
        "text" => members.text("text").map(VisiblePart::Text),
        "image" => Some(VisiblePart::Medium(Medium::Image(members.text("data")?))),
        "audio" => Some(VisiblePart::Medium(Medium::Audio(members.text("data")?))),
        "resource" => contents(members.get("resource")?),
        _ => None,
    }
}

/// The contents of a resource: its text, or its bytes by what they are.
pub(crate) fn contents(json: &str) -> Option<VisiblePart<'_>> {
    let members = Members::of(json)?;
    if let Some(text) = members.text("text") {
        return Some(VisiblePart::Text(text));
    }
    let blob = members.text("blob")?;
    let mime = members.text("mimeType").unwrap_or_default();
    Some(VisiblePart::Medium(match mime.split('/').next() {
        Some("image") => Medium::Image(blob),
        Some("audio") => Medium::Audio(blob),
        _ => Medium::Bytes(blob),
    }))
}

fn error<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>), beside: &mut Beside<'a>) -> Option<()> {
    let members = Members::of(json)?;
    beside.instead = members.get("data").filter(|data| *data != "null").map(|_| json);
    part(VisiblePart::Text(members.text("message")?));
    Some(())
}

fn task<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>), beside: &mut Beside<'a>) -> Option<()> {
    let members = Members::of(json)?;
    beside.reported = reported(&members, json.len());
    let kept = members.0.iter().filter(|(key, _)| !NOT_OF_TASKS.contains(&&**key));
    part(VisiblePart::Text(Cow::Owned(object(kept.map(|(key, value)| (&**key, *value))))));
    Some(())
}

fn prompt<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>), beside: &mut Beside<'a>) -> Option<()> {
    let members = Members::of(json)?;
    beside.reported = reported(&members, json.len());
    for message in elements(members.get("messages")?)? {
        match Members::of(message).and_then(|message| message.get("content")) {
            Some(content) => match elements(content) {
                Some(blocks) => blocks.into_iter().for_each(|json| part(block(json))),
                None => part(block(content)),
            },
            None => part(VisiblePart::Text(Cow::Borrowed(message))),
        }
    }
    Some(())
}

fn resource<'a>(json: &'a str, part: &mut impl FnMut(VisiblePart<'a>), beside: &mut Beside<'a>) -> Option<()> {
    let members = Members::of(json)?;
    beside.reported = reported(&members, json.len());
    for json in elements(members.get("contents")?)? {
        part(contents(json).unwrap_or(VisiblePart::Text(Cow::Borrowed(json))));
    }
    Some(())
}

/// A tool as it is shown: its name for lists, and its definition. `None` for what is no tool.
pub(crate) fn tool(json: &str) -> Option<(Cow<'_, str>, String)> {
    let members = Members::of(json)?;
    let name = members.text("name")?;
    let shown = OF_TOOLS.into_iter().filter_map(|member| {
        let value = members.get(member)?;
        // Texts as a host writes them, without escapes that are not needed.
        Some((member, string(value).map_or_else(|| compact(value), |text| Cow::Owned(written(&text)))))
    });
    let shown: Vec<(&str, Cow<'_, str>)> = shown.collect();
    let definition = object(shown.iter().map(|(key, value)| (*key, &**value)));
    Some((name, definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(load: MessagePart<'_>) -> Vec<String> {
        let mut texts = Vec::new();
        shown(load, |part| match part {
            VisiblePart::Text(text) => texts.push(text.into_owned()),
            VisiblePart::Medium(medium) => texts.push(format!("{medium:?}")),
        });
        texts
    }

    fn instead(load: MessagePart<'_>) -> Option<&str> {
        shown(load, |_| {}).instead
    }

    #[test]
    fn a_result_is_its_blocks_and_only_without_any_its_structured_content() {
        let both = r#"{"content":[{"type":"text","text":"a\nb"},{"type":"resource","resource":{"uri":"x:y","text":"c"}},
            {"type":"resource_link","uri":"x:z","name":"z"}],"structuredContent":{"a":1},"_meta":{"secret":1}}"#;
        let link = r#"{"type":"resource_link","uri":"x:z","name":"z"}"#;
        assert_eq!(texts(MessagePart::Result(both)), ["a\nb", "c", link]);
        let structured = r#"{"content":[],"structuredContent":{"a": 1}}"#;
        assert_eq!(texts(MessagePart::Result(structured)), [r#"{"a": 1}"#]);
        assert!(texts(MessagePart::Result(r#"{"content":[]}"#)).is_empty(), "an empty result shows nothing");
    }

    #[test]
    fn a_result_without_blocks_is_whatever_else_it_has() {
        let of = |json: &str| texts(MessagePart::Result(json));
        let said = r#"{"content":[],"isError":false,"resultType":"complete","structuredContent":null,"_meta":{"a":1}}"#;
        assert!(of(said).is_empty(), "how a result is, is not what it says");
        let other = r#"{"content":[],"isError":false,"toolResult":{"a": 1}}"#;
        assert_eq!(of(other), [r#"{"toolResult":{"a": 1}}"#], "an older member is shown by hosts that know it");
    }

    #[test]
    fn structured_content_beside_blocks_may_be_shown_in_their_place() {
        let of = |json| instead(MessagePart::Result(json));
        assert_eq!(of(r#"{"content":[7],"structuredContent":{"a":1}}"#), Some(r#"{"a":1}"#));
        let escaped = r#"{"content":[7],"structured\u0043ontent":{"a":1}}"#;
        assert_eq!(of(escaped), Some(r#"{"a":1}"#), "however its name is written");
        assert_eq!(of(r#"{"content":[],"structuredContent":{"a":1}}"#), None, "without blocks it is what is shown");
        assert_eq!(of(r#"{"content":[7],"structuredContent":null}"#), None);
        let error = r#"{"code":-1,"message":"m","data":{"long":1}}"#;
        assert_eq!(instead(MessagePart::Error(error)), Some(error), "and an error whole, with its data");
        assert_eq!(instead(MessagePart::Error(r#"{"code":-1,"message":"m"}"#)), None);
    }

    #[test]
    fn what_cannot_be_read_is_a_text_and_never_left_out() {
        for odd in [r#"{"content":"text"}"#, r#"{"other":1}"#, "[1,2]", "no json", ""] {
            assert_eq!(texts(MessagePart::Result(odd)), [odd], "`{odd}`");
        }
        let blocks = r#"{"content":[{"type":"text"},7,{"type":"text","text":7}]}"#;
        assert_eq!(texts(MessagePart::Result(blocks)), [r#"{"type":"text"}"#, "7", r#"{"type":"text","text":7}"#]);
    }

    #[test]
    fn calls_errors_tasks_prompts_and_resources_show_what_models_see() {
        assert_eq!(texts(MessagePart::Call(r#"{"name":"n","arguments":{"a": 1},"_meta":{}}"#)), ["n", r#"{"a": 1}"#]);
        assert_eq!(texts(MessagePart::Error(r#"{"code":-1,"message":"m","data":{"long":1}}"#)), ["m"]);
        let task = r#"{"taskId":"t","status":"working","result":{"content":[]},"_meta":{"x":1}}"#;
        assert_eq!(texts(MessagePart::Task(task)), [r#"{"taskId":"t","status":"working"}"#]);
        let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":"p"}},
            {"role":"user","content":[{"type":"text","text":"q"}]}]}"#;
        assert_eq!(texts(MessagePart::Prompt(prompt)), ["p", "q"]);
        let resource = r#"{"contents":[{"uri":"a:b","text":"r"},{"uri":"a:c","blob":"AAAA"}]}"#;
        assert_eq!(
            texts(MessagePart::Resource(resource)),
            ["r".to_owned(), format!("{:?}", Medium::Bytes("AAAA".into()))]
        );
    }

    #[test]
    fn a_tool_is_its_name_description_and_schema_written_compactly() {
        let raw = r#"{"name":"n","title":"t","inputSchema":{ "type": "object" },"description":"d\u0065","_meta":{}}"#;
        let (name, shown) = tool(raw).expect("a tool");
        assert_eq!((&*name, &*shown), ("n", r#"{"name":"n","description":"de","inputSchema":{"type":"object"}}"#));
        assert!(tool(r#"{"title":"t"}"#).is_none());
    }

    #[test]
    fn reports_are_read_in_order_and_only_where_they_can_be_true() {
        let of = |json: &str| shown(MessagePart::Result(json), |_| {}).reported;
        assert_eq!(of(r#"{"content":[],"usage":{"total_tokens":9,"output_tokens":4}}"#), Some(4));
        assert_eq!(of(r#"{"content":[],"_meta":{"usage":{"completion_tokens":5}}}"#), Some(5));
        assert_eq!(of(r#"{"content":[],"usage":{"output_tokens":1000000}}"#), None, "more tokens than bytes");
        assert_eq!(of(r#"{"content":[],"usage":{"output_tokens":-4}}"#), None);
        let text = MessagePart::Text(r#"{"usage":{"output_tokens":1}}"#);
        assert_eq!(shown(text, |_| {}).reported, None, "text reports nothing");
    }
}
