//! A result made shorter that is still a result.
//!
//! Blocks are kept in order while they fit; the first text that does not is cut and says so, later ones are left out
//! and counted. Structured content loses members from its end and stays valid JSON, whether the blocks are shown or
//! not, because a client may read either. Everything else of the result stays as it is.

use domain::tokens::Family;

use crate::cut::cut;
use crate::json::{Members, elements, object, string, written};
use crate::media::Medium;
use crate::shown_parts::{VisiblePart, block};
use crate::token_sum::{TokenSum, at_most};

/// How deep structured content is gone into; what lies deeper is left out whole. Judgement: deeper than people read.
const DEPTH: usize = 32;
/// Tokens kept free for the sentence that says what is missing. Measured: it has 25 to 45 in all families.
const NOTE: u64 = 48;

/// Trims a result to about so many tokens.
pub(crate) fn trim(family: Family, result: &str, tokens: u64) -> String {
    let Some(members) = Members::of(result) else { return plain(family, result, tokens) };
    let blocks = members.get("content").map(elements);
    if matches!(blocks, Some(None)) || blocks.is_none() && members.get("structuredContent").is_none() {
        return plain(family, result, tokens);
    }
    let content = blocks.flatten().map(|blocks| content(family, &blocks, tokens));
    let structured = members
        .get("structuredContent")
        .map(|json| structure(family, json, tokens, DEPTH).map_or_else(|| "{}".to_owned(), |(json, _)| json));
    object(members.0.iter().map(|(key, value)| match &**key {
        "content" => (&**key, content.as_deref().unwrap_or(value)),
        "structuredContent" => (&**key, structured.as_deref().unwrap_or(value)),
        _ => (&**key, *value),
    }))
}

/// What is no result becomes one: a text with the beginning of it.
fn plain(family: Family, text: &str, tokens: u64) -> String {
    let block = text_block(&shortened(family, text, tokens));
    object([("content", &*format!("[{block}]"))])
}

fn text_block(text: &str) -> String {
    object([("type", "\"text\""), ("text", &*written(&text))])
}

/// A text that fits, or its beginning and a sentence that says so.
fn shortened(family: Family, text: &str, tokens: u64) -> String {
    if at_most(family, text) <= tokens {
        return text.to_owned();
    }
    let end = if tokens > NOTE { cut(family, text, tokens - NOTE).bytes } else { 0 };
    let (kept, left) = text.split_at_checked(end).unwrap_or((text, ""));
    let left = left.chars().count();
    format!("{kept}\n\n[… trimmed here: {left} more characters were left out.]")
}

fn tokens_of(family: Family, part: &VisiblePart<'_>) -> u64 {
    match part {
        VisiblePart::Text(text) => at_most(family, text),
        VisiblePart::Medium(medium) => {
            let mut sum = TokenSum::new(family);
            sum.medium(medium);
            sum.at_most()
        }
    }
}

fn content(family: Family, blocks: &[&str], tokens: u64) -> String {
    let parts: Vec<_> = blocks.iter().map(|json| block(json)).map(|part| (tokens_of(family, &part), part)).collect();
    let whole = parts.iter().map(|(size, _)| *size).fold(0, u64::saturating_add);
    // Room for the sentence about what is missing, where something is and it is not the text that is cut.
    let spare = if blocks.len() > 1 && whole > tokens { NOTE } else { 0 };
    let mut left = tokens;
    let mut kept: Vec<String> = Vec::new();
    let mut missing = 0_usize;
    let mut cut = false;
    for (json, (size, part)) in blocks.iter().zip(parts) {
        if !cut && size.saturating_add(spare) <= left {
            left -= size;
            kept.push((*json).to_owned());
            continue;
        }
        // Only one text is cut: what comes after it has lost its beginning too.
        match part {
            VisiblePart::Text(text) if !cut => {
                cut = true;
                let short = shortened(family, &text, left.saturating_sub(spare));
                left = left.saturating_sub(at_most(family, &short));
                kept.push(cut_block(json, &short));
            }
            VisiblePart::Text(_) | VisiblePart::Medium(Medium::Image(_) | Medium::Audio(_) | Medium::Bytes(_)) => {
                missing += 1
            }
        }
    }
    if missing > 0 {
        let noun = if missing == 1 { "block" } else { "blocks" };
        kept.push(text_block(&format!("[{missing} more {noun} of this result were left out: it was trimmed.]")));
    }
    format!("[{}]", kept.join(","))
}

/// A block with a shorter text in it; a block that is not made for text becomes one of text.
fn cut_block(json: &str, short: &str) -> String {
    let text = written(&short);
    let replaced = |json: &str| {
        let members = Members::of(json)?;
        members.text("text")?;
        Some(object(members.0.iter().map(|(key, value)| (&**key, if key == "text" { &*text } else { *value }))))
    };
    let inner = |json: &str| {
        let members = Members::of(json)?;
        let resource = replaced(members.get("resource")?)?;
        let all = members.0.iter().map(|(key, value)| (&**key, if key == "resource" { &*resource } else { *value }));
        Some(object(all))
    };
    replaced(json).or_else(|| inner(json)).unwrap_or_else(|| text_block(short))
}

/// JSON that fits and its tokens: whole, or without its last part. `None` when nothing of it fits.
fn structure(family: Family, json: &str, tokens: u64, depth: usize) -> Option<(String, u64)> {
    let size = at_most(family, json);
    if size <= tokens {
        return Some((json.to_owned(), size));
    }
    let below = depth.checked_sub(1)?;
    // Each member and element costs about a token for its comma or its colon.
    let mut left = tokens.checked_sub(2)?;
    let trimmed = if let Some(members) = Members::of(json) {
        let mut kept: Vec<(&str, String)> = Vec::new();
        for (key, value) in &members.0 {
            let Some(room) = left.checked_sub(at_most(family, key) + 3) else { break };
            let Some((child, size)) = structure(family, value, room, below) else { break };
            left = room.saturating_sub(size);
            let whole = child.len() == value.len();
            kept.push((key, child));
            if !whole {
                break;
            }
        }
        object(kept.iter().map(|(key, value)| (*key, &**value)))
    } else if let Some(all) = elements(json) {
        let mut kept = Vec::new();
        for value in all {
            let Some(room) = left.checked_sub(1) else { break };
            let Some((child, size)) = structure(family, value, room, below) else { break };
            left = room.saturating_sub(size);
            let whole = child.len() == value.len();
            kept.push(child);
            if !whole {
                break;
            }
        }
        format!("[{}]", kept.join(","))
    } else {
        let text = string(json)?;
        written(&format!("{}…", &text.get(..cut(family, &text, left).bytes)?))
    };
    let size = at_most(family, &trimmed);
    Some((trimmed, size))
}
