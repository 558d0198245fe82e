//! A pause is stored with its facts as a change of what it is about, and reads back as it was put.

use std::collections::BTreeSet;

use domain::agent::Agent;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, ControlTokenId, HandleId, PauseId, PersonId, ServerId};
use domain::ports::change::Entity;
use domain::ports::{AgentUnit, PauseUnit, Registry};
use domain::server::halt::HaltedBy;
use domain::server::pause::{Pause, PauseEnd, PauseSubject, SendWaiting};
use domain::time::Timestamp;

use crate::contract::agents;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_800_000 + millis)
}

fn pause(bits: u128, subject: PauseSubject, begun: i64) -> Pause {
    Pause {
        id: PauseId::from_random(bits),
        subject,
        by: HaltedBy::Control(ControlTokenId::from_random(3)),
        at: at(begun),
        reason: "it \"loops\"".into(),
        holds_results: true,
        ended: None,
    }
}

fn unit(pause: &Pause, verb: Verb, subject: Subject) -> PauseUnit {
    let actor = Actor::Person(PersonId::new("ada"));
    let fact = AuditEvent { at: pause.at, actor, verb, subject, note: "it loops".into() };
    PauseUnit { pause: pause.clone(), kept: 1, audit: vec![fact] }
}

pub(crate) async fn check(registry: &dyn Registry) {
    assert_eq!(registry.pauses().await, Ok(Vec::new()), "nothing is paused");
    let (agent, server) = (AgentId::from_random(95), ServerId::from_random(96));
    let before = registry.newest_seq().await.expect("a place");
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let of_agent = pause(1, PauseSubject::Agent(agent), 1);
    let of_server = Pause { holds_results: false, ..pause(2, PauseSubject::Server(server), 2) };
    let first = registry.put_pause(unit(&of_agent, Verb::PauseBegun, Subject::Agent(agent))).await.expect("stored");
    let second = registry.put_pause(unit(&of_server, Verb::PauseBegun, Subject::Server(server))).await.expect("stored");
    let changes = registry.changes_since(before, 10).await.expect("changes");
    assert_eq!(
        changes.rows.iter().map(|row| (row.seq, row.entity)).collect::<Vec<_>>(),
        [(first, Entity::Agent(agent)), (second, Entity::Server(server))],
        "whoever shows the agent or the server reads it again"
    );
    assert_eq!(registry.pauses().await, Ok(vec![of_server.clone(), of_agent.clone()]), "the newest first");

    let chosen = SendWaiting::Only([7, 8].map(HandleId::from_random).into_iter().collect::<BTreeSet<_>>());
    let end = |send| PauseEnd { at: at(50), by: PersonId::new("bob"), send };
    let agent_over = of_agent.end(end(chosen)).expect("it was in force");
    registry.put_pause(unit(&agent_over, Verb::PauseEnded, Subject::Agent(agent))).await.expect("stored");
    assert_eq!(registry.pauses().await, Ok(vec![of_server.clone(), agent_over]), "with what was chosen");
    let server_over = of_server.end(end(SendWaiting::All)).expect("it was in force");
    registry.put_pause(unit(&server_over, Verb::PauseEnded, Subject::Server(server))).await.expect("stored");
    assert_eq!(registry.pauses().await, Ok(vec![server_over.clone()]), "the oldest that is over goes");
    let again = pause(4, PauseSubject::Server(server), 60);
    registry.put_pause(unit(&again, Verb::PauseBegun, Subject::Server(server))).await.expect("stored");
    assert_eq!(
        registry.pauses().await,
        Ok(vec![again.clone(), server_over]),
        "a new pause beside the one that is over"
    );
    let facts_after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts_after - facts_before, 5, "each change has its fact");
    check_end_with_access(registry, again).await;
}

/// A pause of an agent ends in the transaction that takes its access away.
async fn check_end_with_access(registry: &dyn Registry, other: Pause) {
    let agent = agents::agent(95, "paused");
    let id = agent.id;
    let subject = || Subject::Agent(id);
    let added = AgentUnit { agent: agent.clone(), audit: Vec::new(), ended_pause: None };
    registry.put_agent(added).await.expect("an agent is added");
    let begun = pause(5, PauseSubject::Agent(agent.id), 70);
    registry.put_pause(unit(&begun, Verb::PauseBegun, subject())).await.expect("stored");
    let facts_before = registry.facts().await.expect("facts").audit_rows;
    let end = PauseEnd { at: at(80), by: PersonId::new("bob"), send: SendWaiting::Only(BTreeSet::new()) };
    let over = begun.end(end).expect("it was in force");
    let revoked = Agent { revoked: Some(at(80)), ..agent };
    let ended_pause = Some(unit(&over, Verb::PauseEnded, subject()));
    let fact = AuditEvent {
        at: at(80),
        actor: Actor::Person(PersonId::new("bob")),
        verb: Verb::AgentRevoked,
        subject: subject(),
        note: String::new(),
    };
    let seq = registry.put_agent(AgentUnit { agent: revoked, audit: vec![fact], ended_pause }).await;
    assert_eq!(registry.newest_seq().await, seq, "one change");
    assert_eq!(registry.pauses().await, Ok(vec![over, other]), "the pause is over");
    let agents = registry.agents().await.expect("agents read");
    assert!(agents.iter().any(|known| known.id == id && known.revoked.is_some()), "and so is the access");
    let facts_after = registry.facts().await.expect("facts").audit_rows;
    assert_eq!(facts_after - facts_before, 2, "both stand in the audit log");
}
