//! Episodes begin once, count what belongs to them and end when it is quiet, whenever one looks.

use proptest::prelude::*;

use super::*;
use crate::agent::call_history::SeenResult;
use crate::ids::ServerId;
use crate::rule::{ResolvedRule, SameCallLimit};

const SECOND: Duration = Duration::from_secs(1);

struct Limits(ResolvedRule);

impl CallLimits for Limits {
    fn resolve(&self, _called: &CalledTool) -> ResolvedRule {
        self.0
    }
}

/// An agent whose calls are looked at.
struct Agent {
    history: CallHistory,
    episodes: AgentEpisodes,
    at: Duration,
    limits: Limits,
    policy: AlarmPolicy,
}

fn tool(name: &str) -> CalledTool {
    CalledTool { server: ServerId::from_random(1), tool: name.into() }
}

impl Agent {
    fn new() -> Self {
        Self {
            history: CallHistory::default(),
            episodes: AgentEpisodes::default(),
            at: SECOND,
            limits: Limits(ResolvedRule::default()),
            policy: AlarmPolicy::default(),
        }
    }

    /// A call a second later, with the fingerprint of its arguments and, if it came, of its result.
    fn call(&mut self, name: &str, print: u64, result: Option<SeenResult>) {
        self.at += SECOND;
        let number = self.history.called(self.at, tool(name), print);
        if let Some(result) = result {
            self.history.replied(number, result);
        }
    }

    fn look(&mut self, open: u32) {
        self.episodes.look(&mut self.history, open, self.at, &self.limits, &self.policy);
    }

    fn told(&self) -> Vec<(AlarmKind, u32)> {
        self.episodes.0.iter().map(|episode| (episode.kind, episode.count)).collect()
    }

    fn wait(&mut self, time: Duration) -> usize {
        self.at += time;
        self.look(0);
        self.episodes.take_over(&mut self.history, self.at, &self.policy).len()
    }
}

fn failed(fingerprint: u64) -> Option<SeenResult> {
    Some(SeenResult { fingerprint, is_error: true })
}

fn fine(fingerprint: u64) -> Option<SeenResult> {
    Some(SeenResult { fingerprint, is_error: false })
}

#[test]
fn ten_equal_calls_are_an_episode_and_nine_are_none() {
    let mut agent = Agent::new();
    for _ in 0..9 {
        agent.call("search", 1, None);
        agent.look(0);
    }
    assert_eq!(agent.told(), []);
    agent.call("search", 1, None);
    agent.look(0);
    assert_eq!(agent.told(), [(AlarmKind::SameCall, 10)]);
}

#[test]
fn an_equal_result_counts_twice() {
    let mut agent = Agent::new();
    for _ in 0..5 {
        agent.call("search", 1, fine(9));
    }
    agent.look(0);
    assert_eq!(agent.told(), [], "five calls with one result weigh nine");
    agent.call("search", 1, fine(9));
    agent.look(0);
    assert_eq!(agent.told(), [(AlarmKind::SameCall, 6)], "and six weigh eleven");
}

#[test]
fn equal_calls_far_apart_are_no_loop() {
    let mut agent = Agent::new();
    for _ in 0..100 {
        agent.call("status", 1, None);
        agent.at += Duration::from_secs(120);
        agent.look(0);
    }
    assert_eq!(agent.told(), [], "five in ten minutes are not ten");
}

#[test]
fn two_calls_in_turn_are_one_episode_and_not_two() {
    let mut agent = Agent::new();
    for _ in 0..20 {
        agent.call("read", 1, None);
        agent.call("write", 2, None);
        agent.look(0);
    }
    assert_eq!(agent.told(), [(AlarmKind::Alternating, 40)]);
    let [episode] = &agent.episodes.0[..] else { panic!("one episode") };
    assert_eq!((&episode.called, episode.other.as_ref()), (&tool("read"), Some(&tool("write"))));
}

#[test]
fn different_calls_with_one_error_are_an_episode_and_with_one_success_are_none() {
    let mut agent = Agent::new();
    for print in 0..20 {
        agent.call("write", print, fine(1));
    }
    agent.look(0);
    assert_eq!(agent.told(), [], "a tool may answer each success alike");
    for print in 20..25 {
        agent.call("search", print, failed(2));
    }
    agent.look(0);
    agent.call("search", 25, failed(2));
    agent.look(0);
    assert_eq!(agent.told(), [(AlarmKind::SameError, 6)]);
    agent.call("search", 26, fine(3));
    agent.look(0);
    assert_eq!(agent.told(), [(AlarmKind::SameError, 6)], "what ends it is not counted");
}

#[test]
fn a_rule_of_a_person_counts_before_the_default_and_zero_turns_it_off() {
    let mut agent = Agent::new();
    agent.limits.0.same_call_limit = Some(SameCallLimit { count: 3, window: SECOND * 60 });
    for _ in 0..3 {
        agent.call("search", 1, None);
    }
    agent.look(0);
    assert_eq!(agent.told(), [(AlarmKind::SameCall, 3)]);
    let mut quiet = Agent::new();
    quiet.limits.0 = ResolvedRule {
        same_call_limit: Some(SameCallLimit { count: 0, window: SECOND }),
        calls_per_minute: Some(0),
        open_calls: Some(0),
        ..ResolvedRule::default()
    };
    for _ in 0..500 {
        quiet.call("search", 1, failed(1));
    }
    quiet.look(1_000);
    assert_eq!(quiet.told(), []);
}

#[test]
fn many_calls_in_a_minute_and_many_at_once_are_episodes_of_their_own() {
    let mut agent = Agent::new();
    for print in 0..600 {
        agent.history.called(agent.at + Duration::from_millis(print * 100), tool("search"), print);
    }
    agent.at += SECOND * 60;
    agent.look(64);
    agent.look(70);
    let kinds: Vec<_> = agent.told();
    assert!(matches!(kinds[..], [(AlarmKind::CallRate, 580..=600), (AlarmKind::OpenCalls, 70)]), "{kinds:?}");
}

#[test]
fn an_alarm_of_an_earlier_run_goes_on_and_no_second_one_begins() {
    let mut agent = Agent::new();
    for _ in 0..10 {
        agent.call("search", 1, None);
    }
    agent.look(0);
    let before = agent.episodes.0.remove(0);
    let alarm = CallAlarm {
        id: AlarmId::from_random(1),
        agent: crate::ids::AgentId::from_random(1),
        kind: before.kind,
        called: before.called,
        other: None,
        since: crate::time::Timestamp::EPOCH,
        raised: crate::time::Timestamp::EPOCH,
        last: crate::time::Timestamp::EPOCH,
        count: before.count,
        limit: before.limit,
        action: crate::rule::RunAction::Warn,
        rule: None,
        decision: None,
        state: crate::agent::alarm::AlarmState::Open,
    };
    let mut restarted = Agent::new();
    restarted.episodes.0.push(Episode::resumed(alarm, restarted.at));
    assert_eq!(restarted.episodes.0[0].last_seen(), None, "no call of it has come since");
    for _ in 0..12 {
        restarted.call("search", 77, None);
        restarted.look(0);
    }
    assert_eq!(restarted.told(), [(AlarmKind::SameCall, 22)], "ten of before and twelve of now");
    assert_eq!(restarted.episodes.0[0].last_seen(), Some(restarted.at), "the last of which came just now");
}

proptest! {
    #[test]
    fn a_loop_is_one_episode_however_often_one_looks(
        calls in 10_usize..120,
        looks in prop::collection::vec(any::<bool>(), 120),
        others in prop::collection::vec(0_u64..2, 120),
    ) {
        let mut agent = Agent::new();
        for number in 0..calls {
            // Work of its own in between, never the same twice.
            for other in 0..others[number] {
                agent.call("read", 1_000 + u64::try_from(number).unwrap() * 10 + other, None);
            }
            agent.call("search", 1, None);
            if looks[number] {
                agent.look(0);
            }
        }
        agent.look(0);
        let count = u32::try_from(calls).unwrap();
        prop_assert_eq!(agent.told(), [(AlarmKind::SameCall, count)]);
        prop_assert_eq!(agent.wait(Duration::from_secs(599)), 0);
        prop_assert_eq!(agent.wait(Duration::from_secs(1)), 1, "and it ends once it is quiet");
        for _ in 0..9 {
            agent.call("search", 1, None);
        }
        agent.look(0);
        prop_assert_eq!(agent.told(), [], "calls of the episode before do not count for the next");
        agent.call("search", 1, None);
        agent.look(0);
        prop_assert_eq!(agent.told(), [(AlarmKind::SameCall, 10)]);
    }

    #[test]
    fn calls_that_are_never_the_same_raise_no_alarm_for_loops(
        gaps in prop::collection::vec(200_u64..5_000, 1..300),
        results in prop::collection::vec(0_u64..3, 300),
    ) {
        let mut agent = Agent::new();
        for (print, gap) in gaps.iter().enumerate() {
            agent.at += Duration::from_millis(*gap);
            agent.call("search", u64::try_from(print).unwrap(), fine(results[print]));
            agent.look(1);
        }
        prop_assert_eq!(agent.told(), []);
    }
}
