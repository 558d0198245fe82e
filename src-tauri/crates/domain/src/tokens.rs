//! Token counts: in which tokenizer family, how exact, and what a task adds to its agent's window.
//!
//! No figure is given alone: a [`Count`] carries its exactness, and whoever shows it names the family. Counting is
//! behind the port [`crate::ports::TokenCounter`]; what fills a window is in `budget/window.rs`.

use std::ops::Add;

/// A family of models that share a tokenizer, as far as it is known offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `OpenAI` since GPT-4o: `o200k_base`.
    O200k,
    /// `OpenAI` before GPT-4o: `cl100k_base`.
    Cl100k,
    /// Claude 3 to 4.6. Estimated: there is no public tokenizer.
    Claude3,
    /// Claude 4.7 and later. Estimated.
    Claude47,
    Gemini,
    /// Llama 3 and 4. Estimated.
    Llama,
    /// Not known: the most cautious of all.
    Unknown,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::O200k, Self::Cl100k, Self::Claude3, Self::Claude47, Self::Gemini, Self::Llama, Self::Unknown];

    /// Its word in JSON, settings and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
            Self::Claude3 => "claude3",
            Self::Claude47 => "claude47",
            Self::Gemini => "gemini",
            Self::Llama => "llama",
            Self::Unknown => "unknown",
        }
    }

    /// Reads [`Family::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.word() == word)
    }

    /// What people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::O200k => "GPT o200k",
            Self::Cl100k => "GPT cl100k",
            Self::Claude3 => "Claude 3 to 4.6",
            Self::Claude47 => "Claude 4.7 and later",
            Self::Gemini => "Gemini",
            Self::Llama => "Llama",
            Self::Unknown => "unknown model",
        }
    }

    /// How exact its counts of text are.
    #[must_use]
    pub const fn exactness(self) -> Exactness {
        match self {
            Self::O200k | Self::Cl100k => Exactness::Exact,
            Self::Claude3 | Self::Claude47 | Self::Gemini | Self::Llama => Exactness::About,
            Self::Unknown => Exactness::AtMost,
        }
    }
}

/// How exact a figure is. The later, the less: a sum is as exact as its least exact part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Exactness {
    /// Counted with the tokenizer itself, or reported by the provider. Shown without a mark.
    #[default]
    Exact,
    /// An estimate with a measured error. Shown as `≈`.
    About,
    /// An upper bound. Shown as `≤`.
    AtMost,
}

impl Exactness {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::About => "about",
            Self::AtMost => "atMost",
        }
    }

    /// Reads [`Exactness::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Exact, Self::About, Self::AtMost].into_iter().find(|exactness| exactness.word() == word)
    }

    /// The mark before the figure, with its space.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::About => "≈ ",
            Self::AtMost => "≤ ",
        }
    }
}

/// So many tokens, so exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub tokens: u64,
    pub exactness: Exactness,
}

impl Count {
    pub const ZERO: Self = Self { tokens: 0, exactness: Exactness::Exact };

    /// It in words for a model: how many, whose, and how exact that is.
    #[must_use]
    pub fn told(self, family: Family) -> String {
        let (tokens, label) = (token_count(self.tokens), family.label());
        match self.exactness {
            Exactness::Exact => format!("{tokens} ({label}, exact)"),
            Exactness::About => format!("about {tokens} ({label}, estimated)"),
            Exactness::AtMost => format!("at most {tokens} ({label}, an upper bound)"),
        }
    }
}

/// An exact number with its noun: `1 token`, `1,204 tokens`.
#[must_use]
pub fn token_count(number: u64) -> String {
    format!("{} {}", grouped(number), token_noun(number))
}

/// `token` or `tokens`, as the number before it asks for.
#[must_use]
pub const fn token_noun(number: u64) -> &'static str {
    if number == 1 { "token" } else { "tokens" }
}

/// What is free of a window, as a part of a sentence: `1 is free`, `2,000 are free`.
#[must_use]
pub fn are_free(tokens: u64) -> String {
    format!("{} {} free", grouped(tokens), if tokens == 1 { "is" } else { "are" })
}

/// A number with its thousands apart.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), exactness: self.exactness.max(other.exactness) }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

/// The two figures of something that came to an agent (decision 0022). They differ where its program shows its model
/// another part than we count, or cuts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intake {
    /// Passed to the program: ours, as exact as the count.
    pub passed: Count,
    /// In the window of the model, by the profile of the program.
    pub window: Count,
}

impl Intake {
    /// Nothing at all.
    pub const ZERO: Self = Self { passed: Count::ZERO, window: Count::ZERO };
}

impl From<Count> for Intake {
    /// All that was passed is in the window.
    fn from(count: Count) -> Self {
        Self { passed: count, window: count }
    }
}

impl Add for Intake {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, window: self.window + other.window }
    }
}

/// What a task costs its agent's window, and keeps out of it. In tokens of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTokens {
    pub family: Family,
    /// The least exact of the figures.
    pub exactness: Exactness,
    /// The name of the tool and the arguments of the call.
    pub arguments: u64,
    /// Its handle, and all polls by its agent: what is in the window instead of the work.
    pub handle: u64,
    /// What was said on the way (status messages, progress, logs) and did not enter the window, each once, however
    /// often it was polled. What its agent can still read with its next poll is not in it.
    pub interim: u64,
    /// Its result, as soon as there is one, whether the agent read it or not.
    pub result: Option<u64>,
    /// What of the result is in the window when it is read whole, by the profile of the program.
    pub in_window: Option<Count>,
    /// What of its result was passed to the program; more than `result` when it was read several times.
    pub delivered: u64,
    /// What of `delivered` is in the window.
    pub delivered_in_window: u64,
    /// Tokens of its result, by our own count, beyond what its maker says in `result`: limits count them, nothing shows
    /// them.
    pub unsaid: u64,
}

impl TaskTokens {
    /// Nothing counted yet.
    #[must_use]
    pub const fn new(family: Family) -> Self {
        Self {
            family,
            exactness: Exactness::Exact,
            arguments: 0,
            handle: 0,
            interim: 0,
            result: None,
            in_window: None,
            delivered: 0,
            delivered_in_window: 0,
            unsaid: 0,
        }
    }

    /// What of the task is not in the window so far: what was said on the way, and what of its result was not read.
    /// That part may still come in ([`Self::coming`]); windows count it as kept out when nobody can or will read it any
    /// more.
    #[must_use]
    pub fn kept_out(&self) -> u64 {
        self.interim.saturating_add(self.coming())
    }

    /// What is about to come in: the part of the result that the agent has not read.
    #[must_use]
    pub fn coming(&self) -> u64 {
        let whole = self.in_window.map_or(0, |count| count.tokens);
        whole.saturating_sub(self.delivered_in_window)
    }
}

/// The family that a client's own name speaks for; `None` when the name says nothing about the model.
///
/// Programs that work with one maker's models by default. Editors and frameworks that work with any are left out. Names
/// as clients send them in `clientInfo`; judgement, because a program can be set to another model.
#[must_use]
pub fn family_of_client(name: &str) -> Option<Family> {
    const KNOWN: [(&str, Family); 7] = [
        ("claude", Family::Claude47),
        ("anthropic", Family::Claude47),
        ("codex", Family::O200k),
        ("openai", Family::O200k),
        ("chatgpt", Family::O200k),
        ("gemini", Family::Gemini),
        ("antigravity", Family::Gemini),
    ];
    let name = name.to_ascii_lowercase();
    KNOWN.into_iter().find(|(part, _)| name.contains(part)).map(|(_, family)| family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_as_exact_as_its_least_exact_part() {
        let of = |tokens, exactness| Count { tokens, exactness };
        let sum: Count = [of(1, Exactness::Exact), of(2, Exactness::AtMost), of(3, Exactness::About)].into_iter().sum();
        assert_eq!(sum, of(6, Exactness::AtMost));
        assert_eq!(of(u64::MAX, Exactness::Exact) + of(1, Exactness::Exact), of(u64::MAX, Exactness::Exact));
    }

    #[test]
    fn digits_stand_in_groups_of_three_from_the_end() {
        for (number, text) in [(0, "0"), (999, "999"), (1_204, "1,204"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_count_in_words_says_whose_tokens_and_how_exact() {
        let told = |family: Family, tokens| Count { tokens, exactness: family.exactness() }.told(family);
        assert_eq!(told(Family::O200k, 61_402), "61,402 tokens (GPT o200k, exact)");
        assert_eq!(told(Family::Claude47, 999), "about 999 tokens (Claude 4.7 and later, estimated)");
        assert_eq!(told(Family::Unknown, 1_000_000), "at most 1,000,000 tokens (unknown model, an upper bound)");
    }

    #[test]
    fn words_are_read_back() {
        assert!(Family::ALL.into_iter().all(|family| Family::from_word(family.word()) == Some(family)));
        assert_eq!(Exactness::from_word("atMost"), Some(Exactness::AtMost));
        assert_eq!(Family::from_word("gpt-9"), None);
    }

    #[test]
    fn a_client_speaks_for_its_makers_family_and_an_editor_for_none() {
        assert_eq!(family_of_client("claude-code"), Some(Family::Claude47));
        assert_eq!(family_of_client("codex-mcp-client"), Some(Family::O200k));
        for any in ["Visual Studio Code", "ollama-mcp-bridge", "llamaindex", "llama.cpp"] {
            assert_eq!(family_of_client(any), None, "`{any}` works with any model");
        }
    }

    #[test]
    fn what_was_not_read_is_kept_out() {
        let in_window = Some(Count { tokens: 1_000, exactness: Exactness::Exact });
        let tokens = TaskTokens { interim: 50, in_window, ..TaskTokens::new(Family::O200k) };
        let tokens = TaskTokens { result: Some(4_000), delivered: 1_200, delivered_in_window: 300, ..tokens };
        assert_eq!((tokens.kept_out(), tokens.coming()), (750, 700), "by what would stand in the window");
        let twice = TaskTokens { delivered_in_window: 2_000, ..tokens };
        assert_eq!((twice.kept_out(), twice.coming()), (50, 0), "reading twice keeps nothing out");
    }
}
