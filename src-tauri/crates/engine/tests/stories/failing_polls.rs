//! Polls of one task that fail: people see why, and the other tasks of its server are polled as before.

use std::time::Duration;

use domain::ports::UpstreamError;
use domain::task::TaskHandle;
use domain::task::status::{Miss, Phase};
use testkit::scripted::PollReply;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const WHY: &str = "the answer has more than 16777216 bytes";

fn too_large() -> PollReply {
    PollReply::Error(UpstreamError::Unreadable { path: "$".into(), why: WHY.into(), raw: None })
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_polls_fail_says_why_from_the_first_one_on_and_until_one_succeeds() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    // So far apart that it does not count as silent for minutes.
    server.hint("t1", 60 * SECOND);
    let task = world.call(id, "work").await;
    let has_hint = |handle: &TaskHandle| handle.view.task().is_some_and(|known| known.hint.is_some());
    world.until(task, "seen with its hint", has_hint).await;
    server.becomes("t1", too_large());
    let failing = || world.engine.live(task).and_then(|live| live.failing);
    assert_eq!(failing(), None);
    let version = world.handle(task).await.version;
    world.until_true("the first", || failing().is_some_and(|polls| polls.count == 1)).await;
    let first = failing().expect("it fails");
    assert_eq!(first.last, Miss::Unreadable { path: "$".into(), why: WHY.into() });
    world.until_true("the second", || failing().is_some_and(|polls| polls.count == 2)).await;
    assert_eq!(failing().map(|polls| polls.since), Some(first.since), "since when is the first of them");
    let now = world.handle(task).await;
    assert_eq!((now.phase(world.now()), now.version), (Phase::Running, version), "nothing is stored for it");
    server.becomes("t1", PollReply::working());
    world.until_true("it is seen", || failing().is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn tasks_whose_polls_take_long_and_fail_leave_a_slot_to_the_others_of_their_server() {
    let (world, server, id) = World::new().await;
    for number in 0..4 {
        server.reply_task("work", &format!("bad-{number}"), vec![too_large()]);
        world.call(id, "work").await;
    }
    server.takes(30 * SECOND);
    // The first polls of all four have failed, the second ones are under way.
    let reads = || (0..4).map(|number| server.reads(&format!("bad-{number}")).len()).sum::<usize>();
    world.until_true("each is polled again", || reads() >= 7).await;
    world.pass(5 * SECOND).await;
    assert_eq!(reads(), 7, "three of the four at a time");
    server.takes(Duration::ZERO);
    server.reply_task("work", "good", vec![PollReply::done()]);
    let good = world.call(id, "work").await;
    let begun = world.now();
    world.until_phase(good, Phase::Done).await;
    let took = world.now().since(begun);
    assert!(took < 10 * SECOND, "its first poll does not wait for those of the others: {took:?}");
}
