//! Which era a child speaks, by what it says first.

use std::time::Duration;

use domain::policy::Policy;
use domain::server::Era;
use serde_json::json;

use super::peer::{Bench, COPY, LIMIT, ask, legacy, modern, quick, text, until_written};
use crate::upstream::transport::OpenError;
use crate::upstream::transport::stdio::{Launch, open};

#[tokio::test]
async fn the_probe_comes_first_with_both_required_keys() {
    let bench = Bench::new(quick());
    let opened = bench.open(&modern(COPY)).await.expect("a modern server");
    assert_eq!(opened.era, Era::Modern, "it answered the probe");
    assert_eq!(opened.version, "2026-07-28");
    assert!(opened.session.is_some(), "this life of the child has a name, which never goes on the wire");
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
    let short = Duration::from_millis(100);
    let bench = Bench::new(Policy { probe_silence: short, probe_first_output: short, ..quick() });
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
    let error = open(missing, None, None, &bench.ctx).await.err().expect("nothing to start");
    assert_eq!(error.to_string(), "there is no command `no-such-server-anywhere` on PATH");
    let file = bench.dir.path().join("plain");
    std::fs::write(&file, "text").expect("written");
    let plain = Launch { command: file.display().to_string(), ..bench.launch("") };
    let error = open(plain, None, None, &bench.ctx).await.err().expect("nothing to run");
    assert!(error.to_string().ends_with("may not be executed"), "{error}");
    let elsewhere = Launch { cwd: Some("/no/such/place".into()), ..bench.launch("") };
    let error = open(elsewhere, None, None, &bench.ctx).await.err().expect("nowhere to run");
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
