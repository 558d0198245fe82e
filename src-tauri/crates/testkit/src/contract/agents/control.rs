//! A control token reads back as it was put, stays revoked, and its uses and answers are forgotten in time.

use std::collections::BTreeSet;

use domain::agent::TokenDigest;
use domain::agent::control_token::{ControlAnswer, ControlReach, ControlScope, ControlToken, ControlUse, ReachedTool};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, ControlTokenId, PersonId, ServerId};
use domain::ports::{ControlTokenUnit, Registry};
use domain::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_600_000 + millis)
}

fn token(bits: u128, created: i64) -> ControlToken {
    let server = ServerId::from_random(95);
    ControlToken {
        id: ControlTokenId::from_random(bits),
        name: format!("supervisor-{bits}"),
        digest: TokenDigest::of(&format!("twc_{bits}")),
        scopes: BTreeSet::from([ControlScope::Cancel, ControlScope::Read]),
        reach: ControlReach {
            agents: BTreeSet::from([AgentId::from_random(94)]),
            servers: BTreeSet::from([server]),
            tools: BTreeSet::from([ReachedTool { server, tool: "a \"tool\"".into() }]),
            own_tasks: false,
        },
        owner: Some(AgentId::from_random(93)),
        per_call: 3,
        per_hour: 9,
        needs_reason: true,
        needs_plan: true,
        created: at(created),
        by: PersonId::new("ada"),
        until: Some(at(1_000)),
        revoked: None,
    }
}

fn unit(token: &ControlToken, verb: Verb) -> ControlTokenUnit {
    let actor = Actor::Control(token.id);
    let fact = AuditEvent { at: token.created, actor, verb, subject: Subject::Store, note: token.name.clone() };
    ControlTokenUnit { token: token.clone(), audit: vec![fact] }
}

fn answer(token: &ControlToken, key: &str, body: &str, moment: i64) -> ControlAnswer {
    let (token, key, body) = (token.id, key.to_owned(), body.to_owned());
    ControlAnswer { token, key, request: "ab".into(), status: 200, body, at: at(moment) }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let before = registry.facts().await.expect("facts").audit_rows;
    let (first, second) = (token(96, 0), token(97, 10));
    for token in [&first, &second] {
        registry.put_control_token(unit(token, Verb::ControlTokenAdded)).await.expect("it is stored");
    }
    let all = registry.control_tokens().await.expect("tokens");
    assert_eq!(all, vec![second.clone(), first.clone()], "they read back as they were put, the newest first");
    let revoked = ControlToken { revoked: Some(at(20)), ..first.clone() };
    registry.put_control_token(unit(&revoked, Verb::ControlTokenRevoked)).await.expect("it is revoked");
    registry.put_control_token(unit(&first, Verb::ControlTokenAdded)).await.expect("an older copy is put");
    let kept = registry.control_tokens().await.expect("tokens");
    assert_eq!(kept.last(), Some(&revoked), "a revoked token stays revoked");
    let after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(after - before, 4, "each change has its fact");
    let rows = registry.audit_page(None, 0, 10_000).await.expect("audit").rows;
    let named = rows.iter().filter(|row| row.event.actor == Actor::Control(first.id)).count();
    assert_eq!(named, 3, "a control token is named as the actor, and reads back");

    for (moment, tasks) in [(10, 1), (30, 2), (20, 4)] {
        let used = ControlUse { token: second.id, at: at(moment), tasks };
        registry.note_control_use(used, at(15)).await.expect("it is noted");
    }
    let uses = registry.control_uses(second.id, at(0)).await.expect("uses");
    assert_eq!(uses.iter().map(|used| used.tasks).collect::<Vec<_>>(), [4, 2], "old ones are forgotten");
    assert_eq!(registry.control_uses(second.id, at(20)).await.expect("uses").len(), 1, "those after the moment");
    assert_eq!(registry.control_uses(first.id, at(0)).await.expect("uses"), Vec::new(), "each token has its own");

    let begun = ControlAnswer { status: ControlAnswer::BEGUN, ..answer(&first, "k", "", 9) };
    registry.keep_answer(begun.clone(), at(0)).await.expect("kept");
    assert!(registry.kept_answer(first.id, "k").await.expect("read") == Some(begun), "a call that began is noted");
    registry.keep_answer(answer(&first, "k", "one", 10), at(0)).await.expect("kept");
    registry.keep_answer(answer(&first, "k", "two", 11), at(0)).await.expect("kept");
    let kept = registry.kept_answer(first.id, "k").await.expect("read");
    assert!(kept == Some(answer(&first, "k", "one", 10)), "the first answer stays");
    assert!(registry.kept_answer(second.id, "k").await.expect("read").is_none(), "keys of one token are its own");
    registry.keep_answer(answer(&second, "k", "three", 30), at(20)).await.expect("kept");
    assert!(registry.kept_answer(first.id, "k").await.expect("read").is_none(), "old answers are forgotten");
}
