//! A configuration file as text: read into plain values, whatever its format.
//!
//! Values are for reading and comparing only; they are never written back. A key that stands twice in one object is
//! refused, because programs disagree on which one counts.

mod json;
mod toml;
mod yaml;

use serde_json::Value;

/// JSON where nothing else is allowed.
pub(super) const STRICT_JSON: jsonc_parser::ParseOptions = json::STRICT;

/// JSON as it stands in the settings of editors.
pub(super) const JSON_WITH_COMMENTS: jsonc_parser::ParseOptions = json::WITH_COMMENTS;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Strict: a comment makes the program lose the whole file.
    Json,
    /// With comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

/// A text with its values, so that each text is parsed once.
///
/// No `Debug`: it may hold secrets.
#[derive(Clone)]
pub(super) struct ParsedText {
    pub(super) text: String,
    pub(super) values: Value,
}

impl ParsedText {
    /// # Errors
    /// As [`parse`].
    pub(super) fn of(format: Format, text: String) -> Result<Self, String> {
        let values = parse(format, &text)?;
        Ok(Self { text, values })
    }
}

/// The values of a text.
///
/// # Errors
/// Why it cannot be used, as a sentence without a full stop; it never quotes the text.
pub(super) fn parse(format: Format, text: &str) -> Result<Value, String> {
    #[cfg(test)]
    PARSED.set(PARSED.get().saturating_add(1));
    let plain = without_mark(text);
    if plain.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match format {
        Format::Json => json::parse(plain, json::STRICT),
        Format::Jsonc => json::parse(plain, json::WITH_COMMENTS),
        Format::Toml => toml::parse(plain),
        Format::Yaml => yaml::parse(plain),
    }
}

/// The text without the byte-order mark that it may begin with.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What is said of a key that stands twice.
fn duplicate(key: &str) -> String {
    let shown: String = key.chars().filter(|letter| !letter.is_control()).take(80).collect();
    format!("the key `{shown}` stands twice in one object, and programs disagree on which one counts")
}

#[cfg(test)]
thread_local! {
    /// How many texts this thread parsed.
    pub(super) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
