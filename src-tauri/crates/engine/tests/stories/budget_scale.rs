//! What a scale that fails or is not exact costs: exactness, never a count and never a limit.

use std::time::Duration;

use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::HoldReason;
use domain::task::status::Phase;
use domain::tokens::{Count, Exactness};

use crate::agent_world::{call, plain, rule};
use crate::budget::{result, seen, sized};
use crate::scale::fragile;
use crate::world::World;

#[tokio::test(start_paused = true)]
async fn a_scale_that_fails_leaves_upper_bounds_and_goes_on_counting() {
    let (mut world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    world.scale = fragile(1_000, 0);
    world.restart().await;
    world.engine.saw(seen(agent, (Some(id), None), result(2_000)));
    let bound = u64::try_from(sized(2_000).len()).expect("it is small");
    let occupancy = world.occupancy(agent).await;
    assert_eq!(occupancy, Count { tokens: bound, exactness: Exactness::AtMost }, "a byte is at most a token");
    world.engine.saw(seen(agent, (Some(id), None), result(10)));
    assert_eq!(world.occupancy(agent).await.tokens, bound + 10, "what comes after is counted again");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_weighed_is_held_by_its_bytes() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.scale = fragile(1_000, 0);
    world.restart().await;
    world.until_up(id).await;
    let mut limits = rule(RuleScope::Server(id));
    limits.result_limit = Some(TokenLimit { tokens: 1_500, at: LimitAction::Ask });
    world.rule(limits).await;
    server.reply("report", Duration::ZERO, Ok(plain(&sized(2_000))));
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.handle(task).await;
    let bytes = u64::try_from(sized(2_000).len()).expect("it is small");
    let why = handle.hold.map(|hold| hold.why);
    assert_eq!(why, Some(HoldReason::TooLarge { tokens: bytes, limit: 1_500 }), "nothing slips through");
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_held_against_its_limit_with_its_error_on_top() {
    for (error, held) in [(0, None), (20, Some(HoldReason::TooLarge { tokens: 113, limit: 100 }))] {
        let (mut world, server, id) = World::new().await;
        let agent = world.agent(1).await;
        world.scale = fragile(1_000, error);
        world.restart().await;
        world.until_up(id).await;
        let mut limits = rule(RuleScope::Server(id));
        limits.result_limit = Some(TokenLimit { tokens: 100, at: LimitAction::Hold });
        world.rule(limits).await;
        server.reply("report", Duration::from_secs(1), Ok(plain(&sized(90))));
        let task = world.handle_of(call(agent, id, "report")).await;
        let done = world.until_phase(task, Phase::Done).await;
        let why = done.hold.map(|hold| hold.why);
        assert_eq!(why, held, "90 tokens may be 113 where counts are wrong by {error} % of the truth");
    }
}

#[tokio::test(start_paused = true)]
async fn a_window_and_a_task_are_held_to_their_limits_with_the_error_on_top() {
    for (error, held) in [(0, None), (20, Some(HoldReason::DoesNotFit { tokens: 2_500, free: 0 }))] {
        let (mut world, server, id) = World::new().await;
        let agent = world.agent(1).await;
        world.scale = fragile(100_000, error);
        world.restart().await;
        world.until_up(id).await;
        let mut limits = rule(RuleScope::Agent(agent));
        limits.window_limit = Some(TokenLimit { tokens: 10_000, at: LimitAction::Hold });
        limits.task_limit = Some(TokenLimit { tokens: 2_200, at: LimitAction::Warn });
        world.rule(limits).await;
        world.engine.saw(seen(agent, (Some(id), None), result(8_000)));
        world.engine.flush_budget().await;
        server.reply("report", Duration::from_secs(1), Ok(plain(&sized(2_000))));
        let task = world.handle_of(call(agent, id, "report")).await;
        let done = world.until_phase(task, Phase::Done).await;
        let why = done.hold.map(|hold| hold.why);
        assert_eq!(why, held, "8,000 in the window may be 10,000 where counts are wrong by {error} % of the truth");
        world.engine.flush_budget().await;
        let over = world.handle(task).await.over_limit;
        assert_eq!(over.is_some(), error > 0, "and 2,000 of a task 2,500: {over:?}");
    }
}
