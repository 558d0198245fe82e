//! A child from spawn to end. The peers are shell scripts that speak exact bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::{Closure, Secret};
use domain::server::Era;
use engine::supervisor::Supervisor;
use futures::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::Launch;
use super::group::Group;
use crate::link::{Answer, Inbound, LinkError, Opened, Outgoing, Response, Tag};
use crate::transport::{OpenContext, OpenError};

const LIMIT: Duration = Duration::from_secs(20);

/// Times short enough for tests, long enough for a shell.
fn quick() -> Policy {
    Policy {
        probe_silence: Duration::from_millis(300),
        probe_first_output: Duration::from_millis(300),
        initialize_limit: Duration::from_secs(5),
        child_close_wait: Duration::from_secs(2),
        child_term_wait: Duration::from_secs(2),
        reply_limit: Duration::from_secs(5),
        ..Policy::default()
    }
}

struct Bench {
    dir: TempDir,
    ctx: OpenContext,
}

impl Bench {
    fn new(policy: Policy) -> Self {
        let dir = TempDir::new().expect("a folder for the test");
        let children = dir.path().join("children");
        let ctx = OpenContext::new(Arc::new(policy), Supervisor::new(), Arc::new(|| 42), children);
        Self { dir, ctx }
    }

    fn launch(&self, script: &str) -> Launch {
        Launch {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: BTreeMap::from([("DIR".into(), self.dir.path().display().to_string())]),
            secret_env: BTreeMap::new(),
            cwd: None,
        }
    }

    async fn open(&self, script: &str) -> Result<Opened, OpenError> {
        self.open_known(script, None).await
    }

    async fn open_known(&self, script: &str, known: Option<Era>) -> Result<Opened, OpenError> {
        timeout(LIMIT, super::open(self.launch(script), known, &self.ctx)).await.expect("opening ends in time")
    }

    fn written(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("we write JSON lines")).collect()
    }

    fn records(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("children")).map_or(0, Iterator::count)
    }
}

/// Answers `server/discover` with a modern greeting and goes on with `then`, having read `$line`.
fn modern(then: &str) -> String {
    format!(
        r#"read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}'
{then}"#
    )
}

/// Refuses the probe with `error`, answers `initialize`, takes `initialized`, and goes on with `then`.
fn legacy(error: &str, then: &str) -> String {
    format!(
        r#"read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":1,"error":{error}}}'
read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}'
read -r line; echo "$line" >> "$DIR/in"
{then}"#
    )
}

const NOT_FOUND: &str = r#"{"code":-32601,"message":"Method not found"}"#;
const COPY: &str = r#"while read -r line; do echo "$line" >> "$DIR/in"; done"#;

fn ask(method: &'static str, tag: u64, limit: Option<Duration>) -> Outgoing {
    Outgoing { method, params: json!({}), verbatim: Vec::new(), tag: Tag(tag), limit, param_headers: Vec::new() }
}

async fn closed(opened: &mut Opened) -> Closure {
    timeout(LIMIT, async {
        loop {
            match opened.inbound.next().await {
                Some(Inbound::Closed(closure)) => return closure,
                Some(_) => {}
                None => panic!("`Closed` is always last"),
            }
        }
    })
    .await
    .expect("the link says that it is over")
}

fn text(answer: Result<Answer, LinkError>) -> String {
    match answer {
        Ok(Answer::Result(raw) | Answer::Error(raw)) => raw.get().to_owned(),
        Err(error) => panic!("an answer was expected: {error}"),
    }
}

/// Waits until a file has that many lines.
async fn until_written(bench: &Bench, name: &str, lines: usize) {
    let waited = timeout(LIMIT, async {
        while bench.written(name).len() < lines {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "only {:?} of {lines} lines came", bench.written(name));
}

#[tokio::test]
async fn the_probe_comes_first_with_both_required_keys() {
    let bench = Bench::new(quick());
    let opened = bench.open(&modern(COPY)).await.expect("a modern server");
    assert_eq!(opened.era, Era::Modern, "it answered the probe");
    assert_eq!(opened.version, "2026-07-28");
    assert_eq!(opened.session, None, "modern tasks belong to the principal");
    let probe = bench.written("in").remove(0);
    assert_eq!(probe["method"], "server/discover", "nothing is said before it");
    assert_eq!(probe["jsonrpc"], "2.0");
    let meta = &probe["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}),
        "elicitation and tasks, no sampling and no roots"
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "taskwarden");
    opened.link.close(false).await;
}

#[tokio::test]
async fn an_unsupported_version_is_tried_again_and_never_leads_to_the_handshake() {
    let bench = Bench::new(quick());
    let script = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}}'
read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}'
cat > /dev/null"#;
    let opened = bench.open(script).await.expect("the second try fits");
    assert_eq!(opened.era, Era::Modern);
    assert!(bench.written("in").iter().all(|line| line["method"] == "server/discover"), "no `initialize`");

    let foreign = Bench::new(quick());
    let script = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}}'
while read -r line; do echo "$line" >> "$DIR/in"; done"#;
    let error = foreign.open(script).await.err().expect("no version in common");
    assert!(matches!(&error, OpenError::NotMcp { why, .. } if why.contains("2031-01-01")), "it names theirs: {error}");
    assert_eq!(foreign.written("in").len(), 1, "no `initialize` follows");
}

#[tokio::test]
async fn any_other_error_leads_to_the_handshake() {
    for code in [-32_601, -32_602, -32_600, -32_000] {
        let bench = Bench::new(quick());
        let error = format!(r#"{{"code":{code},"message":"no"}}"#);
        let opened = bench.open(&legacy(&error, COPY)).await.expect("a server with a handshake");
        assert_eq!(opened.era, Era::Legacy, "code {code}");
        assert_eq!(opened.version, "2025-11-25");
        until_written(&bench, "in", 3).await;
        let said = bench.written("in");
        assert_eq!(said[1]["method"], "initialize");
        assert_eq!(
            said[1]["params"]["capabilities"],
            json!({"elicitation":{"form":{},"url":{}}}),
            "no extensions, sampling, roots or tasks of our own"
        );
        assert_eq!(said[1]["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(said[2], json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
        opened.link.close(false).await;
    }
}

#[tokio::test]
async fn silence_leads_to_the_handshake_and_a_late_reply_is_ignored() {
    let bench = Bench::new(quick());
    let script = r#"read -r line; read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}'
echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}'
read -r line; read -r line
echo '{"jsonrpc":"2.0","id":3,"result":{"fine":true}}'
cat > /dev/null"#;
    let opened = bench.open(script).await.expect("it answers the handshake");
    assert_eq!((opened.era, opened.version.as_str()), (Era::Legacy, "2024-11-05"), "the late reply decides nothing");
    let answer = opened.link.request(ask("tools/list", 1, Some(LIMIT))).await;
    assert_eq!(text(answer), r#"{"fine":true}"#, "the link works on");
}

#[tokio::test]
async fn a_child_that_ends_on_the_probe_is_started_once_more_and_greeted_the_old_way() {
    let bench = Bench::new(quick());
    let script = format!(
        r#"echo x >> "$DIR/starts"
if [ $(wc -l < "$DIR/starts") = 1 ]; then read -r line; exit 3; fi
read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}}'
{COPY}"#
    );
    let opened = bench.open(&script).await.expect("its second life");
    assert_eq!(opened.era, Era::Legacy);
    assert_eq!(bench.written("in")[0]["method"], "initialize", "no second probe");
}

#[tokio::test]
async fn a_child_that_always_ends_is_told_with_code_and_its_last_words() {
    let bench = Bench::new(quick());
    let script = r#"echo x >> "$DIR/starts"; echo "warming up" >&2; echo "no API key is set" >&2; exit 7"#;
    let error = bench.open(script).await.err().expect("it never spoke");
    let OpenError::Exited { why, hint, stderr } = error else { panic!("it exited: {error}") };
    assert_eq!(why, "`/bin/sh` exited with code 7; it said last: `no API key is set`");
    assert!(!hint.is_empty() && stderr.contains("warming up"), "all of its words are kept: {stderr}");
    let starts = std::fs::read_to_string(bench.dir.path().join("starts")).expect("it was started");
    assert_eq!(starts.lines().count(), 2, "one respawn, not more");
    assert_eq!(bench.records(), 0, "no record stays behind");
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_named_with_a_cure() {
    let bench = Bench::new(quick());
    let missing = Launch { command: "no-such-server-anywhere".into(), ..bench.launch("") };
    let error = super::open(missing, None, &bench.ctx).await.err().expect("nothing to start");
    assert_eq!(error.to_string(), "there is no command `no-such-server-anywhere` on PATH");
    let file = bench.dir.path().join("plain");
    std::fs::write(&file, "text").expect("written");
    let plain = Launch { command: file.display().to_string(), ..bench.launch("") };
    let error = super::open(plain, None, &bench.ctx).await.err().expect("nothing to run");
    assert!(error.to_string().ends_with("may not be executed"), "{error}");
    let elsewhere = Launch { cwd: Some("/no/such/place".into()), ..bench.launch("") };
    let error = super::open(elsewhere, None, &bench.ctx).await.err().expect("nowhere to run");
    assert!(error.to_string().contains("no working directory `/no/such/place`"), "{error}");
}

#[tokio::test]
async fn a_cached_verdict_skips_the_probe_and_is_probed_anew_when_it_fails() {
    let bench = Bench::new(quick());
    let script = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
cat > /dev/null"#;
    let opened = bench.open_known(script, Some(Era::Legacy)).await.expect("as before");
    assert_eq!(opened.era, Era::Legacy);
    assert_eq!(bench.written("in")[0]["method"], "initialize", "no probe");

    let bench = Bench::new(quick());
    let script = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no handshake here"}}'
read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
cat > /dev/null"#;
    let opened = bench.open_known(script, Some(Era::Legacy)).await.expect("it became modern");
    assert_eq!(opened.era, Era::Modern, "the server was updated");
}

#[tokio::test]
async fn every_modern_request_carries_the_meta_and_keeps_the_callers_keys() {
    let bench = Bench::new(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}'; cat > /dev/null"#;
    let opened = bench.open(&modern(then)).await.expect("a modern server");
    let raw = serde_json::value::RawValue::from_string("{\"n\": 1.0,\n \"big\": 12345678901234567890123}".into());
    let outgoing = Outgoing {
        params: json!({"name":"t","_meta":{"progressToken":"p-1"}}),
        verbatim: vec![("arguments", raw.expect("JSON"))],
        ..ask("tools/call", 5, None)
    };
    opened.link.request(outgoing).await.expect("answered");
    let line = std::fs::read_to_string(bench.dir.path().join("in")).expect("written");
    let sent = line.lines().nth(1).expect("one line, though the arguments had a line break");
    assert!(sent.contains(r#""arguments":{"n": 1.0,  "big": 12345678901234567890123}"#), "verbatim: {sent}");
    let sent: Value = serde_json::from_str(sent).expect("JSON");
    assert_eq!(sent["params"]["_meta"]["progressToken"], "p-1", "the caller's key stays");
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn in_the_modern_era_nothing_is_answered_and_cancels_are_notifications() {
    let bench = Bench::new(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":"s1","method":"ping"}'
echo '{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{}}'
echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
while read -r line; do echo "$line" >> "$DIR/in"; done"#;
    let mut opened = bench.open(&modern(then)).await.expect("a modern server");
    let link = opened.link.clone();
    let waiting = link.request(ask("tools/call", 9, None));
    let cancel = async {
        let first = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
        assert!(
            matches!(&first, Some(Inbound::Notification { method, .. }) if method == "notifications/message"),
            "requests of the server are not heard: {first:?}"
        );
        link.cancel(Tag(9), Some("enough".into())).await
    };
    let (answer, cancelled) = tokio::join!(waiting, cancel);
    cancelled.expect("the cancel is written");
    assert!(matches!(answer, Err(LinkError::Broken { sent: true, .. })), "the request ends: {answer:?}");
    until_written(&bench, "in", 3).await;
    let said = bench.written("in");
    assert_eq!(
        said[2],
        json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}),
        "and no answer was ever written"
    );
}

#[tokio::test]
async fn questions_are_answered_once_and_withdrawn_ones_not_at_all() {
    let bench = Bench::new(quick());
    let then = r#"echo '{"jsonrpc":"2.0","id":1.0,"method":"elicitation/create","params":{"message":"a"}}'
echo '{"jsonrpc":"2.0","id":"q-2","method":"elicitation/create","params":{"message":"b"}}'
echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q-2"}}'
while read -r line; do echo "$line" >> "$DIR/in"; done"#;
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    let mut tokens = Vec::new();
    for _ in 0..3 {
        match timeout(LIMIT, opened.inbound.next()).await.expect("in time") {
            Some(Inbound::Request { token, .. }) => tokens.push(token),
            Some(Inbound::Notification { method, .. }) => tokens.push(method),
            other => panic!("in order of arrival: {other:?}"),
        }
    }
    assert_eq!(tokens, ["1", "\"q-2\"", "notifications/cancelled"], "statement 14, and tokens are the ids");
    let reply = Response::Result(json!({"action":"decline"}));
    opened.link.respond("1", reply.clone()).await.expect("pending");
    for gone in ["1", "\"q-2\""] {
        let again = opened.link.respond(gone, reply.clone()).await;
        assert!(matches!(again, Err(LinkError::Broken { sent: false, .. })), "not pending: {gone}");
    }
    until_written(&bench, "in", 4).await;
    assert_eq!(bench.written("in")[3], json!({"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}));
}

#[tokio::test]
async fn a_request_without_answer_is_given_up_cancelled_and_forgotten() {
    let bench = Bench::new(quick());
    let opened = bench.open(&legacy(NOT_FOUND, COPY)).await.expect("a server with a handshake");
    let limit = Duration::from_millis(50);
    let answer = opened.link.request(ask("tasks/get", 3, Some(limit))).await;
    assert_eq!(answer.err(), Some(LinkError::NoAnswer(limit)));
    until_written(&bench, "in", 5).await;
    assert_eq!(bench.written("in")[4]["params"]["requestId"], 3, "the server is told");
}

#[tokio::test]
async fn an_oversized_answer_fails_its_request_and_the_link_lives_on() {
    let bench = Bench::new(Policy { message_cap_bytes: 65_536, ..quick() });
    let then = r#"read -r line
printf '{"jsonrpc":"2.0","result":{"id":99,"t":"%0100000d"},"id":3}\n' 0
read -r line
echo 'Listening on port 3000'
echo '{"jsonrpc":"2.0","id":4,"result":{},"error":{}}'
read -r line
printf '{"jsonrpc":"2.0","id":5,"result":{"t":"\377"}}\n'
read -r line
echo '{"jsonrpc":"2.0","id":6,"result":{"fine":1}}'; cat > /dev/null"#;
    let opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    for (wanted, what) in [("65536 bytes", "too large"), ("neither", "not a message"), ("UTF-8", "not text")] {
        let answer = opened.link.request(ask("tools/call", 1, None)).await;
        let Err(LinkError::Unreadable { why, .. }) = answer else { panic!("{what}: {answer:?}") };
        assert!(why.contains(wanted), "{what}: {why}");
    }
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert_eq!(text(answer), r#"{"fine":1}"#, "one bad answer ends one request");
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deep_fails_its_request() {
    let bench = Bench::new(quick());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let then = format!(r#"read -r line; echo '{{"jsonrpc":"2.0","id":3,"result":{deep}}}'; cat > /dev/null"#);
    let opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert!(
        matches!(&answer, Err(LinkError::Unreadable { why, .. }) if why.contains("deeper than 100 levels")),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_batch_is_taken_apart_in_order() {
    let bench = Bench::new(quick());
    let then = r#"read -r line
echo '[{"jsonrpc":"2.0","method":"notifications/a"},17,{"id":3,"result":{}},{"jsonrpc":"2.0","method":"notifications/b"}]'
cat > /dev/null"#;
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    assert_eq!(text(opened.link.request(ask("tools/call", 1, None)).await), "{}");
    for expected in ["notifications/a", "notifications/b"] {
        let item = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
        assert!(matches!(&item, Some(Inbound::Notification { method, .. }) if method == expected), "{item:?}");
    }
}

#[tokio::test]
async fn a_child_that_dies_fails_what_waits_and_says_how() {
    let bench = Bench::new(quick());
    let then = "read -r line; echo 'out of memory' >&2; kill -9 $$";
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert!(matches!(&answer, Err(LinkError::Broken { sent: true, .. })), "the reply is lost: {answer:?}");
    let closure = closed(&mut opened).await;
    assert_eq!(closure.why, "`/bin/sh` was ended by signal 9; it said last: `out of memory`");
    assert!(closure.process_ended, "its tasks died with it");
    let later = opened.link.request(ask("tools/call", 2, None)).await;
    assert!(matches!(later, Err(LinkError::Broken { sent: false, .. })), "nothing leaves any more");
    assert!(opened.inbound.next().await.is_none(), "`Closed` is last");
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
    assert!(Group::of(pid).is_some_and(Group::is_empty), "the group is empty");
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
    let opened = timeout(LIMIT, super::open(launch, None, &bench.ctx)).await.expect("in time").expect("opened");
    let env = std::fs::read_to_string(bench.dir.path().join("env")).expect("written");
    assert!(env.lines().any(|line| line == "API_KEY=s3cret-value"), "the configured secret is there");
    for line in env.lines() {
        let name = line.split('=').next().unwrap_or_default();
        let fine = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "API_KEY", "DIR", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(fine.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_"), "`{name}` was inherited");
    }
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there was something not to inherit");
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
    let opened = timeout(LIMIT, super::open(launch, None, &bench.ctx)).await.expect("in time").expect("opened");
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
    assert_eq!(super::end_leftovers(&children, policy).await, [], "another start time is another process");
    assert!(Group::of(pid).is_some_and(|group| !group.is_empty()), "the stranger lives");

    std::fs::write(children.join(pid.to_string()), record).expect("written");
    let ended = super::end_leftovers(&children, policy).await;
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
            Some(Inbound::Closed(closure)) => break closure,
            Some(_) => kept += 1,
            None => panic!("`Closed` is always last"),
        }
    };
    assert!(kept >= 256, "what was kept is not lost: {kept}");
    assert!(closure.why.contains("sends more than is taken"), "{}", closure.why);
}
