//! The tool list behind a door as an agent reads it: page by page, and repeatedly.
//!
//! Each page adds what is new. Only the last page of a list that was seen from its first page removes tools that are
//! not listed any more, so reading a list again costs nothing and empties nothing in between. It knows names and
//! counts, no texts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::budget::window::ToolListScope;
use domain::policy::plain_text;
use domain::tokens::Count;

/// Tools of a door that are known by name; the rest count as one. As many as the engine itself reads.
const TOOLS_MAX: usize = 10_000;

/// Characters of a name that are kept. Source: MCP says up to 128 (2025-11-25, server/tools); twice that, judgement.
const NAME_CHARS: usize = 256;

/// The name of the tools beyond that.
const MORE: &str = "(more tools)";

/// Counts of the tools of a door, by name.
type Tools = BTreeMap<Arc<str>, Count>;

/// A page of the tools behind a door. Most lists have one.
pub(crate) struct ToolPage {
    /// The tools of servers.
    pub(crate) tools: Tools,
    /// Our own tools, which are in the last page.
    pub(crate) own: Count,
    /// The list begins with this page.
    pub(crate) is_first: bool,
    /// The list ends with this page.
    pub(crate) is_last: bool,
}

/// The names so far in lists that are being read. Lost with a restart: such a list removes nothing.
#[derive(Default)]
pub(crate) struct ToolPaging(BTreeMap<ToolListScope, BTreeSet<Arc<str>>>);

/// The tools of a door after a page.
pub(crate) struct ListTurn {
    pub(crate) tools: Tools,
    /// How much of the page is new.
    pub(crate) new: Count,
    /// The list was seen from its first page to its last, which this is.
    pub(crate) is_whole: bool,
}

/// A name as it is kept, stored and shown: a server writes what it likes (rule 86).
fn shown(name: &Arc<str>) -> Arc<str> {
    let plain = plain_text(name, NAME_CHARS);
    if *plain == **name { Arc::clone(name) } else { Arc::from(plain) }
}

impl ToolPaging {
    /// The tools of a door with this page.
    pub(crate) fn turn(&mut self, door: ToolListScope, page: ToolPage, mut shelf: Tools) -> ListTurn {
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
            // Tools with one name are counted together.
            let together = if is_again { stands.unwrap_or_default() + count } else { count };
            shelf.insert(name, together);
        }
        let is_whole = named.is_some() && page.is_last;
        match named {
            Some(named) if page.is_last => shelf.retain(|name, _| named.contains(name)),
            Some(named) => {
                self.0.insert(door, named);
            }
            None => {}
        }
        ListTurn { tools: shelf, new, is_whole }
    }
}

#[cfg(test)]
mod tests {
    use domain::tokens::Exactness;

    use super::*;

    fn page(names: &[&str], is_first: bool, is_last: bool) -> ToolPage {
        let one = Count { tokens: 10, exactness: Exactness::Exact };
        ToolPage {
            tools: names.iter().map(|name| (Arc::from(*name), one)).collect(),
            own: Count::ZERO,
            is_first,
            is_last,
        }
    }

    fn turn(paging: &mut ToolPaging, page: ToolPage, shelf: Tools) -> (Tools, Count) {
        let ListTurn { tools, new, .. } = paging.turn(None, page, shelf);
        (tools, new)
    }

    fn names(shelf: &Tools) -> Vec<&str> {
        shelf.keys().map(|name| &**name).collect()
    }

    #[test]
    fn a_list_in_pages_costs_once_and_loses_what_is_not_listed_any_more_at_its_end() {
        let mut paging = ToolPaging::default();
        let (shelf, new) = turn(&mut paging, page(&["a", "b"], true, false), Tools::new());
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b"], 20), "a client may stop here");
        let (shelf, new) = turn(&mut paging, page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c"], 10));
        let (shelf, new) = turn(&mut paging, page(&["a", "d"], true, false), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c", "d"], 10), "nothing is gone before its end");
        let (shelf, new) = turn(&mut paging, page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "c", "d"], 0), "and nothing known is spent again");
    }

    #[test]
    fn a_list_whose_beginning_nobody_saw_takes_nothing_away() {
        let (shelf, _) = turn(&mut ToolPaging::default(), page(&["a", "b"], true, true), Tools::new());
        let (shelf, new) = turn(&mut ToolPaging::default(), page(&["c"], false, true), shelf);
        assert_eq!((names(&shelf), new.tokens), (vec!["a", "b", "c"], 10));
    }

    #[test]
    fn names_of_tools_are_kept_short_and_none_of_them_costs_nothing() {
        let long = |end: &str| format!("{}{end}", "x".repeat(NAME_CHARS));
        let (one, other) = (long("one"), long("other"));
        let (shelf, new) =
            turn(&mut ToolPaging::default(), page(&[&one, &other, "a\u{1b}b"], true, true), Tools::new());
        assert_eq!(names(&shelf), ["ab", &*long("…")], "without what acts on terminals, and cut");
        assert_eq!(new.tokens, 30, "each of the three is in the window");
        assert_eq!(shelf.values().map(|count| count.tokens).sum::<u64>(), 30, "also of those that look the same");
    }

    #[test]
    fn pages_without_an_end_fill_no_memory_and_still_count() {
        let (mut paging, mut shelf, mut spent) = (ToolPaging::default(), Tools::new(), 0);
        for nth in 0..TOOLS_MAX + 5 {
            let name = nth.to_string();
            let new;
            (shelf, new) = turn(&mut paging, page(&[&name], nth == 0, false), shelf);
            spent += new.tokens;
        }
        assert_eq!(shelf.len(), TOOLS_MAX + 1, "by name up to the most, and the rest as one");
        let stands: u64 = shelf.values().map(|count| count.tokens).sum();
        assert_eq!(stands, spent, "all of it is there");
    }
}
