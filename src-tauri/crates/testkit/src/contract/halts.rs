//! A halt is stored with its tasks and its facts in one change, and reads back as it was put.

pub(crate) mod pauses;

use std::collections::BTreeMap;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HaltId, HandleId, PersonId, ServerId};
use domain::ports::change::Entity;
use domain::ports::{HaltUnit, Registry};
use domain::server::halt::{ConfirmedTool, Halt, HaltEffect, HaltOrder, HaltSubject, RecoveryStage};
use domain::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_000_000 + millis)
}

fn order(subject: HaltSubject, millis: i64) -> HaltOrder {
    HaltOrder {
        subject,
        effects: HaltEffect::ALL.into_iter().collect(),
        at: at(millis),
        by: Some(PersonId::new("ada").into()),
        reason: "wrong \"month\"".into(),
        lifted: BTreeMap::new(),
    }
}

fn fact(verb: Verb, millis: i64) -> AuditEvent {
    let actor = Actor::Person(PersonId::new("ada"));
    AuditEvent { at: at(millis), actor, verb, subject: Subject::Store, note: "wrong month".into() }
}

pub(crate) async fn check(registry: &dyn Registry) {
    assert_eq!(registry.halts(10).await, Ok(Vec::new()), "nothing is halted");
    let before = registry.newest_seq().await.expect("a place");
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let id = HaltId::from_random(70);
    let first = Halt::begun(id, vec![order(HaltSubject::Everything, 1)]);
    let tasks = [7_001, 7_002, 7_003].map(HandleId::from_random);
    let put = |halt: &Halt, targets: &[HandleId], verb, millis| {
        let unit = HaltUnit { halt: halt.clone(), targets: targets.to_vec(), audit: vec![fact(verb, millis)] };
        registry.put_halt(unit)
    };
    let seq = put(&first, &tasks[..2], Verb::Halted, 1).await.expect("it is stored");
    let changes = registry.changes_since(before, 10).await.expect("changes");
    assert_eq!(changes.rows.iter().map(|row| (row.seq, row.entity)).collect::<Vec<_>>(), [(seq, Entity::Halt(id))]);
    assert_eq!(registry.halts(10).await, Ok(vec![first.clone()]), "it reads back as it was put");

    let server = ServerId::from_random(71);
    let mut wider = first.widened(vec![
        order(HaltSubject::Server(server), 2),
        order(HaltSubject::Agent(AgentId::from_random(72)), 2),
        HaltOrder { by: None, reason: String::new(), ..order(HaltSubject::Tool(server, "a:b".into()), 2) },
    ]);
    wider.closed_at = Some(at(3));
    put(&wider, &tasks[1..], Verb::Halted, 3).await.expect("it is widened");
    let listed = |after, limit| registry.halted_tasks(id, after, limit);
    let all = listed(None, 10).await.expect("tasks");
    let [first_task, second_task, _] = all.as_slice() else { panic!("tasks are added, each once: {all:?}") };
    assert_eq!(listed(Some(*first_task), 1).await, Ok(vec![*second_task]), "in pages, by id");

    let mut back = wider;
    for (stage, millis) in RecoveryStage::ALL.into_iter().zip(10..) {
        back = back.stepped(stage, PersonId::new("bob"), at(millis)).expect("the next stage");
        if stage == RecoveryStage::ReadOnly {
            back.confirmed.push(ConfirmedTool { server, tool: "status".into(), digest: "00ff".into() });
        }
        put(&back, &[], Verb::Resumed, millis).await.expect("the stage is stored");
        assert_eq!(registry.halts(10).await, Ok(vec![back.clone()]), "with what was lifted at it");
    }
    let later = Halt::begun(HaltId::from_random(69), vec![order(HaltSubject::Everything, 50)]);
    put(&later, &[], Verb::Halted, 50).await.expect("another halt");
    assert_eq!(registry.halts(10).await, Ok(vec![later.clone(), back]), "the newest is first");
    assert_eq!(registry.halts(1).await, Ok(vec![later]));
    let facts_after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts_after - facts_before, 7, "each change has its fact");
}
