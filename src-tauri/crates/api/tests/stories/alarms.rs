//! An alarm in the window: a row of the inbox until a person dismisses it, which an agent cannot.

use std::time::Duration;

use api::Code;
use api::feed::frame::SubscribeInput;
use domain::ports::CallReply;
use serde_json::json;
use testkit::scripted::payload;

use crate::agents::{agent, made};
use crate::reader::Reader;
use crate::world::{World, descendant};

#[tokio::test(start_paused = true)]
async fn a_loop_is_a_row_of_the_inbox_until_a_person_dismisses_it() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    for _ in 0..6 {
        world.server.reply("build", Duration::ZERO, Ok(CallReply::Result { payload: payload("no"), is_error: false }));
        made(&world, id, "build").await;
    }
    reader.until("the loop is told", |now| now.inbox.values().any(|row| row.alarm.is_some())).await;
    let row = reader.inbox.values().find(|row| row.alarm.is_some()).expect("the row").clone();
    let alarm = row.alarm.as_deref().expect("the alarm");
    assert_eq!((row.id.as_str(), row.kind.as_str()), (format!("{}/alarm", alarm.id).as_str(), "alarm"));
    assert_eq!((row.server.as_str(), row.tool.as_deref(), row.agent.as_deref()), ("ci", Some("build"), Some("claude")));
    assert_eq!((alarm.count, alarm.state.as_str()), (6, "open"), "equal results count twice");
    assert_eq!(reader.totals.inbox.items, 1, "and it is counted");

    let listed = world.call("alarms.list", json!({})).await;
    assert_eq!(listed["alarms"][0]["id"], json!(alarm.id));
    let input = json!({"ids": [alarm.id]});
    let refused = world.api.dispatch(&descendant(), "alarms.dismiss", &input.to_string()).await;
    assert_eq!(refused.expect_err("no program of an agent may").code, Code::Refused);
    let unknown = world.try_call("alarms.dismiss", json!({"ids": [alarm.id, "alm_zzzz"]})).await;
    assert_eq!(unknown.expect_err("one is not there").code, Code::NotFound);
    let decide = |calls: &str| json!({"ids": [alarm.id], "calls": calls});
    let nothing = world.try_call("alarms.decide", decide("send")).await.expect_err("no call waits because of it");
    assert_eq!((nothing.code, alarm.asks), (Code::Refused, false), "{}", nothing.message);
    let program = world.api.dispatch(&descendant(), "alarms.decide", &decide("send").to_string()).await;
    assert_eq!(program.expect_err("no program of an agent may").code, Code::Refused);
    let beginning = &alarm.id[..10];
    let dismissed = world.call("alarms.dismiss", json!({"ids": [beginning]})).await;
    assert_eq!(dismissed["alarms"][0]["state"], "dismissed", "{dismissed}");
    reader.until("the row goes", |now| now.inbox.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_says_when_an_alarm_is_raised_and_bad_numbers_are_named() {
    let world = World::new().await;
    let rule = |more: serde_json::Value| {
        let mut rule = json!({"scope": {"kind": "server", "server": "ci"}});
        rule.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        rule
    };
    let set = world.call("rules.put", rule(json!({"sameCallLimit": {"count": 20, "windowMs": 60_000}}))).await;
    assert_eq!(set["rules"][0]["sameCallLimit"], json!({"count": 20, "windowMs": 60_000}));
    let set = world.call("rules.put", rule(json!({"alarmAction": "ask"}))).await;
    assert_eq!(set["rules"][0]["alarmAction"], "ask");
    for (wrong, why) in [
        (json!({"sameCallLimit": {"count": 1, "windowMs": 60_000}}), "2 to 200"),
        (json!({"sameCallLimit": {"count": 201, "windowMs": 60_000}}), "2 to 200"),
        (json!({"sameCallLimit": {"count": 5, "windowMs": 0}}), "no time"),
        (json!({"callsPerMinute": 5}), "a rule of an agent"),
    ] {
        let refused = world.try_call("rules.put", rule(wrong.clone())).await.expect_err("it is refused");
        assert_eq!(refused.code, Code::Usage);
        assert!(refused.message.contains(why), "{wrong}: {}", refused.message);
    }
}
