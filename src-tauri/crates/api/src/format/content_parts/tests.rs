//! What a person sees of results as servers really send them.

use domain::policy::{ApiPolicy, Policy};
use serde_json::json;

use super::*;

fn kinds(parts: &[ContentPart]) -> Vec<&str> {
    parts.iter().map(|part| part.shown.kind.as_str()).collect()
}

#[test]
fn every_kind_of_content_is_shown_as_what_it_is() {
    let result = json!({
        "content": [
            {"type": "text", "text": "Indexed 3 files."},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b.txt", "name": "b", "title": "B", "description": "the other"},
            {"type": "hologram", "beam": 1},
            {"type": "text"},
        ],
        "structuredContent": {"files": 3},
        "isError": false,
        "extra": [1],
    });
    let parts = of_result(&result.to_string(), &Policy::default());
    let expected = ["text", "image", "audio", "resource", "resourceLink", "unknown", "unknown", "structured", "json"];
    assert_eq!(kinds(&parts), expected);
    assert!(parts.iter().zip(0..).all(|(part, n)| part.shown.n == n), "numbered in order");
    assert_eq!((parts[1].shown.preview.as_str(), parts[1].shown.bytes), ("aGk=", 2), "a picture comes whole");
    assert_eq!(parts[3].shown.preview, "inside");
    assert_eq!(parts[3].shown.uri.as_deref(), Some("file:///a.txt"));
    assert_eq!(parts[4].shown.title.as_deref(), Some("B"));
    assert!(parts[5].shown.preview.contains("\"beam\": 1"), "what is not known is shown as it is");
    assert_eq!(parts[8].shown.name.as_deref(), Some("extra"), "nothing is left out");
}

#[test]
fn a_result_that_is_no_tool_result_is_shown_as_its_json() {
    for odd in ["[1,2]", "\"text\"", "{\"content\":7}", "{}", "null", "not json"] {
        let parts = of_result(odd, &Policy::default());
        assert_eq!(kinds(&parts), ["json"], "{odd}");
    }
}

#[test]
fn large_parts_come_as_their_beginning_and_large_pictures_not_at_all() {
    let policy = Policy {
        asking: ApiPolicy { preview_chars: 4, media_chars_max: 8, parts_max: 2, ..ApiPolicy::default() },
        ..Policy::default()
    };
    let result = json!({"content": [
        {"type": "text", "text": "äöüßx"},
        {"type": "image", "data": "aaaabbbbcccc", "mimeType": "image/png"},
        {"type": "text", "text": "third"},
        {"type": "text", "text": "fourth"},
    ]});
    let parts = of_result(&result.to_string(), &policy);
    assert_eq!(kinds(&parts), ["text", "image", "json"], "the rest is one part");
    assert_eq!((parts[0].shown.preview.as_str(), parts[0].shown.cut), ("äöüß", true), "cut at a character");
    assert_eq!((parts[1].shown.preview.as_str(), parts[1].shown.cut), ("", true));
    assert!(parts[1].text.is_none(), "and not in pieces either");
    assert!(parts[2].text.as_deref().is_some_and(|text| text.contains("third") && text.contains("fourth")));
}
