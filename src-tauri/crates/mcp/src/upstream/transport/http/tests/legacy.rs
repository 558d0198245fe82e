//! The sessions of the older eras over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use domain::server::Era;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::peer::{
    LIMIT, Peer, Seen, Step, ask, discover_result, error, event, initialize_result, no_method, result, status, stream,
    text,
};
use crate::upstream::transport::link::{InboundMessage, LinkError, OpenedLink, RequestTag, Response};

/// A server with sessions that answers everything else with `then`.
async fn legacy(then: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Peer {
    Peer::new(move |seen| match seen.rpc() {
        "server/discover" => no_method(seen),
        "initialize" => initialize_result(seen, Some("s-1"), "2025-11-25"),
        "notifications/initialized" => status(202),
        _ => then(seen),
    })
    .await
}

async fn next(opened: &mut OpenedLink) -> InboundMessage {
    timeout(LIMIT, opened.inbound.next()).await.expect("in time").expect("not the end")
}

fn hanging(text: &str) -> Vec<Step> {
    let mut steps = stream(text);
    steps.push(Step::Hang);
    steps
}

#[tokio::test]
async fn a_session_is_echoed_with_its_version_and_its_stream_is_kept_open() {
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => hanging(&event(&json!({"jsonrpc":"2.0","method":"notifications/tasks/status","params":{}}))),
        _ => result(seen, json!({"fine":1})),
    })
    .await;
    let mut opened = peer.open().await.expect("a server with sessions");
    assert_eq!((opened.era, opened.session.as_deref(), opened.resumed), (Era::Legacy, Some("s-1"), false));
    assert_eq!(text(opened.link.request(ask("tools/list", 1, Some(LIMIT))).await), r#"{"fine":1}"#);
    let item = next(&mut opened).await;
    assert!(matches!(&item, InboundMessage::Notification { on: None, .. }), "on the standing stream: {item:?}");
    let init = peer.seen("initialize").remove(0);
    assert_eq!((init.header("mcp-session-id"), init.header("mcp-protocol-version")), (None, None), "none yet");
    for rpc in ["notifications/initialized", "tools/list", "GET"] {
        let seen = peer.seen(rpc).remove(0);
        assert_eq!(seen.header("mcp-session-id"), Some("s-1"), "{rpc}");
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"), "{rpc}");
        assert_eq!(seen.header("mcp-method"), None, "a modern header: {rpc}");
    }
    assert!(peer.seen("tools/list")[0].body["params"].get("_meta").is_none(), "no modern metadata");
    assert_eq!(peer.seen("GET")[0].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn the_session_is_ended_only_when_no_tasks_live() {
    for tasks_live in [true, false] {
        let peer = legacy(|seen| if seen.rpc() == "GET" { status(405) } else { status(200) }).await;
        let mut opened = peer.open().await.expect("a server with sessions");
        opened.link.close(tasks_live).await;
        assert_eq!(peer.seen("DELETE").len(), usize::from(!tasks_live), "tasks live: {tasks_live}");
        assert!(matches!(next(&mut opened).await, InboundMessage::Closed(_)), "the link says that it is over");
        let answer = opened.link.request(ask("tools/list", 1, None)).await;
        assert!(matches!(answer, Err(LinkError::Broken { sent: false, .. })), "{answer:?}");
    }
}

#[tokio::test]
async fn a_lost_session_ends_the_link_once_with_its_reason() {
    for lost in [
        status(404),
        super::peer::reply(
            404,
            "application/json",
            "",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
    ] {
        let lost = Arc::new(parking_lot::Mutex::new(Some(lost)));
        let peer = legacy(move |seen| match seen.rpc() {
            "GET" => status(405),
            _ => lost.lock().take().unwrap_or_else(|| status(404)),
        })
        .await;
        let mut opened = peer.open().await.expect("a server with sessions");
        let answer = opened.link.request(ask("tools/call", 1, None)).await;
        assert!(matches!(answer, Err(LinkError::Broken { sent: false, .. })), "it did not run: {answer:?}");
        let InboundMessage::Closed(closure) = next(&mut opened).await else { panic!("the link is over") };
        assert_eq!(closure.why, "the server ended the session");
        assert!(!closure.process_ended, "nobody died");
    }
}

#[tokio::test]
async fn a_router_without_get_is_no_lost_session() {
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => status(404),
        _ => result(seen, json!({"fine":1})),
    })
    .await;
    let opened = peer.open().await.expect("a server with sessions");
    peer.until("the ping", |peer| peer.asked().contains(&"ping".into())).await;
    assert_eq!(text(opened.link.request(ask("tools/list", 1, Some(LIMIT))).await), r#"{"fine":1}"#, "the link lives");

    let peer = legacy(|_| status(404)).await;
    let mut opened = peer.open().await.expect("a server with sessions");
    let InboundMessage::Closed(closure) = next(&mut opened).await else { panic!("the session is gone") };
    assert_eq!(closure.why, "the server ended the session");
}

#[tokio::test]
async fn a_400_in_a_session_is_told_apart_by_one_ping() {
    // It says "no valid session" with 400, as some servers do.
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => status(405),
        _ => super::peer::reply(
            400,
            "application/json",
            "",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session"}}"#,
        ),
    })
    .await;
    let mut opened = peer.open().await.expect("a server with sessions");
    let answer = opened.link.request(ask("tasks/get", 1, Some(LIMIT))).await;
    assert!(matches!(answer, Err(LinkError::Broken { sent: false, .. })), "{answer:?}");
    assert!(matches!(next(&mut opened).await, InboundMessage::Closed(_)), "the session is gone");

    let peer = legacy(|seen| match seen.rpc() {
        "GET" => status(405),
        "ping" => result(seen, json!({})),
        _ => super::peer::reply(
            400,
            "application/json",
            "",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}"#,
        ),
    })
    .await;
    let opened = peer.open().await.expect("a server with sessions");
    let answer = opened.link.request(ask("tasks/get", 1, Some(LIMIT))).await;
    assert!(text(answer).contains("-32602"), "an error about the request");
}

#[tokio::test]
async fn an_unknown_method_with_404_is_an_answer_and_not_the_end() {
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => status(405),
        _ => error(seen, 404, json!({"code":-32601,"message":"no such method"})),
    })
    .await;
    let opened = peer.open().await.expect("a server with sessions");
    for tag in 0..2 {
        assert!(text(opened.link.request(ask("tasks/list", tag, Some(LIMIT))).await).contains("-32601"), "each time");
    }
}

#[tokio::test]
async fn questions_name_the_stream_on_which_they_came_and_are_answered_by_post() {
    let answered = CancellationToken::new();
    let told = answered.clone();
    let peer = legacy(move |seen| match seen.rpc() {
        "GET" => {
            hanging(&event(&json!({"jsonrpc":"2.0","id":"g","method":"elicitation/create","params":{"message":"b"}})))
        }
        "tools/call" => {
            let mut steps =
                stream(event(&json!({"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"a"}})));
            steps.push(Step::Until(told.clone().cancelled_owned().boxed()));
            steps.push(Step::Bytes(event(&json!({"jsonrpc":"2.0","id":seen.id(),"result":{"done":1}})).into_bytes()));
            steps
        }
        _ if seen.body["id"] == 0 && seen.body["result"]["action"] == "decline" => {
            told.cancel();
            status(202)
        }
        _ => status(202),
    })
    .await;
    let mut opened = peer.open().await.expect("a server with sessions");
    let link = opened.link.clone();
    let call = link.request(ask("tools/call", 8, None));
    let people = async {
        let mut tokens = Vec::new();
        for _ in 0..2 {
            let InboundMessage::Request { token, on, .. } = next(&mut opened).await else { panic!("two questions") };
            tokens.push((token, on));
        }
        tokens.sort_by(|one: &(String, Option<RequestTag>), other| one.0.cmp(&other.0));
        assert_eq!(tokens, [("\"g\"".into(), None), ("0".into(), Some(RequestTag(8)))], "each names its stream");
        let decline = || Response::Result(serde_json::value::to_raw_value(&json!({"action":"decline"})).expect("JSON"));
        link.respond("0", decline()).await.expect("accepted");
        let again = link.respond("0", decline()).await;
        assert!(matches!(again, Err(LinkError::Broken { sent: false, .. })), "exactly one answer: {again:?}");
    };
    let (answer, ()) = tokio::join!(call, people);
    assert_eq!(text(answer), r#"{"done":1}"#);
}

#[tokio::test]
async fn a_stream_that_the_server_closes_is_resumed_where_it_ended_after_the_time_it_names() {
    let gets = Arc::new(AtomicUsize::new(0));
    let count = gets.clone();
    let call_id = Arc::new(parking_lot::Mutex::new(json!(null)));
    let peer = legacy(move |seen| match (seen.rpc(), seen.header("last-event-id")) {
        ("GET", None) => status(405),
        ("GET", Some(_)) if count.fetch_add(1, Ordering::Relaxed) == 0 => stream("id: e-2\ndata:\n\n"),
        ("GET", Some(_)) => stream(event(&json!({"jsonrpc":"2.0","id":*call_id.lock(),"result":{"late":1}}))),
        _ => {
            *call_id.lock() = seen.id();
            stream("retry: 30\nid: e-1\ndata:\n\n")
        }
    })
    .await;
    let opened = peer.open().await.expect("a server with sessions");
    let begun = std::time::Instant::now();
    assert_eq!(text(opened.link.request(ask("tools/call", 1, None)).await), r#"{"late":1}"#);
    assert!(begun.elapsed() >= Duration::from_millis(60), "it waited as told, twice: {:?}", begun.elapsed());
    let resumed: Vec<_> =
        peer.seen("GET").iter().filter_map(|get| get.header("last-event-id").map(String::from)).collect();
    assert_eq!(resumed, ["e-1", "e-2"], "from the last event each time");
}

#[tokio::test]
async fn a_standing_stream_comes_back_and_says_so() {
    let first = AtomicBool::new(true);
    let peer = legacy(move |seen| match seen.rpc() {
        "GET" if first.swap(false, Ordering::Relaxed) => {
            stream("id: g-1\n".to_owned() + &event(&json!({"jsonrpc":"2.0","method":"notifications/a"})))
        }
        _ => hanging(&event(&json!({"jsonrpc":"2.0","method":"notifications/b"}))),
    })
    .await;
    let mut opened = peer.open().await.expect("a server with sessions");
    assert!(
        matches!(next(&mut opened).await, InboundMessage::Notification { method, .. } if method == "notifications/a")
    );
    assert!(matches!(next(&mut opened).await, InboundMessage::StreamBack), "what was said meanwhile may be lost");
    assert!(
        matches!(next(&mut opened).await, InboundMessage::Notification { method, .. } if method == "notifications/b")
    );
    assert_eq!(peer.seen("GET")[1].header("last-event-id"), Some("g-1"));
    drop(opened);
    peer.until("the end of the stream", |peer| peer.closed() == 1).await;
}

#[tokio::test]
async fn a_standing_stream_that_cannot_be_opened_again_says_so_and_one_that_never_stood_does_not() {
    let gets = AtomicUsize::new(0);
    let peer = legacy(move |seen| match (seen.rpc(), gets.load(Ordering::Relaxed)) {
        ("GET", count) => {
            gets.fetch_add(1, Ordering::Relaxed);
            match count {
                0 | 2 => status(503),
                1 => stream(event(&json!({"jsonrpc":"2.0","method":"notifications/a"}))),
                _ => hanging(&event(&json!({"jsonrpc":"2.0","method":"notifications/b"}))),
            }
        }
        _ => status(202),
    })
    .await;
    let mut opened = peer.open().await.expect("a server with sessions");
    let said = |message: InboundMessage| match message {
        InboundMessage::Notification { method, .. } => method,
        other => format!("{other:?}"),
    };
    for expected in ["notifications/a", "StreamLost", "StreamBack", "notifications/b"] {
        assert_eq!(said(next(&mut opened).await), expected);
    }
}

#[tokio::test]
async fn giving_up_sends_a_notice_because_a_closed_stream_is_no_cancel() {
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => status(405),
        "tools/call" => hanging(": waiting\n\n"),
        _ => status(202),
    })
    .await;
    let opened = peer.open().await.expect("a server with sessions");
    let waiting = opened.link.request(ask("tools/call", 3, None));
    let cancel = async {
        peer.until("the call", |peer| peer.asked().contains(&"tools/call".into())).await;
        opened.link.cancel(RequestTag(3), Some("enough".into())).await.expect("told");
    };
    let (answer, ()) = tokio::join!(waiting, cancel);
    assert_eq!(answer.err(), Some(LinkError::GivenUp));
    let limit = Duration::from_millis(50);
    let answer = opened.link.request(ask("tools/call", 4, Some(limit))).await;
    assert_eq!(answer.err(), Some(LinkError::NoAnswer(limit)));
    peer.until("both notices", |peer| peer.seen("notifications/cancelled").len() == 2).await;
    let ids: Vec<_> = peer.seen("tools/call").iter().map(Seen::id).collect();
    let told: Vec<_> =
        peer.seen("notifications/cancelled").iter().map(|seen| seen.body["params"]["requestId"].clone()).collect();
    assert_eq!(ids, told, "each names its request");
}

#[tokio::test]
async fn a_ping_is_answered_by_the_link() {
    let peer = legacy(|seen| match seen.rpc() {
        "GET" => hanging(&event(&json!({"jsonrpc":"2.0","id":"p","method":"ping"}))),
        _ => status(202),
    })
    .await;
    let _opened = peer.open().await.expect("a server with sessions");
    peer.until("the answer", |peer| {
        peer.seen("POST").iter().any(|seen| seen.body == json!({"jsonrpc":"2.0","id":"p","result":{}}))
    })
    .await;
}

/// A server with one session of before, `old`, that is alive or not.
async fn with_old_session(alive: bool) -> Peer {
    Peer::new(move |seen| match (seen.rpc(), seen.header("mcp-session-id")) {
        ("server/discover", _) => no_method(seen),
        ("initialize", _) => initialize_result(seen, Some("new"), "2025-11-25"),
        ("GET", _) => status(405),
        (_, Some("old")) if !alive => status(404),
        ("ping" | "tools/list", _) => result(seen, json!({})),
        _ => status(202),
    })
    .await
}

#[tokio::test]
async fn a_living_session_is_taken_up_again_and_a_dead_one_is_not() {
    let peer = with_old_session(true).await;
    let opened = peer.open_known(Some(Era::Legacy), Some("old")).await.expect("taken up");
    assert_eq!((opened.session.as_deref(), opened.resumed), (Some("old"), true));
    opened.link.request(ask("tools/list", 1, Some(LIMIT))).await.expect("answered");
    assert_eq!(peer.seen("tools/list")[0].header("mcp-session-id"), Some("old"));
    assert_eq!(peer.seen("DELETE")[0].header("mcp-session-id"), Some("new"), "the one not needed is given back");
    assert!(peer.seen("server/discover").is_empty(), "the verdict was known");

    let peer = with_old_session(false).await;
    let opened = peer.open_known(Some(Era::Legacy), Some("old")).await.expect("begun anew");
    assert_eq!((opened.session.as_deref(), opened.resumed), (Some("new"), false));
    assert!(peer.seen("DELETE").is_empty(), "the new one is in use");
    assert_eq!(peer.seen("notifications/initialized")[0].header("mcp-session-id"), Some("new"));
}

#[tokio::test]
async fn a_verdict_that_does_not_hold_is_probed_anew() {
    let peer = Peer::new(|seen| match seen.rpc() {
        "server/discover" => discover_result(seen),
        _ => error(seen, 404, json!({"code":-32601,"message":"no handshake here"})),
    })
    .await;
    let opened = peer.open_known(Some(Era::Legacy), None).await.expect("it was updated");
    assert_eq!(opened.era, Era::Modern);
}

#[tokio::test]
async fn older_versions_are_accepted_and_unknown_ones_are_named() {
    for (version, header) in [("2024-11-05", None), ("2025-03-26", None), ("2025-06-18", Some("2025-06-18"))] {
        let peer = Peer::new(move |seen| match seen.rpc() {
            "server/discover" => no_method(seen),
            "initialize" => initialize_result(seen, None, version),
            "tools/list" => result(seen, json!({})),
            "GET" => status(405),
            _ => status(202),
        })
        .await;
        let opened = peer.open().await.expect("an older server");
        opened.link.request(ask("tools/list", 1, Some(LIMIT))).await.expect("answered");
        assert_eq!(peer.seen("tools/list")[0].header("mcp-protocol-version"), header, "{version}");
    }
    let peer = Peer::new(|seen| match seen.rpc() {
        "initialize" => initialize_result(seen, None, "1999-01-01"),
        _ => no_method(seen),
    })
    .await;
    let error = peer.open().await.err().expect("nothing in common");
    assert!(error.to_string().contains("1999-01-01"), "{error}");
}
