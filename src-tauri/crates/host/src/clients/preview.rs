//! The lines of a file that change, as people are shown them: without values that may be secrets.
//!
//! Hidden are the values of environments and headers, and in arguments and addresses those whose name speaks of a secret,
//! such as what follows `--api-key`. They are collected from the whole file, because a line may hold more than one entry.

use std::collections::BTreeSet;

use api::calls::clients::files::ChangedLines;
use domain::task::input_request::looks_secret;
use serde_json::Value;

use super::document::ParsedText;
use super::{bridge_members, edit};

/// What stands for a value that is not shown.
const HIDDEN: &str = "(hidden)";
/// A shorter value stands in too many other places to be hidden there, and is too short for a secret.
const SHORTEST_HIDDEN: usize = 4;
/// Members whose texts are hidden, in all shapes of entries.
const HIDING: [&str; 5] = ["env", "environment", "envs", "headers", "http_headers"];
/// A longer line is not shown: the file is not meant for reading.
const LINE_CHARS: usize = 400;
/// A longer line is not even looked at: it is a whole file without line ends, and would be searched for each hidden value.
const LINE_BYTES: usize = 100_000;

/// The lines in which two texts of a file differ.
pub(super) fn lines(old: &ParsedText, new: &ParsedText) -> Vec<ChangedLines> {
    let mut hidden = BTreeSet::new();
    for parsed in [old, new] {
        collect(&parsed.values, &mut hidden);
    }
    edit::changed_lines(&old.text, &new.text).into_iter().map(|lines| shown(lines, &hidden)).collect()
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => secret_of_query(text, found),
        Value::Array(items) => {
            secrets_of_arguments(items, found);
            items.iter().for_each(|item| collect(item, found));
        }
        Value::Object(pairs) => {
            for (name, value) in pairs {
                if HIDING.contains(&name.as_str()) {
                    collect_all(value, found);
                } else {
                    collect(value, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every text of an environment or of headers, but for the variable that Taskwarden writes itself.
fn collect_all(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => hide(text, found),
        Value::Array(items) => items.iter().for_each(|item| collect_all(item, found)),
        Value::Object(pairs) => {
            let others = pairs.iter().filter(|(name, _)| name.as_str() != bridge_members::HOME_VARIABLE);
            others.for_each(|(_, value)| collect_all(value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What follows an option that names a secret: `--api-key VALUE` and `--api-key=VALUE`.
fn secrets_of_arguments(items: &[Value], found: &mut BTreeSet<String>) {
    let mut is_next = false;
    for text in items.iter().map(|item| item.as_str().unwrap_or_default()) {
        if is_next {
            hide(text, found);
        }
        is_next = false;
        match text.split_once('=') {
            Some((name, value)) if looks_secret(name) && !name.contains("://") => hide(value, found),
            None if text.starts_with('-') => is_next = looks_secret(text),
            Some(_) | None => {}
        }
    }
}

/// The values of an address whose names speak of a secret: `https://host/mcp?apiKey=VALUE`.
fn secret_of_query(text: &str, found: &mut BTreeSet<String>) {
    let Some((_, query)) = text.split_once('?').filter(|(address, _)| address.contains("://")) else { return };
    let query = query.split('#').next().unwrap_or_default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        if looks_secret(name) {
            hide(value, found);
        }
    }
}

fn hide(text: &str, found: &mut BTreeSet<String>) {
    if text.chars().count() >= SHORTEST_HIDDEN {
        found.insert(text.to_owned());
        // As it stands in JSON, without its quotes.
        let escaped = Value::from(text).to_string();
        found.insert(escaped.trim_matches('"').to_owned());
    }
}

fn shown(lines: ChangedLines, hidden: &BTreeSet<String>) -> ChangedLines {
    // The longest first: a value may be a part of another.
    let mut values: Vec<&String> = hidden.iter().collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let show = |line: String| {
        if line.len() > LINE_BYTES {
            return format!("(a line of {} characters)", line.chars().count());
        }
        let plain = values.iter().fold(line, |line, value| line.replace(value.as_str(), HIDDEN));
        match plain.chars().count() {
            long if long > LINE_CHARS => format!("(a line of {long} characters)"),
            _ => plain,
        }
    };
    let all = |lines: Vec<String>| lines.into_iter().map(show).collect();
    ChangedLines { line: lines.line, removed: all(lines.removed), added: all(lines.added) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown_of(entry: &Value) -> String {
        let parsed = |entry: &Value| {
            let values = json!({"mcpServers": {"a": entry}});
            ParsedText { text: serde_json::to_string_pretty(&values).expect("JSON"), values }
        };
        let lines = lines(&parsed(entry), &parsed(&json!({})));
        lines.into_iter().flat_map(|lines| lines.removed).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn values_that_may_be_secrets_are_hidden_wherever_an_entry_has_them() {
        let entry = json!({
            "env": {"PLAIN": "canary-1", "TASKWARDEN_HOME": "/srv/data"},
            "headers": {"Authorization": "Bearer canary-2"},
            "args": ["-y", "server", "--api-key", "canary-3", "--token=canary-4", "SECRET=canary-5", "--verbose"],
            "url": "https://host/mcp?apiKey=canary-6&mode=fast#part",
        });
        let shown = shown_of(&entry);
        assert!(!shown.contains("canary"), "{shown}");
        for kept in ["/srv/data", "--verbose", "server", "mode=fast", "--api-key", "PLAIN"] {
            assert!(shown.contains(kept), "`{kept}`: {shown}");
        }
    }

    #[test]
    fn an_option_without_a_value_hides_nothing_else() {
        let shown = shown_of(&json!({"args": ["--token"], "command": "/usr/bin/server"}));
        assert!(shown.contains("/usr/bin/server") && !shown.contains(HIDDEN), "{shown}");
    }
}
