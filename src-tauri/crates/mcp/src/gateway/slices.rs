//! Results in slices: `resources/read` of `taskwarden://results/HANDLE`, and the parts of `tasks_result`.
//!
//! A result is read as words (`TokenCounter::words`), from a character on, at most so many tokens at once; the slices together are
//! the whole, to the character. Only the agent of a task reads it, and only in the form that it may have: what is withheld,
//! held, foreign or not there is one answer. The stored result is never changed. The short result that leads here is
//! `short.rs`.

use domain::task::{ResultForm, TaskHandle};
use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::ports::TokenCounter;
use domain::tokens::Family;
use engine::Passed;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::budget::Tap;
use super::guest::Guest;
use super::{Gate, find, forward, lists, outcome, scale, service, short, wire};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, RequestParams};

/// What the URIs of results begin with.
const ROOT: &str = "taskwarden://results/";
/// The type of words.
pub(super) const PLAIN: &str = "text/plain";
/// The key under which a request says which part it wants: `{offset, tokens}`, as in the URI.
const META_RANGE: &str = "io.taskwarden/range";
/// The key under which a slice says where it stands: `{offset, next, of}`, in characters.
pub(super) const META_SLICE: &str = "io.taskwarden/slice";

/// What is said of a number that is none.
pub(super) const NO_NUMBER: &str = "must be a whole number, such as 8000";

/// Tokens that a slice may have whatever the limit is. Judgement: with fewer, what says where it goes on is more than what
/// it brings. As the least that the policy allows.
const LEAST: u64 = 100;

/// Tokens for the words after a slice that say where it goes on. Measured: 46 with the longest handle and numbers in o200k,
/// with room for other tokenizers.
const NOTE: u64 = 64;

/// Tokens that one slice of this result may have, with the words after it: no answer is more than the limit that the result
/// is held for.
pub(super) fn most(gate: &Gate, handle: &TaskHandle) -> u64 {
    let most = gate.policy.counting.slice_tokens;
    match handle.form() {
        Some(ResultForm::Slices) => short::limit(gate, handle).map_or(most, |limit| limit.clamp(LEAST, most.max(LEAST))),
        // A person let it come.
        Some(ResultForm::Whole | ResultForm::Trimmed { .. }) | None => most,
    }
}

/// The URI of a result.
pub(super) fn uri(id: HandleId) -> String {
    format!("{ROOT}{id}")
}

/// Whether this names a result.
pub(super) fn is_result(uri: &str) -> bool {
    uri.starts_with(ROOT)
}

/// The URI, when this request reads a result.
pub(super) fn asked(request: &Request) -> Option<String> {
    if request.method != "resources/read" {
        return None;
    }
    request.params.text("uri").filter(|uri| is_result(uri))
}

/// The template of all results, as it stands in `resources/templates/list`.
pub(super) fn template() -> Value {
    json!({
        "uriTemplate": format!("{ROOT}{{handle}}{{?offset,tokens}}"),
        "name": "task-result",
        "title": "Result of a task",
        "description": "The result of one of your tasks as text, in slices: from a character on, so many tokens at most.",
        "mimeType": PLAIN,
    })
}

/// Which part is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Range {
    /// The first character.
    pub(super) offset: usize,
    /// Tokens at most.
    pub(super) tokens: Option<u64>,
    /// Characters at most.
    pub(super) chars: Option<usize>,
    /// Bytes at most.
    pub(super) bytes: Option<usize>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    /// The part.
    pub(super) text: String,
    /// Where it begins, in characters.
    pub(super) offset: usize,
    /// Where it goes on; `None` at the end.
    pub(super) next: Option<usize>,
    /// Characters of the whole.
    pub(super) of: usize,
}

/// Cuts a part out of a text, so that it and the words after it have `most` tokens. At least one character, unless it begins
/// behind the end.
pub(super) fn slice(scale: &dyn TokenCounter, family: Family, text: &str, range: Range, most: u64) -> Slice {
    let of = text.chars().count();
    let offset = range.offset.min(of);
    let begin = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let rest = text.get(begin..).unwrap_or_default();
    let room = most.saturating_sub(NOTE).max(LEAST.min(most));
    let tokens = range.tokens.unwrap_or(room).clamp(1, room);
    let by_tokens = scale.cut(family, rest, tokens).bytes;
    let by_bytes = range.bytes.map_or(rest.len(), |bytes| floor(rest, bytes));
    let by_chars = match range.chars {
        Some(chars) => rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at),
        None => rest.len(),
    };
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let upto = by_tokens.min(by_bytes).min(by_chars).max(first);
    let part = rest.get(..upto).unwrap_or(rest);
    let end = offset + part.chars().count();
    Slice { text: part.to_owned(), offset, next: (end < of).then_some(end), of }
}

/// The last border between characters at or before `bytes`.
fn floor(text: &str, bytes: usize) -> usize {
    let mut at = bytes.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Answers `resources/read` of a result.
///
/// # Errors
/// The one answer for what is not there for this agent.
pub(super) async fn read(
    gate: &Gate,
    guest: &Guest,
    uri: &str,
    params: &RequestParams,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    tap.shows_errors();
    let (id, query) = parts(uri).ok_or_else(lists::unknown_resource)?;
    let handle = find::task(gate, guest, id).await.map_err(unknown)?;
    let Some((result, form)) = outcome::readable(gate, guest, &handle).await? else {
        return Err(lists::unknown_resource());
    };
    let range = range(query, params)?;
    let family = scale::family(gate, guest, &handle);
    let most = most(gate, &handle);
    let part = scale::beside(gate, handle.id, move |scale| {
        let words = scale.words(result.as_str());
        match (range, form) {
            (None, ResultForm::Whole) => {
                let of = words.chars().count();
                Slice { text: words, offset: 0, next: None, of }
            }
            (range, ResultForm::Whole | ResultForm::Slices | ResultForm::Trimmed { .. }) => {
                slice(scale, family, &words, range.unwrap_or_default(), most)
            }
        }
    });
    let part = part.await?;
    tap.about(&handle);
    let next = part.next.map(|next| next_uri(handle.id, next, range));
    let note = next.as_ref().map(|next| format!("[{} of {} characters; it goes on at {next}]", upto(&part), part.of));
    let shown: Vec<&str> = std::iter::once(part.text.as_str()).chain(note.as_deref()).collect();
    tap.shows(Passed::Slice(as_result(&shown)));
    let place = json!({"offset": part.offset, "next": part.next, "of": part.of});
    let mut contents = vec![json!({"uri": uri, "mimeType": PLAIN, "text": part.text, "_meta": {META_SLICE: place}})];
    if let (Some(next), Some(note)) = (next, note) {
        contents.push(json!({"uri": next, "mimeType": PLAIN, "text": note}));
    }
    let said = json!({"contents": contents});
    let said = if guest.is_modern() { wire::ours("complete", &said) } else { service::result(&said) };
    said.map(|said| forward::fit(guest, "resources/read", said))
}

fn upto(part: &Slice) -> usize {
    part.next.unwrap_or(part.of)
}

/// Texts in the shape of a result, as they are counted.
fn as_result(texts: &[&str]) -> Payload {
    let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    Payload::new(json!({"content": blocks}).to_string())
}

/// Nothing tells an unknown task from one of another agent.
fn unknown(fault: RequestError) -> RequestError {
    if fault.kind == RequestErrorKind::InvalidParams { lists::unknown_resource() } else { fault }
}

/// The handle in a URI, and its query.
fn parts(uri: &str) -> Option<(&str, Option<&str>)> {
    let rest = uri.strip_prefix(ROOT)?;
    let (id, query) = match rest.split_once('?') {
        Some((id, query)) => (id, Some(query)),
        None => (rest, None),
    };
    Some((id, query.map(|query| query.split('#').next().unwrap_or_default()).filter(|query| !query.is_empty())))
}

/// The range that is asked for, in the URI or beside it; `None` when none is. A misspelt one is refused: the whole, or the
/// beginning once more, would be no answer to it.
fn range(query: Option<&str>, params: &RequestParams) -> Result<Option<Range>, RequestError> {
    let mut range = None::<Range>;
    for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
        let (name, said) = pair.split_once('=').unwrap_or((pair, ""));
        take(&mut range, name, digits(said))?;
    }
    match params.meta().get(META_RANGE) {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            for (name, said) in members {
                take(&mut range, name, whole(said))?;
            }
        }
        Some(_) => return Err(RequestError::params(format!("`{META_RANGE}` must be an object"))),
    }
    Ok(range)
}

/// Takes one of the two numbers.
fn take(range: &mut Option<Range>, name: &str, number: Option<u64>) -> Result<(), RequestError> {
    let number = || number.ok_or_else(|| RequestError::params(format!("`{name}` {NO_NUMBER}")));
    match name {
        "offset" => range.get_or_insert_default().offset = usize::try_from(number()?).unwrap_or(usize::MAX),
        "tokens" => range.get_or_insert_default().tokens = Some(number()?),
        _ => return Err(RequestError::params(format!("`{name}` is not known here; a range is `offset` and `tokens`"))),
    }
    Ok(())
}

/// The whole number that a model means: as a number, or as digits in a text.
pub(super) fn whole(said: &Value) -> Option<u64> {
    /// From here on not every whole number is one of these.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match said {
        Value::String(text) => digits(text),
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..EXACT).contains(number))?;
            Some(number as u64)
        }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn digits(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Where a reader goes on, with slices as large as this one.
fn next_uri(id: HandleId, next: usize, range: Option<Range>) -> String {
    let tokens = range.and_then(|range| range.tokens).map_or_else(String::new, |tokens| format!("&tokens={tokens}"));
    format!("{}?offset={next}{tokens}", uri(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use testkit::token_counter::ByteTokenCounter;

    use super::*;

    fn all(text: &str, range: Range, most: u64) -> (String, usize) {
        let (mut read, mut offset, mut slices) = (String::new(), 0, 0);
        loop {
            let part = slice(&ByteTokenCounter, Family::O200k, text, Range { offset, ..range }, most);
            assert_eq!((part.offset, part.of), (offset, text.chars().count()), "it says where it stands");
            read.push_str(&part.text);
            slices += 1;
            let Some(next) = part.next else { return (read, slices) };
            assert!(next > offset, "every slice brings something");
            offset = next;
        }
    }

    proptest! {
        #[test]
        fn slices_of_any_size_are_the_whole_to_the_character(text in "[a蜜🐝é\\n]{0,80}|\\PC{0,60}", tokens in 0_u64..12) {
            let range = Range { tokens: Some(tokens), ..Range::default() };
            prop_assert_eq!(all(&text, range, 9).0, text);
        }

        #[test]
        fn limits_in_characters_and_bytes_lose_nothing_either(text in "\\PC{0,60}", chars in 0_usize..9, bytes in 0_usize..9) {
            let range = Range { chars: Some(chars), bytes: Some(bytes), ..Range::default() };
            prop_assert_eq!(all(&text, range, 1_000).0, text);
        }
    }

    #[test]
    fn a_range_behind_the_end_is_empty_and_says_so() {
        let part = slice(&ByteTokenCounter, Family::O200k, "äöü", Range { offset: 7, ..Range::default() }, 100);
        assert_eq!(part, Slice { text: String::new(), offset: 3, next: None, of: 3 });
        let last = slice(&ByteTokenCounter, Family::O200k, "äöü", Range { offset: 2, ..Range::default() }, 100);
        assert_eq!((last.text.as_str(), last.next), ("ü", None), "the last character");
    }

    #[test]
    fn no_slice_is_larger_than_the_policy_allows() {
        let wants = Range { tokens: Some(u64::MAX), ..Range::default() };
        assert_eq!(slice(&ByteTokenCounter, Family::O200k, &"x".repeat(50), wants, 10).text.len(), 10);
        assert_eq!(all(&"x".repeat(50), wants, 10).1, 5, "five slices of ten");
    }

    #[test]
    fn a_range_stands_in_the_uri_or_beside_it() {
        let params = |text: &str| RequestParams::open(RawValue::from_string(text.to_owned()).ok()).expect("an object");
        let none = params("{}");
        let uri = |text: &'static str| parts(text).expect("it is one of ours");
        assert_eq!(uri("taskwarden://results/hdl_1"), ("hdl_1", None));
        let (id, query) = uri("taskwarden://results/hdl_1?offset=12&tokens=5");
        assert_eq!(id, "hdl_1");
        let wanted = Some(Range { offset: 12, tokens: Some(5), ..Range::default() });
        assert_eq!(range(query, &none).expect("numbers"), wanted);
        let beside = params(r#"{"_meta":{"io.taskwarden/range":{"offset":12,"tokens":5}}}"#);
        assert_eq!(range(None, &beside).expect("numbers"), wanted);
        assert_eq!(range(None, &none).expect("nothing"), None);
        let spelt = params(r#"{"_meta":{"io.taskwarden/range":{"offset":"12","tokens":5.0}}}"#);
        assert_eq!(range(None, &spelt).expect("what models write for numbers"), wanted);
        for wrong in ["offset=-1", "offset=x", "tokens=1.5", "offset=", "offset", "ofset=5", "=5"] {
            assert!(range(Some(wrong), &none).is_err(), "{wrong}");
        }
        for wrong in [r#"{"offset":-1}"#, r#"{"offset":1.5}"#, r#"{"offset":"x"}"#, r#"{"ofset":5}"#, "5"] {
            let beside = params(&format!(r#"{{"_meta":{{"io.taskwarden/range":{wrong}}}}}"#));
            assert!(range(None, &beside).is_err(), "{wrong}");
        }
    }
}
