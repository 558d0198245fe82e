//! What a child leaves behind when it exits, with a keeper and without one.

use std::time::Duration;

use keeper::start_time;
use tokio::time::timeout;

use super::kept_child::{kept, open};
use super::peer::{Bench, LIMIT, NOT_FOUND, ask, closed, legacy, quick};
use crate::upstream::transport::link::LinkError;

#[tokio::test]
async fn a_child_that_exits_is_over_although_a_process_of_its_group_goes_on() {
    let kept = kept(quick());
    for bench in [&kept, &Bench::new(quick())] {
        let then = r#"sleep 1000 & echo $! > "$DIR/left"; read -r line; exit 3"#;
        let mut opened = open(bench, &legacy(NOT_FOUND, then)).await;
        let answer = timeout(LIMIT, opened.link.request(ask("tools/call", 1, None))).await.expect("it does not hang");
        assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the call is over: {answer:?}");
        assert!(closed(&mut opened).await.why.contains("exited with code 3"), "it says how the child ended");
        let left = std::fs::read_to_string(bench.dir.path().join("left")).expect("written").trim().parse();
        let left: u32 = left.expect("a pid");
        let gone = timeout(LIMIT, async {
            while start_time(left).is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(gone.await.is_ok(), "and what it left in its group is ended");
    }
}
