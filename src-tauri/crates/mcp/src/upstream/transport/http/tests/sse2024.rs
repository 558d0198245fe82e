//! The HTTP+SSE transport of 2024-11-05.

use std::sync::Arc;

use domain::server::Era;
use futures::{FutureExt, StreamExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::peer::{LIMIT, Peer, Step, ask, error, event, status, stream, text};
use crate::upstream::transport::OpenError;
use crate::upstream::transport::link::{InboundMessage, LinkError};

/// An old server: answers arrive on the stream, POSTs to `/mcp` are refused with `refusal`.
async fn old(refusal: u16) -> Peer {
    let said: Arc<(Mutex<Vec<String>>, Notify)> = Arc::default();
    Peer::new(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", _) => {
            let mut steps = stream("event: endpoint\ndata: /post?session=7\n\n");
            // Two answers and then the end.
            for at in 0..2 {
                let (wait, say) = (said.clone(), said.clone());
                steps.push(Step::Until(
                    async move {
                        while wait.0.lock().len() <= at {
                            wait.1.notified().await;
                        }
                    }
                    .boxed(),
                ));
                steps.push(Step::Lazy(Box::new(move || say.0.lock()[at].clone().into_bytes())));
            }
            steps
        }
        ("POST", "/post?session=7") => {
            if !seen.id().is_null() {
                let result = match seen.rpc() {
                    "initialize" => json!({"protocolVersion":"2024-11-05","capabilities":{}}),
                    _ => json!({"tools":[]}),
                };
                said.0.lock().push(event(&json!({"jsonrpc":"2.0","id":seen.id(),"result":result})));
                said.1.notify_one();
            }
            status(202)
        }
        _ => status(refusal),
    })
    .await
}

#[tokio::test]
async fn the_old_transport_is_found_after_a_refusal_and_ends_with_its_stream() {
    for refusal in [400, 404, 405] {
        let peer = old(refusal).await;
        let mut opened = peer.open().await.expect("an old server");
        assert_eq!((opened.era, opened.version.as_str()), (Era::LegacySse, "2024-11-05"), "HTTP {refusal}");
        assert_eq!(text(opened.link.request(ask("tools/list", 1, Some(LIMIT))).await), r#"{"tools":[]}"#);
        let order: Vec<String> = peer.asked();
        assert_eq!(order[..3], ["server/discover", "initialize", "GET"], "tried last");
        assert_eq!(peer.seen("tools/list")[0].header("authorization"), Some("Bearer t0ken"), "with its secrets");
        let item = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
        assert!(matches!(item, Some(InboundMessage::Closed(_))), "the stream was the session: {item:?}");
        let answer = opened.link.request(ask("tools/list", 2, None)).await;
        assert!(matches!(answer, Err(LinkError::Broken { sent: false, .. })), "{answer:?}");
    }
}

#[tokio::test]
async fn a_known_verdict_opens_the_stream_at_once() {
    let peer = old(405).await;
    let opened = peer.open_known(Some(Era::LegacySse), None).await.expect("an old server");
    assert_eq!(opened.era, Era::LegacySse);
    assert_eq!(peer.asked()[..2], ["GET", "initialize"], "nothing is probed");
}

#[tokio::test]
async fn messages_never_go_to_another_origin() {
    let peer = Peer::new(|seen| match seen.method.as_str() {
        "GET" => {
            let mut steps = stream("event: endpoint\ndata: http://evil.invalid/post\n\n");
            steps.push(Step::Hang);
            steps
        }
        _ => status(405),
    })
    .await;
    let error = peer.open().await.err().expect("refused");
    assert!(matches!(&error, OpenError::NotMcp { why, .. } if why.contains("another origin")), "{error}");
}

#[tokio::test]
async fn after_a_modern_error_the_old_transport_is_not_tried() {
    let peer = Peer::new(|seen| match seen.rpc() {
        "GET" => stream("event: endpoint\ndata: /post\n\n"),
        _ => error(seen, 400, json!({"code":-32020,"message":"HeaderMismatch"})),
    })
    .await;
    let refused = peer.open().await.err().expect("refused");
    assert!(matches!(refused, OpenError::NotMcp { .. }), "{refused}");
    assert!(!peer.asked().contains(&"GET".into()), "statement 7: {:?}", peer.asked());
}
