//! Limits of tokens: what is over one is held in the commit that brings it, whichever way it comes.

use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::{CountingPolicy, Policy};
use domain::ports::{CallError, CallReply};
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::payload::Payload;
use domain::task::status::{Phase, RpcError};
use domain::task::{AgentView, HoldReason, ResultForm, TaskHandle, agent_view};
use engine::{CallOutcome, PendingResultState};
use testkit::build::{http_server, person};
use testkit::scripted::{EngineAction, PollReply, ScriptedServer};

use crate::agent_world::{call, plain, rule};
use crate::budget::{result, seen, sized};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const LIMIT: u64 = 1_000;

/// A world in which results of an agent may have so many tokens, and figures are committed with results alone.
async fn limited(at: LimitAction) -> (World, ScriptedServer, ServerId, AgentId) {
    let counting = CountingPolicy { task_every: Duration::from_secs(3_600), ..CountingPolicy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), Policy { counting, ..Policy::default() }).await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.result_limit = Some(TokenLimit { tokens: LIMIT, at });
    world.rule(limits).await;
    world.until_up(id).await;
    world.engine.session_began(agent, Some(id), None, None);
    (world, server, id, agent)
}

fn large() -> String {
    sized(5_000)
}

impl World {
    /// The task once its result is here, which must have come held, with its size, in one commit after `before`.
    async fn held_at_once(&self, id: HandleId, before: u64) -> TaskHandle {
        let handle = self.until(id, "over", |handle| handle.view.is_terminal()).await;
        assert_eq!(handle.version, before + 1, "the result and its hold are one commit");
        let hold = handle.hold.clone().expect("it is held");
        assert_eq!(hold.why, HoldReason::TooLarge { tokens: 5_000, limit: LIMIT });
        assert_eq!(handle.tokens.and_then(|tokens| tokens.result), Some(5_000), "with its size");
        handle
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_result_over_its_limit_becomes_a_task_with_slices() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    server.reply("report", Duration::ZERO, Ok(plain(&large())));
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.handle(task).await;
    assert_eq!(handle.form(), Some(ResultForm::Slices), "it is born held, and goes in slices");
    assert_eq!(agent_view(&handle, world.now()), AgentView::Completed, "its agent need not wait");
    assert_eq!(world.result(task).await, Some(large()), "the record is whole");
    server.reply("report", Duration::ZERO, Ok(plain(&sized(900))));
    let landed = world.engine.agent_call(call(agent, id, "report")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Result { .. }), "within the limit it goes back as it came: {landed:?}");
    let coming = world.budget(agent).await.coming;
    assert_eq!(coming.first().map(|one| one.state), Some(PendingResultState::Slices), "it is read in slices");
}

#[tokio::test(start_paused = true)]
async fn a_quick_result_that_only_looked_large_is_delivered_whole() {
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    let padded = format!(r#"{{"content":[{{"type":"text","text":"ok"}}],"_meta":{{"pad":"{}"}}}}"#, "x".repeat(2_000));
    server.reply("report", Duration::ZERO, Ok(plain(&padded)));
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.handle(task).await;
    assert_eq!((handle.form(), handle.hold), (Some(ResultForm::Whole), None), "its agent gets it");
}

#[tokio::test(start_paused = true)]
async fn the_late_result_of_a_plain_call_is_held_in_its_commit() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    server.reply("report", 10 * SECOND, Ok(plain(&large())));
    let task = world.handle_of(call(agent, id, "report")).await;
    let given = world.engine.give(task).await.expect("it is promoted");
    let handle = world.held_at_once(task, given.version).await;
    assert_eq!(handle.form(), Some(ResultForm::Slices));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_held_in_its_commit_when_a_look_brings_it() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    server.reply_task("report", "t1", vec![PollReply::Completed(large())]);
    let task = world.handle_of(call(agent, id, "report")).await;
    // Born as its first version; on a busy machine the look may come before anything else is asked.
    let handle = world.held_at_once(task, 1).await;
    assert_eq!(handle.form(), Some(ResultForm::Slices));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_held_in_its_commit_when_it_is_pushed() {
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    server.reply_task("report", "t1", vec![PollReply::working()]);
    server.hint("t1", Duration::from_secs(600));
    let task = world.handle_of(call(agent, id, "report")).await;
    world.until_true("looked at", || !server.reads("t1").is_empty()).await;
    let before = world.handle(task).await.version;
    assert!(server.push("t1", &PollReply::Completed(large())), "it is pushed");
    let handle = world.held_at_once(task, before).await;
    assert!(handle.is_held(), "a person decides");
    assert_eq!(server.reads("t1").len(), 1, "no look brought it");
}

#[tokio::test(start_paused = true)]
async fn a_legacy_result_that_is_fetched_after_the_end_is_held_in_its_commit() {
    let (mut world, server, id, agent) = limited(LimitAction::Ask).await;
    server.legacy();
    world.restart().await;
    world.until_up(id).await;
    server.reply_task("report", "t1", vec![PollReply::NotFetched, PollReply::Completed(large())]);
    let task = world.handle_of(call(agent, id, "report")).await;
    let done = |handle: &TaskHandle| handle.view.is_terminal();
    let before = world.until(task, "finished", done).await;
    let handle = world.until(task, "fetched", |handle| handle.hold.is_some()).await;
    assert_eq!(handle.version, before.version + 1, "the result and its hold are one commit");
    assert!(matches!(agent_view(&before, world.now()), AgentView::Working { .. }), "before, it was being fetched");
    assert!(handle.is_held(), "and now a person decides");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_warns_lets_the_result_go_and_says_so() {
    let (world, server, id, agent) = limited(LimitAction::Warn).await;
    server.reply_task("report", "t1", vec![PollReply::Completed(large())]);
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.until(task, "over", |handle| handle.view.is_terminal()).await;
    assert_eq!(handle.form(), Some(ResultForm::Whole), "its agent gets it");
    let over = handle.over_limit.expect("it is noted");
    assert_eq!((over.tokens, over.limit.at), (5_000, LimitAction::Warn));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_asks_waits_and_does_what_the_person_says() {
    let answers = [
        (Some(ResultForm::Whole), AgentView::Completed),
        (Some(ResultForm::Slices), AgentView::Completed),
        (Some(ResultForm::Trimmed { tokens: 100 }), AgentView::Completed),
        (None, AgentView::Failed),
    ];
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    for (number, (form, sight)) in answers.into_iter().enumerate() {
        let name = format!("t{number}");
        server.reply_task("report", &name, vec![PollReply::Completed(large())]);
        let task = world.handle_of(call(agent, id, "report")).await;
        let held = world.until(task, "held", TaskHandle::is_held).await;
        let waits = agent_view(&held, world.now());
        assert!(matches!(waits, AgentView::Working { .. }), "its agent waits: {waits:?}");
        let coming = world.budget(agent).await.coming;
        assert_eq!(coming.first().map(|one| (one.handle, one.state)), Some((task, PendingResultState::Held)));
        world.engine.release(task, person("ada"), form, None).await.expect("it is held");
        let decided = world.handle(task).await;
        assert_eq!((decided.form(), agent_view(&decided, world.now())), (form, sight), "as the person said");
        world.engine.saw(engine::AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), None), result(5_000)) });
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_does_not_fit_into_the_window_is_held() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.window_limit = Some(TokenLimit { tokens: 10_000, at: LimitAction::Ask });
    world.rule(limits).await;
    world.engine.saw(seen(agent, (Some(id), None), result(8_000)));
    world.engine.flush_budget().await;
    server.reply_task("report", "t1", vec![PollReply::Completed(sized(1_500))]);
    let fits = world.handle_of(call(agent, id, "report")).await;
    let handle = world.until(fits, "over", |handle| handle.view.is_terminal()).await;
    assert_eq!(handle.hold, None, "8,000 and 1,500 are less than 10,000");
    world.until(fits, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
    server.reply_task("report", "t2", vec![PollReply::Completed(sized(1_200))]);
    let task = world.handle_of(call(agent, id, "report")).await;
    let held = world.until(task, "held", TaskHandle::is_held).await;
    let why = held.hold.map(|hold| hold.why);
    assert_eq!(
        why,
        Some(HoldReason::DoesNotFit { tokens: 1_200, free: 500 }),
        "the first one comes in whatever happens"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_says_too_much_is_stopped_with_the_reason() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Tool(id, "chatter".into()));
    limits.task_limit = Some(TokenLimit { tokens: 100, at: LimitAction::Stop });
    world.rule(limits).await;
    let lines: Vec<PollReply> = (0..20).map(|line| PollReply::says(&format!("line {line} of many words"))).collect();
    server.reply_task("chatter", "t1", lines);
    let task = world.handle_of(call(agent, id, "chatter")).await;
    let handle = world.until_phase(task, Phase::Cancelled).await;
    let why = handle.cancelled_by_limit().map(str::to_owned).expect("a limit stopped it");
    assert!(why.contains("the limit is 100"), "it says which: {why}");
    let cancels = server.times(|act| matches!(act, EngineAction::Cancel(_)));
    assert_eq!(cancels.len(), 1, "through the way of every cancel");
}

#[tokio::test(start_paused = true)]
async fn a_task_past_a_limit_that_asks_goes_on_when_a_person_says_so() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.task_limit = Some(TokenLimit { tokens: 20, at: LimitAction::Ask });
    world.rule(limits).await;
    server.reply_task("chatter", "t1", vec![PollReply::says("many words at once, more than it may")]);
    let task = world.handle_of(call(agent, id, "chatter")).await;
    world.until(task, "asked about", TaskHandle::asks_to_go_on).await;
    world.engine.let_go_on(task, person("ada")).await.expect("somebody is asked");
    let handle = world.handle(task).await;
    assert!(!handle.asks_to_go_on(), "it was settled");
    server.becomes("t1", PollReply::says("and more, and more, and more, and more"));
    world.pass(60 * SECOND).await;
    assert!(!world.handle(task).await.asks_to_go_on(), "nobody is asked twice");
    let again = world.engine.let_go_on(task, person("bob")).await;
    assert!(again.is_err(), "who comes late is told so: {again:?}");
}

#[tokio::test(start_paused = true)]
async fn no_limit_holds_anything_while_counting_is_off() {
    let policy = Policy { counting: CountingPolicy { on: false, ..CountingPolicy::default() }, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Agent(agent));
    limits.result_limit = Some(TokenLimit { tokens: 10, at: LimitAction::Ask });
    world.rule(limits).await;
    server.reply("report", Duration::ZERO, Ok(plain(&large())));
    let landed = world.engine.agent_call(call(agent, id, "report")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Result { .. }), "it goes back as it came: {landed:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_delivered_before_its_end_meets_its_limit_all_the_same() {
    let (world, server, id, agent) = limited(LimitAction::Ask).await;
    let mut review = rule(RuleScope::Server(id));
    review.hold_results = Some(true);
    world.rule(review).await;
    server.reply_task("report", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "report")).await;
    world
        .engine
        .release(task, person("ada"), Some(ResultForm::Whole), None)
        .await
        .expect("it is held from the beginning");
    server.becomes("t1", PollReply::Completed(large()));
    let handle = world.until(task, "over", |handle| handle.view.is_terminal()).await;
    assert_eq!(handle.hold.map(|hold| hold.why), Some(HoldReason::TooLarge { tokens: 5_000, limit: LIMIT }));
    world.engine.release(task, person("ada"), Some(ResultForm::Whole), None).await.expect("a person is asked again");
    assert_eq!(world.handle(task).await.form(), Some(ResultForm::Whole), "and decides with its size in sight");
}

#[tokio::test(start_paused = true)]
async fn structured_content_beside_a_short_text_does_not_slip_past_its_limit() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    let rows = "x".repeat(5_000);
    let result =
        format!(r#"{{"content":[{{"type":"text","text":"see data"}}],"structuredContent":{{"rows":"{rows}"}}}}"#);
    server.reply("report", Duration::ZERO, Ok(plain(&result)));
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.handle(task).await;
    assert_eq!(handle.form(), Some(ResultForm::Slices), "some hosts show it in place of the text");
    assert_eq!(handle.tokens.and_then(|tokens| tokens.result), Some(8), "what is shown is the text");
}

/// The error in the place of a result, with this data.
fn error(data: &str) -> Result<CallReply, CallError> {
    let payload = Payload::new(format!(r#"{{"code":-7,"message":"no","data":"{data}"}}"#));
    Ok(CallReply::Error { error: RpcError { code: -7, message: "no".into() }, payload })
}

#[tokio::test(start_paused = true)]
async fn a_quick_error_over_the_limit_of_a_result_becomes_a_task_and_a_short_one_does_not() {
    let (world, server, id, agent) = limited(LimitAction::Hold).await;
    server.reply("report", Duration::ZERO, error("short"));
    let landed = world.engine.agent_call(call(agent, id, "report")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Error { .. }), "it goes back as it came: {landed:?}");
    server.reply("report", Duration::ZERO, error(&"x".repeat(5_000)));
    let task = world.handle_of(call(agent, id, "report")).await;
    let handle = world.handle(task).await;
    let why = handle.hold.as_ref().map(|hold| hold.why);
    assert!(matches!(why, Some(HoldReason::TooLarge { limit: LIMIT, .. })), "its data counts: {why:?}");
    assert_eq!((handle.form(), agent_view(&handle, world.now())), (Some(ResultForm::Slices), AgentView::Failed));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_fit_into_the_window_is_held_as_a_result_is() {
    for (at, form) in [(LimitAction::Hold, Some(ResultForm::Slices)), (LimitAction::Ask, None)] {
        let (world, server, id) = World::new().await;
        let agent = world.agent(1).await;
        let mut limits = rule(RuleScope::Agent(agent));
        limits.window_limit = Some(TokenLimit { tokens: 10_000, at });
        world.rule(limits).await;
        world.until_up(id).await;
        world.engine.saw(seen(agent, (Some(id), None), result(8_000)));
        world.engine.flush_budget().await;
        server.reply("report", Duration::ZERO, error(&"x".repeat(1_500)));
        let landed = world.engine.agent_call(call(agent, id, "report")).await.expect("the call is made");
        assert!(matches!(landed, CallOutcome::Error { .. }), "8,000 and 1,500 are less than 10,000: {landed:?}");
        server.reply("report", Duration::ZERO, error(&"x".repeat(5_000)));
        let handle = world.handle(world.handle_of(call(agent, id, "report")).await).await;
        let why = handle.hold.as_ref().map(|hold| hold.why);
        assert!(matches!(why, Some(HoldReason::DoesNotFit { .. })), "5,000 more are not: {why:?}");
        assert_eq!((handle.form(), handle.is_held()), (form, at == LimitAction::Ask), "as its limit says");
    }
}
