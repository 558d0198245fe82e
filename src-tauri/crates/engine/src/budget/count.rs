//! Counting: which scale a text is put on, and what it weighs. The one part of the budget that costs time.
//!
//! Runs in a thread for blocking work, a batch at a time, so that neither a call nor the runtime waits for it. A scale
//! that fails costs the batch its exactness, not its count: everything in it is taken as one token a byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::budget::models::CountingMethod;
use domain::task::payload::Payload;
use domain::ports::{MessagePart, PartCount, TokenCounter, with_error};
use domain::tokens::{Count, Exactness, Family};
use serde_json::value::RawValue;

use super::seen::Passed;
use super::shown::{self, Counted, Kind};
use super::tap::Item;

/// The name under which a list of tools stands that nobody had the time to read.
const UNREAD_LIST: &str = "(not counted)";

/// What an item weighs.
#[derive(Debug)]
pub(super) enum Weighed {
    /// A list of tools, by tool, and our own.
    Tools(BTreeMap<Arc<str>, Count>, Count),
    /// Anything else.
    Sum(Counted),
}

impl Weighed {
    /// Our own count, whole.
    fn own(count: Count) -> Self {
        Self::Sum(count.into())
    }
}

/// The figure that limits are held against, of a text of so many bytes: an estimate with its error on top.
pub(super) fn cautious(weight: &PartCount, bytes: u64, error_percent: u8) -> u64 {
    shown(weight, bytes).tokens.max(with_error(weight.own(), error_percent))
}

/// How much more it is by our own count than the figure to show.
pub(super) fn unsaid(weight: &PartCount, bytes: u64) -> u64 {
    weight.own().saturating_sub(shown(weight, bytes).tokens)
}

/// The figure to show of a text of so many bytes. What its maker says can be true between half of what its text is by our
/// own count, whose error is far smaller, and one token a byte.
pub(super) fn shown(weight: &PartCount, bytes: u64) -> Count {
    let text = weight.count.tokens.saturating_sub(weight.media);
    let possible = text.div_ceil(2)..=bytes.max(weight.count.tokens);
    let believed = weight.reported.is_none_or(|reported| possible.contains(&reported));
    if believed { weight.shown() } else { weight.count }
}

/// Weighs a batch, each item as its agent is measured. Does not wait on the caller's thread.
pub(super) async fn weigh_all(
    scale: &Arc<dyn TokenCounter>,
    batch: &Arc<Vec<Item>>,
    measures: Arc<Vec<CountingMethod>>,
) -> Vec<Weighed> {
    let (held, items, by_item) = (Arc::clone(scale), Arc::clone(batch), measures);
    let work = move || {
        let pairs = items.iter().zip(by_item.iter());
        pairs.map(|(item, measure)| count_part(held.as_ref(), item, measure)).collect()
    };
    beside(work).await.unwrap_or_else(|| batch.iter().map(at_most).collect())
}

/// Weighs one result, or the error in its place, for a limit, off the caller's thread.
pub(super) async fn weigh_result(
    scale: &Arc<dyn TokenCounter>,
    family: Family,
    (result, is_error): (&Payload, bool),
) -> PartCount {
    let (held, text) = (Arc::clone(scale), result.clone());
    let work = move || {
        let load = if is_error { MessagePart::Error(text.as_str()) } else { MessagePart::Result(text.as_str()) };
        held.count_part(family, load)
    };
    beside(work).await.unwrap_or_else(|| PartCount { count: per_byte(result.bytes()), ..PartCount::default() })
}

/// Does this work with the scale in a thread for such work; `None` when it failed.
///
/// No task of the supervisor: a thread cannot be ended, so nobody could do anything with it. What it finds is entered by
/// whoever awaits it here, which is a task of the supervisor or the orderly end (`flush.rs`), and is dropped with that. So
/// a thread that is late enters nothing, and asks no closed registry for anything.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    if done.as_ref().is_err_and(tokio::task::JoinError::is_panic) {
        tracing::error!("counting failed, one token a byte is taken in its place");
    }
    done.ok()
}

/// One token a byte: an upper bound of every text. A small picture may count more; to find one, the text would have to be
/// read.
fn per_byte(bytes: u64) -> Count {
    Count { tokens: bytes, exactness: Exactness::AtMost }
}

/// What an item weighs at most, without reading it.
pub(super) fn at_most(item: &Item) -> Weighed {
    match item {
        Item::Saw(seen) => match &seen.what {
            Passed::Tools { list, own, .. } => {
                let unread = BTreeMap::from([(Arc::from(UNREAD_LIST), per_byte(list.bytes()))]);
                Weighed::Tools(unread, per_byte(own.bytes()))
            }
            what @ (Passed::Call(_)
            | Passed::Result(_)
            | Passed::Slice(_)
            | Passed::Error(_)
            | Passed::Handle(_)
            | Passed::Look { .. }
            | Passed::Prompt(_)
            | Passed::Resource(_)) => Weighed::own(per_byte(what.bytes())),
        },
        Item::Arguments(matter)
        | Item::Outcome(matter, _)
        | Item::Failure(matter)
        | Item::Aside(matter)
        | Item::Word(matter) => Weighed::own(per_byte(matter.text.bytes())),
        Item::Mark(_) => Weighed::own(Count::ZERO),
    }
}

fn count_part(scale: &dyn TokenCounter, item: &Item, measure: &CountingMethod) -> Weighed {
    let family = measure.family;
    let of = |load, text: &Payload, kind| {
        Weighed::Sum(shown::counted(measure, &scale.count_part(family, load), text.bytes(), kind))
    };
    match item {
        Item::Saw(seen) => match &seen.what {
            Passed::Tools { list, own, .. } => {
                let own = scale.tools(family, own.as_str()).into_values().sum();
                Weighed::Tools(scale.tools(family, list.as_str()), own)
            }
            Passed::Call(text) => of(MessagePart::Call(text.as_str()), text, Kind::Other),
            Passed::Result(text) => of(MessagePart::Result(text.as_str()), text, Kind::Result),
            Passed::Error(text) => of(MessagePart::Error(text.as_str()), text, Kind::Error),
            Passed::Slice(text) | Passed::Handle(text) | Passed::Look { said: text, .. } => {
                let (load, kind) = shape(text.as_str());
                // These are ours, around what their makers say.
                let weight = PartCount { reported: None, ..scale.count_part(family, load) };
                Weighed::Sum(shown::counted(measure, &weight, text.bytes(), kind))
            }
            Passed::Prompt(text) => of(MessagePart::Prompt(text.as_str()), text, Kind::Other),
            Passed::Resource(text) => of(MessagePart::Resource(text.as_str()), text, Kind::Other),
        },
        Item::Arguments(matter) => {
            let name = matter.tool.as_deref().unwrap_or_default();
            let name = scale.count_part(family, MessagePart::Text(name)).count;
            Weighed::own(name + scale.count_part(family, MessagePart::Text(matter.text.as_str())).count)
        }
        Item::Outcome(matter, _) => of(MessagePart::Result(matter.text.as_str()), &matter.text, Kind::Result),
        Item::Failure(matter) => of(MessagePart::Error(matter.text.as_str()), &matter.text, Kind::Error),
        Item::Aside(matter) | Item::Word(matter) => of(MessagePart::Text(matter.text.as_str()), &matter.text, Kind::Other),
        Item::Mark(_) => Weighed::own(Count::ZERO),
    }
}

/// What a message of ours is: a result of a tool, a resource, or a task object.
fn shape(text: &str) -> (MessagePart<'_>, Kind) {
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        Ok(members) if members.contains_key("content") => (MessagePart::Result(text), Kind::Result),
        Ok(members) if members.contains_key("contents") => (MessagePart::Resource(text), Kind::Other),
        Ok(members) if members.contains_key("message") && members.contains_key("code") => {
            (MessagePart::Error(text), Kind::Error)
        }
        Ok(_) => (MessagePart::Task(text), Kind::Other),
        Err(_) => (MessagePart::Text(text), Kind::Other),
    }
}

#[cfg(test)]
mod tests {
    use domain::tokens::Exactness;

    use super::*;

    #[test]
    fn what_its_maker_says_is_shown_where_it_can_be_true() {
        let count = Count { tokens: 1_001, exactness: Exactness::About };
        let told = |reported, media| {
            let weight = PartCount { count, reported: Some(reported), media, ..PartCount::default() };
            shown(&weight, 4_000)
        };
        let (ours, theirs) = (count, |tokens| Count { tokens, exactness: Exactness::Exact });
        assert_eq!(told(1, 0), ours, "a thousand tokens are not one");
        assert_eq!(told(500, 0), ours);
        assert_eq!(told(501, 0), theirs(501), "half of ours may be true");
        assert_eq!(told(4_000, 0), theirs(4_000), "a token a byte may be true");
        assert_eq!(told(4_001, 0), ours, "and more may not");
        assert_eq!(told(1, 1_000), theirs(1), "of pictures we know less");
    }
}
