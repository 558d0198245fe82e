//! Lists of tasks: the two figures of 100,000 tasks that have an aim, then a page of a hundred tasks out of 100 and out
//! of 1,000,000 (or as many as the first argument says; `0` measures the two figures alone).
//!
//! Tasks are admitted like any other, so the files are what a long life leaves behind. Every kind of page that people
//! and the window ask for is measured on both registries in turn; places far down and groups on the large one. Prints
//! one JSON object a line, as `cargo xtask bench` reads it.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot go on has nothing to say")]

use std::path::Path;
use std::time::{Duration, Instant};

use domain::policy::Policy;
use domain::ports::{GroupBy, Registry, SortColumn, TaskListQuery, TaskOrder, TaskQuery};
use domain::task::TaskHandle;
use domain::task::status::Phase;
use domain::time::Timestamp;
use futures::future::join_all;
use registry::{RegistryOptions, SealKey, SqliteRegistry};
use testkit::contract::{ContractFixtures, commit_of};

const FIXTURES: ContractFixtures = ContractFixtures::of(9);
const SMALL: u64 = 100;
const LARGE: u64 = 1_000_000;
/// What the aims are about: the first rows of so many tasks, and a page of a group at a place far down.
const AIMED: u64 = 100_000;
const FAR_DOWN: u64 = 50_000;
/// How often a registry is opened anew for its first rows.
const OPENINGS: u32 = 9;
/// Admissions on their way at the same time while filling.
const AT_ONCE: u64 = 4_000;
const ROUNDS: u32 = 60;

/// One in twenty tasks is open; servers and agents are spread unevenly, as in life.
fn part(number: u64) -> (TaskHandle, Phase) {
    let created = 1_700_000_000_000 + i64::try_from(number * 10).expect("fits");
    let mut handle = FIXTURES.task(number, created, &format!("upstream-{number}"));
    handle.server = FIXTURES.server(number % 50 % 7);
    handle.agent = number.is_multiple_of(3).then(|| FIXTURES.agent(number % 5));
    let phases = [Phase::Running, Phase::Waiting, Phase::Failed, Phase::DoneWithError];
    let phase = usize::try_from(number % 40).ok().and_then(|index| phases.get(index).copied());
    (handle, phase.unwrap_or(Phase::Done))
}

async fn open(path: &Path) -> SqliteRegistry {
    let policy = Policy { group_commit_max: 1_024, ..Policy::default() };
    let opening = RegistryOptions { path, key: SealKey::from_bytes([7; 32]), policy: &policy, now: Timestamp::EPOCH };
    let opened = SqliteRegistry::open(opening, |work| drop(tokio::runtime::Handle::current().spawn(work))).await;
    opened.expect("a registry opens")
}

async fn filled(path: &Path, tasks: u64) -> SqliteRegistry {
    let registry = open(path).await;
    let mut first = 0;
    while first < tasks {
        let next = (first + AT_ONCE).min(tasks);
        let admissions = (first..next).map(|number| {
            let (handle, phase) = part(number);
            let registry = &registry;
            async move { registry.admit(commit_of(&handle, phase)).await }
        });
        for outcome in join_all(admissions).await {
            outcome.expect("admitted");
        }
        first = next;
    }
    registry
}

/// The pages that are measured, by name.
fn queries() -> Vec<(&'static str, TaskQuery)> {
    let all = TaskQuery { limit: 100, ..TaskQuery::default() };
    vec![
        ("all", all.clone()),
        ("open", TaskQuery { phases: vec![Phase::Running, Phase::Waiting], ..all.clone() }),
        ("server", TaskQuery { server: Some(FIXTURES.server(1)), ..all.clone() }),
        ("serverPhase", TaskQuery { server: Some(FIXTURES.server(1)), phases: vec![Phase::Done], ..all.clone() }),
        ("agent", TaskQuery { agent: Some(FIXTURES.agent(1)), ..all }),
    ]
}

/// What the window asks for, by name: the query and the place.
fn screens(tasks: u64) -> Vec<(&'static str, TaskListQuery, u64)> {
    let all = TaskListQuery::default;
    let within = |group: &str| TaskListQuery { within: Some(group.into()), ..all() };
    let deep = FAR_DOWN;
    // A task is created each 10 ms.
    let tenth = i64::try_from(tasks * 9).expect("fits");
    vec![
        ("first page", all(), 0),
        ("far down", all(), deep),
        ("needs you", within("needsYou"), 0),
        ("finished", within("finished"), 0),
        ("finished, far down", within("finished"), deep),
        ("of a server", TaskListQuery { servers: vec![FIXTURES.server(1)], ..all() }, 0),
        (
            "of a server, by agent",
            TaskListQuery {
                servers: vec![FIXTURES.server(1)],
                group_by: GroupBy::Agent,
                within: Some(String::new()),
                ..all()
            },
            0,
        ),
        ("of a tool, far down", TaskListQuery { tools: vec!["index_folder".into()], ..all() }, deep),
        ("by text", TaskListQuery { text: Some("folder".into()), ..all() }, 0),
        ("by id", TaskListQuery { text: Some(FIXTURES.id(77).to_string()), ..all() }, 0),
        ("by change", TaskListQuery { order: TaskOrder::Changed, ..all() }, 0),
        ("by change, far down", TaskListQuery { order: TaskOrder::Changed, ..all() }, deep),
        ("needs you, by change", TaskListQuery { order: TaskOrder::Changed, ..within("needsYou") }, 0),
        (
            "changed in the last tenth",
            TaskListQuery { changed_after: Some(Timestamp::from_millis(1_700_000_000_000 + tenth)), ..all() },
            0,
        ),
        (
            "older than the last tenth",
            TaskListQuery { created_before: Some(Timestamp::from_millis(1_700_000_000_000 + tenth)), ..all() },
            0,
        ),
    ]
}

/// Prints how long pages of a screen and its groups take.
async fn measure_screens(registry: &SqliteRegistry, tasks: u64) {
    for (name, query, offset) in screens(tasks) {
        let (mut pages, mut views) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let page = registry.page(query.clone(), offset, 100).await.expect("a page");
            pages.push(begun.elapsed());
            assert!(!page.rows.is_empty() || offset > tasks / 4, "`{name}` has something to show");
            let begun = Instant::now();
            registry.view(query.clone()).await.expect("a view");
            views.push(begun.elapsed());
        }
        for (what, took) in [("page", pages), ("groups", views)] {
            println!(
                "{{\"metric\": \"screen `{name}`, {what}, of {tasks} tasks\", \"ours\": {:.2}, \"unit\": \"ms\"}}",
                median(took)
            );
        }
    }
}

/// Prints the two figures of a long list that have an aim: what a window waits for before its first rows, and a page
/// of a group at a place far down.
async fn measure_aims(folder: &Path) {
    let path = folder.join("aimed").join("registry.sqlite");
    filled(&path, AIMED).await.close().await;
    let mut first = Vec::new();
    for _ in 0..OPENINGS {
        let registry = open(&path).await;
        let begun = Instant::now();
        let page = registry.page(TaskListQuery::default(), 0, 100).await.expect("a page");
        registry.view(TaskListQuery::default()).await.expect("a view");
        first.push(begun.elapsed());
        assert_eq!(page.rows.len(), 100, "the first rows are there");
        registry.close().await;
    }
    let registry = open(&path).await;
    let group = TaskListQuery { within: Some("finished".into()), ..TaskListQuery::default() };
    let mut deep = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let page = registry.page(group.clone(), FAR_DOWN, 100).await.expect("a page");
        deep.push(begun.elapsed());
        assert_eq!(page.rows.len(), 100, "the group reaches that far");
    }
    let sorted = sorted_pages(&registry).await;
    registry.close().await;
    let print = |what: &str, took, aim: u32| {
        println!(
            "{{\"metric\": \"{AIMED} tasks: {what}\", \"ours\": {:.2}, \"unit\": \"ms\", \"aim\": \"< {aim} ms\"}}",
            median(took)
        );
    };
    print("first rows and groups after opening", first, 100);
    print(&format!("page of a grouped list at place {FAR_DOWN}"), deep, 10);
    for (what, took, aim) in sorted {
        print(&what, took, aim);
    }
}

/// How long pages take of lists that are sorted by a column, at the beginning and far down, and of a text that finds as
/// many tasks by what they say as one search may.
async fn sorted_pages(registry: &SqliteRegistry) -> Vec<(String, Vec<Duration>, u32)> {
    let mut figures = Vec::new();
    let all = TaskListQuery { group_by: GroupBy::None, ..TaskListQuery::default() };
    let mut queries: Vec<(String, TaskListQuery, u64, u32)> = Vec::new();
    for column in [SortColumn::Phase, SortColumn::Tool, SortColumn::Server, SortColumn::Agent] {
        let query = TaskListQuery { order: TaskOrder::By { column, is_descending: false }, ..all.clone() };
        queries.push((format!("first page by {column:?}"), query.clone(), 0, 100));
        queries.push((format!("page by {column:?} at place {FAR_DOWN}"), query, FAR_DOWN, 10));
    }
    let found = (0..5_000).map(|number| FIXTURES.id(number * 20)).collect();
    let text = TaskListQuery { text: Some("nothing is called so".into()), found, ..all };
    queries.push(("first page of 5,000 tasks that say a text".into(), text, 0, 100));
    for (what, query, offset, aim) in queries {
        let mut took = Vec::new();
        for _ in 0..OPENINGS {
            let begun = Instant::now();
            let page = registry.page(query.clone(), offset, 100).await.expect("a page");
            registry.view(query.clone()).await.expect("a view");
            took.push(begun.elapsed());
            assert_eq!(page.rows.len(), 100, "`{what}` has a whole page");
        }
        figures.push((what, took, aim));
    }
    figures
}

/// The median of a page's time.
fn median(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took.get(took.len() / 2).map_or(0.0, |took| took.as_secs_f64() * 1_000.0)
}

#[tokio::main]
async fn main() {
    let tasks = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(LARGE);
    let folder = tempfile::tempdir().expect("a folder");
    measure_aims(folder.path()).await;
    if tasks == 0 {
        return;
    }
    let small = filled(&folder.path().join("small").join("registry.sqlite"), SMALL).await;
    let begun = Instant::now();
    let large = filled(&folder.path().join("large").join("registry.sqlite"), tasks).await;
    let filling = begun.elapsed().as_secs_f64();

    println!("admitted {:.0} tasks a second", tasks as f64 / filling);
    for (name, query) in queries() {
        let mut took = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            for (registry, took) in [&small, &large].into_iter().zip(&mut took) {
                let begun = Instant::now();
                let page = registry.list(query.clone()).await.expect("lists");
                let counts = registry.counts(query.clone()).await.expect("counts");
                assert!(!page.rows.is_empty() && !counts.is_empty(), "round {round}: there is something to list");
                took.push(begun.elapsed());
            }
        }
        let rows =
            [small.list(query.clone()).await, large.list(query).await].map(|page| page.expect("lists").rows.len());
        let [few, many] = took.map(median);
        // A page of the small registry may have fewer rows; what counts is the time for each row.
        let [few_each, many_each] = [few / rows[0] as f64, many / rows[1] as f64];
        println!(
            "{{\"metric\": \"page `{name}` with counts, of {tasks} tasks against {SMALL}, per row\", \
             \"reference\": {few_each:.4}, \"ours\": {many_each:.4}, \"unit\": \"ms\", \"ratio\": {:.2}, \
             \"aim\": \"<= 2 ×\"}}",
            many_each / few_each
        );
    }
    measure_screens(&large, tasks).await;
    small.close().await;
    large.close().await;
}
