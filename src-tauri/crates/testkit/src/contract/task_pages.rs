//! Pages by cursor, counts, and the lists that the reconcilers work through.

use domain::ids::HandleId;
use domain::ports::{Commit, Registry, TaskQuery};
use domain::task::TaskHandle;
use domain::task::status::Phase;
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};

const FIXTURES: ContractFixtures = ContractFixtures::of(2);
/// Tasks of this part: enough for several pages and many ties.
const TASKS: u64 = 60;

/// The part each task plays, by its number.
fn part(number: u64) -> (TaskHandle, Phase) {
    // Created in pairs of five at the same moment, so that pages break within ties.
    let mut handle = FIXTURES.call(number, 10_000 + i64::try_from(number / 5).unwrap_or(0));
    handle.server = FIXTURES.server(1 + number % 3);
    handle.agent = number.is_multiple_of(4).then(|| FIXTURES.agent(1 + number % 8 / 4));
    let phases = [Phase::Running, Phase::Waiting, Phase::Done, Phase::Lost, Phase::Revoked];
    let phase = usize::try_from(number % 5).ok().and_then(|index| phases.get(index).copied());
    (handle, phase.unwrap_or(Phase::Running))
}

fn expected(keep: impl Fn(&TaskHandle, Phase) -> bool) -> Vec<HandleId> {
    let mut parts: Vec<(Timestamp, HandleId)> = (0..TASKS)
        .map(part)
        .filter(|(handle, phase)| keep(handle, *phase))
        .map(|(handle, _)| (handle.created, handle.id))
        .collect();
    parts.sort_unstable_by(|a, b| b.cmp(a));
    parts.into_iter().map(|(_, id)| id).collect()
}

/// All pages of a query, put together.
async fn pages(registry: &dyn Registry, mut query: TaskQuery) -> Vec<HandleId> {
    let mut all = Vec::new();
    loop {
        let page = registry.list(query.clone()).await.expect("a page can be read");
        assert!(page.rows.len() <= query.limit as usize, "a page is not longer than asked for");
        all.extend(page.rows.iter().map(|(handle, _)| handle.id));
        match page.next {
            Some(next) => query.before = Some(next),
            None => return all,
        }
    }
}

pub(crate) async fn check(registry: &dyn Registry) {
    for (handle, phase) in (0..TASKS).map(part) {
        registry.admit(commit_of(&handle, phase)).await.expect("a task of the list is admitted");
    }
    check_paging(registry).await;
    check_counting(registry).await;
    check_open_tasks(registry).await;
    check_due_tasks(registry).await;
}

async fn check_paging(registry: &dyn Registry) {
    let (one, two, agent) = (Some(FIXTURES.server(1)), Some(FIXTURES.server(2)), Some(FIXTURES.agent(1)));
    for limit in [1, 4, 7, 30, 100] {
        let query = TaskQuery { limit, server: one, ..TaskQuery::default() };
        let want = expected(|handle, _| Some(handle.server) == one);
        assert_eq!(pages(registry, query.clone()).await, want, "every task of a server once, newest first");
        let phases = vec![Phase::Waiting, Phase::Done];
        let want = expected(|handle, phase| Some(handle.server) == one && phases.contains(&phase));
        assert_eq!(pages(registry, TaskQuery { phases: phases.clone(), ..query.clone() }).await, want, "in two phases");
        let want = expected(|handle, _| handle.agent == agent);
        let query = TaskQuery { limit, agent, ..TaskQuery::default() };
        assert_eq!(pages(registry, query.clone()).await, want, "of one agent");
        let want = expected(|handle, _| handle.agent == agent && Some(handle.server) == two);
        assert_eq!(pages(registry, TaskQuery { server: two, ..query }).await, want, "of one agent on one server");
        let query = TaskQuery { limit, phases: vec![Phase::Lost], ..TaskQuery::default() };
        let want = expected(|_, phase| phase == Phase::Lost);
        assert_eq!(pages(registry, query).await, want, "in one phase on all servers");
    }
    let all = pages(registry, TaskQuery { limit: 9, ..TaskQuery::default() }).await;
    let ours: Vec<HandleId> = all.into_iter().filter(|id| expected(|_, _| true).contains(id)).collect();
    assert_eq!(ours, expected(|_, _| true), "without conditions all tasks come, newest first");
    let none = registry.list(TaskQuery::default()).await.expect("an empty page");
    assert_eq!((none.rows.len(), none.next), (0, None), "a page of no rows has no next one");
}

async fn check_counting(registry: &dyn Registry) {
    let query = TaskQuery { server: Some(FIXTURES.server(1)), ..TaskQuery::default() };
    let count =
        |phase| (phase, expected(|handle, now| handle.server == FIXTURES.server(1) && now == phase).len() as u64);
    let want: Vec<(Phase, u64)> = Phase::ALL.into_iter().map(count).filter(|(_, count)| *count > 0).collect();
    let counted = registry.counts(query.clone()).await;
    assert_eq!(counted, Ok(want.clone()), "counts are those of the phases, in the order of the appendix");
    let counted = registry.counts(TaskQuery { phases: vec![Phase::Done], limit: 1, ..query }).await;
    assert_eq!(counted, Ok(want), "the phase and the page are no condition for counts");
    let query = TaskQuery { agent: Some(FIXTURES.agent(9)), ..TaskQuery::default() };
    assert_eq!(registry.counts(query).await, Ok(Vec::new()), "an agent without tasks has no counts");
}

async fn check_open_tasks(registry: &dyn Registry) {
    let mut want = expected(|handle, phase| handle.server == FIXTURES.server(2) && !phase.is_over());
    want.sort_unstable();
    let count = registry.open_count(Some(FIXTURES.server(2))).await;
    assert_eq!(count, Ok(want.len() as u64), "open tasks are counted; a revoked one is still open");
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = registry.open_handles(Some(FIXTURES.server(2)), after, 3).await.expect("open tasks can be read");
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        found.extend(page.iter().map(|handle| handle.id));
    }
    assert_eq!(found, want, "open tasks come once each, by id");
    let everywhere = registry.open_handles(None, None, 1_000).await.expect("open tasks of all servers");
    assert!(want.iter().all(|id| everywhere.iter().any(|handle| handle.id == *id)), "also without a server");
}

async fn check_due_tasks(registry: &dyn Registry) {
    let at = |millis| Some(Timestamp::from_millis(millis));
    let now = Timestamp::from_millis(50);
    let mut later = Vec::new();
    for (number, tick_at, deliver_at) in
        [(101, at(50), None), (102, at(20), at(51)), (103, at(51), at(50)), (104, at(20), at(10)), (105, None, None)]
    {
        let handle = FIXTURES.call(number, 90_000);
        let admitted = registry.admit(Commit { tick_at, deliver_at, ..commit_of(&handle, Phase::Running) }).await;
        later.push(TaskHandle { version: admitted.expect("admitted").version, ..handle });
    }
    let ids = |numbers: &[u64]| Ok(numbers.iter().map(|number| FIXTURES.id(*number)).collect::<Vec<_>>());
    assert_eq!(registry.ticking(now, 10).await, ids(&[102, 104, 101]), "what is due, the longest due first");
    assert_eq!(registry.ticking(now, 2).await, ids(&[102, 104]), "at most as many as asked for");
    assert_eq!(registry.deliverable(now, 10).await, ids(&[104, 103]), "what may leave now");
    for handle in &later {
        registry.commit(commit_of(handle, Phase::Done)).await.expect("they end");
    }
    assert_eq!(registry.ticking(now, 10).await, ids(&[]), "a commit clears what was due");
    assert_eq!(registry.deliverable(now, 10).await, ids(&[]), "and what was to leave");
}
