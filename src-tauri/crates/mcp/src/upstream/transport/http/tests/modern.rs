//! The modern era over HTTP: probe, headers, metadata, streams, cancelling.

use std::sync::Arc;
use std::time::Duration;

use domain::ports::{SendGate, SendPermit};
use domain::server::Era;
use futures::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use super::peer::{
    LIMIT, Peer, Seen, Step, ask, discover_result, error, event, initialize_result, no_method, quick, reply, result,
    status, stream, text,
};
use crate::upstream::transport::OpenError;
use crate::upstream::transport::link::{Answer, InboundMessage, LinkError, OutgoingRequest, RequestTag};

/// A modern server that answers everything else with `then`.
async fn modern(then: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Peer {
    Peer::new(move |seen| if seen.rpc() == "server/discover" { discover_result(seen) } else { then(seen) }).await
}

#[tokio::test]
async fn a_modern_request_carries_headers_and_metadata_and_nothing_of_sessions() {
    let peer = modern(|seen| result(seen, json!({"resultType":"complete"}))).await;
    let opened = peer.open().await.expect("a modern server");
    assert_eq!((opened.era, opened.version.as_str(), &opened.session), (Era::Modern, "2026-07-28", &None));
    let outgoing = OutgoingRequest {
        params: json!({"name":"grüß","_meta":{"progressToken":7}}),
        param_headers: vec![("Region".into(), "eu".into()), ("City".into(), "Köln".into())],
        ..ask("tools/call", 1, None)
    };
    opened.link.request(outgoing).await.expect("answered");
    let outgoing = OutgoingRequest { params: json!({"taskId":"t-1"}), ..ask("tasks/get", 2, Some(LIMIT)) };
    opened.link.request(outgoing).await.expect("answered");
    for seen in [peer.seen("server/discover"), peer.seen("tools/call"), peer.seen("tasks/get")].concat() {
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/mcp"), "POST only");
        assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"), "both types");
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(seen.header("mcp-method"), Some(seen.rpc()), "mirrors the method");
        assert_eq!(seen.header("authorization"), Some("Bearer t0ken"));
        assert_eq!((seen.header("mcp-session-id"), seen.header("last-event-id")), (None, None), "statement 9");
        let meta = &seen.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "equal to the header");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"]["extensions"].is_object(), "tasks are declared");
    }
    let call = peer.seen("tools/call").remove(0);
    assert_eq!(call.header("mcp-name"), Some("=?base64?Z3LDvMOf?="), "not plain text");
    assert_eq!(call.header("mcp-param-region"), Some("eu"));
    assert_eq!(call.header("mcp-param-city"), Some("=?base64?S8O2bG4=?="));
    assert_eq!(call.body["params"]["_meta"]["progressToken"], 7, "the caller's key stays");
    assert_eq!(peer.seen("tasks/get").remove(0).header("mcp-name"), Some("t-1"), "tasks mirror their id");
    opened.link.close(false).await;
    assert!(peer.asked().iter().all(|asked| asked != "GET" && asked != "DELETE"), "no GET and no DELETE");
}

/// What a halt leaves of the permit of a call.
struct Withdrawn;

impl SendGate for Withdrawn {
    fn begin_sending(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_call_whose_permit_was_withdrawn_never_reaches_the_server_and_the_connection_goes_on() {
    let peer = modern(|seen| result(seen, json!({"resultType":"complete"}))).await;
    let opened = peer.open().await.expect("a modern server");
    let withdrawn = OutgoingRequest { permit: SendPermit(Some(Arc::new(Withdrawn))), ..ask("tools/call", 1, None) };
    let refused = opened.link.request(withdrawn).await.map(|_| ()).expect_err("it may not leave");
    assert!(matches!(refused, LinkError::Broken { sent: false, .. }), "nothing was sent: {refused:?}");
    assert!(peer.seen("tools/call").is_empty(), "the server knows nothing of it");
    opened.link.request(ask("tools/call", 2, None)).await.expect("the next one is answered");
    assert_eq!(peer.seen("tools/call").len(), 1);
}

#[tokio::test]
async fn an_error_with_a_status_is_read_from_its_body() {
    let peer = modern(|seen| match seen.rpc() {
        "tasks/get" => error(seen, 400, json!({"code":-32602,"message":"unknown task"})),
        _ => error(seen, 404, json!({"code":-32601,"message":"no such method"})),
    })
    .await;
    let opened = peer.open().await.expect("a modern server");
    assert!(text(opened.link.request(ask("tasks/get", 1, Some(LIMIT))).await).contains("-32602"), "HTTP 400");
    assert!(text(opened.link.request(ask("tasks/list", 2, Some(LIMIT))).await).contains("-32601"), "HTTP 404");
}

#[tokio::test]
async fn notifications_on_a_stream_name_their_request_and_its_questions_are_not_heard() {
    let peer = modern(|seen| {
        let id = seen.id();
        stream(
            ": hello\n\n".to_owned()
                + &event(&json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}))
                + &event(&json!({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}))
                + &event(&json!({"jsonrpc":"2.0","id":991,"result":{"of":"another"}}))
                + &event(&json!({"jsonrpc":"2.0","id":id,"result":{"fine":true}})),
        )
    })
    .await;
    let mut opened = peer.open().await.expect("a modern server");
    assert_eq!(text(opened.link.request(ask("tools/call", 17, None)).await), r#"{"fine":true}"#);
    let item = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
    assert!(
        matches!(&item, Some(InboundMessage::Notification { method, on: Some(RequestTag(17)), .. }) if method == "notifications/progress"),
        "on the stream of its request: {item:?}"
    );
    opened.link.close(false).await;
    let item = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
    assert!(matches!(item, Some(InboundMessage::Closed(_))), "nothing else came: {item:?}");
    assert!(opened.inbound.next().await.is_none(), "`Closed` is last");
}

#[tokio::test]
async fn giving_up_closes_the_stream() {
    let peer = modern(|_| {
        let mut steps = stream(": waiting\n\n");
        steps.push(Step::Hang);
        steps
    })
    .await;
    let opened = peer.open().await.expect("a modern server");
    let waiting = opened.link.request(ask("tools/call", 3, None));
    let cancel = async {
        peer.until("the call", |peer| peer.asked().contains(&"tools/call".into())).await;
        opened.link.cancel(RequestTag(3), None).await
    };
    let (answer, cancelled) = tokio::join!(waiting, cancel);
    cancelled.expect("nothing to send");
    assert_eq!(answer.err(), Some(LinkError::GivenUp));
    peer.until("the close", |peer| peer.closed() == 1).await;

    let limit = Duration::from_millis(50);
    let answer = opened.link.request(ask("tasks/get", 4, Some(limit))).await;
    assert_eq!(answer.err(), Some(LinkError::NoAnswer(limit)));
    peer.until("the second close", |peer| peer.closed() == 2).await;
    assert_eq!(peer.asked().len(), 3, "no `notifications/cancelled` over HTTP: {:?}", peer.asked());
}

#[tokio::test]
async fn a_broken_stream_is_a_lost_request_and_is_not_resumed() {
    let peer = modern(|_| stream("id: 5\ndata:\n\n")).await;
    let opened = peer.open().await.expect("a modern server");
    let answer = opened.link.request(ask("tools/call", 3, None)).await;
    assert!(matches!(answer, Err(LinkError::Broken { sent: true, .. })), "{answer:?}");
    assert_eq!(peer.asked(), ["server/discover", "tools/call"], "no GET with the last event id");
}

#[tokio::test]
async fn a_modern_refusal_stays_modern_and_any_other_leads_to_the_handshake() {
    let versions = |code: i64| json!({"code":code,"message":"no","data":{"supported":["2026-07-28"]}});
    for code in [-32_022, -32_004] {
        let peer = Peer::new(move |seen| error(seen, 400, versions(code))).await;
        let refused = peer.open().await.err().expect("it never agrees");
        assert!(matches!(refused, OpenError::NotMcp { .. }), "{refused}");
        assert_eq!(peer.asked(), ["server/discover"; 2], "tried again, and no `initialize` after {code}");
    }
    type Refusal = fn(&Seen) -> Vec<Step>;
    let refusals: [(&str, Refusal); 6] = [
        ("an empty 400", |_| status(400)),
        ("a page with 404", |_| reply(404, "text/html", "", "<html>no</html>")),
        ("-32000 with 400", |seen| error(seen, 400, json!({"code":-32000,"message":"Bad Request"}))),
        ("-32600 with 400 and no id", |_| {
            reply(
                400,
                "application/json",
                "Mcp-Session-Id: dead\r\n",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#,
            )
        }),
        ("-32601 with 200", no_method),
        ("old versions only", |seen| {
            error(seen, 400, json!({"code":-32000,"message":"no","data":{"supported":["2025-06-18"]}}))
        }),
    ];
    for (what, refusal) in refusals {
        let peer = Peer::new(move |seen| match seen.rpc() {
            "server/discover" => refusal(seen),
            "initialize" => initialize_result(seen, None, "2025-06-18"),
            "GET" => status(405),
            _ => status(202),
        })
        .await;
        let opened = peer.open().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((opened.era, opened.version.as_str()), (Era::Legacy, "2025-06-18"), "{what}");
        assert_eq!(opened.session, None, "a session of a refusal is dead: {what}");
    }
}

#[tokio::test]
async fn sign_in_faults_and_waits_say_nothing_about_the_era() {
    for (code, headers) in [(401, ""), (403, ""), (500, ""), (502, ""), (503, "Retry-After: 3\r\n"), (429, "")] {
        let peer = Peer::new(move |_| reply(code, "application/json", headers, "{}")).await;
        let error = peer.open().await.err().expect("nobody is served");
        assert_eq!(peer.asked(), ["server/discover"], "no second opener after HTTP {code}");
        match code {
            401 | 403 => assert!(matches!(error, OpenError::Unauthorized { .. }), "{code}: {error}"),
            _ => assert!(matches!(error, OpenError::Unreachable { .. }), "{code}: {error}"),
        }
        assert!(!error.hint().is_empty(), "it says what to do");
        assert!(!format!("{error:?}").contains("t0ken"), "no secret in an error");
    }
}

#[tokio::test]
async fn a_wish_to_wait_is_passed_on() {
    let peer = modern(|_| reply(429, "text/plain", "Retry-After: 7\r\n", "slow down")).await;
    let opened = peer.open().await.expect("a modern server");
    let answer = opened.link.request(ask("tasks/get", 1, Some(LIMIT))).await;
    assert_eq!(answer.err(), Some(LinkError::RateLimited(Some(Duration::from_secs(7)))));
}

#[tokio::test]
async fn requests_share_connections_and_answers_find_their_requests() {
    let peer = modern(|seen| result(seen, json!({"echo": seen.body["params"]["n"]}))).await;
    let opened = peer.open().await.expect("a modern server");
    let requests = (0..200).map(|n| {
        let outgoing = OutgoingRequest { params: json!({"n":n}), ..ask("tasks/get", n, Some(LIMIT)) };
        let link = opened.link.clone();
        async move { (n, link.request(outgoing).await) }
    });
    let answers: Vec<(u64, Result<Answer, LinkError>)> =
        futures::stream::iter(requests).buffer_unordered(16).collect().await;
    for (n, answer) in answers {
        assert_eq!(text(answer), format!(r#"{{"echo":{n}}}"#), "each its own");
    }
}

#[tokio::test]
async fn a_slow_modern_server_is_found_when_it_refuses_the_handshake() {
    let policy = domain::policy::Policy { probe_first_output: Duration::from_secs(1), ..quick() };
    let first = std::sync::atomic::AtomicBool::new(true);
    let peer = Peer::with(policy, move |seen| match seen.rpc() {
        "server/discover" if first.swap(false, std::sync::atomic::Ordering::Relaxed) => vec![Step::Hang],
        "server/discover" => discover_result(seen),
        _ => error(seen, 400, json!({"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}})),
    })
    .await;
    let opened = peer.open().await.expect("found in the end");
    assert_eq!(opened.era, Era::Modern);
}
