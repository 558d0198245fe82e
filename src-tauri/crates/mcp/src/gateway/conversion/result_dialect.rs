//! What a result carries in the modern era and not in the older ones, added or left out for the client that reads it.
//!
//! A client of an older era never sees a member that only 2026-07-28 knows, whoever wrote it: programs paste what they do
//! not know into the text for their model. Everything else stays byte for byte.

use domain::task::payload::Payload;
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::conversion::meta::{META_SERVER, META_SUBSCRIPTION, server_info};
use crate::gateway::conversion::raw_json::{ObjectWriter, serialize, without_meta};
use crate::gateway::request_context::RequestContext;
use crate::server::rpc_error::RequestError;
use crate::wire::raw_json::{member, text_member, with_members};

/// The kinds of result of 2026-07-28. Any other is a server's own and stays.
const KINDS: [&str; 3] = ["complete", "task", "input_required"];

/// A result of a server for this client.
pub(crate) fn for_client(context: &RequestContext, result: Payload) -> Payload {
    if context.is_modern() {
        return complete_text(result);
    }
    older(result.as_str(), &[]).map_or(result, Payload::new)
}

/// As [`for_client`]; `hints` are the members about caching that results of this method have in 2026-07-28.
fn raw_for_client(context: &RequestContext, result: Box<RawValue>, hints: &[&str]) -> Box<RawValue> {
    if context.is_modern() {
        return complete(result);
    }
    older(result.get(), hints).and_then(|text| RawValue::from_string(text).ok()).unwrap_or(result)
}

/// Params of a notification of a modern server, for a session.
pub(crate) fn session_params(params: &RawValue) -> Option<Box<RawValue>> {
    if !params.get().contains(META_SUBSCRIPTION) {
        return None;
    }
    RawValue::from_string(without_meta(params.get(), &[META_SUBSCRIPTION])).ok()
}

/// The result without what only 2026-07-28 knows; `None` when it has nothing of that.
fn older(result: &str, hints: &[&str]) -> Option<String> {
    let has_kind = result.contains("\"resultType\"")
        && text_member(result, "resultType").is_some_and(|kind| KINDS.contains(&&*kind));
    let has_server = result.contains(META_SERVER);
    if !has_kind && !has_server {
        return None;
    }
    let mut drop = Vec::new();
    if has_kind {
        drop.push("resultType");
        drop.extend_from_slice(hints);
    }
    Some(without_meta(&with_members(result, &[], &drop), &[META_SERVER]))
}

/// A result of the gateway's for this client: in the modern era with its kind and the name of who answered.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn own(context: &RequestContext, result: &Value) -> Result<Box<RawValue>, RequestError> {
    if !context.is_modern() {
        return serialize(result);
    }
    let mut written = ObjectWriter::new();
    written.set("resultType", &"complete");
    let mut meta = json!({META_SERVER: server_info()});
    for (name, value) in result.as_object().into_iter().flatten() {
        match (name.as_str(), value, meta.as_object_mut()) {
            ("_meta", Value::Object(said), Some(meta)) => meta.extend(said.clone()),
            _ => written.set(name, value),
        }
    }
    written.set("_meta", &meta);
    written.finish()
}

/// A result of a server as a complete one of the modern era: that of an older server gets its kind.
fn complete(result: Box<RawValue>) -> Box<RawValue> {
    match with_kind(result.get()) {
        Some(complete) => RawValue::from_string(complete).unwrap_or(result),
        None => result,
    }
}

/// As [`complete`], for text.
pub(crate) fn complete_text(result: Payload) -> Payload {
    with_kind(result.as_str()).map_or(result, Payload::new)
}

/// The result with its kind; `None` when it has one.
fn with_kind(result: &str) -> Option<String> {
    const KIND: &str = "\"resultType\"";
    let text = result.trim_start();
    let rest = text.strip_prefix('{')?;
    if rest.trim_start().starts_with(KIND) {
        return None;
    }
    // Only if the word is somewhere in the text is it worth looking for the member.
    let has_kind = || member(text, "resultType").is_some();
    if memmem::find(rest.as_bytes(), KIND.as_bytes()).is_some() && has_kind() {
        return None;
    }
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    Some(["{", KIND, ":\"complete\"", comma, rest].concat())
}

/// The members of a modern result about caching it.
const CACHE_HINTS: [&str; 2] = ["ttlMs", "cacheScope"];

/// The result of a method as the client's era has it: its kind, and hints about caching (protocol.md §2.1, §2.10).
pub(crate) fn fit(context: &RequestContext, method: &str, result: Box<RawValue>) -> Box<RawValue> {
    let is_cacheable = matches!(
        method,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "resources/read"
    );
    let result = raw_for_client(context, result, if is_cacheable { &CACHE_HINTS } else { &[] });
    let text = result.get();
    if !is_cacheable || !context.is_modern() || member(text, "resultType") != Some("\"complete\"") {
        return result;
    }
    let missing: Vec<_> = CACHE_HINTS
        .into_iter()
        .zip(["0".into(), "\"private\"".into()])
        .filter(|(name, _)| member(text, name).is_none())
        .collect();
    if missing.is_empty() {
        return result;
    }
    RawValue::from_string(with_members(text, &missing, &[])).unwrap_or(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_client_sees_no_member_that_only_the_modern_era_knows() {
        let modern =
            r#"{"resultType":"complete","content":[ ],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}"#;
        assert_eq!(older(modern, &[]).as_deref(), Some(r#"{"content":[ ]}"#));
        let beside = r#"{"a":1.50,"_meta":{"mine":1,"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}"#;
        assert_eq!(older(beside, &[]).as_deref(), Some(r#"{"a":1.50,"_meta":{"mine":1}}"#));
        let list = r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}"#;
        assert_eq!(older(list, &["ttlMs", "cacheScope"]).as_deref(), Some(r#"{"tools":[]}"#));
    }

    #[test]
    fn what_an_older_client_may_see_stays_byte_for_byte() {
        for text in [
            r#"{ "content" : [ {"type":"text","text":"\"resultType\""} ] }"#,
            r#"{"resultType":"vendor","content":[]}"#,
            r#"{"content":[],"x":{"resultType":"complete"}}"#,
            r#"{"tools":[],"ttlMs":5}"#,
        ] {
            assert_eq!(older(text, &["ttlMs"]), None, "{text}");
        }
    }

    fn whole(text: &str) -> String {
        complete(RawValue::from_string(text.to_owned()).expect("JSON")).get().to_owned()
    }

    #[test]
    fn a_result_of_an_older_server_gets_its_kind_and_nothing_else_changes() {
        assert_eq!(whole(r#"{ "content":[ ] , "n":1.50}"#), r#"{"resultType":"complete", "content":[ ] , "n":1.50}"#);
        assert_eq!(whole("{}"), r#"{"resultType":"complete"}"#);
        let inside = r#"{"content":[{"type":"text","text":"\"resultType\""}],"x":{"resultType":"y"}}"#;
        assert!(whole(inside).starts_with(r#"{"resultType":"complete","content""#), "what is inside is not its kind");
    }

    #[test]
    fn a_result_that_says_its_kind_stays_byte_for_byte() {
        for text in [r#"{"resultType":"complete","a":1e2}"#, r#"{"a":1,"resultType" : "vendor"}"#] {
            assert_eq!(whole(text), text);
        }
    }
}
