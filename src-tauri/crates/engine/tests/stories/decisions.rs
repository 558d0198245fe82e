//! Questions, answers and cancels, and their delivery to the server.

use std::time::Duration;

use domain::ids::RequestKey;
use domain::ports::{CallReply, UpstreamError, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{AnswerAction, LiveQuestion, RequestState};
use domain::task::payload::Payload;
use domain::task::status::{CancelState, Delivery, Phase, RpcError, ServerView};
use domain::task::{AnswerInput, Refusal};
use engine::EngineError;
use testkit::build::person;
use testkit::scripted::{EngineAction, OnCancel, PollReply, form, hung_up, payload, unreachable};

use crate::world::{World, acceptance, asks, question};

const SECOND: Duration = Duration::from_secs(1);

async fn asking() -> (World, testkit::scripted::ScriptedServer, domain::ids::ServerId, domain::ids::HandleId) {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    (world, server, id, task)
}

#[tokio::test(start_paused = true)]
async fn a_recorded_answer_is_sent_once_and_confirmed_when_the_server_no_longer_asks() {
    let (world, server, _, task) = asking().await;
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_phase(task, Phase::Done).await;
    let answers = server.answers();
    assert_eq!(answers.len(), 1, "one answer left: {answers:?}");
    assert_eq!(answers[0], ("k".into(), AnswerAction::Accept, Some(r#"{"name":"ada"}"#.into())));
}

#[tokio::test(start_paused = true)]
async fn the_same_question_in_later_looks_is_not_asked_again() {
    let (world, _, _, task) = asking().await;
    world.pass(600 * SECOND).await;
    let handle = world.handle(task).await;
    assert!(question(&handle).is_open(), "there is one open question, however often it was listed");
    let asked: Vec<_> = world.notifier.told();
    assert!(asked.len() <= 2, "it was told, and reminded of once: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_simultaneous_answers_one_is_sent_and_the_others_hear_who_was_faster() {
    let (world, server, _, task) = asking().await;
    let names: Vec<String> = (0..100).map(|number| format!("person{number}")).collect();
    let answers = names.iter().map(|name| world.engine.answer(task, acceptance(Some("k"), name)));
    let outcomes = futures::future::join_all(answers).await;
    let won: Vec<_> =
        outcomes.iter().zip(&names).filter(|(outcome, _)| outcome.is_ok()).map(|(_, name)| name).collect();
    assert_eq!(won.len(), 1, "exactly one wins");
    for outcome in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let EngineError::Refused(Refusal::AlreadyAnswered { by, .. }) = outcome else {
            panic!("the others are told who answered: {outcome:?}")
        };
        assert_eq!(by.to_string(), won[0].as_str());
    }
    world.until_phase(task, Phase::Done).await;
    assert_eq!(server.answers().len(), 1, "one answer reached the server");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_get_through_is_sent_again_until_it_is_acknowledged() {
    let (world, server, _, task) = asking().await;
    server.fail_answers([unreachable(), UpstreamError::RateLimited { after: Some(20 * SECOND) }, unreachable()]);
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_phase(task, Phase::Done).await;
    let answers = server.answers();
    assert_eq!(answers.len(), 4, "three failures and one success");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "always the same answer: {answers:?}");
    let times = server.times(|act| matches!(act, EngineAction::Answer { .. }));
    assert!(times[2].since(times[1]) >= 20 * SECOND, "the server's wish to wait is obeyed: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_the_server_refuses_stays_as_it_is_and_says_so() {
    let (world, server, _, task) = asking().await;
    let error = RpcError { code: -32_000, message: "not like this".into() };
    server.fail_answers([UpstreamError::Refused(error)]);
    world.accept(task, "ada").await.expect("the answer is recorded");
    let refused = |handle: &domain::task::TaskHandle| match question(handle) {
        RequestState::Answered(answered) => matches!(answered.delivery, Delivery::Refused { .. }),
        _ => false,
    };
    world.until(task, "refused", refused).await;
    world.pass(600 * SECOND).await;
    assert_eq!(server.answers().len(), 1, "it is not tried again");
}

#[tokio::test(start_paused = true)]
async fn a_held_back_answer_can_be_taken_back_and_leaves_only_in_its_time() {
    let (world, server, _, task) = asking().await;
    let held = |at| AnswerInput { not_before: Some(at), ..acceptance(Some("k"), "ada") };
    let until = world.now().plus(5 * SECOND);
    world.engine.answer(task, held(until)).await.expect("it is recorded");
    world.pass(2 * SECOND).await;
    assert!(server.answers().is_empty(), "nothing leaves before its time");
    world.engine.undo_answer(task, RequestKey::new("k"), person("ada")).await.expect("it is taken back");
    world.pass(60 * SECOND).await;
    assert!(server.answers().is_empty(), "what was taken back never leaves");
    let until = world.now().plus(5 * SECOND);
    world.engine.answer(task, held(until)).await.expect("it is answered anew");
    world.until_phase(task, Phase::Done).await;
    let left = server.times(|act| matches!(act, EngineAction::Answer { .. }));
    assert!(left[0] >= until && left[0].since(until) < SECOND / 2, "it leaves in its time: {left:?} for {until}");
    let late = world.engine.undo_answer(task, RequestKey::new("k"), person("ada")).await;
    assert!(matches!(late, Err(EngineError::Refused(_))), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_before_it_starts_is_called_again_with_all_answers() {
    let (world, server, id) = World::new().await;
    let two = [("a", form()), ("b", form())].map(|(key, ask)| (RequestKey::new(key), ask));
    let state = Some(Payload::new("opaque"));
    server.reply("tidy", SECOND / 10, Ok(asks(two.into(), state)));
    server.reply_task("tidy", "t1", vec![PollReply::done()]);
    let task = world.call(id, "tidy").await;
    world.until_phase(task, Phase::Waiting).await;
    world.engine.answer(task, acceptance(Some("call.1:a"), "ada")).await.expect("the first answer");
    world.pass(60 * SECOND).await;
    let calls =
        |server: &testkit::scripted::ScriptedServer| server.times(|act| matches!(act, EngineAction::Call { .. })).len();
    assert_eq!(calls(&server), 1, "half the answers are not a round");
    world.engine.answer(task, acceptance(Some("call.1:b"), "ada")).await.expect("the second answer");
    world.until_phase(task, Phase::Done).await;
    assert_eq!(calls(&server), 2, "it was called again once");
    let rounds = server.acts().into_iter().filter_map(|(_, act)| match act {
        EngineAction::Call { answers, .. } => Some(answers),
        _ => None,
    });
    assert_eq!(rounds.collect::<Vec<_>>(), [None, Some(2)], "with both answers");
}

#[tokio::test(start_paused = true)]
async fn a_round_without_questions_is_answered_after_a_short_wait() {
    let (world, server, id) = World::new().await;
    let empty = asks(Default::default(), Some(Payload::new("s")));
    server.reply("tidy", Duration::ZERO, Ok(empty));
    server.reply("tidy", Duration::ZERO, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
    let task = world.call(id, "tidy").await;
    world.until_phase(task, Phase::Done).await;
    let calls = server.times(|act| matches!(act, EngineAction::Call { .. }));
    assert!(calls[1].since(calls[0]) >= world.policy.round_wait, "not at once: {calls:?}");
}

fn live_question(server: &testkit::scripted::ScriptedServer, token: &str) -> LiveQuestion {
    LiveQuestion {
        connection: server.connection().expect("there is a connection"),
        token: token.into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_live_question_is_answered_on_its_connection() {
    let (world, server, id) = World::new().await;
    server.legacy();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    server.reply_task("work", "t1", vec![PollReply::Waits, PollReply::done()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live_question(&server, "r1")));
    world.until_phase(task, Phase::Waiting).await;
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_phase(task, Phase::Done).await;
    assert_eq!(server.answers().len(), 1, "one response left: {:?}", server.answers());
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_lost_connection_goes_out_when_the_question_comes_again() {
    let (world, server, id) = World::new().await;
    server.legacy();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    server.reply_task("work", "t1", vec![PollReply::Waits, PollReply::done()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live_question(&server, "r1")));
    world.until_phase(task, Phase::Waiting).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    world.pass(SECOND).await;
    world.accept(task, "ada").await.expect("the question stays open while the session may ask again");
    world.pass(60 * SECOND).await;
    assert!(server.answers().is_empty(), "there is no channel for it");
    server.refuse_connections(None);
    world.until_up(id).await;
    world.pass(60 * SECOND).await;
    assert!(server.answers().is_empty(), "the new connection has not asked yet");
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live_question(&server, "r9")));
    world.until_phase(task, Phase::Done).await;
    let answers = server.answers();
    assert_eq!(answers.len(), 1, "nobody was asked twice: {answers:?}");
    assert_eq!(answers[0].0, "r9", "it answers the question that is asked now");
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_can_answer_is_dismissed_at_once() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, live_question(&server, "r1")));
    world.pass(SECOND).await;
    assert_eq!(server.answers(), [("r1".to_owned(), AnswerAction::Dismiss, None)], "the server need not wait");
}

#[tokio::test(start_paused = true)]
async fn an_obeyed_stop_is_asked_acknowledged_and_stopped() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    world.engine.cancel(task, person("ada"), Some("too slow".into())).await.expect("the stop is recorded");
    assert_eq!(world.phase(task).await, Phase::Cancelling, "the wish shows at once");
    let handle = world.until_phase(task, Phase::Cancelled).await;
    assert_eq!(handle.stop_state(), Some(CancelState::Stopped));
    let again = world.engine.cancel(task, person("bob"), None).await;
    assert!(matches!(again, Err(EngineError::Refused(Refusal::AlreadyOver(_)))), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn an_act_of_a_person_earns_a_poll_after_a_second_and_after_five_whatever_the_hint() {
    let (world, server, id) = World::new().await;
    server.on_cancel(OnCancel::Ignore);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 3_600 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(20 * SECOND).await;
    server.clear_acts();
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.pass(30 * SECOND).await;
    let acknowledged = server.times(|act| matches!(act, EngineAction::Cancel { .. }))[0];
    let after: Vec<u64> = server.reads("t1").iter().map(|at| at.since(acknowledged).as_secs()).collect();
    assert_eq!(after, [1, 5], "two polls, and then the hint counts again");
    server.clear_acts();
    world.engine.poll_soon(task);
    server.becomes("t1", PollReply::Cancelled);
    world.pass(30 * SECOND).await;
    assert_eq!(server.reads("t1").len(), 1, "polled after a second, and over");
    assert_eq!(world.phase(task).await, Phase::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_person_earns_the_same_two_polls() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"])]);
    server.hint("t1", 3_600 * SECOND);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    server.clear_acts();
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_true("sent", || !server.answers().is_empty()).await;
    let sent = server.times(|act| matches!(act, EngineAction::Answer { .. }))[0];
    world.pass(30 * SECOND).await;
    let after: Vec<u64> = server.reads("t1").iter().map(|at| at.since(sent).as_secs()).collect();
    assert_eq!(after, [1, 5]);
}

#[tokio::test(start_paused = true)]
async fn polls_that_are_earned_while_there_is_no_connection_are_not_tried_in_a_circle() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    world.until_phase(task, Phase::Silent).await;
    server.clear_acts();
    for _ in 0..10 {
        world.engine.poll_soon(task);
    }
    // A circle would let no time pass: this would never return.
    world.pass(20 * SECOND).await;
    assert!(server.reads("t1").is_empty(), "there is nobody to ask");
    assert_eq!(world.phase(task).await, Phase::Silent);
    server.refuse_connections(None);
    world.until_phase(task, Phase::Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_is_not_obeyed_is_told_and_may_end_as_finished_anyway() {
    let (world, server, id) = World::new().await;
    server.on_cancel(OnCancel::Ignore);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    let acknowledged = |handle: &domain::task::TaskHandle| handle.stop_state() == Some(CancelState::Acknowledged);
    world.until(task, "acknowledged", acknowledged).await;
    world.pass(120 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Cancelling, "an acknowledgement is not obedience");
    let problems = world.notifier.told().into_iter().filter(|n| n.attention == domain::task::Attention::Problem);
    assert_eq!(problems.count(), 1, "that it goes on is told once");
    server.becomes("t1", PollReply::done());
    let handle = world.until_phase(task, Phase::Done).await;
    assert_eq!(handle.stop_state(), Some(CancelState::FinishedAnyway));
    assert_eq!(server.times(|act| matches!(act, EngineAction::Cancel(_))).len(), 1, "one stop is enough");
}

#[tokio::test(start_paused = true)]
async fn a_stop_the_server_cannot_do_is_refused_in_plain_words() {
    let (world, server, id) = World::new().await;
    server.on_cancel(OnCancel::Fail(UpstreamError::Unsupported("cancel tasks")));
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    let refused = |handle: &domain::task::TaskHandle| handle.stop_state() == Some(CancelState::Refused);
    world.until(task, "refused", refused).await;
    assert_eq!(world.phase(task).await, Phase::Running, "it goes on, and that is what is shown");
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_was_overtaken_by_the_end_raises_no_alarm() {
    let (world, server, id) = World::new().await;
    server.on_cancel(OnCancel::Fail(UpstreamError::UnknownTask));
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(6 * SECOND).await;
    server.becomes("t1", PollReply::done());
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.until_phase(task, Phase::Done).await;
    let told = world.notifier.told();
    assert!(told.iter().all(|n| n.attention == domain::task::Attention::Finished), "no alarm: {told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_sent_when_the_server_comes_back() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(hung_up());
    world.pass(SECOND).await;
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.pass(600 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Cancelling);
    server.refuse_connections(None);
    world.until_phase(task, Phase::Cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn a_stopped_plain_call_that_never_replies_is_unconfirmed_after_the_grace() {
    let (world, server, id) = World::new().await;
    server.reply(
        "slow",
        Duration::from_secs(100_000),
        Ok(CallReply::Result { payload: payload("1"), is_error: false }),
    );
    let task = world.call(id, "slow").await;
    world.pass(5 * SECOND).await;
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    let handle = world.until_phase(task, Phase::Unconfirmed).await;
    assert!(matches!(handle.view, ServerView::Unanswered { .. }), "{:?}", handle.view);
    assert_eq!(server.times(|act| matches!(act, EngineAction::CancelCall(_))).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_between_two_rounds_is_stopped_without_asking_the_server() {
    let (world, server, id) = World::new().await;
    let one = [(RequestKey::new("a"), form())];
    server.reply("tidy", Duration::ZERO, Ok(asks(one.into(), None)));
    let task = world.call(id, "tidy").await;
    world.until_phase(task, Phase::Waiting).await;
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.until_phase(task, Phase::Cancelled).await;
    assert_eq!(server.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1, "nothing more was sent");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_stops_are_sent_within_a_second() {
    let (world, server, id) = World::new().await;
    let mut tasks = Vec::new();
    for number in 0..1_000 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        tasks.push(world.call(id, "work").await);
    }
    world.pass(5 * SECOND).await;
    server.takes(Duration::from_millis(5));
    let begun = world.now();
    let stops = tasks.iter().map(|task| world.engine.cancel(*task, person("ada"), None));
    for stopped in futures::future::join_all(stops).await {
        stopped.expect("the stop is recorded");
    }
    world.until_true("sent", || server.times(|act| matches!(act, EngineAction::Cancel(_))).len() == 1_000).await;
    let took = world.now().since(begun);
    assert!(took < SECOND, "16 at a time, 5 ms each: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn one_server_that_is_down_does_not_hold_up_the_stops_of_another() {
    let policy = domain::policy::Policy { batch_rows: 10, ..Default::default() };
    let (world, down, id) = World::with(testkit::build::http_server(1, "down"), policy).await;
    let fine = testkit::scripted::ScriptedServer::new(world.clock.clone());
    let other = testkit::build::http_server(2, "fine");
    world.scripted.serve(other.id, &fine);
    let unit = domain::ports::ServerUnit { server: other.clone(), audit: Vec::new() };
    world.registry.put_server(unit).await.expect("a server is added");
    world.engine.server_changed(other.id).await.expect("it is followed");
    for number in 0..50 {
        down.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        let task = world.call(id, "work").await;
        world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
        if number == 0 {
            down.refuse_connections(Some(unreachable()));
        }
    }
    down.close_connection(hung_up());
    fine.reply_task("work", "f", vec![PollReply::working()]);
    let task = world.call(other.id, "work").await;
    let begun = world.now();
    world.engine.cancel(task, person("ada"), None).await.expect("the stop is recorded");
    world.until_phase(task, Phase::Cancelled).await;
    assert!(world.now().since(begun) < SECOND, "what cannot go does not hide what can");
}
