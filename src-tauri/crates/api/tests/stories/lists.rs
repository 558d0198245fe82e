//! The task list of the window: pages by place, groups by name, and stopping what a filter finds.

use std::time::Duration;

use api::Code;
use api::dto::{ListQuery, TaskFigures};
use api::feed::frame::SubscribeInput;
use serde_json::{Value, json};
use testkit::scripted::PollReply;

use crate::reader::Reader;
use crate::world::{World, descendant};

async fn seven(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for number in 0..7 {
        let (tool, look) = if number < 2 { ("index", PollReply::done()) } else { ("build", PollReply::working()) };
        world.server.reply_task(tool, &format!("t{number}"), vec![look]);
        all.insert(0, world.start(tool).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.until(&all[6], "done").await;
    world.until(&all[5], "done").await;
    world.until(&all[0], "running").await;
    all
}

fn ids(page: &Value) -> Vec<String> {
    let rows = page["rows"].as_array().expect("rows");
    rows.iter().map(|row| row["id"].as_str().expect("a handle").to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn any_stretch_of_a_list_can_be_read_with_the_counts_of_the_whole() {
    let world = World::new().await;
    let all = seven(&world).await;
    let page = |offset: u64, group: Value, by: &str| json!({"query": {"groupBy": by}, "group": group, "offset": offset, "limit": 3});
    let first = world.call("tasks.page", page(0, json!(null), "none")).await;
    assert_eq!((ids(&first), &first["view"]["total"]), (all[..3].to_vec(), &json!(7)));
    assert_eq!(ids(&world.call("tasks.page", page(5, json!(null), "none")).await), all[5..], "the end");
    let done = world.call("tasks.page", page(0, json!("finished"), "need")).await;
    assert_eq!(ids(&done), all[5..], "only the group");
    assert_eq!(done["view"]["groups"], json!([{"group": "moving", "count": 5}, {"group": "finished", "count": 2}]));
    let server = world.call("tasks.page", page(0, json!("ci"), "server")).await;
    assert_eq!(server["view"]["groups"], json!([{"group": "ci", "count": 7}]), "servers by their name");
    assert_eq!(ids(&server), all[..3]);
}

#[tokio::test(start_paused = true)]
async fn a_filter_finds_by_text_tool_server_and_phase_and_a_strange_one_finds_nothing() {
    let world = World::new().await;
    let all = seven(&world).await;
    let find = async |query: Value| {
        let page = json!({"query": query, "group": null, "offset": 0, "limit": 100});
        ids(&world.call("tasks.page", page).await)
    };
    assert_eq!(find(json!({"text": "INDEX"})).await, all[5..], "a part of the tool's name in any case");
    assert_eq!(find(json!({"tools": ["build"], "sort": "oldest"})).await.len(), 5);
    assert_eq!(find(json!({"servers": ["ci"], "phases": ["done"]})).await, all[5..]);
    assert_eq!(find(json!({"servers": ["gone"]})).await.len(), 0, "a saved view may outlive its server");
    assert_eq!(find(json!({"agents": ["nobody"]})).await.len(), 0);
    assert_eq!(find(json!({"olderThanMs": 3_600_000})).await.len(), 0);
    let odd = json!({"query": {"phases": ["asleep"]}, "group": null, "offset": 0, "limit": 1});
    assert_eq!(world.try_call("tasks.page", odd).await.expect_err("no such phase").code, Code::Usage);
}

#[tokio::test(start_paused = true)]
async fn a_filter_stops_all_open_tasks_it_finds_and_no_others() {
    let world = World::new().await;
    let all = seven(&world).await;
    let query = json!({"tools": ["build"]});
    let list = world.call("tasks.cancel", json!({"ids": [all[0]], "query": query, "wait": false})).await;
    let stops = list["stops"].as_array().expect("a list");
    assert_eq!(stops.len(), 5, "each once, also the one that was named besides: {list:#}");
    assert!(stops.iter().all(|stop| stop["task"]["tool"] == "build"), "{list:#}");
    world.until(&all[4], "cancelled").await;
    assert_eq!(world.call("tasks.show", json!({"id": all[6]})).await["phase"], "done", "what is over stays");
}

#[tokio::test(start_paused = true)]
async fn a_hidden_task_is_in_no_list_and_no_figure_until_it_is_shown_again() {
    let world = World::new().await;
    let all = seven(&world).await;
    let query: ListQuery = serde_json::from_value(json!({})).expect("every task");
    let mut reader = Reader::open(&world, SubscribeInput { query: Some(query), ..SubscribeInput::default() }).await;
    let page = async |query: Value| {
        world.call("tasks.page", json!({"query": query, "group": null, "offset": 0, "limit": 100})).await
    };

    let running = world.call("tasks.hide", json!({"ids": [all[0]]})).await;
    assert_eq!(running, json!({"ids": [], "kept": 1}), "what still runs stays in the list");
    let hidden = world.call("tasks.hide", json!({"query": {"tools": ["index", "build"]}})).await;
    assert_eq!((hidden["ids"].as_array().map(Vec::len), &hidden["kept"]), (Some(2), &json!(5)), "{hidden:#}");
    let left = page(json!({})).await;
    assert_eq!(ids(&left), all[..5], "hidden tasks are left out");
    assert_eq!(
        (&left["view"]["total"], &left["view"]["all"], &left["view"]["hidden"]),
        (&json!(5), &json!(5), &json!(2))
    );
    assert_eq!(ids(&page(json!({"flags": ["hidden"]})).await), all[5..], "and are a list of their own");
    assert_eq!(ids(&page(json!({"text": all[6]})).await), Vec::<String>::new(), "an id does not find it");
    let counts = world.call("tasks.counts", json!({"queries": [{}, {"flags": ["hidden"]}]})).await;
    assert_eq!(counts["counts"], json!([5, 2]), "views are counted as they are listed");
    reader
        .until("every figure leaves them out", |now| {
            let (figures, server) = (now.totals.figures, now.servers["ci"].figures);
            let counted = |figures: TaskFigures| (figures.all, figures.finished, figures.hidden);
            counted(figures) == (5, 0, 2)
                && counted(server) == (5, 0, 2)
                && now.view.as_ref().is_some_and(|view| (view.total, view.hidden) == (5, 2))
        })
        .await;
    let shown = world.call("tasks.show", json!({"id": all[6]})).await;
    assert_eq!(shown["phase"], "done", "its id still opens it");

    let back = world.call("tasks.unhide", json!({"ids": [all[6]]})).await;
    assert_eq!(back["ids"], json!([all[6]]));
    assert_eq!(page(json!({})).await["view"]["hidden"], json!(1));
    world.call("tasks.unhide", json!({"query": {}})).await;
    assert_eq!(ids(&page(json!({})).await), all, "all are shown again");
    reader.until("and counted", |now| (now.totals.figures.all, now.totals.figures.hidden) == (7, 0)).await;
    let unknown = world.try_call("tasks.hide", json!({"ids": ["hdl_zzzzzz"]})).await;
    assert_eq!(unknown.expect_err("there is no such task").code, Code::NotFound);
    let refused = world.api.dispatch(&descendant(), "tasks.hide", &json!({"query": {}}).to_string()).await;
    assert_eq!(refused.expect_err("a server's child hides nothing").code, Code::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_by_what_it_says_and_shows_the_first_line_of_its_result() {
    let world = World::new().await;
    let result = r#"{"content":[{"type":"text","text":"\nQuarterly report of the Caf\u00e9\n14 pages"}]}"#;
    world.server.reply_task("render", "t1", vec![PollReply::Completed(result.into())]);
    let done = world.start("render").await;
    world.until(&done, "done").await;
    world.server.reply_task("build", "t2", vec![PollReply::says("compiling the kernel")]);
    let works = world.start("build").await;
    world.until(&works, "running").await;
    let find = async |text: &str| {
        let page = json!({"query": {"text": text}, "group": null, "offset": 0, "limit": 100});
        world.call("tasks.page", page).await
    };
    // The index is built in the background, from the first list on.
    let mut found = find("café").await;
    for _ in 0..100 {
        if found["view"]["text"]["reading"] == false {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        found = find("café").await;
    }
    assert_eq!(found["view"]["text"], json!({"backTo": null, "reading": false, "more": false}), "all is searched");
    assert_eq!(ids(&found), std::slice::from_ref(&done), "by its result, in any case");
    assert_eq!(found["rows"][0]["says"], "Quarterly report of the Café", "its first line with words");
    // What changes enters the index a moment later.
    let mut said = find("the KERNEL").await;
    for _ in 0..100 {
        if !ids(&said).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        said = find("the KERNEL").await;
    }
    assert_eq!(ids(&said), [works], "by what its server says now");
    assert_eq!(ids(&find("nobody said this").await).len(), 0);
    let listed = world.call("tasks.list", json!({})).await;
    assert_eq!(listed["tasks"][1]["says"], "Quarterly report of the Café", "the command line shows the same");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_sorted_by_a_column_and_turned_round() {
    let world = World::new().await;
    let all = seven(&world).await;
    let sorted = async |sort: &str, reversed: bool, offset: u64| {
        let query = json!({"groupBy": "none", "sort": sort, "reversed": reversed});
        ids(&world.call("tasks.page", json!({"query": query, "group": null, "offset": offset, "limit": 4})).await)
    };
    assert_eq!(sorted("task", false, 0).await, all[..4], "build before index, the newest first");
    assert_eq!(sorted("task", false, 4).await, all[4..], "and on behind the first page");
    assert_eq!(sorted("task", true, 0).await, [&all[5..], &all[..2]].concat(), "turned round");
    assert_eq!(sorted("agent", true, 0).await, all[..4], "nobody's tasks are equal");
}
