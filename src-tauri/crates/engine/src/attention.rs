//! Notices for people: which tasks need them, told once for each cause.
//!
//! A notice is not a fact: everything it says is in the registry. Start with `notices.rs`.

pub(crate) mod notices;
