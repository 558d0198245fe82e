//! The change log never skips, and the audit chain holds.

use domain::audit::{Subject, Verb};
use domain::ids::Seq;
use domain::ports::change::{Change, Entity};
use domain::ports::{AuditFilter, AuditLink, AuditOrder, AuditQuery, Commit, CommitError, Registry};
use domain::task::status::Phase;
use domain::time::Timestamp;
use futures::future::join_all;

use super::fixtures::{ContractFixtures, commit_of};
use crate::memory_registry::audit_finding;

const FIXTURES: ContractFixtures = ContractFixtures::of(5);
/// Submitters at the same time, and units of each.
const SUBMITTERS: u64 = 64;
const UNITS: u64 = 12;

pub(crate) async fn check(registry: &dyn Registry) {
    cursor_under_load(registry).await;
    races_have_one_winner(registry).await;
    check_audit(registry).await;
    check_pruning(registry).await;
}

/// Commits of one submitter: a task of its own, changed again and again.
async fn submit(registry: &dyn Registry, number: u64) {
    let mut handle = FIXTURES.call(number, 100);
    for round in 0..UNITS {
        let fact = FIXTURES.fact(number, Verb::Ended, &format!("round {round}"));
        let next = Commit { audit: vec![fact], ..commit_of(&handle, Phase::Running) };
        let recorded = if round == 0 { registry.admit(next).await } else { registry.commit(next).await };
        handle.version = recorded.expect("nobody else changes this task").version;
    }
}

/// Reads the change log from a place until so many rows came.
async fn follow(registry: &dyn Registry, mut after: Seq, rows: usize) -> Vec<Change> {
    let mut all = Vec::new();
    while all.len() < rows {
        let changes = registry.changes_since(after, 7).await.expect("changes can be read");
        assert!(!changes.truncated, "a reader that keeps up is never told to begin anew");
        after = changes.upto;
        all.extend(changes.rows);
    }
    all
}

async fn cursor_under_load(registry: &dyn Registry) {
    let begin = registry.newest_seq().await.expect("the newest place is known");
    let rows = usize::try_from(SUBMITTERS * UNITS).expect("fits");
    let submitters = join_all((0..SUBMITTERS).map(|number| submit(registry, number)));
    let (_, seen) = futures::join!(submitters, follow(registry, begin, rows));
    let places: Vec<u64> = seen.iter().map(|change| change.seq.0).collect();
    let want: Vec<u64> = (begin.0 + 1..=begin.0 + SUBMITTERS * UNITS).collect();
    assert_eq!(places, want, "a cursor sees every place once and in order, whoever commits meanwhile");
    for number in 0..SUBMITTERS {
        let own = seen.iter().filter(|change| change.entity == Entity::Handle(FIXTURES.id(number))).count() as u64;
        assert_eq!(own, UNITS, "each commit of task {number} is a change");
    }
    let end = registry.changes_since(Seq(begin.0 + SUBMITTERS * UNITS), 7).await.expect("changes read");
    assert_eq!((end.rows.len(), end.truncated), (0, false), "then there is nothing more");
}

async fn races_have_one_winner(registry: &dyn Registry) {
    let handle = FIXTURES.task(200, 100, "raced");
    let racers = (0..SUBMITTERS).map(|number| {
        let mut own = FIXTURES.task(200 + number, 100, "raced");
        own.server = handle.server;
        async move { registry.admit(commit_of(&own, Phase::Running)).await.map(|_| own.id) }
    });
    let outcomes = join_all(racers).await;
    let winners: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    let [winner] = winners.as_slice() else { panic!("one task found by many is admitted once: {winners:?}") };
    let losers = outcomes.iter().filter(|outcome| **outcome == Err(CommitError::Exists(**winner))).count() as u64;
    assert_eq!(losers, SUBMITTERS - 1, "all others learn which it is");

    let mut held = registry.handle(**winner).await.expect("reads").expect("is there");
    held.changed = Timestamp::from_millis(300);
    let racers = (0..SUBMITTERS).map(|_| registry.commit(commit_of(&held, Phase::Done)));
    let outcomes = join_all(racers).await;
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let lost = outcomes.iter().filter(|outcome| **outcome == Err(CommitError::Conflict)).count() as u64;
    assert_eq!((won, lost), (1, SUBMITTERS - 1), "of many who read the same version one commits");
}

async fn check_audit(registry: &dyn Registry) {
    registry
        .record(vec![FIXTURES.fact(0, Verb::Revoked, "one"), FIXTURES.fact(0, Verb::Lost, "two")])
        .await
        .expect("recorded");
    let (mut all, mut after): (Vec<AuditLink>, u64) = (Vec::new(), 0);
    loop {
        let page = registry.audit_page(None, after, 50).await.expect("audit can be read");
        all.extend(page.rows);
        match page.next_after {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(audit_finding(&all), None, "the whole chain verifies from its documentation alone");
    let numbers: Vec<u64> = all.iter().map(|link| link.number).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>(), "numbers have no gaps");
    let own = registry.audit_page(Some(FIXTURES.id(0)), 0, 100).await.expect("audit of one task");
    let notes: Vec<&str> = own.rows.iter().map(|link| link.event.note.as_str()).collect();
    let want: Vec<String> =
        (0..UNITS).map(|round| format!("round {round}")).chain(["one".into(), "two".into()]).collect();
    assert_eq!(notes, want, "one task's facts, oldest first");
    assert_eq!(own.next_after, None, "and no more");

    check_filters(registry, &all).await;
    let mut bent = all;
    if let Some(link) = bent.get_mut(3) {
        link.event.note.push('!');
    }
    assert!(audit_finding(&bent).is_some(), "a changed note does not verify");
}

/// Every number that a filter finds, by pages of three.
async fn numbers(registry: &dyn Registry, filter: &AuditFilter, order: AuditOrder) -> Vec<u64> {
    let (mut found, mut behind) = (Vec::new(), None);
    loop {
        let query = AuditQuery { filter: filter.clone(), order, behind, limit: 3 };
        let page = registry.audit_rows(query).await.expect("rows can be read");
        assert!(page.rows.len() <= 3 && page.rows.iter().all(|row| row.fits), "a page of sound rows: {page:?}");
        found.extend(page.rows.iter().map(|row| row.number));
        match page.next {
            Some(next) => behind = Some(next),
            None => return found,
        }
    }
}

async fn check_filters(registry: &dyn Registry, all: &[AuditLink]) {
    let task = FIXTURES.id(0);
    let of_task = AuditFilter { task: Some(task), ..AuditFilter::default() };
    let is_of_task = |link: &&AuditLink| link.event.subject == Subject::Handle(task);
    let wanted: Vec<u64> = all.iter().filter(is_of_task).map(|link| link.number).collect();
    assert_eq!(numbers(registry, &of_task, AuditOrder::OldestFirst).await, wanted, "pages leave out and repeat no row");
    let newest: Vec<u64> = wanted.iter().rev().copied().collect();
    assert_eq!(numbers(registry, &of_task, AuditOrder::NewestFirst).await, newest, "from either end");
    let last = all.len() as u64;
    let later = all.last().map_or(Timestamp::EPOCH, |link| link.event.at).shifted(1);
    let narrow = |change: &dyn Fn(&mut AuditFilter)| {
        let mut filter = AuditFilter { first: Some(last - 1), ..AuditFilter::default() };
        change(&mut filter);
        filter
    };
    for (filter, wanted, what) in [
        (narrow(&|_| {}), vec![last - 1, last], "from a number on"),
        (narrow(&|filter| filter.last = Some(last - 1)), vec![last - 1], "up to a number"),
        (narrow(&|filter| filter.verbs = vec!["lost".into()]), vec![last], "by verb"),
        (narrow(&|filter| filter.verbs = vec!["lost".into(), "revoked".into()]), vec![last - 1, last], "by verbs"),
        (narrow(&|filter| filter.actor = Some("person".into())), vec![last - 1, last], "by the kind of actor"),
        (narrow(&|filter| filter.actor = Some("person:ada".into())), vec![last - 1, last], "by the whole actor"),
        (narrow(&|filter| filter.actor = Some("person:ad".into())), vec![], "not by its beginning"),
        (narrow(&|filter| filter.subject = Some("handle".into())), vec![last - 1, last], "by the kind of subject"),
        (narrow(&|filter| filter.subject = Some("hand".into())), vec![], "not by the beginning of its kind"),
        (narrow(&|filter| filter.text = Some("TW".into())), vec![last], "by words in either case"),
        (narrow(&|filter| filter.text = Some("_w%".into())), vec![], "letters stand for themselves"),
        (narrow(&|filter| filter.since = Some(later)), vec![], "since a time"),
        (narrow(&|filter| filter.until = Some(later)), vec![last - 1, last], "until a time"),
    ] {
        assert_eq!(numbers(registry, &filter, AuditOrder::OldestFirst).await, wanted, "{what}");
    }
}

async fn check_pruning(registry: &dyn Registry) {
    let begin = registry.newest_seq().await.expect("known");
    for (number, changed) in [(300, 1_000_000), (301, 2_000_000), (302, 3_000_000)] {
        let mut handle = FIXTURES.call(number, 100);
        handle.changed = Timestamp::from_millis(changed);
        registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted");
    }
    let gone = registry.prune(Timestamp::from_millis(2_000_001)).await.expect("old changes go");
    assert!(gone >= SUBMITTERS * UNITS, "all that is older goes: {gone}");
    assert_eq!(registry.prune(Timestamp::from_millis(2_000_001)).await, Ok(0), "a second time there is nothing to do");
    let behind = registry.changes_since(begin, 10).await.expect("changes read");
    assert!(behind.truncated && behind.rows.is_empty(), "who is behind what is kept must read anew");
    assert_eq!(behind.upto, Seq(begin.0 + 3), "and goes on from the newest place");
    let kept = registry.changes_since(Seq(begin.0 + 2), 10).await.expect("changes read");
    assert_eq!((kept.rows.len(), kept.truncated), (1, false), "who is not behind reads on");
    let ahead = registry.changes_since(Seq(begin.0 + 99), 10).await.expect("changes read");
    assert!(ahead.truncated, "a place that does not exist yet belongs to another registry");
    assert!(registry.handle(FIXTURES.id(300)).await.expect("reads").is_some(), "tasks themselves stay");
}
