//! What is kept out of windows, and what is about to come into them: nothing is booked as both, and nothing twice.

use std::time::Duration;

use domain::budget::waste::Waste;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::payload::Payload;
use domain::task::{ResultForm, TaskHandle};
use engine::{AgentTraffic, Passed, PendingResultState};
use testkit::build::person;
use testkit::scripted::{PollReply, ScriptedServer};

use crate::agent_world::{call, rule};
use crate::budget::{result, seen, sized};
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

/// A world with results of 5,000 tokens that are over a limit.
async fn limited(at: LimitAction) -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.result_limit = Some(TokenLimit { tokens: 1_000, at });
    world.rule(limits).await;
    world.until_up(id).await;
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    (world, server, id, agent)
}

/// The agent sees something of its task in a session.
fn sees(world: &World, (agent, id): (AgentId, ServerId), session: &str, task: HandleId, what: Passed) {
    world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), Some(session)), what) });
}

/// A task object with these words.
fn status(words: &str) -> Payload {
    Payload::new(format!(r#"{{"taskId":"t1","statusMessage":"{words}"}}"#))
}

impl World {
    /// What its window says that tasks kept out, and what the task says that was said on the way.
    async fn kept(&self, agent: AgentId, task: HandleId) -> (u64, u64) {
        let budget = self.budget(agent).await;
        let interim = self.handle(task).await.tokens.map_or(0, |tokens| tokens.interim);
        (budget.now.map_or(0, |window| window.kept_out.tokens), interim)
    }

    /// What is about to come in for an agent.
    async fn coming(&self, agent: AgentId) -> Vec<(PendingResultState, Option<u64>)> {
        let coming = self.budget(agent).await.coming;
        coming.iter().map(|one| (one.state, one.tokens.map(|count| count.tokens))).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn words_of_a_task_that_its_agent_reads_are_not_kept_out() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::says("half")]);
    let task = world.handle_of(call(agent, id, "index")).await;
    sees(&world, (agent, id), "s1", task, Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#)));
    let says = |words: &'static str| move |handle: &TaskHandle| message(handle) == Some(words);
    world.until(task, "half", says("half")).await;
    assert_eq!(world.kept(agent, task).await, (0, 0), "its agent can still read it");
    let look = Passed::Look { said: status("half"), empty: false, hasty: false };
    sees(&world, (agent, id), "s1", task, look);
    server.becomes("t1", PollReply::says("nearly"));
    world.until(task, "nearly", says("nearly")).await;
    assert_eq!(world.kept(agent, task).await, (0, 0), "it read the one, and can still read the other");
    server.becomes("t1", PollReply::Completed(sized(500)));
    world.until(task, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
    assert_eq!(world.kept(agent, task).await, (6, 6), "nobody can read the other any more");
}

#[tokio::test(start_paused = true)]
async fn a_word_that_nobody_read_before_a_restart_is_kept_out_when_nobody_reads_it_after() {
    for (is_read, kept) in [(false, 4), (true, 0)] {
        let (mut world, server, id) = World::new().await;
        let agent = world.agent(1).await;
        server.reply_task("index", "t1", vec![PollReply::says("half")]);
        let task = world.handle_of(call(agent, id, "index")).await;
        let says = |words: &'static str| move |handle: &TaskHandle| message(handle) == Some(words);
        sees(&world, (agent, id), "s1", task, Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#)));
        world.until(task, "half", says("half")).await;
        world.engine.flush_budget().await;
        world.restart().await;
        if is_read {
            let look = Passed::Look { said: status("half"), empty: false, hasty: false };
            sees(&world, (agent, id), "s1", task, look);
        }
        assert_eq!(world.kept(agent, task).await, (0, 0), "its agent can still read it");
        server.becomes("t1", PollReply::says("nearly"));
        world.until(task, "nearly", says("nearly")).await;
        assert_eq!(world.kept(agent, task).await, (kept, kept), "read: {is_read}");
    }
}

fn message(handle: &TaskHandle) -> Option<&str> {
    handle.view.task().and_then(|task| task.message.as_deref())
}

#[tokio::test(start_paused = true)]
async fn a_result_read_in_slices_to_its_end_is_not_expected_any_more() {
    let (mut world, server, id, agent) = limited(LimitAction::Hold).await;
    server.reply_task("report", "t1", vec![PollReply::Completed(sized(5_000))]);
    let task = world.handle_of(call(agent, id, "report")).await;
    world.until(task, "over", |handle| handle.view.is_terminal()).await;
    // The short result brought the first 1,000 tokens; the slices say where it goes on.
    sees(&world, (agent, id), "s1", task, Passed::Handle(Payload::new(sized(1_000))));
    let slice = || Passed::Slice(Payload::new(sized(2_000)));
    sees(&world, (agent, id), "s1", task, slice());
    assert_eq!(world.coming(agent).await, [(PendingResultState::Slices, Some(3_000))], "half of it is read");
    world.restart().await;
    assert_eq!(world.coming(agent).await, [(PendingResultState::Slices, Some(3_000))], "also after a restart");
    sees(&world, (agent, id), "s1", task, slice());
    assert_eq!(world.coming(agent).await, [], "it was read to its end");
    world.restart().await;
    assert_eq!(world.coming(agent).await, [], "also after a restart");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_person_keeps_back_is_not_blamed_on_its_agent() {
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    server.reply_task("report", "t1", vec![PollReply::Completed(sized(5_000))]);
    let task = world.handle_of(call(agent, id, "report")).await;
    sees(&world, (agent, id), "s1", task, Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#)));
    world.until(task, "held", TaskHandle::is_held).await;
    world.engine.session_began(agent, Some(id), Some("s2".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s2")), result(1)));
    world.pass(20 * MINUTE).await;
    world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    assert_eq!(
        world.coming(agent).await,
        [(PendingResultState::Held, Some(5_000))],
        "it waits for a person, not for its agent"
    );
    assert_eq!(world.wasted(agent).await.get(&Waste::UnreadResult), None, "so nothing was left unread");
    world.engine.release(task, person("ada"), Some(ResultForm::Whole), None).await.expect("it is held");
    assert_eq!(world.coming(agent).await, [(PendingResultState::Ready, Some(5_000))], "it comes with the next look");
    world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    assert_eq!(world.coming(agent).await, [], "now its agent could have read it");
    assert_eq!(world.wasted(agent).await.get(&Waste::UnreadResult), Some(&1), "and did not");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_goes_on_after_a_break_still_says_what_was_kept_out_of_it() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::Completed(sized(500))]);
    let task = world.handle_of(call(agent, id, "index")).await;
    world.pass(2 * MINUTE).await;
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    sees(&world, (agent, id), "s1", task, Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#)));
    world.until(task, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
    world.engine.session_began(agent, Some(id), Some("s2".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s2")), result(1)));
    world.pass(20 * MINUTE).await;
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(1)));
    let window = world.budget(agent).await.now.expect("there is a window");
    assert_eq!((window.occupancy().tokens, window.kept_out.tokens), (16, 500), "the result that was not read in time");
}
