//! What stands in the files: nothing private, and nothing that can be moved.

use std::fs;

use domain::budget::window::{ListedTools, Window};
use domain::ids::{PersonId, SessionKey, WindowId};
use domain::ports::{BudgetNote, Commit, Registry, RegistryError, ServerUnit};
use domain::server::{Dialect, Era, Negotiated};
use domain::task::input_request::{Ask, AskDoor, InputRequest, RequestState};
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::{CancelRequest, Delivery, Intent, Phase};
use domain::task::{HoldReason, HoldVerdict, ResultHold};
use domain::time::Timestamp;
use domain::tokens::Family;
use testkit::build::http_server;
use testkit::contract::{ContractFixtures, commit_of};

use super::{Home, meddle};

const FIXTURES: ContractFixtures = ContractFixtures::of(1);
/// Stands in every private place; long enough not to appear by chance.
const CANARY: &str = "canary-3f9ac1";

fn private_commit() -> Commit {
    let mut handle = FIXTURES.task(1, 100, &format!("task {CANARY}"));
    handle.home.session = Some(SessionKey::new(format!("session {CANARY}")));
    let wish = CancelRequest {
        by: PersonId::new("ada").into(),
        at: Timestamp::from_millis(1),
        reason: Some(CANARY.into()),
        delivery: Delivery::Refused { at: Timestamp::from_millis(2), why: CANARY.into() },
        sent: None,
    };
    handle.intent = Intent::Cancel(wish);
    handle.trace = Some(CANARY.into());
    handle.job = Some(domain::ids::JobKey::new(CANARY));
    handle.failed_for_agent = Some(CANARY.into());
    let verdict = HoldVerdict::Withhold {
        by: PersonId::new("ada"),
        at: Timestamp::from_millis(2),
        reason: Some(CANARY.into()),
        shown: false,
    };
    handle.hold =
        Some(ResultHold { by: None, at: Timestamp::from_millis(1), why: HoldReason::Review, verdict: Some(verdict) });
    let request = InputRequest {
        key: domain::ids::RequestKey::new("key"),
        ask: Ask::Visit {
            message: CANARY.into(),
            url: format!("https://x/?{CANARY}"),
            elicitation: Some(CANARY.into()),
        },
        door: AskDoor::Listed { key: CANARY.into() },
        opened: Timestamp::from_millis(1),
        state: RequestState::Open,
    };
    handle.requests.insert(request.key.clone(), request);
    let payload = |kind| PayloadWrite { kind, payload: Some(Payload::new(format!("{{\"x\":\"{CANARY}\"}}"))) };
    let answer = PayloadKind::Answer(domain::ids::RequestKey::new("key"));
    let question = PayloadKind::Question(domain::ids::RequestKey::new("key"));
    let kinds = [
        question,
        PayloadKind::Task,
        PayloadKind::Arguments,
        PayloadKind::Result,
        PayloadKind::Error,
        answer,
        PayloadKind::RequestState,
        PayloadKind::Unreadable,
    ];
    Commit {
        payloads: kinds.map(payload).into(),
        log: vec![LogLine { at: Timestamp::from_millis(1), status: CANARY.into(), text: CANARY.into() }],
        ..commit_of(&handle, Phase::Waiting)
    }
}

#[tokio::test]
async fn nothing_private_stands_in_the_files() {
    let home = Home::new();
    let registry = home.open().await;
    let commit = private_commit();
    registry.admit(commit.clone()).await.expect("admitted");
    let mut server = http_server(1, "zoo");
    server.negotiated = Some(Negotiated {
        era: Era::Legacy,
        dialect: Dialect::NoTasks,
        protocol_version: "2025-11-25".into(),
        server_name: "Zoo".into(),
        server_version: "1".into(),
        can_list: false,
        can_cancel: false,
        session: Some(SessionKey::new(CANARY)),
    });
    registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("put");
    let mut window = Window::new(WindowId::from_random(1), FIXTURES.agent(1), Family::O200k, Timestamp::from_millis(1));
    window.shelves.insert(None, ListedTools { session: Some(CANARY.into()), ..ListedTools::default() });
    let note = BudgetNote { windows: vec![window.clone()], ..BudgetNote::default() };
    registry.note_budget(note).await.expect("noted");
    assert_eq!(registry.windows(0).await, Ok(vec![window]), "a window reads back with the session that it knows");
    let look = |when: &str| {
        let mut files = 0;
        for entry in fs::read_dir(home.folder.path()).expect("lists") {
            let path = entry.expect("an entry").path();
            let bytes = fs::read(&path).expect("reads");
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "{when}: {} has private text in clear", path.display());
            files += 1;
        }
        assert!(files >= 2, "{when}: there are files to look at");
    };
    look("while open");
    let stored = registry.handle(commit.handle.id).await.expect("reads").expect("is there");
    assert_eq!(stored.requests, commit.handle.requests, "though all of it reads back");
    registry.close().await;
    look("after closing");
}

#[tokio::test]
async fn a_sealed_field_in_another_row_does_not_open() {
    let home = Home::new();
    let registry = home.open().await;
    let first = private_commit();
    registry.admit(first.clone()).await.expect("admitted");
    let second = FIXTURES.task(2, 100, "other");
    let payloads = first.payloads.clone();
    registry.admit(Commit { payloads, ..commit_of(&second, Phase::Running) }).await.expect("admitted");
    registry.close().await;
    let swap = "UPDATE handles SET body_sealed = (SELECT body_sealed FROM handles WHERE number = 1) WHERE number = 2; \
                UPDATE payloads SET sealed = (SELECT sealed FROM payloads WHERE handle = 1 AND kind = 'result') \
                WHERE handle = 2 AND kind = 'arguments'";
    meddle(&home.path(), swap).await;
    let registry = home.open().await;
    let moved = registry.handle(second.id).await;
    assert!(matches!(moved, Err(RegistryError::Damaged { .. })), "a moved body is noticed: {moved:?}");
    let moved = registry.payload(second.id, PayloadKind::Arguments).await;
    assert!(matches!(moved, Err(RegistryError::Damaged { .. })), "so is a moved payload: {moved:?}");
    assert!(registry.handle(first.handle.id).await.is_ok(), "the other task is not concerned");
}

#[tokio::test]
async fn a_word_of_a_newer_encoding_is_named_with_its_row_and_field() {
    let home = Home::new();
    let registry = home.open().await;
    let server = http_server(1, "zoo");
    registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() }).await.expect("put");
    registry.close().await;
    let change = r#"UPDATE servers SET body = replace(body, '"is":"http"', '"is":"carrierPigeon"')"#;
    meddle(&home.path(), change).await;
    let registry = home.open().await;
    let error = registry.server(server.id).await.expect_err("an unknown word is not guessed at").to_string();
    for part in ["servers", &server.id.to_string(), "address.is", "carrierPigeon"] {
        assert!(error.contains(part), "`{error}` names `{part}`");
    }
}

#[tokio::test]
async fn an_older_value_of_a_field_that_is_put_back_does_not_open() {
    let home = Home::new();
    let registry = home.open().await;
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    meddle(&home.path(), "CREATE TABLE aside AS SELECT body_sealed FROM handles WHERE number = 1").await;
    handle.changed = Timestamp::from_millis(200);
    registry.commit(commit_of(&handle, Phase::Cancelling)).await.expect("committed");
    registry.close().await;
    meddle(&home.path(), "UPDATE handles SET body_sealed = (SELECT body_sealed FROM aside)").await;
    let registry = home.open().await;
    let old = registry.handle(handle.id).await;
    assert!(matches!(old, Err(RegistryError::Damaged { .. })), "what the task was before is not believed: {old:?}");
}
