//! Words that no code, or no shipped code, may hold (style 18, 20, 21, 48, 57).
//!
//! Clippy bans most of them too, but an `#[expect]` can silence clippy and nothing silences this list.

use super::finding::Finding;
use super::shipped::Shipped;
use super::source::Source;

/// The one place that spawns.
const SUPERVISOR: &str = "src-tauri/crates/engine/src/runtime/supervisor.rs";

const EVERYWHERE: [(&str, &str); 6] = [
    ("todo!(", "finish it, or leave it out and say so in the issue"),
    ("unimplemented!(", "finish it, or leave it out and say so in the issue"),
    ("dbg!(", "remove it, or log with tracing"),
    ("#[ignore", "make the test fast and sure, or remove it (style 48)"),
    ("#[should_panic", "return an error and assert it (style 48)"),
    ("#[allow(", "use `#[expect(lint, reason = \"…\")]` (style 57)"),
];

const SHIPPED: [(&str, &str); 7] = [
    (".unwrap()", "handle the absent case (style 18)"),
    (".expect(", "handle the absent case (style 18)"),
    ("panic!(", "return an error (style 18)"),
    ("unreachable!(", "make the state impossible in the types, or log and give a safe answer (style 18)"),
    ("unbounded_channel", "use a bounded channel with a named capacity (style 21)"),
    ("mpsc::unbounded", "use a bounded channel with a named capacity (style 21)"),
    ("sync::broadcast", "facts are read from the change log; a `watch` may say \"look again\" (style 21)"),
];

const ONLY_SUPERVISOR: [(&str, &str); 2] = [
    ("JoinSet::new", "start it through `engine::runtime::supervisor` (style 20)"),
    ("tokio::spawn(", "start it through `engine::runtime::supervisor` (style 20)"),
];

/// Finds them.
pub(crate) fn check(source: &Source, shipped: &Shipped) -> Vec<Finding> {
    let mut found = Vec::new();
    for (word, cure) in EVERYWHERE {
        let places = source.places(word).filter(|place| begins_a_word(place.before, word));
        found.extend(places.map(|place| finding(source, place.line, word, cure)));
    }
    if !shipped.has(&source.path) {
        return found;
    }
    let mut words = SHIPPED.to_vec();
    if source.path != SUPERVISOR {
        words.extend(ONLY_SUPERVISOR);
    }
    for (word, cure) in words {
        let places = source.shipped_places(word).filter(|place| begins_a_word(place.before, word));
        found.extend(places.map(|place| finding(source, place.line, word, cure)));
    }
    found
}

fn finding(source: &Source, line: usize, word: &str, cure: &'static str) -> Finding {
    Finding::new(&source.path, line, format!("holds `{word}`"), cure)
}

/// Whether the word is not the end of a longer one (`my_todo!(`).
fn begins_a_word(before: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    !word.starts_with(part) || !before.ends_with(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str, text: &str) -> Vec<String> {
        check(&Source::read(path, text), &Shipped::default()).into_iter().map(|found| found.rule).collect()
    }

    #[test]
    fn every_listed_word_is_found_in_shipped_code() {
        for (word, _) in EVERYWHERE.into_iter().chain(SHIPPED).chain(ONLY_SUPERVISOR) {
            let text = format!("let x = a {word} b;");
            assert_eq!(words("src-tauri/crates/mcp/src/a.rs", &text).len(), 1, "{word}");
        }
    }

    #[test]
    fn tests_may_panic_but_not_be_skipped() {
        let text = "a.unwrap(); panic!(); tokio::spawn(f);";
        assert!(words("tests/it/main.rs", text).is_empty(), "tests may panic");
        assert_eq!(words("tests/it/main.rs", "#[ignore]\nfn a() {}").len(), 1, "a skipped test is a lie");
    }

    #[test]
    fn words_about_code_and_longer_words_are_fine() {
        let text = "// .unwrap()\nlet a = \"todo!()\"; my_todo!(); a.unwrap_or(1); a.expect_err(1);";
        assert!(words("src-tauri/crates/mcp/src/a.rs", text).is_empty(), "none of these is the word");
        assert!(words(SUPERVISOR, "tokio::spawn(f)").is_empty(), "the supervisor spawns");
    }
}
