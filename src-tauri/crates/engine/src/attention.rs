//! Notices for people: which tasks need them, told once for each cause; and what they decided to answer in advance.
//!
//! A notice is not a fact: everything it says is in the registry. Start with `notices.rs`.

pub(crate) mod notices;
pub(crate) mod standing_answers;
