//! Children that outlive their core. The keeper is a process of its own, as it is in the product; a core that is
//! killed is one whose socket closes.

use std::path::PathBuf;
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::{KeeperPolicy, Policy};
use futures::StreamExt;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::peer::{
    Bench, COPY, LIMIT, NOT_FOUND, SLOW_LAST_WORDS, ask, closed, legacy, modern, quick, text, until_written,
};
use crate::upstream::transport::link::{InboundMessage, LinkError, OpenedLink, Response};
use crate::upstream::transport::{OpenContext, OpenError};
use keeper::ProcessGroup;
use keeper::start_time;
use keeper::{FrameKind, FrameReader, KeeperFrame, KeeperKey, KeeperProgram, end_abandoned_children, running_keepers};

/// Built with the tests of this crate.
fn keeper_program() -> String {
    let here = std::env::current_exe().expect("our own path");
    let built = here.parent().and_then(std::path::Path::parent).expect("the folder of the build");
    built.join("examples").join("keep").display().to_string()
}

fn key() -> KeeperKey {
    KeeperKey::derive(&[7; 32])
}

pub(super) fn kept(policy: Policy) -> Bench {
    let mut bench = Bench::new(policy);
    let dir = bench.dir.path().join("keep");
    bench.ctx.keeper = Some(KeeperProgram { command: vec![keeper_program()], dir, key: key() });
    bench
}

pub(super) fn dir(bench: &Bench) -> PathBuf {
    bench.dir.path().join("keep")
}

/// Another core on the same data directory.
pub(super) fn another_core(bench: &Bench) -> OpenContext {
    let supervisor = engine::runtime::supervisor::Supervisor::new();
    let children = bench.dir.path().join("children");
    let draw = std::sync::Arc::clone(&bench.ctx.draw);
    let mut ctx = OpenContext::new(std::sync::Arc::clone(&bench.ctx.policy), supervisor, draw, children);
    ctx.keeper.clone_from(&bench.ctx.keeper);
    ctx
}

pub(super) async fn open_in(bench: &Bench, ctx: &OpenContext, script: &str) -> Result<OpenedLink, OpenError> {
    let opening = crate::upstream::transport::stdio::open(bench.launch(script), Some("server"), None, ctx);
    timeout(LIMIT, opening).await.expect("opening ends in time")
}

pub(super) async fn open(bench: &Bench, script: &str) -> OpenedLink {
    open_in(bench, &bench.ctx, script).await.expect("opened")
}

/// The core is gone without a word, as after kill -9: its tasks stop and its socket closes.
pub(super) async fn die(ctx: &OpenContext, opened: OpenedLink) {
    drop(opened);
    assert!(ctx.supervisor.stop(LIMIT).await, "all tasks of the core end");
}

pub(super) async fn until_gone(bench: &Bench, pid: u32) {
    let gone = timeout(LIMIT, async {
        let group = ProcessGroup::of(pid).expect("a group");
        while !group.is_empty() || !running_keepers(&dir(bench)).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(gone.await.is_ok(), "child and keeper are gone");
}

/// Keepers that end leave nothing in their folder.
pub(super) async fn until_clean(bench: &Bench) {
    let clean = timeout(LIMIT, async {
        while std::fs::read_dir(dir(bench)).map_or(0, Iterator::count) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(clean.await.is_ok(), "the keeper cleans up");
}

/// The next message of the server that is no answer.
async fn next(opened: &mut OpenedLink) -> InboundMessage {
    timeout(LIMIT, opened.inbound.next()).await.expect("in time").expect("not the end")
}

#[tokio::test]
async fn a_kept_child_works_like_any_other_and_ends_when_it_is_closed() {
    let bench = kept(quick());
    let then = format!(
        r#"read -r line; echo "$line" >> "$DIR/in"; echo '{{"jsonrpc":"2.0","id":3,"result":{{"a":1}}}}'; {COPY}; echo done > "$DIR/orderly""#
    );
    let mut opened = open(&bench, &legacy(NOT_FOUND, &then)).await;
    let pid = opened.child.expect("a child");
    assert_eq!(running_keepers(&dir(&bench)).len(), 1, "one keeper");
    assert_eq!(text(opened.link.request(ask("tools/call", 1, None)).await), r#"{"a":1}"#, "answers come through");
    opened.link.close(false).await;
    assert!(closed(&mut opened).await.why.contains("ended by Taskwarden"), "it says who ended it");
    until_gone(&bench, pid).await;
    assert!(bench.dir.path().join("orderly").exists(), "it saw the end of its input first");
    until_clean(&bench).await;
}

#[tokio::test]
async fn a_child_lives_on_when_its_core_dies_and_is_taken_up_without_a_second_greeting() {
    let bench = kept(quick());
    let script = legacy(NOT_FOUND, COPY);
    let opened = open(&bench, &script).await;
    let (pid, session) = (opened.child, opened.session.clone());
    die(&bench.ctx, opened).await;
    let ctx = another_core(&bench);
    let taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    assert_eq!((taken.child, &taken.session, taken.resumed), (pid, &session, true), "the same child and session");
    assert_eq!(taken.version, "2025-11-25", "what was agreed is known");
    taken.link.notify("notifications/x", None).await.expect("written");
    until_written(&bench, "in", 4).await;
    let methods: Vec<Value> = bench.written("in").iter().map(|line| line["method"].clone()).collect();
    assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized", "notifications/x"]);
    taken.link.close(false).await;
}

#[tokio::test]
async fn the_reply_to_a_call_of_a_dead_core_comes_to_the_next_one_until_it_is_on_record() {
    let bench = kept(quick());
    let then = format!(
        r#"read -r line; echo "$line" >> "$DIR/in"
while [ ! -e "$DIR/go" ]; do sleep 0.01; done
echo '{{"jsonrpc":"2.0","id":3,"result":{{"late":true}}}}'; {COPY}"#
    );
    let script = legacy(NOT_FOUND, &then);
    let opened = open(&bench, &script).await;
    let ticket = HandleId::from_random(7);
    opened.link.note_call(crate::upstream::transport::link::RequestTag(1), ticket, true);
    let link = std::sync::Arc::clone(&opened.link);
    let calling = timeout(Duration::from_secs(5), link.request(ask("tools/call", 1, None)));
    tokio::select! {
        _ = calling => panic!("there is no answer yet"),
        () = until_written(&bench, "in", 4) => {}
    }
    drop(link);
    die(&bench.ctx, opened).await;
    std::fs::write(bench.dir.path().join("go"), "").expect("written");

    for life in ["second", "third"] {
        let ctx = another_core(&bench);
        let mut taken = open_in(&bench, &ctx, &script).await.expect("taken up");
        let regained = taken.regained.take().expect("it was kept");
        let mut calls = regained.calls;
        assert_eq!(calls.len(), 1, "the {life} core knows the call");
        let call = calls.remove(0);
        assert_eq!((call.ticket, call.augment), (ticket, true), "and whose it is");
        assert!(regained.first_tag > 1_000, "tags of an earlier core mean nothing new");
        let answer = timeout(LIMIT, call.answer).await.expect("the reply comes, however often");
        assert_eq!(text(answer), r#"{"late":true}"#);
        if life == "third" {
            taken.link.settle(ticket);
            taken.link.notify("notifications/x", None).await.expect("written");
        }
        die(&ctx, taken).await;
    }
    let ctx = another_core(&bench);
    let taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    assert!(taken.regained.as_ref().is_some_and(|regained| regained.calls.is_empty()), "on record is on record");
    taken.link.close(false).await;
}

#[tokio::test]
async fn a_question_asked_while_nobody_is_there_and_one_that_was_not_answered_both_come_again() {
    let bench = kept(quick());
    let then = format!(
        r#"echo '{{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{{"n":1}}}}'
while [ ! -e "$DIR/go" ]; do sleep 0.01; done
echo '{{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{{"n":2}}}}'; {COPY}"#
    );
    let script = legacy(NOT_FOUND, &then);
    let mut opened = open(&bench, &script).await;
    assert!(matches!(next(&mut opened).await, InboundMessage::Request { token, .. } if token == r#""q1""#), "it asks");
    die(&bench.ctx, opened).await;
    std::fs::write(bench.dir.path().join("go"), "").expect("written");

    let ctx = another_core(&bench);
    let mut taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    for expected in [r#""q1""#, r#""q2""#] {
        let InboundMessage::Request { token, .. } = next(&mut taken).await else { panic!("a question") };
        assert_eq!(token, expected, "in the order in which they were asked");
        let yes = Response::Result(serde_json::value::RawValue::from_string("{}".into()).expect("JSON"));
        taken.link.respond(&token, yes).await.expect("answered");
    }
    until_written(&bench, "in", 5).await;
    die(&ctx, taken).await;

    let ctx = another_core(&bench);
    let mut last = open_in(&bench, &ctx, &script).await.expect("taken up");
    last.link.close(false).await;
    assert!(matches!(next(&mut last).await, InboundMessage::Closed(_)), "answered questions are not asked again");
}

#[tokio::test]
async fn a_child_whose_core_does_not_return_is_ended_with_its_group() {
    let keeping = KeeperPolicy { alone_limit: Duration::from_millis(300), ..KeeperPolicy::default() };
    let bench = kept(Policy { keeping, ..quick() });
    let opened = open(&bench, &legacy(NOT_FOUND, COPY)).await;
    let pid = opened.child.expect("a child");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(running_keepers(&dir(&bench)).len(), 1, "with its core it lives on");
    die(&bench.ctx, opened).await;
    until_gone(&bench, pid).await;
    until_clean(&bench).await;
}

#[tokio::test]
async fn a_child_that_no_core_can_find_any_more_is_ended() {
    let bench = kept(Policy { child_close_wait: Duration::from_millis(200), ..quick() });
    let opened = open(&bench, &legacy(NOT_FOUND, COPY)).await;
    let pid = opened.child.expect("a child");
    std::fs::remove_dir_all(dir(&bench)).expect("removed");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(ProcessGroup::of(pid).is_some_and(|group| !group.is_empty()), "with its core it lives on");
    die(&bench.ctx, opened).await;
    until_gone(&bench, pid).await;
}

#[tokio::test]
async fn a_second_core_cannot_take_a_child_away_from_the_first() {
    let keeping = KeeperPolicy { handover_limit: Duration::from_millis(50), ..KeeperPolicy::default() };
    let bench = kept(Policy { keeping, ..quick() });
    let script = modern(COPY);
    let opened = open(&bench, &script).await;
    let ctx = another_core(&bench);
    let refused = open_in(&bench, &ctx, &script).await.err().expect("refused");
    assert!(refused.to_string().contains("held by another core"), "{refused}");
    opened.link.notify("notifications/x", None).await.expect("the first one has it still");
    until_written(&bench, "in", 2).await;
    opened.link.close(false).await;
}

#[tokio::test]
async fn another_configuration_is_another_child() {
    let bench = kept(quick());
    let opened = open(&bench, &legacy(NOT_FOUND, COPY)).await;
    let pid = opened.child.expect("a child");
    die(&bench.ctx, opened).await;
    let ctx = another_core(&bench);
    let other = open_in(&bench, &ctx, &modern(COPY)).await.expect("started anew");
    assert_ne!(other.child, Some(pid), "not the one of before");
    assert!(!other.resumed, "it was greeted");
    assert!(ProcessGroup::of(pid).is_some_and(ProcessGroup::is_empty), "the old one is ended, not left beside");
    other.link.close(false).await;
}

#[tokio::test]
async fn a_child_that_ended_while_nobody_was_there_still_gives_its_last_words() {
    let bench = kept(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
while [ ! -e "$DIR/go" ]; do sleep 0.01; done
echo '{"jsonrpc":"2.0","id":3,"result":{"last":true}}'; exit 3"#;
    let script = legacy(NOT_FOUND, then);
    let opened = open(&bench, &script).await;
    let pid = opened.child.expect("a child");
    opened.link.note_call(crate::upstream::transport::link::RequestTag(1), HandleId::from_random(7), false);
    let link = std::sync::Arc::clone(&opened.link);
    tokio::select! {
        _ = link.request(ask("tools/call", 1, None)) => panic!("there is no answer yet"),
        () = until_written(&bench, "in", 4) => {}
    }
    drop(link);
    die(&bench.ctx, opened).await;
    std::fs::write(bench.dir.path().join("go"), "").expect("written");
    let ended = timeout(LIMIT, async {
        while ProcessGroup::of(pid).is_some_and(|group| !group.is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(ended.await.is_ok(), "the child ends");

    let ctx = another_core(&bench);
    let mut taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    let call = taken.regained.take().expect("kept").calls.remove(0);
    assert_eq!(text(timeout(LIMIT, call.answer).await.expect("in time")), r#"{"last":true}"#);
    taken.link.settle(call.ticket);
    assert!(closed(&mut taken).await.why.contains("exited with code 3"), "and how it ended");
    until_gone(&bench, pid).await;
}

#[tokio::test]
async fn a_kept_child_has_its_last_words_although_it_ends_faster_than_they_come() {
    let bench = kept(quick());
    let mut opened = open(&bench, &legacy(NOT_FOUND, SLOW_LAST_WORDS)).await;
    // A request without arguments, so that its words are told.
    let answer = opened.link.request(ask("tools/list", 1, None)).await;
    assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the reply is lost: {answer:?}");
    assert_eq!(closed(&mut opened).await.why, "`/bin/sh` exited with code 3; it said last: `my last words`");
    until_clean(&bench).await;
}

#[tokio::test]
async fn a_killed_keeper_leaves_no_child_behind() {
    let bench = kept(quick());
    let mut opened = open(&bench, &legacy(NOT_FOUND, "trap '' HUP; while :; do sleep 1; done")).await;
    let pid = opened.child.expect("a child");
    let kill = |pid: u32| {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("not zero");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    };
    kill(running_keepers(&dir(&bench))[0]);
    assert!(closed(&mut opened).await.why.contains("keeper is gone"), "the core says what happened");
    until_gone(&bench, pid).await;

    let opened = open(&bench, &legacy(NOT_FOUND, "trap '' HUP; while :; do sleep 1; done")).await;
    let pid = opened.child.expect("a child");
    let keeper = running_keepers(&dir(&bench))[0];
    die(&bench.ctx, opened).await;
    kill(keeper);
    let ended = timeout(LIMIT, async {
        loop {
            let ended = end_abandoned_children(&dir(&bench), &bench.ctx.policy).await;
            if !ended.is_empty() {
                return ended;
            }
        }
    });
    assert_eq!(ended.await.expect("in time").first().map(|one| one.pid), Some(pid), "the next core ends it");
    until_gone(&bench, pid).await;
}

#[tokio::test]
async fn what_cannot_be_started_says_so_as_without_a_keeper() {
    let bench = kept(quick());
    let mut launch = bench.launch("");
    launch.command = "/nowhere/at/all".into();
    let opening = crate::upstream::transport::stdio::open(launch, Some("server"), None, &bench.ctx);
    let error = timeout(LIMIT, opening).await.expect("in time").err().expect("no such command");
    assert!(matches!(&error, OpenError::NotFound { why, .. } if why.contains("/nowhere/at/all")), "{error:?}");
    until_clean(&bench).await;
}

#[tokio::test]
async fn without_a_keeper_program_the_child_is_held_here() {
    let mut bench = kept(quick());
    bench.ctx.keeper = Some(KeeperProgram { command: vec!["/nowhere/keeper".into()], dir: dir(&bench), key: key() });
    let opened = open(&bench, &legacy(NOT_FOUND, COPY)).await;
    assert_eq!(bench.records(), 1, "as it was before there were keepers");
    opened.link.close(false).await;
}

#[tokio::test]
async fn a_child_that_reads_nothing_holds_up_its_input_and_not_its_output() {
    let policy = Policy { keeping: KeeperPolicy { input_bytes: 1_000, ..KeeperPolicy::default() }, ..quick() };
    let bench = kept(policy);
    let then = r#"i=0; while [ ! -e "$DIR/go" ]; do sleep 0.01; done
echo '{"jsonrpc":"2.0","method":"notifications/said"}'; while :; do sleep 1; done"#;
    let mut opened = open(&bench, &legacy(NOT_FOUND, then)).await;
    let big = serde_json::value::RawValue::from_string(format!("[\"{}\"]", "x".repeat(300_000))).expect("JSON");
    let (link, same) = (std::sync::Arc::clone(&opened.link), std::sync::Arc::clone(&opened.link));
    tokio::select! {
        _ = async {
            // More than the pipe takes: one waits in the keeper, the next in the core.
            let _ = tokio::join!(link.notify("notifications/a", Some(&big)), same.notify("notifications/b", Some(&big)));
        } => panic!("nobody reads that"),
        said = async {
            std::fs::write(bench.dir.path().join("go"), "").expect("written");
            next(&mut opened).await
        } => assert!(matches!(said, InboundMessage::Notification { .. }), "what it says is heard"),
    }
    opened.link.close(false).await;
    let later = opened.link.request(ask("tools/call", 2, None)).await;
    assert!(matches!(later, Err(LinkError::Broken { sent: false, .. })), "nothing leaves any more");
}

/// What a program at the door is told before it proved anything, and after it answered with `proof`.
async fn knock(place: &std::path::Path, proof: &[u8]) -> (Option<FrameKind>, Option<FrameKind>) {
    use tokio::io::AsyncWriteExt as _;
    let (from, mut to) = UnixStream::connect(place.join("s")).await.expect("the socket is open").into_split();
    let mut frames = FrameReader::new(from, 1 << 20);
    let first = timeout(LIMIT, frames.next()).await.expect("in time").expect("readable").map(|frame| frame.kind);
    let mut bytes = Vec::new();
    KeeperFrame::new(FrameKind::Proof, 0, proof.to_vec()).put(&mut bytes);
    KeeperFrame::bare(FrameKind::End, 0).put(&mut bytes);
    // A keeper that closed already has refused.
    let _ = to.write_all(&bytes).await;
    let second = timeout(LIMIT, frames.next()).await.expect("in time").unwrap_or(None).map(|frame| frame.kind);
    (first, second)
}

fn only_place(bench: &Bench) -> PathBuf {
    let mut folders = std::fs::read_dir(dir(bench)).expect("the folder of keepers").filter_map(Result::ok);
    folders.next().expect("one keeper").path()
}

#[tokio::test]
async fn the_program_of_the_core_itself_is_let_in_by_nothing_but_the_secret() {
    let bench = kept(quick());
    let script = legacy(NOT_FOUND, COPY);
    let opened = open(&bench, &script).await;
    let (pid, place) = (opened.child, only_place(&bench));
    die(&bench.ctx, opened).await;
    for proof in [vec![0; 64], vec![7; 64], vec![1; 3]] {
        let told = knock(&place, &proof).await;
        assert_eq!(told, (Some(FrameKind::Challenge), None), "it is challenged, and told nothing of the child");
    }
    let mut other = another_core(&bench);
    other.keeper = other.keeper.map(|program| KeeperProgram { key: KeeperKey::derive(&[8; 32]), ..program });
    let started = open_in(&bench, &other, &script).await.expect("a core with another key starts its own");
    assert!(started.child != pid && !started.resumed, "and does not get this one");
    started.link.close(false).await;
    let ctx = another_core(&bench);
    let taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    assert_eq!((taken.child, taken.resumed), (pid, true), "the core that knows it is let in");
    taken.link.close(false).await;
}

#[tokio::test]
async fn programs_that_wait_at_the_door_do_not_keep_the_core_out() {
    let keeping = KeeperPolicy { proof_limit: Duration::from_millis(300), ..KeeperPolicy::default() };
    let bench = kept(Policy { keeping, ..quick() });
    let script = legacy(NOT_FOUND, COPY);
    let opened = open(&bench, &script).await;
    let (pid, place) = (opened.child, only_place(&bench));
    die(&bench.ctx, opened).await;
    let mut silent = Vec::new();
    for _ in 0..32 {
        silent.push(UnixStream::connect(place.join("s")).await.expect("the socket is open"));
    }
    let ctx = another_core(&bench);
    let taken = open_in(&bench, &ctx, &script).await.expect("taken up");
    assert_eq!((taken.child, taken.resumed), (pid, true), "it is let in when the silent ones are sent away");
    drop(silent);
    taken.link.close(false).await;
}

#[tokio::test]
async fn what_left_its_group_and_lost_its_parent_stays_below_the_keeper_and_ends_with_the_child() {
    let bench = kept(quick());
    let then = format!(
        r#"(setsid sh -c 'echo $$ > "$DIR/orphan"; exec sleep 1000' > /dev/null 2>&1 < /dev/null &)
{COPY}"#
    );
    let opened = open(&bench, &legacy(NOT_FOUND, &then)).await;
    let read = || std::fs::read_to_string(bench.dir.path().join("orphan")).ok()?.trim().parse::<u32>().ok();
    let orphan = timeout(LIMIT, async {
        loop {
            if let Some(orphan) = read() {
                return orphan;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let orphan = orphan.await.expect("it is started");
    let parent = timeout(LIMIT, async {
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{orphan}/stat")).expect("it lives");
            let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
            if parent == running_keepers(&dir(&bench)).first().copied() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(parent.await.is_ok(), "the keeper is its parent");
    opened.link.close(false).await;
    until_clean(&bench).await;
    assert_eq!(start_time(orphan), None, "it ended before its keeper did");
}

#[tokio::test]
async fn a_keeper_of_a_version_without_secrets_is_ended_with_its_child() {
    let bench = kept(quick());
    let mut keeper = std::process::Command::new("sleep").arg("1000").spawn().expect("started");
    let place = dir(&bench).join("0123456789abcd");
    std::fs::create_dir_all(&place).expect("a folder");
    let process = serde_json::json!({"pid": keeper.id(), "start": start_time(keeper.id())});
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("readable");
    let who = serde_json::json!({"keeper": process, "child": process, "boot": boot.trim(), "command": "server"});
    std::fs::write(place.join("who"), who.to_string()).expect("written");
    let ended = timeout(LIMIT, end_abandoned_children(&dir(&bench), &bench.ctx.policy)).await.expect("in time");
    assert_eq!(ended.first().map(|one| one.pid), Some(keeper.id()), "it is told");
    assert!(keeper.wait().expect("ended").code().is_none(), "it was asked to end");
    until_clean(&bench).await;
}
