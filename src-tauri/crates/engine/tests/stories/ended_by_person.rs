//! Tasks that are lost because a person ended the process of their server: who did is on record, and nobody is needed.

use std::time::Duration;

use domain::policy::Policy;
use domain::ports::CallReply;
use domain::server::ServerAct;
use domain::task::Attention;
use domain::task::figures::{Figure, Figures};
use domain::task::status::{Contact, GoneWhy, Phase};
use testkit::build::{http_server, person, stdio_server};
use testkit::scripted::{EngineAction, PollReply, ScriptedServer, killed, payload};

use crate::agent_world::call as agents_call;
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

/// A local server whose tasks end with its process.
async fn with_a_local_server() -> (World, ScriptedServer, domain::ids::ServerId) {
    let clock = std::sync::Arc::new(testkit::clock::TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.child_per_connection();
    let (world, id) = World::prepared(stdio_server(1, "files"), Policy::default(), clock, &server).await;
    (world, server, id)
}

/// How many tasks need a person, by the registry's own count.
async fn needing(world: &World) -> u64 {
    Figures::of(&world.registry.tallies().await.expect("tasks are counted")).count(Figure::NeedsYou)
}

/// How many calls the server has.
fn sent(server: &ScriptedServer) -> usize {
    server.times(|act| matches!(act, EngineAction::Call { .. })).len()
}

fn problems(world: &World) -> usize {
    world.notifier.told().iter().filter(|notice| notice.attention == Attention::Problem).count()
}

#[tokio::test(start_paused = true)]
async fn a_task_and_a_call_in_flight_are_lost_and_settled_when_a_person_ends_the_process() {
    let (world, server, id) = with_a_local_server().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"])]);
    for _ in 0..2 {
        server.reply("slow", 3_600 * SECOND, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
    }
    let task = world.call(id, "work").await;
    let call = world.call(id, "slow").await;
    let agent = world.agent(1).await;
    let agents = world.handle_of(agents_call(agent, id, "slow")).await;
    world.until_phase(task, Phase::Waiting).await;
    world.until_true("all calls are sent", || sent(&server) == 3).await;
    world.act_on(id, ServerAct::End).await;
    for handle in [task, call, agents] {
        let ended = world.until_phase(handle, Phase::Lost).await;
        let Contact::Gone { why: GoneWhy::EndedByPerson { by, act }, .. } = &ended.contact else {
            panic!("the row says who ended it: {:?}", ended.contact)
        };
        assert_eq!((by.to_string().as_str(), *act), ("ada", ServerAct::End));
    }
    world.pass(60 * SECOND).await;
    assert_eq!(needing(&world).await, 0, "nobody is needed for what a person ended");
    assert_eq!(problems(&world), 0, "and nobody is told of a problem");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_restarted_process_does_not_know_is_lost_by_the_restart() {
    let (world, server, id) = with_a_local_server().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.until(task, "a task", |handle| handle.view.task().is_some()).await;
    server.forget_all();
    world.act_on(id, ServerAct::Restart).await;
    let ended = world.until_phase(task, Phase::Lost).await;
    assert!(
        matches!(&ended.contact, Contact::Gone { why: GoneWhy::EndedByPerson { act: ServerAct::Restart, .. }, .. }),
        "{:?}",
        ended.contact
    );
    assert_eq!((needing(&world).await, problems(&world)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_to_cancel_is_settled_when_a_person_ends_its_server_and_not_when_the_process_dies() {
    for ends in [true, false] {
        let (world, server, id) = with_a_local_server().await;
        server.reply_task("work", "t1", vec![PollReply::working()]);
        server.reply("slow", 3_600 * SECOND, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
        let task = world.call(id, "work").await;
        let call = world.call(id, "slow").await;
        world.until(task, "a task", |handle| handle.view.task().is_some()).await;
        world.until_true("both calls are sent", || sent(&server) == 2).await;
        for handle in [task, call] {
            world.engine.cancel(handle, person("ada"), None).await.expect("it runs");
        }
        if ends {
            world.act_on(id, ServerAct::End).await;
            world.until_phase(call, Phase::Lost).await;
        } else {
            server.forget_all();
            server.close_connection(killed());
        }
        world.until_phase(task, Phase::Lost).await;
        assert_eq!(needing(&world).await == 0, ends, "what nobody ended is for people to look at");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_runs_elsewhere_is_still_not_confirmed_after_a_restart() {
    let (world, server, id) = World::with(http_server(1, "one"), Policy::default()).await;
    server.reply("slow", 3_600 * SECOND, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
    let call = world.call(id, "slow").await;
    world.until_true("the call is sent", || sent(&server) == 1).await;
    world.act_on(id, ServerAct::Restart).await;
    world.until_phase(call, Phase::Unconfirmed).await;
    assert_eq!(needing(&world).await, 1, "it may go on there, and nobody here can know");
}
