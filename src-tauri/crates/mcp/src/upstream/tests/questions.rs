//! Live questions: what they are about, their answers, and what is refused.

use domain::ports::{AnswerToSend, UpstreamError, UpstreamSubject};
use domain::task::input_request::{AnswerAction, Ask, AskDoor, LiveQuestion};

use super::*;

const FORM: &str = "elicitation/create";

fn answer(rig: &Rig, question: &LiveQuestion, action: AnswerAction, content: Option<&str>) -> AnswerToSend {
    let (token, digest) = (question.token.clone(), question.digest.clone());
    AnswerToSend {
        door: AskDoor::Live { connection: rig.id, token, digest },
        action,
        content: content.map(Payload::new),
    }
}

async fn question(rig: &mut Rig) -> (UpstreamSubject, LiveQuestion) {
    match rig.heard().await {
        UpstreamEvent::Question(subject, question) => (subject, question),
        other => panic!("a question was expected, not {other:?}"),
    }
}

fn form() -> Value {
    json!({"message": "Go?", "requestedSchema": {"type": "object", "properties": {"go": {"type": "boolean"}}}})
}

fn for_task(id: &str) -> Value {
    let mut params = form();
    params["_meta"] = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    params
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_tasks_question_carries_its_task_and_goes_once() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.asks("7", FORM, for_task("3"), None).await;
    let (subject, asked) = question(&mut rig).await;
    assert_eq!(subject, UpstreamSubject::Task(task("3")), "it says so itself");
    assert!(matches!(&asked.ask, Ask::Form { message, .. } if message == "Go?"), "the form");
    let go = answer(&rig, &asked, AnswerAction::Accept, Some("{\"go\":true}"));
    rig.upstream.answer(Some(task("3")), vec![go.clone()]).await.expect("it is open");
    let expected = json!({"result": {"action": "accept", "content": {"go": true},
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "3"}}}});
    assert_eq!(rig.link.wire.lock().responded, [("7".to_owned(), expected)], "statement 31");
    let twice = rig.upstream.answer(Some(task("3")), vec![go]).await;
    assert_eq!(twice, Err(UpstreamError::ChannelGone), "it is not open any more");
}

#[tokio::test(start_paused = true)]
async fn declining_and_dismissing_differ_and_send_no_content() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    for (token, action, word) in [("1", AnswerAction::Decline, "decline"), ("2", AnswerAction::Dismiss, "cancel")] {
        rig.asks(token, FORM, form(), None).await;
        let (_, asked) = question(&mut rig).await;
        let no = answer(&rig, &asked, action, Some("{\"go\":true}"));
        rig.upstream.answer(None, vec![no]).await.expect("it is open");
        let last = rig.link.wire.lock().responded.last().cloned().expect("sent");
        assert_eq!(last, (token.to_owned(), json!({"result": {"action": word}})), "the action alone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_about_a_task_that_is_not_open_is_refused_with_an_error_that_says_why() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.asks("7", FORM, for_task("nobody"), None).await;
    question(&mut rig).await;
    rig.upstream.refuse_question("7".into()).await.expect("it is open");
    let why = "no task with the related task id is open at this client";
    let expected = json!({"error": {"code": -32602, "message": why}});
    assert_eq!(rig.link.wire.lock().responded, [("7".to_owned(), expected)]);
    let twice = rig.upstream.refuse_question("7".into()).await;
    assert_eq!(twice, Err(UpstreamError::ChannelGone), "it is not open any more");
}

#[tokio::test(start_paused = true)]
async fn any_answer_to_a_ping_shows_that_the_server_is_there() {
    let rig = Rig::legacy(|sent| match &*sent.method {
        "ping" => Reply::Error(json!({"code": -32601, "message": "method not found"})),
        _ => Reply::Hold,
    });
    assert_eq!(rig.upstream.ping().await, Ok(()));
    let silent = Rig::legacy(|_| Reply::Fail(LinkError::NoAnswer(Policy::default().reply_limit)));
    let unreached = silent.upstream.ping().await;
    assert!(matches!(unreached, Err(UpstreamError::Unreachable { .. })), "{unreached:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_belongs_to_the_stream_it_came_on() {
    let mut rig = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        "tasks/get" => Reply::Result(json!({"taskId": "3", "status": "input_required"})),
        _ => Reply::Hold,
    });
    let upstream = Arc::clone(&rig.upstream);
    let calling = aside(async move { upstream.call(call(5, "dig", "{}")).await });
    let called = rig.link.nth("tools/call", 1).await;
    rig.upstream.read(task("3")).await.expect("it asks");
    let open = rig.link.nth("tasks/result", 1).await;
    rig.asks("1", FORM, form(), Some(called.tag)).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Call(ticket(5)), "the call's own stream");
    rig.asks("2", FORM, form(), Some(open.tag)).await;
    let (subject, asked) = question(&mut rig).await;
    assert_eq!(subject, UpstreamSubject::Task(task("3")), "the stream of tasks/result");
    let yes = answer(&rig, &asked, AnswerAction::Accept, Some("{}"));
    rig.upstream.answer(Some(task("3")), vec![yes]).await.expect("it is open");
    let (_, sent) = rig.link.wire.lock().responded.last().cloned().expect("sent");
    assert!(sent["result"]["_meta"].is_object(), "it is a task's question, though it did not say so");
    rig.closes().await;
    calling.abort();
}

#[tokio::test(start_paused = true)]
async fn a_question_without_a_word_belongs_to_the_only_thing_alive() {
    let mut rig = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Hold,
    });
    rig.asks("1", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Unsaid, "nothing is alive");
    rig.upstream.watch(vec![task("a")]);
    rig.asks("2", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Task(task("a")), "one task");
    rig.upstream.watch(vec![task("a"), task("b")]);
    rig.asks("3", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Unsaid, "one of two");
    rig.upstream.watch(Vec::new());
    let upstream = Arc::clone(&rig.upstream);
    let calling = aside(async move { upstream.call(call(5, "dig", "{}")).await });
    rig.link.nth("tools/call", 1).await;
    rig.asks("4", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Call(ticket(5)), "a plain call may ask, too");
    calling.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_earlier_core_that_is_over_asks_nothing() {
    let mut rig = Rig::resumed([ticket(4), ticket(5)], |_| Reply::Hold);
    rig.upstream.taken(ticket(4));
    assert_eq!(rig.upstream.regained(), [ticket(5)], "the other one goes on");
    rig.asks("1", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Unsaid, "it may be a task of which nothing was said yet");
    rig.upstream.watch(Vec::new());
    rig.asks("2", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Call(ticket(5)), "only this call is in flight");
}

#[tokio::test(start_paused = true)]
async fn of_several_tasks_the_one_that_wants_input_is_asking() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a"), task("b"), task("c")]);
    for id in ["stranger", "b"] {
        rig.notifies("notifications/tasks/status", json!({"taskId": id, "status": "input_required"})).await;
        rig.heard().await;
    }
    rig.asks("1", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Task(task("b")), "it said so just before");
    rig.asks("2", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Unsaid, "its question is here already");
    for (id, word) in [("c", "input_required"), ("b", "working")] {
        rig.notifies("notifications/tasks/status", json!({"taskId": id, "status": word})).await;
        rig.heard().await;
    }
    rig.asks("3", FORM, form(), None).await;
    assert_eq!(question(&mut rig).await.0, UpstreamSubject::Task(task("c")), "the only one that wants input now");
}

#[tokio::test(start_paused = true)]
async fn what_people_do_not_answer_is_refused_at_once() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    let cases = [
        ("sampling/createMessage", json!({}), -32601),
        ("roots/list", Value::Null, -32601),
        ("tasks/get", json!({"taskId": "x"}), -32601),
        ("made/up", json!({}), -32601),
        (FORM, Value::Null, -32602),
        (FORM, json!({"mode": "dance"}), -32602),
        (FORM, json!({"mode": "url", "message": "Visit"}), -32602),
        (FORM, json!({"mode": "url", "url": "https://a.example/\u{202e}gro.elpmaxe"}), -32602),
        (FORM, json!({"message": "x", "requestedSchema": [1]}), -32602),
        (FORM, json!({"requestedSchema": {"d": "x".repeat(600_000)}}), -32602),
    ];
    let count = cases.len();
    for (n, (method, params, _)) in cases.iter().enumerate() {
        rig.asks(&n.to_string(), method, params.clone(), None).await;
    }
    rig.link.until("all are refused", |wire| (wire.responded.len() == count).then_some(())).await;
    for (n, (method, params, code)) in cases.iter().enumerate() {
        let (token, sent) = rig.link.wire.lock().responded[n].clone();
        let short: String = params.to_string().chars().take(60).collect();
        assert_eq!((token, &sent["error"]["code"]), (n.to_string(), &json!(code)), "{method} {short}");
    }
    rig.closes().await;
    assert!(matches!(rig.heard().await, UpstreamEvent::Closed(_)), "nobody was asked");
}

#[tokio::test(start_paused = true)]
async fn questions_beyond_the_bound_are_refused_and_their_number_is_told() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    let most = Policy::default().requests_per_task_max;
    for n in 0..most + 3 {
        rig.asks(&n.to_string(), FORM, form(), None).await;
    }
    rig.link.until("three are refused", |wire| (wire.responded.len() == 3).then_some(())).await;
    for _ in 0..most {
        question(&mut rig).await;
    }
    let mut refused = 0;
    while refused < 3 {
        match rig.heard().await {
            UpstreamEvent::QuestionsRefused(count) => refused += count,
            other => panic!("only the number of the others is told, not {other:?}"),
        }
    }
    assert_eq!(refused, 3);
}

#[tokio::test(start_paused = true)]
async fn a_link_is_shown_whole_and_its_completion_is_told() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    let url = "https://id.example/consent?x=1#frag";
    rig.asks("1", FORM, json!({"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e-1"}), None).await;
    let (_, asked) = question(&mut rig).await;
    let expected = Ask::Visit { message: "Sign in".into(), url: url.into(), elicitation: Some("e-1".into()) };
    assert_eq!(asked.ask, expected, "as it came");
    rig.notifies("notifications/elicitation/complete", json!({"elicitationId": "e-1"})).await;
    assert_eq!(rig.heard().await, UpstreamEvent::VisitDone { elicitation: "e-1".into() }, "by its id");
}

#[tokio::test(start_paused = true)]
async fn a_question_taken_back_is_told_once_and_cannot_be_answered() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.asks("\"q-1\"", FORM, form(), None).await;
    let (_, asked) = question(&mut rig).await;
    rig.notifies("notifications/cancelled", json!({"requestId": "q-1"})).await;
    assert_eq!(rig.heard().await, UpstreamEvent::QuestionWithdrawn { token: "\"q-1\"".into() }, "told");
    rig.notifies("notifications/cancelled", json!({"requestId": "q-1"})).await;
    rig.asks("2", FORM, form(), None).await;
    let (_, same) = question(&mut rig).await;
    assert_eq!(same.digest, asked.digest, "the same question asked again is known by its digest");
    let late = answer(&rig, &asked, AnswerAction::Decline, None);
    assert_eq!(rig.upstream.answer(None, vec![late]).await, Err(UpstreamError::ChannelGone), "too late");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_did_not_get_through_can_be_sent_again_on_a_living_connection_only() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.asks("1", FORM, form(), None).await;
    let (_, asked) = question(&mut rig).await;
    let yes = answer(&rig, &asked, AnswerAction::Accept, Some("{}"));
    rig.link.wire.lock().respond_fails = Some(LinkError::RateLimited(None));
    let wait = rig.upstream.answer(None, vec![yes.clone()]).await;
    assert_eq!(wait, Err(UpstreamError::RateLimited { after: None }), "not yet");
    rig.link.wire.lock().respond_fails = Some(broken(false));
    let gone = rig.upstream.answer(None, vec![yes.clone()]).await;
    assert_eq!(gone, Err(UpstreamError::ChannelGone), "the channel is gone");
    let elsewhere = AnswerToSend {
        door: AskDoor::Live { connection: ConnectionId::from_random(9), token: "1".into(), digest: String::new() },
        ..yes
    };
    assert_eq!(
        rig.upstream.answer(None, vec![elsewhere]).await,
        Err(UpstreamError::ChannelGone),
        "another connection's"
    );
}

#[tokio::test(start_paused = true)]
async fn open_questions_are_bounded() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    let most = Policy::default().requests_per_task_max;
    for n in 0..=most {
        rig.asks(&n.to_string(), FORM, form(), None).await;
    }
    let (token, refused) = rig.link.until("the last one is refused", |wire| wire.responded.first().cloned()).await;
    assert_eq!((token, &refused["error"]["code"]), (most.to_string(), &json!(-32603)), "one too many");
    for _ in 0..most {
        question(&mut rig).await;
    }
}
