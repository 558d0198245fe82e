//! Token counting, the one part of the budget that costs time.
//!
//! Runs a batch at a time on a thread for blocking work, so that neither a call nor the runtime waits for it. A
//! tokeniser that fails costs the batch its exactness, not its count: everything in it is taken as one token a byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::budget::models::CountingMethod;
use domain::ports::{MessagePart, PartCount, TokenCounter};
use domain::task::payload::Payload;
use domain::tokens::{Count, Exactness, Family};
use serde_json::value::RawValue;

use crate::budget::counting::queue::CountingItem;
use crate::budget::counting::traffic::Passed;
use crate::budget::counting::visible::{self, Counted, MessageKind};
use crate::budget::result_text::ResultText;

/// The name of a list of tools that could not be read in time.
const UNREAD_LIST: &str = "(not counted)";

/// The count of an item.
#[derive(Debug)]
pub(crate) enum ItemCount {
    /// A list of tools, by tool, and our own.
    Tools(BTreeMap<Arc<str>, Count>, Count),
    /// Anything but a list.
    Sum(Counted),
}

impl ItemCount {
    /// Our own count, whole.
    fn own(count: Count) -> Self {
        Self::Sum(count.into())
    }
}

/// Counts a batch, each item as its agent is measured. Does not wait on the caller's thread.
pub(crate) async fn count_batch(
    scale: &Arc<dyn TokenCounter>,
    batch: &Arc<Vec<CountingItem>>,
    measures: Arc<Vec<CountingMethod>>,
) -> Vec<ItemCount> {
    let (held, items, by_item) = (Arc::clone(scale), Arc::clone(batch), measures);
    let work = move || {
        let pairs = items.iter().zip(by_item.iter());
        pairs.map(|(item, measure)| count_item(held.as_ref(), item, measure)).collect()
    };
    on_blocking_thread(work).await.unwrap_or_else(|| batch.iter().map(at_most).collect())
}

/// Counts one result, or the error in its place, for a limit, off the caller's thread; `None` when counting failed.
pub(crate) async fn count_result(
    scale: &Arc<dyn TokenCounter>,
    family: Family,
    text: ResultText<'_>,
) -> Option<PartCount> {
    let (held, payload, is_error) = (Arc::clone(scale), text.payload.clone(), text.is_error);
    let work = move || held.count_part(family, ResultText { payload: &payload, is_error }.load());
    on_blocking_thread(work).await
}

/// What limits take a result for that was not counted: one token a byte, or `most` where its media may be more.
pub(crate) fn result_at_most(text: ResultText<'_>, most: u64) -> PartCount {
    let bytes = text.payload.bytes();
    if text.has_media() {
        let count = per_byte(bytes.max(most));
        return PartCount { count, media: count.tokens, ..PartCount::default() };
    }
    PartCount { count: per_byte(bytes), ..PartCount::default() }
}

/// Runs this on a thread for blocking work; `None` when it panicked.
///
/// No task of the supervisor, because a thread cannot be cancelled. Its result is used only by whoever awaits it here, a task
/// of the supervisor or the shutdown (`flush.rs`), so a thread that is late changes nothing and asks no closed registry.
async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
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

/// An upper bound of an item, without reading it.
pub(crate) fn at_most(item: &CountingItem) -> ItemCount {
    match item {
        CountingItem::Traffic(seen) => match &seen.what {
            Passed::Tools { list, own, .. } => {
                let unread = BTreeMap::from([(Arc::from(UNREAD_LIST), per_byte(list.bytes()))]);
                ItemCount::Tools(unread, per_byte(own.bytes()))
            }
            what @ (Passed::Call(_)
            | Passed::Result(_)
            | Passed::Slice(_)
            | Passed::Error(_)
            | Passed::Handle(_)
            | Passed::Look { .. }
            | Passed::Prompt(_)
            | Passed::Resource(_)) => ItemCount::own(per_byte(what.bytes())),
        },
        CountingItem::Arguments(matter)
        | CountingItem::Result(matter, _)
        | CountingItem::Error(matter)
        | CountingItem::KeptOut(matter)
        | CountingItem::Status(matter) => ItemCount::own(per_byte(matter.text.bytes())),
        CountingItem::Marker(..) => ItemCount::own(Count::ZERO),
    }
}

fn count_item(scale: &dyn TokenCounter, item: &CountingItem, measure: &CountingMethod) -> ItemCount {
    let family = measure.family;
    let of = |load, text: &Payload, kind| {
        ItemCount::Sum(visible::counted(measure, &scale.count_part(family, load), text.bytes(), kind))
    };
    match item {
        CountingItem::Traffic(seen) => match &seen.what {
            Passed::Tools { list, own, .. } => {
                let own = scale.tools(family, own.as_str()).into_values().sum();
                ItemCount::Tools(scale.tools(family, list.as_str()), own)
            }
            Passed::Call(text) => of(MessagePart::Call(text.as_str()), text, MessageKind::Other),
            Passed::Result(text) => of(MessagePart::Result(text.as_str()), text, MessageKind::Result),
            Passed::Error(text) => of(MessagePart::Error(text.as_str()), text, MessageKind::Error),
            Passed::Slice(text) | Passed::Handle(text) | Passed::Look { said: text, .. } => {
                let (load, kind) = shape(text.as_str());
                // These are our own texts around those of servers.
                let weight = PartCount { reported: None, ..scale.count_part(family, load) };
                ItemCount::Sum(visible::counted(measure, &weight, text.bytes(), kind))
            }
            Passed::Prompt(text) => of(MessagePart::Prompt(text.as_str()), text, MessageKind::Other),
            Passed::Resource(text) => of(MessagePart::Resource(text.as_str()), text, MessageKind::Other),
        },
        CountingItem::Arguments(matter) => {
            let name = matter.tool.as_deref().unwrap_or_default();
            let name = scale.count_part(family, MessagePart::Text(name)).count;
            ItemCount::own(name + scale.count_part(family, MessagePart::Text(matter.text.as_str())).count)
        }
        CountingItem::Result(matter, _) => {
            of(MessagePart::Result(matter.text.as_str()), &matter.text, MessageKind::Result)
        }
        CountingItem::Error(matter) => of(MessagePart::Error(matter.text.as_str()), &matter.text, MessageKind::Error),
        CountingItem::KeptOut(matter) | CountingItem::Status(matter) => {
            of(MessagePart::Text(matter.text.as_str()), &matter.text, MessageKind::Other)
        }
        CountingItem::Marker(..) => ItemCount::own(Count::ZERO),
    }
}

/// What a message of ours is: a tool result, a resource, an error or a task object.
fn shape(text: &str) -> (MessagePart<'_>, MessageKind) {
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        Ok(members) if members.contains_key("content") => (MessagePart::Result(text), MessageKind::Result),
        Ok(members) if members.contains_key("contents") => (MessagePart::Resource(text), MessageKind::Other),
        Ok(members) if members.contains_key("message") && members.contains_key("code") => {
            (MessagePart::Error(text), MessageKind::Error)
        }
        Ok(_) => (MessagePart::Task(text), MessageKind::Other),
        Err(_) => (MessagePart::Text(text), MessageKind::Other),
    }
}
