//! The last word of each task: what its agent reads when it looks now, and nobody has read yet.
//!
//! A word that is replaced, or whose task's result is read without it, was kept out of the agent's window; one that a
//! look showed was not. Kept in memory alone: after a start the last words of tasks that go on count as not read, because
//! nobody knows any more whether they were (`comeback.rs`). It counts nothing and knows no window: see `enter.rs`.

use std::collections::{BTreeMap, HashMap};

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::plain_text;
use domain::tokens::{Count, Family};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// Tasks whose last word is remembered; beyond it the oldest word counts as not read. Judgement: as many as a gateway
/// has open at a time, and they are a few bytes each.
const LINES_MAX: usize = 10_000;

/// Characters of a word by which it is found in what an agent was told. Judgement: no two words in a row of a task have
/// so many in common, and all together they are a few megabytes at most.
const BEGINNING_CHARS: usize = 200;

/// A word that was kept out.
#[derive(Debug, Clone)]
pub(super) struct Unseen {
    pub(super) agent: AgentId,
    pub(super) server: ServerId,
    pub(super) handle: HandleId,
    pub(super) family: Family,
    pub(super) count: Count,
}

#[derive(Debug)]
struct Line {
    word: Unseen,
    beginning: String,
    /// A look showed it.
    is_seen: bool,
    /// Its place in the order of words.
    since: u64,
}

impl Line {
    fn unseen(self) -> Option<Unseen> {
        (!self.is_seen).then_some(self.word)
    }
}

#[derive(Debug, Default)]
struct Kept {
    last: HashMap<HandleId, Line>,
    words: u64,
}

/// The last words of tasks.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Kept>);

impl Lines {
    /// The last word of a task is this now; an empty one says nothing. Returns what nobody will read any more.
    pub(super) fn turns(&self, word: Unseen, text: &str) -> Vec<Unseen> {
        let mut kept = self.0.lock();
        let mut gone: Vec<Unseen> = kept.last.remove(&word.handle).and_then(Line::unseen).into_iter().collect();
        if text.is_empty() {
            return gone;
        }
        if kept.last.len() >= LINES_MAX {
            let oldest = kept.last.iter().min_by_key(|(_, line)| line.since).map(|(id, _)| *id);
            gone.extend(oldest.and_then(|id| kept.last.remove(&id)).and_then(Line::unseen));
        }
        kept.words += 1;
        let (beginning, since) = (text.chars().take(BEGINNING_CHARS).collect(), kept.words);
        kept.last.insert(word.handle, Line { word, beginning, is_seen: false, since });
        gone
    }

    /// The agent was told this of a task.
    pub(super) fn shown(&self, id: HandleId, said: &str) {
        if let Some(line) = self.0.lock().last.get_mut(&id) {
            line.is_seen |= says(said, &line.beginning);
        }
    }

    /// Tokens of the last word of a task, while nobody has read it: said, and in no figure yet.
    pub(super) fn waiting(&self, id: HandleId) -> u64 {
        self.0.lock().last.get(&id).filter(|line| !line.is_seen).map_or(0, |line| line.word.count.tokens)
    }

    /// The agent has the result of a task: it does not look at it any more.
    pub(super) fn over(&self, id: HandleId) -> Option<Unseen> {
        self.0.lock().last.remove(&id).and_then(Line::unseen)
    }
}

/// Whether a message says this: as its status, or in a text of ours.
fn says(message: &str, word: &str) -> bool {
    let written = serde_json::to_string(word).unwrap_or_default();
    if message.contains(written.trim_matches('"')) {
        return true;
    }
    // A server may write the same characters in another way, and say what we do not take over.
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(message).unwrap_or_default();
    let status = members.get("statusMessage").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    status.is_some_and(|status| plain_text(&status, BEGINNING_CHARS).starts_with(word))
}

#[cfg(test)]
mod tests {
    use domain::tokens::Exactness;

    use super::*;

    fn word(task: u128, tokens: u64) -> Unseen {
        Unseen {
            agent: AgentId::from_random(1),
            server: ServerId::from_random(2),
            handle: HandleId::from_random(task),
            family: Family::O200k,
            count: Count { tokens, exactness: Exactness::Exact },
        }
    }

    fn tokens(gone: impl IntoIterator<Item = Unseen>) -> Vec<u64> {
        gone.into_iter().map(|word| word.count.tokens).collect()
    }

    #[test]
    fn a_word_that_was_read_is_not_kept_out_however_it_was_written() {
        let id = HandleId::from_random(1);
        for said in [
            r#"{"statusMessage":"a \"b\" für c"}"#,
            r#"{"statusMessage":"a \u0022b\u0022 f\u00fcr\u0007 c"}"#,
            r#"{"content":[{"type":"text","text":"It works. Its last word: \"a \"b\" für c\"."}]}"#,
        ] {
            let lines = Lines::default();
            assert!(lines.turns(word(1, 5), "a \"b\" für c").is_empty(), "it can still be read");
            lines.shown(id, r#"{"status":"working"}"#);
            lines.shown(id, said);
            assert_eq!(lines.waiting(id), 0, "{said} says it");
            assert!(lines.turns(word(1, 7), "other").is_empty(), "so it was not kept out");
            assert_eq!(lines.waiting(id), 7);
            assert_eq!(tokens(lines.turns(word(1, 9), "third")), [7], "nobody read the next");
            assert_eq!(tokens(lines.over(id)), [9], "nor the last");
            assert!(lines.over(id).is_none(), "once");
        }
    }

    #[test]
    fn words_of_many_tasks_fill_no_memory() {
        let lines = Lines::default();
        let many = u128::try_from(LINES_MAX).expect("it fits");
        for task in 0..many {
            assert!(lines.turns(word(task, 1), "a").is_empty(), "there is room");
        }
        let gone = lines.turns(word(many, 1), "a");
        assert_eq!(gone.first().map(|word| word.handle), Some(HandleId::from_random(0)), "the oldest goes");
    }
}
