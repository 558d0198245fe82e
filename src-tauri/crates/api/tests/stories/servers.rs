//! Servers: added only with agreement, removed only knowingly, named when mistyped.

use api::feed::frame::SubscribeInput;
use api::{Ability, AbilitySet, CALLS, CallEntry, Code};
use domain::audit::Verb;
use domain::ids::ServerId;
use domain::ports::{Secrets as _, UpstreamEvent};
use serde_json::{Value, json};
use testkit::build::http_server;
use testkit::scripted::PollReply;

use crate::reader::Reader;
use crate::world::{World, descendant};

fn web(name: &str, agreed: bool) -> Value {
    json!({
        "name": name,
        "address": {"kind": "http", "url": "https://host.example/mcp", "secretHeaders": ["Authorization"]},
        "secrets": {"Authorization": "Bearer hush"},
        "agreed": agreed
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_is_contacted_only_after_a_person_agreed_and_its_secret_stays_hidden() {
    let world = World::new().await;
    let refused = world.try_call("servers.add", web("web", false)).await.expect_err("nobody agreed");
    assert_eq!(refused.code, Code::Refused);
    assert!(world.secrets.names().is_empty(), "and nothing was kept");

    let added = world.call("servers.add", web("web", true)).await;
    assert_eq!(added["server"]["health"]["kind"], "up", "{added:#}");
    assert_eq!((&added["server"]["agreed"], &added["server"]["agreedBy"]), (&json!(true), &json!("ada")));
    assert!(added["tools"].is_array(), "its tools are told at once");
    assert!(!added.to_string().contains("hush"), "the secret is nowhere in the answer");
    let id: ServerId = added["server"]["id"].as_str().expect("an id").parse().expect("an id");
    let kept = world.secrets.get(id, "Authorization").expect("it can be read").map(|kept| kept.reveal().to_owned());
    assert_eq!(kept.as_deref(), Some("Bearer hush"), "it lies where secrets lie");

    let twice = world.try_call("servers.add", web("web", true)).await.expect_err("the name is taken");
    assert_eq!(twice.code, Code::Refused);
    world.call("servers.remove", json!({"name": "web"})).await;
    assert!(world.secrets.names().is_empty(), "removing a server forgets its secrets");
}

#[tokio::test(start_paused = true)]
async fn a_name_or_address_that_cannot_be_is_a_usage_error() {
    let world = World::new().await;
    let mut input = web("Bad Name", true);
    let bad = world.try_call("servers.add", input.clone()).await.expect_err("no such name can be");
    assert_eq!(bad.code, Code::Usage);
    input["name"] = json!("ok");
    input["address"]["url"] = json!("file:///etc/passwd");
    let bad = world.try_call("servers.add", input.clone()).await.expect_err("not a web address");
    assert_eq!(bad.code, Code::Usage);
    input["address"]["url"] = json!("https://host.example/mcp");
    input["secrets"] = json!({});
    let bad = world.try_call("servers.add", input).await.expect_err("the secret has no value");
    assert!(bad.message.contains("`Authorization`"), "{}", bad.message);
}

#[tokio::test(start_paused = true)]
async fn a_server_with_open_tasks_is_removed_only_knowingly_and_its_tasks_stay_on_record() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let refused = world.try_call("servers.remove", json!({"name": "ci"})).await.expect_err("one task is open");
    assert_eq!(refused.code, Code::Refused);
    assert!(refused.message.contains("1 open task"), "{}", refused.message);
    let removed = world.call("servers.remove", json!({"name": "ci", "evenWithOpenTasks": true})).await;
    assert_eq!(removed["lostTasks"], 1);
    let task = world.until(&id, "lost").await;
    assert_eq!(task["server"], "ci", "the record still names its server");
    assert!(task["contact"]["last"].as_str().is_some_and(|why| why.contains("removed")), "with the reason: {task:#}");
}

#[tokio::test(start_paused = true)]
async fn a_mistyped_server_is_answered_with_the_nearest_name() {
    let world = World::new().await;
    let input = json!({"server": "cii", "tool": "build", "arguments": {}});
    let error = world.try_call("tasks.start", input).await.expect_err("there is none");
    assert_eq!((error.code, error.hint.as_str()), (Code::NotFound, "Did you mean `ci`?"));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_starts_learns_how_the_core_is_and_nothing_else() {
    let mut world = World::new().await;
    world.caller = descendant();
    for CallEntry { name, ability, .. } in CALLS {
        // Who may make a call is looked at before its input is read.
        let outcome = world.api.dispatch(&world.caller, name, "no JSON").await;
        let refused = outcome.expect_err("no call takes this").code;
        let expected = if ability == Ability::Health { Code::Usage } else { Code::Refused };
        assert_eq!(refused, expected, "`{name}`");
    }
    world.call("doctor", json!({})).await;
    world.call("core.ping", json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_without_the_ability_of_a_call_is_refused_whatever_else_it_may_do() {
    let world = World::new().await;
    let every = Ability::ALL;
    for bits in 0..1_u32 << every.len() {
        let some: Vec<Ability> = every
            .iter()
            .enumerate()
            .filter(|(place, _)| bits & (1 << place) != 0)
            .map(|(_, ability)| *ability)
            .collect();
        let caller = world.caller.clone().limited_to(AbilitySet::of(&some));
        for CallEntry { name, ability, .. } in CALLS {
            // Not JSON: whoever may make the call gets as far as its input, and nobody has an effect.
            let refused = world.api.dispatch(&caller, name, "no JSON").await.expect_err("no call takes this").code;
            let expected = if some.contains(&ability) { Code::Usage } else { Code::Refused };
            assert_eq!(refused, expected, "`{name}` needs {ability:?}, and the caller has {some:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn limits_of_a_caller_add_up_and_never_add_an_ability() {
    let reads = AbilitySet::of(&[Ability::Read]);
    let limited = World::new().await.caller.limited_to(reads).limited_to(AbilitySet::PERSON);
    assert!(limited.require(Ability::Read).is_ok(), "what both allow stays");
    assert!(limited.require(Ability::Decide).is_err(), "a wider limit gives nothing back");
    assert!(descendant().limited_to(AbilitySet::PERSON).require(Ability::Read).is_err(), "an agent stays one");
}

#[tokio::test(start_paused = true)]
async fn a_command_is_agreed_to_and_kept_with_the_full_path_of_its_program() {
    let world = World::new().await;
    let shown = world.call("servers.locate", json!({"command": "npx"})).await;
    assert_eq!(shown, json!({"program": "/usr/bin/npx"}), "a person sees what will run");
    assert_eq!(world.call("servers.locate", json!({"command": "nothing"})).await, json!({"program": null}));
    let add = |name: &str, command: &str| json!({"name": name, "address": {"kind": "stdio", "command": command, "args": ["x"]}, "agreed": true});
    let added = world.call("servers.add", add("files", "npx")).await;
    assert_eq!(added["server"]["address"]["command"], json!("/usr/bin/npx"), "also when only its name is given");
    assert_eq!(added["server"]["agreed"], json!(true), "and the agreement is to that path");
    let other = world.call("servers.add", add("own", "/opt/own/server")).await;
    assert_eq!(other["server"]["address"]["command"], json!("/opt/own/server"), "a full path stays as it is");
}

#[tokio::test(start_paused = true)]
async fn people_are_told_how_many_questions_of_a_server_were_refused_and_since_when() {
    let world = World::new().await;
    world.engine.tools(http_server(1, "ci").id).await.expect("it is connected");
    let shown = world.call("servers.show", json!({"name": "ci"})).await;
    assert_eq!(shown["refusedQuestions"], Value::Null, "none so far: {shown}");
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    for count in [7, 5] {
        assert!(world.server.say(UpstreamEvent::QuestionsRefused(count)), "the server is connected");
    }
    let count = |reader: &Reader| reader.servers["ci"].refused_questions.as_ref().map(|refused| refused.count);
    reader.until("both are counted", |now| count(now) == Some(12)).await;
    let shown = world.call("servers.show", json!({"name": "ci"})).await;
    assert_eq!(shown["refusedQuestions"]["count"], 12, "{shown}");
    assert!(shown["refusedQuestions"]["since"].is_string(), "{shown}");
}

fn local(name: &str, arguments: &[&str]) -> Value {
    json!({"kind": "stdio", "command": format!("/opt/{name}"), "args": arguments, "secretEnv": ["TOKEN"]})
}

async fn with_local(world: &World) {
    let add = json!({"name": "files", "address": local("files", &["x"]), "secrets": {"TOKEN": "hush"}, "agreed": true});
    let added = world.call("servers.add", add).await;
    assert_eq!(added["server"]["health"]["kind"], "up", "{added:#}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_a_person_ended_stays_ended_until_the_next_call() {
    let world = World::new().await;
    with_local(&world).await;
    let acted = world.call("servers.end", json!({"name": "files"})).await;
    assert_eq!((&acted["openTasks"], &acted["left"]), (&json!(0), &Value::Null), "{acted}");
    let rows = world.registry.audit_page(None, 0, 1_000).await.expect("the audit log").rows;
    let of_the_end = [Verb::ProcessEnded, Verb::ServerActEnded];
    let verbs: Vec<Verb> = rows.iter().map(|row| row.event.verb).filter(|verb| of_the_end.contains(verb)).collect();
    assert_eq!(verbs, of_the_end, "it is on record that a person asked, and what came of it");
    // Longer than any back-off.
    tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
    let shown = world.call("servers.show", json!({"name": "files"})).await;
    let health = &shown["health"];
    assert_eq!((&health["kind"], &health["why"]), (&json!("ended"), &json!("a person ended its process")), "{shown:#}");
    assert_eq!(shown["health"]["retryAt"], Value::Null, "nothing starts it by itself");
    world.call("servers.tools", json!({"name": "files"})).await;
    let shown = world.call("servers.show", json!({"name": "files"})).await;
    assert_eq!(shown["health"]["kind"], "up", "what needs it starts it: {shown:#}");
    let log = world.call("servers.log", json!({"name": "files"})).await;
    assert_eq!(log["lines"][0]["event"], json!({"kind": "asked", "by": "ada", "act": "end"}), "{log:#}");
}

#[tokio::test(start_paused = true)]
async fn a_server_is_ended_or_restarted_only_with_what_was_told() {
    let world = World::new().await;
    let elsewhere = world.try_call("servers.end", json!({"name": "ci"})).await.expect_err("it runs elsewhere");
    assert_eq!(elsewhere.code, Code::Refused);
    // The scripted server has one connection at a time.
    world.call("servers.remove", json!({"name": "ci"})).await;
    with_local(&world).await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let started = world.call("tasks.start", json!({"server": "files", "tool": "build", "arguments": {}})).await;
    let id = started["id"].as_str().expect("a handle").to_owned();
    world.until_field(&id, "view", "task").await;
    let running = world.call("servers.running", json!({"name": "files"})).await;
    assert_eq!((&running["openTasks"], &running["agents"][0]["agent"]), (&json!(1), &Value::Null), "{running:#}");
    for call in ["servers.end", "servers.restart"] {
        let refused = world.try_call(call, json!({"name": "files"})).await.expect_err("one more is open than was told");
        assert!(refused.message.contains("1 open task"), "{}", refused.message);
    }
    let acted = world.call("servers.end", json!({"name": "files", "toldOpenTasks": 1})).await;
    assert_eq!(acted["openTasks"], 1, "{acted}");
    let task = world.until(&id, "lost").await;
    let ended = &task["serverEnded"];
    assert_eq!((&ended["how"], &ended["by"]), (&json!("ended"), &json!("ada")), "it says who ended it: {task:#}");
    assert_eq!(ended["at"], task["endedAt"], "and when");
    assert_eq!((&task["group"], &task["over"]), (&json!("finished"), &json!(true)));
    let inbox = world.call("inbox", json!({})).await;
    assert_eq!(inbox["trouble"].as_array().map(Vec::len), Some(0), "nobody is needed: {inbox:#}");
    let figures = &world.call("servers.show", json!({"name": "files"})).await["figures"];
    assert_eq!((&figures["needsYou"], &figures["finished"]), (&json!(0), &json!(1)), "{figures:#}");
}

#[tokio::test(start_paused = true)]
async fn a_changed_server_keeps_its_tasks_and_the_secrets_that_nobody_typed_anew() {
    let world = World::new().await;
    with_local(&world).await;
    let change = |agreed| json!({"name": "files", "address": local("files", &["y"]), "agreed": agreed});
    let refused = world.try_call("servers.change", change(false)).await.expect_err("nobody agreed");
    assert_eq!(refused.code, Code::Refused);
    let before = world.call("servers.show", json!({"name": "files"})).await;
    assert_eq!(before["address"]["args"], json!(["x"]), "and nothing was changed");
    let changed = world.call("servers.change", change(true)).await;
    assert_eq!((&changed["id"], &changed["address"]["args"]), (&before["id"], &json!(["y"])), "{changed:#}");
    assert_eq!((&changed["agreed"], &changed["health"]["kind"]), (&json!(true), &json!("up")), "{changed:#}");
    let id: ServerId = before["id"].as_str().expect("an id").parse().expect("an id");
    let kept = world.secrets.get(id, "TOKEN").expect("it can be read").map(|kept| kept.reveal().to_owned());
    assert_eq!(kept.as_deref(), Some("hush"));
    let mut other = change(true);
    other["address"]["secretEnv"] = json!(["TOKEN", "OTHER"]);
    let missing = world.try_call("servers.change", other.clone()).await.expect_err("the new secret has no value");
    assert!(missing.message.contains("`OTHER`"), "{}", missing.message);
    other["address"]["secretEnv"] = json!([]);
    world.call("servers.change", other).await;
    assert!(world.secrets.names().is_empty(), "a secret that nothing uses is forgotten");
}

#[tokio::test(start_paused = true)]
async fn how_calls_of_a_server_went_is_measured() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working(), PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let times = world.call("servers.times", json!({"name": "ci"})).await;
    assert_eq!(
        (&times["hour"]["calls"]["count"], &times["hour"]["calls"]["failed"]),
        (&json!(1), &json!(0)),
        "{times:#}"
    );
    assert!(times["hour"]["calls"]["medianMs"].is_u64(), "{times:#}");
    assert!(times["hour"]["polls"]["count"].as_u64() >= Some(2), "polls are counted apart: {times:#}");
}
