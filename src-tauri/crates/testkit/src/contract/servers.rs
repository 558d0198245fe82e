//! Servers are added, changed and removed, and durations are learned from their tasks.

pub(super) mod routes;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{PersonId, SessionKey};
use domain::policy::ToolMemoryPolicy;
use domain::ports::change::Entity;
use domain::ports::{Commit, Registry, RegistryError, ServerUnit};
use domain::server::tool_memory::ToolMemory;
use domain::server::{Dialect, Era, EraVerdict, Negotiated};
use domain::task::UsualDuration;
use domain::task::status::Phase;
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::build::{http_server, stdio_server};

const FIXTURES: ContractFixtures = ContractFixtures::of(4);

pub(crate) async fn check(registry: &dyn Registry) {
    check_configuration(registry).await;
    check_durations(registry).await;
    check_tools(registry).await;
}

async fn check_configuration(registry: &dyn Registry) {
    let mut zoo = http_server(4_001, "zoo");
    let ant = stdio_server(4_002, "ant");
    let put =
        |server: &domain::server::Server| registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() });
    let first = put(&zoo).await.expect("a server is added");
    put(&ant).await.expect("another is added");
    assert_eq!(registry.servers().await, Ok(vec![ant.clone(), zoo.clone()]), "servers come by name");

    zoo.generation = 3;
    zoo.verdict = Some(EraVerdict { fingerprint: zoo.address.fingerprint(), era: Era::Legacy });
    zoo.negotiated = Some(Negotiated {
        era: Era::Legacy,
        dialect: Dialect::Experimental2025,
        protocol_version: "2025-11-25".into(),
        server_name: "Zoo".into(),
        server_version: "1".into(),
        can_list: true,
        can_cancel: false,
        session: Some(SessionKey::new("session-canary")),
    });
    let second = put(&zoo).await.expect("what was negotiated is kept");
    assert!(second > first, "a server's change is a change");
    assert_eq!(registry.server(zoo.id).await, Ok(Some(zoo.clone())), "it reads back as it was put");

    let double = http_server(4_003, "zoo");
    let refused = put(&double).await;
    assert!(matches!(refused, Err(RegistryError::Other { .. })), "a name is used once at a time: {refused:?}");
    assert_eq!(registry.server(double.id).await, Ok(None), "a refused server leaves nothing");

    let removed = AuditEvent {
        at: Timestamp::from_millis(5_000),
        actor: Actor::Person(PersonId::new("ada")),
        verb: Verb::ServerRemoved,
        subject: Subject::Server(zoo.id),
        note: String::new(),
    };
    let gone = registry.remove_server(zoo.id, vec![removed]).await.expect("a server is removed");
    assert_eq!(registry.servers().await, Ok(vec![ant]), "it is no longer configured");
    assert_eq!(registry.server(zoo.id).await, Ok(Some(zoo.clone())), "its tasks can still name it");
    let change = registry.changes_since(domain::ids::Seq(gone.0 - 1), 1).await.expect("changes read");
    let change = change.rows.first().copied().expect("its removal is a change");
    assert_eq!((change.entity, change.removed), (Entity::Server(zoo.id), true), "of this server");
    put(&double).await.expect("the name is free again");
}

async fn check_durations(registry: &dyn Registry) {
    let usual = |samples_min| registry.usual(FIXTURES.server(1), "index_folder", samples_min);
    let learn = |number: u64, took: u64| {
        let handle = FIXTURES.call(number, 100);
        async move {
            let unit = Commit { learned_ms: Some(took), ..commit_of(&handle, Phase::Done) };
            registry.admit(unit).await.expect("a finished call is learned from");
        }
    };
    for number in 0..4 {
        learn(number, 1_000 * (number + 1)).await;
    }
    assert_eq!(usual(5).await, Ok(None), "four samples are too few");
    learn(4, 5_000).await;
    let five = UsualDuration { samples: 5, median_ms: 3_000, p90_ms: 5_000, p95_ms: 5_000 };
    assert_eq!(usual(5).await, Ok(Some(five)), "the nearest ranks of five samples");
    for number in 5..30 {
        learn(number, 10 * number).await;
    }
    let ten = UsualDuration { samples: 10, median_ms: 240, p90_ms: 280, p95_ms: 290 };
    assert_eq!(usual(5).await, Ok(Some(ten)), "only the latest ten are kept");
    assert_eq!(registry.usual(FIXTURES.server(1), "other", 0).await, Ok(None), "another tool is not known");
    assert_eq!(registry.usual(FIXTURES.server(2), "index_folder", 0).await, Ok(None), "nor is another server");
    check_learned_tools(registry).await;
}

/// Of each server the tools of the latest calls are known, and of one that was removed none.
async fn check_learned_tools(registry: &dyn Registry) {
    let server = http_server(4_009, "renamer");
    registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() }).await.expect("a server is added");
    let known = async |tool| registry.usual(server.id, tool, 1).await.expect("durations can be read").is_some();
    for (number, tool, changed) in [(40, "a", 3_000), (41, "b", 1_000), (42, "c", 2_000), (43, "b", 900)] {
        let mut handle = FIXTURES.call(number, 100);
        (handle.server, handle.tool) = (server.id, Some(tool.into()));
        handle.changed = Timestamp::from_millis(changed);
        let unit = Commit { learned_ms: Some(5), ..commit_of(&handle, Phase::Done) };
        registry.admit(unit).await.expect("a finished call is learned from");
    }
    registry.prune(Timestamp::EPOCH).await.expect("what is beyond a limit goes");
    assert!(known("a").await && known("c").await, "the tools of the latest calls stay");
    assert!(!known("b").await, "the tool whose call finished longest ago is forgotten");
    registry.remove_server(server.id, Vec::new()).await.expect("a server is removed");
    assert!(!known("a").await, "nothing is known of a server that was removed");
}

async fn check_tools(registry: &dyn Registry) {
    let (server, limits, at) = (http_server(4_003, "toolbox"), ToolMemoryPolicy::default(), Timestamp::from_millis);
    registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() }).await.expect("a server is added");
    assert_eq!(registry.tool_memory(server.id).await, Ok(None), "its tools were never listed");
    let newest = registry.newest_seq().await;
    let long = "x".repeat(limits.definition_bytes + 1);
    let first = ToolMemory::listed(None, [("a", "{}"), ("name with spaces", "1")], at(1), &limits);
    let second = ToolMemory::listed(Some(&first), [("a", "{1}"), ("long", &long)], at(2), &limits);
    let looked = second.seen_by(PersonId::new("ada"), at(3));
    let last = ToolMemory::listed(Some(&looked), [("b", "{}")], at(4), &limits);
    assert_eq!((last.seen.at, last.changes().count()), (at(3), 3), "listing is not looking");
    let mut kept: Option<ToolMemory> = None;
    for memory in [first, second, looked, last] {
        let unit = memory.unit_since(kept.as_ref(), server.id).expect("it changed");
        registry.put_tool_memory(unit).await.expect("it is stored");
        assert_eq!(registry.tool_memory(server.id).await, Ok(Some(memory.clone())), "it reads as it was written");
        kept = Some(memory);
    }
    assert_eq!(registry.newest_seq().await, newest, "it changes no server");
    registry.remove_server(server.id, Vec::new()).await.expect("it is removed");
    assert_eq!(registry.tool_memory(server.id).await, Ok(None), "and its tools are forgotten");
}
