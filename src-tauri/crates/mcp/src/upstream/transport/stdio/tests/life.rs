//! How children end, and what is left of them.

use std::path::Path;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Secret;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::peer::{Bench, COPY, LIMIT, NOT_FOUND, SLOW_LAST_WORDS, ask, closed, legacy, modern, quick};
use crate::upstream::transport::link::{InboundMessage, LinkError};
use crate::upstream::transport::stdio::open;
use keeper::{ProcessGroup, end_recorded_children};

#[tokio::test]
async fn a_child_that_dies_fails_what_waits_and_says_how() {
    let bench = Bench::new(quick());
    let then = "read -r line; echo 'out of memory' >&2; kill -9 $$";
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the reply is lost: {answer:?}");
    let closure = closed(&mut opened).await;
    assert_eq!(closure.why, "`/bin/sh` was ended by signal 9", "its words may repeat arguments of the call");
    assert!(closure.hint.contains("servers log"), "{}", closure.hint);
    assert!(opened.link.stderr_tail().contains("out of memory"), "there they are: {}", opened.link.stderr_tail());
    assert!(closure.process_ended, "its tasks died with it");
    let later = opened.link.request(ask("tools/call", 2, None)).await;
    assert!(matches!(later, Err(LinkError::Broken { sent: false, .. })), "nothing leaves any more");
    assert!(opened.inbound.next().await.is_none(), "`Closed` is last");
}

#[tokio::test]
async fn a_child_has_its_last_words_although_it_ends_faster_than_they_come() {
    let bench = Bench::new(quick());
    let mut opened = bench.open(&legacy(NOT_FOUND, SLOW_LAST_WORDS)).await.expect("a server with a handshake");
    // A request without arguments, so that its words are told.
    let answer = opened.link.request(ask("tools/list", 1, None)).await;
    assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the reply is lost: {answer:?}");
    assert_eq!(closed(&mut opened).await.why, "`/bin/sh` exited with code 3; it said last: `my last words`");
}

/// A grandchild in the same group that ignores hangups; its pid is in `$DIR/grandchild`.
const GRANDCHILD: &str = r#"sh -c 'trap "" HUP; echo $$ > "$DIR/grandchild"; while :; do sleep 1; done' > /dev/null 2>&1 &
while [ ! -s "$DIR/grandchild" ]; do sleep 0.01; done"#;

fn alive(pid_file: &Path) -> bool {
    let pid: u32 = std::fs::read_to_string(pid_file).expect("written").trim().parse().expect("a pid");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes().first()), None | Some(Some(b'Z' | b'X')))
}

async fn until_gone(pid_file: &Path) {
    let gone = timeout(LIMIT, async {
        while alive(pid_file) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(gone.await.is_ok(), "the grandchild is left behind");
}

#[tokio::test]
async fn closing_ends_child_and_grandchildren_in_order() {
    let bench = Bench::new(quick());
    let then = format!("{GRANDCHILD}\n{COPY}; echo done > \"$DIR/orderly\"");
    let mut opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    let pid = opened.child.expect("a child");
    assert_eq!(bench.records(), 1, "the child is on record");
    until_written_any(&bench.dir.path().join("grandchild")).await;
    opened.link.close(false).await;
    assert!(bench.dir.path().join("orderly").exists(), "it saw the end of its input first");
    assert!(!alive(&bench.dir.path().join("grandchild")), "nobody is left when close returns");
    // What was killed stays in the group until init has reaped it.
    let group = ProcessGroup::of(pid).expect("a group");
    assert!(group.emptied(LIMIT, Duration::from_millis(5)).await, "the group is empty");
    assert_eq!(bench.records(), 0, "the record is gone");
    assert!(closed(&mut opened).await.why.contains("ended by Taskwarden"), "it says who ended it");
}

async fn until_written_any(path: &Path) {
    let there = timeout(LIMIT, async {
        while std::fs::read_to_string(path).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(there.await.is_ok(), "nothing in {}", path.display());
}

#[tokio::test]
async fn a_child_that_ignores_everything_is_killed_with_its_group() {
    let policy =
        Policy { child_close_wait: Duration::from_millis(100), child_term_wait: Duration::from_millis(100), ..quick() };
    let bench = Bench::new(policy);
    let then = format!("trap '' TERM HUP; {GRANDCHILD}\nwhile :; do sleep 1; done");
    let opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    until_written_any(&bench.dir.path().join("grandchild")).await;
    timeout(LIMIT, opened.link.close(false)).await.expect("the end is certain");
    until_gone(&bench.dir.path().join("grandchild")).await;
}

#[tokio::test]
async fn dropping_the_link_and_stopping_the_core_leave_nobody_behind() {
    let bench = Bench::new(quick());
    let then = format!("{GRANDCHILD}\n{COPY}");
    let opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    until_written_any(&bench.dir.path().join("grandchild")).await;
    drop(opened);
    until_gone(&bench.dir.path().join("grandchild")).await;

    let bench = Bench::new(quick());
    let opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    until_written_any(&bench.dir.path().join("grandchild")).await;
    let ended = bench.ctx.supervisor.stop(LIMIT).await;
    assert!(ended, "all tasks of the child end with the core");
    assert!(!alive(&bench.dir.path().join("grandchild")), "the group ended first");
    drop(opened);
}

#[tokio::test]
async fn when_the_child_ends_by_itself_its_grandchildren_end_too() {
    let bench = Bench::new(quick());
    let then = format!("{GRANDCHILD}\nexit 0");
    let mut opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    closed(&mut opened).await;
    until_gone(&bench.dir.path().join("grandchild")).await;
}

#[tokio::test]
async fn a_child_sees_the_basics_and_its_configuration_and_nothing_else() {
    let bench = Bench::new(quick());
    let mut launch = bench.launch(&format!("env > \"$DIR/env\"\n{}", modern(COPY)));
    launch.secret_env.insert("API_KEY".into(), Secret::new("s3cret-value"));
    let opened = timeout(LIMIT, open(launch, None, None, &bench.ctx)).await.expect("in time").expect("opened");
    let env = std::fs::read_to_string(bench.dir.path().join("env")).expect("written");
    assert!(env.lines().any(|line| line == "API_KEY=s3cret-value"), "the configured secret is there");
    let may_be_there = |name: &str| {
        let fine = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "API_KEY", "DIR", "PWD", "OLDPWD", "SHLVL", "_"];
        fine.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
    };
    for name in env.lines().filter_map(|line| line.split('=').next()) {
        assert!(may_be_there(name), "`{name}` was inherited");
    }
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).find(|name| !may_be_there(name));
    assert!(ours.is_some(), "there was something not to inherit");
    opened.link.close(false).await;
}

#[tokio::test]
async fn stderr_is_kept_bounded_without_secrets_and_control_characters() {
    let bench = Bench::new(Policy { stderr_kept_bytes: 200, ..quick() });
    let script = format!(
        "i=0; while [ $i -lt 100 ]; do echo line-$i >&2; i=$((i+1)); done; printf '\\033[31mkey is %s\\n' \"$API_KEY\" >&2\n{}",
        modern(COPY)
    );
    let mut launch = bench.launch(&script);
    launch.secret_env.insert("API_KEY".into(), Secret::new("s3cret-value"));
    let opened = timeout(LIMIT, open(launch, None, None, &bench.ctx)).await.expect("in time").expect("opened");
    let seen = timeout(LIMIT, async {
        while !opened.link.stderr_tail().contains("key is") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(seen.await.is_ok(), "the end is kept: {}", opened.link.stderr_tail());
    let tail = opened.link.stderr_tail();
    assert!(tail.len() <= 210 && !tail.contains("line-0\n"), "only the end: {tail}");
    assert!(tail.contains("key is …") && !tail.contains('\u{1b}'), "neither secret nor escape: {tail}");
}

#[tokio::test]
async fn leftovers_of_a_crashed_core_are_ended_and_strangers_are_not() {
    let bench = Bench::new(quick());
    let children = bench.dir.path().join("children");
    let opened = bench.open(&legacy(NOT_FOUND, "trap '' HUP; while :; do sleep 1; done")).await.expect("opened");
    let pid = opened.child.expect("a child");
    let record = std::fs::read_to_string(children.join(pid.to_string())).expect("on record");
    let start: Value = serde_json::from_str(&record).expect("JSON");
    let mut stranger = start.clone();
    stranger["start"] = json!(start["start"].as_u64().expect("ticks") + 1);
    std::fs::write(children.join(pid.to_string()), stranger.to_string()).expect("written");
    let policy = &bench.ctx.policy;
    assert_eq!(end_recorded_children(&children, policy).await, [], "another start time is another process");
    assert!(ProcessGroup::of(pid).is_some_and(|group| !group.is_empty()), "the stranger lives");

    std::fs::write(children.join(pid.to_string()), record).expect("written");
    let ended = end_recorded_children(&children, policy).await;
    assert_eq!(ended.iter().map(|one| one.pid).collect::<Vec<_>>(), [pid], "ours is ended");
    assert_eq!(bench.records(), 0, "records are removed");
    drop(opened);
}

#[tokio::test]
async fn a_flood_that_nobody_takes_is_bounded_and_ends_the_link_with_a_reason() {
    let bench = Bench::new(Policy { reply_limit: Duration::from_millis(200), ..quick() });
    let flood = r#"while :; do echo '{"jsonrpc":"2.0","method":"notifications/x"}'; done"#;
    let mut opened = bench.open(&legacy(NOT_FOUND, flood)).await.expect("opened");
    // Nobody reads for a while: the pending request must fail, and the reason must come after what was kept.
    let answer = timeout(LIMIT, opened.link.request(ask("tools/call", 1, None))).await.expect("no wait for ever");
    assert!(matches!(answer, Err(LinkError::Broken { .. })), "{answer:?}");
    let mut kept = 0;
    let closure = loop {
        match timeout(LIMIT, opened.inbound.next()).await.expect("in time") {
            Some(InboundMessage::Closed(closure)) => break closure,
            Some(_) => kept += 1,
            None => panic!("`Closed` is always last"),
        }
    };
    assert!(kept >= 256, "what was kept is not lost: {kept}");
    assert!(closure.why.contains("sends more than is taken"), "{}", closure.why);
}
