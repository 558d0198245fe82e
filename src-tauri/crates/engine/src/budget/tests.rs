//! Properties of the books: windows and series say the same, and spend never falls. And what waits, in small.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::budget::models::{self, CountingMethod};
use domain::budget::window::{CountingSettings, TokenFlow, TokenSource, Window};
use domain::ids::{AgentId, HandleId, ServerId, WindowId};
use domain::policy::{CountingPolicy, SharePolicy};
use domain::task::payload::Payload;
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, Intake};
use futures::FutureExt;
use proptest::prelude::*;

use super::conversations::conversation::Conversation;
use super::conversations::tool_paging::ToolPage;
use super::conversations::windows::ConversationWindows;
use super::counting::queue::{CountingItem, CountingQueue, TaskText};
use super::counting::visible::Counted;
use super::pending_results::{PendingResultState, PendingResults, ReadEvent, ReadExtent, ResultFacts};

const FAMILY: Family = Family::O200k;

/// Something that happens to the windows of one agent, at a door, in a session.
#[derive(Debug, Clone)]
enum Act {
    Began(u8, Option<u8>),
    Came(u8, Option<u8>, TokenSource, u64),
    /// One page of two, or both as one.
    Tools(u8, Option<u8>, bool, bool),
    KeptOut(u64),
    /// A result that is about to come into the window of this place.
    Result(u8, Option<u8>, PendingResultState, u64),
    Emptied,
    Quiet,
    Passes(u64),
    Stored,
    NotStored,
}

fn act() -> impl Strategy<Value = Act> {
    let source = prop_oneof![
        Just(TokenSource::Arguments),
        Just(TokenSource::Results),
        Just(TokenSource::Handles),
        Just(TokenSource::Prompts)
    ];
    let session = || proptest::option::of(0..3_u8);
    let state =
        prop_oneof![Just(PendingResultState::Held), Just(PendingResultState::Slices), Just(PendingResultState::Ready)];
    prop_oneof![
        2 => (0..2_u8, session()).prop_map(|(door, session)| Act::Began(door, session)),
        6 => (0..2_u8, session(), source, 0..5_000_u64).prop_map(|(door, s, source, n)| Act::Came(door, s, source, n)),
        3 => (0..2_u8, session(), any::<bool>(), any::<bool>())
            .prop_map(|(door, session, is_first, is_last)| Act::Tools(door, session, is_first, is_last)),
        1 => (0..5_000_u64).prop_map(Act::KeptOut),
        3 => (0..2_u8, session(), state, 0..5_000_u64).prop_map(|(door, s, state, n)| Act::Result(door, s, state, n)),
        1 => Just(Act::Emptied),
        1 => Just(Act::Quiet),
        2 => (0..1_200_u64).prop_map(Act::Passes),
        1 => Just(Act::Stored),
        1 => Just(Act::NotStored),
    ]
}

fn exact(tokens: u64) -> Count {
    Count { tokens, exactness: Exactness::Exact }
}

/// What was counted of a result that its program cuts to half.
fn cut(tokens: u64) -> Counted {
    let intake = Intake { passed: exact(tokens), window: exact(tokens / 2) };
    Counted { intake, unsaid: 0, beyond: tokens - tokens / 2 }
}

fn measure() -> CountingMethod {
    models::counting_method(&CountingSettings { family: Some(FAMILY), ..CountingSettings::default() }, None)
}

fn agent() -> AgentId {
    AgentId::from_random(1)
}

fn place(door: u8, session: Option<u8>) -> Conversation {
    let session = session.map(|number| Arc::from(format!("s{number}").as_str()));
    Conversation { agent: agent(), door: Some(ServerId::from_random(u128::from(door))), session }
}

/// What a registry would have after it took these.
#[derive(Default)]
struct Stored {
    windows: BTreeMap<WindowId, Window>,
    flows: BTreeMap<TokenFlow, u64>,
    passed: BTreeMap<TokenFlow, u64>,
}

impl Stored {
    fn take(&mut self, windows: &mut ConversationWindows) {
        let note = windows.take();
        self.windows.extend(note.windows.into_iter().map(|window| (window.id, window)));
        for row in note.spend {
            *self.flows.entry(row.flow).or_default() += row.tokens;
            *self.passed.entry(row.flow).or_default() += row.passed;
        }
    }

    /// What stands in the windows from this source, but for what stood in the one before as well.
    fn of(&self, source: TokenSource) -> u64 {
        self.windows.values().map(|window| window.of(source).tokens - window.carried_of(source).tokens).sum()
    }

    fn passed_of(&self, source: TokenSource) -> u64 {
        self.windows.values().map(|window| window.passed_of(source).tokens).sum()
    }
}

proptest! {
    #[test]
    fn all_windows_together_hold_what_the_series_say_and_none_loses_anything(
        acts in proptest::collection::vec(act(), 1..120)
    ) {
        let drawn = AtomicU64::new(0);
        let draw = Box::new(move || WindowId::from_random(u128::from(drawn.fetch_add(1, Ordering::Relaxed))));
        let mut windows = ConversationWindows::new(CountingPolicy::default(), Timestamp::EPOCH, draw);
        let (mut stored, mut now, mut results) = (Stored::default(), Timestamp::from_millis(0), 0);
        let mut came: BTreeMap<TokenSource, u64> = BTreeMap::new();
        let mut least: BTreeMap<WindowId, u64> = BTreeMap::new();
        for act in acts {
            match act {
                Act::Began(door, session) => windows.began(&place(door, session), FAMILY, now),
                Act::Came(door, session, source, tokens) => {
                    *came.entry(source).or_default() += tokens;
                    let at = place(door, session);
                    prop_assert!(windows.enter(&at, at.door, source, cut(tokens), FAMILY, now).is_some());
                }
                Act::Tools(door, session, is_first, is_last) => {
                    let first = is_first.then(|| (Arc::from("a"), exact(70 + u64::from(door))));
                    let last = is_last.then(|| (Arc::from("b"), exact(9)));
                    let tools = first.into_iter().chain(last).collect();
                    let at = place(door, session);
                    let own = if is_last { exact(11) } else { Count::ZERO };
                    windows.enter_tools(&at, at.door, ToolPage { tools, own, is_first, is_last }, &measure(), now);
                }
                Act::KeptOut(tokens) => windows.kept_out(agent(), ServerId::from_random(1), exact(tokens), FAMILY, now),
                Act::Result(door, session, state, tokens) => {
                    let (at, server) = (place(door, session), ServerId::from_random(1));
                    let window = windows.enter(&at, at.door, TokenSource::Handles, exact(1).into(), FAMILY, now);
                    *came.entry(TokenSource::Handles).or_default() += 1;
                    let window = window.expect("it has a window");
                    results += 1;
                    let id = HandleId::from_random(results);
                    let facts = ResultFacts { state, ..facts(results, 0) };
                    windows.pending(agent(), FAMILY, now, |pending| pending.came(&facts, exact(tokens).into()));
                    windows.pending(agent(), FAMILY, now, |pending| {
                        pending.read(ReadEvent { handle: id, server: Some(server), extent: ReadExtent::Handle, intake: exact(1).into(), window, short_tokens: 0 })
                    });
                }
                Act::Emptied => windows.empty(agent(), now),
                Act::Quiet => windows.end_quiet(now),
                Act::Passes(seconds) => now = now.plus(Duration::from_secs(seconds)),
                Act::Stored => stored.take(&mut windows),
                Act::NotStored => {
                    let note = windows.take();
                    windows.put_back(note);
                }
            }
            if let Some(view) = windows.view(agent(), &measure()) {
                for window in view.now.iter().chain(&view.beside) {
                    let before = least.insert(window.id, window.occupancy().tokens).unwrap_or(0);
                    prop_assert!(window.occupancy().tokens >= before, "a window that is not emptied only fills");
                }
            }
        }
        stored.take(&mut windows);
        for source in TokenSource::ALL {
            let of = |flows: &BTreeMap<TokenFlow, u64>| flows.get(&TokenFlow::In(source)).copied().unwrap_or(0);
            prop_assert_eq!(stored.of(source), of(&stored.flows), "{:?} adds up", source);
            prop_assert_eq!(stored.passed_of(source), of(&stored.passed), "{:?} as it was passed, too", source);
            if let Some(came) = came.get(&source) {
                prop_assert_eq!(*came, of(&stored.passed), "nothing of {:?} is lost or counted twice", source);
            }
        }
        let kept: u64 = stored.windows.values().map(|window| window.kept_out.tokens).sum();
        prop_assert_eq!(kept, stored.flows.get(&TokenFlow::KeptOut).copied().unwrap_or(0), "kept out adds up");
    }
}

fn facts(task: u128, delivered: u64) -> ResultFacts {
    let (id, server) = (HandleId::from_random(task), ServerId::from_random(1));
    ResultFacts {
        id,
        server,
        tool: None,
        state: PendingResultState::Ready,
        trimmed: false,
        delivered: (delivered, delivered),
    }
}

#[test]
fn a_result_that_is_read_again_leaves_nothing_behind() {
    let (mut pending, window) = (PendingResults::default(), WindowId::from_random(1));
    let read = |pending: &mut PendingResults| {
        let (handle, server) = (HandleId::from_random(1), Some(ServerId::from_random(1)));
        let (extent, intake) = (ReadExtent::Whole, exact(100).into());
        pending.read(ReadEvent { handle, server, extent, intake, window, short_tokens: 0 })
    };
    pending.came(&facts(1, 0), exact(100).into());
    for _ in 0..2 {
        assert!(read(&mut pending).is_none(), "nothing of it is kept out");
        assert!(pending.is_empty(), "and nothing is remembered of a result that came in");
    }
}

#[test]
fn what_is_held_or_read_in_slices_comes_in_by_our_own_count() {
    for (state, coming) in [
        (PendingResultState::Held, Count { tokens: 5_704, exactness: Exactness::AtMost }),
        (PendingResultState::Slices, Count { tokens: 5_704, exactness: Exactness::AtMost }),
        (PendingResultState::Ready, exact(2)),
    ] {
        let mut pending = PendingResults::default();
        pending.came(&ResultFacts { state, ..facts(1, 0) }, Counted { unsaid: 5_702, ..exact(2).into() });
        let told: Vec<Option<Count>> = pending.all().map(|coming| coming.tokens).collect();
        assert_eq!(told, [Some(coming)], "{state:?}: two tokens are what its blocks are");
    }
}

#[test]
fn of_a_result_that_its_program_cuts_only_what_it_shows_was_kept_out() {
    let (mut pending, window) = (PendingResults::default(), WindowId::from_random(1));
    pending.came(&ResultFacts { state: PendingResultState::Slices, ..facts(1, 0) }, cut(60_000));
    let coming: Vec<Option<Count>> = pending.all().map(|coming| coming.tokens).collect();
    assert_eq!(coming, [Some(exact(60_000))], "in slices all of it may come in");
    let (handle, server) = (HandleId::from_random(1), Some(ServerId::from_random(1)));
    let (extent, intake) = (ReadExtent::Part, exact(4_000).into());
    assert!(pending.read(ReadEvent { handle, server, extent, intake, window, short_tokens: 0 }).is_none());
    let gone = pending.close(window, true);
    let left: Vec<u64> = gone.iter().map(|gone| gone.left.tokens).collect();
    assert_eq!(left, [26_000], "30,000 would have stood there, 4,000 do");
}

#[test]
fn of_too_many_results_the_oldest_is_given_up() {
    let mut pending = PendingResults::default();
    let mut given_up = Vec::new();
    // Handles are drawn at random: the oldest is not the smallest.
    for task in (0..1_026_u64).rev() {
        let gone = pending.came(&facts(u128::from(task), 0), exact(task).into());
        given_up.extend(gone.map(|gone| gone.left.tokens));
    }
    assert_eq!(given_up, [1_025, 1_024], "those that came first");
}

fn shares() -> SharePolicy {
    SharePolicy::default()
}

fn room_of(bytes: usize) -> CountingPolicy {
    CountingPolicy { queue_bytes: bytes, ..CountingPolicy::default() }
}

/// So many bytes of a task of this agent.
fn waiting(agent: u128, bytes: usize) -> CountingItem {
    let (agent, server, handle) = (AgentId::from_random(agent), ServerId::from_random(1), HandleId::from_random(1));
    CountingItem::KeptOut(TaskText { agent, server, tool: None, handle, text: Payload::new("x".repeat(bytes)) })
}

/// Agents of the next batch, in the order in which they are counted.
fn turns(batch: &[CountingItem]) -> Vec<AgentId> {
    batch.iter().map(CountingItem::agent).collect()
}

#[tokio::test]
async fn an_agent_that_fills_its_share_leaves_the_room_of_others() {
    let queue = CountingQueue::new(&room_of(100), &shares());
    for _ in 0..5 {
        assert!(queue.push(waiting(1, 5)).is_none(), "25 bytes are its share");
    }
    assert!(queue.push(waiting(1, 1)).is_some(), "and no more");
    assert!(queue.push(waiting(2, 25)).is_none(), "another has all of its own");
    assert!(queue.push(waiting(3, 40)).is_none(), "one item alone may be larger than a share");
    assert!(queue.push(waiting(3, 1)).is_some(), "but nothing beside it");
    let consumer = queue.consumer().await;
    let batch = queue.next_batch(&consumer).expect("something waits");
    assert!(queue.push(waiting(1, 1)).is_some(), "what is being counted has its room still");
    queue.finish_batch(&batch);
    assert!(queue.agents().is_empty(), "nobody has anything left");
    assert!(queue.push(waiting(1, 25)).is_none(), "and all room is given back");
}

#[tokio::test]
async fn messages_of_one_agent_have_a_share_too() {
    let numbers = CountingPolicy { queue_messages: 8, ..CountingPolicy::default() };
    let queue = CountingQueue::new(&numbers, &shares());
    assert!(queue.push(waiting(1, 0)).is_none() && queue.push(waiting(1, 0)).is_none(), "two of eight");
    assert!(queue.push(waiting(1, 0)).is_some(), "are its share");
    assert!(queue.push(waiting(2, 0)).is_none(), "another has its own");
}

#[tokio::test]
async fn agents_are_counted_in_turns_and_each_in_its_order() {
    let numbers = CountingPolicy { batch_messages: 4, ..CountingPolicy::default() };
    let queue = CountingQueue::new(&numbers, &shares());
    for bytes in [1, 2, 3, 4] {
        assert!(queue.push(waiting(1, bytes)).is_none(), "there is room");
    }
    assert!(queue.push(waiting(2, 5)).is_none(), "there is room");
    let consumer = queue.consumer().await;
    let batch = queue.next_batch(&consumer).expect("something waits");
    let of = AgentId::from_random;
    assert_eq!(turns(&batch), [of(1), of(2), of(1), of(1)], "one item of another stands before what came last");
    let bytes: Vec<usize> = batch.iter().map(CountingItem::bytes).collect();
    assert_eq!(bytes, [1, 5, 2, 3], "and its own come as they were added");
}

#[tokio::test]
async fn what_may_wait_waits_until_there_is_room_for_its_bytes() {
    let queue = CountingQueue::new(&room_of(100), &SharePolicy { agent_percent: 100, people_percent: 0, ..shares() });
    let item = |bytes: usize| {
        let (agent, server, handle) = (agent(), ServerId::from_random(1), HandleId::from_random(1));
        CountingItem::KeptOut(TaskText { agent, server, tool: None, handle, text: Payload::new("x".repeat(bytes)) })
    };
    assert!(queue.push(item(60)).is_none(), "there is room");
    assert!(queue.push(item(60)).is_some(), "not for both");
    let mut later = std::pin::pin!(queue.push_later(item(400)));
    assert!(later.as_mut().now_or_never().is_none(), "nor for what may wait");
    let consumer = queue.consumer().await;
    let batch = queue.next_batch(&consumer).expect("the first is there");
    assert!(later.as_mut().now_or_never().is_none(), "it is not booked yet");
    queue.finish_batch(&batch);
    assert!(later.now_or_never().is_some(), "now it is, and what is larger than all room comes alone");
    assert!(queue.push(item(1)).is_some(), "for what is more there is none");
    let batch = queue.next_batch(&consumer).expect("it came");
    queue.finish_batch(&batch);
    assert!(queue.push(item(100)).is_none(), "and all of it is given back");
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_an_empty_queue_sleeps_and_one_wake_serves_all_that_comes_in_an_interval() {
    let numbers = CountingPolicy::default();
    let queue = CountingQueue::new(&numbers, &shares());
    let item = || {
        let (agent, server, handle) = (agent(), ServerId::from_random(1), HandleId::from_random(1));
        CountingItem::KeptOut(TaskText { agent, server, tool: None, handle, text: Payload::new("x") })
    };
    let consumer = queue.consumer().await;
    assert!(tokio::time::timeout(Duration::from_secs(3_600), queue.wait_until_not_empty()).await.is_err());
    assert!(queue.push(item()).is_none());
    queue.wait_until_not_empty().await;
    let begun = tokio::time::Instant::now();
    let interval = queue.wait_interval();
    for _ in 0..9 {
        assert!(queue.push(item()).is_none());
    }
    interval.await;
    assert!(begun.elapsed() >= numbers.look_every, "what comes does not end the interval");
    assert_eq!(queue.next_batch(&consumer).map(|batch| batch.len()), Some(10), "all of it is one batch");
    let (tell, _told) = tokio::sync::oneshot::channel();
    assert!(queue.push(CountingItem::Marker(agent(), parking_lot::Mutex::new(Some(tell)))).is_none());
    let begun = tokio::time::Instant::now();
    queue.wait_interval().await;
    assert!(begun.elapsed() < numbers.look_every, "somebody waits: it is looked at once");
}
