//! The params of our requests as they are sent: what the caller set, what stays verbatim, and the `_meta` keys of the
//! modern era (protocol.md §2.1).
//!
//! It states our name and capabilities for both eras; sampling and roots only for an agent that has them. An agent's
//! own params are not parsed: what is set is spliced into their text.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use bytestring::ByteString;
use domain::policy::Policy;
use domain::ports::Abilities;
use domain::task::payload::Payload;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::upstream::transport::link::{ForwardedParams, OutgoingRequest};
use crate::wire::raw_json::{JsonMembers, JsonPart, meaning, member, text_member, with_members};

/// The modern version that we speak.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

/// The versions with a handshake that we know, the one we ask for first.
pub(crate) const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_ABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The params of a request, as the text that is sent.
pub(crate) struct OutgoingParams {
    text: String,
    /// The member `name`, where the caller set it.
    name: Option<ByteString>,
}

impl OutgoingParams {
    /// As the caller gave them.
    pub(crate) fn plain(value: Value, verbatim: Vec<(&'static str, ByteString)>) -> Self {
        Self::made(None, &value, &verbatim, None)
    }

    /// With the modern `_meta` keys; other keys of the caller's `_meta` stay.
    pub(crate) fn stamped(value: Value, verbatim: Vec<(&'static str, ByteString)>, version: &str) -> Self {
        Self::made(None, &value, &verbatim, Some(version))
    }

    /// Those of a request, stamped with the version where the era is modern.
    pub(crate) fn of(outgoing: &OutgoingRequest, version: Option<&str>) -> Self {
        Self::made(outgoing.agent_params.as_ref(), &outgoing.params, &outgoing.verbatim, version)
    }

    /// The same. The `_meta` of an agent is mostly that of its call before, so the last one is kept.
    pub(crate) fn of_call(outgoing: &OutgoingRequest, version: Option<&str>, kept: &KeptMeta) -> Self {
        let made = || Self::of(outgoing, version);
        let (Some(forwarded), Value::Null) = (&outgoing.agent_params, &outgoing.params) else { return made() };
        let set_meta = outgoing.verbatim.iter().find(|(name, _)| *name == "_meta");
        let token = set_meta.and_then(|(_, text)| text.strip_prefix(TOKEN_BEFORE)?.strip_suffix('}'));
        let Some(token) = token else { return made() };
        let last = kept.last.lock().clone().filter(|last| last.declares == forwarded.declares);
        if let Some(last) = last {
            let others = outgoing.verbatim.iter().filter(|(name, _)| *name != "_meta");
            let mut set: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(outgoing.verbatim.len());
            set.extend(others.map(|(name, text)| (*name, Cow::Borrowed(&**text))));
            let (object, meta) = (forwarded.params.as_str(), Some((&*last, token)));
            if let Some(text) = written(object, &set, forwarded.without, meta) {
                return Self { text, name: set_name(&outgoing.verbatim) };
            }
        }
        let params = made();
        if let Some(came) = member(forwarded.params.as_str(), "_meta") {
            let declares = forwarded.declares.as_ref().map(Payload::detached);
            *kept.last.lock() = kept.read(came, declares, &params.text).map(Arc::new);
        }
        params
    }

    fn made(
        agent_params: Option<&ForwardedParams>,
        value: &Value,
        verbatim: &[(&'static str, ByteString)],
        version: Option<&str>,
    ) -> Self {
        let base = agent_params.map_or("{}", |agent_params| agent_params.params.as_str());
        let without = agent_params.map_or(&[][..], |agent_params| agent_params.without);
        let mut set: Vec<(&str, Cow<'_, str>)> = Vec::new();
        for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta") {
            if !verbatim.iter().any(|(other, _)| other == name) {
                set.push((name, Cow::Owned(value.to_string())));
            }
        }
        let plain = verbatim.iter().filter(|(name, _)| *name != "_meta");
        set.extend(plain.map(|(name, text)| (*name, Cow::Borrowed(&**text))));
        let set_meta = verbatim.iter().find(|(name, _)| *name == "_meta").map(|(_, text)| &**text);
        let declares = agent_params.and_then(|agent_params| agent_params.declares.as_ref());
        let (before, name) = (member(base, "_meta"), set_name(verbatim));
        let sources = MetaSources { came: before, value: value.get("_meta"), text: set_meta };
        match meta(&sources, version, declares, agent_params.is_some()) {
            Some(meta) => set.push(("_meta", Cow::Owned(meta))),
            // What an agent's `_meta` held was all for us.
            None if before.is_some() => {
                let mut gone = without.to_vec();
                gone.push("_meta");
                return Self { text: set_members(base, &set, &gone), name };
            }
            None => {}
        }
        Self { text: set_members(base, &set, without), name }
    }

    /// A member that is text, for mirrored headers.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        match &self.name {
            // What was set is known without a walk.
            Some(set) if name == NAME => meaning(set),
            Some(_) | None => text_member(&self.text, name),
        }
    }

    /// The object as it goes out.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The member that names a tool or a prompt.
const NAME: &str = "name";

/// The name that the caller set, as JSON text.
fn set_name(verbatim: &[(&'static str, ByteString)]) -> Option<ByteString> {
    verbatim.iter().find(|(name, _)| *name == NAME).map(|(_, text)| text.clone())
}

/// A token of ours, alone in the `_meta` that a call sets.
const TOKEN_BEFORE: &str = "{\"progressToken\":";

/// The `_meta` of the last call over a link, unless it is longer than this.
pub(crate) struct KeptMeta {
    last: Mutex<Option<Arc<LastMeta>>>,
    cap_bytes: usize,
}

impl KeptMeta {
    /// A client's name and capabilities are short; longer ones than all headers may be are made anew each time.
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { last: Mutex::default(), cap_bytes: policy.gateway.headers_cap_bytes }
    }

    fn read(&self, came: &str, declares: Option<Payload>, params: &str) -> Option<LastMeta> {
        LastMeta::of(came, declares, member(params, "_meta")?).filter(|_| came.len() <= self.cap_bytes)
    }
}

/// What an agent's `_meta` became for a call, around the token, which is another for each call.
struct LastMeta {
    came: String,
    declares: Option<Payload>,
    before: String,
    after: String,
}

impl LastMeta {
    fn of(came: &str, declares: Option<Payload>, made: &str) -> Option<Self> {
        let mut tokens = JsonMembers::object(made)?.filter(|part| part.name == "progressToken");
        let token = tokens.next().filter(|_| tokens.next().is_none())?.value;
        let (before, after) = (made.get(..token.start)?.to_owned(), made.get(token.end..)?.to_owned());
        Some(Self { came: came.to_owned(), declares, before, after })
    }
}

/// `_meta` as it goes out: what came, what the caller sets, and the keys that are ours; `None` when nothing is in it.
fn meta(sources: &MetaSources<'_>, version: Option<&str>, declares: Option<&Payload>, carries: bool) -> Option<String> {
    let mut members: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for (name, value) in sources.value.and_then(Value::as_object).into_iter().flatten() {
        members.push((name, Cow::Owned(value.to_string())));
    }
    let text = sources.text.unwrap_or_default();
    let parts: Vec<JsonPart<'_>> = JsonMembers::object(text).into_iter().flatten().collect();
    members.extend(parts.iter().filter_map(|part| Some((&*part.name, text.get(part.value.clone())?.into()))));
    // The agent's own token means something else upstream, and who it is and what it can do is not ours to say.
    let mut gone: &[&str] = if carries { &["progressToken"] } else { &[] };
    if let Some(version) = version {
        members.push((META_VERSION, format!("\"{version}\"").into()));
        members.push((META_CLIENT, CLIENT.as_str().into()));
        let abilities = declares.map_or(MODERN_ABILITIES.as_str(), Payload::as_str);
        members.push((META_ABILITIES, abilities.into()));
    } else if carries {
        gone = &["progressToken", META_VERSION, META_CLIENT, META_ABILITIES, META_LOG_LEVEL];
    }
    let made = set_members(sources.came.unwrap_or("{}"), &members, gone);
    let is_empty = matches!(JsonMembers::object(&made)?.next_part(), Ok(None));
    (!is_empty).then_some(made)
}

/// What goes into `_meta` besides the keys of the link.
struct MetaSources<'a> {
    /// The agent's own.
    came: Option<&'a str>,
    /// Set by the caller, as a value.
    value: Option<&'a Value>,
    /// Set by the caller, as the text of an object.
    text: Option<&'a str>,
}

/// As `with_members`, in one walk and one piece of memory where no member is left out and none is there twice.
fn set_members(object: &str, set: &[(&str, Cow<'_, str>)], drop: &[&str]) -> String {
    written(object, set, drop, None).unwrap_or_else(|| with_members(object, set, drop))
}

/// The object with these members. With `meta`, its `_meta` is that of the last call, around this token; `None` where it is
/// another, too.
fn written(
    object: &str,
    set: &[(&str, Cow<'_, str>)],
    drop: &[&str],
    meta: Option<(&LastMeta, &str)>,
) -> Option<String> {
    let new: usize = set.iter().map(|(name, text)| name.len() + text.len() + MEMBER_MARKS).sum();
    let of_meta = meta.map_or(0, |(last, token)| last.before.len() + token.len() + last.after.len());
    let mut text = String::with_capacity(object.len() + new + of_meta);
    let (mut placed, mut is_meta_placed) = (0_u32, false);
    let mut done = 0;
    let mut inside = JsonMembers::object(object)?;
    while let Some(part) = inside.next_part().ok()? {
        if part.name == "_meta"
            && let Some((last, token)) = meta
        {
            if std::mem::replace(&mut is_meta_placed, true) || object.get(part.value.clone()) != Some(&*last.came) {
                return None;
            }
            text.push_str(object.get(done..part.value.start)?);
            [&*last.before, token, &*last.after].into_iter().for_each(|piece| text.push_str(piece));
            done = part.value.end;
            continue;
        }
        let Some(at) = set.iter().position(|(name, _)| part.name == *name) else {
            if drop.iter().any(|name| part.name == *name) {
                return None;
            }
            text.push_str(object.get(done..part.value.end)?);
            done = part.value.end;
            continue;
        };
        let mark = 1_u32.checked_shl(u32::try_from(at).ok()?)?;
        if placed & mark != 0 {
            return None;
        }
        placed |= mark;
        text.push_str(object.get(done..part.value.start)?);
        text.push_str(&set.get(at)?.1);
        done = part.value.end;
    }
    if meta.is_some() && !is_meta_placed {
        return None;
    }
    let is_empty = done == 0;
    if is_empty {
        done = object.find('{')? + 1;
        text.push_str(object.get(..done)?);
    }
    let mut first = is_empty;
    for (at, (name, value)) in set.iter().enumerate() {
        if placed & 1_u32.checked_shl(u32::try_from(at).ok()?)? != 0 {
            continue;
        }
        if !std::mem::take(&mut first) {
            text.push(',');
        }
        for piece in ["\"", name, "\":", value] {
            text.push_str(piece);
        }
    }
    text.push_str(object.get(done..)?);
    Some(text)
}

/// Quotes, colon and comma.
const MEMBER_MARKS: usize = 4;

/// The params of `initialize`. No extensions: a server could take them for tasks of another dialect (protocol.md §9.12).
pub(crate) fn initialize(abilities: Abilities) -> Value {
    json!({
        "protocolVersion": LEGACY_VERSIONS.first(),
        "capabilities": with_abilities(json!({ "elicitation": { "form": {}, "url": {} } }), abilities),
        "clientInfo": client(),
    })
}

/// The capabilities that a call declares on behalf of an agent, beside our own.
pub(crate) fn declared(abilities: Abilities) -> Option<Payload> {
    (abilities != Abilities::default()).then(|| Payload::new(with_abilities(modern_abilities(), abilities).to_string()))
}

fn with_abilities(mut capabilities: Value, abilities: Abilities) -> Value {
    // Elicitation is always among it: people answer what an agent cannot.
    let Abilities { sampling, roots, elicitation: _ } = abilities;
    if let Some(members) = capabilities.as_object_mut() {
        for (name, has) in [("sampling", sampling), ("roots", roots)] {
            if has {
                members.insert(name.into(), json!({}));
            }
        }
    }
    capabilities
}

static CLIENT: LazyLock<String> = LazyLock::new(|| client().to_string());
static MODERN_ABILITIES: LazyLock<String> = LazyLock::new(|| modern_abilities().to_string());

fn client() -> Value {
    json!({ "name": "taskwarden", "version": env!("CARGO_PKG_VERSION") })
}

fn modern_abilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "extensions": { TASKS_EXTENSION: {} } })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use domain::ports::SendPermit;

    use super::*;

    fn call(token: u64, meta: &str, declares: Option<&str>) -> OutgoingRequest {
        OutgoingRequest {
            method: "tools/call".into(),
            params: Value::Null,
            verbatim: vec![
                ("name", "\"dig\"".into()),
                ("_meta", format!("{{\"progressToken\":{token}}}").into()),
                ("arguments", "{\"n\":1.0}".into()),
            ],
            tag: crate::upstream::transport::link::RequestTag(token),
            limit: None,
            param_headers: Vec::new(),
            agent_params: Some(ForwardedParams {
                params: Payload::new(format!("{{\"name\":\"x\",\"_meta\":{meta},\"task\":{{}},\"x\":1e0}}")),
                without: &["task"],
                declares: declares.map(Payload::new),
                cancel_on_drop: false,
            }),
            permit: SendPermit::default(),
        }
    }

    #[test]
    fn a_call_goes_out_the_same_whether_its_meta_was_known_or_not() {
        let metas =
            [r#"{"a":1}"#, r#"{ "progressToken" : "p", "b":[2] }"#, "{}", r#"{"progressToken":1,"progressToken":2}"#];
        for version in [Some("2026-07-28"), None] {
            let last = KeptMeta::new(&Policy::default());
            for (token, meta) in metas.iter().flat_map(|meta| [*meta; 3]).enumerate() {
                for declares in [None, Some("{}"), Some(r#"{"sampling":{}}"#)] {
                    let outgoing = call(u64::try_from(token).unwrap_or_default(), meta, declares);
                    let (known, made) =
                        (OutgoingParams::of_call(&outgoing, version, &last), OutgoingParams::of(&outgoing, version));
                    assert_eq!(known.as_str(), made.as_str(), "of {meta}");
                }
            }
        }
    }

    #[test]
    fn a_name_without_meaning_in_an_agents_meta_hides_nothing_behind_it() {
        let meta = r#"{"\ud800":1,"progressToken":"theirs"}"#;
        for version in [Some("2026-07-28"), None] {
            let last = KeptMeta::new(&Policy::default());
            for token in [5, 6] {
                let params = OutgoingParams::of_call(&call(token, meta, None), version, &last);
                let text = params.as_str();
                assert!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok(), "it is JSON: {text}");
                assert_eq!(text.matches("progressToken").count(), 1, "the agent's own token stays behind: {text}");
                assert!(text.contains(&format!("\"progressToken\":{token}")), "and ours goes out: {text}");
            }
        }
    }

    proptest! {
        #[test]
        fn members_are_written_as_they_are_spliced(
            names in proptest::collection::vec("[a-d]|\\\\ud800", 0..6),
            new in proptest::collection::btree_map("[a-f]", 0_i64..100, 0..4),
            gone in proptest::collection::vec("[a-d]", 0..2),
            pretty: bool,
        ) {
            let members: Vec<String> = names.iter().map(|name| format!("\"{name}\": [1, \"}}\"]")).collect();
            let text = if pretty { format!(" {{ {} }} ", members.join(" , ")) } else { format!("{{{}}}", members.join(",")) };
            let set: Vec<_> = new.iter().map(|(name, value)| (name.as_str(), Cow::Owned(value.to_string()))).collect();
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            prop_assert_eq!(set_members(&text, &set, &gone), with_members(&text, &set, &gone));
        }
    }
}
