//! What a child leaves behind when it exits, with a keeper and without one.

use std::time::Duration;

use keeper::{RuntimeDir, end_abandoned_children, has_other_child, start_time};
use tokio::time::timeout;

use super::kept_child::{kept, open, until_clean};
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

#[tokio::test]
async fn a_child_that_has_ended_is_not_taken_up_while_what_outlived_it_is_ended() {
    let bench = kept(quick());
    let script = legacy(
        NOT_FOUND,
        r#"read -r line
(setsid sh -c 'trap "" TERM; : > "$DIR/away"; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &)
while [ ! -e "$DIR/away" ]; do sleep 0.01; done; exit 3"#,
    );
    let mut opened = open(&bench, &script).await;
    let pid = opened.child;
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the reply is lost: {answer:?}");
    assert_eq!(closed(&mut opened).await.why, "`/bin/sh` exited with code 3");
    let again = open(&bench, &script).await;
    assert!(!again.resumed && again.child != pid, "it is started anew");
    again.link.close(false).await;
    until_clean(&bench).await;
}

#[tokio::test]
async fn a_keeper_that_listens_keeps_its_folder_although_its_record_or_its_process_is_not_found() {
    let (dir, policy) = (tempfile::tempdir().expect("a folder"), quick());
    let name = "server";
    let folder = dir.path().join(format!("{}0000", prefix_of(name)));
    std::fs::create_dir(&folder).expect("its folder");
    std::fs::write(folder.join("who"), "").expect("what a full disk leaves of a record");
    let listener = std::os::unix::net::UnixListener::bind(folder.join("s")).expect("its socket");
    assert_eq!(RuntimeDir::all_of(dir.path(), name).len(), 1, "it is the folder of this child");
    assert!(end_abandoned_children(dir.path(), &policy).await.is_empty());
    assert!(folder.exists(), "a keeper that listens has its folder");
    assert!(has_other_child(dir.path(), name, Some(7)), "and may have its child");
    let not_found = r#"{"keeper":{"pid":4194305,"start":1},"child":{"pid":4194306,"start":1},"boot":"another","command":"x","nonce":"n"}"#;
    std::fs::write(folder.join("who"), not_found).expect("a record of processes that are not found");
    assert!(end_abandoned_children(dir.path(), &policy).await.is_empty());
    assert!(folder.exists(), "it may be one of another process namespace");
    std::fs::write(folder.join("who"), "").expect("no record again");
    drop(listener);
    assert!(!has_other_child(dir.path(), name, Some(7)), "nobody listens any more");
    end_abandoned_children(dir.path(), &policy).await;
    assert!(!folder.exists(), "what is left is removed");
}

/// How the folders of a child with this name begin.
fn prefix_of(name: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(name.as_bytes()).iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}
