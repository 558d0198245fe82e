//! A page of the list of tools behind a door as it is told to the engine: servers' tools and ours apart.
//!
//! Entries are as they went out. Nothing is gathered here: what pages of a list are together, and what of them is new, is
//! `engine::budget`'s.

use domain::task::payload::Payload;
use engine::Passed;
use serde_json::value::RawValue;

/// A page of a list of tools that goes out.
pub(in super::super) struct Page<'a> {
    /// The list as JSON text, without definitions of ours.
    pub(in super::super) list: &'a str,
    /// Ours, at its end.
    pub(in super::super) own: &'a [Box<RawValue>],
    /// Whether the list begins with it.
    pub(in super::super) is_first: bool,
    /// Whether the list ends with it.
    pub(in super::super) is_last: bool,
}

impl Page<'_> {
    /// The page as it passes.
    pub(in super::super) fn passed(&self) -> Passed {
        // What is no list has no tools.
        let list = if self.list.trim_start().starts_with('[') { self.list } else { "[]" };
        let own: Vec<&str> = self.own.iter().map(|tool| tool.get()).collect();
        let own = format!("[{}]", own.join(","));
        Passed::Tools { list: tools(list), own: tools(&own), is_first: self.is_first, is_last: self.is_last }
    }
}

fn tools(list: &str) -> Payload {
    Payload::new(format!("{{\"tools\":{list}}}"))
}
