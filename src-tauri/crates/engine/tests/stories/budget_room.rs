//! Room in a window: what takes it, for whom, and that it is given once.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::payload::Payload;
use domain::task::status::Phase;
use domain::task::{HoldReason, TaskHandle};
use engine::{AgentCall, CallOutcome, Conversation, Passed};
use testkit::scripted::{PollReply, ScriptedServer};

use crate::agent_world::{call, plain, rule};
use crate::budget::{result, seen, sized};
use crate::scale::{Gate, Opens};
use crate::world::World;

/// Tokens that the window may have.
const LIMIT: u64 = 10_000;

/// A world in which the window of an agent has a limit.
async fn limited(at: LimitAction) -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.window_limit = Some(TokenLimit { tokens: LIMIT, at });
    world.rule(limits).await;
    world.until_up(id).await;
    (world, server, id, agent)
}

/// The same with two conversations of the agent: `full` has room for 1,000 tokens, `empty` talked last.
async fn in_two_conversations() -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    for session in ["full", "empty"] {
        world.engine.session_began(agent, Some(id), Some(session.into()), None);
    }
    world.engine.saw(seen(agent, (Some(id), Some("full")), result(9_000)));
    world.engine.saw(seen(agent, (Some(id), Some("empty")), result(1)));
    world.engine.flush_budget().await;
    (world, server, id, agent)
}

/// A result of so many tokens whose maker says that it has a good half of them, which can be true.
fn belittled(bytes: usize) -> String {
    let (text, said) = ("x".repeat(bytes), bytes * 3 / 5);
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"_meta":{{"usage":{{"output_tokens":{said}}}}}}}"#)
}

fn called_in(agent: AgentId, server: ServerId, session: &str) -> AgentCall {
    AgentCall { place: Some(Conversation::new(agent, Some(server), Some(session))), ..call(agent, server, "report") }
}

impl World {
    /// Why the result of a task was held, as soon as it is here.
    async fn hold(&self, task: HandleId) -> Option<HoldReason> {
        self.until(task, "over", |handle| handle.view.is_terminal()).await.hold.map(|hold| hold.why)
    }

    /// A task of the agent that brings this.
    async fn brings(&self, server: &ScriptedServer, call: AgentCall, name: &str, brought: &str) -> HandleId {
        server.reply_task(&call.tool, name, vec![PollReply::Completed(brought.to_owned())]);
        self.handle_of(call).await
    }
}

#[tokio::test(start_paused = true)]
async fn the_window_that_counts_is_that_of_the_conversation_that_called() {
    let (world, server, id, agent) = in_two_conversations().await;
    let brought = sized(3_000);
    let full = world.brings(&server, called_in(agent, id, "full"), "t1", &brought).await;
    let why = HoldReason::DoesNotFit { tokens: 3_000, free: 1_000 };
    assert_eq!(world.hold(full).await, Some(why), "though the other conversation talked last");
    let empty = world.brings(&server, called_in(agent, id, "empty"), "t2", &brought).await;
    assert_eq!(world.hold(empty).await, None, "there is room in the other");
    let unknown = world.brings(&server, call(agent, id, "report"), "t3", &brought).await;
    let held = world.hold(unknown).await;
    assert!(matches!(held, Some(HoldReason::DoesNotFit { .. })), "the fullest, where it is not known: {held:?}");
}

#[tokio::test(start_paused = true)]
async fn a_quick_result_is_held_for_the_conversation_that_called() {
    let (world, server, id, agent) = in_two_conversations().await;
    server.reply("report", Duration::ZERO, Ok(plain(&sized(3_000))));
    let landed = world.engine.agent_call(called_in(agent, id, "empty")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Result { .. }), "there is room: {landed:?}");
    server.reply("report", Duration::ZERO, Ok(plain(&sized(3_000))));
    let held = world.handle_of(called_in(agent, id, "full")).await;
    assert!(world.handle(held).await.hold.is_some(), "and there is none");
}

#[tokio::test(start_paused = true)]
async fn two_results_do_not_come_into_the_room_of_one() {
    let (mut world, server, id, agent) = limited(LimitAction::Hold).await;
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale();
    world.restart().await;
    world.until_up(id).await;
    let first = world.brings(&server, call(agent, id, "report"), "t1", &sized(6_000)).await;
    assert_eq!(world.hold(first).await, None, "it fits, however it is counted");
    let second = world.brings(&server, call(agent, id, "report"), "t2", &sized(6_000)).await;
    gate.open();
    let why = HoldReason::DoesNotFit { tokens: 6_000, free: 4_000 };
    assert_eq!(world.hold(second).await, Some(why), "the first has its room though nobody counted it yet");
}

#[tokio::test(start_paused = true)]
async fn what_passed_and_is_not_counted_yet_takes_room() {
    let (mut world, server, id, agent) = limited(LimitAction::Hold).await;
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale();
    world.restart().await;
    world.until_up(id).await;
    for _ in 0..4 {
        world.engine.saw(seen(agent, (Some(id), None), result(2_000)));
    }
    server.reply("report", Duration::ZERO, Ok(plain(&sized(3_000))));
    let calling = world.handle_of(call(agent, id, "report"));
    let opening = async {
        tokio::task::yield_now().await;
        gate.open();
    };
    let (task, ()) = tokio::join!(calling, opening);
    let why = world.handle(task).await.hold.map(|hold| hold.why);
    assert_eq!(why, Some(HoldReason::DoesNotFit { tokens: 3_000, free: 2_000 }), "as it was counted meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_full_window_keeps_no_small_result_out() {
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    world.engine.saw(seen(agent, (Some(id), None), result(12_000)));
    world.engine.flush_budget().await;
    server.reply("report", Duration::ZERO, Ok(plain(&sized(2))));
    let landed = world.engine.agent_call(call(agent, id, "report")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Result { .. }), "what would stand in its place is longer: {landed:?}");
    let task = world.brings(&server, call(agent, id, "report"), "t1", &sized(900)).await;
    assert_eq!(world.hold(task).await, None, "of a task, too");
    let large = world.brings(&server, call(agent, id, "report"), "t2", &sized(1_100)).await;
    assert_eq!(world.hold(large).await, Some(HoldReason::DoesNotFit { tokens: 1_100, free: 0 }), "a larger one waits");
}

#[tokio::test(start_paused = true)]
async fn what_makers_say_of_their_results_lifts_no_limit() {
    let (mut world, server, id, agent) = limited(LimitAction::Hold).await;
    let unread = world.brings(&server, call(agent, id, "report"), "t1", &belittled(6_000)).await;
    assert_eq!(world.hold(unread).await, None, "there is room");
    let counted = |handle: &TaskHandle| handle.tokens.is_some_and(|tokens| tokens.result == Some(3_600));
    world.until(unread, "counted, and shown as its maker says", counted).await;
    let second = world.brings(&server, call(agent, id, "report"), "t2", &belittled(6_000)).await;
    let why = HoldReason::DoesNotFit { tokens: 6_000, free: 4_000 };
    assert_eq!(world.hold(second).await, Some(why), "the one that waits to be read takes its true room");

    let read = Passed::Result(Payload::new(belittled(6_000)));
    world.engine.saw(engine::AgentTraffic { handle: Some(unread), ..seen(agent, (Some(id), None), read) });
    assert!(world.occupancy(agent).await.tokens < 6_000, "what is shown is what its maker says");
    world.restart().await;
    world.until_up(id).await;
    let third = world.brings(&server, call(agent, id, "later"), "t3", &belittled(6_000)).await;
    let held = world.hold(third).await;
    assert!(matches!(held, Some(HoldReason::DoesNotFit { .. })), "also in a window of an earlier run: {held:?}");
}

#[tokio::test(start_paused = true)]
async fn what_makers_say_of_their_results_lifts_no_limit_of_a_task() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.task_limit = Some(TokenLimit { tokens: 1_000, at: LimitAction::Ask });
    world.rule(limits).await;
    let task = world.brings(&server, call(agent, id, "report"), "t1", &belittled(6_000)).await;
    let handle = world.until(task, "past its limit", |handle: &TaskHandle| handle.over_limit.is_some()).await;
    assert!(handle.over_limit.as_ref().is_some_and(|over| over.tokens >= 6_000), "by what it brought");
    assert_eq!((handle.phase(world.now()), handle.asks_to_go_on()), (Phase::Done, false), "told of, not asked about");
}
