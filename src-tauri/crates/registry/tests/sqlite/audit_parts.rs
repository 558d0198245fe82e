//! Rows of the audit log that are read many at a time: what is found in them is what each row says by itself, also where
//! somebody changed one in a way that the fast reading cannot hold.

use domain::audit::report::{MonthReport, ReportedRow, RowsFound};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, PersonId, RequestKey, ServerId};
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, AuditRow, CheckpointStore as _, MonthRead, Registry as _};
use domain::time::Timestamp;
use registry::SqliteRegistry;

use super::{Home, meddle};

/// More than two parts of a check.
const ROWS: u64 = 10_000;
/// Rows of a month, in the middle of those of three.
const OF_MONTH: u64 = ROWS / 2;

/// One row after the other in time; every verb, and texts that want escapes.
fn event(number: u64) -> AuditEvent {
    let verb = Verb::ALL.into_iter().cycle().nth(usize::try_from(number % 70).expect("small")).expect("a verb");
    let task = HandleId::from_random(u128::from(number / 9 % 50));
    let subject = match number % 3 {
        0 => Subject::Handle(task),
        1 => Subject::Request(task, RequestKey::new("name")),
        _ => Subject::Server(ServerId::from_random(u128::from(number % 4))),
    };
    let actor = match number % 4 {
        0 => Actor::Person(PersonId::new("ada \"the\" first\n")),
        1 => Actor::Agent(AgentId::from_random(u128::from(number % 5))),
        2 => Actor::Server(ServerId::from_random(u128::from(number % 4))),
        _ => Actor::System("test"),
    };
    let notes =
        ["acknowledged", "decline", "running -> done", "receipts 1 to 7, 7 in all, root 00", "a\u{0}b \u{1f41d}\t\\"];
    let note = notes.iter().cycle().nth(usize::try_from(number % 11).expect("small")).expect("a note");
    AuditEvent { at: at(number), actor, verb, subject, note: (*note).to_owned() }
}

fn at(number: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + i64::try_from(number).expect("small") * 60_000)
}

/// The bounds of the month.
fn month() -> (Timestamp, Timestamp) {
    (at(ROWS / 4), at(ROWS / 4 + OF_MONTH))
}

async fn filled(home: &Home) -> SqliteRegistry {
    let registry = home.open().await;
    for first in (0..ROWS).step_by(500) {
        registry.record((first..first + 500).map(event).collect()).await.expect("rows");
    }
    registry
}

/// The same registry after somebody changed it.
async fn changed(home: &Home, sql: &str) -> SqliteRegistry {
    filled(home).await.close().await;
    meddle(&home.path(), sql).await;
    home.open().await
}

async fn page(registry: &SqliteRegistry, first: u64, last: u64, order: AuditOrder) -> Vec<AuditRow> {
    let filter = AuditFilter { first: Some(first), last: Some(last), ..AuditFilter::default() };
    registry.audit_rows(AuditQuery { filter, order, behind: None, limit: 1_000 }).await.expect("reads").rows
}

async fn read(registry: &SqliteRegistry) -> MonthRead {
    let (since, until) = month();
    registry.month_report(since, until).await.expect("reads")
}

/// The figures of a report that people see, as text.
fn figures(report: &MonthReport) -> String {
    let MonthReport { rows, first, last, days, calls, tasks, ended, decisions, answers, servers, agents, .. } = report;
    let MonthReport { over_limits, alarms, halts, gaps, tools, unlisted, .. } = report;
    let told = (rows, first, last, days, calls, tasks, ended, decisions);
    let lists = (over_limits, alarms, halts, gaps, tools, unlisted, report.unconsidered());
    format!("{told:#?} {answers:#?} {servers:#?} {agents:#?} {lists:#?}")
}

#[tokio::test]
async fn a_long_log_is_verified_to_its_end_and_the_row_that_was_changed_is_named() {
    let home = Home::new();
    let registry = filled(&home).await;
    let check = registry.verify_audit(None, 20_000).await.expect("reads");
    assert_eq!((check.rows, check.upto, &check.broken), (ROWS, ROWS, &None), "{check:?}");
    assert_eq!(registry.audit_verified().await, Ok(Some(ROWS)));
    let check = registry.verify_audit(None, 9_000).await.expect("reads");
    assert_eq!((check.rows, check.upto, &check.broken), (9_000, 9_000, &None), "no further than asked: {check:?}");
    registry.close().await;
    for (change, why) in [
        ("SET note = CAST('x' AS BLOB)", "another type"),
        ("SET actor = CAST(actor AS BLOB)", "another type"),
        ("SET at = at + 0.5", "another type"),
        ("SET note = 'another'", "do not fit its commitment"),
        ("SET verb = 'another'", "not what its hash says"),
        ("SET salt = x''", "do not fit its commitment"),
        ("SET note = '', detail = NULL, salt = x''", "do not belong together"),
    ] {
        let home = Home::new();
        let registry = changed(&home, &format!("UPDATE audit {change} WHERE number = 9100")).await;
        let broken = registry.verify_audit(None, 20_000).await.expect("reads").broken.expect("it is found");
        assert!(broken.number == 9_100 && broken.why.contains(why), "{change}: {broken:?}");
        registry.close().await;
    }
}

#[tokio::test]
async fn a_month_adds_up_to_what_its_rows_say_one_by_one() {
    let home = Home::new();
    let registry = filled(&home).await;
    let MonthRead { report, first, verified_to, changed } = read(&registry).await;
    assert_eq!((first, verified_to, changed), (1, 0, 0), "all rows were hashed, and fit");
    let mut expected = MonthReport::default();
    let begin = ROWS / 4 + 1;
    for start in (begin..begin + OF_MONTH).step_by(1_000) {
        for row in page(&registry, start, start + 999, AuditOrder::OldestFirst).await {
            expected.count(RowsFound { rows: 1, first: row.number, last: row.number });
            expected.take(&ReportedRow {
                number: row.number,
                at: row.at,
                actor: &row.actor,
                verb: &row.verb,
                subject: &row.subject,
                server: &row.server,
                agent: &row.agent,
                note: row.note.as_deref().unwrap_or_default(),
            });
        }
    }
    assert_eq!(figures(&report), figures(&expected));
    assert!(report.rows == OF_MONTH && report.tasks > 0 && report.calls > 0, "there is something to add up");
    registry.close().await;
}

#[tokio::test]
async fn changed_rows_of_a_month_are_counted_unless_they_were_verified_before() {
    let in_month = ROWS / 2;
    let outside = ROWS / 4;
    for change in ["note = 'another'", "note = CAST('x' AS BLOB)"] {
        let home = Home::new();
        let sql = format!("UPDATE audit SET {change} WHERE number IN ({in_month}, {}, {outside})", in_month + 7);
        let registry = changed(&home, &sql).await;
        let MonthRead { report, changed, .. } = read(&registry).await;
        assert_eq!((report.rows, changed), (OF_MONTH, 2), "{change}: those of the month, and the figures stay");
        registry.close().await;
    }
    let home = Home::new();
    let registry = filled(&home).await;
    registry.verify_audit(None, 20_000).await.expect("verified");
    registry.close().await;
    meddle(&home.path(), &format!("UPDATE audit SET note = 'another' WHERE number = {in_month}")).await;
    let registry = home.open().await;
    let found = read(&registry).await;
    assert_eq!((found.verified_to, found.changed), (ROWS, 0), "it says up to which row it believed the check");
    registry.close().await;
}

#[tokio::test]
async fn a_row_that_does_not_read_is_shown_with_its_neighbours_in_either_order() {
    let home = Home::new();
    let registry = changed(&home, "UPDATE audit SET subject = CAST('x' AS BLOB) WHERE number = 20").await;
    let mut rows = page(&registry, 15, 25, AuditOrder::NewestFirst).await;
    rows.reverse();
    assert_eq!(rows, page(&registry, 15, 25, AuditOrder::OldestFirst).await);
    let told: Vec<_> = rows.iter().map(|row| (row.number, row.fits)).collect();
    assert_eq!(told, (15..=25).map(|number| (number, number != 20)).collect::<Vec<_>>());
    let mut whole = page(&registry, 21, 25, AuditOrder::NewestFirst).await;
    whole.reverse();
    assert_eq!(whole.first().map(|row| row.number), Some(21), "the newest is last");
    assert_eq!(whole, rows.split_off(6), "rows are the same, whichever way they are read");
    registry.close().await;
}
