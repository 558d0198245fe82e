//! Tools: listing, mirrored parameters, checking arguments.

use domain::ports::{ArgumentError, CallReply, UpstreamError};

use super::*;

fn annotated(header: &str) -> Value {
    json!({"tools": [{"name": "dig", "inputSchema": {"type": "object", "properties": {
        "place": {"type": "string", "x-mcp-header": header}}}}]})
}

#[tokio::test(start_paused = true)]
async fn refused_headers_are_made_anew_once_from_a_fresh_list() {
    let mut lists = 0;
    let rig = Rig::modern(move |sent| match &*sent.method {
        "tools/list" => {
            lists += 1;
            Reply::Result(annotated(if lists == 1 { "Old" } else { "New" }))
        }
        _ if sent.param_headers == [("New".to_owned(), "attic".to_owned())] => Reply::Result(json!({"content": []})),
        _ => error(-32020, "header mismatch"),
    });
    let reply = rig.upstream.call(call(1, "dig", "{\"place\":\"attic\"}")).await.expect("a reply");
    assert!(matches!(reply, CallReply::Result { .. }), "the second try fits: {reply:?}");
    assert_eq!((rig.link.count("tools/list"), rig.link.count("tools/call")), (2, 2), "once");
}

#[tokio::test(start_paused = true)]
async fn headers_refused_twice_are_the_servers_word() {
    let rig = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(annotated("Place")),
        _ => error(-32020, "header mismatch"),
    });
    let reply = rig.upstream.call(call(1, "dig", "{}")).await.expect("a reply");
    assert!(matches!(reply, CallReply::Error { .. }), "told as it is");
    assert_eq!(rig.link.count("tools/call"), 2, "never a third time");
}

#[tokio::test(start_paused = true)]
async fn tools_with_annotations_that_cannot_be_kept_are_hidden_over_modern_http_only() {
    let listed = || {
        json!({"tools": [
        {"name": "bad", "inputSchema": {"type": "object", "x-mcp-header": "Root"}}, {"name": "good"}, {"title": "nameless"}]})
    };
    for (era, version, hello, over_http, seen) in [
        (Era::Modern, MODERN, modern_hello(), true, vec!["good"]),
        (Era::Modern, MODERN, modern_hello(), false, vec!["bad", "good"]),
        (Era::Legacy, LEGACY, legacy_hello(), true, vec!["bad", "good"]),
    ] {
        let rig = Rig::new(era, version, &hello, over_http, move |_| Reply::Result(listed()));
        let names: Vec<String> = rig.upstream.tools().await.expect("tools").into_iter().map(|t| t.name).collect();
        assert_eq!(names, seen, "{era:?} over_http {over_http}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_is_read_page_by_page_and_a_cursor_that_never_ends_is_cut() {
    let rig = Rig::legacy(|sent| match sent.params["cursor"].as_str() {
        None => Reply::Result(json!({"tools": [{"name": "a"}], "nextCursor": "2"})),
        Some(_) => Reply::Result(json!({"tools": [{"name": "b"}], "nextCursor": "2"})),
    });
    let names: Vec<String> = rig.upstream.tools().await.expect("tools").into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["a", "b"], "until the cursor repeats");

    let mut page = 0;
    let endless = Rig::legacy(move |_| {
        page += 1;
        Reply::Result(json!({"tools": [], "nextCursor": page.to_string()}))
    });
    assert_eq!(endless.upstream.tools().await.expect("tools").len(), 0, "nothing was listed");
    assert_eq!(endless.link.count("tools/list"), Policy::default().list_pages_max, "and it ends");
}

#[tokio::test(start_paused = true)]
async fn arguments_are_checked_against_the_list_and_once_more_against_a_fresh_one() {
    let mut lists = 0;
    let rig = Rig::legacy(move |_| {
        lists += 1;
        let kind = if lists == 1 { "integer" } else { "string" };
        Reply::Result(json!({"tools": [{"name": "dig", "inputSchema": {"type": "object",
            "properties": {"depth": {"type": kind}}}}]}))
    });
    let check = |tool: &'static str, text: &'static str| rig.upstream.check_arguments(tool.into(), Payload::new(text));
    assert_eq!(check("dig", "{\"depth\": 1}").await, Ok(()), "fits the first list");
    assert_eq!(check("dig", "{\"depth\": \"deep\"}").await, Ok(()), "fits the second, read before saying no");
    let broken = check("dig", "{\"depth\": 4711}").await;
    let expected = ArgumentError::BreaksSchema { path: "/depth".into(), why: "must be of type string".into() };
    assert_eq!(broken, Err(expected), "the place and the rule, not the value");
    let unknown = check("dog", "{}").await;
    assert_eq!(
        unknown,
        Err(ArgumentError::UnknownTool { tool: "dog".into(), known: vec!["dig".into()] }),
        "with what there is"
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_told_and_read_again() {
    let mut rig = Rig::legacy(|_| Reply::Result(json!({"tools": []})));
    rig.upstream.check_arguments("x".into(), Payload::new("{}")).await.expect_err("no such tool");
    rig.notifies("notifications/tools/list_changed", Value::Null).await;
    assert_eq!(rig.heard().await, UpstreamEvent::ToolsChanged, "told, also without params");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tools_says_so_and_a_task_in_reply_to_a_list_is_refused() {
    let without = Rig::legacy(|_| error(-32601, "Method not found"));
    assert_eq!(without.upstream.tools().await, Err(UpstreamError::Unsupported("list its tools")), "in plain words");
    let checked = without.upstream.check_arguments("x".into(), Payload::new("{}")).await;
    assert_eq!(checked, Ok(()), "the server decides then");
    let odd = Rig::modern(|_| Reply::Result(json!({"resultType": "task", "taskId": "t", "status": "working"})));
    let refused = odd.upstream.tools().await;
    assert!(matches!(refused, Err(UpstreamError::Unreadable { .. })), "statement 16: {refused:?}");
}
