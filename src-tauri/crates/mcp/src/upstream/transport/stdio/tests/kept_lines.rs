//! Many and large lines through a keeper, and lines that a child does not take.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::policy::{KeeperPolicy, Policy};
use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::kept_child::{kept, open};
use super::peer::{LIMIT, NOT_FOUND, ask, legacy, quick, text};
use crate::upstream::transport::link::LinkError;

/// Answers every line with its id as the result, and keeps what it read.
const ECHO: &str =
    r#"tee -a "$DIR/in" | sed -u -n 's/.*"id":\([0-9]*\).*/{"jsonrpc":"2.0","id":\1,"result":{"n":\1}}/p'"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_leaves_once_and_has_its_own_answer_however_many_are_on_their_way() {
    const CALLS: u64 = 400;
    for input_messages in [64, 3] {
        let keeping = KeeperPolicy { input_messages, ..KeeperPolicy::default() };
        let bench = kept(Policy { keeping, ..quick() });
        let opened = open(&bench, &legacy(NOT_FOUND, ECHO)).await;
        let link = Arc::clone(&opened.link);
        let calls = (0..CALLS).map(|tag| link.request(ask("tools/call", 100 + tag, None)));
        let answers = timeout(LIMIT, join_all(calls)).await.expect("all are answered");
        let distinct: BTreeSet<String> = answers.into_iter().map(text).collect();
        assert_eq!(distinct.len(), 400, "each call has the answer of its own");
        // The handshake took three lines, and two ids.
        let ids: Vec<u64> = bench.written("in").iter().skip(3).filter_map(|line| line["id"].as_u64()).collect();
        let distinct: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!((ids.len(), distinct), (400, (3..403).collect()), "nothing was lost or sent twice");
        opened.link.close(false).await;
    }
}

#[tokio::test]
async fn a_line_as_large_as_many_reads_passes_both_ways_as_it_is() {
    let bench = kept(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
printf '{"jsonrpc":"2.0","id":3,"result":%s}\n' "$(echo "$line" | sed 's/.*"params"://; s/}$//')"
while read -r line; do :; done"#;
    let opened = open(&bench, &legacy(NOT_FOUND, then)).await;
    let large = "x".repeat(700_000);
    let mut request = ask("tools/call", 7, None);
    request.params = serde_json::json!({ "large": large });
    let answer = text(timeout(LIMIT, opened.link.request(request)).await.expect("an answer"));
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert!(answer["large"] == large.as_str(), "{} bytes came back", answer.to_string().len());
    opened.link.close(false).await;
}

#[tokio::test]
async fn a_request_to_a_child_that_closed_its_input_fails_at_once() {
    let bench = kept(quick());
    let then = r#"exec 0<&-; echo '{"jsonrpc":"2.0","method":"notifications/closed"}'
while [ ! -e "$DIR/go" ]; do sleep 0.01; done"#;
    let mut opened = open(&bench, &legacy(NOT_FOUND, then)).await;
    let closed = futures::StreamExt::next(&mut opened.inbound);
    timeout(LIMIT, closed).await.expect("in time").expect("it says so");
    for tag in [7, 8] {
        let failed = timeout(LIMIT, opened.link.request(ask("tools/call", tag, None))).await.expect("not later");
        let Err(LinkError::Broken { why, hint, sent: true }) = &failed else { panic!("{failed:?}") };
        assert!(why.contains("does not take messages"), "{failed:?}");
        assert!(hint.contains("`taskwarden servers log NAME`"), "{failed:?}");
    }
    std::fs::write(bench.dir.path().join("go"), "").expect("written");
    opened.link.close(false).await;
}
