//! Agents and rules are added and removed, and related tasks find one another.

pub(crate) mod alarms;
pub(crate) mod control;
pub(crate) mod receipts;

use std::time::Duration;

use domain::agent::{Agent, TokenDigest};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::client::learned_timeout::LearnedTimeout;
use domain::ids::{AgentId, HandleId, JobKey, PersonId, Seq};
use domain::ports::change::Entity;
use domain::ports::{AgentNote, AgentUnit, GroupBy, Registry, RegistryError, RuleUnit, TaskFlag, TaskListQuery};
use domain::rule::{
    AudienceRule, LimitAction, RepeatRule, Rule, RuleScope, RunAction, RunLimit, SameCallLimit, TokenLimit,
};
use domain::task::decider::Decider;
use domain::task::input_request::{Ask, InputRequest};
use domain::task::status::{CancelRequest, Delivery, Intent, Phase};
use domain::task::{Audience, HoldReason, HoldVerdict, Origin, Parent, ParentWhy, ResultHold, TaskHandle};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::contract::fixtures::question;

const FIXTURES: ContractFixtures = ContractFixtures::of(7);
/// When the tasks of this part are admitted; later than all others, so that it has lists to itself.
const BASE: i64 = 7_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(BASE + millis)
}

pub(crate) async fn check(registry: &dyn Registry) {
    check_agents(registry).await;
    check_rules(registry).await;
    check_lineage(registry).await;
    check_agent_tasks(registry).await;
    check_repeats(registry).await;
    check_flags(registry).await;
    check_questions(registry).await;
}

pub(crate) fn agent(number: u64, name: &str) -> Agent {
    Agent {
        id: FIXTURES.agent(number),
        name: name.into(),
        created: at(0),
        revoked: None,
        token: TokenDigest::of(&format!("twa_{number}")),
        token_made: at(0),
        seen: None,
        client: None,
        learned_timeout: None,
        task_tools: true,
        calls: 0,
        meter: domain::budget::window::CountingSettings::default(),
    }
}

fn fact(id: AgentId, verb: Verb) -> AuditEvent {
    let actor = Actor::Person(PersonId::new("ada"));
    AuditEvent { at: at(1), actor, verb, subject: Subject::Agent(id), note: String::new() }
}

async fn check_agents(registry: &dyn Registry) {
    let put = |agent: &Agent, verb| {
        registry.put_agent(AgentUnit { agent: agent.clone(), audit: vec![fact(agent.id, verb)], ended_pause: None })
    };
    let (mut zed, abe) = (agent(1, "zed"), agent(2, "abe"));
    let seq = put(&zed, Verb::AgentAdded).await.expect("an agent is added");
    put(&abe, Verb::AgentAdded).await.expect("another is added");
    assert_eq!(registry.agents().await, Ok(vec![abe.clone(), zed.clone()]), "agents come by name");
    let change = registry.changes_since(Seq(seq.0 - 1), 1).await.expect("changes read");
    assert_eq!(change.rows.first().map(|row| row.entity), Some(Entity::Agent(zed.id)), "an agent's change is a change");

    let double = put(&agent(3, "zed"), Verb::AgentAdded).await;
    assert!(matches!(double, Err(RegistryError::Other { .. })), "a name is used once at a time: {double:?}");
    let thief = Agent { token: zed.token, ..agent(4, "thief") };
    let stolen = put(&thief, Verb::AgentAdded).await;
    assert!(matches!(stolen, Err(RegistryError::Other { .. })), "a token opens for one agent: {stolen:?}");

    let newest = registry.newest_seq().await;
    let note = |id, seen, calls, client: Option<&str>| AgentNote {
        id,
        seen: at(seen),
        calls,
        client: client.map(Into::into),
        learned_timeout: None,
    };
    let timeout = LearnedTimeout { after: Duration::from_millis(45_500), at: at(48) };
    let learned = AgentNote { learned_timeout: Some(timeout), ..note(zed.id, 50, 7, Some("inspector 1.0")) };
    let notes = vec![learned, note(FIXTURES.agent(99), 50, 1, None)];
    registry.note_agents(notes).await.expect("notes are flushed");
    registry.note_agents(vec![note(zed.id, 40, 6, None)]).await.expect("late notes do no harm");
    registry.note_agents(Vec::new()).await.expect("nothing is nothing");
    let client = Some("inspector 1.0".into());
    zed = Agent { seen: Some(at(50)), client, calls: 7, learned_timeout: Some(timeout), ..zed };
    assert_eq!(registry.agents().await, Ok(vec![abe.clone(), zed.clone()]), "the newest note counts");
    assert_eq!(registry.newest_seq().await, newest, "and a note is no change");

    let before = zed.clone();
    zed = Agent { token: TokenDigest::of("twa_new"), token_made: at(55), ..zed };
    put(&zed, Verb::AgentTokenReplaced).await.expect("a token is replaced");
    put(&before, Verb::BudgetChanged).await.expect("what was read before is written back");
    let agents = registry.agents().await.expect("agents read");
    assert!(agents.contains(&zed), "the token that was made last counts, whoever writes last: {agents:?}");

    let read_before = Agent { seen: None, client: None, calls: 0, learned_timeout: None, ..zed.clone() };
    zed.revoked = Some(at(60));
    put(&zed, Verb::AgentRevoked).await.expect("access is taken away");
    zed.meter.window = Some(50_000);
    let late = Agent { meter: zed.meter.clone(), ..read_before };
    put(&late, Verb::BudgetChanged).await.expect("what was read before is written back");
    let revoked = registry.agents().await.expect("agents read").into_iter().find(|agent| agent.id == zed.id);
    assert_eq!(revoked.as_ref(), Some(&zed), "who lost access does not get it back, nor forgets whom it was heard as");
    let heir = agent(3, "zed");
    put(&heir, Verb::AgentAdded).await.expect("the name is free again");
    let agents = registry.agents().await.expect("agents read");
    assert_eq!(agents, [abe, heir, zed], "those without access come last, and are kept for their tasks");
    let audit = registry.audit_page(None, 0, 1_000).await.expect("audit reads").rows;
    let subject = Subject::Agent(FIXTURES.agent(1));
    let verbs: Vec<Verb> = audit.iter().filter(|row| row.event.subject == subject).map(|row| row.event.verb).collect();
    let expected =
        [Verb::AgentAdded, Verb::AgentTokenReplaced, Verb::BudgetChanged, Verb::AgentRevoked, Verb::BudgetChanged];
    assert_eq!(verbs, expected, "who came and went stays on record");
}

async fn check_rules(registry: &dyn Registry) {
    let nothing = Rule::new;
    let put = |rule: &Rule, remove| {
        let audit = vec![fact(FIXTURES.agent(1), Verb::RuleChanged)];
        registry.put_rule(RuleUnit { rule: rule.clone(), remove, audit })
    };
    let whole = Rule {
        scope: RuleScope::Tool(FIXTURES.server(1), "a:tool with: colons".into()),
        asked: Some(AudienceRule::AgentThenPeople { after: Duration::from_millis(1_500) }),
        repeat: Some(RepeatRule::New),
        hold_results: Some(true),
        promote_after: Some(Duration::from_secs(3)),
        hold_cut: Some(false),
        result_limit: Some(TokenLimit { tokens: 20_000, at: LimitAction::Hold }),
        task_limit: Some(TokenLimit { tokens: 60_000, at: LimitAction::Stop }),
        window_limit: None,
        version: 7,
        time_limit: Some(RunLimit { allowed: Duration::from_secs(1_800), action: RunAction::Ask }),
        progress_limit: Some(RunLimit { allowed: Duration::from_secs(60), action: RunAction::Cancel }),
        same_call_limit: Some(SameCallLimit { count: 3, window: Duration::from_secs(60) }),
        calls_per_minute: Some(100),
        open_calls: Some(0),
        alarm_action: Some(RunAction::Cancel),
    };
    let of_agent = Rule { asked: Some(AudienceRule::Both), ..nothing(RuleScope::Agent(FIXTURES.agent(1))) };
    let of_server = Rule { hold_results: Some(false), ..nothing(RuleScope::Server(FIXTURES.server(1))) };
    let seq = put(&whole, false).await.expect("a rule is put");
    let change = registry.changes_since(Seq(seq.0 - 1), 1).await.expect("changes read");
    let entity = change.rows.first().map(|row| row.entity);
    assert_eq!(entity, Some(Entity::Server(FIXTURES.server(1))), "it changes what it speaks for");
    put(&of_server, false).await.expect("a rule is put");
    put(&nothing(of_agent.scope.clone()), false).await.expect("a rule is put");
    put(&of_agent, false).await.expect("and replaced");
    let all = vec![of_agent.clone(), of_server.clone(), whole.clone()];
    assert_eq!(registry.rules().await, Ok(all), "each scope has one, and they come by scope");
    put(&nothing(whole.scope), true).await.expect("a rule is taken away");
    assert_eq!(registry.rules().await, Ok(vec![of_agent, of_server]), "the others stay");
}

/// A call of an agent of this part.
fn call(number: u64) -> TaskHandle {
    let millis = i64::try_from(number).unwrap_or_default();
    let agent = Some(FIXTURES.agent(1));
    TaskHandle { agent, origin: Origin::Agent, ..FIXTURES.call(number, BASE + millis) }
}

fn ids(numbers: &[u64]) -> Vec<HandleId> {
    numbers.iter().map(|number| FIXTURES.id(*number)).collect()
}

async fn check_lineage(registry: &dyn Registry) {
    let job = JobKey::of(FIXTURES.server(1), "index_folder", "00ff");
    let parent = Parent { id: FIXTURES.id(10), why: ParentWhy::Trace };
    for number in 10..14 {
        let handle = TaskHandle {
            job: Some(job.clone()),
            attempt: u32::try_from(number - 9).unwrap_or(1),
            parent: (number > 10).then_some(parent),
            trace: Some("0af7651916cd43dd8448eb211c80319c".into()),
            ..call(number)
        };
        registry.admit(commit_of(&handle, Phase::Running)).await.expect("an attempt is admitted");
        let read = registry.handle(handle.id).await.expect("reads").expect("is here");
        assert_eq!(read, TaskHandle { version: 1, ..handle }, "it reads back as it was admitted");
    }
    assert_eq!(registry.attempts(job.clone(), 9).await, Ok(ids(&[13, 12, 11, 10])), "attempts, newest first");
    assert_eq!(registry.attempts(job, 2).await, Ok(ids(&[13, 12])), "at most as many as asked for");
    assert_eq!(registry.children(FIXTURES.id(10), 9).await, Ok(ids(&[13, 12, 11])), "children, newest first");
    assert_eq!(registry.children(FIXTURES.id(11), 9).await, Ok(Vec::new()), "nobody else's");
    let other = JobKey::of(FIXTURES.server(2), "index_folder", "00ff");
    assert_eq!(registry.attempts(other, 9).await, Ok(Vec::new()), "another server's call is another job");
}

async fn check_agent_tasks(registry: &dyn Registry) {
    let tasks = async |agent, after, limit| {
        let rows: Result<Vec<TaskHandle>, RegistryError> = registry.agent_tasks(agent, after, limit).await;
        rows.map(|rows| rows.into_iter().map(|task| task.id).collect::<Vec<_>>())
    };
    let me = FIXTURES.agent(1);
    assert_eq!(tasks(me, None, 9).await, Ok(Vec::new()), "a handle that was not given is nobody's to list");
    for number in [11, 12, 13] {
        let task = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
        registry.commit(commit_of(&task.give(at(100)).next, Phase::Running)).await.expect("it is given");
    }
    let stranger = TaskHandle { agent: Some(FIXTURES.agent(2)), given: Some(at(100)), ..call(20) };
    registry.admit(commit_of(&stranger, Phase::Done)).await.expect("another agent's task");
    assert_eq!(tasks(me, None, 9).await, Ok(ids(&[13, 12, 11])), "an agent's own, newest first");
    assert_eq!(tasks(me, None, 2).await, Ok(ids(&[13, 12])), "a page");
    assert_eq!(tasks(me, Some(FIXTURES.id(12)), 9).await, Ok(ids(&[11])), "and the one behind it");
    assert_eq!(tasks(me, Some(FIXTURES.id(999)), 9).await, Ok(Vec::new()), "behind nothing is nothing");

    let task = registry.handle(FIXTURES.id(12)).await.expect("reads").expect("is here");
    let cancel_request = CancelRequest::new(&Decider::from(PersonId::new("ada")), at(120), None, Delivery::Recorded);
    let revoked = TaskHandle { intent: Intent::Revoked(cancel_request), ..task };
    registry.commit(commit_of(&revoked, Phase::Revoked)).await.expect("it is taken away");
    assert_eq!(tasks(me, None, 9).await, Ok(ids(&[13, 11])), "what was taken away is not listed");
}

async fn check_repeats(registry: &dyn Registry) {
    let job = JobKey::of(FIXTURES.server(1), "index_folder", "00ff");
    let me = FIXTURES.agent(1);
    assert_eq!(registry.repeats(me, job.clone()).await, Ok(Vec::new()), "all replies reached the agent");
    for number in 11..=13 {
        let task = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
        let phase = if number == 12 { Phase::Revoked } else { Phase::Running };
        registry.commit(commit_of(&task.undeliver(at(200)).next, phase)).await.expect("a reply got lost");
    }
    assert_eq!(registry.repeats(me, job.clone()).await, Ok(ids(&[13, 11])), "newest first, not what was taken away");
    assert_eq!(registry.repeats(FIXTURES.agent(2), job.clone()).await, Ok(Vec::new()), "no other agent joins them");
    let task = registry.handle(FIXTURES.id(13)).await.expect("reads").expect("is here");
    registry
        .commit(commit_of(&task.delivered(at(210)).next, Phase::Running))
        .await
        .expect("it got its reply after all");
    assert_eq!(registry.repeats(me, job).await, Ok(ids(&[11])), "what was delivered is not joined");
}

async fn check_flags(registry: &dyn Registry) {
    let servers = vec![FIXTURES.server(1)];
    let query = |flags: &[TaskFlag]| TaskListQuery {
        servers: servers.clone(),
        flags: flags.to_vec(),
        ..TaskListQuery::default()
    };
    let found = async |query: TaskListQuery| registry.matching_ids(query, 9).await;
    for number in [11, 13] {
        let task = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
        let gone = task.agent_gone(at(300)).next;
        let hold =
            Some(ResultHold { by: Some(PersonId::new("ada")), at: at(300), why: HoldReason::Review, verdict: None });
        let next = TaskHandle { hold: hold.filter(|_| number == 13), ..gone };
        let phase = if number == 13 { Phase::Done } else { Phase::Running };
        registry.commit(commit_of(&next, phase)).await.expect("its agent is gone");
    }
    assert_eq!(found(query(&[TaskFlag::Orphaned])).await, Ok(ids(&[13, 11])), "orphaned tasks are found");
    assert_eq!(found(query(&[TaskFlag::Held])).await, Ok(ids(&[13])), "held ones too");
    assert_eq!(found(query(&[TaskFlag::Held, TaskFlag::Orphaned])).await, Ok(ids(&[13])), "and those that are both");
    let done = TaskListQuery { phases: vec![Phase::Done], ..query(&[TaskFlag::Orphaned]) };
    assert_eq!(found(done).await, Ok(ids(&[13])), "with the other conditions");
    let early = TaskListQuery { created_before: Some(at(12)), ..query(&[TaskFlag::Orphaned]) };
    assert_eq!(found(early).await, Ok(ids(&[11])), "those of time among them");
    let by_id = TaskListQuery { text: Some(FIXTURES.id(13).to_string()), ..query(&[TaskFlag::Orphaned]) };
    assert_eq!(found(by_id).await, Ok(ids(&[13])), "and of text");
    let by_name = TaskListQuery { text: Some("ZED".into()), ..query(&[]) };
    assert_eq!(found(by_name).await, Ok(ids(&[13, 12, 11, 10])), "an agent's tasks are found by its name");
    let everywhere =
        TaskListQuery { group_by: GroupBy::Agent, flags: vec![TaskFlag::Orphaned], ..TaskListQuery::default() };
    let view = registry.view(everywhere).await.expect("counts");
    assert_eq!(view.groups, [(FIXTURES.agent(1).to_string(), 2)], "they are counted as they are listed");
    assert_eq!(view.total, 2, "all of them");

    let task = registry.handle(FIXTURES.id(13)).await.expect("reads").expect("is here");
    let decided = task.release(&PersonId::new("bob"), None, Some("wrong folder"), at(310)).expect("it is held").next;
    assert!(
        matches!(decided.hold, Some(ResultHold { verdict: Some(HoldVerdict::Withhold { .. }), .. })),
        "the agent goes without"
    );
    registry.commit(commit_of(&decided, Phase::Running)).await.expect("it is decided");
    let read = registry.handle(FIXTURES.id(13)).await.expect("reads").expect("is here");
    assert_eq!(read.hold, decided.hold, "who decided what is kept");
    assert_eq!(found(query(&[TaskFlag::Held])).await, Ok(Vec::new()), "nothing waits any more");
    let back = read.agent_back(at(320)).next;
    registry.commit(commit_of(&back, Phase::Running)).await.expect("the agent is back");
    assert_eq!(found(query(&[TaskFlag::Orphaned])).await, Ok(ids(&[11])), "its task is not orphaned any more");
}

async fn check_questions(registry: &dyn Registry) {
    let asks = async || -> Vec<(HandleId, String)> {
        let items = registry.inbox(0, 1_000).await.expect("the inbox reads").items;
        let ours = items.iter().filter(|item| item.handle.server == FIXTURES.server(1));
        ours.map(|item| (item.handle.id, item.request.key.to_string())).collect()
    };
    let (number, people_at) = (30, at(500));
    let asked = |key: &str, ask: Ask| InputRequest { ask, ..question(key, BASE + 400) };
    let form = question("form", BASE + 400);
    let requests = [form, asked("sample", Ask::Sampling)].map(|request| (request.key.clone(), request));
    let before = registry.facts().await.expect("facts read").open_requests;
    let task = TaskHandle {
        audience: Audience::AgentThenPeople { people_at },
        requests: requests.into(),
        changed: at(400),
        ..call(number)
    };
    registry.admit(commit_of(&task, Phase::Running)).await.expect("an agent is asked");
    assert_eq!(asks().await, [], "what the agent is asked is not before people");
    assert_eq!(registry.facts().await.map(|facts| facts.open_requests), Ok(before), "nor counted for them");
    let task = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
    let later = TaskHandle { changed: people_at, ..task };
    registry.commit(commit_of(&later, Phase::Waiting)).await.expect("its time is up");
    assert_eq!(asks().await, [(FIXTURES.id(number), "form".to_owned())], "people are asked what they can answer");
    assert_eq!(registry.facts().await.map(|facts| facts.open_requests), Ok(before + 1), "and it counts");

    let task = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
    let by = Decider::Agent(FIXTURES.agent(1));
    let answer = domain::task::AnswerInput {
        key: Some(domain::ids::RequestKey::new("sample")),
        action: domain::task::input_request::AnswerAction::Forwarded,
        content: Some(domain::task::payload::Payload::new("{\"role\":\"assistant\"}")),
        by,
        not_before: None,
    };
    let (step, _) = task.answer(answer, at(510)).expect("the agent may still answer what only it can");
    let answered = step.next;
    registry.commit(commit_of(&answered, Phase::Waiting)).await.expect("it is recorded");
    let read = registry.handle(FIXTURES.id(number)).await.expect("reads").expect("is here");
    assert_eq!(read.requests, answered.requests, "that an agent answered, and how, reads back");
}
