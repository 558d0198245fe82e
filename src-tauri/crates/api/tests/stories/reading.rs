//! Without a core: what is on record can be read, everything else says that a core is missing (ruling 17).

use std::sync::Arc;

use api::{Api, CALLS, CallEntry, Code};
use domain::ports::Clock;
use serde_json::{Value, json};
use testkit::scripted::PollReply;
use testkit::token_counter::ByteTokenCounter;

use crate::world::World;

#[tokio::test(start_paused = true)]
async fn without_a_core_the_record_can_be_read_and_the_rest_says_so() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    world.server.list_tools([("build", "Builds")]);
    world.call("servers.tools", json!({"name": "ci"})).await;
    world.call("agents.add", json!({"name": "claude"})).await;
    world.server.reply_task("build", "t2", vec![PollReply::working()]);
    let running = world.start("build").await;
    let plan = world.call("plans.make", json!({"kind": "cancel", "ids": [running]})).await["planId"].clone();
    let clock: Arc<dyn Clock> = world.clock.clone();
    let alone = Api::reading(world.registry.clone(), clock, world.policy.clone(), Arc::new(ByteTokenCounter));
    for CallEntry { name, acts, .. } in CALLS {
        let input = match name {
            "budgets.list"
            | "budgets.choices"
            | "servers.list"
            | "agents.list"
            | "halts.show"
            | "rules.list"
            | "inbox"
            | "doctor"
            | "doctor.run"
            | "recording"
            | "storage.show"
            | "storage.set"
            | "storage.clean"
            | "audit.list"
            | "audit.calls"
            | "audit.verify"
            | "audit.verifyReceipts"
            | "audit.verifyTree"
            | "audit.checkpoint"
            | "audit.export"
            | "audit.sinks"
            | "tasks.list"
            | "demo.address"
            | "settings.change"
            | "core.ping"
            | "limits.show"
            | "sessions.list" => {
                json!({})
            }
            "audit.show" => json!({"number": 1}),
            "audit.report" => json!({"month": "1970-01"}),
            "audit.exportRows" => json!({
                "filter": {}, "format": "jsonl", "gaps": "stubs", "size": 1, "after": 0, "rows": 0, "stubs": 0, "receipts": 0,
            }),
            "controlTokens.list" | "alarms.list" | "halts.retry" => json!({}),
            "alarms.dismiss" => json!({"ids": []}),
            "alarms.decide" => json!({"ids": [], "calls": "send"}),
            "pauses.list" => json!({}),
            "pauses.start" | "pauses.end" => json!({"agent": "nobody"}),
            "controlTokens.add" => json!({"name": "x", "scopes": ["read"], "all": true}),
            "controlTokens.revoke" => json!({"name": "x"}),
            "budgets.show" | "budgets.set" | "budgets.empty" => json!({"agent": "claude"}),
            "budgets.series" => json!({"spanMs": 86_400_000, "stepMs": 3_600_000}),
            "budgets.chart" => json!({"starts": ["2026-11-21T00:00:00.000Z"]}),
            "budgets.today" => json!({"since": world.clock.now().to_string()}),
            "budgets.prices" => json!({}),
            "budgets.setPrice" => json!({"model": "gpt-5", "input": "1", "output": "2", "currency": "USD"}),
            "budgets.removePrice" => json!({"model": "gpt-5"}),
            "budgets.waste" => json!({"spanMs": 86_400_000}),
            "plans.make" => json!({"kind": "cancel", "filter": {}}),
            "plans.run" => json!({"planId": "pln_1"}),
            "plans.show" => json!({"id": plan}),
            "halts.start" => json!({"reason": "wrong month"}),
            "halts.resume" => json!({"stage": "acknowledged"}),
            "agents.add" => json!({"name": "claude"}),
            "agents.newToken" | "agents.check" => json!({"agent": "claude"}),
            "inbox.answered" | "answers.rules" => json!({}),
            "inbox.answer" => json!({"questions": [{"id": id, "key": "go"}], "action": "decline"}),
            "inbox.undoAnswer" => json!({"questions": [{"id": id, "key": "go"}]}),
            "answers.remember" => json!({"id": id, "key": "go"}),
            "answers.end" => json!({"rule": "ans_1"}),
            "agents.revoke" => json!({"agent": "claude"}),
            "rules.put" => json!({"scope": {"kind": "server", "server": "ci"}, "asked": "people"}),
            "tasks.release" => json!({"id": id, "deliver": true}),
            "servers.add" => json!({
                "name": "x", "address": {"kind": "stdio", "command": "true"}, "agreed": true
            }),
            "audit.anchors" => json!({}),
            "audit.addAnchor" => json!({"path": "/media/usb/log.notes"}),
            "audit.addCollectorAnchor" => json!({"url": "https://collector.example"}),
            "audit.removeAnchor" => json!({"id": 1}),
            "audit.addSink" => json!({"url": "https://collector.example"}),
            "audit.removeSink" | "audit.resumeSink" => json!({"id": 1}),
            "audit.compareNotes" => json!({"notes": []}),
            "sessions.revoke" => json!({"which": "others"}),
            "servers.locate" => json!({"command": "npx"}),
            "servers.show" | "servers.tools" | "servers.remove" | "servers.agree" | "servers.log" | "servers.times"
            | "servers.running" | "servers.restart" | "servers.end" | "signIns.begin" | "signIns.wait"
            | "signIns.giveUp" | "signIns.signOut" => json!({"name": "ci"}),
            "signIns.finish" => json!({"name": "ci", "address": "http://127.0.0.1:1/callback"}),
            "servers.toolDiff" => json!({"name": "ci", "tool": "build"}),
            "servers.toolsSeen" => json!({"name": "ci", "digest": "00"}),
            "servers.change" => json!({
                "name": "ci", "address": {"kind": "stdio", "command": "true"}, "agreed": true
            }),
            "clients.list" => json!({"folder": "/work"}),
            "clients.route" | "clients.undo" => json!({"client": "codex"}),
            "clients.import" => json!({"picks": []}),
            "tasks.recentArguments" => json!({"server": "ci", "tool": "build"}),
            "tasks.start" => json!({"server": "ci", "tool": "build", "arguments": {}}),
            "tasks.adopt" => json!({"server": "ci", "task": "t"}),
            "tasks.page" => json!({"query": {}, "group": null, "offset": 0, "limit": 10}),
            "tasks.counts" => json!({"queries": [{}]}),
            "tasks.content" => json!({"id": id, "of": "result"}),
            "tasks.piece" => json!({"id": id, "of": "result", "part": null, "offset": 0, "limit": 10}),
            "tasks.undoAnswer" => json!({"id": id, "key": "go"}),
            "desk.list" => json!({"kind": "view"}),
            "desk.put" => json!({"kind": "view", "key": "mine", "value": {}}),
            "feed.focus" => json!({"feed": "feed-1", "query": null, "ids": [], "task": null, "visible": true}),
            "tasks.answer" => json!({"id": id, "action": "decline"}),
            "tasks.allowTime" => json!({"id": id, "limit": "time", "moreMs": 60_000}),
            "tasks.cancel" | "tasks.hide" | "tasks.unhide" => json!({"ids": [id]}),
            _ => json!({"id": id}),
        };
        let outcome = alone.dispatch(&world.caller, name, &input.to_string()).await;
        // What is only in the memory of a core cannot be read without one.
        let in_memory =
            ["servers.log", "servers.times", "servers.running", "signIns.wait", "answers.rules", "audit.anchors"]
                .contains(&name);
        match (!acts && !in_memory, outcome) {
            (true, Ok(_)) => {}
            (false, Err(error)) => {
                assert_eq!(error.code, Code::NoCore, "`{name}`: {error:?}");
                assert!(error.hint.contains("taskwarden serve"), "`{name}` names the way out: {}", error.hint);
            }
            (true, Err(error)) => panic!("`{name}` only reads, but says {error:?}"),
            (false, Ok(answer)) => panic!("`{name}` needs a core, but answers {answer}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_core_storage_is_judged_by_the_limits_that_people_set() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let lower = json!({"payloadBytes": 1, "agentPayloadBytes": 1, "serverPayloadBytes": 1});
    let set = world.call("storage.set", lower).await;
    let clock: Arc<dyn Clock> = world.clock.clone();
    let alone = Api::reading(world.registry.clone(), clock, world.policy.clone(), Arc::new(ByteTokenCounter));
    let read = async |call: &str| -> Value {
        let text = alone.dispatch(&world.caller, call, "{}").await.expect("it can be read");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let (shown, checked) = (read("storage.show").await, read("doctor").await["storage"].clone());
    for (from, told) in [("storage.show", shown), ("doctor", checked)] {
        for what in ["limits", "builtIn", "due", "waitsUntil"] {
            assert_eq!(told[what], set[what], "`{from}` says of `{what}` what the core says");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_there_or_has_strange_input_is_told_apart() {
    let world = World::new().await;
    let unknown = world.try_call("tasks.lst", json!({})).await.expect_err("no such call");
    assert_eq!((unknown.code, unknown.hint.as_str()), (Code::NotFound, "Did you mean `tasks.list`?"));
    let strange = world.try_call("tasks.show", json!({"id": "x", "extra": 1})).await.expect_err("an unknown field");
    assert_eq!(strange.code, Code::Usage);
    let broken = world.api.dispatch(&world.caller, "tasks.show", "{").await.expect_err("not JSON");
    assert_eq!(broken.code, Code::Usage);
}
