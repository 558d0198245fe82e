//! What a registry counts by its columns is what the domain's predicates say of each task.

use std::collections::BTreeMap;

use domain::ids::{HandleId, PersonId};
use domain::ports::{GroupBy, Registry, TaskFlag, TaskListQuery, TaskOrder};
use domain::rule::{LimitAction, TokenLimit};
use domain::server::ServerAct;
use domain::task::figures::{CountedState, Figure, Figures, TaskTally};
use domain::task::status::{Contact, GoneWhy, Phase};
use domain::task::{HoldReason, OverLimit, ResultHold, TaskHandle};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::contract::fixtures::question;

const FIXTURES: ContractFixtures = ContractFixtures::of(13);
/// Enough that every phase meets every flag.
const TASKS: u64 = 240;
const BASE: i64 = 90_000;

/// The part each task plays: drawn from its number, the same in every run.
fn part(number: u64) -> (TaskHandle, Phase) {
    let mut drawn = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = |sides: u64| {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        drawn % sides
    };
    let step = i64::try_from(number).unwrap_or(0);
    let mut task = FIXTURES.call(number, BASE + step / 3);
    let at = Timestamp::from_millis(BASE + (step * 37) % 200);
    task.changed = at;
    task.server = FIXTURES.server(1 + draw(3));
    task.agent = (draw(4) > 0).then(|| FIXTURES.agent(1 + draw(3)));
    task.tool = (draw(3) > 0).then(|| "index_folder".into());
    task.orphaned = (draw(3) == 0).then_some(at);
    let by = Some(PersonId::new("ada"));
    task.hold = (draw(2) == 0).then_some(ResultHold { by, at, why: HoldReason::Review, verdict: None });
    let limit = TokenLimit { tokens: 1_000, at: LimitAction::Ask };
    task.over_limit = (draw(3) == 0).then_some(OverLimit { at, tokens: 1_001, limit, settled: None });
    for key in ["a", "b"] {
        if draw(4) == 0 {
            let asked = question(key, BASE);
            task.requests.insert(asked.key.clone(), asked);
        }
    }
    let phase = usize::try_from(draw(16)).ok().and_then(|at| Phase::ALL.get(at).copied());
    if phase == Some(Phase::Lost) && draw(2) == 0 {
        let why = GoneWhy::EndedByPerson { by: PersonId::new("ada"), act: ServerAct::End };
        task.contact = Contact::Gone { at, seen: at, why };
    }
    (task, phase.unwrap_or(Phase::Running))
}

fn state((task, phase): &(TaskHandle, Phase)) -> CountedState {
    CountedState::of(task, *phase, task.changed)
}

fn tally(part: &(TaskHandle, Phase)) -> TaskTally {
    TaskTally { server: part.0.server, agent: part.0.agent, state: state(part), is_hidden: false, tasks: 1 }
}

/// A query for the tasks of this part.
fn ours() -> TaskListQuery {
    TaskListQuery { servers: (1..=3).map(|number| FIXTURES.server(number)).collect(), ..TaskListQuery::default() }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let parts: Vec<_> = (0..TASKS).map(part).collect();
    for (task, phase) in &parts {
        let version = registry.admit(commit_of(task, Phase::Running)).await.expect("admitted").version;
        registry.commit(commit_of(&TaskHandle { version, ..task.clone() }, *phase)).await.expect("committed");
    }
    check_tallies(registry, &parts).await;
    check_listed(registry, &parts).await;
}

async fn check_tallies(registry: &dyn Registry, parts: &[(TaskHandle, Phase)]) {
    let all = registry.tallies().await.expect("tallies");
    let mine: Vec<TaskTally> = all.iter().copied().filter(|tally| ours().servers.contains(&tally.server)).collect();
    let want: Vec<TaskTally> = parts.iter().map(tally).collect();
    assert_eq!(Figures::of(&mine), Figures::of(&want), "columns and predicates say the same of all tasks");
    for figure in Figure::ALL {
        let by_server = |number| Figures::of(mine.iter().filter(|tally| tally.server == FIXTURES.server(number)));
        let sum: u64 = (1..=3).map(|number| by_server(number).count(figure)).sum();
        assert_eq!(sum, Figures::of(&mine).count(figure), "{figure:?}: servers sum to the total");
        let agents = [None, Some(FIXTURES.agent(1)), Some(FIXTURES.agent(2)), Some(FIXTURES.agent(3))];
        let by_agent = |agent| Figures::of(mine.iter().filter(|tally| tally.agent == agent));
        let sum: u64 = agents.into_iter().map(|agent| by_agent(agent).count(figure)).sum();
        assert_eq!(sum, Figures::of(&mine).count(figure), "{figure:?}: agents and nobody sum to the total");
        for agent in agents {
            let want = Figures::of(want.iter().filter(|tally| tally.agent == agent));
            assert_eq!(by_agent(agent).count(figure), want.count(figure), "{figure:?} of {agent:?}");
        }
    }
    let total = registry.view(TaskListQuery::default()).await.expect("a view");
    assert_eq!(Figures::of(&all).count(Figure::All), total.total, "every task of the registry is in one tally");
    assert_eq!(total.all, total.total, "and the list says how many there are");
}

async fn check_listed(registry: &dyn Registry, parts: &[(TaskHandle, Phase)]) {
    let ids = |keep: &dyn Fn(CountedState) -> bool| -> Vec<HandleId> {
        let mut kept: Vec<_> = parts.iter().filter(|part| keep(state(part))).map(|(task, _)| task).collect();
        kept.sort_unstable_by_key(|task| std::cmp::Reverse((task.created, task.id)));
        kept.into_iter().map(|task| task.id).collect()
    };
    let of_figures =
        [(TaskFlag::NeedsYou, Figure::NeedsYou), (TaskFlag::Held, Figure::Held), (TaskFlag::Orphaned, Figure::Gone)];
    for (flag, figure) in of_figures {
        let query = TaskListQuery { flags: vec![flag], ..ours() };
        let want = ids(&|state| figure.counts(state));
        assert_eq!(registry.matching_ids(query.clone(), 999).await, Ok(want.clone()), "the list of {figure:?}");
        let late = TaskListQuery { changed_after: Some(Timestamp::from_millis(0)), ..query.clone() };
        assert_eq!(registry.matching_ids(late.clone(), 999).await, Ok(want.clone()), "{figure:?} with a moment");
        for query in [query, late] {
            let view = registry.view(query).await.expect("a view");
            assert_eq!(view.total, want.len() as u64, "{figure:?} is counted as it is listed");
        }
    }
    let mut groups: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for part in parts {
        let group = state(part).group();
        *groups.entry((group.rank(), group.word())).or_default() += 1;
    }
    let want: Vec<(String, u64)> = groups.into_iter().map(|((_, word), count)| (word.to_owned(), count)).collect();
    for changed_after in [None, Some(Timestamp::from_millis(0))] {
        for order in [TaskOrder::Newest, TaskOrder::Oldest, TaskOrder::Changed] {
            let query = TaskListQuery { group_by: GroupBy::Need, changed_after, order, ..ours() };
            assert_eq!(registry.view(query.clone()).await.expect("a view").groups, want, "sections, {order:?}");
            for (word, count) in &want {
                let within = TaskListQuery { within: Some(word.clone()), ..query.clone() };
                let rows = registry.page(within, 0, 500).await.expect("a page").rows;
                let mut found: Vec<HandleId> = rows.into_iter().map(|(task, _)| task.id).collect();
                assert_eq!(found.len() as u64, *count, "section {word}, {order:?}");
                let mut want = ids(&|state| state.group().word() == word);
                found.sort_unstable();
                want.sort_unstable();
                assert_eq!(found, want, "the rows of section {word}, {order:?}");
            }
        }
    }
}
