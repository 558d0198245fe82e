//! What a result carries in the modern era and not in the older ones, added or left out for the client that reads it.
//!
//! Pure. A client of an older era never sees a member that only 2026-07-28 knows, be it ours or a modern server's:
//! programs paste what they do not know into the text for their model. Everything else stays byte for byte. Identities
//! are exchanged before (`rewrite.rs`).

use domain::task::payload::Payload;
use serde_json::value::RawValue;

use super::bridge::without_meta;
use super::guest::Guest;
use super::wire::{META_SERVER, complete, complete_text};
use crate::wire::raw_json::{text_member, with_members};

/// The key of the subscription in `_meta` of everything on its stream.
pub(super) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The kinds of result of 2026-07-28. Any other word is a server's own and stays.
const KINDS: [&str; 3] = ["complete", "task", "input_required"];

/// A result of a server for this client.
pub(super) fn result(guest: &Guest, result: Payload) -> Payload {
    if guest.is_modern() {
        return complete_text(result);
    }
    older(result.as_str(), &[]).map_or(result, Payload::new)
}

/// As [`result`], where `kept` names the members about keeping a result that this method has in 2026-07-28.
pub(super) fn raw_result(guest: &Guest, result: Box<RawValue>, kept: &[&str]) -> Box<RawValue> {
    if guest.is_modern() {
        return complete(result);
    }
    older(result.get(), kept).and_then(|text| RawValue::from_string(text).ok()).unwrap_or(result)
}

/// Params of a notification of a modern server, for a session.
pub(super) fn session_params(params: &RawValue) -> Option<Box<RawValue>> {
    if !params.get().contains(META_SUBSCRIPTION) {
        return None;
    }
    RawValue::from_string(without_meta(params.get(), &[META_SUBSCRIPTION])).ok()
}

/// The result without what only 2026-07-28 knows; `None` when it has nothing of that.
fn older(result: &str, kept: &[&str]) -> Option<String> {
    let has_kind = result.contains("\"resultType\"")
        && text_member(result, "resultType").is_some_and(|kind| KINDS.contains(&&*kind));
    let has_server = result.contains(META_SERVER);
    if !has_kind && !has_server {
        return None;
    }
    let mut drop = Vec::new();
    if has_kind {
        drop.push("resultType");
        drop.extend_from_slice(kept);
    }
    Some(without_meta(&with_members(result, &[], &drop), &[META_SERVER]))
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
}
