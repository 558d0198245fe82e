//! A plan reads back as it was put, its tasks never change, and it is forgotten when it is of no use any more.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, OperationId, PersonId, PlanId};
use domain::ports::{PlanUnit, Registry};
use domain::task::cancel::plan::{Asked, BulkAct, BulkOperation, BulkPlan};
use domain::task::decider::Decider;
use domain::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_500_000 + millis)
}

fn plan(bits: u128, expires: i64) -> BulkPlan {
    BulkPlan {
        id: PlanId::from_random(bits),
        act: BulkAct::Revoke,
        by: Decider::Person(PersonId::new("ada")),
        filter: "agent `order-bot`".into(),
        tasks: [9_002, 9_001, 9_003].map(HandleId::from_random).into(),
        created: at(0),
        expires: at(expires),
        operation: None,
    }
}

fn unit(plan: &BulkPlan, now: i64, kept_until: Option<i64>) -> PlanUnit {
    let actor = Actor::Person(PersonId::new("ada"));
    let fact = AuditEvent { at: at(now), actor, verb: Verb::BulkBegun, subject: Subject::Store, note: "3".into() };
    PlanUnit { plan: plan.clone(), kept_until: kept_until.map(at), at: at(now), audit: vec![fact] }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let (first, other) = (plan(80, 100), plan(81, 50));
    assert_eq!(registry.plan(first.id).await, Ok(None), "there is none yet");
    registry.put_plan(unit(&first, 0, Some(100))).await.expect("it is stored");
    registry.put_plan(unit(&other, 0, Some(50))).await.expect("it is stored");
    assert_eq!(registry.plan(first.id).await, Ok(Some(first.clone())), "it reads back as it was put");
    assert_eq!(registry.running_plans().await, Ok(Vec::new()), "none of them runs");

    let operation = BulkOperation {
        id: OperationId::from_random(82),
        by: Decider::Person(PersonId::new("bob")),
        reason: Some("wrong \"month\"".into()),
        begun: at(10),
        next_index: 0,
        left_out: Vec::new(),
        ended: None,
        cut_short: None,
    };
    let mut run = first.begun(operation.clone(), at(10)).expect("in time");
    registry.put_plan(unit(&run, 10, None)).await.expect("it begins");
    assert_eq!(registry.plan_of(operation.id).await, Ok(Some(run.clone())), "it is found by its operation");
    assert_eq!(registry.running_plans().await, Ok(vec![run.clone()]));
    let asked = [Asked::Asked, Asked::LeftOut("it ended meanwhile".into())];
    let tasks = run.tasks.to_vec();
    run.operation.as_mut().expect("begun").note(tasks.into_iter().zip(asked));
    let shorter = BulkPlan { tasks: [].into(), ..run.clone() };
    registry.put_plan(unit(&shorter, 20, None)).await.expect("how far it came is stored");
    assert_eq!(registry.plan(first.id).await, Ok(Some(run.clone())), "the tasks stay as they were chosen");

    if let Some(operation) = run.operation.as_mut() {
        (operation.ended, operation.cut_short) = (Some(at(60)), Some("its token was revoked".into()));
    }
    registry.put_plan(unit(&run, 60, Some(1_000))).await.expect("it ends");
    assert_eq!(registry.running_plans().await, Ok(Vec::new()), "it does not run any more");
    assert_eq!(registry.plan(other.id).await, Ok(None), "what has expired is forgotten");
    assert_eq!(registry.plan(first.id).await, Ok(Some(run)), "what was run is kept longer");
    let facts_after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts_after - facts_before, 5, "each change has its fact");
}
