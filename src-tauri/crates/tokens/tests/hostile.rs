//! Messages that are made to be expensive, or to break their reader.
//!
//! Time is asked as a ratio to harmless text in the same run, with much room: what must not happen is time that grows
//! with the square of the length. What is counted is in `calibration.rs`.

use std::time::{Duration, Instant};

use domain::ports::{MessagePart, TokenCounter};
use domain::tokens::Family;
use tokens::FamilyCounter;

/// How much slower than harmless text a hostile one of the same size may be. Squared time would be thousands.
const SLOWER_AT_MOST: u32 = 400;
const LONG: usize = 400_000;

fn loads(text: &str) -> [MessagePart<'_>; 7] {
    [
        MessagePart::Call(text),
        MessagePart::Result(text),
        MessagePart::Error(text),
        MessagePart::Task(text),
        MessagePart::Prompt(text),
        MessagePart::Resource(text),
        MessagePart::Text(text),
    ]
}

/// What the processor spent on this thread: what else the machine does is nobody's fault. Wall time where it is not
/// told.
fn spent(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|line| line.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

fn took(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    let before = spent(began);
    work();
    spent(began).saturating_sub(before).max(Duration::from_millis(1))
}

#[test]
fn texts_that_are_one_endless_piece_cost_no_more_than_others_of_their_length() {
    let counter = FamilyCounter::new();
    let harmless = "The quick brown fox jumps over the lazy dog. ".repeat(LONG / 45);
    // The first count reads the tables.
    counter.count_part(Family::Unknown, MessagePart::Text("a"));
    counter.count_part(Family::Cl100k, MessagePart::Text("a"));
    let hostile = [
        "a".repeat(1_000_000),
        " ".repeat(LONG),
        "\n".repeat(LONG),
        " \n".repeat(LONG / 2),
        "=".repeat(LONG),
        "aA".repeat(LONG / 2),
        "中".repeat(LONG / 3),
        "é".repeat(LONG / 2),
        "\u{301}".repeat(LONG / 2),
        "👩‍👩‍👧‍👦".repeat(LONG / 25),
        format!("{}x", " ".repeat(LONG)),
    ];
    for family in [Family::O200k, Family::Cl100k, Family::Unknown] {
        let usual = took(|| _ = counter.count_part(family, MessagePart::Text(&harmless)));
        for text in &hostile {
            let start: String = text.chars().take(3).collect();
            let odd = took(|| _ = counter.count_part(family, MessagePart::Text(text)));
            assert!(odd <= usual * SLOWER_AT_MOST, "`{start}…` in {family:?}: {odd:?} against {usual:?}");
            let cutting = took(|| _ = counter.cut(family, text, 1_000));
            assert!(cutting <= usual * SLOWER_AT_MOST, "cutting `{start}…` in {family:?}: {cutting:?}");
        }
    }
}

#[test]
fn depth_breaks_nothing() {
    let counter = FamilyCounter::new();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    for json in [deep("[", "]"), deep("{\"content\":", "}"), "[".repeat(20_000), "{\"a\":[".repeat(10_000)] {
        let wrapped = [
            json.clone(),
            format!("{{\"content\":{json}}}"),
            format!("{{\"content\":[{{\"type\":\"text\",\"text\":{json}}}]}}"),
            format!("{{\"content\":[],\"structuredContent\":{{\"a\":{json}}}}}"),
        ];
        for text in &wrapped {
            for part in loads(text) {
                assert!(counter.count_part(Family::Claude47, part).count.tokens > 0, "it has tokens");
            }
            counter.tools(Family::O200k, text);
            counter.words(text);
            let trimmed = counter.trim(Family::O200k, text, 100);
            assert!(trimmed.as_str().starts_with("{\"content\":"), "still a result");
        }
    }
}

#[test]
fn what_is_broken_is_weighed_as_the_text_that_it_is() {
    let counter = FamilyCounter::new();
    let odd = [
        "",
        "{",
        "null",
        "\"\\ud800\"",
        r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
        r#"{"content":[{"type":"image","data":"////","mimeType":"image/png"}]}"#,
        r#"{"content":null}"#,
        r#"{"content":[],"content":[{"type":"text","text":"b"}]}"#,
        r#"{"tools":[{"name":1}],"name":"x"}"#,
        "{\"content\":[{\"type\":\"text\",\"text\":\"a\u{0}b\"}]}",
    ];
    for text in odd {
        for family in Family::ALL {
            for part in loads(text) {
                let count = counter.count_part(family, part);
                assert!(count.count.tokens <= 20_000, "`{text}` has {} tokens", count.count.tokens);
            }
            for tokens in [0, 1, 5, u64::MAX] {
                counter.trim(family, text, tokens);
                let cut = counter.cut(family, text, tokens);
                assert!(text.is_char_boundary(cut.bytes), "`{text}` is cut inside a character");
            }
        }
    }
}

#[test]
fn a_cut_fits_is_stable_and_gets_through_any_text() {
    let counter = FamilyCounter::new();
    let texts = [
        include_str!("golden/prose-english.txt").to_owned(),
        include_str!("golden/prose-chinese.txt").to_owned(),
        include_str!("golden/base64.txt").to_owned(),
        include_str!("golden/code-python.txt").to_owned(),
        include_str!("golden/chat-emoji.txt").to_owned(),
        "x".repeat(5_000),
        " \n".repeat(3_000),
    ];
    for family in Family::ALL {
        for text in &texts {
            for size in [1, 7, 100] {
                let mut rest = text.as_str();
                let mut slices = 0;
                while !rest.is_empty() {
                    let cut = counter.cut(family, rest, size);
                    assert!(cut.bytes > 0, "a reader gets on");
                    let (slice, after) = rest.split_at(cut.bytes);
                    assert_eq!(
                        counter.count_part(family, MessagePart::Text(slice)).count,
                        cut.count,
                        "the count is that of the slice"
                    );
                    let one = slice.chars().count() == 1;
                    assert!(one || cut.count.tokens <= size, "{family:?}: {} for {size}", cut.count.tokens);
                    rest = after;
                    slices += 1;
                    if slices == 40 {
                        break;
                    }
                }
            }
            let whole = counter.cut(family, text, u64::MAX);
            assert_eq!(whole.bytes, text.len(), "everything fits into enough");
        }
    }
}

#[test]
fn a_slice_of_a_usual_size_is_filled() {
    let counter = FamilyCounter::new();
    for family in Family::ALL {
        let text = include_str!("golden/prose-english.txt").repeat(20);
        let cut = counter.cut(family, &text, 8_000);
        let stated = u64::from(counter.error_percent(family));
        assert!(cut.count.tokens >= 8_000 * (98 - stated) / 100, "{family:?}: only {}", cut.count.tokens);
    }
    let base64 = include_str!("golden/base64.txt").trim().repeat(20);
    let cut = counter.cut(Family::O200k, &base64, 8_000);
    assert!(cut.count.tokens > 7_900, "a line without words is cut inside: {}", cut.count.tokens);
}

#[test]
fn trimmed_results_are_valid_smaller_and_the_same_each_time() {
    let counter = FamilyCounter::new();
    let prose = include_str!("golden/prose-english.txt");
    let json = include_str!("golden/json-compact.txt").trim();
    let text = |text: &str| serde_json::json!({"type": "text", "text": text});
    let link = serde_json::json!({"type": "resource_link", "uri": "file:///report", "name": "report"});
    let embedded = serde_json::json!({"type": "resource", "resource": {"uri": "file:///a", "text": prose}});
    let structured: serde_json::Value = serde_json::from_str(json).unwrap();
    let results = [
        serde_json::json!({"content": [text(prose)], "isError": true}),
        serde_json::json!({"content": [text("short"), text(prose), text(prose), link.clone()], "_meta": {"a": 1}}),
        serde_json::json!({"content": [embedded]}),
        serde_json::json!({"content": [text(json)], "structuredContent": structured.clone()}),
        serde_json::json!({"content": [], "structuredContent": structured}),
        serde_json::json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, text(prose)]}),
    ];
    for result in results {
        let whole = result.to_string();
        for family in Family::ALL {
            for size in [150, 400, 700] {
                let trimmed = counter.trim(family, &whole, size);
                let count = counter.count_part(family, MessagePart::Result(trimmed.as_str())).count.tokens;
                assert!(
                    count <= size + size / 10,
                    "{family:?}: {count} for {size} of {trimmed}",
                    trimmed = trimmed.as_str()
                );
                let value: serde_json::Value = serde_json::from_str(trimmed.as_str()).unwrap();
                assert!(value["content"].is_array(), "still a result");
                assert_eq!(value.get("isError"), result.get("isError"), "what else it says stays");
                assert_eq!(value.get("structuredContent").is_some(), result.get("structuredContent").is_some());
                assert_eq!(counter.trim(family, &whole, size), trimmed, "the same each time");
            }
            assert_eq!(counter.trim(family, &whole, 100_000).as_str(), whole, "what fits stays as it is");
        }
    }
}

#[test]
fn texts_that_just_fit_together_are_not_trimmed() {
    let counter = FamilyCounter::new();
    let text = |words: usize| serde_json::json!({"type": "text", "text": " word".repeat(words)});
    let whole = serde_json::json!({"content": [text(500), text(480)]}).to_string();
    let count = counter.count_part(Family::O200k, MessagePart::Result(&whole)).count.tokens;
    assert_eq!(counter.trim(Family::O200k, &whole, count).as_str(), whole, "nothing is missing, so nothing is said");
    let trimmed = counter.trim(Family::O200k, &whole, count - 1);
    assert!(trimmed.as_str().contains("trimmed here"), "one less does not fit: {trimmed:?}");
}
