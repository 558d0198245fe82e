//! Lists of tools as an agent has read them so far: all pages together, servers' tools and ours apart.
//!
//! A list that is paged is gathered by agent and session until its last page; each page is told with those before it,
//! because a client may stop at any of them. Bounded in lists and bytes. Entries are as they went out.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use domain::payload::Payload;
use engine::Passed;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::super::guest::Guest;

/// Lists that are being read page by page. Judgement: agents begin to work at different moments; what is more is told
/// page by page.
const OPEN: usize = 256;

type Key = (AgentId, Option<ServerId>, Option<Arc<str>>);

/// Lists that are read page by page, so far.
#[derive(Default)]
pub(crate) struct Shelves(Mutex<HashMap<Key, String>>);

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

impl Shelves {
    /// A page goes out. At most so many bytes of pages are gathered.
    pub(in super::super) fn page(&self, guest: &Guest, page: &Page<'_>, most: usize) -> Passed {
        let own: Vec<&str> = page.own.iter().map(|tool| tool.get()).collect();
        let own = tools(&own.join(","));
        let entries = page.list.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default();
        let entries = entries.trim();
        if page.is_first && page.is_last {
            return Passed::Tools { list: tools(entries), own };
        }
        let key = (guest.agent, guest.server, guest.session_name());
        let mut open = self.0.lock();
        let before = open.remove(&key).filter(|_| !page.is_first);
        let mut gathered = before.unwrap_or_default();
        if gathered.len().saturating_add(entries.len()) <= most && !entries.is_empty() {
            if !gathered.is_empty() {
                gathered.push(',');
            }
            gathered.push_str(entries);
        }
        let list = tools(&gathered);
        if !page.is_last && open.len() < OPEN {
            open.insert(key, gathered);
        }
        Passed::Tools { list, own }
    }
}

fn tools(entries: &str) -> Payload {
    Payload::new(format!("{{\"tools\":[{entries}]}}"))
}
