//! An alarm is stored with its facts in one change, reads back as it was put, and those that are over go in time.

use domain::agent::alarm::{AlarmDecision, AlarmKind, AlarmState, CallAlarm, CalledTool};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, AlarmId, PersonId, ServerId};
use domain::ports::change::Entity;
use domain::ports::{AlarmUnit, Registry};
use domain::rule::{RuleLevel, RuleSource, RunAction};
use domain::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_700_000 + millis)
}

fn alarm(bits: u128, agent: u128, raised: i64) -> CallAlarm {
    let called = |tool: &str| CalledTool { server: ServerId::from_random(88), tool: tool.into() };
    CallAlarm {
        id: AlarmId::from_random(bits),
        agent: AgentId::from_random(agent),
        kind: AlarmKind::Alternating,
        called: called("a \"tool\""),
        other: Some(called("other")),
        since: at(raised - 5),
        raised: at(raised),
        last: at(raised + 1),
        count: 12,
        limit: 10,
        action: RunAction::Warn,
        rule: None,
        decision: None,
        state: AlarmState::Open,
    }
}

fn unit(alarm: &CallAlarm, verb: Verb) -> AlarmUnit {
    let actor = Actor::System("loop_detector");
    let subject = Subject::Agent(alarm.agent);
    let fact = AuditEvent { at: alarm.raised, actor, verb, subject, note: "12 calls in turn".into() };
    AlarmUnit { alarm: alarm.clone(), kept: 2, audit: vec![fact] }
}

pub(crate) async fn check(registry: &dyn Registry) {
    assert_eq!(registry.alarms(10).await, Ok(Vec::new()), "there is no alarm");
    let before = registry.newest_seq().await.expect("a place");
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let first = alarm(81, 91, 1);
    let seq = registry.put_alarm(unit(&first, Verb::AlarmRaised)).await.expect("it is stored");
    let changes = registry.changes_since(before, 10).await.expect("changes");
    assert_eq!(
        changes.rows.iter().map(|row| (row.seq, row.entity)).collect::<Vec<_>>(),
        [(seq, Entity::Alarm(first.id))]
    );
    assert_eq!(registry.alarm(first.id).await, Ok(Some(first.clone())), "it reads back as it was put");
    assert_eq!(registry.alarm(AlarmId::from_random(1)).await, Ok(None), "another is not there");

    let ended = first.ended(30, at(40), at(50)).expect("it ends");
    registry.put_alarm(unit(&ended, Verb::AlarmEnded)).await.expect("its end is stored");
    assert_eq!(registry.alarms(10).await, Ok(vec![ended.clone()]), "one row for one alarm");
    let dismissed = ended.dismissed(PersonId::new("ada"), at(60)).expect("a person may");
    registry.put_alarm(unit(&dismissed, Verb::AlarmDismissed)).await.expect("the dismissal is stored");
    assert_eq!(registry.alarms(10).await, Ok(vec![dismissed]), "with who dismissed it");

    let of_other = alarm(82, 92, 2);
    let (second, third) = (alarm(83, 91, 3), alarm(84, 91, 4));
    for raised in [&of_other, &second, &third] {
        registry.put_alarm(unit(raised, Verb::AlarmRaised)).await.expect("it is stored");
    }
    let kept = registry.alarms(10).await.expect("alarms");
    assert_eq!(kept, [third.clone(), second.clone(), of_other], "the oldest of its agent that is over goes");
    let rule = Some(RuleSource { level: RuleLevel::Tool, version: 3 });
    let fourth = CallAlarm { action: RunAction::Ask, rule, ..alarm(85, 91, 5) };
    registry.put_alarm(unit(&fourth, Verb::AlarmRaised)).await.expect("it is stored");
    assert_eq!(registry.alarms(3).await, Ok(vec![fourth.clone(), third, second]), "and none that is open");
    let decided = fourth.decided(AlarmDecision::Cancel, PersonId::new("ada"), at(70)).expect("it asks");
    registry.put_alarm(unit(&decided, Verb::AlarmDismissed)).await.expect("the decision is stored");
    assert_eq!(registry.alarm(decided.id).await, Ok(Some(decided)), "with its rule and what was decided");
    let facts_after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts_after - facts_before, 8, "each change has its fact");
}
