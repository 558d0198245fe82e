//! What was counted is kept, added up exactly and found again, and so are decisions about limits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::agent::{Agent, TokenDigest};
use domain::budget::waste::Waste;
use domain::budget::window::{CountingSettings, ListedTools, TokenFlow, TokenSource, Window};
use domain::client::profile::{self, ToolListCost};
use domain::ids::{HandleId, PersonId, WindowId};
use domain::ports::{
    AgentNote, AgentUnit, BudgetNote, GroupBy, Registry, RuleUnit, SeriesQuery, SpendRow, TaskFlag, TaskListQuery,
    WasteRow,
};
use domain::rule::{LimitAction, Rule, RuleScope, TokenLimit};
use domain::task::payload::ResultRef;
use domain::task::status::{Outcome, Phase, ServerView};
use domain::task::{HoldReason, Origin, ResultForm, TaskHandle};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, Intake, TaskTokens};

use super::fixtures::{ContractFixtures, commit_of};

const FIXTURES: ContractFixtures = ContractFixtures::of(8);
const HOUR: i64 = 3_600_000;
/// When the tasks of this part are admitted.
const BASE: i64 = 8_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(BASE + millis)
}

fn hour(number: i64) -> Timestamp {
    Timestamp::from_millis(1_000 * HOUR + number * HOUR)
}

pub(crate) async fn check(registry: &dyn Registry) {
    check_spend(registry).await;
    check_waste(registry).await;
    check_old_hours(registry).await;
    check_windows(registry).await;
    check_meters(registry).await;
    check_limits(registry).await;
    check_figures(registry).await;
    Box::pin(check_decisions(registry)).await;
}

fn spent(number: i64, agent: u64, source: TokenSource, tokens: u64, exactness: Exactness) -> SpendRow {
    SpendRow {
        hour: hour(number),
        agent: FIXTURES.agent(agent),
        server: Some(FIXTURES.server(1)),
        flow: TokenFlow::In(source),
        family: Family::O200k,
        exactness,
        tokens,
        passed_exactness: Exactness::Exact,
        passed: tokens.saturating_mul(2),
        messages: 1,
    }
}

fn wasted(number: i64, waste: Waste, count: u64, tokens: u64) -> WasteRow {
    let (agent, server, exactness) = (Some(FIXTURES.agent(1)), FIXTURES.server(1), Exactness::Exact);
    WasteRow { hour: hour(number), agent, server, waste, count, tokens, exactness }
}

fn series(agent: Option<u64>, from: i64, to: i64) -> SeriesQuery {
    SeriesQuery { agent: agent.map(|number| FIXTURES.agent(number)), from: hour(from), to: hour(to) }
}

async fn check_spend(registry: &dyn Registry) {
    let note = |spend: Vec<SpendRow>| registry.note_budget(BudgetNote { spend, ..BudgetNote::default() });
    let newest = registry.newest_seq().await;
    registry.note_budget(BudgetNote::default()).await.expect("nothing is nothing");
    let row = |tokens, exactness| spent(0, 1, TokenSource::Results, tokens, exactness);
    note(vec![row(100, Exactness::Exact), row(20, Exactness::Exact)]).await.expect("two of one kind in one flush");
    let of_all = SpendRow { server: None, ..spent(0, 1, TokenSource::OwnTools, 7, Exactness::Exact) };
    let kept_out = SpendRow { flow: TokenFlow::KeptOut, ..row(5_000, Exactness::AtMost) };
    let claude = SpendRow { family: Family::Claude47, ..row(9, Exactness::About) };
    let other = spent(0, 2, TokenSource::Results, 40, Exactness::Exact);
    let later = spent(1, 1, TokenSource::Arguments, 3, Exactness::Exact);
    let rest = vec![row(3, Exactness::About), of_all.clone(), kept_out.clone(), claude.clone()];
    note(rest).await.expect("a flush");
    note(vec![other.clone(), later.clone()]).await.expect("a flush");
    note(vec![row(1, Exactness::Exact)]).await.expect("a flush");
    let sum = SpendRow { messages: 4, ..row(124, Exactness::About) };
    let mut mine = vec![of_all, sum, claude, kept_out, later.clone()];
    mine.sort();
    assert_eq!(
        registry.spend(series(Some(1), 0, 2)).await,
        Ok(mine.clone()),
        "added up, and as exact as its worst part"
    );
    mine.push(other);
    mine.sort();
    assert_eq!(registry.spend(series(None, 0, 2)).await, Ok(mine), "of all agents, the oldest hour first");
    assert_eq!(registry.spend(series(Some(1), 1, 2)).await, Ok(vec![later]), "from this hour on");
    assert_eq!(registry.spend(series(None, 2, 9)).await, Ok(Vec::new()), "before that hour");
    let flushes = (0..20).map(|_| note(vec![spent(2, 3, TokenSource::Handles, 11, Exactness::Exact)]));
    for done in futures::future::join_all(flushes).await {
        done.expect("flushes at the same time");
    }
    let found = registry.spend(series(Some(3), 0, 9)).await.expect("reads");
    let passed: u64 = found.iter().map(|row| row.passed).sum();
    assert_eq!(passed, 20 * 22, "what was passed is added up as well");
    let sums: Vec<(u64, u64)> = found.iter().map(|row| (row.tokens, row.messages)).collect();
    assert_eq!(sums, [(220, 20)], "nothing is lost and nothing counted twice");
    assert_eq!(registry.newest_seq().await, newest, "counting is no change");
}

async fn check_waste(registry: &dyn Registry) {
    let note = |waste: Vec<WasteRow>| registry.note_budget(BudgetNote { waste, ..BudgetNote::default() });
    let nobodys = WasteRow { agent: None, ..wasted(0, Waste::LostTask, 1, 0) };
    note(vec![wasted(0, Waste::EmptyPoll, 2, 80), nobodys.clone()]).await.expect("a flush");
    let more = WasteRow { exactness: Exactness::AtMost, ..wasted(0, Waste::EmptyPoll, 3, 120) };
    note(vec![more, wasted(1, Waste::EmptyPoll, 1, 40)]).await.expect("a flush");
    let sum = WasteRow { exactness: Exactness::AtMost, ..wasted(0, Waste::EmptyPoll, 5, 200) };
    let mine = vec![sum.clone(), wasted(1, Waste::EmptyPoll, 1, 40)];
    assert_eq!(registry.waste(series(Some(1), 0, 2)).await, Ok(mine), "by the hour, of the agent alone");
    let mut all = vec![nobodys, sum];
    all.sort();
    assert_eq!(registry.waste(series(None, 0, 1)).await, Ok(all), "with what is no agent's fault");
}

async fn check_old_hours(registry: &dyn Registry) {
    let note = |number| {
        let spend = vec![spent(number, 1, TokenSource::Results, 1, Exactness::Exact)];
        registry.note_budget(BudgetNote {
            spend,
            waste: vec![wasted(number, Waste::Look, 1, 1)],
            ..BudgetNote::default()
        })
    };
    note(10).await.expect("a flush");
    let hours = async |agent| -> Vec<Timestamp> {
        let rows: Vec<SpendRow> = registry.spend(series(agent, -100, 100)).await.expect("reads");
        let mut hours: Vec<Timestamp> = rows.into_iter().map(|row| row.hour).collect();
        hours.dedup();
        hours
    };
    assert_eq!(hours(None).await, [hour(0), hour(1), hour(2), hour(10)], "ten hours are kept here");
    for _ in 0..3 {
        note(12).await.expect("a flush");
    }
    assert_eq!(hours(None).await, [hour(2), hour(10), hour(12)], "what is older is gone after some flushes");
    let old = registry.waste(series(None, -100, 10)).await.expect("reads");
    assert_eq!(old, [], "waste, too");
}

fn window(number: u64, agent: u64, began: i64) -> Window {
    Window::new(
        WindowId::from_random(CAST_WINDOW | u128::from(number)),
        FIXTURES.agent(agent),
        Family::O200k,
        at(began),
    )
}

/// Windows of this part have ids of their own.
const CAST_WINDOW: u128 = 8 << 64;

async fn check_windows(registry: &dyn Registry) {
    let note =
        |windows: &[Window]| registry.note_budget(BudgetNote { windows: windows.to_vec(), ..BudgetNote::default() });
    let count = |tokens| Count { tokens, exactness: Exactness::About };
    let mut open = window(1, 1, 0);
    let tools: BTreeMap<Arc<str>, Count> = BTreeMap::from([(Arc::from("zoo__feed \"all\""), count(120))]);
    open.put_tools(Some(FIXTURES.server(1)), tools.clone(), count(0), at(1));
    open.put_tools(None, tools, count(900), at(1));
    open.shelves
        .insert(Some(FIXTURES.server(2)), ListedTools { session: Some("s-1".into()), ..ListedTools::default() });
    let cut = Intake { passed: count(61_402), window: count(370) };
    open.take_in(TokenSource::Results, cut, at(2), Duration::from_secs(600));
    open.tool_list = ToolListCost { percent: 72, searched: true };
    open.kept_out = Count { tokens: 9, exactness: Exactness::AtMost };
    let beside = window(2, 1, 10);
    note(&[open.clone(), beside.clone()]).await.expect("windows are noted");
    open.take_in(TokenSource::Arguments, count(5), at(3), Duration::from_secs(600));
    note(std::slice::from_ref(&open)).await.expect("and noted again, as they are by then");
    let kept = Window { lately: std::collections::VecDeque::new(), ..open.clone() };
    assert_eq!(
        registry.windows(0).await,
        Ok(vec![beside.clone(), kept.clone()]),
        "whole but for the burn, newest first"
    );

    let ended = |number, end| Window { ended: Some(at(end)), last: at(end), ..window(number, 1, end - 5) };
    note(&[ended(3, 100), ended(4, 200)]).await.expect("windows end");
    let other = Window { ended: Some(at(150)), ..window(9, 2, 0) };
    note(std::slice::from_ref(&other)).await.expect("one of another agent, too");
    let all = vec![beside.clone(), kept.clone(), ended(4, 200), other.clone(), ended(3, 100)];
    assert_eq!(registry.windows(9).await, Ok(all), "those that fill, then those that ended");
    let last = vec![beside.clone(), kept.clone(), ended(4, 200), other.clone()];
    assert_eq!(registry.windows(1).await, Ok(last), "of each agent the last");
    note(&[ended(5, 300)]).await.expect("another ends");
    let all = vec![beside.clone(), kept.clone(), ended(5, 300), ended(4, 200), other.clone()];
    assert_eq!(registry.windows(9).await, Ok(all), "what is not shown any more is gone");
    let done = Window { ended: Some(at(400)), ..kept };
    note(std::slice::from_ref(&done)).await.expect("the first one ends");
    assert_eq!(registry.windows(9).await, Ok(vec![beside, done, ended(5, 300), other]), "and takes its place");
}

async fn check_meters(registry: &dyn Registry) {
    let meter = CountingSettings {
        model: Some("claude-opus-4-7".into()),
        family: Some(Family::Claude47),
        window: Some(1_000_000),
        program: Some("claude-code".into()),
    };
    let agent = Agent {
        id: FIXTURES.agent(1),
        name: "metered".into(),
        created: at(0),
        revoked: None,
        token: TokenDigest::of("twa_metered"),
        token_made: at(0),
        seen: None,
        client: None,
        learned_timeout: None,
        task_tools: true,
        calls: 0,
        meter,
    };
    let read = async || -> Option<Agent> {
        let agents: Vec<Agent> = registry.agents().await.expect("agents read");
        agents.into_iter().find(|agent| agent.id == FIXTURES.agent(1))
    };
    let put =
        |agent: &Agent| registry.put_agent(AgentUnit { agent: agent.clone(), audit: Vec::new(), ended_pause: None });
    put(&agent).await.expect("an agent is added");
    let note = AgentNote { id: agent.id, seen: at(9), calls: 3, client: None, learned_timeout: None };
    registry.note_agents(vec![note]).await.expect("it is heard");
    let heard = Agent { seen: Some(at(9)), calls: 3, ..agent };
    assert_eq!(read().await, Some(heard.clone()), "how it is counted is kept");
    for meter in [CountingSettings { window: Some(5), ..CountingSettings::default() }, CountingSettings::default()] {
        let changed = Agent { meter, ..heard.clone() };
        put(&changed).await.expect("it is changed");
        assert_eq!(read().await, Some(changed), "and what is left to what is known, too");
    }
}

async fn check_limits(registry: &dyn Registry) {
    let limit = |tokens, at| Some(TokenLimit { tokens, at });
    let rule = Rule {
        hold_cut: Some(false),
        result_limit: limit(20_000, LimitAction::Hold),
        task_limit: limit(60_000, LimitAction::Stop),
        window_limit: limit(160_000, LimitAction::Ask),
        ..Rule::new(RuleScope::Agent(FIXTURES.agent(1)))
    };
    let put = |remove| registry.put_rule(RuleUnit { rule: rule.clone(), remove, audit: Vec::new() });
    put(false).await.expect("a rule is put");
    let rules = registry.rules().await.expect("rules read");
    assert_eq!(rules.iter().find(|other| other.scope == rule.scope), Some(&rule), "its limits are kept");
    put(true).await.expect("and taken away");
}

/// A task of an agent of this part that works.
fn task(number: u64) -> TaskHandle {
    let millis = i64::try_from(number).unwrap_or_default();
    let agent = Some(FIXTURES.agent(1));
    TaskHandle { agent, origin: Origin::Agent, ..FIXTURES.task(number, BASE + millis, &format!("t-{number}")) }
}

async fn stored(registry: &dyn Registry, number: u64) -> TaskHandle {
    registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here")
}

async fn check_figures(registry: &dyn Registry) {
    registry.admit(commit_of(&task(1), Phase::Running)).await.expect("admitted");
    let counted = TaskTokens {
        arguments: 40,
        handle: 200,
        interim: 5_000,
        result: Some(61_402),
        in_window: Some(Count { tokens: 370, exactness: Exactness::About }),
        delivered: 1_000,
        delivered_in_window: 300,
        exactness: Exactness::About,
        ..TaskTokens::new(Family::Claude47)
    };
    let step = stored(registry, 1).await.counted(counted).next;
    registry.commit(commit_of(&step, Phase::Running)).await.expect("the figures are committed");
    assert_eq!(stored(registry, 1).await.tokens, Some(counted), "with the task");
}

async fn check_decisions(registry: &dyn Registry) {
    let (ada, held_at) = (PersonId::new("ada"), at(100));
    let ours = async || -> Vec<HandleId> {
        let found: Vec<TaskHandle> = registry.attention(1_000).await.expect("reads");
        found.into_iter().map(|task| task.id).filter(|id| (2..9).any(|number| FIXTURES.id(number) == *id)).collect()
    };
    let flagged = async |flag| {
        let query = TaskListQuery { flags: vec![flag], servers: vec![FIXTURES.server(1)], ..TaskListQuery::default() };
        registry.matching_ids(query, 99).await.expect("reads")
    };
    assert_eq!(ours().await, [], "nothing waits yet");
    for number in 2..=4 {
        registry.admit(commit_of(&task(number), Phase::Running)).await.expect("admitted");
    }
    let result =
        TaskHandle { view: ServerView::Direct(Outcome::Ok(ResultRef { bytes: 9 })), ..stored(registry, 2).await };
    let why = HoldReason::TooLarge { tokens: 61_402, limit: 20_000 };
    let held = result.hold_at_limit(why, false, held_at).next;
    registry.commit(commit_of(&held, Phase::Done)).await.expect("a result is held");
    let sliced = TaskHandle { view: result.view.clone(), ..stored(registry, 3).await };
    let program = profile::of_word("codex").expect("in the table");
    let cut = HoldReason::WouldBeCut { tokens: 69_387, shown: 5_000, program };
    let sliced = sliced.hold_at_limit(cut, true, at(110)).next;
    registry.commit(commit_of(&sliced, Phase::Done)).await.expect("another goes in slices");
    let limit = TokenLimit { tokens: 60_000, at: LimitAction::Ask };
    let over = stored(registry, 4).await.exceed_limit(60_001, limit, at(120)).next;
    registry.commit(commit_of(&over, Phase::Running)).await.expect("a task is past its limit");
    assert_eq!(
        ours().await,
        [FIXTURES.id(4), FIXTURES.id(2)],
        "what a person decides is found, the last changed first"
    );
    assert_eq!(flagged(TaskFlag::Held).await, [FIXTURES.id(2)], "what goes in slices waits for nobody");
    assert_eq!(flagged(TaskFlag::OverLimit).await, [FIXTURES.id(4)], "what asks to go on is listed");
    let by_agent = TaskListQuery {
        flags: vec![TaskFlag::OverLimit],
        agents: vec![FIXTURES.agent(1)],
        group_by: GroupBy::Agent,
        ..TaskListQuery::default()
    };
    let view = registry.view(by_agent).await.expect("counts");
    assert_eq!(view.groups, [(FIXTURES.agent(1).to_string(), 1)], "and counted, with the other conditions");
    let read = (stored(registry, 2).await, stored(registry, 3).await, stored(registry, 4).await);
    assert_eq!((read.0.hold.clone(), read.1.hold.clone()), (held.hold, sliced.hold), "why and how is kept");
    assert_eq!(read.2.over_limit, over.over_limit, "so is by how much");
    assert_eq!(registry.attention(1).await.map(|found| found.len()), Ok(1), "at most as many as asked for");

    let released =
        read.0.release(&ada, Some(ResultForm::Trimmed { tokens: 900 }), None, at(130)).expect("it is held").next;
    registry.commit(commit_of(&released, Phase::Done)).await.expect("it is released");
    let lifted = read.2.let_go_on(&ada, at(140)).expect("it asks").next;
    registry.commit(commit_of(&lifted, Phase::Running)).await.expect("it goes on");
    assert_eq!(ours().await, [], "nothing waits any more");
    assert_eq!(flagged(TaskFlag::Held).await, [], "nothing is held");
    assert_eq!(flagged(TaskFlag::OverLimit).await, [], "nothing asks");
    assert_eq!(stored(registry, 2).await.form(), Some(ResultForm::Trimmed { tokens: 900 }), "the form is kept");
    assert_eq!(stored(registry, 4).await.over_limit, lifted.over_limit, "who let it go on is kept");
}
