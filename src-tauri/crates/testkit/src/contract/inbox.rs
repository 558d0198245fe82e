//! Questions, answers, payloads and the status log.

use domain::ids::{PersonId, RequestKey, StandingAnswerId};
use domain::ports::{Commit, InboxPage, Registry};
use domain::task::TaskHandle;
use domain::task::decider::Decider;
use domain::task::input_request::standing_answer::StandingAnswerRef;
use domain::task::input_request::{AnswerAction, RecordedAnswer, RequestState};
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::{Delivery, Phase};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};
use crate::contract::fixtures::question;

const FIXTURES: ContractFixtures = ContractFixtures::of(3);

async fn open_keys(registry: &dyn Registry, limit: u32) -> Vec<String> {
    keys(registry.inbox(0, limit).await.expect("the inbox can be read"))
}

fn keys(page: InboxPage) -> Vec<String> {
    let items = page.items;
    for item in &items {
        assert_eq!(
            item.handle.requests.get(&item.request.key),
            Some(&item.request),
            "an item is a question of its task"
        );
    }
    items.into_iter().map(|item| item.request.key.as_str().to_owned()).collect()
}

pub(crate) async fn check(registry: &dyn Registry) {
    check_questions(registry).await;
    check_payloads(registry).await;
    check_status_log(registry).await;
}

async fn check_questions(registry: &dyn Registry) {
    let mut later = FIXTURES.call(2, 100);
    let mut first = FIXTURES.call(1, 200);
    for request in [question("b", 700), question("a", 700), question("old", 300)] {
        later.requests.insert(request.key.clone(), request);
    }
    for request in [question("c", 700), question("new", 900)] {
        first.requests.insert(request.key.clone(), request);
    }
    later.version = registry.admit(commit_of(&later, Phase::Waiting)).await.expect("admitted").version;
    registry.admit(commit_of(&first, Phase::Waiting)).await.expect("admitted");
    let want = ["old", "c", "a", "b", "new"];
    assert_eq!(open_keys(registry, 10).await, want, "oldest first; ties by task, then by key");
    assert_eq!(open_keys(registry, 2).await, ["old", "c"], "at most as many as asked for");
    let page = registry.inbox(2, 2).await.expect("the inbox can be read");
    assert_eq!((page.total, keys(page)), (5, vec!["a".to_owned(), "b".to_owned()]), "a page says how many there are");

    let key = RequestKey::new("old");
    let answered = RecordedAnswer {
        by: PersonId::new("ada").into(),
        at: Timestamp::from_millis(950),
        action: AnswerAction::Accept,
        not_before: None,
        delivery: Delivery::Recorded,
    };
    later.requests.entry(key).and_modify(|request| request.state = RequestState::Answered(answered));
    later.version = registry.commit(commit_of(&later, Phase::Waiting)).await.expect("answered").version;
    assert_eq!(open_keys(registry, 10).await, ["c", "a", "b", "new"], "an answered question is not asked again");
    assert_eq!(registry.handle(later.id).await, Ok(Some(later.clone())), "all questions are kept with their state");
    check_answered(registry, later).await;
}

/// Answered questions are found by when they were answered and by whom, until they are open again.
async fn check_answered(registry: &dyn Registry, mut task: TaskHandle) {
    let rule = Decider::Rule(StandingAnswerRef { id: StandingAnswerId::from_random(5), version: 2 });
    let answers = [("a", rule.clone(), 970), ("b", PersonId::new("ada").into(), 960)];
    for (key, by, at) in answers {
        let answer = RecordedAnswer {
            by,
            at: Timestamp::from_millis(at),
            action: AnswerAction::Decline,
            not_before: None,
            delivery: Delivery::Recorded,
        };
        let state = RequestState::Confirmed(answer);
        task.requests.entry(RequestKey::new(key)).and_modify(|request| request.state = state);
    }
    task.version = registry.commit(commit_of(&task, Phase::Waiting)).await.expect("answered").version;
    let page = |by: Option<Decider>, offset| async move {
        let page = registry.answered(by, offset, 2).await.expect("answered questions can be read");
        (page.total, keys(page))
    };
    let named = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    assert_eq!(page(None, 0).await, (3, named(&["a", "b"])), "the last answered first, with how many there are");
    assert_eq!(page(None, 2).await, (3, named(&["old"])), "by pages");
    assert_eq!(page(Some(rule), 0).await, (1, named(&["a"])), "those of one rule alone");
    task.requests.entry(RequestKey::new("b")).and_modify(|request| request.state = RequestState::Open);
    registry.commit(commit_of(&task, Phase::Waiting)).await.expect("taken back");
    assert_eq!(page(None, 0).await, (2, named(&["a", "old"])), "an answer that was taken back is none");
}

async fn check_payloads(registry: &dyn Registry) {
    let mut call = FIXTURES.call(10, 100);
    let answer = PayloadKind::Answer(RequestKey::new("k:1"));
    let write =
        |kind: &PayloadKind, text: Option<&str>| PayloadWrite { kind: kind.clone(), payload: text.map(Payload::new) };
    let admitted = Commit {
        payloads: vec![write(&PayloadKind::Arguments, Some("{}")), write(&answer, Some("{\"pin\":\"canary\"}"))],
        ..commit_of(&call, Phase::Running)
    };
    call.version = registry.admit(admitted).await.expect("admitted").version;
    let read = |kind: PayloadKind| registry.payload(FIXTURES.id(10), kind);
    let text = |text: &str| Ok(Some(Payload::new(text)));
    assert_eq!(read(PayloadKind::Arguments).await, text("{}"), "arguments read back byte for byte");
    assert_eq!(read(answer.clone()).await, text("{\"pin\":\"canary\"}"), "so does an answer");
    assert_eq!(read(PayloadKind::Result).await, Ok(None), "what was not stored is not there");

    let large = "x".repeat(1_000_000);
    let next = Commit {
        payloads: vec![
            write(&answer, None),
            write(&PayloadKind::Arguments, Some("{\"a\":1}")),
            write(&PayloadKind::Result, Some(&large)),
        ],
        ..commit_of(&call, Phase::Done)
    };
    registry.commit(next).await.expect("committed");
    assert_eq!(read(answer).await, Ok(None), "an erased answer is gone");
    assert_eq!(read(PayloadKind::Arguments).await, text("{\"a\":1}"), "a later payload replaces the earlier one");
    assert_eq!(read(PayloadKind::Result).await, text(&large), "a large result reads back");
}

async fn check_status_log(registry: &dyn Registry) {
    let mut call = FIXTURES.call(20, 100);
    let line = |number: i64| LogLine {
        at: Timestamp::from_millis(number / 2),
        status: "working".into(),
        text: format!("line {number}"),
    };
    call.version = registry.admit(commit_of(&call, Phase::Running)).await.expect("admitted").version;
    assert_eq!(registry.status_log(call.id, 10).await, Ok(Vec::new()), "nothing was said yet");
    for numbers in [0..3_i64, 3..4, 4..9] {
        let log = numbers.map(line).collect();
        call.version =
            registry.commit(Commit { log, ..commit_of(&call, Phase::Running) }).await.expect("committed").version;
    }
    let want: Vec<LogLine> = (4..9).map(line).collect();
    assert_eq!(registry.status_log(call.id, 100).await, Ok(want), "the last five are kept, oldest first");
    let want: Vec<LogLine> = (7..9).map(line).collect();
    assert_eq!(registry.status_log(call.id, 2).await, Ok(want), "a short look shows the latest");
}
