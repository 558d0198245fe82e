//! Lists by place with their groups, what needs attention, cancels, user data and raw messages.

use std::collections::BTreeMap;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, PersonId};
use domain::policy::Policy;
use domain::ports::{
    CancelFacts, Commit, GroupBy, HiddenTasks, HideUnit, Registry, RegistryError, ServerUnit, SortColumn,
    TaskListQuery, TaskOrder,
};
use domain::raw_message::{Direction, RawMessage, RawText};
use domain::server::Server;
use domain::task::TaskHandle;
use domain::task::figures::{Figure, Figures};
use domain::task::payload::Payload;
use domain::task::status::{CancelRequest, Delivery, Intent, Phase, TaskStatus};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::build::http_server;
use crate::contract::fixtures::working;

const FIXTURES: ContractFixtures = ContractFixtures::of(6);
/// Tasks of the lists: enough for every kind of condition to take some and leave some.
const TASKS: u64 = 120;
const BASE: i64 = 50_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// The part each task plays, by its number.
fn part(number: u64) -> (TaskHandle, Phase) {
    let step = i64::try_from(number).unwrap_or(0);
    // Created in groups of four at the same moment, so that places fall within ties; changed in another order.
    let mut handle = FIXTURES.call(number, BASE + step / 4);
    handle.changed = at(BASE + (step * 37) % 120);
    handle.server = FIXTURES.server(1 + number % 3);
    handle.agent = number.is_multiple_of(3).then(|| FIXTURES.agent(1 + number % 2));
    handle.tool = match number % 5 {
        0 => None,
        1 | 2 => Some("hash_tree".into()),
        _ => Some("Index_Folder".into()),
    };
    let phases = [Phase::Running, Phase::Waiting, Phase::Done, Phase::Lost, Phase::Overdue, Phase::Failed];
    let phase = usize::try_from(number % 7).ok().and_then(|index| phases.get(index).copied());
    (handle, phase.unwrap_or(Phase::Silent))
}

/// A query for the tasks of this part.
fn ours() -> TaskListQuery {
    let servers = vec![FIXTURES.server(1), FIXTURES.server(2), FIXTURES.server(3)];
    TaskListQuery { servers, group_by: GroupBy::None, ..TaskListQuery::default() }
}

/// What a task of this part is sorted by: its server is named "loud-zoo" or by its id, its agent by its id.
fn value(column: SortColumn, handle: &TaskHandle) -> Option<String> {
    match column {
        SortColumn::Tool => handle.tool.as_deref().map(str::to_lowercase),
        SortColumn::Agent => handle.agent.map(|agent| agent.to_string()),
        SortColumn::Server if handle.server == FIXTURES.server(2) => Some("loud-zoo".into()),
        SortColumn::Server => Some(handle.server.to_string()),
        SortColumn::Phase => {
            let (_, phase) = (0..TASKS).map(part).find(|(one, _)| one.id == handle.id).expect("of this part");
            let place = Phase::ALL.iter().position(|one| *one == phase).expect("listed");
            Some(format!("{}{place:03}", phase.group().rank()))
        }
    }
}

fn expected(order: TaskOrder, keep: impl Fn(&TaskHandle, Phase) -> bool) -> Vec<HandleId> {
    let mut kept: Vec<TaskHandle> =
        (0..TASKS).map(part).filter(|(handle, phase)| keep(handle, *phase)).map(|(handle, _)| handle).collect();
    match order {
        TaskOrder::Newest => kept.sort_unstable_by_key(|handle| std::cmp::Reverse((handle.created, handle.id))),
        TaskOrder::Oldest => kept.sort_unstable_by_key(|handle| (handle.created, handle.id)),
        TaskOrder::Changed => kept.sort_unstable_by_key(|handle| std::cmp::Reverse((handle.changed, handle.id))),
        TaskOrder::By { column, is_descending } => kept.sort_by(|one, other| {
            let (mine, theirs) = (value(column, one), value(column, other));
            let by_value = match (&mine, &theirs) {
                (Some(mine), Some(theirs)) if is_descending => theirs.cmp(mine),
                (Some(mine), Some(theirs)) => mine.cmp(theirs),
                _ => mine.is_none().cmp(&theirs.is_none()),
            };
            by_value.then_with(|| (other.created, other.id).cmp(&(one.created, one.id)))
        }),
    }
    kept.into_iter().map(|handle| handle.id).collect()
}

/// Every page of a query in every order is what is expected, and so are its counts.
async fn shows(
    registry: &dyn Registry,
    query: &TaskListQuery,
    keep: impl Fn(&TaskHandle, Phase) -> bool + Copy,
    reason: &str,
) {
    let sorted = [
        (SortColumn::Phase, false),
        (SortColumn::Tool, false),
        (SortColumn::Tool, true),
        (SortColumn::Server, true),
        (SortColumn::Agent, false),
    ];
    let sorted = sorted.map(|(column, is_descending)| TaskOrder::By { column, is_descending });
    for order in [TaskOrder::Newest, TaskOrder::Oldest, TaskOrder::Changed].into_iter().chain(sorted) {
        let query = TaskListQuery { order, ..query.clone() };
        let want = expected(order, keep);
        let mut found = Vec::new();
        for offset in (0..).step_by(17) {
            let page = registry.page(query.clone(), offset, 17).await.expect("a page can be read");
            if page.rows.is_empty() {
                break;
            }
            found.extend(page.rows.iter().map(|(handle, _)| handle.id));
        }
        assert_eq!(found, want, "{reason}, {order:?}");
        let ids = registry.matching_ids(query.clone(), 1_000).await;
        assert_eq!(ids, Ok(want.clone()), "the same by id: {reason}, {order:?}");
        let total = registry.view(query).await.map(|view| view.total);
        assert_eq!(total, Ok(want.len() as u64), "counted: {reason}, {order:?}");
    }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let server = Server { id: FIXTURES.server(2), ..http_server(6_002, "Loud-Zoo") };
    registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("a server is put");
    for (handle, phase) in (0..TASKS).map(part) {
        // Admitted as something else first: what counts is what a task is now.
        let before = TaskHandle { tool: None, ..handle.clone() };
        let version = registry.admit(commit_of(&before, Phase::Running)).await.expect("admitted").version;
        registry.commit(commit_of(&TaskHandle { version, ..handle }, phase)).await.expect("committed");
    }
    check_conditions(registry).await;
    check_texts(registry).await;
    check_groups(registry).await;
    check_stretches(registry).await;
    check_hidden(registry).await;
    check_attention(registry).await;
    check_cancels(registry).await;
    check_user_data(registry).await;
    check_decisions(registry).await;
    check_raw_messages(registry).await;
}

async fn check_conditions(registry: &dyn Registry) {
    shows(registry, &ours(), |_, _| true, "everything of this part").await;
    let query = TaskListQuery { phases: vec![Phase::Lost, Phase::Done], ..ours() };
    shows(registry, &query, |_, phase| matches!(phase, Phase::Lost | Phase::Done), "in two phases").await;
    let query = TaskListQuery { servers: vec![FIXTURES.server(2)], ..ours() };
    shows(registry, &query, |handle, _| handle.server == FIXTURES.server(2), "on one server").await;
    let query = TaskListQuery { agents: vec![FIXTURES.agent(1)], ..TaskListQuery::default() };
    shows(registry, &query, |handle, _| handle.agent == Some(FIXTURES.agent(1)), "of one agent").await;
    let query = TaskListQuery { tools: vec!["hash_tree".into()], ..ours() };
    shows(registry, &query, |handle, _| handle.tool.as_deref() == Some("hash_tree"), "of one tool").await;
    shows(registry, &TaskListQuery { open: Some(true), ..ours() }, |_, phase| !phase.is_over(), "not over").await;
    shows(registry, &TaskListQuery { open: Some(false), ..ours() }, |_, phase| phase.is_over(), "over").await;
    let query = TaskListQuery { changed_after: Some(at(BASE + 60)), ..ours() };
    shows(registry, &query, |handle, _| handle.changed >= at(BASE + 60), "changed lately").await;
    let query = TaskListQuery { created_before: Some(at(BASE + 10)), ..ours() };
    shows(registry, &query, |handle, _| handle.created <= at(BASE + 10), "created long ago").await;
    let query = TaskListQuery {
        changed_after: Some(at(BASE + 30)),
        created_before: Some(at(BASE + 20)),
        phases: vec![Phase::Running],
        ..ours()
    };
    let keep = |handle: &TaskHandle, phase: Phase| {
        handle.changed >= at(BASE + 30) && handle.created <= at(BASE + 20) && phase == Phase::Running
    };
    shows(registry, &query, keep, "all conditions on time at once").await;
    let nobody = TaskListQuery { agents: vec![FIXTURES.agent(99)], ..ours() };
    shows(registry, &nobody, |_, _| false, "of an agent that has none").await;
}

async fn check_texts(registry: &dyn Registry) {
    let asks = |text: &str| TaskListQuery { text: Some(text.into()), ..ours() };
    let indexes = |handle: &TaskHandle, _: Phase| handle.tool.as_deref() == Some("Index_Folder");
    shows(registry, &asks("x_fold"), indexes, "a text in the tool's name").await;
    shows(registry, &asks("ZOO"), |handle, _| handle.server == FIXTURES.server(2), "in the server's name").await;
    let id = FIXTURES.id(7).to_string();
    shows(registry, &asks(&id.to_uppercase()), |handle, _| handle.id == FIXTURES.id(7), "a whole id").await;
    let short = id.get(..id.len() - 1).expect("ids are longer").to_owned();
    let near = |handle: &TaskHandle, _: Phase| handle.id.to_string().starts_with(&short);
    shows(registry, &asks(&short), near, "the beginning of an id").await;
    let late = TaskListQuery { changed_after: Some(at(BASE + 60)), phases: vec![Phase::Running], ..asks(&short) };
    let near_late = |handle: &TaskHandle, phase: Phase| {
        handle.id.to_string().starts_with(&short) && handle.changed >= at(BASE + 60) && phase == Phase::Running
    };
    shows(registry, &late, near_late, "the beginning of an id with other conditions").await;
    let found = vec![FIXTURES.id(3), FIXTURES.id(4), FIXTURES.id(8), FIXTURES.id(900_000)];
    let said = TaskListQuery { found: found.clone(), ..asks("x_fold") };
    let says = |handle: &TaskHandle, phase: Phase| indexes(handle, phase) || found.contains(&handle.id);
    shows(registry, &said, says, "tasks found by what they say, each once").await;
    let narrow = TaskListQuery { phases: vec![Phase::Lost], ..said.clone() };
    shows(registry, &narrow, |handle, phase| says(handle, phase) && phase == Phase::Lost, "with conditions").await;
    let by_both = TaskListQuery { text: Some(short.clone()), ..said.clone() };
    let both = |handle: &TaskHandle, phase: Phase| near(handle, phase) || found.contains(&handle.id);
    shows(registry, &by_both, both, "by id and by what they say").await;
    shows(registry, &TaskListQuery { text: None, ..said }, |_, _| true, "without a text nothing is found by it").await;
    shows(registry, &asks("' OR 1 = 1"), |_, _| false, "no character has a second meaning").await;
}

async fn check_groups(registry: &dyn Registry) {
    for group_by in [GroupBy::Need, GroupBy::Server, GroupBy::Agent] {
        let group = |handle: &TaskHandle, phase: Phase| match group_by {
            GroupBy::Need => phase.group().word().to_owned(),
            GroupBy::Server => handle.server.to_string(),
            GroupBy::Agent => handle.agent.map(|agent| agent.to_string()).unwrap_or_default(),
            GroupBy::None => String::new(),
        };
        let mut want: BTreeMap<(usize, String), u64> = BTreeMap::new();
        for (handle, phase) in (0..TASKS).map(part) {
            let rank = if group_by == GroupBy::Need { phase.group().rank() } else { 0 };
            *want.entry((rank, group(&handle, phase))).or_default() += 1;
        }
        let query = TaskListQuery { group_by, ..ours() };
        let view = registry.view(query.clone()).await.expect("a view");
        let want: Vec<(String, u64)> = want.into_iter().map(|((_, group), count)| (group, count)).collect();
        assert_eq!(view.groups, want, "the groups by {group_by:?}, in their order, each with its number");
        for (within, count) in view.groups {
            let inside = TaskListQuery { within: Some(within.clone()), ..query.clone() };
            shows(registry, &inside, |handle, phase| group(handle, phase) == within, "within one group").await;
            assert_eq!(registry.view(inside).await.map(|view| view.total), Ok(count), "and no other is counted");
        }
    }
    let undivided = registry.view(ours()).await.expect("a view");
    assert_eq!((undivided.total, undivided.groups.len()), (TASKS, 0), "an undivided list has no groups");
}

async fn check_stretches(registry: &dyn Registry) {
    let all = registry.view(TaskListQuery::default()).await.expect("a view").total;
    let counted: u64 =
        registry.counts(domain::ports::TaskQuery::default()).await.expect("counts").iter().map(|(_, n)| n).sum();
    assert_eq!(all, counted, "without conditions every task of the registry is in the list");
    let last = registry.page(TaskListQuery::default(), all - 1, 10).await.expect("a page");
    assert_eq!(last.rows.len(), 1, "the last place is a row");
    let beyond = registry.page(TaskListQuery::default(), all, 10).await.expect("a page");
    assert_eq!(beyond.rows.len(), 0, "and behind it is nothing");
    let none = registry.page(ours(), 0, 0).await.expect("a page");
    assert_eq!(none.rows.len(), 0, "a page of no rows is empty");
}

async fn check_hidden(registry: &dyn Registry) {
    let hide = |tasks: Vec<HandleId>, is_hidden: bool| registry.hide(HideUnit { tasks, is_hidden, at: at(BASE) });
    let left_out = || TaskListQuery { hidden: HiddenTasks::LeftOut, ..ours() };
    let only = || TaskListQuery { hidden: HiddenTasks::Only, ..ours() };
    shows(registry, &left_out(), |_, _| true, "while nothing is hidden, everything is shown").await;
    let (newest, tallied) = (registry.newest_seq().await, tallied(registry).await);
    let everything: Vec<HandleId> = (0..TASKS).step_by(2).map(|number| FIXTURES.id(number)).collect();
    hide(everything.clone(), true).await.expect("tasks are hidden");
    hide(everything, true).await.expect("what is hidden can be hidden again");
    assert_eq!(registry.newest_seq().await, newest, "hiding is no change of a task");
    let is_hidden = |handle: &TaskHandle, phase: Phase| even(handle) && matches!(phase, Phase::Done | Phase::Failed);
    shows(registry, &ours(), |_, _| true, "a list that asks for all has them").await;
    shows(registry, &left_out(), |handle, phase| !is_hidden(handle, phase), "over and settled ones are hidden").await;
    shows(registry, &only(), is_hidden, "and are listed when asked for").await;
    let late = TaskListQuery { changed_after: Some(at(BASE + 60)), phases: vec![Phase::Done], ..left_out() };
    let is_late = |handle: &TaskHandle, phase: Phase| {
        handle.changed >= at(BASE + 60) && phase == Phase::Done && !is_hidden(handle, phase)
    };
    shows(registry, &late, is_late, "with other conditions, too").await;
    let id = FIXTURES.id(2).to_string();
    let found = TaskListQuery { text: Some(id.clone()), found: vec![FIXTURES.id(9)], ..left_out() };
    shows(registry, &found, |handle, _| handle.id == FIXTURES.id(9), "a hidden task is not found by its id").await;
    let found = TaskListQuery { text: Some(id), ..only() };
    shows(registry, &found, |handle, _| handle.id == FIXTURES.id(2), "but among hidden ones").await;

    let hidden = (0..TASKS).map(part).filter(|(handle, phase)| is_hidden(handle, *phase)).count() as u64;
    let all = registry.view(TaskListQuery::default()).await.expect("a view").all;
    for group_by in [GroupBy::Need, GroupBy::Server, GroupBy::Agent, GroupBy::None] {
        let view = registry.view(TaskListQuery { group_by, ..left_out() }).await.expect("a view");
        assert_eq!((view.hidden, view.total, view.all), (hidden, TASKS - hidden, all - hidden), "counted apart");
        let grouped: u64 = view.groups.iter().map(|(_, count)| count).sum();
        assert!(group_by == GroupBy::None || grouped == view.total, "and in no group by {group_by:?}");
    }
    assert_eq!(
        self::tallied(registry).await,
        [tallied[0] - hidden, hidden],
        "and in no figure but that of hidden ones"
    );

    let changed = (0..TASKS).map(part).find(|(handle, phase)| is_hidden(handle, *phase)).expect("one is hidden").0;
    let read = registry.handle(changed.id).await.expect("it is read").expect("it is there");
    let version = registry.commit(commit_of(&read, Phase::Done)).await.expect("committed").version;
    shows(registry, &only(), is_hidden, "a change that leaves it as it stands leaves it hidden").await;
    let is_still = |handle: &TaskHandle, phase: Phase| is_hidden(handle, phase) && handle.id != changed.id;
    let now = TaskHandle { version, ..read };
    registry.commit(commit_of(&now, Phase::Running)).await.expect("committed");
    shows(registry, &only(), is_still, "a task that changes its phase is shown again").await;
    let read = registry.handle(changed.id).await.expect("it is read").expect("it is there");
    let phase = (0..TASKS).map(part).find(|(one, _)| one.id == changed.id).expect("of this part").1;
    registry.commit(commit_of(&read, phase)).await.expect("committed");

    hide((0..TASKS).map(|number| FIXTURES.id(number)).collect(), false).await.expect("all are shown again");
    shows(registry, &left_out(), |_, _| true, "and nothing is hidden any more").await;
}

/// Whether the number of this task is even.
fn even(handle: &TaskHandle) -> bool {
    (0..TASKS).step_by(2).any(|number| FIXTURES.id(number) == handle.id)
}

/// How many tasks the figures count: all, and hidden ones.
async fn tallied(registry: &dyn Registry) -> [u64; 2] {
    let figures = Figures::of(&registry.tallies().await.expect("tallies"));
    [Figure::All, Figure::Hidden].map(|figure| figures.count(figure))
}

async fn check_attention(registry: &dyn Registry) {
    let listed = registry.attention(10_000).await.expect("what needs attention");
    let mut changed: Vec<Timestamp> = listed.iter().map(|handle| handle.changed).collect();
    changed.reverse();
    assert!(changed.is_sorted(), "the last changed first");
    let found: Vec<HandleId> = listed.into_iter().map(|handle| handle.id).collect();
    let want = expected(TaskOrder::Changed, |_, phase| phase.needs_attention());
    let mine: Vec<HandleId> = found.into_iter().filter(|id| want.contains(id)).collect();
    assert_eq!(mine, want, "lost and overdue tasks, and no others");
    assert_eq!(registry.attention(2).await.map(|few| few.len()), Ok(2), "at most as many as asked for");
}

async fn check_cancels(registry: &dyn Registry) {
    let server = FIXTURES.server(9);
    let none = registry.cancels(server).await;
    assert_eq!(none, Ok(CancelFacts::default()), "nobody asked anything of this server");
    let ends = [
        (Some((TaskStatus::Cancelled, 40)), Delivery::Acknowledged { at: at(BASE) }),
        (Some((TaskStatus::Cancelled, 10)), Delivery::Acknowledged { at: at(BASE) }),
        (Some((TaskStatus::Cancelled, 90)), Delivery::Sent { at: at(BASE), attempts: 1 }),
        // The server cancelled it by itself: nothing was sent.
        (Some((TaskStatus::Cancelled, 5)), Delivery::Recorded),
        (None, Delivery::Recorded),
        (Some((TaskStatus::Failed(None), 10)), Delivery::Acknowledged { at: at(BASE) }),
        (None, Delivery::Refused { at: at(BASE), why: "no".into() }),
        (None, Delivery::Sent { at: at(BASE), attempts: 1 }),
    ];
    for (number, (end, delivery)) in (200..).zip(ends) {
        let mut handle = FIXTURES.task(number, BASE, &format!("stop-{number}"));
        handle.server = server;
        let version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
        let sent = (delivery != Delivery::Recorded).then(|| at(BASE));
        let request = CancelRequest::new(&PersonId::new("ada").into(), at(BASE), None, delivery);
        let cancel_request = CancelRequest { sent, ..request };
        let mut next = TaskHandle { version, intent: Intent::Cancel(cancel_request), ..handle };
        if let Some((status, took)) = end {
            next.view = working(&format!("stop-{number}"), at(BASE));
            if let domain::task::status::ServerView::Task(task) = &mut next.view {
                task.status = status;
            }
            next.ended = Some(at(BASE + took));
        }
        registry.commit(commit_of(&next, Phase::Cancelling)).await.expect("committed");
    }
    let never_left = FIXTURES.task(299, BASE, "stop-299");
    let cancel_request = CancelRequest::new(&PersonId::new("ada").into(), at(BASE), None, Delivery::Recorded);
    let never_left = TaskHandle {
        server,
        view: domain::task::status::ServerView::NotSent { why: "cancelled before the call was sent".into() },
        intent: Intent::Cancel(cancel_request),
        ended: Some(at(BASE + 1)),
        ..never_left
    };
    registry.admit(commit_of(&never_left, Phase::Cancelled)).await.expect("admitted");
    let delivery = Delivery::Sent { at: at(BASE), attempts: 1 };
    let request = CancelRequest::new(&PersonId::new("ada").into(), at(BASE), None, delivery);
    let plain = domain::task::status::ServerView::Awaiting {
        since: at(BASE),
        host: domain::ids::HostId::from_random(1),
        round: 0,
    };
    let call =
        TaskHandle { server, view: plain, intent: Intent::Cancel(request), ..FIXTURES.task(298, BASE, "stop-298") };
    registry.admit(commit_of(&call, Phase::Cancelling)).await.expect("admitted");
    let want = CancelFacts { asked: 6, stopped: 3, finished_anyway: 1, refused: 1, no_reply: 1, median_ms: Some(40) };
    let said = "asked is what was sent and can be answered; one is still open";
    assert_eq!(registry.cancels(server).await, Ok(want), "{said}");
}

async fn check_user_data(registry: &dyn Registry) {
    let policy = super::policy();
    let put =
        |key: &str, value: Option<&str>, when: i64| registry.desk_put("draft", key, value.map(str::to_owned), at(when));
    let keys = || async {
        let items = registry.desk_list("draft").await.expect("the desk");
        items.into_iter().map(|item| (item.key, item.value)).collect::<Vec<_>>()
    };
    let newest = registry.newest_seq().await;
    put("a", Some("1"), 10).await.expect("put");
    put("b", Some("2"), 20).await.expect("put");
    registry.desk_put("view", "a", Some("other".into()), at(30)).await.expect("put");
    put("a", Some("3"), 40).await.expect("replaced");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(keys().await, [pair("a", "3"), pair("b", "2")], "the last put first; kinds share nothing");
    put("b", None, 50).await.expect("taken away");
    put("b", None, 50).await.expect("what is not there can be taken away");
    assert_eq!(keys().await, [pair("a", "3")], "what was taken away is gone");
    let large = "x".repeat(policy.desk_value_bytes + 1);
    let refused = put("c", Some(&large), 60).await;
    assert!(matches!(refused, Err(RegistryError::Other { .. })), "a value above the cap is refused: {refused:?}");
    for number in 0..i64::from(policy.desk_items_max) + 2 {
        put(&format!("key {number}"), Some("{}"), 100 + number).await.expect("put");
    }
    let kept = keys().await;
    assert_eq!(kept.len(), usize::try_from(policy.desk_items_max).unwrap_or(0), "the oldest fall out");
    assert_eq!(kept.first(), Some(&pair(&format!("key {}", policy.desk_items_max + 1), "{}")), "the newest stays");
    let half = "x".repeat(usize::try_from(policy.desk_kind_bytes).unwrap_or(0) / 2 + 1);
    put("first half", Some(&half), 1_000).await.expect("put");
    put("second half", Some(&half), 1_001).await.expect("put");
    assert_eq!(keys().await, [pair("second half", &half)], "by their size, too");
    assert_eq!(registry.newest_seq().await, newest, "the desk is no change of a task");
}

/// A decision and its audit rows are one change, also when it is over and taken away.
async fn check_decisions(registry: &dyn Registry) {
    let fact = |verb| {
        let (at, actor) = (at(2_000), Actor::Person(PersonId::new("ada")));
        vec![AuditEvent { at, actor, verb, subject: Subject::Store, note: String::new() }]
    };
    let before = registry.sinks().await.expect("sinks").last;
    let lying = || async {
        let items = registry.desk_list("decided").await.expect("the desk");
        items.into_iter().map(|item| (item.key, item.value)).collect::<Vec<_>>()
    };
    registry.desk_decide("decided", "a", Some("1".into()), fact(Verb::ProcessEnded)).await.expect("decided");
    assert_eq!(lying().await, [("a".to_owned(), "1".to_owned())]);
    registry.desk_decide("decided", "a", None, fact(Verb::ServerActEnded)).await.expect("taken away");
    assert!(lying().await.is_empty(), "what is over is gone");
    let large = "x".repeat(super::policy().desk_value_bytes + 1);
    let refused = registry.desk_decide("decided", "b", Some(large), fact(Verb::ProcessEnded)).await;
    assert!(matches!(refused, Err(RegistryError::Other { .. })), "{refused:?}");
    let rows = registry.audit_page(None, before, 10).await.expect("audit").rows;
    let verbs: Vec<Verb> = rows.iter().map(|row| row.event.verb).collect();
    assert_eq!(verbs, [Verb::ProcessEnded, Verb::ServerActEnded], "each has its row, and what was refused has none");
}

async fn check_raw_messages(registry: &dyn Registry) {
    let policy = super::policy();
    let mut handle = FIXTURES.call(300, BASE);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    assert_eq!(registry.raw_list(handle.id).await, Ok(Vec::new()), "nothing was said yet");
    let message = |number: i64| {
        let direction = if number % 2 == 0 { Direction::FromServer } else { Direction::ToServer };
        let body = Payload::new(format!("{{\"number\":{number}}}"));
        let text = RawText::of(body.as_str(), &Policy::default());
        RawMessage::new(at(BASE + number / 2), direction, "tasks/get", &text)
    };
    for numbers in [0..2_i64, 2..3, 3..7] {
        let raw = numbers.map(message).collect();
        handle.version =
            registry.commit(Commit { raw, ..commit_of(&handle, Phase::Running) }).await.expect("kept").version;
    }
    let kept = registry.raw_list(handle.id).await.expect("a list");
    let first = 7 - i64::from(policy.raw_messages_per_task);
    assert_eq!(kept.len(), usize::try_from(policy.raw_messages_per_task).unwrap_or(0), "the newest are kept");
    for (note, number) in kept.iter().zip(first..) {
        let want = message(number);
        assert_eq!(note.n, u64::try_from(number).unwrap_or(0) + 1, "numbers rise, whatever fell out");
        assert_eq!(
            (note.at, note.direction, note.about.as_str(), note.bytes, note.cut),
            (want.at, want.direction, want.about.as_str(), want.bytes, want.cut),
            "a note says what the message is"
        );
        assert_eq!(registry.raw(handle.id, note.n).await, Ok(Some(want.body)), "its text reads back");
    }
    assert_eq!(registry.raw(handle.id, 1).await, Ok(None), "what fell out is gone");
    assert_eq!(registry.raw(FIXTURES.id(999), 1).await, Ok(None), "an unknown task said nothing");
}
