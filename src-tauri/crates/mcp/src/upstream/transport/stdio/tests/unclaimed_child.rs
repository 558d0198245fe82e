//! A child with a keeper whose server a person removed while no core could end it.

use domain::ports::Abilities;
use keeper::{names_with_children, running_keepers, start_time, unclaimed_children};
use tokio::time::timeout;

use super::kept_child::{another_core, die, dir, kept, open, open_in, until_clean, until_gone};
use super::peer::{COPY, LIMIT, NOT_FOUND, legacy, quick};
use crate::upstream::transport::OpenContext;

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

#[tokio::test]
async fn whoever_wants_only_what_is_kept_gets_that_child_and_never_a_new_one() {
    let bench = kept(quick());
    let script = legacy(NOT_FOUND, COPY);
    let none = open_in(&bench, &OpenContext { kept_only: true, ..another_core(&bench) }, &script).await;
    assert!(none.is_err(), "there is none");
    assert_eq!(running_keepers(&dir(&bench)).len(), 0, "and none was started");

    let mut opened = open(&bench, &script).await;
    let pid = opened.child.take().expect("a child");
    die(&bench.ctx, opened).await;
    let other = format!("{script} # another configuration");
    let unfit = open_in(&bench, &OpenContext { kept_only: true, ..another_core(&bench) }, &other).await;
    assert!(unfit.is_err(), "it is not the one that is wanted");
    assert!(start_time(pid).is_some(), "whoever asked ends it, and says so");
    assert_eq!(names_with_children(&dir(&bench), vec!["server".into(), "another".into()]), ["server"]);

    let ctx = OpenContext { kept_only: true, ..another_core(&bench) };
    let taken = open_in(&bench, &ctx, &script).await.expect("it is there");
    assert_eq!((taken.child, taken.resumed), (Some(pid), true), "the same child");
    taken.link.close(false).await;
    until_gone(&bench, pid).await;
}

#[tokio::test]
async fn a_child_that_is_taken_up_is_known_to_have_been_told_what_its_agent_can_be_asked() {
    let bench = kept(quick());
    let script = legacy(NOT_FOUND, COPY);
    let told = Abilities { sampling: true, roots: false, elicitation: true };
    let ctx = OpenContext { abilities: told, ..another_core(&bench) };
    let opened = open_in(&bench, &ctx, &script).await.expect("opened");
    die(&ctx, opened).await;
    let taken = open_in(&bench, &bench.ctx, &script).await.expect("taken up");
    assert_eq!(
        taken.regained.as_ref().map(|resumed| resumed.abilities),
        Some(told),
        "whatever the next core would say"
    );
    taken.link.close(false).await;
}
