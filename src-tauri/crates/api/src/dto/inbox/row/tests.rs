//! What needs a person, by its rows in the inbox and by its figure, is the same.

use std::time::Duration;

use domain::ids::{AgentId, HostId, PersonId};
use domain::rule::{LimitAction, RuleLevel, RuleSource, RunAction, TokenLimit};
use domain::server::ServerAct;
use domain::task::figures::CountedState;
use domain::task::input_request::AskDoor;
use domain::task::payload::ResultRef;
use domain::task::status::{CancelRequest, Due, DueWhy, GoneWhy, Intent, Outcome};
use domain::task::{OverLimit, ResultHold, TaskRunLimit};
use testkit::contract::ContractFixtures;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(10_000);

fn question() -> InputRequest {
    InputRequest {
        key: RequestKey::new("a"),
        ask: Ask::Form { message: "Go on?".into(), schema: serde_json::json!({ "type": "object" }) },
        door: AskDoor::Listed { key: "a".into() },
        opened: NOW,
        state: RequestState::Open,
    }
}

/// Tasks in every state that matters to the inbox: views, contact, wishes, and every mixture of flags.
fn tasks() -> Vec<TaskHandle> {
    let cast = ContractFixtures::of(1);
    let host = HostId::from_random(1);
    let (call, task) = (cast.call(1, 1_000), cast.task(1, 1_000, "t"));
    let views = [
        call.view.clone(),
        ServerView::OwnCall { since: NOW, host, round: 0 },
        ServerView::Direct(Outcome::Ok(ResultRef { bytes: 9 })),
        ServerView::Direct(Outcome::ToolError(ResultRef { bytes: 9 })),
        task.view.clone(),
    ];
    let ended = GoneWhy::EndedByPerson { by: PersonId::new("ada"), act: ServerAct::Restart };
    let contacts = [
        Contact::Fresh { seen: NOW },
        Contact::Gone { seen: NOW, at: NOW, why: GoneWhy::Unknown },
        Contact::Gone { seen: NOW, at: NOW, why: GoneWhy::Expired },
        Contact::Gone { seen: NOW, at: NOW, why: ended },
    ];
    let person = PersonId::new("ada");
    let wish = CancelRequest::new(&person.clone().into(), NOW, None, domain::task::status::Delivery::Recorded);
    let intents = [Intent::None, Intent::Cancel(wish.clone()), Intent::Revoked(wish)];
    let mut all = Vec::new();
    for view in views {
        for contact in &contacts {
            for intent in &intents {
                for flags in 0..32_u32 {
                    let has = |bit: u32| flags & (1 << bit) != 0;
                    let limit = TokenLimit { tokens: 1_000, at: LimitAction::Ask };
                    let mut one = TaskHandle {
                        agent: Some(AgentId::from_random(1)),
                        view: view.clone(),
                        contact: contact.clone(),
                        intent: intent.clone(),
                        hold: has(0).then_some(ResultHold {
                            by: None,
                            at: NOW,
                            why: HoldReason::Review,
                            verdict: None,
                        }),
                        over_limit: has(1).then_some(OverLimit { at: NOW, tokens: 1_001, limit, settled: None }),
                        due: has(2).then_some(Due { at: NOW, why: DueWhy::Agreed }),
                        ..call.clone()
                    };
                    if has(4) {
                        one.run_limits.time = Some(TaskRunLimit {
                            agreed: Duration::from_secs(1),
                            allowed: Duration::from_secs(1),
                            action: RunAction::Ask,
                            rule: RuleSource { level: RuleLevel::Tool, version: 1 },
                            due: NOW,
                            reached: Some(NOW),
                            removed: None,
                        });
                    }
                    if has(3) {
                        one.requests.insert(RequestKey::new("a"), question());
                    }
                    all.push(one);
                }
            }
        }
    }
    all
}

#[test]
fn a_task_needs_you_exactly_when_something_of_it_lies_in_the_inbox() {
    let policy = Policy::default();
    let asked = RowContext { server: "ci", agent: None, destructive: false, now: NOW, policy: &policy };
    let (mut needing, mut quiet) = (0, 0);
    for task in tasks() {
        let rows = InboxRow::of_task(&task, asked);
        let state = CountedState::of(&task, task.phase(NOW), NOW);
        assert_eq!(state.needs_you(), !rows.is_empty(), "{state:?} with {} rows: {task:?}", rows.len());
        if rows.is_empty() { quiet += 1 } else { needing += 1 }
    }
    assert!(needing > 100 && quiet > 100, "both happen: {needing} and {quiet}");
}
