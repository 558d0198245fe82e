//! The names that an agent was offered on earlier pages of a server's list, so that a later page repeats none.
//!
//! Model providers refuse a request in which two tools have one name. Known by the cursor that leads to the next page;
//! bounded, so of a list that was begun long ago only the page itself is compared.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use domain::ids::{AgentId, ServerId};
use parking_lot::Mutex;

/// Lists that are read in pages at once, whose names are remembered. Judgement: agents read a list in one go.
const LISTS_KEPT: usize = 16;
/// Names remembered of one list. As the engine's own list of tools.
const NAMES_MAX: usize = 10_000;

/// Where a list goes on, and for whom.
type PageKey = (ServerId, AgentId, String);

#[derive(Default)]
pub(crate) struct OfferedPages(Mutex<VecDeque<(PageKey, Arc<HashSet<u64>>)>>);

/// The names of a list so far.
#[derive(Default)]
pub(crate) struct NamesSoFar {
    earlier: Arc<HashSet<u64>>,
    on_page: HashSet<u64>,
}

impl NamesSoFar {
    /// Notes a name. Returns whether it is new in this list.
    pub(crate) fn add(&mut self, name: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let name = hasher.finish();
        !self.earlier.contains(&name) && self.on_page.insert(name)
    }
}

impl OfferedPages {
    /// What was offered before the page with this cursor; nothing on the first.
    pub(crate) fn before(&self, server: ServerId, agent: AgentId, cursor: Option<&str>) -> NamesSoFar {
        let kept = self.0.lock();
        let is_it = |(of, who, at): &PageKey| *of == server && *who == agent && Some(at.as_str()) == cursor;
        let earlier = kept.iter().rfind(|(key, _)| is_it(key)).map(|(_, names)| Arc::clone(names));
        NamesSoFar { earlier: earlier.unwrap_or_default(), on_page: HashSet::new() }
    }

    /// The list goes on at this cursor, behind these names.
    pub(crate) fn goes_on(&self, server: ServerId, agent: AgentId, next: &str, names: NamesSoFar) {
        let NamesSoFar { earlier, on_page } = names;
        let all: HashSet<u64> = earlier.iter().copied().chain(on_page).take(NAMES_MAX).collect();
        let key = (server, agent, next.to_owned());
        let mut kept = self.0.lock();
        kept.retain(|(known, _)| *known != key);
        if kept.len() >= LISTS_KEPT {
            kept.pop_front();
        }
        kept.push_back((key, Arc::new(all)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_new_once_in_a_list_and_again_in_the_next_reading() {
        let (pages, server, agent) = (OfferedPages::default(), ServerId::from_random(1), AgentId::from_random(1));
        for _ in 0..2 {
            let mut first = pages.before(server, agent, None);
            assert_eq!(["a", "b", "a"].map(|name| first.add(name)), [true, true, false]);
            pages.goes_on(server, agent, "2", first);
        }
        let mut second = pages.before(server, agent, Some("2"));
        assert_eq!(["b", "c"].map(|name| second.add(name)), [false, true]);
        let mut of_another = pages.before(server, AgentId::from_random(2), Some("2"));
        assert!(of_another.add("b"), "another agent has its own list");
    }

    #[test]
    fn lists_that_nobody_reads_on_are_forgotten() {
        let (pages, server, agent) = (OfferedPages::default(), ServerId::from_random(1), AgentId::from_random(1));
        for list in 0..LISTS_KEPT + 5 {
            let mut names = pages.before(server, agent, None);
            assert!((0..NAMES_MAX + 5).all(|name| names.add(&name.to_string())), "each is another");
            pages.goes_on(server, agent, &list.to_string(), names);
        }
        let kept = pages.0.lock();
        assert_eq!(kept.len(), LISTS_KEPT);
        assert!(kept.iter().all(|(_, names)| names.len() == NAMES_MAX), "and each is bounded");
    }
}
