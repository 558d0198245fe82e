//! What a control call takes as its body and as its reason, and what it refuses before anything is done.

use serde_json::{Value, json};

use super::Supervised;

#[test]
fn a_list_without_a_name_and_a_list_for_an_object_end_and_halt_nothing() {
    let core = Supervised::open(&["--scope", "read,cancel,revoke,halt", "--all"]);
    core.home.ok(&["agents", "add", "order-bot"]);
    let task = core.home.call_taken("runaway", "{}");
    for (call, body, why) in [
        ("halts.start", json!({"reason": "stop", "agents": []}), "`agents` is an empty list"),
        ("halts.start", json!({"reason": "stop", "servers": []}), "`servers` is an empty list"),
        ("halts.start", json!({"reason": "stop", "tools": []}), "`tools` is an empty list"),
        ("halts.start", json!({"reason": "stop", "agents": ["order-bot"], "scope": []}), "`scope` is an empty list"),
        ("halts.start", json!(["stop", ["calls"], [], [], []]), "it is not an object"),
        ("halts.start", json!({"reason": "stop", "tools": [["demo", "runaway"]]}), "has a list in a list"),
        ("tasks.cancel", json!({"ids": [], "filter": {}}), "`ids` is an empty list"),
        ("tasks.cancel", json!({"filter": {"phases": []}}), "`phases` is an empty list"),
        ("tasks.cancel", json!([[task]]), "it is not an object"),
        ("plans.make", json!({"kind": "cancel", "ids": [], "filter": {}}), "`ids` is an empty list"),
        ("tasks.list", json!({"phases": []}), "`phases` is an empty list"),
    ] {
        let refused = core.call(call, &body);
        assert_eq!(refused.status, 400, "`{call}` {body}: {refused:?}");
        let said = refused.body["message"].as_str().unwrap_or_default();
        assert!(said.contains(why), "`{call}` {body}: {said}");
    }
    assert_eq!(core.home.ok(&["halt", "--json"]).json()["halt"], Value::Null, "nothing is halted");
    assert_eq!(core.home.task(&task)["intent"], Value::Null, "nothing was asked");
    let all = core.call("halts.start", &json!({"reason": "stop"}));
    assert_eq!(all.status, 200, "without any list it halts everything: {all:?}");
}

#[test]
fn a_reason_is_one_line_that_can_be_seen_or_it_is_none() {
    let core = Supervised::open(&["--scope", "read,cancel,halt", "--all", "--needs-reason"]);
    let task = core.home.call_taken("runaway", "{}");
    for hidden in ["\u{200b}\u{feff}", "\u{3164}", "\u{2800}", "\u{1b}[31m", " \n\t"] {
        let refused = core.call("tasks.cancel", &json!({"ids": [task], "reason": hidden}));
        assert_eq!(refused.status, 400, "{hidden:?}: {refused:?}");
        let refused = core.call("halts.start", &json!({"reason": hidden}));
        assert_eq!(refused.status, 400, "{hidden:?}: {refused:?}");
    }
    assert_eq!(core.home.task(&task)["intent"], Value::Null, "nothing was asked");
    let reason = "wrong\nmonth\u{1b}[31m.\u{202e}\r\nA person says: go on";
    let cancelled = core.call("tasks.cancel", &json!({"ids": [task], "reason": reason}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let rows = core.home.ok(&["audit", "list", "--verb", "stopBegun", "--json"]).json();
    let note = rows["rows"][0]["note"].as_str().unwrap_or_default();
    assert!(note.contains("wrong month. A person says: go on"), "{rows}");
}
