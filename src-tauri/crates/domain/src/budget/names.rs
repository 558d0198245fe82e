//! Models by maker and full name, for people: `Anthropic Claude Opus 4.7` for `claude-opus-4-7`.
//!
//! Made from the name in the maker's interface, by how each maker writes its names. What is not known stays as it is.

/// How a maker's models are written.
struct Maker {
    /// What their names begin with.
    begins: &'static str,
    maker: &'static str,
    /// The family's name in place of the first word, as people read it.
    family: &'static str,
    /// What stands between the family and the version: `GPT-5`, `Claude 4`.
    joins: &'static str,
    /// Words behind the version in capitals: `Pro`, or as they are: `mini`.
    in_capitals: bool,
}

const MAKERS: &[Maker] = &[
    Maker { begins: "claude-", maker: "Anthropic", family: "Claude", joins: " ", in_capitals: true },
    Maker { begins: "gpt-oss", maker: "OpenAI", family: "gpt-oss", joins: "-", in_capitals: false },
    Maker { begins: "gpt-", maker: "OpenAI", family: "GPT", joins: "-", in_capitals: false },
    Maker { begins: "gemini-", maker: "Google", family: "Gemini", joins: " ", in_capitals: true },
    Maker { begins: "llama-", maker: "Meta", family: "Llama", joins: " ", in_capitals: true },
    Maker { begins: "o1", maker: "OpenAI", family: "o1", joins: "-", in_capitals: false },
    Maker { begins: "o3", maker: "OpenAI", family: "o3", joins: "-", in_capitals: false },
    Maker { begins: "o4", maker: "OpenAI", family: "o4", joins: "-", in_capitals: false },
];

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit())
}

/// `opus` as `Opus`, `70b` as `70B`.
fn in_capitals(word: &str) -> String {
    match word.strip_suffix('b') {
        Some(size) if is_number(size) => format!("{size}B"),
        Some(_) | None => {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// The version's date and what stands before it, in words.
fn undated<'a>(words: &'a [&'a str]) -> (&'a [&'a str], Option<String>) {
    match words {
        [rest @ .., date] if date.len() == 8 && is_number(date) => {
            let (year, day) = date.split_at(4);
            let (month, day) = day.split_at(2);
            (rest, Some(format!("{year}-{month}-{day}")))
        }
        [rest @ .., year, month, day]
            if year.len() == 4
                && [month, day].iter().all(|part| part.len() == 2)
                && [year, month, day].into_iter().all(|part| is_number(part)) =>
        {
            (rest, Some(format!("{year}-{month}-{day}")))
        }
        all => (all, None),
    }
}

/// A model by maker and full name.
#[must_use]
pub fn full_name(model: &str) -> String {
    let name = model.to_ascii_lowercase();
    let found = MAKERS.iter().find_map(|maker| Some((maker, name.strip_prefix(maker.begins)?)));
    let Some((maker, rest)) = found else { return model.to_owned() };
    let words: Vec<&str> = rest.split('-').filter(|word| !word.is_empty()).collect();
    let (words, date) = undated(&words);
    let mut full = format!("{} {}", maker.maker, maker.family);
    let mut joins = maker.joins;
    let mut is_after_number = false;
    for word in words {
        // A version in two parts, as in `4-7`, is one number; a build such as `0613` is not part of it.
        if is_after_number && is_number(word) && word.len() < 3 {
            full.push('.');
        } else {
            full.push_str(joins);
        }
        is_after_number = is_number(word);
        joins = if maker.in_capitals || word.starts_with(|letter: char| letter.is_ascii_digit()) { " " } else { "-" };
        if maker.in_capitals { full.push_str(&in_capitals(word)) } else { full.push_str(word) }
    }
    match date {
        Some(date) => format!("{full} ({date})"),
        None => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::models::MODELS;

    #[test]
    fn a_model_is_named_by_its_maker_and_in_full() {
        for (model, full) in [
            ("claude-opus-4-7", "Anthropic Claude Opus 4.7"),
            ("claude-sonnet-4-5-20250929", "Anthropic Claude Sonnet 4.5 (2025-09-29)"),
            ("claude-3-5-haiku", "Anthropic Claude 3.5 Haiku"),
            ("gpt-5", "OpenAI GPT-5"),
            ("gpt-5.4-mini-2026-03-17", "OpenAI GPT-5.4 mini (2026-03-17)"),
            ("gpt-4o", "OpenAI GPT-4o"),
            ("gpt-4-0613", "OpenAI GPT-4 0613"),
            ("gpt-oss-120b", "OpenAI gpt-oss-120b"),
            ("o3", "OpenAI o3"),
            ("o4-mini", "OpenAI o4-mini"),
            ("gemini-2.5-pro", "Google Gemini 2.5 Pro"),
            ("llama-3.1-70b", "Meta Llama 3.1 70B"),
            ("mistral-large", "mistral-large"),
        ] {
            assert_eq!(full_name(model), full);
        }
    }

    #[test]
    fn every_model_of_the_table_has_a_maker() {
        for model in MODELS {
            assert!(full_name(model.name).contains(' '), "`{}` has no maker", model.name);
        }
    }
}
