//! The text of cards as it is shown.

use std::time::Duration;

use domain::audit::Actor;
use domain::ids::{HandleId, HostId, PersonId, RequestKey, ServerId};
use domain::rule::{LimitAction, TokenLimit};
use domain::task::decider::Decider;
use domain::task::input_request::AskDoor;
use domain::task::payload::{Payload, ResultRef};
use domain::task::status::{CancelRequest, Contact, Due, DueWhy, GoneWhy, Outcome, ServerView};
use domain::task::{Audience, HoldReason, HoldVerdict, Home, NewCall, OverLimit, ResultHold, UsualDuration};
use domain::tokens::{Family, TaskTokens};

use super::*;
use crate::notifications::subject::item;

fn at(clock: &str) -> Timestamp {
    format!("2026-11-21T{clock}:00.000Z").parse().expect("a moment")
}

fn task() -> TaskHandle {
    let call = NewCall {
        id: HandleId::from_random(1),
        server: ServerId::from_random(2),
        agent: None,
        by: Actor::Person(PersonId::new("dana")),
        tool: "rebuild_stats".into(),
        arguments: Payload::new("{}"),
        arguments_digest: "".into(),
        usual: Some(UsualDuration { samples: 9, median_ms: 540_000, p90_ms: 840_000, p95_ms: 900_000 }),
        usual_late_min: Duration::ZERO,
        limit: None,
        host: HostId::from_random(3),
        home: Home { generation: 1, session: None },
        seat: None,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: None,
        attempt: 1,
        hold: false,
        run_limits: domain::task::TaskRunLimits::default(),
        agent_ttl: None,
    };
    TaskHandle::admit(call, at("14:00")).next
}

fn told(handle: &TaskHandle, attention: Attention) -> Option<(String, String, String)> {
    let local = LocalTime(TimeZone::UTC);
    let around = SubjectContext { server: "warehouse", now: at("14:41"), local: &local };
    item(handle, attention, around).map(|item| (item.title, item.body, item.place))
}

#[expect(clippy::unnecessary_wraps, reason = "compared with what was told")]
fn card(title: &str, body: &str, place: &str) -> Option<(String, String, String)> {
    let id = HandleId::from_random(1).to_string();
    Some((title.into(), body.into(), place.replace("ID", &id)))
}

#[test]
fn text_of_a_server_is_one_line_without_markup_or_marks_that_act() {
    assert_eq!(plain("<b>Hi</b>\n&amp;\u{1b}[31m\u{202e}there", 90), "‹b›Hi‹/b› ＆amp; [31m there");
    assert_eq!(plain("abcdef", 3), "abc…");
    assert_eq!(plain(" \n ", 3), "");
}

#[test]
fn many_are_told_by_kind_and_with_the_oldest() {
    use Attention::{Finished, Problem, Waiting};
    assert_eq!(
        together(&[Waiting, Problem, Waiting, Waiting, Problem], "14:02"),
        ("5 items need you".into(), "3 questions, 2 problems · oldest since 14:02".into())
    );
    assert_eq!(together(&[Problem], "14:02").0, "1 item needs you");
    assert_eq!(together(&[Finished; 4], "14:02").0, "4 tasks are over");
}

#[test]
fn a_task_that_runs_long_says_what_is_usual() {
    let mut late = task();
    late.due = Some(Due { at: at("14:20"), why: DueWhy::Usual });
    let usual = "Usually 9 min to 14 min. Still working on warehouse.";
    let place = "#/inbox/ID%2Foverdue";
    assert_eq!(told(&late, Attention::Problem), card("rebuild_stats has run 41 min", usual, place));
    late.paused_ms = 11 * 60_000;
    late.changed = at("14:20");
    late.usual = None;
    let agreed = "Later than agreed. Still working on warehouse.";
    assert_eq!(
        told(&late, Attention::Problem),
        card("rebuild_stats has run 30 min", agreed, place),
        "waiting is not work"
    );
}

#[test]
fn a_lost_task_says_when_it_was_last_heard_of() {
    let mut lost = task();
    lost.contact = Contact::Gone { at: at("14:30"), seen: at("14:10"), why: GoneWhy::Unknown };
    let body = "Last heard of at 14:10. It may have finished.";
    assert_eq!(told(&lost, Attention::Problem), card("warehouse lost rebuild_stats", body, "#/inbox/ID%2Flost"));
}

#[test]
fn a_stop_that_is_not_obeyed_or_refused_says_how_far_it_got() {
    let mut wished = task();
    wished.due = None;
    let wish = |delivery| CancelRequest::new(&PersonId::new("dana").into(), at("14:40"), None, delivery);
    let title = "warehouse has not stopped rebuild_stats";
    wished.intent = Intent::Cancel(wish(Delivery::Acknowledged { at: at("14:40") }));
    let body = "Asked at 14:40, acknowledged, still working.";
    assert_eq!(told(&wished, Attention::Problem), card(title, body, "#/tasks/ID"));
    let refused = wish(Delivery::Refused { at: at("14:40"), why: "it said no".into() });
    wished.intent = Intent::Cancel(CancelRequest { sent: Some(at("14:40")), ..refused.clone() });
    assert_eq!(told(&wished, Attention::Problem), card(title, "Asked at 14:40, refused by the server.", "#/tasks/ID"));
    wished.intent = Intent::Cancel(refused);
    let body = "Asked at 14:40; it could not be sent.";
    assert_eq!(told(&wished, Attention::Problem), card(title, body, "#/tasks/ID"), "no word came from the server");
}

#[test]
fn a_held_result_says_how_large_it_is_and_goes_when_it_is_decided() {
    let mut held = task();
    held.view = ServerView::Direct(Outcome::Ok(ResultRef { bytes: 180_000 }));
    let why = HoldReason::TooLarge { tokens: 61_402, limit: 20_000 };
    held.hold = Some(ResultHold { by: None, at: at("14:20"), why, verdict: None });
    held.tokens = Some(TaskTokens { result: Some(61_402), ..TaskTokens::new(Family::O200k) });
    let (title, body, place) = told(&held, Attention::Waiting).expect("somebody must decide");
    assert_eq!(title, "A result of 61,402 tokens is held");
    assert!(body.starts_with("rebuild_stats on warehouse finished at "), "{body}");
    assert!(place.ends_with("%2Fheld"), "it opens its item: {place}");
    held.hold =
        Some(ResultHold { by: None, at: at("14:20"), why, verdict: Some(HoldVerdict::ByLimit { at: at("14:20") }) });
    assert_eq!(told(&held, Attention::Waiting), None, "in slices nobody has to decide");
}

#[test]
fn a_task_past_its_limit_says_which_and_what_happens() {
    let over = |at_tokens| {
        let mut over = task();
        over.due = None;
        let limit = TokenLimit { tokens: 60_000, at: at_tokens };
        over.over_limit = Some(OverLimit { tokens: 61_000, limit, at: at("14:30"), settled: None });
        over.tokens = Some(TaskTokens::new(Family::O200k));
        over
    };
    let title = "rebuild_stats went past 60,000 tokens";
    let asked = "Cancel it or let it continue. On warehouse · since 14:30";
    assert_eq!(told(&over(LimitAction::Ask), Attention::Waiting), card(title, asked, "#/inbox/ID%2FoverLimit"));
    let warned = "61,000 tokens on warehouse; it continues.";
    assert_eq!(told(&over(LimitAction::Warn), Attention::Problem), card(title, warned, "#/tasks/ID"));
    let mut late = over(LimitAction::Ask);
    late.view = ServerView::Direct(Outcome::Ok(ResultRef { bytes: 180_000 }));
    let over_now = "61,000 tokens on warehouse; it has ended.";
    assert_eq!(told(&late, Attention::Problem), card(title, over_now, "#/tasks/ID"), "its result broke the limit");
    let mut stopped = over(LimitAction::Stop);
    let wish = CancelRequest::new(
        &Decider::Limit(domain::rule::LimitKind::Tokens),
        at("14:30"),
        Some("61000 tokens"),
        Delivery::Recorded,
    );
    stopped.intent = Intent::Cancel(wish);
    let said = "A limit stops it. Asked at 14:30, not acknowledged yet.";
    assert_eq!(told(&stopped, Attention::Problem), card(title, said, "#/tasks/ID"));
}

#[test]
fn a_question_of_several_calls_names_no_tool() {
    let mut asking = task();
    let key = RequestKey::new("live-1");
    let request = InputRequest {
        key: key.clone(),
        ask: Ask::Form { message: "Go on?".into(), schema: serde_json::json!({ "type": "object" }) },
        door: AskDoor::Listed { key: "live-1".into() },
        opened: at("14:30"),
        state: RequestState::Open,
    };
    asking.requests.insert(key.clone(), request);
    let body = |handle: &TaskHandle| told(handle, Attention::Waiting).map(|(_, body, _)| body);
    assert_eq!(body(&asking).as_deref(), Some("rebuild_stats is paused · since 14:30"), "it is known which call asks");
    let others = [2, 3, 4, 5].map(HandleId::from_random);
    asking.shared.stored.insert(key, others.into());
    assert_eq!(body(&asking).as_deref(), Some("One of 5 calls is paused · since 14:30"));
}

#[test]
fn what_nobody_watches_or_asks_any_more_is_not_told() {
    let mut left = task();
    assert_eq!(told(&left, Attention::Waiting), None, "there is no open question");
    left.intent = Intent::Unwatched { by: PersonId::new("dana"), at: at("14:20") };
    assert_eq!(told(&left, Attention::Problem), None, "a person looked away");
}

#[test]
fn a_moment_of_another_day_has_its_date() {
    let local = LocalTime(TimeZone::UTC);
    let now = at("00:10").plus(Duration::from_secs(86_400));
    assert_eq!(local.clock(at("23:50"), now), "2026-11-21 23:50");
}
