//! Weighs what agents read, in tokens of their models, and cuts results to a size.
//!
//! Two questions, kept apart: what of an MCP message a host shows to its model (`shapes`, decision 0014), and how many
//! tokens of a family that is (`families`, `bpe`, `estimate`, `media`). On them stand `cut`, `trim` and `words`. Implements
//! [`domain::ports::Scale`]; nothing here stores, waits, logs or talks to anybody. Messages come from servers nobody
//! vouches for: what cannot be read is weighed as the text that it is. Next: `weigher.rs`.

mod bpe;
mod classes;
mod cut;
mod estimate;
mod factors;
mod families;
mod json;
mod media;
mod memo;
mod picture;
mod shapes;
mod tally;
mod trim;
mod weigher;
mod words;

pub use classes::{CLASSES, Features, features};
pub use weigher::Weigher;
