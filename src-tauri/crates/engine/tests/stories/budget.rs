//! Windows of agents: what fills them, when they are emptied, and that counting delays nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::budget::waste::Waste;
use domain::budget::window::{CountingSettings, TokenFlow, TokenSource, ToolListScope, Window};
use domain::ids::AgentId;
use domain::policy::{CountingPolicy, Policy};
use domain::ports::SeriesQuery;
use domain::task::payload::Payload;
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family};
use engine::{AgentBudget, AgentTraffic, CallOutcome, Passed, PendingResultState};
use testkit::build::{http_server, person};
use testkit::scripted::{OnCancel, PollReply};

use crate::agent_world::{call, plain};
use crate::scale::{Gate, Opens};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A result whose text has so many bytes, and so tokens on the plain scale.
pub(crate) fn sized(bytes: usize) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(bytes))
}

/// Something that an agent saw at a door.
pub(crate) fn seen(agent: AgentId, (door, session): (ToolListScope, Option<&str>), what: Passed) -> AgentTraffic {
    AgentTraffic { agent, door, session: session.map(Arc::from), server: door, handle: None, what }
}

/// A list of tools that is one page.
fn tools(list: &Payload, own: &Payload) -> Passed {
    Passed::Tools { list: list.clone(), own: own.clone(), is_first: true, is_last: true }
}

/// A result of so many tokens.
pub(crate) fn result(bytes: usize) -> Passed {
    Passed::Result(Payload::new(sized(bytes)))
}

impl World {
    /// The budget of an agent, when everything so far is counted.
    pub(crate) async fn budget(&self, agent: AgentId) -> AgentBudget {
        self.engine.flush_budget().await;
        let mut all = self.engine.budgets();
        all.retain(|budget| budget.agent == agent);
        all.pop().expect("the agent has a budget")
    }

    /// What stands in the agent's window, when everything so far is counted.
    pub(crate) async fn occupancy(&self, agent: AgentId) -> Count {
        self.budget(agent).await.now.expect("there is a window").occupancy()
    }

    /// All hours of an agent.
    async fn spent(&self, agent: AgentId) -> BTreeMap<TokenFlow, u64> {
        self.engine.flush_budget().await;
        let query = SeriesQuery { agent: Some(agent), from: Timestamp::EPOCH, to: Timestamp::from_millis(i64::MAX) };
        let mut sums = BTreeMap::new();
        for row in self.registry.spend(query).await.expect("the series can be read") {
            *sums.entry(row.flow).or_default() += row.tokens;
        }
        sums
    }

    /// All waste of an agent.
    pub(crate) async fn wasted(&self, agent: AgentId) -> BTreeMap<Waste, u64> {
        self.engine.flush_budget().await;
        let query = SeriesQuery { agent: Some(agent), from: Timestamp::EPOCH, to: Timestamp::from_millis(i64::MAX) };
        let mut counts = BTreeMap::new();
        for row in self.registry.waste(query).await.expect("the series can be read") {
            *counts.entry(row.waste).or_default() += row.count;
        }
        counts
    }

    async fn windows(&self, agent: AgentId) -> Vec<Window> {
        self.engine.flush_budget().await;
        let mut all = self.registry.windows(100).await.expect("windows can be read");
        all.retain(|window| window.agent == agent);
        all
    }
}

#[tokio::test(start_paused = true)]
async fn a_scale_that_takes_for_ever_holds_up_no_call() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale();
    world.restart().await;
    world.until_up(id).await;
    world.engine.saw(seen(agent, (Some(id), None), result(100)));
    let begun = world.now();
    server.reply("add", Duration::ZERO, Ok(plain(&sized(10))));
    let landed = world.engine.agent_call(call(agent, id, "add")).await.expect("the call is made");
    assert!(matches!(landed, CallOutcome::Result { .. }), "it came back at once: {landed:?}");
    assert_eq!(world.now(), begun, "no time passed");
    world.engine.saw(seen(agent, (Some(id), None), result(10)));
    gate.open();
    assert_eq!(world.occupancy(agent).await.tokens, 110, "both were counted when the scale could");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_the_queue_is_an_upper_bound_and_is_not_lost() {
    let counting = CountingPolicy { queue_messages: 1, ..CountingPolicy::default() };
    let policy = Policy { counting, ..Policy::default() };
    let (mut world, _, id) = World::with(http_server(1, "one"), policy).await;
    let agent = world.agent(1).await;
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale();
    world.restart().await;
    world.until_up(id).await;
    for _ in 0..10 {
        world.engine.saw(seen(agent, (Some(id), None), result(100)));
    }
    gate.open();
    let occupancy = world.occupancy(agent).await;
    let each = u64::try_from(sized(100).len()).expect("it is small");
    assert_eq!(occupancy.exactness, Exactness::AtMost, "some were not counted: {occupancy:?}");
    assert!(occupancy.tokens >= 1_000 && occupancy.tokens <= 10 * each, "all ten are in it: {occupancy:?}");
    let spent: u64 = world.spent(agent).await.values().sum();
    assert_eq!(spent, occupancy.tokens, "and the series say the same");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_floods_the_queue_makes_nobody_elses_figures_rough() {
    let counting = CountingPolicy { queue_bytes: 64 * 1_024, ..CountingPolicy::default() };
    let policy = Policy { counting, ..Policy::default() };
    let (mut world, _, id) = World::with(http_server(1, "one"), policy).await;
    let (flooding, other) = (world.agent(1).await, world.agent(2).await);
    let gate = Gate::shut();
    let _opens = Opens(Arc::clone(&gate));
    world.scale = gate.scale();
    world.restart().await;
    world.until_up(id).await;
    for _ in 0..100 {
        world.engine.saw(seen(flooding, (Some(id), None), result(1_000)));
    }
    world.engine.saw(seen(other, (Some(id), None), result(10)));
    let gauges = world.engine.gauges().read();
    let waits = gauges.iter().find(|row| row.name == "texts to be counted" && row.scope.starts_with("agent"));
    let waits = waits.expect("what waits is shown for each agent");
    assert!(waits.used <= waits.most, "and is within its share: {waits:?}");
    gate.open();
    let counted = world.occupancy(other).await;
    assert_eq!((counted.tokens, counted.exactness), (10, Exactness::Exact), "as if it were alone");
    let rough = world.occupancy(flooding).await;
    assert_eq!(rough.exactness, Exactness::AtMost, "what was beyond its share is a bound: {rough:?}");
    assert!(rough.tokens >= 100_000, "and all of it is in it: {rough:?}");
}

#[tokio::test(start_paused = true)]
async fn every_source_has_its_place_and_the_window_adds_up_to_the_series() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    let at = (Some(id), Some("s1"));
    let list = Payload::new(r#"{"tools":[{"name":"add","inputSchema":{}},{"name":"sum","inputSchema":{}}]}"#);
    let own = Payload::new(r#"{"tools":[{"name":"tasks_get","inputSchema":{}}]}"#);
    world.engine.session_began(agent, Some(id), Some("s1".into()), Some("testbed"));
    for _ in 0..3 {
        world.engine.saw(seen(agent, at, tools(&list, &own)));
    }
    let text = |text: &str| Payload::new(text);
    world.engine.saw(seen(agent, at, Passed::Call(text(r#"{"name":"add","arguments":{"a":1}}"#))));
    world.engine.saw(seen(agent, at, result(50)));
    world.engine.saw(seen(agent, at, Passed::Error(text(r#"{"code":-1,"message":"not now"}"#))));
    world.engine.saw(seen(agent, at, Passed::Handle(text(r#"{"taskId":"t1"}"#))));
    let look = Passed::Look { said: text(r#"{"status":"working"}"#), empty: true, hasty: true };
    world.engine.saw(seen(agent, at, look));
    world.engine.saw(seen(agent, at, Passed::Resource(text(r#"{"contents":[{"uri":"a:b","text":"abcd"}]}"#))));
    let window = world.budget(agent).await.now.expect("there is a window");
    assert_eq!(window.of(TokenSource::Tools).tokens, 2 * 31, "the set, once");
    assert_eq!(window.of(TokenSource::OwnTools).tokens, 37);
    assert_eq!(window.of(TokenSource::Arguments).tokens, 3 + 7);
    assert_eq!(window.of(TokenSource::Results).tokens, 50 + 7, "results and errors");
    assert_eq!(window.of(TokenSource::Handles).tokens, 15 + 20);
    assert_eq!(window.of(TokenSource::Prompts).tokens, 4);
    let spent = world.spent(agent).await;
    for source in TokenSource::ALL {
        assert_eq!(spent.get(&TokenFlow::In(source)).copied(), Some(window.of(source).tokens), "{source:?} adds up");
    }
    let wasted = world.wasted(agent).await;
    let one_each = BTreeMap::from([(Waste::Look, 1), (Waste::EmptyPoll, 1), (Waste::HastyPoll, 1)]);
    assert_eq!(wasted, one_each, "a look that was empty and hasty");
    let stored = world.windows(agent).await;
    assert_eq!(stored.len(), 1, "there is one window");
    assert_eq!(stored.first().map(Window::occupancy), Some(window.occupancy()), "stored as it is shown");
}

#[tokio::test(start_paused = true)]
async fn two_sessions_at_one_door_have_two_windows_and_a_new_one_begins_empty() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    world.pass(2 * MINUTE).await;
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(100)));
    world.engine.session_began(agent, None, Some("s1-all".into()), None);
    world.engine.saw(seen(agent, (None, Some("s1-all")), result(7)));
    assert_eq!(world.occupancy(agent).await.tokens, 107, "another door of the same conversation");
    world.engine.session_began(agent, Some(id), Some("s2".into()), None);
    assert_eq!(world.occupancy(agent).await, Count::ZERO, "the new conversation begins empty");
    world.engine.saw(seen(agent, (Some(id), Some("s2")), result(20)));
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(3)));
    let budget = world.budget(agent).await;
    assert_eq!(budget.now.map(|window| window.occupancy().tokens), Some(110), "the one that something last came into");
    let beside: Vec<u64> = budget.beside.iter().map(|window| window.occupancy().tokens).collect();
    assert_eq!(beside, [20], "and the other beside it");

    world.pass(20 * MINUTE).await;
    let budget = world.budget(agent).await;
    assert!(budget.beside.is_empty(), "a window beside that is quiet for long is over");
    world.engine.saw(seen(agent, (Some(id), Some("s2")), result(1)));
    let budget = world.budget(agent).await;
    assert_eq!(budget.now.map(|window| window.occupancy().tokens), Some(21), "but its session goes on with it");
    assert!(world.windows(agent).await.iter().all(|window| window.ended.is_none()), "and so it is stored");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_after_a_restart_goes_on_with_its_window() {
    let (mut world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    world.pass(2 * MINUTE).await;
    for session in ["s1", "s2"] {
        world.engine.session_began(agent, Some(id), Some(session.into()), None);
    }
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(100)));
    world.engine.flush_budget().await;
    world.pass(SECOND).await;
    world.engine.saw(seen(agent, (Some(id), Some("s2")), result(20)));
    world.engine.flush_budget().await;
    world.restart().await;
    assert_eq!(world.occupancy(agent).await.tokens, 20, "the window is taken up again");
    world.engine.session_began(agent, Some(id), Some("s3".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s3")), result(1)));
    world.engine.session_began(agent, Some(id), Some("s4".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s4")), result(2)));
    let budget = world.budget(agent).await;
    let all: Vec<u64> = budget.now.iter().chain(&budget.beside).map(|window| window.occupancy().tokens).collect();
    assert_eq!(all, [102, 21], "each came back to one of the two, and none is new");
    world.pass(2 * MINUTE).await;
    world.engine.session_began(agent, Some(id), Some("s5".into()), None);
    assert_eq!(world.occupancy(agent).await, Count::ZERO, "later a new session is a new conversation");
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_begins_a_new_window_only_after_being_quiet() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    world.pass(2 * MINUTE).await;
    world.engine.session_began(agent, Some(id), None, None);
    world.engine.saw(seen(agent, (Some(id), None), result(100)));
    world.engine.flush_budget().await;
    world.pass(10 * MINUTE).await;
    world.engine.session_began(agent, Some(id), None, None);
    assert_eq!(world.occupancy(agent).await.tokens, 100, "it only looked again");
    world.pass(20 * MINUTE).await;
    assert_eq!(world.occupancy(agent).await.tokens, 100, "being quiet alone empties nothing");
    world.engine.session_began(agent, Some(id), None, None);
    assert_eq!(world.occupancy(agent).await, Count::ZERO, "it began anew after being quiet");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_is_emptied_by_hand_keeps_the_tools_behind_its_doors() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    let list = Payload::new(r#"{"tools":[{"name":"add","inputSchema":{}}]}"#);
    let own = Payload::new(r#"{"tools":[]}"#);
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s1")), tools(&list, &own)));
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(100)));
    let spent: u64 = world.spent(agent).await.values().sum();
    assert_eq!(spent, 131, "all of it came in once");
    world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    assert_eq!(world.occupancy(agent).await.tokens, 31, "their definitions stand in every window");
    let window = world.budget(agent).await.now.expect("there is a window");
    assert_eq!(window.passed_in_all(), Count::ZERO, "nothing was passed to the program since it is empty");
    assert_eq!(world.spent(agent).await.values().sum::<u64>(), 131, "and nothing came in");
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(5)));
    assert_eq!(world.occupancy(agent).await.tokens, 36, "its session goes on in the new one");
    let windows = world.windows(agent).await;
    let sum: u64 = windows.iter().map(|window| window.passed_in_all().tokens).sum();
    let spent: u64 = world.spent(agent).await.values().sum();
    assert_eq!((windows.len(), sum), (2, spent), "what was passed in both windows together is what was spent");
}

#[tokio::test(start_paused = true)]
async fn tools_that_are_listed_again_in_an_emptied_window_are_in_it_once_and_were_passed_again() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    let list = Payload::new(r#"{"tools":[{"name":"add","inputSchema":{}}]}"#);
    let own = Payload::new(r#"{"tools":[]}"#);
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s1")), tools(&list, &own)));
    for _ in 0..2 {
        world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    }
    assert_eq!(world.occupancy(agent).await.tokens, 31, "however often it is emptied");
    for _ in 0..2 {
        world.engine.saw(seen(agent, (Some(id), Some("s1")), tools(&list, &own)));
        assert_eq!(world.occupancy(agent).await.tokens, 31, "it stands there once");
        let window = world.budget(agent).await.now.expect("there is a window");
        assert_eq!(window.passed_in_all().tokens, 31, "and was passed once in this window");
        assert_eq!(world.spent(agent).await.values().sum::<u64>(), 62, "in two windows together twice");
    }
    world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    let none = Payload::new(r#"{"tools":[]}"#);
    world.engine.saw(seen(agent, (Some(id), Some("s1")), tools(&none, &own)));
    assert_eq!(world.occupancy(agent).await, Count::ZERO, "what is not listed any more is gone");
}

#[tokio::test(start_paused = true)]
async fn another_family_marks_what_was_counted_before() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    world.engine.saw(seen(agent, (Some(id), None), result(100)));
    let before = world.budget(agent).await;
    assert_eq!(before.measure.family, Family::Unknown, "nothing says what `testbed` works with");
    world.meter(agent, CountingSettings { family: Some(Family::O200k), ..CountingSettings::default() }).await;
    let window = world.budget(agent).await.now.expect("there is a window");
    assert_eq!(window.family, Family::O200k, "it is counted in what the person set");
    assert_eq!(window.occupancy(), Count { tokens: 100, exactness: Exactness::AtMost }, "what was before is a bound");
}

#[tokio::test(start_paused = true)]
async fn what_a_task_says_on_the_way_is_kept_out_and_its_figures_survive_a_restart() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task(
        "index",
        "t1",
        vec![PollReply::says("half"), PollReply::says("nearly"), PollReply::Completed(sized(500))],
    );
    let task = world.handle_of(call(agent, id, "index")).await;
    let handle = Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#));
    world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), Some("s1")), handle) });
    world.until(task, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
    let tokens = world.handle(task).await.tokens.expect("it is counted");
    assert_eq!(tokens.arguments, 5 + 2, "the name and the arguments");
    assert_eq!((tokens.handle, tokens.interim), (15, 4 + 6), "the handle came in, the messages did not");
    assert_eq!((tokens.result, tokens.delivered), (Some(500), 0), "the result is not read yet");
    let budget = world.budget(agent).await;
    let coming: Vec<_> = budget.coming.iter().map(|one| (one.state, one.tokens.map(|count| count.tokens))).collect();
    assert_eq!(coming, [(PendingResultState::Ready, Some(500))], "it is about to come in");
    assert_eq!(budget.now.map(|window| window.kept_out.tokens), Some(10));

    world.restart().await;
    let coming = world.budget(agent).await.coming;
    assert_eq!(coming.first().map(|one| one.handle), Some(task), "still");
    world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), Some("s1")), result(500)) });
    world.until(task, "read", |handle| handle.tokens.is_some_and(|tokens| tokens.delivered == 500)).await;
    let after = world.handle(task).await.tokens.expect("it is counted");
    assert_eq!((after.handle, after.interim), (15, 10), "what was counted before the restart still counts");
    assert!(world.budget(agent).await.coming.is_empty(), "it came in");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_works_shows_what_its_tool_brought_last() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    for (task, size) in [("t1", 300), ("t2", 100)] {
        server.reply_task("index", task, vec![PollReply::Completed(sized(size))]);
        let task = world.handle_of(call(agent, id, "index")).await;
        world.until(task, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
        world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), None), result(size)) });
    }
    server.reply_task("index", "t3", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "index")).await;
    let coming = world.budget(agent).await.coming;
    let only = coming.first().expect("something is about to come in");
    assert_eq!((only.handle, only.state, coming.len()), (task, PendingResultState::Working, 1));
    assert_eq!(only.tokens, Some(Count { tokens: 300, exactness: Exactness::AtMost }), "the largest of the last");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_read_until_the_window_was_emptied_is_waste() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::Completed(sized(500))]);
    let task = world.handle_of(call(agent, id, "index")).await;
    let handle = Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#));
    world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), None), handle) });
    world.until(task, "counted", |handle| handle.tokens.is_some_and(|tokens| tokens.result.is_some())).await;
    world.engine.empty_window(agent, person("ada")).await.expect("it can be emptied");
    assert_eq!(world.wasted(agent).await.get(&Waste::UnreadResult), Some(&1), "the agent never read it");
    assert_eq!(world.spent(agent).await.get(&TokenFlow::KeptOut), Some(&500), "and it was kept out");
    assert!(world.budget(agent).await.coming.is_empty(), "it is not expected any more");
}

#[tokio::test(start_paused = true)]
async fn a_lost_task_and_a_stalled_question_are_waste_of_their_server() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::working()]);
    let lost = world.handle_of(call(agent, id, "index")).await;
    server.forget("t1");
    world.until(lost, "lost", |handle| handle.ended_at().is_some()).await;
    server.reply_task("tidy", "t2", vec![PollReply::asks(&["a"]), PollReply::done()]);
    let asked = world.handle_of(call(agent, id, "tidy")).await;
    world.until(asked, "asked", |handle| !handle.requests.is_empty()).await;
    world.pass(11 * MINUTE).await;
    world.accept(asked, "ada").await.expect("a person answers, late");
    world.until(asked, "over", |handle| handle.ended_at().is_some()).await;
    let wasted = world.wasted(agent).await;
    assert_eq!(wasted.get(&Waste::LostTask), Some(&1), "the server forgot it before its time: {wasted:?}");
    assert_eq!(wasted.get(&Waste::StalledQuestion), Some(&1), "nobody answered for long: {wasted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_waste_only_where_the_server_is_known_to_have_finished_all_the_same() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    let over = |handle: &domain::task::TaskHandle| handle.ended_at().is_some();
    server.reply("silent", 60 * MINUTE, Ok(plain("1")));
    let silent = world.handle_of(call(agent, id, "silent")).await;
    server.reply_task("obeys", "t1", vec![PollReply::working()]);
    let obeys = world.handle_of(call(agent, id, "obeys")).await;
    for task in [silent, obeys] {
        world.engine.cancel(task, person("ada"), None).await.expect("the cancel is recorded");
    }
    world.until(obeys, "cancelled", over).await;
    world.pass(5 * MINUTE).await;
    let disobeyed = world.wasted(agent).await.get(&Waste::DisobeyedCancel).copied();
    assert_eq!(disobeyed, None, "one obeyed, and of the other nobody knows: MCP has no reply to its cancel");

    server.on_cancel(OnCancel::Ignore);
    server.reply_task("ignores", "t2", vec![PollReply::working()]);
    let ignores = world.handle_of(call(agent, id, "ignores")).await;
    world.engine.cancel(ignores, person("ada"), None).await.expect("the cancel is recorded");
    world.pass(5 * MINUTE).await;
    assert_eq!(world.wasted(agent).await.get(&Waste::DisobeyedCancel), None, "it has not finished yet");
    server.becomes("t2", PollReply::done());
    world.until(ignores, "over", over).await;
    assert_eq!(world.wasted(agent).await.get(&Waste::DisobeyedCancel), Some(&1), "now it has");
    let record = world.registry.cancels(id).await.expect("the record can be read");
    assert_eq!((record.asked, record.stopped, record.finished_anyway, record.no_reply), (2, 1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_counted_when_counting_is_off() {
    let policy = Policy { counting: CountingPolicy { on: false, ..CountingPolicy::default() }, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    let agent = world.agent(1).await;
    world.engine.session_began(agent, Some(id), Some("s1".into()), None);
    world.engine.saw(seen(agent, (Some(id), Some("s1")), result(100)));
    server.reply_task("index", "t1", vec![PollReply::Completed(sized(500))]);
    let task = world.handle_of(call(agent, id, "index")).await;
    world.until(task, "over", |handle| handle.ended_at().is_some()).await;
    world.pass(10 * SECOND).await;
    assert!(world.engine.budgets().is_empty(), "there is no window");
    assert_eq!(world.handle(task).await.tokens, None, "and no figure");
}

#[tokio::test(start_paused = true)]
async fn watchers_are_told_of_a_burst_once_in_a_while() {
    let (world, _, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut watch = world.engine.budgets_watch();
    watch.mark_unchanged();
    let begun = world.now();
    let mut told = 0;
    for _ in 0..50 {
        world.engine.saw(seen(agent, (Some(id), None), result(1)));
        world.pass(SECOND / 10).await;
        told += u32::from(watch.has_changed().expect("the engine lives"));
        watch.mark_unchanged();
    }
    let seconds = u32::try_from(world.now().since(begun).as_secs()).expect("a short while");
    assert!(told >= 1 && told <= seconds + 1, "told {told} times in {seconds} s");
}
