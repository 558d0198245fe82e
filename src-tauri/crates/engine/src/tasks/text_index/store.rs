//! The texts of tasks in memory, newest first, and the search in them.
//!
//! A search passes over all texts; there is no inverted index, because any part of a word is to be found and 64 MiB are
//! searched in some ten milliseconds. Nothing here is written anywhere, and no text is in `Debug`.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::time::Timestamp;

/// Bytes that a task takes beside its text: two entries of the maps. Measured on 100,000 tasks, rounded up.
const ENTRY_BYTES: usize = 160;
/// Searches that are remembered until something changes. Judgement: every window asks for one or two.
const REMEMBERED: usize = 8;

/// Where a task stands: the older, the smaller.
type Place = (Timestamp, HandleId);

/// What is searched of one task, in small letters.
pub(super) struct SearchedText {
    /// What its server says of it now.
    pub(super) message: Box<str>,
    /// Its arguments, its result and its error.
    pub(super) payloads: Box<str>,
    /// Whether its result or error is in it, so that nothing more can come.
    pub(super) is_whole: bool,
}

impl SearchedText {
    fn bytes(&self) -> usize {
        self.message.len() + self.payloads.len() + ENTRY_BYTES
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextMatches {
    /// The newest tasks, at most as many as were asked for.
    pub(super) ids: Arc<[HandleId]>,
}

#[derive(Default)]
pub(super) struct TextStore {
    tasks: BTreeMap<Place, SearchedText>,
    created: HashMap<HandleId, Timestamp>,
    bytes: usize,
    /// Counts up with every change.
    version: u64,
    remembered: Vec<(u64, String, TextMatches)>,
    /// Texts older than the oldest one were dropped for room.
    is_cut: bool,
}

impl TextStore {
    /// Takes a text, in the place of an older one of this task. Returns whether there was room.
    pub(super) fn put(&mut self, id: HandleId, created: Timestamp, text: SearchedText, most: usize) -> bool {
        self.remove(id);
        self.version = self.version.wrapping_add(1);
        self.bytes = self.bytes.saturating_add(text.bytes());
        self.created.insert(id, created);
        self.tasks.insert((created, id), text);
        let mut has_room = true;
        while self.bytes > most {
            let Some(((_, oldest), dropped)) = self.tasks.pop_first() else { break };
            self.created.remove(&oldest);
            self.bytes = self.bytes.saturating_sub(dropped.bytes());
            self.is_cut = true;
            has_room &= oldest != id;
        }
        has_room
    }

    pub(super) fn remove(&mut self, id: HandleId) {
        let Some(created) = self.created.remove(&id) else { return };
        if let Some(text) = self.tasks.remove(&(created, id)) {
            self.bytes = self.bytes.saturating_sub(text.bytes());
            self.version = self.version.wrapping_add(1);
        }
    }

    /// Drops all texts; what is asked afterwards is not answered from memory.
    pub(super) fn clear(&mut self) {
        *self = Self { version: self.version.wrapping_add(1), ..Self::default() };
    }

    pub(super) fn get(&self, id: HandleId) -> Option<&SearchedText> {
        self.tasks.get(&(*self.created.get(&id)?, id))
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// When the oldest task was created that is searched.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.tasks.keys().next().map(|(created, _)| *created)
    }

    /// What the same search found, when nothing changed since.
    pub(super) fn remembered(&self, needle: &str) -> Option<TextMatches> {
        let same = |(version, text, _): &&(u64, String, TextMatches)| *version == self.version && text == needle;
        self.remembered.iter().find(same).map(|(_, _, found)| found.clone())
    }

    pub(super) fn remember(&mut self, version: u64, needle: String, found: TextMatches) {
        self.remembered.retain(|(kept, text, _)| *kept == self.version && *text != needle);
        if version == self.version && self.remembered.len() < REMEMBERED {
            self.remembered.push((version, needle, found));
        }
    }

    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// Searches from a place towards older tasks, until about so many bytes were searched. Returns where to go on.
    pub(super) fn search(
        &self,
        needle: &str,
        before: Option<Place>,
        bytes: usize,
        found: &mut Vec<HandleId>,
        most: usize,
    ) -> Option<Place> {
        let from = before.map_or(Bound::Unbounded, Bound::Excluded);
        let mut searched = 0_usize;
        for (place, text) in self.tasks.range((Bound::Unbounded, from)).rev() {
            if text.message.contains(needle) || text.payloads.contains(needle) {
                found.push(place.1);
                if found.len() >= most {
                    return None;
                }
            }
            searched = searched.saturating_add(text.bytes());
            if searched >= bytes {
                return Some(*place);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &str, payloads: &str) -> SearchedText {
        SearchedText { message: message.into(), payloads: payloads.into(), is_whole: true }
    }

    fn found(store: &TextStore, needle: &str) -> Vec<HandleId> {
        let (mut found, mut place) = (Vec::new(), None);
        loop {
            // In the smallest steps there are.
            place = store.search(needle, place, 1, &mut found, 100);
            if place.is_none() {
                return found;
            }
        }
    }

    fn id(number: u128) -> HandleId {
        HandleId::from_random(number)
    }

    #[test]
    fn the_newest_task_is_found_first_by_any_part_of_what_it_says() {
        let mut store = TextStore::default();
        for number in 1..=3 {
            store.put(id(number), Timestamp::from_millis(number as i64), text("reading", "quarterly report"), 10_000);
        }
        assert_eq!(found(&store, "arterly rep"), [id(3), id(2), id(1)], "newest first, in small steps");
        assert_eq!(found(&store, "reading"), [id(3), id(2), id(1)], "in the message, too");
        assert_eq!(found(&store, "absent"), [], "and nothing that nobody said");
        store.remove(id(2));
        assert_eq!(found(&store, "report"), [id(3), id(1)], "what is removed is not found");
    }

    #[test]
    fn the_oldest_tasks_make_room_and_the_store_says_so() {
        let mut store = TextStore::default();
        let most = 3 * (ENTRY_BYTES + 6);
        for number in 1..=5 {
            assert!(store.put(id(number), Timestamp::from_millis(number as i64), text("", "report"), most), "newer");
        }
        assert_eq!((store.len(), store.is_cut(), store.oldest()), (3, true, Some(Timestamp::from_millis(3))));
        assert!(!store.put(id(9), Timestamp::from_millis(0), text("", "report"), most), "older than all has no room");
        assert!(store.bytes() <= most, "the limit holds");
        store.clear();
        assert_eq!((store.len(), store.bytes(), store.is_cut()), (0, 0, false), "nothing is left");
    }

    #[test]
    fn a_search_is_remembered_until_something_changes() {
        let mut store = TextStore::default();
        store.put(id(1), Timestamp::EPOCH, text("", "a"), 10_000);
        store.remember(store.version(), "a".into(), TextMatches { ids: [id(1)].into() });
        assert!(store.remembered("a").is_some(), "the same search");
        store.put(id(1), Timestamp::EPOCH, text("", "b"), 10_000);
        assert!(store.remembered("a").is_none(), "the text is another one");
    }
}
