//! Numbers with a unit live in `domain::policy` (architecture, decision 10).
//!
//! Finds durations made from a literal, and literals that are sizes in kibibytes or mebibytes, in code that ships.
//! A count without a unit, such as the capacity of a channel, is a named constant where it is used (style 21).

use super::finding::Finding;
use super::shipped::Shipped;
use super::source::{Place, Source};

/// The one home of such numbers.
const POLICY: &str = "src-tauri/crates/domain/src/policy";
/// What programs of others were measured to do, each line with its source.
const PROFILES: &str = "src-tauri/crates/domain/src/client/profile.rs";
const CURE: &str = "make it a documented field of `domain::policy::Policy` with its source";

const DURATIONS: [&str; 11] = [
    "from_nanos(",
    "from_micros(",
    "from_millis(",
    "from_secs(",
    "from_secs_f32(",
    "from_secs_f64(",
    "from_mins(",
    "from_hours(",
    "from_days(",
    "from_weeks(",
    "Duration::new(",
];

/// Kibi, mebi and gibi, and the buffer sizes people write without thinking.
const SIZES: &str = "1024 1_024 4096 4_096 8192 8_192 16384 16_384 32768 32_768 65536 65_536 1048576 1_048_576";
const SHIFTS: [&str; 3] = ["<< 10", "<< 20", "<< 30"];

/// Finds them in shipped code.
pub(crate) fn check(source: &Source, shipped: &Shipped) -> Vec<Finding> {
    if source.path.starts_with(POLICY) || source.path == PROFILES || !shipped.has(&source.path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut tell = |place: Place<'_>, what: String| found.push(Finding::new(&source.path, place.line, what, CURE));
    for maker in DURATIONS {
        let places = source.shipped_places(maker).filter(is_tuned);
        places.for_each(|place| tell(place, format!("a duration literal (`{maker}…)`)")));
    }
    for size in SIZES.split_whitespace().chain(SHIFTS) {
        let places = source.shipped_places(size).filter(|place| place.is_whole_word() && !is_count(place));
        places.for_each(|place| tell(place, format!("a size literal (`{size}`)")));
    }
    found
}

/// A literal somebody chose. One second divided by a rate is a change of unit, not a choice.
fn is_tuned(place: &Place<'_>) -> bool {
    let argument = place.after.trim_start();
    argument.starts_with(|c: char| c.is_ascii_digit()) && !argument.starts_with("1) / ")
}

/// A constant that is no limit in bytes. How many wait in a channel, how much is read at a time and how many bytes a
/// KiB has belong to the code that says so.
fn is_count(place: &Place<'_>) -> bool {
    let line = place.before.rsplit('\n').next().unwrap_or_default();
    let Some((name, value)) = line.split_once("const ").and_then(|(_, declared)| declared.split_once(':')) else {
        return false;
    };
    let is_product = value.contains(['*', '<']) || place.after.trim_start().starts_with(['*', '<']);
    let is_limit = ["CAP", "MAX", "LIMIT"].iter().any(|word| name.contains(word));
    !(is_limit && (is_product || name.contains("BYTES")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::read(path, text), &Shipped::default()).iter().map(|found| found.line).collect()
    }

    #[test]
    fn durations_and_sizes_in_shipped_code_are_found() {
        let text = "let a = Duration::from_secs(5);\nlet b = Duration::from_millis(\n    50);\nlet c = 16 * 1_024;\n";
        assert_eq!(lines("src-tauri/crates/mcp/src/a.rs", text), [2, 1, 4], "also over two lines");
        assert_eq!(lines("src-tauri/crates/mcp/src/a.rs", "let d = 4 << 20;"), [1], "a shift is a size too");
    }

    #[test]
    fn computed_values_and_other_numbers_are_fine() {
        let text =
            "let a = Duration::from_millis(policy.wait_ms);\nlet b = 11024 + x1024;\nlet c = \"1024\"; // 1024\n";
        assert!(
            lines("src-tauri/crates/mcp/src/a.rs", text).is_empty(),
            "nothing here is a size or a duration literal"
        );
    }

    #[test]
    fn policy_tests_and_examples_may_have_them() {
        let text = "let a = Duration::from_secs(5);";
        for path in [
            "src-tauri/crates/domain/src/policy.rs",
            "src-tauri/crates/domain/src/client/profile.rs",
            "src-tauri/crates/engine/src/tests.rs",
            "src-tauri/crates/registry/examples/rate.rs",
            "tests/it/main.rs",
        ] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        let inside = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert!(lines("src-tauri/crates/mcp/src/a.rs", &inside).is_empty(), "a test module inside a shipped file");
    }
}
