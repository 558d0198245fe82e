//! Counts what agents read, in tokens of their models, and cuts results to a size.
//!
//! Two questions, kept apart: what of an MCP message a host shows to its model (`shown_parts`, decision 0014), and how
//! many tokens of a family that is (`families`, `bpe`, `estimate`, `media`). `cut`, `trim` and `words` build on them.
//! Implements [`domain::ports::TokenCounter`]; nothing here stores, waits, logs or connects. Messages come from
//! untrusted servers: what cannot be read is counted as text. Next: `family_counter.rs`.

mod bpe;
mod cut;
mod estimate;
mod factors;
mod families;
mod family_counter;
mod json;
mod media;
mod piece_classes;
mod shown_parts;
mod token_sum;
mod trim;
mod words;

pub use family_counter::FamilyCounter;
pub use piece_classes::{CLASSES, Features, features};
