//! A route reads back as it was put until it is undone, and its facts are in the audit log with it.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{PersonId, RouteId};
use domain::ports::{Registry, RouteUnit};
use domain::server::route::{ClientRoute, RouteState, RouteText};
use domain::time::Timestamp;

fn route(bits: u128, at: i64) -> ClientRoute {
    ClientRoute {
        id: RouteId::from_random(bits),
        client: "claude-code".into(),
        path: "/home/ada/.claude.json".into(),
        agent: "claude-code".into(),
        state: RouteState::Planned,
        entries: vec!["files".into(), "two words".into()],
        after_digest: "ab".into(),
        backup: Some("/home/ada/backup".into()),
        at: Timestamp::from_millis(9_700_000 + at),
        by: PersonId::new("ada"),
        before: RouteText::new("{\"a\": \"\u{1f512}\"}"),
        changes: RouteText::new("[]"),
    }
}

fn unit(route: &ClientRoute) -> RouteUnit {
    let actor = Actor::Person(route.by.clone());
    let note = route.state.word().to_owned();
    let fact = AuditEvent { at: route.at, actor, verb: Verb::ClientFileChanged, subject: Subject::Store, note };
    RouteUnit { route: route.clone(), audit: vec![fact] }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let (mut first, second) = (route(90, 0), route(91, 5));
    assert_eq!(registry.open_routes().await, Ok(Vec::new()), "there is none yet");
    registry.put_route(unit(&first)).await.expect("it is stored");
    registry.put_route(unit(&second)).await.expect("it is stored");
    assert_eq!(registry.open_routes().await, Ok(vec![second.clone(), first.clone()]), "the newest is first");
    for state in [RouteState::Applied, RouteState::Undoing] {
        first.state = state;
        registry.put_route(unit(&first)).await.expect("it changes");
        assert_eq!(registry.open_routes().await, Ok(vec![second.clone(), first.clone()]));
    }
    first.state = RouteState::Undone;
    registry.put_route(unit(&first)).await.expect("it is undone");
    assert_eq!(registry.open_routes().await, Ok(vec![second]), "one that is undone is of no use any more");
    let facts = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts - facts_before, 5, "each change has its fact");
}
