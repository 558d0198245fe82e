//! Notices for people, and the change feed.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::ids::{HandleId, Seq};
use domain::task::Attention;
use domain::task::status::Phase;
use futures::StreamExt;
use testkit::scripted::{PollReply, hung_up, unreachable};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_question_is_told_at_once_and_reminded_of_once() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"])]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    world.pass(SECOND).await;
    let told = world.notifier.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].attention, told[0].handle), (Attention::Waiting, task));
    assert_eq!(told[0].line, "one: work waits for you", "server, tool and phase, and nothing else");
    world.pass(3_600 * SECOND).await;
    assert_eq!(world.notifier.told().len(), 2, "one reminder: {:?}", world.notifier.told());
}

#[tokio::test(start_paused = true)]
async fn many_tasks_that_fall_silent_together_are_one_notice() {
    let (world, server, id) = World::new().await;
    for number in 0..40 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    world.pass(10 * SECOND).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    world.pass(1_200 * SECOND).await;
    let told = world.notifier.told();
    assert!((1..=10).contains(&told.len()), "a burst is a few lines: {told:?}");
    assert!(told.iter().any(|notice| notice.line.contains("tasks need a look")), "that say how many: {told:?}");
}

#[tokio::test(start_paused = true)]
async fn what_waited_before_the_start_is_told_as_one_line() {
    let (mut world, server, id) = World::new().await;
    for number in 0..5 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::asks(&["k"])]);
        let task = world.call(id, "work").await;
        world.until_phase(task, Phase::Waiting).await;
    }
    world.restart().await;
    world.pass(30 * SECOND).await;
    let told = world.notifier.told();
    assert_eq!(told.len(), 1, "not one by one: {told:?}");
    assert_eq!(told[0].line, "one: 5 tasks wait for you");
}

#[tokio::test(start_paused = true)]
async fn the_feed_sends_the_first_change_at_once_and_then_frames() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    world.pass(SECOND).await;
    let mut feed = world.engine.feed(None);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let begun = world.now();
    let task = world.call(id, "work").await;
    let first = feed.next().await.expect("a frame");
    assert!(world.now().since(begun) < Duration::from_millis(2), "at once");
    assert_eq!(first.handles, [task]);
    let mut last = world.now();
    for _ in 0..3 {
        server.push("t1", &PollReply::says(&format!("at {last}")));
        let frame = feed.next().await.expect("a frame");
        assert_eq!(frame.handles, [task]);
        last = world.now();
    }
}

#[tokio::test(start_paused = true)]
async fn the_feed_loses_nothing_under_load_and_does_not_flood() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let mut feed = world.engine.feed(Some(Seq(0)));
    let (mut seen, mut frames, mut upto) = (BTreeSet::new(), Vec::new(), Seq(0));
    let work = async {
        let mut all = BTreeSet::new();
        for number in 0..500 {
            server.reply_task("work", &format!("t{number}"), vec![PollReply::done()]);
            all.insert(world.call(id, "work").await);
            world.pass(Duration::from_millis(1)).await;
        }
        all
    };
    let read = async {
        loop {
            let frame = feed.next().await.expect("the feed goes on");
            assert!(frame.upto >= upto, "places only go forward");
            upto = frame.upto;
            frames.push(world.now());
            seen.extend(frame.handles);
            if seen.len() == 500 {
                break;
            }
        }
    };
    let all: BTreeSet<HandleId> = {
        let (all, ()) = tokio::time::timeout(600 * SECOND, futures::future::join(work, read)).await.expect("in time");
        all
    };
    assert_eq!(seen, all, "every task was in a frame");
    let closest = frames.windows(2).map(|pair| pair[1].since(pair[0])).min().unwrap_or_default();
    assert!(closest >= Duration::from_millis(32), "frames keep their distance: {closest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_health_is_in_the_feed() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    world.pass(SECOND).await;
    let mut feed = world.engine.feed(None);
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    let frame = tokio::time::timeout(10 * SECOND, feed.next()).await.expect("in time").expect("a frame");
    assert_eq!(frame.servers, [id], "the server that went down is named");
}

#[tokio::test(start_paused = true)]
async fn a_feed_nobody_writes_to_any_more_ends_with_the_engine() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    let mut feed = world.engine.feed(Some(Seq(0)));
    let first = feed.next().await.expect("a frame");
    assert!(first.handles.contains(&task), "it says what happened before: {first:?}");
    let read_on = async { while feed.next().await.is_some() {} };
    let (ended, ()) = futures::future::join(tokio::time::timeout(60 * SECOND, read_on), world.engine.shutdown()).await;
    assert!(ended.is_ok(), "whoever reads it is not left waiting for ever");
}
