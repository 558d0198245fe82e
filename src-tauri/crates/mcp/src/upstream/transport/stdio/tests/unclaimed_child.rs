//! A child with a keeper whose server a person removed while no core could end it.

use keeper::{running_keepers, start_time, unclaimed_children};
use tokio::time::timeout;

use super::kept_child::{die, dir, kept, open, until_clean, until_gone};
use super::peer::{COPY, LIMIT, NOT_FOUND, legacy, quick};

#[tokio::test]
async fn the_child_of_a_server_that_is_gone_is_ended_by_the_next_core_and_no_other() {
    let bench = kept(quick());
    let opened = open(&bench, &legacy(NOT_FOUND, COPY)).await;
    let pid = opened.child.expect("a child");
    die(&bench.ctx, opened).await;
    assert_eq!(unclaimed_children(&dir(&bench), ["server"]).len(), 0, "its server is still there");
    assert!(start_time(pid).is_some(), "it waits for the next core");

    let left = unclaimed_children(&dir(&bench), ["another server", "server agent"]);
    assert_eq!((left.len(), running_keepers(&dir(&bench)).len()), (1, 1), "nobody will come for it");
    let mut ended = Vec::new();
    for place in &left {
        ended.extend(timeout(LIMIT, place.end_unclaimed(&bench.ctx.policy)).await.expect("in time"));
    }
    assert_eq!(ended.iter().map(|one| one.pid).collect::<Vec<_>>(), [pid], "it is told");
    until_gone(&bench, pid).await;
    until_clean(&bench).await;
}
