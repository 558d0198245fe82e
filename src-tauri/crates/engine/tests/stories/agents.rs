//! Calls of agents: quick ones leave nothing behind, all others become a handle.

use std::time::Duration;

use domain::ids::{AgentId, RequestKey};
use domain::ports::{CallError, CallReply, UpstreamEvent, UpstreamSubject};
use domain::rule::{AudienceRule, RuleScope};
use domain::task::decider::Decider;
use domain::task::input_request::{AnswerAction, Ask, LiveQuestion};
use domain::task::payload::Payload;
use domain::task::status::{Phase, RpcError, ServerView};
use domain::task::{AgentView, AnswerInput, Audience, ParentWhy, Refusal, agent_view};
use engine::{CallOutcome, EngineError, HangUp};
use futures::future::join_all;
use testkit::scripted::{EngineAction, PollReply, payload, unreachable};

use crate::agent_world::{call, plain, rule};
use crate::world::{World, acceptance, asks};

const SECOND: Duration = Duration::from_secs(1);

fn form() -> Ask {
    Ask::Form { message: "Which?".into(), schema: serde_json::json!({"type": "object", "properties": {}}) }
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_of_an_agent_comes_back_as_it_is_and_touches_no_registry() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let before = world.commits().await;
    server.reply("add", Duration::from_millis(20), Ok(plain("{\"sum\": 3}")));
    let landed = world.engine.agent_call(call(agent, id, "add")).await.expect("the call is made");
    assert_eq!(landed, CallOutcome::Result { payload: payload("{\"sum\": 3}"), is_error: false });
    assert_eq!(world.commits().await, before, "nothing was committed");
    assert!(world.all().await.is_empty(), "there is no row");
    assert!(world.intents.open().is_empty(), "the intent is over");
    let refused =
        CallReply::Error { error: RpcError { code: -1, message: "no".into() }, payload: payload("{\"code\":-1}") };
    server.reply("add", Duration::ZERO, Ok(refused));
    let landed = world.engine.agent_call(call(agent, id, "add")).await.expect("the call is made");
    assert_eq!(landed, CallOutcome::Error { payload: payload("{\"code\":-1}") }, "an error is passed on as it came");
    assert_eq!(world.engine.presence(agent).expect("it was heard").calls, 2, "both are counted");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_lasts_is_in_the_list_within_a_tenth_of_a_second() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let begun = world.now();
    server.reply("slow", 3 * SECOND, Ok(plain("1")));
    let task = world.handle_of(call(agent, id, "slow")).await;
    assert!(world.now().since(begun) < Duration::from_millis(100), "the row was there in time");
    let handle = world.handle(task).await;
    assert_eq!((handle.agent, handle.attempt), (Some(agent), 1), "it is the agent's first attempt");
    assert!(handle.given.is_none(), "nothing was given yet");
    assert!(world.intents.open().is_empty(), "the row took the place of the intent");
    let mut watch = world.engine.watch(task).await.expect("readable").expect("there is such a task");
    while !agent_view(&watch.now(), world.now()).is_terminal() {
        watch.changed().await;
    }
    assert_eq!(watch.now().phase(world.now()), Phase::Done, "the watch shows its end");
    assert_eq!(world.result(task).await.as_deref(), Some("1"));
    assert_eq!(server.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1, "it was sent once");
}

#[tokio::test(start_paused = true)]
async fn when_many_calls_are_in_the_air_showing_them_does_not_slow_them_down() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let before = world.commits().await;
    // Fewer at once than raise an alarm, which is a commit.
    let many = 60;
    for at in 0..many {
        server.reply(&format!("busy-{at}"), SECOND, Ok(plain("1")));
    }
    let calls = (0..many).map(|at| world.engine.agent_call(call(agent, id, &format!("busy-{at}"))));
    for landed in join_all(calls).await {
        assert!(matches!(landed, Ok(CallOutcome::Result { .. })), "it came back as it is: {landed:?}");
    }
    assert_eq!(world.commits().await, before, "a busy machine is no reason for a row");
}

#[tokio::test(start_paused = true)]
async fn calls_that_outlast_a_busy_machine_are_shown_all_the_same() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let begun = world.now();
    for at in 0..20 {
        server.reply(&format!("busy-{at}"), 60 * SECOND, Ok(plain("1")));
    }
    let calls = (0..20).map(|at| world.engine.agent_call(call(agent, id, &format!("busy-{at}"))));
    for landed in join_all(calls).await {
        assert!(matches!(landed, Ok(CallOutcome::Handle(_))), "it has a row: {landed:?}");
    }
    let waited = world.now().since(begun);
    assert!(waited >= world.policy.promote_after, "not before it is sure that they last: {waited:?}");
    assert!(waited < world.policy.promote_after + SECOND, "and soon after: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_costs_one_commit_and_is_given_in_it() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let before = world.commits().await;
    server.reply_task("index", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "index")).await;
    assert_eq!(world.commits().await, before + 1, "one commit, and the handle may leave");
    let given = world.engine.give(task).await.expect("it can be given");
    assert!(given.given.is_some(), "it is given");
    assert_eq!(world.commits().await, before + 1, "giving it again costs nothing");
    assert!(world.handle(task).await.view.task().is_some(), "it is a task of the server");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_wants_a_task_gets_one_of_a_plain_server() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply("add", Duration::ZERO, Ok(plain("3")));
    let mut wants = call(agent, id, "add");
    wants.own_task = true;
    let task = world.handle_of(wants).await;
    let handle = world.handle(task).await;
    assert!(handle.given.is_some(), "it is given");
    assert_eq!(agent_view(&handle, world.now()), AgentView::Completed, "and over already");
    assert_eq!(world.result(task).await.as_deref(), Some("3"));
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_is_promoted_when_the_rule_says() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut soon = rule(RuleScope::Tool(id, "slow".into()));
    soon.promote_after = Some(SECOND / 2);
    world.rule(soon).await;
    server.reply("slow", 60 * SECOND, Ok(plain("1")));
    let task = world.handle_of(call(agent, id, "slow")).await;
    let own = |handle: &domain::task::TaskHandle| matches!(handle.view, ServerView::OwnCall { .. });
    let handle = world.until(task, "a task of our own", own).await;
    let after = handle.changed.since(handle.created);
    assert!(after >= SECOND / 2 && after < SECOND, "by the rule and not by the policy: {after:?}");
}

#[tokio::test(start_paused = true)]
async fn giving_a_call_in_flight_makes_it_a_task_of_our_own() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply("slow", 60 * SECOND, Ok(plain("1")));
    let task = world.handle_of(call(agent, id, "slow")).await;
    let given = world.engine.give(task).await.expect("it can be given");
    assert!(matches!(given.view, ServerView::OwnCall { .. }), "no plain reply can follow: {:?}", given.view);
    assert_eq!(world.handle(task).await.given, given.given, "it is in the registry");
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_before_the_task_is_relayed_only_to_an_agent_that_is_asked() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let one = || [(RequestKey::new("a"), form())].into();
    server.reply("tidy", Duration::ZERO, Ok(asks(one(), None)));
    let task = world.handle_of(call(agent, id, "tidy")).await;
    assert_eq!(world.phase(task).await, Phase::Waiting, "people are asked");
    assert_eq!(world.handle(task).await.audience, Audience::People, "as nobody said otherwise");

    let mut agents = rule(RuleScope::Server(id));
    agents.asked = Some(AudienceRule::Agent);
    world.rule(agents).await;
    server.reply("tidy", Duration::ZERO, Ok(asks(one(), None)));
    let landed = world.engine.agent_call(call(agent, id, "tidy")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::NeedsInput { .. }), "the agent is asked: {landed:?}");
    assert_eq!(world.all().await.len(), 1, "and there is no second row");

    server.reply("tidy", Duration::ZERO, Ok(asks(one(), None)));
    let mut legacy = call(agent, id, "tidy");
    legacy.relay_rounds = false;
    let task = world.handle_of(legacy).await;
    assert_eq!(world.handle(task).await.audience, Audience::Agent, "asked on its stream, with a row");

    server.reply("tidy", Duration::ZERO, Ok(asks(one(), None)));
    let mut mute = call(agent, id, "tidy");
    mute.abilities.elicitation = false;
    let task = world.handle_of(mute).await;
    assert_eq!(world.handle(task).await.audience, Audience::People, "an agent that cannot be asked is not");
}

#[tokio::test(start_paused = true)]
async fn a_live_question_of_a_call_without_a_row_gets_it_one_at_once() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    server.reply("tidy", 60 * SECOND, Ok(plain("1")));
    let begun = world.begin(call(agent, id, "tidy"));
    let sent = || {
        server.acts().into_iter().find_map(|(_, act)| match act {
            EngineAction::Call { ticket, .. } => Some(ticket),
            _ => None,
        })
    };
    world.until_true("sent", || sent().is_some()).await;
    let ticket = sent().expect("it was sent");
    let question = LiveQuestion {
        connection: server.connection().expect("it is up"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    assert!(server.say(UpstreamEvent::Question(UpstreamSubject::Call(ticket), question)), "it is up");
    let landed = begun.await.expect("the call is not ended").expect("the call is made");
    assert_eq!(landed, CallOutcome::Handle(ticket), "it has a row under its ticket");
    world.until_phase(ticket, Phase::Waiting).await;
    world.accept(ticket, "ada").await.expect("a person answers");
    world.until_phase(ticket, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_answers_at_once_are_one_update() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut both = rule(RuleScope::Agent(agent));
    both.asked = Some(AudienceRule::Both);
    world.rule(both).await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.until_phase(task, Phase::Waiting).await;
    let answers = (0..100).map(|number| {
        let by = if number % 2 == 0 { Decider::Agent(agent) } else { Decider::Person(testkit::build::person("ada")) };
        world.engine.answer(task, AnswerInput { by, ..acceptance(Some("k"), "x") })
    });
    let outcomes = join_all(answers).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "the first one wins");
    let late =
        outcomes.iter().filter(|outcome| matches!(outcome, Err(EngineError::Refused(Refusal::AlreadyAnswered { .. }))));
    assert_eq!(late.count(), 99, "the others are told");
    world.until_phase(task, Phase::Done).await;
    assert_eq!(server.answers().len(), 1, "one answer reached the server");
}

#[tokio::test(start_paused = true)]
async fn an_agent_answers_only_where_it_is_asked() {
    let (world, server, id) = World::new().await;
    let (agent, stranger) = (world.agent(1).await, world.agent(2).await);
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.until_phase(task, Phase::Waiting).await;
    for by in [agent, stranger] {
        let forwarded = AnswerInput {
            key: Some(RequestKey::new("k")),
            action: AnswerAction::Forwarded,
            content: Some(Payload::new(r#"{"action":"accept"}"#)),
            by: by.into(),
            not_before: None,
        };
        let refused = world.engine.answer(task, forwarded).await;
        assert!(matches!(refused, Err(EngineError::Refused(Refusal::NotForAgent(_)))), "people are asked: {refused:?}");
    }
    let handle = world.handle(task).await;
    assert!(matches!(agent_view(&handle, world.now()), AgentView::Working { .. }), "the agent sees honest work");
    world.accept(task, "ada").await.expect("a person answers");
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn calls_know_their_parent_and_their_attempt() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let trace: std::sync::Arc<str> = "0af7651916cd43dd8448eb211c80319c".into();
    server.reply_task("outer", "t1", vec![PollReply::working()]);
    server.reply_task("other", "t2", vec![PollReply::working()]);
    server.reply_task("inner", "t3", vec![PollReply::done()]);
    server.reply_task("inner", "t4", vec![PollReply::done()]);
    let mut traced = call(agent, id, "outer");
    traced.trace = Some(trace.clone());
    let outer = world.handle_of(traced).await;
    world.pass(SECOND).await;
    let other = world.handle_of(call(agent, id, "other")).await;
    let mut traced = call(agent, id, "inner");
    traced.trace = Some(trace);
    let first = world.handle_of(traced).await;
    let parent = world.handle(first).await.parent.expect("it has a parent");
    assert_eq!((parent.id, parent.why), (outer, ParentWhy::Trace), "by its trace");
    world.until_phase(first, Phase::Done).await;
    let second = world.handle_of(call(agent, id, "inner")).await;
    let handle = world.handle(second).await;
    let parent = handle.parent.expect("it has a parent");
    assert_eq!((parent.id, parent.why), (other, ParentWhy::OpenTask), "by the newest open task");
    assert_eq!(handle.attempt, 2, "the same call a second time");
    let attempts = world.registry.attempts(handle.job.expect("it has a job"), 10).await.expect("readable");
    assert_eq!(attempts, [second, first], "one job");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_left_is_an_error_and_nothing_else() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply("add", Duration::ZERO, Err(CallError::NotSent(unreachable())));
    let failed = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(matches!(failed, Err(EngineError::Upstream(_))), "the agent is told: {failed:?}");
    assert!(world.all().await.is_empty() && world.intents.open().is_empty(), "nothing is left of it");
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_a_row_that_says_so() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply("pay", Duration::ZERO, Err(CallError::ReplyLost(unreachable())));
    let task = world.handle_of(call(agent, id, "pay")).await;
    assert_eq!(world.phase(task).await, Phase::Unconfirmed, "whether it ran is unknown");
    assert_eq!(server.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1, "and it is never sent again");
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_access_calls_nothing() {
    let (world, server, id) = World::new().await;
    let landed = world.engine.agent_call(call(AgentId::from_random(9), id, "add")).await;
    assert_eq!(landed, Err(EngineError::UnknownAgent), "nobody knows it");
    assert!(server.times(|act| matches!(act, EngineAction::Call { .. })).is_empty(), "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_gives_up_a_call_before_its_row_stops_it() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    server.reply("slow", 60 * SECOND, Ok(plain("1")));
    let mut modern = call(agent, id, "slow");
    modern.hang_up = HangUp::Cancel;
    world.hang_up_on(modern).await;
    world.until_true("stopped", || !server.times(|act| matches!(act, EngineAction::CancelCall(_))).is_empty()).await;
    world.pass(world.policy.cancel_grace + SECOND).await;
    assert!(world.all().await.is_empty(), "nothing is left of it");
    assert!(world.intents.open().is_empty(), "the intent is over too");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_gives_up_a_call_with_a_row_stops_it_and_a_task_lives_on() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    server.reply("slow", 600 * SECOND, Ok(plain("1")));
    let task = world.handle_of(call(agent, id, "slow")).await;
    world.engine.hung_up(task, HangUp::Cancel).await;
    world.until_true("stopped", || !server.times(|act| matches!(act, EngineAction::CancelCall(_))).is_empty()).await;
    server.reply_task("index", "t1", vec![PollReply::working(), PollReply::working(), PollReply::done()]);
    let task = world.handle_of(call(agent, id, "index")).await;
    world.engine.hung_up(task, HangUp::Cancel).await;
    world.until_phase(task, Phase::Done).await;
    assert!(server.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty(), "nobody asked to stop the task");
}

#[tokio::test(start_paused = true)]
async fn calls_of_agents_beyond_the_budget_are_refused() {
    let shares = domain::policy::SharePolicy { agent_percent: 100, people_percent: 0, ..Default::default() };
    let policy = domain::policy::Policy { open_calls_per_server: 2, shares, ..Default::default() };
    let (world, server, id) = World::with(testkit::build::http_server(1, "one"), policy).await;
    let agent = world.agent(1).await;
    for task in ["t1", "t2"] {
        server.reply_task("work", task, vec![PollReply::working()]);
        world.handle_of(call(agent, id, "work")).await;
    }
    let refused = world.engine.agent_call(call(agent, id, "work")).await;
    assert_eq!(refused, Err(EngineError::OverShare { most: 2 }), "two are open");
    server.becomes("t1", PollReply::done());
    world.until_true("room", || world.engine.open_tasks(agent).len() < 2).await;
    server.reply("work", Duration::ZERO, Ok(plain("1")));
    world.engine.agent_call(call(agent, id, "work")).await.expect("there is room again");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_all_it_can_leaves_calls_to_other_agents_and_to_people() {
    let policy = domain::policy::Policy { open_calls_per_server: 20, ..Default::default() };
    let (world, server, id) = World::with(testkit::build::http_server(1, "one"), policy).await;
    let (greedy, second, third, fourth) =
        (world.agent(1).await, world.agent(2).await, world.agent(3).await, world.agent(4).await);
    world.until_up(id).await;
    let take = async |agent: AgentId, name: &str| {
        let mut taken = 0;
        loop {
            server.reply_task("work", &format!("{name}-{taken}"), vec![PollReply::working()]);
            match world.engine.agent_call(call(agent, id, "work")).await {
                Ok(_) => taken += 1,
                Err(refused) => return (taken, refused),
            }
        }
    };
    assert_eq!(take(greedy, "greedy").await, (5, EngineError::OverShare { most: 5 }), "a quarter, and no more");
    assert_eq!(take(second, "second").await.0, 5, "others still have theirs");
    assert_eq!(take(third, "third").await.0, 5, "and so on");
    let (taken, refused) = take(fourth, "fourth").await;
    assert_eq!(
        (taken, refused),
        (3, EngineError::TooManyOpenCalls { most: 18 }),
        "until only what is kept for people is left"
    );
    server.reply_task("work", "people", vec![PollReply::working()]);
    world.call(id, "work").await;
}
