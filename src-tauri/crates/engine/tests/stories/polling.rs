//! Polling: hints, pushes, silence, and reconnecting.

use std::time::Duration;

use domain::ids::UpstreamTaskId;
use domain::policy::Policy;
use domain::ports::{UpstreamError, UpstreamEvent};
use domain::server::ServerHealth;
use domain::task::status::{Contact, GoneWhy, Phase};
use testkit::build::{http_server, person, stdio_server};
use testkit::scripted::{EngineAction, PollReply, ScriptedServer, hung_up, killed, unreachable};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

fn gaps(times: &[domain::time::Timestamp]) -> Vec<Duration> {
    times.windows(2).map(|pair| pair[1].since(pair[0])).collect()
}

#[tokio::test(start_paused = true)]
async fn a_hint_is_never_shortened() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 7 * SECOND);
    world.call(id, "work").await;
    world.pass(120 * SECOND).await;
    let again = UpstreamEvent::PollSoon(UpstreamTaskId::new("t1"));
    assert!(server.say(again), "the server asks for a look");
    world.pass(120 * SECOND).await;
    let gaps = gaps(&server.reads("t1"));
    assert!(gaps.len() > 20, "it is looked at every few seconds: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap >= 7 * SECOND), "no look comes before the hint allows: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= 8 * SECOND), "and none much later: {gaps:?}");
    let before = server.reads("t1").len();
    server.hint("t1", 60 * SECOND);
    world.pass(600 * SECOND).await;
    // The look that brings the new hint still came by the old one.
    let changed = &server.reads("t1")[before..];
    let gaps = self::gaps(changed);
    assert!(gaps.len() >= 8, "it is still looked at: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap >= 60 * SECOND), "a changed hint holds from the very next look: {gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hint_that_comes_with_news_counts_from_that_look_on() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", SECOND);
    world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.becomes("t1", PollReply::says("slower now"));
    server.hint("t1", 30 * SECOND);
    server.clear_acts();
    world.pass(300 * SECOND).await;
    let gaps = gaps(&server.reads("t1"));
    assert!(gaps.iter().all(|gap| *gap >= 30 * SECOND), "the longer hint is obeyed at once: {gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn an_absurdly_short_hint_does_not_make_us_a_burden() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", Duration::ZERO);
    world.call(id, "work").await;
    world.pass(60 * SECOND).await;
    let reads = server.reads("t1").len();
    assert!(reads <= 600, "ten looks a second are the most: {reads}");
}

#[tokio::test(start_paused = true)]
async fn without_a_hint_looks_grow_rarer() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    world.call(id, "work").await;
    world.pass(1_800 * SECOND).await;
    let gaps = gaps(&server.reads("t1"));
    assert!(gaps[1] <= 12 * SECOND, "it begins with seconds: {gaps:?}");
    let last = gaps.last().copied().unwrap_or_default();
    assert!((48 * SECOND..=73 * SECOND).contains(&last), "and ends with a minute: {gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn unchanged_looks_commit_nothing() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(30 * SECOND).await;
    let before = world.handle(task).await.version;
    let reads = server.reads("t1").len();
    world.pass(600 * SECOND).await;
    assert!(server.reads("t1").len() > reads + 5, "it was looked at");
    let handle = world.handle(task).await;
    assert_eq!(handle.version, before, "and nothing was committed");
    let age = world.now().since(handle.contact.seen());
    assert!(age < 90 * SECOND, "but when it was last heard of is kept: {age:?}");
    let live = world.engine.live(task).expect("it is open");
    assert!(live.next_poll.is_some_and(|at| at > world.now()), "and when it is looked at next is known");
}

#[tokio::test(start_paused = true)]
async fn at_most_four_reads_are_under_way_at_one_server() {
    let (world, server, id) = World::new().await;
    for number in 0..50 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    server.takes(SECOND / 2);
    world.pass(60 * SECOND).await;
    assert_eq!(server.most_reads(), 4, "four at a time, and all four are used");
}

#[tokio::test(start_paused = true)]
async fn a_server_with_very_many_tasks_does_not_delay_another() {
    let policy = Policy { open_calls_per_server: 100_000, reads_total: 8, ..Policy::default() };
    let (world, busy, id) = World::with(http_server(1, "busy"), policy).await;
    let calm = ScriptedServer::new(world.clock.clone());
    let other = http_server(2, "calm");
    world.scripted.serve(other.id, &calm);
    world
        .registry
        .put_server(domain::ports::ServerUnit { server: other.clone(), audit: Vec::new() })
        .await
        .expect("a server is added");
    world.engine.server_changed(other.id).await.expect("it is followed");
    for number in 0..2_000 {
        busy.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    calm.reply_task("work", "c", vec![PollReply::working()]);
    calm.hint("c", 5 * SECOND);
    world.call(other.id, "work").await;
    // The busy server can never be on time: each read takes a second, and there are 2,000 to do every few.
    busy.takes(SECOND);
    world.pass(20 * SECOND).await;
    calm.clear_acts();
    world.pass(300 * SECOND).await;
    let gaps = gaps(&calm.reads("c"));
    assert!(gaps.len() > 45, "the calm server's task is looked at on time: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap < 7 * SECOND), "no look waits more than one read of the other: {gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_slow_down_is_left_alone_for_that_long() {
    let (world, server, id) = World::new().await;
    for number in 0..5 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    world.pass(20 * SECOND).await;
    server.fail_reads([UpstreamError::RateLimited { after: Some(90 * SECOND) }]);
    server.clear_acts();
    let limited = loop {
        if let Some(at) = server.times(|act| matches!(act, EngineAction::Read(_))).first() {
            break *at;
        }
        world.pass(SECOND / 10).await;
    };
    world.pass(300 * SECOND).await;
    let reads = server.times(|act| matches!(act, EngineAction::Read(_)));
    let early: Vec<_> =
        reads.iter().filter(|at| **at > limited.plus(SECOND) && **at < limited.plus(90 * SECOND)).collect();
    assert!(early.is_empty(), "nothing was read before the server allowed it: {early:?}");
    assert!(reads.len() > 5, "and then everything was");
    assert_eq!(world.engine.health(id).word(), "up", "a server that answers is up");
}

#[tokio::test(start_paused = true)]
async fn a_pushed_change_is_seen_without_a_look() {
    let (world, server, id) = World::new().await;
    server.accepts_subscriptions();
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    let reads = server.reads("t1").len();
    let begun = world.now();
    assert!(server.push("t1", &PollReply::asks(&["k"])), "there is a connection");
    world.until_phase(task, Phase::Waiting).await;
    assert!(world.now().since(begun) < SECOND / 10, "within a tenth of a second");
    assert_eq!(server.reads("t1").len(), reads, "without a look of ours");
}

#[tokio::test(start_paused = true)]
async fn a_subscribed_task_is_polled_rarely() {
    let (world, server, id) = World::new().await;
    server.accepts_subscriptions();
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 2 * SECOND);
    world.call(id, "work").await;
    world.pass(20 * SECOND).await;
    server.clear_acts();
    world.pass(600 * SECOND).await;
    let reads = server.reads("t1").len();
    assert!((8..=14).contains(&reads), "about one safety look a minute: {reads}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_looks_gets_none_before_its_own_hint() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 20 * SECOND);
    world.call(id, "work").await;
    world.pass(60 * SECOND).await;
    server.clear_acts();
    for _ in 0..120 {
        server.say(UpstreamEvent::PollSoon(UpstreamTaskId::new("t1")));
        world.pass(SECOND).await;
    }
    let reads = server.reads("t1");
    assert!(reads.len() >= 5, "it is looked at as soon as the hint allows: {reads:?}");
    let early = reads.windows(2).filter(|pair| pair[1].since(pair[0]) < 20 * SECOND).count();
    assert_eq!(early, 0, "never earlier: {reads:?}");
}

#[tokio::test(start_paused = true)]
async fn a_down_server_keeps_the_moment_of_its_outage_and_is_tried_when_somebody_acts() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    let died = world.now();
    world.pass(600 * SECOND).await;
    let down = |health: &ServerHealth| match health {
        ServerHealth::Down { since, .. } => Some(*since),
        ServerHealth::Unknown
        | ServerHealth::Connecting
        | ServerHealth::Up { .. }
        | ServerHealth::Ended { .. }
        | ServerHealth::Blocked { .. } => None,
    };
    let since = down(&world.engine.health(id)).expect("it is down");
    assert!(since.since(died) < SECOND, "since its first moment, not its last attempt");
    let tries = server.times(|act| matches!(act, EngineAction::Connect));
    let waits: Vec<_> = tries.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(waits.iter().all(|wait| *wait <= 31 * SECOND), "somebody waits for its task: {waits:?}");
    world.until_true("waiting again", || down(&world.engine.health(id)).is_some()).await;
    world.pass(2 * SECOND).await;
    server.refuse_connections(None);
    let asked = world.now();
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.until_up(id).await;
    assert!(world.now().since(asked) <= 2 * SECOND, "a person's act does not wait for the back-off");
}

#[tokio::test(start_paused = true)]
async fn a_pushed_end_brings_its_result() {
    let (world, server, id) = World::new().await;
    server.accepts_subscriptions();
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    // The push says only that it ended; the look that follows brings what it ended with.
    server.becomes("t1", PollReply::done());
    server.say(UpstreamEvent::PollSoon(UpstreamTaskId::new("t1")));
    world.until_phase(task, Phase::Done).await;
    assert!(world.result(task).await.is_some(), "the result is here together with the end");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_leaves_its_tasks_silent_and_then_live_again() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 5 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(30 * SECOND).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    let died = world.now();
    let silent = world.until_phase(task, Phase::Silent).await;
    assert!(world.now().since(died) >= 10 * SECOND, "three intervals without news come first");
    assert!(matches!(silent.contact, Contact::Silent { since, .. } if since <= died), "with the last thing seen");
    assert!(matches!(world.engine.health(id), ServerHealth::Down { retry_at: Some(_), .. }), "and the server is down");
    let version = silent.version;
    world.pass(600 * SECOND).await;
    assert_eq!(world.handle(task).await.version, version, "misses that say nothing new are not commits");
    server.refuse_connections(None);
    world.until_phase(task, Phase::Running).await;
    server.becomes("t1", PollReply::done());
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_reads_is_down_and_comes_back() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", SECOND);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.fail_reads(std::iter::repeat_n(unreachable(), 6));
    world.until_true("down", || matches!(world.engine.health(id), ServerHealth::Down { .. })).await;
    world.until_up(id).await;
    server.becomes("t1", PollReply::done());
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_killed_child_is_lost_with_that_reason_when_the_new_child_does_not_know_it() {
    let clock = std::sync::Arc::new(testkit::clock::TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.child_per_connection();
    let (world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.forget_all();
    server.close_connection(killed());
    let lost = world.until_phase(task, Phase::Lost).await;
    let Contact::Gone { why: GoneWhy::ProcessEnded(why), .. } = &lost.contact else {
        panic!("it ended with its process: {:?}", lost.contact)
    };
    assert!(why.contains("killed"), "with what is known of the end: {why}");
    assert_eq!(server.reads("t1").len(), 1 + reads_before_kill(&server), "one look by id was owed to the new child");
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_modern_child_ends_with_it_too() {
    let (world, server, id) = World::with(stdio_server(1, "one"), Policy::default()).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.forget_all();
    server.close_connection(killed());
    let lost = world.until_phase(task, Phase::Lost).await;
    assert!(matches!(lost.contact, Contact::Gone { why: GoneWhy::ProcessEnded(_), .. }), "{:?}", lost.contact);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_gone_leaves_its_tasks_silent_until_it_can_be_asked() {
    let (world, server, id) = World::with(stdio_server(1, "one"), Policy::default()).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 2 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.forget_all();
    server.refuse_connections(Some(unreachable()));
    server.close_connection(killed());
    world.until_phase(task, Phase::Silent).await;
    world.pass(3_600 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Silent, "nobody can know yet what became of it");
    server.refuse_connections(None);
    world.until_phase(task, Phase::Lost).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_flaps_is_connected_to_ever_more_rarely() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    for _ in 0..12 {
        world.until_up(id).await;
        server.close_connection(hung_up());
        world.until_true("down", || matches!(world.engine.health(id), ServerHealth::Down { .. })).await;
    }
    let gaps = gaps(&server.times(|act| *act == EngineAction::Connect));
    assert!(gaps.last().is_some_and(|gap| *gap >= 200 * SECOND), "the wait grows to minutes: {gaps:?}");
    world.until_up(id).await;
    world.pass(3_600 * SECOND).await;
    server.clear_acts();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    assert_eq!(
        server.times(|act| *act == EngineAction::Connect).len(),
        1,
        "a connection that lasted is taken up at once"
    );
}

fn reads_before_kill(server: &ScriptedServer) -> usize {
    let connects = server.times(|act| matches!(act, EngineAction::Connect));
    let last = connects.last().copied().expect("it was connected");
    server.reads("t1").iter().filter(|at| **at < last).count()
}

#[tokio::test(start_paused = true)]
async fn a_task_that_survived_its_child_is_followed_on() {
    let clock = std::sync::Arc::new(testkit::clock::TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.child_per_connection();
    let (world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.close_connection(killed());
    world.pass(60 * SECOND).await;
    server.becomes("t1", PollReply::done());
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn another_task_under_the_id_of_a_dead_child_is_never_stopped() {
    let clock = std::sync::Arc::new(testkit::clock::TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.child_per_connection();
    let (world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(3_600 * SECOND).await;
    server.takes(10 * SECOND);
    server.close_connection(killed());
    // The new child gives the same id to a task of somebody else.
    server.plan("t1", vec![PollReply::working()]);
    world.engine.cancel(task, person("ada"), None).await.expect("a stop is recorded");
    world.until_phase(task, Phase::Lost).await;
    world.pass(600 * SECOND).await;
    let cancels = server.times(|act| matches!(act, EngineAction::Cancel(_)));
    assert!(cancels.is_empty(), "a stop by an id that means another task never leaves: {cancels:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_the_server_does_not_know_is_looked_for_a_few_times_and_then_lost() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.clear_acts();
    server.forget("t1");
    let lost = world.until_phase(task, Phase::Lost).await;
    assert!(matches!(lost.contact, Contact::Gone { why: GoneWhy::Unknown, .. }), "{:?}", lost.contact);
    assert_eq!(server.reads("t1").len(), 3, "it was tried a few times");
    world.pass(600 * SECOND).await;
    assert_eq!(server.reads("t1").len(), 3, "and not any more after that");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_a_restarted_server_forgot_is_lost_within_seconds_of_its_return() {
    let (world, server, id) = World::new().await;
    server.accepts_subscriptions();
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.forget_all();
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    world.pass(1_800 * SECOND).await;
    server.refuse_connections(None);
    world.until_up(id).await;
    let back = world.now();
    world.until_phase(task, Phase::Lost).await;
    let took = world.now().since(back);
    // Two waits of the interval it had by then (11.25 s), each a fifth longer at most by chance.
    assert!(took <= 28 * SECOND, "three looks with a growing wait between them: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_a_sign_in_blocks_its_tasks_until_it_is_there() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.fail_reads([UpstreamError::Unauthorized { why: "the token expired".into(), hint: "Sign in.".into() }]);
    world.until_phase(task, Phase::Blocked).await;
    assert_eq!(world.engine.health(id).word(), "blocked");
    world.until_phase(task, Phase::Running).await;
    assert_eq!(world.engine.health(id).word(), "up", "a server that answers again is up again");
}
