//! The params of our requests as they are sent: what the caller set, what stays verbatim, and the `_meta` keys of the
//! modern era (protocol.md §2.1).
//!
//! It states our name and capabilities for both eras; sampling and roots only for an agent that has them. An agent's
//! own params are not parsed: what is set is spliced into their text.

use std::borrow::Cow;
use std::sync::LazyLock;

use domain::ports::Abilities;
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::upstream::transport::link::{ForwardedParams, OutgoingRequest};
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};

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
}

impl OutgoingParams {
    /// As the caller gave them.
    pub(crate) fn plain(value: Value, verbatim: Vec<(&'static str, Box<RawValue>)>) -> Self {
        Self::made(None, &value, &verbatim, None)
    }

    /// With the modern `_meta` keys; other keys of the caller's `_meta` stay.
    pub(crate) fn stamped(value: Value, verbatim: Vec<(&'static str, Box<RawValue>)>, version: &str) -> Self {
        Self::made(None, &value, &verbatim, Some(version))
    }

    /// Those of a request, stamped with the version where the era is modern.
    pub(crate) fn of(outgoing: &OutgoingRequest, version: Option<&str>) -> Self {
        Self::made(outgoing.agent_params.as_ref(), &outgoing.params, &outgoing.verbatim, version)
    }

    fn made(
        agent_params: Option<&ForwardedParams>,
        value: &Value,
        verbatim: &[(&'static str, Box<RawValue>)],
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
        set.extend(verbatim.iter().map(|(name, raw)| (*name, Cow::Borrowed(raw.get()))));
        let declares = agent_params.and_then(|agent_params| agent_params.declares.as_ref());
        let before = member(base, "_meta");
        match meta(before, value.get("_meta"), version, declares, agent_params.is_some()) {
            Some(meta) => set.push(("_meta", Cow::Owned(meta))),
            // What an agent's `_meta` held was all for us.
            None if before.is_some() => {
                let mut gone = without.to_vec();
                gone.push("_meta");
                return Self { text: with_members(base, &set, &gone) };
            }
            None => {}
        }
        Self { text: with_members(base, &set, without) }
    }

    /// A member that is text, for mirrored headers.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        text_member(&self.text, name)
    }

    /// The object as it goes out.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// `_meta` as it goes out: what came, what the caller sets, and the keys that are ours; `None` when nothing is in it.
fn meta(
    came: Option<&str>,
    set: Option<&Value>,
    version: Option<&str>,
    declares: Option<&Payload>,
    carries: bool,
) -> Option<String> {
    let mut members: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for (name, value) in set.and_then(Value::as_object).into_iter().flatten() {
        members.push((name, Cow::Owned(value.to_string())));
    }
    // The agent's own token means something else upstream, and who it is and what it can do is not ours to say.
    let mut gone: &[&str] = if carries { &["progressToken"] } else { &[] };
    if let Some(version) = version {
        members.push((META_VERSION, Value::from(version).to_string().into()));
        members.push((META_CLIENT, CLIENT.as_str().into()));
        let abilities = declares.map_or(MODERN_ABILITIES.as_str(), Payload::as_str);
        members.push((META_ABILITIES, abilities.into()));
    } else if carries {
        gone = &["progressToken", META_VERSION, META_CLIENT, META_ABILITIES, META_LOG_LEVEL];
    }
    let made = with_members(came.unwrap_or("{}"), &members, gone);
    JsonMembers::object(&made)?.next()?;
    Some(made)
}

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
