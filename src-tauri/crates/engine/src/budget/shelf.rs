//! The tools behind a door as they are read: page by page, and over again.
//!
//! Each page adds what is new; only the last page of a list that was seen from its beginning takes away what is not
//! listed any more, so that reading a list again costs nothing and empties nothing meanwhile. It knows names and weights,
//! no texts; the window that holds the shelf is `books.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::policy::plain_text;
use domain::tokens::Count;
use domain::budget::window::ToolListScope;

/// Tools that stand on a shelf by name; what is more stands there as one. As the engine's own reading of tools.
const TOOLS_MAX: usize = 10_000;

/// Characters of a name that are kept. Source: MCP says up to 128 (2025-11-25, server/tools); twice that, judgement.
const NAME_CHARS: usize = 256;

/// The name of what is more.
const MORE: &str = "(more tools)";

/// What stands on a shelf by name.
type Tools = BTreeMap<Arc<str>, Count>;

/// A page of the tools behind a door. Most lists are one.
pub(super) struct Page {
    /// Servers' tools in it.
    pub(super) tools: Tools,
    /// Ours in it: they stand in the last.
    pub(super) own: Count,
    /// The list begins with it.
    pub(super) is_first: bool,
    /// The list ends with it.
    pub(super) is_last: bool,
}

/// The names so far in lists that are being read. Lost with a restart: such a list takes nothing away.
#[derive(Default)]
pub(super) struct Paging(BTreeMap<ToolListScope, BTreeSet<Arc<str>>>);

/// A name as it is kept, stored and shown: a server writes what it likes (rule 86).
fn shown(name: &Arc<str>) -> Arc<str> {
    let plain = plain_text(name, NAME_CHARS);
    if *plain == **name { Arc::clone(name) } else { Arc::from(plain) }
}

impl Paging {
    /// What stands on the shelf of a door with this page, and what of the page is new.
    pub(super) fn turn(&mut self, door: ToolListScope, page: Page, mut shelf: Tools) -> (Tools, Count) {
        let before = self.0.remove(&door);
        let mut named = if page.is_first { Some(BTreeSet::new()) } else { before };
        let mut new = Count::ZERO;
        for (name, count) in page.tools {
            let name = shown(&name);
            let is_more = shelf.len() >= TOOLS_MAX && !shelf.contains_key(&name);
            let name = if is_more { Arc::from(MORE) } else { name };
            let is_again = named.as_mut().is_some_and(|named| !named.insert(Arc::clone(&name)));
            let stands = shelf.get(&name).copied();
            if is_again || stands.map(|stands| stands.tokens) != Some(count.tokens) {
                new = new + count;
            }
            // One name for several: they stand there together.
            let together = if is_again { stands.unwrap_or_default() + count } else { count };
            shelf.insert(name, together);
        }
        match named {
            Some(named) if page.is_last => shelf.retain(|name, _| named.contains(name)),
            Some(named) => {
                self.0.insert(door, named);
            }
            None => {}
        }
        (shelf, new)
    }
}

#[cfg(test)]
mod tests {
    use domain::tokens::Exactness;

    use super::*;

    fn page(names: &[&str], is_first: bool, is_last: bool) -> Page {
        let one = Count { tokens: 10, exactness: Exactness::Exact };
        Page { tools: names.iter().map(|name| (Arc::from(*name), one)).collect(), own: Count::ZERO, is_first, is_last }
    }

    fn names(shelf: &Tools) -> Vec<&str> {
        shelf.keys().map(|name| &**name).collect()
    }

    #[test]
    fn a_list_in_pages_costs_once_and_loses_what_is_not_listed_any_more_at_its_end() {
        let mut paging = Paging::default();
        let (shelf, new) = paging.turn(None, page(&["a", "b"], true, false), Tools::new());
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b"], 20), "a client may stop here");
        let (shelf, new) = paging.turn(None, page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c"], 10));
        let (shelf, new) = paging.turn(None, page(&["a", "d"], true, false), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c", "d"], 10), "nothing is gone before its end");
        let (shelf, new) = paging.turn(None, page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "c", "d"], 0), "and nothing known is spent again");
    }

    #[test]
    fn a_list_whose_beginning_nobody_saw_takes_nothing_away() {
        let (shelf, _) = Paging::default().turn(None, page(&["a", "b"], true, true), Tools::new());
        let (shelf, new) = Paging::default().turn(None, page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c"], 10));
    }

    #[test]
    fn names_of_tools_are_kept_short_and_none_of_them_costs_nothing() {
        let long = |end: &str| format!("{}{end}", "x".repeat(NAME_CHARS));
        let (one, other) = (long("one"), long("other"));
        let (shelf, new) = Paging::default().turn(None, page(&[&one, &other, "a\u{1b}b"], true, true), Tools::new());
        assert_eq!(names(&shelf), ["ab", &*long("…")], "without what acts on terminals, and cut");
        assert_eq!(new.tokens, 30, "each of the three is in the window");
        assert_eq!(shelf.values().map(|count| count.tokens).sum::<u64>(), 30, "also of those that look the same");
    }

    #[test]
    fn pages_without_an_end_fill_no_memory_and_still_count() {
        let (mut paging, mut shelf, mut spent) = (Paging::default(), Tools::new(), 0);
        for turn in 0..TOOLS_MAX + 5 {
            let name = turn.to_string();
            let new;
            (shelf, new) = paging.turn(None, page(&[&name], turn == 0, false), shelf);
            spent += new.tokens;
        }
        assert_eq!(shelf.len(), TOOLS_MAX + 1, "by name up to the most, and the rest as one");
        let stands: u64 = shelf.values().map(|count| count.tokens).sum();
        assert_eq!(stands, spent, "all of it is there");
    }
}
