//! The params of one request: the text as it came, with an index of its members.
//!
//! Members are read one at a time, and only `_meta` is parsed at once (`request_meta.rs`). A member that occurs twice is
//! refused, because two readers could take different ones; of one inside of what is forwarded as it came, a service
//! learns (decision 0108). It knows no method.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytestring::ByteString;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::server::request_meta::RequestMeta;
use crate::server::rpc_error::RequestError;
use crate::wire::raw_json::{JsonCursor, JsonNest};

/// Members up to which names are compared with each other; of more, a set is made. Judgement: a call has fewer, and
/// comparing them all costs less than the set.
const COMPARED_MAX: usize = 16;

/// Members that go to a server as they came, and that a person, a rule or a form is asked about before.
const DECIDED_ON: [&str; 2] = ["arguments", "inputResponses"];

/// The params of a request, with an index of their members.
#[derive(Clone, Default)]
pub struct RequestParams {
    text: Option<ParamsText>,
    members: Vec<ParamsMember>,
    /// The member with an object inside that names a member twice.
    ambiguous: Option<&'static str>,
    meta: Arc<RequestMeta>,
}

#[derive(Clone)]
enum ParamsText {
    /// In memory of their own.
    Own(Box<RawValue>),
    /// A slice of the message, and a copy where somebody wanted it as `serde_json` has it.
    Shared(ByteString, OnceLock<Box<RawValue>>),
}

impl ParamsText {
    fn as_str(&self) -> &str {
        match self {
            Self::Own(raw) => raw.get(),
            Self::Shared(text, _) => text,
        }
    }
}

/// Where one member stands.
#[derive(Debug, Clone)]
struct ParamsMember {
    name: MemberName,
    value: Range<usize>,
}

#[derive(Debug, Clone)]
enum MemberName {
    /// As it stands in the text.
    Plain(Range<usize>),
    /// Written with escapes: what it means.
    Escaped(Box<str>),
}

impl ParamsMember {
    fn name<'a>(&'a self, text: &'a str) -> &'a str {
        match &self.name {
            MemberName::Plain(place) => text.get(place.clone()).unwrap_or_default(),
            MemberName::Escaped(name) => name,
        }
    }
}

/// Arguments and answers are private: only the size shows.
impl fmt::Debug for RequestParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({} bytes)", self.as_str().map_or(0, str::len))
    }
}

impl RequestParams {
    /// Opens them.
    ///
    /// # Errors
    /// When they are no object, or hold a member twice.
    pub fn open(raw: Option<Box<RawValue>>) -> Result<Self, RequestError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        Self::index(ParamsText::Own(raw), |meta| Arc::new(RequestMeta::read(meta)))
    }

    /// Opens params that are a slice of a message, which was found to be JSON. `meta` gives what `_meta` says.
    pub(crate) fn open_shared(
        text: Option<ByteString>,
        meta: impl FnOnce(&str) -> Arc<RequestMeta>,
    ) -> Result<Self, RequestError> {
        let Some(text) = text else { return Ok(Self::default()) };
        Self::index(ParamsText::Shared(text, OnceLock::new()), meta)
    }

    fn index(text: ParamsText, meta: impl FnOnce(&str) -> Arc<RequestMeta>) -> Result<Self, RequestError> {
        let (members, ambiguous) = index_of(text.as_str())
            .ok_or_else(|| RequestError::params("`params` must be an object that holds each member once"))?;
        let mut params = Self { text: Some(text), members, ambiguous, meta: Arc::default() };
        if let Some(said) = params.get("_meta") {
            params.meta = meta(said);
        }
        Ok(params)
    }

    fn as_str(&self) -> Option<&str> {
        self.text.as_ref().map(ParamsText::as_str)
    }

    /// Checks that what goes to a server as it came means the same to every reader.
    ///
    /// # Errors
    /// When an object in `arguments` or `inputResponses` names a member twice.
    pub fn check_unambiguous(&self) -> Result<(), RequestError> {
        let Some(member) = self.ambiguous else { return Ok(()) };
        Err(RequestError::params(format!(
            "an object in `{member}` holds a member twice, and readers differ in which one counts; nothing was sent"
        )))
    }

    /// The whole, as it came.
    #[must_use]
    pub fn raw(&self) -> Option<&RawValue> {
        match self.text.as_ref()? {
            ParamsText::Own(raw) => Some(raw),
            ParamsText::Shared(text, copied) => Some(copied.get_or_init(|| copy(text))),
        }
    }

    /// The whole, as it came.
    #[must_use]
    pub fn into_raw(self) -> Option<Box<RawValue>> {
        match self.text? {
            ParamsText::Own(raw) => Some(raw),
            ParamsText::Shared(text, copied) => Some(copied.into_inner().unwrap_or_else(|| copy(&text))),
        }
    }

    /// The whole as shared text, for passing it on without a copy.
    #[must_use]
    pub fn shared(&self) -> Option<ByteString> {
        self.text.as_ref().map(|text| match text {
            ParamsText::Own(raw) => ByteString::from(raw.get()),
            ParamsText::Shared(text, _) => text.clone(),
        })
    }

    /// A member as shared text, also when it is `null`, for passing it on without a copy.
    #[must_use]
    pub fn shared_member(&self, name: &str) -> Option<ByteString> {
        let member = self.get(name)?;
        Some(match self.text.as_ref()? {
            ParamsText::Own(_) => ByteString::from(member),
            ParamsText::Shared(text, _) => text.slice_ref(member),
        })
    }

    /// A member as a slice of `whole`, which is what [`Self::shared`] gave.
    pub(crate) fn member_of(&self, whole: &ByteString, name: &str) -> Option<ByteString> {
        let text = self.as_str()?;
        let member = self.members.iter().find(|member| member.name(text) == name)?;
        whole.get(member.value.clone()).map(|part| whole.slice_ref(part))
    }

    /// A member as JSON text, also when it is `null`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let text = self.as_str()?;
        let member = self.members.iter().find(|member| member.name(text) == name)?;
        text.get(member.value.clone())
    }

    /// A member that is there and not `null`, as JSON text.
    #[must_use]
    pub fn said(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|text| *text != "null")
    }

    /// A member that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member as a value.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member that is a text, borrowed when it has no escapes.
    #[must_use]
    pub fn str(&self, name: &str) -> Option<Cow<'_, str>> {
        let text = self.get(name)?;
        match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
            Some(_) => serde_json::from_str(text).ok().map(Cow::Owned),
            None => None,
        }
    }

    /// The members of `_meta`; empty when it is absent or no object.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        self.meta.members()
    }

    /// What `_meta` says about the request.
    pub(crate) fn request_meta(&self) -> &RequestMeta {
        &self.meta
    }

    /// The token for progress: text or number, as it came.
    #[must_use]
    pub fn progress_token(&self) -> Option<Value> {
        self.meta().get("progressToken").filter(|token| token.is_string() || token.is_number()).cloned()
    }

    /// Everything as values, for those who forward nothing.
    #[must_use]
    pub fn map(&self) -> Map<String, Value> {
        self.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// A copy of text that was found to be JSON when its message was read.
fn copy(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The members of an object of JSON text, each of them once, and the first of [`DECIDED_ON`] with a name twice inside;
/// `None` for anything else.
fn index_of(text: &str) -> Option<(Vec<ParamsMember>, Option<&'static str>)> {
    let mut members: Vec<ParamsMember> = Vec::with_capacity(COMPARED_MAX / 2);
    let mut ambiguous = None;
    let mut cursor = JsonCursor::of(text);
    let mut nest = cursor.enter().filter(JsonNest::is_object)?;
    while let Some(name) = cursor.next_in(&mut nest).ok()? {
        let begin = nest.begin();
        let value = match DECIDED_ON.into_iter().find(|member| *member == name) {
            Some(member) => {
                let stepped = cursor.skip_with_names().ok()?;
                ambiguous = ambiguous.or(stepped.names_twice.then_some(member));
                stepped.place
            }
            None => cursor.skip().ok()?,
        };
        let name = match name {
            // No reader can unescape it.
            Cow::Borrowed(name) if name.contains('\\') => return None,
            Cow::Borrowed(name) => MemberName::Plain(begin + 1..begin + 1 + name.len()),
            Cow::Owned(name) => MemberName::Escaped(name.into()),
        };
        members.push(ParamsMember { name, value });
    }
    if !cursor.rest().trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return None;
    }
    let has_twice = if members.len() <= COMPARED_MAX {
        let behind = |at: usize| members.iter().skip(at + 1);
        members.iter().enumerate().any(|(at, one)| behind(at).any(|other| other.name(text) == one.name(text)))
    } else {
        let mut seen = HashSet::new();
        !members.iter().all(|member| seen.insert(member.name(text)))
    };
    (!has_twice).then_some((members, ambiguous))
}

/// The members of an object that stands as JSON text, in their order and each raw; `None` when it is no object, or holds
/// a member twice.
pub(crate) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Top(members)| members)
}

/// The members of an object, each raw, none twice.
struct Top<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name, borrowed when it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        from.deserialize_str(Reads)
    }
}

impl<'de> Deserialize<'de> for Top<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Top<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                let mut seen = HashSet::new();
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                    members.push((name, value));
                }
                Ok(Top(members))
            }
        }
        from.deserialize_map(Reads)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn open(text: &str) -> Result<RequestParams, RequestError> {
        RequestParams::open(Some(RawValue::from_string(text.to_owned()).expect("JSON")))
    }

    #[test]
    fn a_member_keeps_its_spelling_and_meta_is_read() {
        let params = open(r#" { "a" : 1.50 , "\u0062":[1, 2],"_meta":{"progressToken":"p"},"n":null} "#).expect("open");
        assert_eq!(params.get("a"), Some("1.50"), "as it was written");
        assert_eq!(params.get("b"), Some("[1, 2]"), "an escaped name is the name it means");
        assert_eq!((params.get("n"), params.said("n")), (Some("null"), None), "null is there and says nothing");
        assert_eq!(params.progress_token(), Some(Value::from("p")), "the token is in `_meta`");
    }

    /// Both ways to open params, which must not differ.
    fn open_both(text: &str) -> Option<(RequestParams, RequestParams)> {
        let shared = RequestParams::open_shared(Some(text.to_owned().into()), |meta| Arc::new(RequestMeta::read(meta)));
        match (open(text), shared) {
            (Ok(own), Ok(shared)) => Some((own, shared)),
            (Err(own), Err(shared)) => {
                assert_eq!(own, shared, "the same refusal");
                None
            }
            (own, shared) => panic!("`{text}` is read in two ways: {own:?}, {shared:?}"),
        }
    }

    #[test]
    fn a_slice_of_a_message_is_read_like_a_text_of_its_own() {
        let text = r#"{"a":1.50,"\u0062":"x\"","_meta":{"progressToken":7},"arguments":{"n":null}}"#;
        let (own, shared) = open_both(text).expect("an object");
        for name in ["a", "b", "_meta", "arguments", "none"] {
            assert_eq!(own.get(name), shared.get(name), "{name}");
            assert_eq!(own.shared_member(name), shared.shared_member(name), "{name}");
            assert_eq!(own.str(name).as_deref(), own.text(name).as_deref(), "{name}");
        }
        assert_eq!(own.shared(), shared.shared());
        assert_eq!((own.raw().map(RawValue::get), shared.raw().map(RawValue::get)), (Some(text), Some(text)));
        assert_eq!(own.progress_token(), shared.progress_token());
        assert_eq!(shared.into_raw().map(|raw| raw.get().to_owned()).as_deref(), Some(text), "byte for byte");
    }

    proptest! {
        #[test]
        fn members_are_what_serde_finds(
            names in proptest::collection::vec("[a-c\u{e4}\\\\\"]{0,3}", 0..24),
            values in proptest::collection::vec("[a-z{}\\[\\],:\\\\\"\n]{0,6}", 24),
            pretty: bool,
        ) {
            let written = |text: &str| Value::from(text).to_string();
            let (blank, line) = if pretty { (" ", "\n") } else { ("", "") };
            let members: Vec<_> = names.iter().zip(&values)
                .map(|(name, value)| format!("{line}{}{blank}:{blank}[{}]", written(name), written(value)))
                .collect();
            let text = format!("{{{}{line}}}", members.join(&format!("{blank},")));
            let unique: HashSet<_> = names.iter().collect();
            let opened = open_both(&text);
            prop_assert_eq!(opened.is_some(), unique.len() == names.len(), "a member that is there twice is refused");
            if let Some((_, params)) = opened {
                for (name, value) in names.iter().zip(&values) {
                    prop_assert_eq!(params.value(name), Some(Value::from(vec![value.as_str()])));
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_twice_in_what_goes_to_a_server_is_known_before_it_goes() {
        for (text, said) in [
            (r#"{"name":"t","arguments":{"path":"/tmp","path":"/"}}"#, Some("`arguments`")),
            (r#"{"arguments":{"a":[{"b":1,"\u0062":2}]},"name":"t"}"#, Some("`arguments`")),
            (r#"{"name":"t","inputResponses":{"q":{"content":{"n":1,"n":2}}}}"#, Some("`inputResponses`")),
            (r#"{"name":"t","arguments":{"a":{"b":1},"c":{"b":1}}}"#, None),
            (r#"{"name":"t","arguments":[1,2],"other":{"a":1,"a":2}}"#, None),
        ] {
            let (own, shared) = open_both(text).expect("an object");
            for params in [own, shared] {
                let refused = params.check_unambiguous().err().map(|refused| refused.message);
                assert_eq!(refused.is_some(), said.is_some(), "{text}");
                assert!(said.zip(refused.as_deref()).is_none_or(|(said, refused)| refused.contains(said)), "{text}");
            }
        }
    }

    #[test]
    fn what_two_readers_could_take_differently_is_refused() {
        for text in [r#"{"name":"a","name":"b"}"#, r#"{"name":1,"n\u0061me":2}"#, r#"{"\ud800":1,"name":2}"#, "[]"] {
            assert!(open(text).is_err(), "{text}");
        }
    }
}
