//! The last status message of each task, until its agent has read it.
//!
//! A message that is replaced, or whose task's result is read without it, was kept out of the agent's window. Kept in
//! memory only: after a start, last messages of open tasks count as not read. It counts nothing and knows no window
//! (`record.rs`).

use std::collections::{BTreeMap, HashMap};

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::plain_text;
use domain::tokens::{Count, Family};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// Tasks whose last message is remembered; beyond this the oldest counts as not read. Judgement: as many as a gateway has
/// open at a time, at a few bytes each.
const LINES_MAX: usize = 10_000;

/// Characters by which a message is recognised in what an agent got. Judgement: no two messages in a row of a task share
/// so many, and all together they are a few megabytes at most.
const BEGINNING_CHARS: usize = 200;

/// A status message that was kept out.
#[derive(Debug, Clone)]
pub(crate) struct UnreadStatus {
    pub(crate) agent: AgentId,
    pub(crate) server: ServerId,
    pub(crate) handle: HandleId,
    pub(crate) family: Family,
    pub(crate) count: Count,
}

#[derive(Debug)]
struct StatusMessage {
    word: UnreadStatus,
    beginning: String,
    /// A poll showed it.
    is_read: bool,
    /// Its position in the order of messages.
    since: u64,
}

impl StatusMessage {
    fn unseen(self) -> Option<UnreadStatus> {
        (!self.is_read).then_some(self.word)
    }
}

#[derive(Debug, Default)]
struct Kept {
    last: HashMap<HandleId, StatusMessage>,
    words: u64,
}

/// The last status message of each task.
#[derive(Debug, Default)]
pub(crate) struct StatusMessages(Mutex<Kept>);

impl StatusMessages {
    /// Replaces the last message of a task; an empty one only removes it. Returns messages that nobody will read.
    pub(crate) fn replace(&self, word: UnreadStatus, text: &str) -> Vec<UnreadStatus> {
        let mut kept = self.0.lock();
        let mut gone: Vec<UnreadStatus> =
            kept.last.remove(&word.handle).and_then(StatusMessage::unseen).into_iter().collect();
        if text.is_empty() {
            return gone;
        }
        if kept.last.len() >= LINES_MAX {
            let oldest = kept.last.iter().min_by_key(|(_, message)| message.since).map(|(id, _)| *id);
            gone.extend(oldest.and_then(|id| kept.last.remove(&id)).and_then(StatusMessage::unseen));
        }
        kept.words += 1;
        let (beginning, since) = (text.chars().take(BEGINNING_CHARS).collect(), kept.words);
        kept.last.insert(word.handle, StatusMessage { word, beginning, is_read: false, since });
        gone
    }

    /// The agent got this about a task.
    pub(crate) fn shown(&self, id: HandleId, said: &str) {
        if let Some(message) = self.0.lock().last.get_mut(&id) {
            message.is_read |= says(said, &message.beginning);
        }
    }

    /// Tokens of the last message of a task while nobody has read it: said, and in no figure yet.
    pub(crate) fn waiting(&self, id: HandleId) -> u64 {
        self.0.lock().last.get(&id).filter(|message| !message.is_read).map_or(0, |message| message.word.count.tokens)
    }

    /// The agent has the result of a task and will not poll it again.
    pub(crate) fn over(&self, id: HandleId) -> Option<UnreadStatus> {
        self.0.lock().last.remove(&id).and_then(StatusMessage::unseen)
    }
}

/// Whether what an agent got contains this message: as a status, or in a text of ours.
fn says(message: &str, word: &str) -> bool {
    let written = serde_json::to_string(word).unwrap_or_default();
    if message.contains(written.trim_matches('"')) {
        return true;
    }
    // A server may escape the same characters differently, and send some that we drop.
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(message).unwrap_or_default();
    let status = members.get("statusMessage").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    status.is_some_and(|status| plain_text(&status, BEGINNING_CHARS).starts_with(word))
}

#[cfg(test)]
mod tests {
    use domain::tokens::Exactness;

    use super::*;

    fn word(task: u128, tokens: u64) -> UnreadStatus {
        UnreadStatus {
            agent: AgentId::from_random(1),
            server: ServerId::from_random(2),
            handle: HandleId::from_random(task),
            family: Family::O200k,
            count: Count { tokens, exactness: Exactness::Exact },
        }
    }

    fn tokens(gone: impl IntoIterator<Item = UnreadStatus>) -> Vec<u64> {
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
            let messages = StatusMessages::default();
            assert!(messages.replace(word(1, 5), "a \"b\" für c").is_empty(), "it can still be read");
            messages.shown(id, r#"{"status":"working"}"#);
            messages.shown(id, said);
            assert_eq!(messages.waiting(id), 0, "{said} says it");
            assert!(messages.replace(word(1, 7), "other").is_empty(), "so it was not kept out");
            assert_eq!(messages.waiting(id), 7);
            assert_eq!(tokens(messages.replace(word(1, 9), "third")), [7], "nobody read the next");
            assert_eq!(tokens(messages.over(id)), [9], "nor the last");
            assert!(messages.over(id).is_none(), "once");
        }
    }

    #[test]
    fn words_of_many_tasks_fill_no_memory() {
        let messages = StatusMessages::default();
        let many = u128::try_from(LINES_MAX).expect("it fits");
        for task in 0..many {
            assert!(messages.replace(word(task, 1), "a").is_empty(), "there is room");
        }
        let gone = messages.replace(word(many, 1), "a");
        assert_eq!(gone.first().map(|word| word.handle), Some(HandleId::from_random(0)), "the oldest goes");
    }
}
