//! Which counter belongs to which family.
//!
//! OpenAI's families are counted with their own vocabularies, Unknown as the heaviest of all. The factors of the others
//! are in `factors.rs`; what a picture costs is `media.rs`.

use domain::tokens::Family;

use crate::bpe::Vocabulary;
use crate::estimate::Factors;
use crate::factors::{CLAUDE3, CLAUDE47, GEMINI, LLAMA};

/// How a family's text is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counter {
    /// With its own vocabulary.
    Exact(Vocabulary),
    /// From the pieces of o200k, by factors.
    About(&'static Factors),
    /// As the heaviest of all families.
    Most,
}

/// The counter of a family.
pub(crate) const fn counter(family: Family) -> Counter {
    match family {
        Family::O200k => Counter::Exact(Vocabulary::O200k),
        Family::Cl100k => Counter::Exact(Vocabulary::Cl100k),
        Family::Claude3 => Counter::About(&CLAUDE3),
        Family::Claude47 => Counter::About(&CLAUDE47),
        Family::Gemini => Counter::About(&GEMINI),
        Family::Llama => Counter::About(&LLAMA),
        Family::Unknown => Counter::Most,
    }
}

/// The measured error of a family's counts of text, in percent of the true count.
pub(crate) const fn error_percent(family: Family) -> u8 {
    match counter(family) {
        Counter::Exact(_) | Counter::Most => 0,
        Counter::About(factors) => factors.error_percent,
    }
}
