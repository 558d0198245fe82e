//! The first line of a result, as a list shows it.
//!
//! Pure. It reads the content blocks of MCP results; a result without any text has no line. All parts of a result are
//! `content_parts.rs`.

use domain::policy::plain_text;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

/// The first line with words, of at most so many characters.
pub(crate) fn first_line(result: &str, chars: usize) -> Option<String> {
    let outline: Outline<'_> = serde_json::from_str(result).ok()?;
    let texts = outline.content.iter().filter_map(|block| serde_json::from_str::<Block>(block.get()).ok()?.text);
    let mut lines = texts.map(|text| line_of(&text, chars)).filter(|line| !line.is_empty());
    lines.next().or_else(|| outline.structured_content.map(|value| line_of(value.get(), chars)))
}

fn line_of(text: &str, chars: usize) -> String {
    let trimmed = text.trim_start();
    // Of JSON the first line is a bracket: there the beginning is the line.
    let end = if trimmed.starts_with(['{', '[']) { None } else { trimmed.find('\n') };
    let line = trimmed.get(..end.unwrap_or(trimmed.len())).unwrap_or_default();
    // Before the blanks are joined, so that a megabyte of them is not passed over.
    let safe = plain_text(line, chars.saturating_mul(4));
    plain_text(&safe.split_whitespace().collect::<Vec<_>>().join(" "), chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_of_a_result_are_its_line() {
        let check = |result: &str, line: Option<&str>| {
            assert_eq!(first_line(result, 40).as_deref(), line, "{result}");
        };
        check(
            r#"{"content":[{"type":"text","text":"\n 26 views   refreshed\nnone failed"}]}"#,
            Some("26 views refreshed"),
        );
        check(r#"{"content":[{"type":"image","data":"AA=="},{"type":"text","text":"A chart"}]}"#, Some("A chart"));
        check(r#"{"content":[],"structuredContent":{"files": 3}}"#, Some(r#"{"files": 3}"#));
        check(r#"{"content":[{"type":"text","text":"{\n \"a\": 1\n}"}]}"#, Some(r#"{ "a": 1 }"#));
        check(r#"{"content":[{"type":"text","text":"a\u202eb\u001b[31m"}]}"#, Some("ab[31m"));
        check(r#"{"content":[]}"#, None);
        check("broken", None);
        assert_eq!(first_line(r#"{"content":[{"text":"long words"}]}"#, 4).as_deref(), Some("long…"), "it is cut");
    }
}
