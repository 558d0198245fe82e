//! Spans hold what the published protobuf definitions allow, and say how a task ended without any words of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::audit::decision_origin::{DecisionDoor, DecisionOrigin};
use domain::audit::{Actor, AuditEvent, DecidingRule, Subject};
use domain::ids::{HostId, PersonId, RequestKey, StandingAnswerId};
use domain::ports::AuditLink;
use domain::task::payload::Payload;
use domain::task::status::{Contact, GoneWhy, Outcome, RpcError, ServerView};
use domain::task::{Audience, Home, NewCall, TaskRunLimits};
use domain::time::Timestamp;

use super::outcome::SpanStatus;
use super::*;
use crate::tasks::audit_log::otlp_json::schema::check;

const ORIGIN: &str = "taskwarden/l0g";

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn call() -> TaskHandle {
    let call = NewCall {
        id: HandleId::from_random(7),
        server: ServerId::from_random(8),
        agent: Some(AgentId::from_random(9)),
        by: Actor::Agent(AgentId::from_random(9)),
        tool: Arc::from("index_folder"),
        arguments: Payload::new("{}"),
        arguments_digest: Arc::from("00"),
        usual: None,
        usual_late_min: Duration::from_millis(500),
        limit: None,
        host: HostId::from_random(1),
        home: Home { generation: 0, session: None },
        seat: None,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: None,
        attempt: 2,
        hold: false,
        run_limits: TaskRunLimits::default(),
        agent_ttl: None,
    };
    TaskHandle::admit(call, at(1_000)).next
}

fn refused() -> TaskHandle {
    let error = RpcError { code: -32_602, message: "hush".into() };
    TaskHandle { view: ServerView::Refused(error), ..call() }
}

fn row(number: u64, verb: Verb, actor: Actor, subject: Subject) -> AuditLink {
    let millis = i64::try_from(number).expect("a small number") * 1_000;
    let event = AuditEvent { at: at(millis), actor, verb, subject, note: "hush".into() };
    AuditLink { number, event, salted: None, previous: String::new(), hash: String::new() }
}

fn history(verbs: &[Verb]) -> TaskHistory {
    let mut history = TaskHistory::default();
    for (number, verb) in (1..).zip(verbs) {
        let row = row(number, *verb, Actor::System("deliver"), Subject::Handle(call().id));
        history.add(&row, u64::MAX, 128);
    }
    history
}

fn facts(task: Option<TaskHandle>, history: TaskHistory) -> SpanFacts<'static> {
    let end = history.ended.expect("it ended");
    let task = task.map(|task| {
        let phase = task.phase(end.at);
        (task, phase)
    });
    SpanFacts {
        origin: ORIGIN,
        id: call().id,
        end,
        history,
        task,
        server: Some("files".into()),
        agent: Some("ant".into()),
        lineage: SpanLineage::default(),
        tool_bytes: 12,
    }
}

/// The span as it is sent, after a look at its form, and its attributes.
fn sent(facts: SpanFacts<'_>) -> (Value, BTreeMap<String, String>) {
    let body = request(ORIGIN, &[span(facts).to_string()]);
    assert!(!body.contains("hush"), "no note, key or message is sent: {body}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    check("ExportTraceServiceRequest", &body);
    let span = body.pointer("/resourceSpans/0/scopeSpans/0/spans/0").expect("a span").clone();
    let found = attributes(&span);
    (span, found)
}

fn attributes(of: &Value) -> BTreeMap<String, String> {
    let all = of.get("attributes").and_then(Value::as_array).expect("attributes");
    let read = |one: &Value| {
        let value = one.get("value").and_then(Value::as_object).and_then(|kinds| kinds.values().next().cloned());
        let key = one.get("key").and_then(Value::as_str).unwrap_or_default();
        (key.to_owned(), value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned())
    };
    all.iter().map(read).collect()
}

#[test]
fn a_call_is_a_client_span_with_the_names_of_the_conventions_from_its_admission_to_its_end() {
    let task = call();
    let (span, found) = sent(facts(Some(refused()), history(&[Verb::Admitted, Verb::Asked, Verb::Ended])));
    assert_eq!((&span["name"], &span["kind"]), (&json!("tools/call index_folder"), &json!(3)));
    assert_eq!(span["startTimeUnixNano"], "1000000000");
    assert_eq!(span["endTimeUnixNano"], "3000000000");
    assert_eq!(span["status"], json!({"code": 2, "message": "the call failed"}));
    let id = |id: &dyn ToString| id.to_string();
    for (key, value) in [
        ("mcp.method.name", "tools/call".to_owned()),
        ("gen_ai.operation.name", "execute_tool".into()),
        ("gen_ai.tool.name", "index_folder".into()),
        ("gen_ai.agent.id", id(&AgentId::from_random(9))),
        ("gen_ai.agent.name", "ant".into()),
        ("taskwarden.task.id", id(&task.id)),
        ("taskwarden.task.phase", "failed".into()),
        ("taskwarden.task.origin", "agent".into()),
        ("taskwarden.task.attempt", "2".into()),
        ("taskwarden.task.waited_ms", "0".into()),
        ("taskwarden.server.id", id(&task.server)),
        ("taskwarden.server.name", "files".into()),
        ("taskwarden.audit.number", "3".into()),
        ("error.type", "-32602".into()),
    ] {
        assert_eq!(found.get(key), Some(&value), "{key}");
    }
    assert_eq!(found.len(), 14, "and nothing else: {found:?}");
    let named: Vec<&str> =
        span["events"].as_array().expect("events").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(named, ["taskwarden.audit.admitted", "taskwarden.audit.asked", "taskwarden.audit.ended"]);
}

#[test]
fn the_name_of_a_tool_is_cut_and_a_task_that_was_found_is_no_call() {
    let long = TaskHandle { tool: Some(Arc::from("index_\u{1f980}\u{1f980}\u{1f980}")), ..refused() };
    let (span, found) = sent(facts(Some(long), history(&[Verb::Admitted, Verb::Ended])));
    assert_eq!(
        (span["name"].as_str(), found["gen_ai.tool.name"].as_str()),
        (Some("tools/call index_\u{1f980}"), "index_\u{1f980}")
    );
    let found_there = TaskHandle { origin: Origin::Discovered, tool: None, ..refused() };
    let (span, found) = sent(facts(Some(found_there), history(&[Verb::Discovered, Verb::Ended])));
    assert_eq!((&span["name"], &span["kind"]), (&json!("task"), &json!(1)));
    assert!(!found.contains_key("mcp.method.name") && !found.contains_key("taskwarden.task.attempt"), "{found:?}");
}

#[test]
fn the_status_says_how_it_ended_and_nothing_where_people_ended_it_or_nobody_knows() {
    let of = |view: ServerView| TaskHandle { view, ..call() };
    let gone = |why: GoneWhy| TaskHandle { contact: Contact::Gone { at: at(2_000), seen: at(1_500), why }, ..call() };
    for (task, status, error) in [
        (of(ServerView::Direct(Outcome::Unavailable)), SpanStatus::Unset, None),
        (
            of(ServerView::Direct(Outcome::Error(RpcError { code: -1, message: "hush".into() }))),
            SpanStatus::Error,
            Some("-1"),
        ),
        (of(ServerView::NotSent { why: "hush".into() }), SpanStatus::Error, Some("not_sent")),
        (call().sign_in_refused("hush", "", at(1_000)).next, SpanStatus::Error, Some("sign_in_refused")),
        (call().asked_to_wait(None, at(1_000)).next, SpanStatus::Error, Some("asked_to_wait")),
        (gone(GoneWhy::Unknown), SpanStatus::Error, Some("lost")),
        (gone(GoneWhy::Expired), SpanStatus::Error, Some("expired")),
    ] {
        let phase = task.phase(at(5_000));
        let outcome = SpanOutcome::of(&task, phase);
        assert_eq!((outcome.status, outcome.error.as_deref()), (status, error), "{phase:?}");
    }
    let of_phase = |phase| SpanOutcome::of(&call(), phase).status;
    assert_eq!([Phase::Cancelled, Phase::Unwatched].map(of_phase), [SpanStatus::Unset; 2]);
    assert_eq!([Phase::Done, Phase::DoneWithError].map(of_phase), [SpanStatus::Ok, SpanStatus::Error]);
    assert!(awaits_result(&of(ServerView::Direct(Outcome::NotFetched))) && !awaits_result(&refused()));
}

#[test]
fn a_task_whose_record_is_gone_is_a_span_of_its_rows() {
    let (span, found) = sent(facts(None, history(&[Verb::Admitted, Verb::Ended])));
    assert_eq!((&span["name"], &span["status"]), (&json!("task"), &json!({"code": 0})));
    assert_eq!(
        (span["startTimeUnixNano"].as_str(), span["endTimeUnixNano"].as_str()),
        (Some("1000000000"), Some("2000000000"))
    );
    assert!(!found.contains_key("taskwarden.task.phase"), "{found:?}");
}

#[test]
fn the_row_that_ended_a_task_is_the_one_after_which_it_did_not_go_on() {
    use Verb::{Admitted, Discovered, Ended, Given, Lost, Unwatched};
    for (verbs, end) in [
        (&[Admitted, Ended, Given][..], Some(2)),
        (&[Admitted, Lost], Some(2)),
        (&[Admitted, Lost, Unwatched], Some(2)),
        (&[Admitted, Lost, Discovered], None),
        (&[Admitted, Lost, Discovered, Ended], Some(4)),
        (&[Admitted, Unwatched, Ended], Some(3)),
        (&[Discovered, Unwatched], Some(2)),
        (&[Admitted], None),
    ] {
        assert_eq!(history(verbs).ended.map(|end| end.number), end, "{verbs:?}");
    }
}

#[test]
fn an_event_says_who_acted_through_which_door_about_which_question() {
    let task = call().id;
    let question = |key: &str| Subject::Request(task, RequestKey::new(key));
    let origin = DecisionOrigin { door: DecisionDoor::Window, process: None, executable: Some("/hush".into()) };
    let ada = Actor::Person(PersonId::new("ada").through(origin));
    let rule = Actor::Rule(DecidingRule { id: StandingAnswerId::from_random(4), version: 3 });
    let mut history = TaskHistory::default();
    for row in [
        row(1, Verb::Admitted, Actor::Agent(AgentId::from_random(9)), Subject::Handle(task)),
        row(2, Verb::Asked, Actor::Server(call().server), question("hush-1")),
        row(3, Verb::Asked, Actor::Server(call().server), question("hush-2")),
        row(4, Verb::AnswerBegun, rule, question("hush-2")),
        row(5, Verb::AnswerBegun, ada, question("hush-1")),
        row(6, Verb::Ended, Actor::Server(call().server), Subject::Handle(task)),
        row(7, Verb::ResultReleased, Actor::Person(PersonId::new("ada")), Subject::Handle(task)),
    ] {
        history.add(&row, 6, 5);
    }
    let (span, _) = sent(facts(Some(refused()), history));
    let events = span["events"].as_array().expect("events").clone();
    assert_eq!((events.len(), &span["droppedEventsCount"]), (5, &json!(1)), "beyond the most they are counted");
    let of = |index: usize| attributes(events.get(index).expect("an event"));
    assert_eq!(of(3)["taskwarden.question.number"], "2");
    assert_eq!(
        (of(3)["taskwarden.rule.version"].as_str(), of(3)["taskwarden.audit.actor"].as_str()),
        ("3", "system:rule")
    );
    let ada = of(4);
    assert_eq!((ada["user.name"].as_str(), ada["taskwarden.decision.door"].as_str()), ("ada", "window"));
    assert_eq!((ada["taskwarden.question.number"].as_str(), ada.len()), ("1", 5), "{ada:?}");
}

#[test]
fn ids_follow_from_the_task_and_a_trace_that_the_call_carried_is_kept() {
    let (one, other) = (HandleId::from_random(1), HandleId::from_random(2));
    assert_eq!(span_id(ORIGIN, one), span_id(ORIGIN, one));
    let ids = [span_id(ORIGIN, one), span_id(ORIGIN, other), span_id("taskwarden/other", one)];
    assert!(ids.iter().all(|id| id.len() == SPAN_DIGITS) && ids[0] != ids[1] && ids[0] != ids[2], "{ids:?}");
    let own = trace_id(ORIGIN, one, None);
    assert!(own.len() == TRACE_DIGITS && !own.starts_with(&ids[0]), "{own}");
    let carried = "0af7651916cd43dd8448eb211c80319c";
    let task = TaskHandle { trace: Some(Arc::from(carried)), ..call() };
    assert_eq!(trace_id(ORIGIN, task.id, Some(&task)), carried);
    let mut with_parent = facts(Some(task.clone()), history(&[Verb::Admitted, Verb::Ended]));
    with_parent.lineage =
        SpanLineage { parent: Some(span_id(ORIGIN, other)), links: vec![link(ORIGIN, &task, "attempt_before")] };
    let (span, _) = sent(with_parent);
    assert_eq!((span["traceId"].as_str(), span["parentSpanId"].as_str()), (Some(carried), Some(ids[1].as_str())));
    assert_eq!(attributes(&span["links"][0])["taskwarden.link.reason"], "attempt_before");
}
