//! What an open window is told, and what it is spared.

use std::time::Duration;

use api::Code;
use api::dto::ListQuery;
use api::feed::frame::{FeedFrame, SubscribeInput};
use domain::ids::RequestKey;
use domain::ports::{CallReply, Clock as _, UpstreamError, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{Ask, LiveQuestion};
use serde_json::json;
use testkit::build::http_server;
use testkit::scripted::{PollReply, form, hung_up, killed, payload};

use crate::reader::Reader;
use crate::world::{World, descendant};

fn plain() -> SubscribeInput {
    SubscribeInput::default()
}

async fn waiting(world: &World, tool: &str, task: &str) -> String {
    world.server.reply_task(tool, task, vec![PollReply::asks(&["go"]), PollReply::done()]);
    let id = world.start(tool).await;
    world.until(&id, "waiting").await;
    id
}

#[tokio::test(start_paused = true)]
async fn a_window_gets_everything_once_and_then_what_changed() {
    let world = World::new().await;
    let id = waiting(&world, "tidy", "t1").await;
    let mut reader = Reader::open(&world, plain()).await;
    assert!(reader.servers.contains_key("ci"), "the servers: {:?}", reader.servers.keys());
    assert_eq!((reader.totals.figures.all, reader.totals.figures.open), (1, 1), "the totals");
    assert_eq!(reader.totals.by_group["needsYou"], 1, "by who has to act: {:?}", reader.totals);
    let row = &reader.inbox[&format!("{id}/go")];
    assert_eq!((row.kind.as_str(), row.server.as_str(), row.tool.as_deref()), ("form", "ci", Some("tidy")));
    assert_eq!((row.message.as_deref(), row.answered_by.as_deref()), (Some("Go on?"), None));

    world.server.reply_task("build", "t2", vec![PollReply::working()]);
    world.start("build").await;
    reader
        .until("both tasks are counted", |now| {
            now.totals.figures.all == 2 && now.totals.by_phase.contains_key("running")
        })
        .await;
    assert_eq!(reader.servers["ci"].open_tasks, 2, "the server's count follows");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_several_calls_is_destructive_when_one_of_them_may_destroy_something() {
    let world = World::new().await;
    world.server.legacy();
    world.server.close_connection(hung_up());
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.server.list_destructive("wipe");
    world.engine.tools(http_server(1, "ci").id).await.expect("it lists its tools");
    let mut calls = Vec::new();
    for tool in ["read", "wipe"] {
        let done = CallReply::Result { payload: payload("{}"), is_error: false };
        world.server.reply(tool, Duration::from_secs(600), Ok(done));
        calls.push(world.start(tool).await);
    }
    let question = LiveQuestion {
        connection: world.server.connection().expect("there is a connection"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    world.server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question));
    let mut reader = Reader::open(&world, plain()).await;
    reader.until("the question is in the inbox", |now| !now.inbox.is_empty()).await;
    let row = reader.inbox.values().next().expect("one question");
    assert_eq!(row.task.as_ref(), calls.first(), "the harmless call stores it");
    assert_eq!((row.one_of.len(), row.tool.as_deref()), (2, None), "none of the two calls is named");
    assert!(row.destructive, "the other call may be the one that goes on");
}

#[tokio::test(start_paused = true)]
async fn many_changes_become_few_frames_and_none_is_lost() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, plain()).await;
    for number in 0..60 {
        world.server.reply_task("build", &format!("t{number}"), vec![PollReply::working()]);
    }
    for _ in 0..60 {
        world.start("build").await;
    }
    reader.until("all are counted", |now| now.totals.by_phase.get("running") == Some(&60)).await;
    assert!(reader.changes >= 60, "each of them was told: {}", reader.changes);
    assert!(reader.came.len() < 60, "in fewer frames than changes: {}", reader.came.len());
    let pace = world.policy.feed_frame;
    for pair in reader.came.windows(2) {
        assert!(pair[1] - pair[0] >= pace, "two frames come no closer than {pace:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_is_on_screen_is_told_row_by_row() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::says("one"), PollReply::says("two"), PollReply::done()]);
    world.server.reply_task("other", "t2", vec![PollReply::says("x"), PollReply::says("y"), PollReply::done()]);
    let (seen, other) = (world.start("build").await, world.start("other").await);
    let input = SubscribeInput { ids: vec![seen.clone()], visible: true, ..plain() };
    let mut reader = Reader::open(&world, input).await;
    reader.until("it is done", |now| now.rows.get(&seen).is_some_and(|row| row.phase == "done")).await;
    reader.until("the other is done too", |now| now.totals.by_phase.get("done") == Some(&2)).await;
    assert!(!reader.rows.contains_key(&other), "the other one is not on screen");
    let row = &reader.rows[&seen];
    assert!(row.over && row.ended_at.is_some() && row.result_bytes.is_some(), "{row:?}");
}

#[tokio::test(start_paused = true)]
async fn changing_what_is_watched_brings_its_rows_its_counts_and_its_task() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let mut reader = Reader::open(&world, plain()).await;
    assert!(reader.view.is_none() && reader.task.is_none(), "nothing is watched yet");
    let query = json!({"phases": ["running"], "groupBy": "server"});
    let focus = json!({"feed": reader.feed, "query": query, "ids": [id], "task": id, "visible": true});
    world.call("feed.focus", focus).await;
    reader.until("the view is there", |now| now.view.is_some()).await;
    let view = reader.view.as_ref().expect("a view");
    assert_eq!((view.total, view.groups[0].group.as_str(), view.groups[0].count), (1, "ci", 1));
    assert!(reader.rows.contains_key(&id), "a row that comes on screen is told anew");
    let task = reader.task.as_ref().expect("the task");
    assert_eq!((task.id.as_str(), task.started_by.as_deref()), (id.as_str(), Some("ada")));
    assert!(world.api.is_on_screen(id.parse().expect("a handle")), "a notice of it is not needed");

    let heard = task.last_seen_at.clone();
    reader.until("it was heard of again", |now| now.task.as_ref().is_some_and(|task| task.last_seen_at != heard)).await;
    let strange = json!({"feed": "feed-99", "query": null, "ids": [], "task": null, "visible": true});
    assert_eq!(world.try_call("feed.focus", strange).await.expect_err("no such feed").code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn an_answered_question_is_struck_out_for_a_moment_and_goes() {
    let world = World::new().await;
    let id = waiting(&world, "tidy", "t1").await;
    let row = format!("{id}/go");
    let mut reader = Reader::open(&world, plain()).await;
    world.call("tasks.answer", json!({"id": id, "action": "accept", "content": {"name": "Dana"}})).await;
    reader.until("it is struck out", |now| now.inbox[&row].answered_by.as_deref() == Some("ada")).await;
    let struck = *reader.came.last().expect("a frame");
    reader.until("it is gone", |now| now.inbox.is_empty()).await;
    let shown = *reader.came.last().expect("a frame") - struck;
    let (least, most) = (world.policy.asking.answered_shown, world.policy.asking.answered_shown * 2);
    assert!(shown >= least && shown < most, "it was shown for {shown:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_held_back_can_be_undone_and_asks_again() {
    let world = World::new().await;
    let id = waiting(&world, "tidy", "t1").await;
    let row = format!("{id}/go");
    let mut reader = Reader::open(&world, plain()).await;
    let begun = tokio::time::Instant::now();
    let held = json!({"id": id, "action": "accept", "content": {"name": "Dana"}, "hold": true});
    let given = world.call("tasks.answer", held.clone()).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "it returns at once");
    assert!(given["request"]["answer"]["notBefore"].is_string(), "and says until when: {given:#}");
    reader.until("it is struck out", |now| now.inbox[&row].answered_by.is_some()).await;
    world.call("tasks.undoAnswer", json!({"id": id, "key": "go"})).await;
    reader.until("it asks again", |now| now.inbox[&row].answered_by.is_none()).await;
    assert!(world.server.answers().is_empty(), "nothing left the machine");

    world.call("tasks.answer", held).await;
    world.until(&id, "done").await;
    assert_eq!(world.server.answers().len(), 1, "after its time it goes by itself");
    let late = world.try_call("tasks.undoAnswer", json!({"id": id, "key": "go"})).await.expect_err("it was sent");
    assert_eq!(late.code, Code::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_lost_task_waits_in_the_inbox_until_a_person_marks_it_resolved() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let mut reader = Reader::open(&world, plain()).await;
    world.server.forget("t1");
    let row = format!("{id}/lost");
    reader.until("it is in the inbox", |now| now.inbox.contains_key(&row)).await;
    let again = Reader::open(&world, plain()).await;
    assert!(again.inbox.contains_key(&row), "also in a window that is opened later");
    let resolved = world.call("tasks.unwatch", json!({"id": id, "note": "seen in the log of the server"})).await;
    assert_eq!(resolved["phase"], "unwatched");
    reader.until("it is gone", |now| now.inbox.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_needs_sign_in_is_one_row_however_many_tasks_it_has() {
    let world = World::new().await;
    for task in ["t1", "t2"] {
        world.server.reply_task("build", task, vec![PollReply::working()]);
    }
    let first = world.start("build").await;
    world.start("build").await;
    world.until(&first, "running").await;
    let mut reader = Reader::open(&world, plain()).await;
    let sign_in = || UpstreamError::Unauthorized { why: "the token is over".into(), hint: "Sign in again.".into() };
    world.server.refuse_connections(Some(sign_in()));
    world.server.close_connection(killed());
    reader.until("the server waits", |now| now.inbox.contains_key("ci/blocked")).await;
    assert_eq!(reader.servers["ci"].health.kind, "blocked");
    tokio::time::sleep(Duration::from_secs(120)).await;
    reader.until("one row stands for all", |now| now.inbox.len() == 1).await;
    world.call("servers.remove", json!({"name": "ci", "evenWithOpenTasks": true})).await;
    reader.until("the server is gone", |now| now.servers.is_empty() && !now.inbox.contains_key("ci/blocked")).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_put_off_sleeps_in_every_window() {
    let world = World::new().await;
    let id = waiting(&world, "tidy", "t1").await;
    let row = format!("{id}/go");
    let mut one = Reader::open(&world, plain()).await;
    let mut two = Reader::open(&world, plain()).await;
    let until = world.clock.now().plus(Duration::from_secs(600)).to_string();
    world.call("desk.put", json!({"kind": "snooze", "key": row, "value": {"until": until}})).await;
    for reader in [&mut one, &mut two] {
        reader.until("it sleeps", |now| now.inbox[&row].snoozed_until.as_ref() == Some(&until)).await;
    }
    let late = Reader::open(&world, plain()).await;
    assert_eq!(late.inbox[&row].snoozed_until.as_ref(), Some(&until), "also in a window that is opened later");
    world.call("desk.put", json!({"kind": "snooze", "key": row, "value": null})).await;
    one.until("it is awake", |now| now.inbox[&row].snoozed_until.is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn settings_and_saved_views_reach_every_window() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, plain()).await;
    world.call("settings.change", json!({"quietFrom": "22:00", "quietTo": "07:30"})).await;
    reader.until("the settings are there", |now| now.settings.quiet_from.as_deref() == Some("22:00")).await;
    world.call("desk.put", json!({"kind": "view", "key": "Mine", "value": {"phases": ["waiting"]}})).await;
    reader.until("the view is there", |now| now.views == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_shown_once_it_is_near() {
    let world = World::new().await;
    world.server.reply_task("tidy", "t1", vec![PollReply::asks(&["go"])]);
    world.server.ttl("t1", world.policy.asking.deadline_near + Duration::from_secs(600));
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    let row = format!("{id}/go");
    let mut reader = Reader::open(&world, plain()).await;
    assert_eq!(reader.inbox[&row].deadline, None, "more than a day is no hurry");
    reader.until("the deadline is near", |now| now.inbox[&row].deadline.is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn a_link_shows_its_host_and_what_nobody_here_can_answer_is_not_asked() {
    let world = World::new().await;
    let asks = PollReply::Asks(
        [
            (RequestKey::new("model"), Ask::Sampling),
            (
                RequestKey::new("page"),
                Ask::Visit {
                    message: "Sign in".into(),
                    url: "https://xn--bcher-kva.example/in".into(),
                    elicitation: None,
                },
            ),
        ]
        .into(),
    );
    world.server.reply_task("tidy", "t1", vec![asks]);
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    let reader = Reader::open(&world, SubscribeInput { task: Some(id.clone()), ..plain() }).await;
    assert!(!reader.inbox.contains_key(&format!("{id}/model")), "no person can be a model: {:?}", reader.inbox);
    let link = &reader.inbox[&format!("{id}/page")];
    assert_eq!((link.kind.as_str(), link.host.as_deref()), ("url", Some("bücher.example")));
    let task = reader.task.as_ref().expect("it is watched");
    let page = task.requests.iter().find(|request| request.key == "page").expect("the link");
    assert_eq!(page.host_ascii.as_deref(), Some("xn--bcher-kva.example"), "both forms stand side by side");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_fell_behind_is_told_to_begin_anew() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, plain()).await;
    world.server.reply_task("build", "t1", vec![PollReply::says("one"), PollReply::says("two"), PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    world.registry.prune(world.clock.now().plus(Duration::from_secs(1))).await.expect("old changes are removed");
    assert!(matches!(reader.take().await, Some(FeedFrame::Resync { .. })), "it is told why nothing fits any more");
    assert!(reader.take().await.is_none(), "and nothing follows");
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many_feeds_and_a_closed_one_leaves_at_once() {
    let world = World::new().await;
    let mut open = Vec::new();
    for _ in 0..world.policy.asking.feeds_max {
        open.push(Reader::open(&world, plain()).await);
    }
    let full = world.api.open_feed(&world.caller, plain()).await.map(|_| ()).expect_err("all places are taken");
    assert_eq!(full.code, Code::Refused);
    open.pop();
    open.push(Reader::open(&world, plain()).await);
    let many = SubscribeInput { ids: vec!["x".into(); world.policy.asking.feed_rows_max + 1], ..plain() };
    let many = world.api.open_feed(&world.caller, many).await.map(|_| ()).expect_err("too many rows");
    assert_eq!(many.code, Code::Usage);
    let query = Some(ListQuery { phases: vec!["sleeping".into()], ..ListQuery::default() });
    let odd = world.api.open_feed(&world.caller, SubscribeInput { query, ..plain() }).await;
    assert_eq!(odd.map(|_| ()).expect_err("no such phase").code, Code::Usage);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_starts_gets_no_feed_and_cannot_pretend_that_a_question_is_on_screen() {
    let world = World::new().await;
    let id = waiting(&world, "tidy", "t1").await;
    let input = SubscribeInput { task: Some(id.clone()), visible: true, ..plain() };
    let refused = world.api.open_feed(&descendant(), input.clone()).await.map(|_| ()).expect_err("tasks of others");
    assert_eq!(refused.code, Code::Refused);
    let handle = id.parse().expect("a handle");
    assert!(!world.api.is_on_screen(handle), "the desktop still tells a person");
    let _person = Reader::open(&world, input).await;
    assert!(world.api.is_on_screen(handle), "a person's own window does count");
}

#[tokio::test(start_paused = true)]
async fn the_feed_ends_with_the_core() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, plain()).await;
    world.stop().await;
    while let Some(frame) = reader.take().await {
        assert!(matches!(frame, FeedFrame::Delta(_)), "the last changes may still come: {frame:?}");
    }
}
