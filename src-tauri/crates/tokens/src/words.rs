//! A result as plain text, for reading it in slices.
//!
//! Its texts, one after the other; other blocks as their JSON, pictures and sounds as a note, because slices are text.
//! Structured content that says more than the texts comes after them: a result may be held for its size.
//! The output for one result never changes: readers come back with offsets. Cutting is in `cut.rs`.

use domain::ports::MessagePart;

use crate::media::Medium;
use crate::shown_parts::{VisiblePart, shown};

/// Structured content that is so many times as long as the texts says more than they do. Judgement: the same in another
/// layout is less.
const SAYS_MORE: usize = 2;

/// The words of a result.
pub(crate) fn words(result: &str) -> String {
    let mut words = String::new();
    let beside = shown(MessagePart::Result(result), |part| {
        if !words.is_empty() && !words.ends_with('\n') {
            words.push('\n');
        }
        match part {
            VisiblePart::Text(text) => words.push_str(&text),
            VisiblePart::Medium(Medium::Image(_)) => words.push_str("[a picture that slices do not show]"),
            VisiblePart::Medium(Medium::Audio(_)) => words.push_str("[a sound that slices do not show]"),
            VisiblePart::Medium(Medium::Bytes(_)) => words.push_str("[bytes that slices do not show]"),
        }
    });
    if let Some(structured) = beside.instead
        && structured.len() > words.len().saturating_mul(SAYS_MORE)
    {
        if !words.is_empty() && !words.ends_with('\n') {
            words.push('\n');
        }
        words.push_str(structured);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_as_its_texts_in_order() {
        let result = r#"{"content":[{"type":"text","text":"one\n"},{"type":"text","text":"two"},
            {"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"three"}]}"#;
        assert_eq!(words(result), "one\ntwo\n[a picture that slices do not show]\nthree");
        assert_eq!(words(r#"{"content":[],"structuredContent":{"a":1}}"#), r#"{"a":1}"#);
        assert_eq!(words(r#"{"content":[]}"#), "");
    }

    #[test]
    fn structured_content_that_says_more_than_the_texts_is_read_after_them() {
        let more = r#"{"content":[{"type":"text","text":"see data"}],"structuredContent":{"rows":[1,2,3,4,5]}}"#;
        assert_eq!(words(more), "see data\n{\"rows\":[1,2,3,4,5]}");
        let same =
            r#"{"content":[{"type":"text","text":"{\"rows\":[1,2,3]}"}],"structuredContent":{"rows": [1, 2, 3]}}"#;
        assert_eq!(words(same), r#"{"rows":[1,2,3]}"#, "and once, where the texts say it");
    }
}
