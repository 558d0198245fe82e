//! Splits a stored payload into parts that a person can look at.
//!
//! Knows the content blocks of MCP results and nothing else of the protocol; anything else is shown as the JSON it is, laid
//! out without parsing its values. Sizes are bounded by the policy. `calls/tasks/content.rs` reads the payloads.

use std::collections::BTreeMap;

use domain::policy::{Policy, plain_text};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dto::PartDto;
use crate::dto::task::content::PartKind;
pub(crate) use crate::format::pretty_json::pretty;

/// A part with its whole text.
pub(crate) struct ContentPart {
    pub(crate) shown: PartDto,
    /// What `tasks.piece` cuts from; `None` for pictures and sounds that are too large to show.
    pub(crate) text: Option<String>,
}

/// Keys of a result that say something about it and are no content; the payload as it was on the wire has them.
const ABOUT: [&str; 3] = ["isError", "resultType", "_meta"];

/// The parts of a result.
pub(crate) fn of_result(text: &str, policy: &Policy) -> Vec<ContentPart> {
    let Ok(keys) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        return of_json(text, policy);
    };
    let blocks = keys.get("content").and_then(|content| serde_json::from_str::<Vec<&RawValue>>(content.get()).ok());
    let Some(blocks) = blocks else { return of_json(text, policy) };
    let most = policy.asking.parts_max;
    let mut parts: Vec<ContentPart> = blocks.iter().take(most).map(|block| of_block(block.get(), policy)).collect();
    if let Some(rest) = blocks.get(most..).filter(|rest| !rest.is_empty()) {
        let rest: Vec<&str> = rest.iter().map(|block| block.get()).collect();
        parts.push(json(PartKind::Json, &format!("[{}]", rest.join(",")), policy));
    }
    if let Some(structured) = keys.get("structuredContent") {
        parts.push(json(PartKind::Structured, structured.get(), policy));
    }
    let others = keys
        .iter()
        .filter(|(key, _)| *key != "content" && *key != "structuredContent" && !ABOUT.contains(&key.as_str()));
    for (key, value) in others.take(most) {
        let mut part = json(PartKind::Json, value.get(), policy);
        part.shown.name = Some(plain_text(key, policy.asking.row_text_chars));
        parts.push(part);
    }
    number(parts)
}

/// A payload that is one JSON text.
pub(crate) fn of_json(text: &str, policy: &Policy) -> Vec<ContentPart> {
    number(vec![json(PartKind::Json, text, policy)])
}

fn number(mut parts: Vec<ContentPart>) -> Vec<ContentPart> {
    for (n, part) in (0..).zip(parts.iter_mut()) {
        part.shown.n = n;
    }
    parts
}

/// A content block; every field is the server's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    r#type: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: Option<String>,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

fn of_block(text: &str, policy: &Policy) -> ContentPart {
    let Ok(block) = serde_json::from_str::<Block>(text) else { return json(PartKind::Unknown, text, policy) };
    let Block { r#type, text: words, data, mime_type, uri, name, title, description, resource } = block;
    let mut part = match (r#type.as_str(), words, data, resource) {
        ("text", Some(words), _, _) => of_text(PartKind::Text, words, policy),
        ("image", _, Some(data), _) => media(PartKind::Image, data, policy),
        ("audio", _, Some(data), _) => media(PartKind::Audio, data, policy),
        ("resource_link", ..) => of_text(PartKind::ResourceLink, String::new(), policy),
        ("resource", _, _, Some(inner)) => {
            let mut part = match (inner.text, inner.blob) {
                (Some(words), _) => of_text(PartKind::Resource, words, policy),
                (None, Some(blob)) => media(PartKind::Resource, blob, policy),
                (None, None) => of_text(PartKind::Resource, String::new(), policy),
            };
            part.shown.mime = short(inner.mime_type, policy);
            part.shown.uri = short(inner.uri, policy);
            part
        }
        _ => json(PartKind::Unknown, text, policy),
    };
    let shown = &mut part.shown;
    shown.mime = short(mime_type, policy).or(shown.mime.take());
    shown.uri = short(uri, policy).or(shown.uri.take());
    shown.name = short(name, policy);
    shown.title = short(title, policy);
    shown.description = short(description, policy);
    part
}

fn short(text: Option<String>, policy: &Policy) -> Option<String> {
    text.map(|text| plain_text(&text, policy.server_text_cap_chars))
}

fn json(kind: PartKind, text: &str, policy: &Policy) -> ContentPart {
    let mut part = of_text(kind, pretty(text), policy);
    part.shown.mime = Some("application/json".into());
    part
}

fn of_text(kind: PartKind, text: String, policy: &Policy) -> ContentPart {
    let end = text.char_indices().nth(policy.asking.preview_chars).map(|(at, _)| at);
    let preview = text.get(..end.unwrap_or(text.len())).unwrap_or_default().to_owned();
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let cut = end.is_some();
    ContentPart { shown: PartDto { preview, cut, bytes, ..blank(kind) }, text: Some(text) }
}

/// Base64 of a picture, a sound or anything else that is no text.
fn media(kind: PartKind, data: String, policy: &Policy) -> ContentPart {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count().min(2);
    let bytes = u64::try_from((data.len() / 4 * 3).saturating_sub(padding)).unwrap_or(u64::MAX);
    let cut = data.len() > policy.asking.media_chars_max;
    let preview = if cut { String::new() } else { data };
    let text = (!cut).then(|| preview.clone());
    ContentPart { shown: PartDto { preview, cut, bytes, ..blank(kind) }, text }
}

fn blank(kind: PartKind) -> PartDto {
    PartDto {
        n: 0,
        kind,
        mime: None,
        bytes: 0,
        preview: String::new(),
        cut: false,
        name: None,
        title: None,
        uri: None,
        description: None,
    }
}

#[cfg(test)]
mod tests;
