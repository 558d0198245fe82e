//! Servers that lie, hang, flood and break off.

use std::time::Duration;

use domain::policy::Policy;
use serde_json::json;

use super::peer::{
    LIMIT, Peer, Seen, Step, ask, discover_result, event, quick, raw, reply, result, status, stream, text,
};
use crate::upstream::transport::OpenError;
use crate::upstream::transport::link::LinkError;

async fn modern(policy: Policy, then: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Peer {
    Peer::with(policy, move |seen| match seen.rpc() {
        "server/discover" => discover_result(seen),
        "tools/list" => result(seen, json!({"fine":1})),
        _ => then(seen),
    })
    .await
}

#[tokio::test]
async fn each_bad_answer_fails_one_request_with_a_line_that_says_why() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let big = "x".repeat(100_000);
    type Script = Box<dyn Fn(&Seen) -> Vec<Step> + Send + Sync>;
    let bad: Vec<(&str, Script)> = vec![
        ("more than 65536 bytes", {
            let big = big.clone();
            Box::new(move |seen| result(seen, json!(big)))
        }),
        ("more than 65536 bytes", {
            let big = big.clone();
            Box::new(move |seen| {
                let body = format!("{:x}\r\n{big}\r\n", big.len());
                let _ = seen;
                raw(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
                ))
            })
        }),
        ("more than 65536 bytes", {
            Box::new(move |seen| stream(event(&json!({"jsonrpc":"2.0","id":seen.id(),"result":big}))))
        }),
        ("more than 65536 bytes", {
            let endless = format!("data: {}", "x".repeat(100_000));
            Box::new(move |_| {
                let mut steps = stream(&endless);
                steps.push(Step::Hang);
                steps
            })
        }),
        ("deeper than 100 levels", {
            Box::new(move |seen| {
                reply(
                    200,
                    "application/json",
                    "",
                    &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{deep}}}"#, seen.id()),
                )
            })
        }),
        (
            "not UTF-8 at byte 1",
            Box::new(|_| {
                raw(&b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{\xff}"[..])
            }),
        ),
        ("not JSON at line 1, column 8", Box::new(|_| reply(200, "application/json", "", r#"{"id": }"#))),
        ("web page", Box::new(|_| reply(200, "text/html", "", "<!doctype html><p>Sign in</p>"))),
        ("HTTP 418", Box::new(|_| status(418))),
        (
            "id of another request",
            Box::new(|_| reply(200, "application/json", "", r#"{"jsonrpc":"2.0","id":999,"result":{}}"#)),
        ),
        ("empty answer", Box::new(|_| status(202))),
        (
            "middle",
            Box::new(|_| {
                raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"half\":")
            }),
        ),
        ("broke off", Box::new(|_| raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"))),
        ("broke off", Box::new(|_| raw("not HTTP at all\r\n\r\n"))),
        ("broke off", Box::new(|_| raw(""))),
        ("HTTP 500", Box::new(|_| reply(500, "text/plain", "", "oops"))),
        (
            "stopped in the middle",
            Box::new(|_| {
                vec![
                    Step::Bytes(
                        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{".to_vec(),
                    ),
                    Step::Hang,
                ]
            }),
        ),
        (
            "before its answer",
            Box::new(|_| {
                let mut steps = stream("data: {\"half\":");
                steps.push(Step::Hang);
                steps
            }),
        ),
        ("before its answer", Box::new(|_| stream(event(&json!({"jsonrpc":"2.0","method":"notifications/x"}))))),
    ];
    for (wanted, script) in bad {
        let peer = modern(Policy { message_cap_bytes: 65_536, ..quick() }, script).await;
        let opened = peer.open().await.expect("a modern server");
        let answer = tokio::time::timeout(LIMIT, opened.link.request(ask("tools/call", 1, None))).await;
        let error = answer.unwrap_or_else(|_| panic!("`{wanted}` hangs")).expect_err("no answer");
        assert!(error.to_string().contains(wanted), "`{wanted}` expected: {error}");
        assert!(!error.to_string().contains('\n'), "one line");
        let good = opened.link.request(ask("tools/list", 2, Some(LIMIT))).await;
        assert_eq!(text(good), r#"{"fine":1}"#, "the link lives on after `{wanted}`");
    }
}

#[tokio::test]
async fn redirects_stay_within_the_origin_and_keep_the_method() {
    let peer = Peer::new(|seen| match (seen.path.as_str(), seen.rpc()) {
        ("/mcp", _) => reply(308, "text/plain", "Location: /mcp/\r\n", ""),
        (_, "server/discover") => discover_result(seen),
        _ => result(seen, json!({"fine":1})),
    })
    .await;
    let opened = peer.open().await.expect("found behind the redirect");
    assert_eq!(text(opened.link.request(ask("tools/list", 1, Some(LIMIT))).await), r#"{"fine":1}"#);
    let paths: Vec<String> = peer.seen("tools/list").iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(paths, ["/mcp/"], "a lasting redirect is remembered");

    let peer =
        Peer::new(|_| reply(307, "text/plain", "Location: https://elsewhere.invalid/mcp?key=secret\r\n", "")).await;
    let error = peer.open().await.err().expect("refused");
    let OpenError::NotMcp { why, hint } = &error else { panic!("{error:?}") };
    assert_eq!(*why, format!("`{}` redirects to another origin, `https://elsewhere.invalid`", peer.origin));
    assert!(hint.contains("https://elsewhere.invalid") && !hint.contains("secret"), "{hint}");
    assert_eq!(peer.asked().len(), 1, "and nobody is asked there");

    let peer = Peer::new(|_| reply(302, "text/plain", "Location: /mcp\r\n", "")).await;
    let error = peer.open().await.err().expect("in circles");
    assert!(error.to_string().contains("redirects more than 3 times"), "{error}");
}

#[tokio::test]
async fn places_that_are_no_servers_are_told_with_a_cure() {
    let page = Peer::new(|_| reply(200, "text/html; charset=utf-8", "", "<html>Welcome</html>")).await;
    let error = page.open().await.err().expect("a web page");
    assert!(matches!(&error, OpenError::NotMcp { why, .. } if why.contains("web page")), "{error:?}");
    assert!(error.hint().contains("/mcp"), "{}", error.hint());

    let json = Peer::new(|_| reply(200, "application/json", "", r#"{"name":"some API"}"#)).await;
    let error = json.open().await.err().expect("another API");
    assert!(matches!(&error, OpenError::NotMcp { .. }), "{error:?}");

    let silent = Policy {
        probe_first_output: Duration::from_millis(50),
        initialize_limit: Duration::from_millis(50),
        ..quick()
    };
    let hang = Peer::with(silent, |_| vec![Step::Hang]).await;
    let error = hang.open().await.err().expect("silence");
    assert!(error.to_string().contains("does not answer `initialize`"), "{error}");

    let nobody = Peer::new(|_| status(200)).await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let target = |url: &str| super::super::Target { url: url.into(), headers: Vec::new() };
    let refused = super::super::open(target(&format!("http://{free}/mcp")), None, None, &nobody.ctx).await;
    let error = refused.err().expect("nobody there");
    assert_eq!(error.to_string(), format!("nothing listens at `http://{free}`"));
    for bad in ["example.com/mcp", "ftp://example.com", "http://", "file:///etc/passwd", ""] {
        let error = super::super::open(target(bad), None, None, &nobody.ctx).await.err().expect("no address");
        assert!(matches!(error, OpenError::NotMcp { .. }), "`{bad}`: {error}");
    }
    let headers = vec![("X-Key".to_owned(), domain::ports::Secret::new("a\nb"))];
    let with_bad_header = super::super::Target { url: page.origin.clone(), headers };
    let error = super::super::open(with_bad_header, None, None, &nobody.ctx).await.err().expect("not a header");
    assert!(error.to_string().contains("`X-Key` cannot be sent"), "{error}");
}

#[tokio::test]
async fn a_stream_without_end_is_bounded_by_the_limit_of_its_request() {
    let peer = modern(quick(), |_| {
        let mut steps = stream("");
        for _ in 0..50 {
            steps.push(Step::Bytes(b": still here\n\n".to_vec()));
        }
        steps.push(Step::Hang);
        steps
    })
    .await;
    let opened = peer.open().await.expect("a modern server");
    let limit = Duration::from_millis(100);
    let answer = opened.link.request(ask("tasks/get", 1, Some(limit))).await;
    assert_eq!(answer.err(), Some(LinkError::NoAnswer(limit)));
    peer.until("the close", |peer| peer.closed() == 1).await;
}
