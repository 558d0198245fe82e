//! A task is admitted, changed, found, and never recorded twice.

use domain::audit::Verb;
use domain::ids::{HandleId, SessionKey, UpstreamTaskId};
use domain::ports::{Commit, CommitError, ContactNote, KnownTask, Registry, RegistryError};
use domain::task::status::{Contact, Phase};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::contract::fixtures::working;

const FIXTURES: ContractFixtures = ContractFixtures::of(1);

pub(crate) async fn check(registry: &dyn Registry) {
    check_admission_and_conflict(registry).await;
    check_upstream_ids(registry).await;
    check_finding_by_text(registry).await;
    check_contact(registry).await;
}

async fn check_admission_and_conflict(registry: &dyn Registry) {
    let mut call = FIXTURES.call(1, 100);
    assert_eq!(registry.handle(call.id).await, Ok(None), "an unknown task is not an error");
    let early = registry.commit(commit_of(&call, Phase::Running)).await;
    assert_eq!(early, Err(CommitError::Conflict), "a task that is not here cannot be changed");

    let admitted = registry.admit(commit_of(&call, Phase::Running)).await.expect("a new call is admitted");
    assert_eq!(admitted.version, 1, "the first version is one more than what was read");
    assert_eq!(
        registry.admit(commit_of(&call, Phase::Running)).await,
        Err(CommitError::Exists(call.id)),
        "an id is used once"
    );

    let stale = call.clone();
    call.version = admitted.version;
    assert_eq!(registry.handle(call.id).await, Ok(Some(call.clone())), "it reads back as it was admitted");
    call.view = working("task-1", call.created);
    call.changed = Timestamp::from_millis(200);
    let committed = registry.commit(commit_of(&call, Phase::Running)).await.expect("the newest version is changed");
    assert_eq!(committed.version, 2, "each commit raises the version by one");
    assert!(committed.seq > admitted.seq, "later commits have later places in the change log");

    let audited = registry.audit_page(Some(stale.id), 0, 10).await.expect("audit reads").rows.len();
    let lost =
        Commit { audit: vec![FIXTURES.fact(1, Verb::Ended, "must not be there")], ..commit_of(&stale, Phase::Done) };
    assert_eq!(registry.commit(lost).await, Err(CommitError::Conflict), "an old version is refused");
    call.version = committed.version;
    assert_eq!(registry.handle(call.id).await, Ok(Some(call)), "a refused commit changes nothing");
    let now = registry.audit_page(Some(stale.id), 0, 10).await.expect("audit reads").rows.len();
    assert_eq!(now, audited, "nor does it leave facts behind");
}

async fn check_upstream_ids(registry: &dyn Registry) {
    let find = |generation, session: Option<&str>, task: &str| {
        registry.find_task(FIXTURES.server(1), generation, session.map(SessionKey::new), UpstreamTaskId::new(task))
    };
    assert_eq!(
        find(0, None, "task-1").await,
        Ok(Some(KnownTask::Kept(FIXTURES.id(1)))),
        "a task is found by its server's id"
    );
    assert_eq!(find(1, None, "task-1").await, Ok(None), "another generation is another task");
    assert_eq!(find(0, Some(""), "task-1").await, Ok(None), "an empty session is not no session");
    assert_eq!(find(0, None, "task-").await, Ok(None), "ids are compared whole");

    let double = FIXTURES.task(2, 300, "task-1");
    let refused = registry.admit(commit_of(&double, Phase::Running)).await;
    assert_eq!(refused, Err(CommitError::Exists(FIXTURES.id(1))), "a task that is here is not found twice");
    assert_eq!(registry.handle(double.id).await, Ok(None), "a refused admission leaves nothing");

    let mut other = double.clone();
    other.home.session = Some(SessionKey::new("session-a"));
    let admitted = registry.admit(commit_of(&other, Phase::Running)).await.expect("another session, another task");
    assert_eq!(find(0, Some("session-a"), "task-1").await, Ok(Some(KnownTask::Kept(other.id))), "found in its session");
    other.version = admitted.version;
    other.home.session = None;
    let clash = registry.commit(commit_of(&other, Phase::Running)).await;
    assert_eq!(clash, Err(CommitError::Exists(FIXTURES.id(1))), "a change cannot take another task's place either");

    other.home.session = Some(SessionKey::new("session-b"));
    registry.commit(commit_of(&other, Phase::Running)).await.expect("it may move");
    assert_eq!(find(0, Some("session-a"), "task-1").await, Ok(None), "it is no longer where it was");
    assert_eq!(find(0, Some("session-b"), "task-1").await, Ok(Some(KnownTask::Kept(other.id))), "and is where it went");
}

async fn check_finding_by_text(registry: &dyn Registry) {
    let whole = FIXTURES.id(1).to_string();
    assert_eq!(registry.handles_starting(&whole, 10).await, Ok(vec![FIXTURES.id(1)]), "a whole id finds itself");
    let short = whole.get(..whole.len() - 2).expect("ids are longer than two characters");
    let both = registry.handles_starting(short, 10).await;
    assert_eq!(both, Ok(vec![FIXTURES.id(2), FIXTURES.id(1)]), "a beginning finds all that begin so, newest first");
    assert_eq!(registry.handles_starting(short, 1).await, Ok(vec![FIXTURES.id(2)]), "at most as many as asked for");
    let none: Result<Vec<HandleId>, RegistryError> = Ok(Vec::new());
    assert_eq!(registry.handles_starting("hdl_%", 10).await, none, "no character has a second meaning");
    assert_eq!(registry.handles_starting("hdl_~", 10).await, none, "and none is beyond all others");
}

async fn check_contact(registry: &dyn Registry) {
    let at = Timestamp::from_millis;
    let mut call = FIXTURES.call(3, 400);
    call.version = registry.admit(commit_of(&call, Phase::Running)).await.expect("admitted").version;
    let newest = registry.newest_seq().await;
    let note = |number, seen, next_poll: Option<i64>| ContactNote {
        handle: FIXTURES.id(number),
        seen: at(seen),
        next_poll: next_poll.map(at),
    };
    registry
        .note_contacts(vec![note(3, 900, Some(1_000)), note(99, 900, None)])
        .await
        .expect("unknown ones are skipped");
    registry.note_contacts(Vec::new()).await.expect("nothing to note is fine");
    assert_eq!(registry.newest_seq().await, newest, "contact is not a change");
    assert_eq!(registry.next_poll(call.id).await, Ok(Some(at(1_000))), "the next look is known");
    assert_eq!(registry.next_poll(FIXTURES.id(99)).await, Ok(None), "an unknown task is not looked at");
    let seen = |contact| Ok(Some(contact));
    let read = || async { registry.handle(FIXTURES.id(3)).await.map(|found| found.map(|handle| handle.contact)) };
    assert_eq!(read().await, seen(Contact::Fresh { seen: at(900) }), "a handle shows the newest contact");
    registry.note_contacts(vec![note(3, 800, None)]).await.expect("noted");
    assert_eq!(read().await, seen(Contact::Fresh { seen: at(900) }), "an older note does not set it back");
    assert_eq!(registry.next_poll(call.id).await, Ok(None), "the last note says when the next look is");

    call.contact = Contact::Fresh { seen: at(950) };
    call.version = registry.commit(commit_of(&call, Phase::Running)).await.expect("contact raises no version").version;
    assert_eq!(read().await, seen(Contact::Fresh { seen: at(950) }), "a commit may know better");
    registry.note_contacts(vec![note(3, 960, Some(2_000))]).await.expect("noted");
    registry.commit(commit_of(&call, Phase::Done)).await.expect("it ends");
    assert_eq!(registry.next_poll(call.id).await, Ok(None), "what is over is not looked at");
}
