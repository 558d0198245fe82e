//! Statements 1-9: what is said first, and what an answer, an error, silence and an end mean for the era.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::hostile::{self, Deed};
use tests::peers;

use super::{Log, add_command, add_url, error, modern, no_method, result, result_text, task_2026};
use crate::{PROGRAM, RMCP_PEER};

/// A shell that is a server: notes each line in `$LOG`, does `probe` on `server/discover`, and speaks 2025-11-25.
fn shell(probe: &str) -> Vec<String> {
    let script = format!(
        r#"while read -r line; do
printf '%s\n' "$line" >> "$LOG"
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case "$line" in
*'"server/discover"'*) {probe} ;;
*'"initialize"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"shell","version":"1"}}}}}}' ;;
*'"tools/list"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":[]}}}}' ;;
esac
done"#
    );
    vec!["sh".into(), "-c".into(), script]
}

fn said(home: &Home, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(home.path().join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("we write JSON lines")).collect()
}

fn methods(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["method"].as_str()).collect()
}

#[test]
fn s01_s03_s04_s05_whatever_a_child_makes_of_the_probe_it_is_greeted_the_old_way() {
    let home = Home::new(PROGRAM);
    // A child that says nothing at all gets half a minute for its first start; here it is known to be quick.
    let _core = home.serve_with(&[("TASKWARDEN_POLICY_PROBE_FIRST_OUTPUT", "1s")]);
    let refusal = |code: i64| {
        format!(r#"echo '{{"jsonrpc":"2.0","id":'$id',"error":{{"code":{code},"message":"what is this"}}}}'"#)
    };
    let late = r#"late=$id; read -r line; printf '%s\n' "$line" >> "$LOG"
echo '{"jsonrpc":"2.0","id":'$late',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}'
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}'"#;
    for (name, probe) in [
        ("not-found", refusal(-32_601)),
        ("params", refusal(-32_602)),
        ("invalid", refusal(-32_600)),
        ("own-code", refusal(-32_000)),
        ("silent", ":".to_owned()),
        ("late", late.to_owned()),
        ("ends", "exit 1".to_owned()),
    ] {
        let log = format!("LOG={}", home.path().join(name).display());
        let server = add_command(&home, name, &[log], &shell(&probe));
        assert_eq!(server["era"], "legacy", "`{name}` speaks the old way: {server}");
        let lines = said(&home, name);
        let meta = &lines[0]["params"]["_meta"];
        assert_eq!(lines[0]["method"], "server/discover", "the probe comes first: {lines:?}");
        assert!(meta["io.modelcontextprotocol/protocolVersion"].is_string(), "with its version: {meta}");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "and what we can do: {meta}");
        assert_eq!(methods(&lines)[..2], ["server/discover", "initialize"], "`{name}`: one probe, one handshake");
        assert_eq!(lines[1]["params"]["_meta"], Value::Null, "the handshake is of its own era: {}", lines[1]);
        let probes = methods(&lines).iter().filter(|method| **method == "server/discover").count();
        assert_eq!(probes, 1, "`{name}` is probed once, also when it is started twice: {lines:?}");
    }
}

#[test]
fn s02_an_unsupported_version_is_tried_again_with_a_listed_one_and_never_the_old_way() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let probe = r#"if [ -e "$LOG.once" ]; then
echo '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}'
else touch "$LOG.once"
echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32022,"message":"version","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}'
fi"#;
    let log = format!("LOG={}", home.path().join("picky").display());
    let server = add_command(&home, "picky", &[log], &shell(probe));
    assert_eq!((&server["era"], &server["dialect"]), (&json!("modern"), &json!("none")), "{server}");
    let lines = said(&home, "picky");
    assert_eq!(methods(&lines)[..2], ["server/discover", "server/discover"], "tried again: {lines:?}");
    assert!(!methods(&lines).contains(&"initialize"), "never the old way: {lines:?}");

    let log = Log::default();
    let web = log.serve(|asked| {
        let data = json!({"supported": ["2031-01-01"], "requested": "2026-07-28"});
        error(asked, "400 Bad Request", -32_022, "unsupported version", &data)
    });
    let ran = home.run(["servers", "add", "future", "--yes", "--url", &web.url()]);
    assert!(ran.err.contains("2031-01-01"), "what it speaks is named: {}", ran.err);
    assert!(log.methods().iter().all(|asked| asked == "POST server/discover"), "and no old way: {:?}", log.methods());
}

#[test]
fn s01_s12_rmcp_over_stdio_is_modern_and_its_tasks_are_followed_answered_and_stopped() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let server = add_command(&home, "rmcp", &[], &[RMCP_PEER.into(), "stdio".into()]);
    assert_eq!((&server["era"], &server["dialect"]), (&json!("modern"), &json!("2026-07-28")), "{server}");
    let id = home.call("rmcp", "slow_sum", &json!({"a": 40, "b": 2}));
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("42"));
    let asked = home.call("rmcp", "ask_name", &json!({}));
    home.wait_phase(&asked, "waiting");
    let answered = home.run(["tasks", "answer", &asked, "--accept", r#"{"name":"Ada"}"#]);
    assert_eq!(answered.code, 0, "{}", answered.err);
    home.wait_phase(&asked, "done");
    assert!(result_text(&home, &asked).contains("accept: Ada"));
    let forever = home.call("rmcp", "forever", &json!({}));
    assert_eq!(home.run(["tasks", "cancel", &forever, "--yes", "--wait"]).code, 0);
    home.wait_phase(&forever, "cancelled");
}

#[test]
fn s06_s07_over_http_only_a_refusal_without_a_modern_body_leads_to_older_ways() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let modern_error = || {
        let log = Log::default();
        let server = log.serve(|asked| {
            let data = json!({"requiredCapabilities": {"sampling": {}}});
            error(asked, "400 Bad Request", -32_021, "cannot do without", &data)
        });
        (log, server)
    };
    let status = |line: &'static str, kind: &'static str, body: &'static str| {
        let log = Log::default();
        let server = log.serve(move |_| Deed::Say(hostile::with_type(line, kind, body.as_bytes())));
        (log, server)
    };
    let discover_only: &[&str] = &["POST server/discover"];
    let all_ways: &[&str] = &["POST server/discover", "POST initialize", "GET "];
    for (name, (log, server), ways) in [
        ("modern-error", modern_error(), discover_only),
        ("sign-in", status("401 Unauthorized", "text/plain", "no"), discover_only),
        ("forbidden", status("403 Forbidden", "text/plain", "no"), discover_only),
        ("fault", status("503 Service Unavailable", "text/html", "<h1>later</h1>"), discover_only),
        ("empty", status("400 Bad Request", "text/plain", ""), all_ways),
        ("page", status("400 Bad Request", "text/html", "<h1>no</h1>"), all_ways),
        ("absent", status("404 Not Found", "text/plain", "no"), all_ways),
        ("other", status("405 Method Not Allowed", "text/plain", ""), all_ways),
        ("gone", status("410 Gone", "text/plain", ""), &["POST server/discover", "POST initialize"]),
    ] {
        let ran = home.run(["servers", "add", name, "--yes", "--url", &server.url()]);
        let shown = home.json(["servers", "show", name, "--json"]);
        assert_ne!(shown["health"]["kind"], "up", "`{name}` is no server: {shown}");
        let names_a_way = ran.err.contains("hint") || ran.out.contains("taskwarden servers sign-in");
        assert!(names_a_way, "`{name}`: {} {}", ran.out, ran.err);
        let mut seen = log.methods();
        seen.truncate(ways.len());
        assert_eq!(seen, ways, "`{name}` was asked in these ways first: {:?}", log.methods());
        let others = log.methods().into_iter().filter(|way| !ways.contains(&way.as_str())).count();
        assert_eq!(others, 0, "`{name}` was asked in no other way: {:?}", log.methods());
    }
}

#[test]
fn s06_a_server_that_changed_its_era_is_found_out_anew_after_a_restart() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let log = Log::default();
    let old = Arc::new(AtomicBool::new(true));
    let speaks_old = Arc::clone(&old);
    let server = log.serve(move |asked| match (speaks_old.load(Ordering::Relaxed), asked.method()) {
        (true, "initialize") => result(
            asked,
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
        ),
        (true, "tools/list") => result(asked, &json!({"tools": [{"name": "job", "inputSchema": {"type": "object"}}]})),
        (true, "notifications/initialized") => Deed::Say(hostile::json("202 Accepted", "")),
        (true, _) => Deed::Say(hostile::with_type("405 Method Not Allowed", "text/plain", b"")),
        (false, "initialize") => {
            let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
            error(asked, "400 Bad Request", -32_022, "unsupported version", &data)
        }
        (false, "tasks/get") => {
            result(asked, &task_2026("task-1", "completed", &json!({"result": {"content": []}})))
        }
        (false, _) => modern(asked, no_method),
    });
    assert_eq!(add_url(&home, "turn", &server.url(), "up")["era"], "legacy", "as it opened");
    core.kill();
    old.store(false, Ordering::Relaxed);
    let core = home.serve();
    // Until the new core has asked, it shows what the one before knew: up, and the old era.
    let shown = wait_for(
        "the new way was found",
        || Some(home.json(["servers", "show", "turn", "--json"])).filter(|server| server["era"] == "modern"),
        || home.core_log(),
    );
    assert_eq!(shown["dialect"], "2026-07-28", "{shown}");
    let id = home.call("turn", "job", &json!({}));
    home.wait_phase(&id, "done");
    core.kill();
    old.store(true, Ordering::Relaxed);
    let _core = home.serve();
    let shown = wait_for(
        "the old way was found again",
        || Some(home.json(["servers", "show", "turn", "--json"])).filter(|server| server["era"] == "legacy"),
        || home.core_log(),
    );
    assert_eq!(shown["dialect"], "none", "{shown}");
}

#[test]
fn s08_server_everything_that_comes_back_is_greeted_without_the_dead_session() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let port = peers::free_port();
    let mut peer = peers::everything_http_at("streamableHttp", port);
    add_url(&home, "web", peer.url(), "up");
    let id = home.call("web", "simulate-research-query", &json!({"topic": "bees"}));
    home.wait_phase(&id, "running");
    peer.kill();
    home.wait_phase(&id, "silent");
    let _peer = peers::everything_http_at("streamableHttp", port);
    // It refuses every session that it did not make itself: being up means that a new one was made.
    home.wait_phase(&id, "lost");
    let again = home.call("web", "get-sum", &json!({"a": 20, "b": 22}));
    home.wait_phase(&again, "done");
    assert!(result_text(&home, &again).contains("42"));
}

#[test]
fn s09_a_modern_server_sees_posts_with_both_kinds_and_nothing_of_sessions() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let server = log.serve(|asked| {
        let deed = match asked.method() {
            "tasks/get" => result(asked, &task_2026("task-1", "completed", &json!({"result": {"content": []}}))),
            _ => modern(asked, no_method),
        };
        // A session that a modern client must not take up.
        match deed {
            Deed::Say(bytes) => {
                let text = String::from_utf8(bytes).expect("our own bytes");
                Deed::Say(text.replacen("\r\n", "\r\nMcp-Session-Id: tempting\r\n", 1).into_bytes())
            }
            other => other,
        }
    });
    assert_eq!(add_url(&home, "strict", &server.url(), "up")["era"], "modern");
    let id = home.call("strict", "job", &json!({}));
    home.wait_phase(&id, "done");
    for note in log.all() {
        let about = format!("{} {}", note.verb, note.method());
        assert_eq!(note.verb, "POST", "{about}: no stream is asked for and no session ended");
        assert!(note.body.is_object(), "{about}: one message in each POST, not {}", note.body);
        let accept = note.header("accept").unwrap_or_default();
        assert!(accept.contains("application/json") && accept.contains("text/event-stream"), "{about}: {accept}");
        assert_eq!(note.header("mcp-session-id"), None, "{about}");
        assert_eq!(note.header("last-event-id"), None, "{about}");
        assert_eq!(note.header("mcp-method"), Some(note.method()), "{about}: mirrored on all");
        assert_eq!(note.header("mcp-protocol-version"), Some("2026-07-28"), "{about}");
    }
}
