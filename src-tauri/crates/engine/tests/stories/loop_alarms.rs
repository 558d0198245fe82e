//! Alarms about what an agent calls again and again: one for each episode, told once, and a row that survives.

use std::time::Duration;

use domain::agent::alarm::{AlarmDecision, AlarmKind, AlarmRefused, AlarmState, CallAlarm};
use domain::audit::{Actor, Subject, Verb};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::Policy;
use domain::rule::{LimitKind, RuleScope, RunAction, SameCallLimit};
use domain::task::decider::Decider;
use domain::task::status::{Phase, ServerView};
use engine::EngineError;
use futures::StreamExt;
use testkit::build::{http_server, person};
use testkit::scripted::{EngineAction, ScriptedServer};

use crate::agent_world::{call, plain, rule, set_arguments};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const QUIET: Duration = Duration::from_secs(600);

struct Loop {
    world: World,
    scripted: ScriptedServer,
    server: ServerId,
    agent: AgentId,
}

impl Loop {
    async fn open() -> Self {
        let (world, scripted, server) = World::with(http_server(1, "one"), Policy::default()).await;
        let agent = world.agent(1).await;
        world.until_up(server).await;
        Self { world, scripted, server, agent }
    }

    /// Calls of one tool with these arguments, ten seconds apart, each with a result of its own.
    async fn calls(&self, tool: &str, arguments: impl Fn(usize) -> String, many: usize) {
        for number in 0..many {
            self.scripted.reply(tool, Duration::ZERO, Ok(plain(&format!("result {number}"))));
            let mut made = call(self.agent, self.server, tool);
            set_arguments(&mut made, arguments(number));
            self.world.engine.agent_call(made).await.expect("the call is made");
            self.world.pass(10 * SECOND).await;
        }
    }

    async fn same(&self, many: usize) {
        self.calls("search", |_| r#"{"q":"orders"}"#.into(), many).await;
    }

    /// What is done at an alarm about this tool.
    async fn at_alarm(&self, tool: &str, action: RunAction) {
        let mut set = rule(RuleScope::Tool(self.server, tool.into()));
        set.alarm_action = Some(action);
        self.world.rule(set).await;
    }

    /// One more call of the same tool, which waits; with arguments of its own, so that it joins no earlier one.
    async fn waiting(&self, page: u32) -> HandleId {
        self.scripted.reply("search", Duration::ZERO, Ok(plain("found")));
        let mut made = call(self.agent, self.server, "search");
        set_arguments(&mut made, format!(r#"{{"q":"orders","page":{page}}}"#));
        let id = self.world.handle_of(made).await;
        let waits = self.world.handle(id).await;
        assert!(matches!(waits.view, ServerView::Gated { .. }), "{waits:?}");
        id
    }

    fn sent(&self) -> usize {
        self.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len()
    }

    async fn alarms(&self) -> Vec<CallAlarm> {
        self.world.registry.alarms(100).await.expect("alarms can be read")
    }

    async fn verbs(&self) -> Vec<Verb> {
        let page = self.world.registry.audit_page(None, 0, 1_000).await.expect("the log can be read");
        let of_alarms = [Verb::AlarmRaised, Verb::AlarmEnded, Verb::AlarmDismissed];
        page.rows.into_iter().map(|row| row.event.verb).filter(|verb| of_alarms.contains(verb)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn twelve_equal_calls_raise_one_alarm_that_counts_them_when_they_end() {
    let made = Loop::open().await;
    made.same(9).await;
    assert_eq!(made.alarms().await, [], "nine are no loop");
    made.same(3).await;
    let [alarm] = &made.alarms().await[..] else { panic!("one alarm") };
    assert_eq!((alarm.kind, alarm.agent, &*alarm.called.tool), (AlarmKind::SameCall, made.agent, "search"));
    assert_eq!((alarm.count, alarm.state.clone()), (10, AlarmState::Open));
    made.world.pass(QUIET + 2 * SECOND).await;
    let [alarm] = &made.alarms().await[..] else { panic!("still one") };
    assert_eq!(alarm.count, 12);
    assert!(matches!(alarm.state, AlarmState::Ended { .. }), "it is over: {alarm:?}");
    assert_eq!(alarm.last.since(alarm.since), 110 * SECOND, "from the first call to the last");
    assert_eq!(made.verbs().await, [Verb::AlarmRaised, Verb::AlarmEnded]);
}

#[tokio::test(start_paused = true)]
async fn a_second_episode_raises_a_second_alarm_and_a_longer_one_does_not() {
    let made = Loop::open().await;
    made.same(60).await;
    assert_eq!(made.alarms().await.len(), 1, "an episode is one alarm, however long");
    made.world.pass(QUIET + 2 * SECOND).await;
    made.same(12).await;
    let kinds: Vec<_> = made.alarms().await.iter().map(|alarm| (alarm.kind, alarm.state.word(), alarm.count)).collect();
    assert_eq!(kinds, [(AlarmKind::SameCall, "open", 10), (AlarmKind::SameCall, "ended", 60)]);
}

#[tokio::test(start_paused = true)]
async fn work_that_repeats_nothing_raises_no_alarm() {
    let made = Loop::open().await;
    made.calls("search", |number| format!(r#"{{"page":{number}}}"#), 100).await;
    assert_eq!(made.alarms().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_kill_loses_no_alarm_and_the_episode_goes_on_after_it() {
    let mut made = Loop::open().await;
    made.same(12).await;
    made.world.restart().await;
    made.world.until_up(made.server).await;
    made.same(12).await;
    let [alarm] = &made.alarms().await[..] else { panic!("one alarm for one episode") };
    assert_eq!((alarm.count, alarm.state.clone()), (20, AlarmState::Open), "ten as stored, and ten of after the kill");
    made.world.pass(QUIET + 2 * SECOND).await;
    assert_eq!(made.alarms().await[0].state.word(), "ended");
}

#[tokio::test(start_paused = true)]
async fn an_alarm_of_an_earlier_run_ends_although_its_agent_never_calls_again() {
    let mut made = Loop::open().await;
    made.same(12).await;
    let raised = made.alarms().await[0].clone();
    made.world.pass(SECOND * 60).await;
    made.world.restart().await;
    made.world.pass(QUIET + 2 * SECOND).await;
    let ended = made.alarms().await[0].clone();
    assert_eq!((ended.state.word(), ended.last), ("ended", raised.last), "no call came since");
}

#[tokio::test(start_paused = true)]
async fn a_person_dismisses_an_alarm_once_and_the_episode_raises_no_other() {
    let made = Loop::open().await;
    made.same(10).await;
    let id = made.alarms().await[0].id;
    let dismissed = made.world.engine.dismiss_alarm(id, person("ada")).await.expect("it is dismissed");
    assert_eq!(made.world.engine.dismiss_alarm(id, person("bob")).await, Ok(dismissed), "once");
    made.same(20).await;
    made.world.pass(QUIET + 2 * SECOND).await;
    let [alarm] = &made.alarms().await[..] else { panic!("one alarm") };
    assert!(matches!(&alarm.state, AlarmState::Dismissed { by, .. } if by.as_str() == "ada"), "{alarm:?}");
    assert_eq!(made.verbs().await, [Verb::AlarmRaised, Verb::AlarmDismissed]);
    let unknown = domain::ids::AlarmId::from_random(1);
    assert_eq!(made.world.engine.dismiss_alarm(unknown, person("ada")).await, Err(EngineError::UnknownAlarm));
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_a_tool_turns_its_alarm_off_and_another_sets_it_lower() {
    let made = Loop::open().await;
    let mut off = rule(RuleScope::Tool(made.server, "status".into()));
    off.same_call_limit = Some(SameCallLimit { count: 0, window: SECOND });
    made.world.rule(off).await;
    let mut low = rule(RuleScope::Agent(made.agent));
    low.same_call_limit = Some(SameCallLimit { count: 3, window: 60 * SECOND });
    made.world.rule(low).await;
    made.calls("status", |_| "{}".into(), 30).await;
    assert_eq!(made.alarms().await, []);
    made.same(3).await;
    assert_eq!(made.alarms().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_calls_in_flight_at_once_raise_an_alarm_of_the_agent() {
    let made = Loop::open().await;
    let mut few = rule(RuleScope::Agent(made.agent));
    few.open_calls = Some(8);
    made.world.rule(few).await;
    let mut begun = Vec::new();
    for number in 0..8 {
        made.scripted.reply("slow", 30 * SECOND, Ok(plain("done")));
        let mut slow = call(made.agent, made.server, "slow");
        set_arguments(&mut slow, format!(r#"{{"part":{number}}}"#));
        begun.push(made.world.begin(slow));
    }
    made.world.pass(2 * SECOND).await;
    let [alarm] = &made.alarms().await[..] else { panic!("one alarm") };
    assert_eq!((alarm.kind, alarm.count, alarm.limit), (AlarmKind::OpenCalls, 8, 8));
}

#[tokio::test(start_paused = true)]
async fn an_alarm_is_a_change_that_the_feed_tells_and_a_fact_without_arguments() {
    let made = Loop::open().await;
    let mut feed = made.world.engine.feed(None);
    made.same(10).await;
    let told = feed.next().await.expect("news");
    let told = if told.alarms { told } else { feed.next().await.expect("more news") };
    assert!(told.alarms, "{told:?}");
    let page = made.world.registry.audit_page(None, 0, 1_000).await.expect("the log can be read");
    let fact = page.rows.into_iter().find(|row| row.event.verb == Verb::AlarmRaised).expect("a fact").event;
    assert_eq!((fact.subject, fact.actor), (Subject::Agent(made.agent), Actor::System("loop_detector")));
    assert_eq!(fact.note, "sameCall: 10 calls, search of one");
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_asks_keeps_further_calls_of_its_tool_until_a_person_sends_them() {
    let mut made = Loop::open().await;
    made.at_alarm("search", RunAction::Ask).await;
    made.same(10).await;
    let alarm = made.alarms().await[0].clone();
    assert!(alarm.asks(), "{alarm:?}");
    let waiting = made.waiting(1).await;
    made.calls("read", |number| format!(r#"{{"page":{number}}}"#), 1).await;
    assert_eq!(made.sent(), 11, "another tool's call left, and the one that waits did not");
    let refused = made.world.engine.dismiss_alarm(alarm.id, person("ada")).await;
    assert_eq!(refused, Err(EngineError::Alarm(AlarmRefused::MustDecide)), "calls wait because of it");
    made.world.pass(QUIET + 2 * SECOND).await;
    assert!(made.alarms().await[0].asks(), "it does not end by itself");

    made.world.restart().await;
    made.world.until_up(made.server).await;
    let later = made.waiting(2).await;
    assert_eq!(made.alarms().await.len(), 1, "a kill loses no alarm and raises no other");
    let sent = made.world.engine.decide_alarm(alarm.id, AlarmDecision::Send, person("ada")).await.expect("it asks");
    assert_eq!((sent.state.word(), sent.decision), ("dismissed", Some(AlarmDecision::Send)));
    made.world.until_phase(waiting, Phase::Done).await;
    made.world.until_phase(later, Phase::Done).await;
    assert_eq!(made.sent(), 13, "each was sent once");
    let twice = made.world.engine.decide_alarm(alarm.id, AlarmDecision::Cancel, person("bob")).await;
    assert_eq!(twice, Err(EngineError::Alarm(AlarmRefused::NothingWaits)));
    made.same(1).await;
    assert_eq!(made.sent(), 14, "and nothing waits any more");
}

#[tokio::test(start_paused = true)]
async fn calls_that_waited_because_of_an_alarm_are_cancelled_unsent_and_the_next_loop_asks_again() {
    let made = Loop::open().await;
    made.at_alarm("search", RunAction::Ask).await;
    made.same(10).await;
    let alarm = made.alarms().await[0].clone();
    let waiting = made.waiting(1).await;
    made.world.engine.decide_alarm(alarm.id, AlarmDecision::Cancel, person("ada")).await.expect("it asks");
    made.world.until_phase(waiting, Phase::Cancelled).await;
    assert_eq!(made.sent(), 10, "its server never heard of it");
    made.same(10).await;
    let states: Vec<bool> = made.alarms().await.iter().map(CallAlarm::asks).collect();
    assert_eq!(states, [true, false], "the count began anew");
    let page = made.world.registry.audit_page(None, 0, 1_000).await.expect("the log can be read");
    let notes = |verb| page.rows.iter().filter(move |row| row.event.verb == verb).map(|row| row.event.note.clone());
    let raised: Vec<String> = notes(Verb::AlarmRaised).collect();
    assert!(raised[0].ends_with("further calls wait, by the rule for this tool, version 1"), "{raised:?}");
    let decided: Vec<String> = notes(Verb::AlarmDismissed).collect();
    assert!(decided[0].ends_with("calls that waited are cancelled"), "{decided:?}");
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_cancels_ends_the_open_calls_of_its_agent_and_names_itself() {
    let made = Loop::open().await;
    let mut few = rule(RuleScope::Agent(made.agent));
    (few.open_calls, few.alarm_action) = (Some(4), Some(RunAction::Cancel));
    made.world.rule(few).await;
    let mut begun = Vec::new();
    for number in 0..4 {
        made.scripted.reply("slow", QUIET, Ok(plain("done")));
        let mut slow = call(made.agent, made.server, "slow");
        set_arguments(&mut slow, format!(r#"{{"part":{number}}}"#));
        begun.push(made.world.begin(slow));
    }
    made.world.pass(5 * SECOND).await;
    let recorded = made.world.all().await;
    assert_eq!(recorded.len(), 4, "each has a row");
    for task in recorded {
        let asked = task.cancel_request().expect("it was asked to cancel");
        assert_eq!(asked.by, Decider::Limit(LimitKind::Calls));
        assert!(asked.reason.as_deref().is_some_and(|why| why.contains("openCalls")), "{asked:?}");
    }
    assert_eq!(made.alarms().await.len(), 1, "and people are told once");
}
