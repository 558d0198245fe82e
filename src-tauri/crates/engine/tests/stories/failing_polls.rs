//! Polls of one task that fail: people see why, and the other tasks of its server are polled as before.

use std::time::Duration;

use domain::ports::UpstreamError;
use domain::task::status::Phase;
use testkit::scripted::PollReply;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const WHY: &str = "the answer has more than 16777216 bytes";

fn too_large() -> PollReply {
    PollReply::Error(UpstreamError::Unreadable { path: "$".into(), why: WHY.into(), raw: None })
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
