//! Names of types and functions: each public type once, questions answer with `bool`, parameters have names.

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Names that every crate may use for its own.
const SHARED: [&str; 1] = ["Error"];
const KINDS: [&str; 4] = ["struct ", "enum ", "trait ", "type "];
const QUESTIONS: [&str; 3] = ["is_", "has_", "may_"];
const UNIQUE: &str = "give each a name that says which one it is";
const VERB: &str = "a function that does something starts with a verb; a question returns `bool`";
const NAMED: &str = "take two parameters, or a struct with named fields";

/// Checks all files that ship, together.
pub(crate) fn check(sources: &[&Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut types: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for source in sources {
        for kind in KINDS {
            for place in source.shipped_places(kind) {
                let line = place.before.rsplit('\n').next().unwrap_or_default().trim();
                let name = word(place.after);
                // A macro makes a name of its own (`$name`).
                if !name.is_empty() && (line == "pub" || (line.starts_with("pub(") && line.ends_with(')'))) {
                    types.entry(name).or_default().push((&source.path, place.line));
                }
            }
        }
        for place in source.shipped_places("fn ").filter(|place| !place.before.ends_with(char::is_alphanumeric)) {
            found.extend(check_function(&source.path, place.line, place.after));
        }
    }
    for (name, places) in types {
        if places.len() > 1 && !SHARED.contains(&name) {
            let rule = format!("the type name `{name}` is used {} times", places.len());
            found.extend(places.iter().map(|(path, line)| Finding::new(path, *line, rule.clone(), UNIQUE)));
        }
    }
    found
}

fn check_function(path: &str, line: usize, after: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let name = word(after);
    let signature = after.split(['{', ';']).next().unwrap_or(after);
    let returned = signature.rsplit_once(')').map_or("", |(_, rest)| rest);
    if QUESTIONS.iter().any(|prefix| name.starts_with(prefix)) && !signature_returns_bool(signature, returned) {
        found.push(Finding::new(path, line, format!("`{name}` reads as a question and does not answer it"), VERB));
    }
    if has_tuple_parameter(signature) {
        found.push(Finding::new(path, line, format!("`{name}` takes a tuple apart in its parameters"), NAMED));
    }
    found
}

/// `bool`, or a result or option of it.
fn signature_returns_bool(signature: &str, returned: &str) -> bool {
    let answer = signature.rsplit_once("->").map_or(returned, |(_, answer)| answer);
    answer.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "bool")
}

/// `(a, b): (A, B)` among the parameters; `Query(a): Query<A>` has a name.
fn has_tuple_parameter(signature: &str) -> bool {
    let mut open = Vec::new();
    let mut last = ' ';
    for (at, c) in signature.char_indices() {
        match c {
            '(' => open.push(last.is_alphanumeric() || last == '_' || last == '>'),
            ')' => {
                let named = open.pop().unwrap_or(true);
                if !named && !open.is_empty() && signature.get(at + 1..).is_some_and(|rest| rest.starts_with(": ")) {
                    return true;
                }
            }
            _ => {}
        }
        last = c;
    }
    false
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<String> {
        let sources: Vec<Source> = texts.iter().map(|text| Source::read("a.rs", text)).collect();
        check(&sources.iter().collect::<Vec<_>>()).into_iter().map(|found| found.rule).collect()
    }

    #[test]
    fn a_public_type_name_is_used_once() {
        assert_eq!(rules(&["pub struct Line;", "pub(crate) enum Line {}"]).len(), 2, "both places are named");
        assert!(rules(&["pub struct Line;", "struct Line;"]).is_empty(), "a private one is nobody else's");
        assert!(rules(&["pub enum Error {}", "pub struct Error;"]).is_empty(), "every crate has an error");
    }

    #[test]
    fn a_question_answers_with_bool() {
        assert_eq!(rules(&["fn is_over(&mut self) {}"]).len(), 1);
        assert_eq!(rules(&["fn may_start(f: impl Fn() -> u8) -> u8 { 1 }"]).len(), 1);
        assert!(rules(&["fn is_over(&self) -> bool { true }"]).is_empty());
        assert!(rules(&["async fn has_rows(&self) -> Result<bool, E> { x }"]).is_empty());
        assert!(rules(&["fn issue() {}"]).is_empty());
    }

    #[test]
    fn parameters_have_names() {
        assert_eq!(rules(&["fn wait(a: u8, (least, most): (u8, u8)) {}"]).len(), 1);
        assert!(rules(&["fn page(Query(asked): Query<Asked>) {}"]).is_empty());
        assert!(rules(&["fn pair(both: (u8, u8)) -> (u8, u8) { both }"]).is_empty());
    }
}
