//! Counting results for their limits, when one agent has many: nobody else waits for them, and nobody for ever.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::AgentId;
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::{HoldReason, ResultForm, TaskHandle};
use engine::CallOutcome;

use crate::agent_world::{call, plain, rule};
use crate::budget::sized;
use crate::scale::{Gate, Opens};
use crate::world::World;

const LIMIT: u64 = 1_000;

/// Turns of the runtime that something may take. The clock stands still while a thread counts.
const TURNS_MAX: usize = 100_000;

impl World {
    async fn limit_results(&self, agent: AgentId) {
        let mut limits = rule(RuleScope::Agent(agent));
        limits.result_limit = Some(TokenLimit { tokens: LIMIT, at: LimitAction::Hold });
        self.rule(limits).await;
    }

    /// The tasks whose results are held, as soon as there are so many.
    async fn until_held(&self, count: usize) -> Vec<TaskHandle> {
        for _ in 0..TURNS_MAX {
            let mut all = self.all().await;
            all.retain(|handle| handle.hold.is_some());
            if all.len() >= count {
                return all;
            }
            tokio::task::yield_now().await;
        }
        panic!("{count} results are never held; there is {:#?}", self.all().await);
    }
}

/// Waits until so many results are being counted.
async fn until_counting(gate: &Gate, count: usize) {
    for _ in 0..TURNS_MAX {
        if gate.waiting() >= count {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{} of {count} results are being counted", gate.waiting());
}

#[tokio::test(start_paused = true)]
async fn large_results_of_one_agent_hold_up_no_other_and_are_held_by_their_bytes_when_their_turn_is_late() {
    let (mut world, server, id) = World::new().await;
    let (busy, other) = (world.agent(1).await, world.agent(2).await);
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale_of_results_beyond(4_000);
    world.restart().await;
    world.until_up(id).await;
    for agent in [busy, other] {
        world.limit_results(agent).await;
    }
    let large = sized(5_000);
    let calls: Vec<_> = (0..5)
        .map(|_| {
            server.reply("report", Duration::ZERO, Ok(plain(&large)));
            world.begin(call(busy, id, "report"))
        })
        .collect();
    until_counting(&gate, 1).await;
    let text = sized(990);
    assert!(u64::try_from(text.len()).is_ok_and(|bytes| bytes > LIMIT), "it has to be counted");
    server.reply("small", Duration::ZERO, Ok(plain(&text)));
    let small = world.handle(world.handle_of(call(other, id, "small")).await).await;
    assert_eq!(
        (small.form(), small.hold),
        (Some(ResultForm::Whole), None),
        "within its limit its agent gets it at once"
    );
    assert_eq!(gate.waiting(), 1, "of the busy agent one result is counted at a time");

    tokio::time::advance(world.policy.counting.result_wait).await;
    let bytes = u64::try_from(large.len()).expect("it is small");
    let late = world.until_held(4).await;
    for handle in &late {
        let why = handle.hold.as_ref().map(|hold| hold.why);
        assert_eq!(why, Some(HoldReason::TooLarge { tokens: bytes, limit: LIMIT }), "one token a byte");
    }
    // Beside it, those that were held by their bytes are counted for their figures.
    assert!(gate.waiting() >= 1, "the first is still being counted");
    gate.open();
    for begun in calls {
        let landed = begun.await.expect("nobody hung up").expect("the call is made");
        let CallOutcome::Handle(task) = landed else { panic!("it has a row: {landed:?}") };
        let counted = |handle: &TaskHandle| handle.tokens.is_some_and(|tokens| tokens.result == Some(5_000));
        let handle = world.until(task, "counted", counted).await;
        assert!(handle.hold.is_some(), "each is held, and its figure is exact in the end");
    }
}
